"""Networks at named doors: they start with no effect, act where they are wired, and are leaves like others."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.networks.signals import Signals
from isthmus.simulate import integrate
from isthmus.simulate.integrate import SemiImplicit, advance
from tests.blueprint.support import KEY, PENDULUM, START, attached, shaken, targets_of

Q_V = ("joint/position", "joint/velocity")
FIRST, SECOND = PENDULUM.joint_names

WIRES = {
    "mlp": ist.Wire("joint/passive_torque", Q_V, ist.MLP(width=4, depth=2)),
    "shared": ist.Wire("joint/friction", Q_V, ist.MLP(4, 1, "elu"), rows="each"),
    "parameter": ist.Wire("joint/damping", "joint/position", ist.MLP(4, 1, "sine"), mode="scale"),
    "inside ABA": ist.Wire("link/articulated_inertia", Q_V, ist.Linear(), mode="scale"),
    "by link": ist.Wire("link/bias_force", "joint/velocity", ist.MLP(3, 1, "relu"), rows="each"),
    "spline": ist.Wire(f"joint/torque[{SECOND}]", f"joint/velocity[{SECOND}]", ist.Spline(knots=5)),
    "memory": ist.Wire("joint/torque", "joint/control", ist.GRU(width=3), rows="each"),
    "friction by load": ist.Wire("joint/friction", "joint/control", ist.MLP(3, 1)),
    "filter": ist.Wire("joint/motor_torque", Q_V, ist.Filter(width=3)),
    "last step": ist.Wire("joint/torque", "previous/joint/acceleration", ist.MLP(3, 1, "softplus")),
    "gravity": ist.Wire("gravity", ["time"], ist.Constant()),
    "own value": ist.Wire("joint/control", "joint/control", ist.MLP(4, 1)),
    "dissipative": ist.Wire("joint/passive_torque", Q_V, ist.Dissipative(ist.MLP(4, 1))),
    "conservative": ist.Wire("joint/passive_torque", "joint/position", ist.Conservative(ist.MLP(4, 1))),
    "lagrangian": ist.Wire("joint/armature", "joint/position", ist.Lagrangian(ist.MLP(4, 1))),
    "user's": ist.Wire("joint/passive_torque", Q_V, eqx.nn.MLP(6, 2, 4, 1, key=KEY)),
}  # fmt: skip
TORQUES = 0.3 * np.sin(np.arange(24)).reshape(12, 2)


@pytest.mark.parametrize("kind", WIRES)
def test_a_fresh_wire_changes_nothing_and_a_trained_one_is_the_same_in_both_engines(kind):
    hybrid = attached(WIRES[kind])
    roll = lambda model, **options: ist.rollout(model, START, TORQUES, dt=0.01, **options)
    np.testing.assert_array_equal(roll(hybrid).q, roll(PENDULUM).q)
    other = shaken(hybrid, size=0.4)
    assert np.max(np.abs(roll(other).q - roll(PENDULUM).q)) > 1e-9
    np.testing.assert_allclose(roll(other).q, roll(other, engine="xla").q, rtol=0, atol=1e-12)


def test_observing_lets_no_time_pass():
    """A filter answers by what it holds; one state or many."""
    hybrid = shaken(attached(WIRES["filter"]), size=0.4)
    many = ist.State(q=np.tile(START.q, (3, 1)), v=np.tile(START.v, (3, 1)))
    one = ist.observe(hybrid, START, names=["joint/motor_torque"])["joint/motor_torque"]
    all_of_them = ist.observe(hybrid, many, names=["joint/motor_torque"])["joint/motor_torque"]
    np.testing.assert_allclose(one, hybrid.networks[0].net.output.bias, atol=1e-15)
    np.testing.assert_array_equal(all_of_them, np.tile(one, (3, 1)))


@pytest.mark.parametrize("kind", ["shared", "memory", "conservative"])
def test_one_gradient_holds_physics_and_weights(kind):
    hybrid = shaken(attached(WIRES[kind]))

    @jax.jit
    def loss(model):
        return jnp.sum(ist.rollout(model, START, TORQUES[:4], dt=0.01).q ** 2)

    slope = jax.grad(loss)(hybrid)
    numbers = np.random.default_rng(1)
    direction = jax.tree.map(lambda x: np.isfinite(x) * numbers.normal(size=x.shape), hybrid)
    moved = lambda h: jax.tree.map(lambda x, d: np.where(d == 0, x, x + h * d), hybrid, direction)
    wanted = (loss(moved(1e-6)) - loss(moved(-1e-6))) / 2e-6
    pairs = zip(jax.tree.leaves(slope), jax.tree.leaves(direction), strict=True)
    found = sum(np.sum(np.asarray(g)[d != 0] * d[d != 0]) for g, d in pairs)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert any(np.any(g) for g in jax.tree.leaves(slope.networks[0].net))


def test_a_wire_reads_what_another_one_corrected():
    shift = ist.Wire("joint/motor_torque", "time", ist.Constant(), name="shift")
    follow = ist.Wire("joint/passive_torque", "joint/motor_torque", ist.Linear())
    hybrid = attached(follow, shift)
    eye = eqx.tree_at(
        lambda m: (m.networks[0].net.layers[0].weight, m.networks[1].net.value),
        hybrid,
        (np.eye(2), np.array([0.2, 0.4])),
    )
    motion = ist.rollout(
        eye, START, None, 0.01, 3, record=["joint/passive_torque", "joint/motor_torque"]
    )
    plain = ist.rollout(PENDULUM, START, None, 0.01, 3, record=["joint/passive_torque"])
    np.testing.assert_allclose(motion.signals["joint/motor_torque"], np.tile([0.2, 0.4], (4, 1)))
    np.testing.assert_allclose(
        motion.signals["joint/passive_torque"][0],
        plain.signals["joint/passive_torque"][0] + [0.2, 0.4],
    )


def test_several_wires_on_one_target_act_in_turn():
    wire = lambda mode: ist.Wire("joint/motor_torque", "time", ist.Constant(), mode=mode)
    hybrid = attached(wire("add"), wire("scale"))
    assert [w.name for w in hybrid.networks] == ["motor_torque", "motor_torque_2"]
    hybrid = eqx.tree_at(
        lambda m: [w.net.value for w in m.networks],
        hybrid,
        [np.array([1.0, 2.0]), np.array([0.5, 1.0])],
    )
    motion = ist.rollout(hybrid, START, None, 0.01, 1, record=["joint/motor_torque"])
    np.testing.assert_allclose(motion.signals["joint/motor_torque"][0], [1.5, 4.0])


def test_one_network_for_each_row_gives_each_row_its_own_answer():
    wire = ist.Wire("joint/passive_torque", ["joint/velocity", "time"], ist.MLP(4, 1), rows="each")
    hybrid = shaken(attached(wire))
    motion = ist.rollout(hybrid, START, None, 0.01, 2, record=["joint/passive_torque"])
    plain = ist.rollout(PENDULUM, START, None, 0.01, 2, record=["joint/passive_torque"])
    added = motion.signals["joint/passive_torque"][0] - plain.signals["joint/passive_torque"][0]
    net = hybrid.networks[0].net
    wanted = [net(jnp.array([v, 0.0]))[0] for v in START.v]
    np.testing.assert_allclose(added, wanted, rtol=1e-12)


def test_rows_that_are_not_named_stay_as_they_are():
    wire = ist.Wire(f"joint/{SECOND}/motor_torque", "time", ist.Constant(), mode="replace")
    hybrid = eqx.tree_at(lambda m: m.networks[0].net.value, attached(wire), np.array([7.0]))
    motion = ist.rollout(hybrid, START, TORQUES, 0.01, record=["joint/motor_torque"])
    np.testing.assert_allclose(motion.signals["joint/motor_torque"][:-1, 0], TORQUES[:, 0])
    np.testing.assert_allclose(motion.signals["joint/motor_torque"][:, 1], 7.0)


def test_replace_starts_at_the_value_of_the_neutral_state():
    arm = ist.library.arm()
    hybrid = attached(
        ist.Wire("link/bias_force", "joint/velocity", ist.Linear(), mode="replace"), model=arm
    )
    motion = ist.rollout(
        hybrid, ist.State.random(arm, KEY), None, 0.001, 2, record=["link/bias_force"]
    )
    still = ist.rollout(arm, ist.State.neutral(arm), None, 0.001, 1, record=["link/bias_force"])
    for row in motion.signals["link/bias_force"]:
        np.testing.assert_allclose(row, still.signals["link/bias_force"][0], atol=1e-12)


def test_the_last_step_is_remembered():
    wire = ist.Wire("joint/motor_torque", "previous/joint/acceleration", ist.MLP(3, 1))
    hybrid = shaken(attached(wire))
    names = ["previous/joint/acceleration", "joint/acceleration"]
    motion = ist.rollout(hybrid, START, TORQUES, 0.01, record=names)
    before, now = (motion.signals[name] for name in names)
    np.testing.assert_array_equal(before[1:], now[:-1])


@pytest.mark.parametrize("kind", ["memory", "filter"])
def test_a_state_carries_the_memory_of_its_networks(kind):
    hybrid = shaken(attached(WIRES[kind]))
    state = ist.State.neutral(hybrid)
    for torque in TORQUES:
        state = ist.step(hybrid, state, torque, 0.01)
    whole = ist.rollout(hybrid, ist.State.neutral(hybrid), TORQUES, 0.01)
    np.testing.assert_allclose(state.q, whole.q[-1], rtol=1e-12)
    assert np.any(state.memory["networks"][hybrid.networks[0].name])


def test_damping_may_depend_on_a_temperature_in_the_log():
    wire = ist.Wire("joint/damping", "extra/temperature", ist.Linear())
    hybrid = attached(wire)
    hybrid = eqx.tree_at(
        lambda m: m.networks[0].net.layers[0].weight, hybrid, np.array([[0.1], [0.1]])
    )
    control = ist.Control(torque=TORQUES, extra={"temperature": np.full(12, 3.0)})
    warm = ist.rollout(hybrid, START, control, 0.01)
    wanted = ist.rollout(
        PENDULUM.set("joint/damping", PENDULUM.joint_damping + 0.3), START, TORQUES, 0.01
    )
    np.testing.assert_allclose(warm.q, wanted.q, rtol=1e-12)
    with pytest.raises(ist.errors.UnknownSignal, match=r"'extra/temperature'.*Control"):
        ist.rollout(hybrid, START, TORQUES, 0.01)


def test_without_wires_a_step_is_the_physics_alone(monkeypatch):
    state, control = START, ist.Control(torque=np.zeros(2))
    trace = lambda: str(
        jax.make_jaxpr(lambda m, s: advance(m, s, control, jnp.asarray(0.01), SemiImplicit())[0])(
            PENDULUM, state
        )
    )
    with_doors = trace()

    class Open(Signals):
        def __call__(self, name, value, row=None):
            return value

    monkeypatch.setattr(integrate, "Signals", Open)
    jax.clear_caches()
    assert trace() == with_doors


def test_a_detached_model_is_the_plain_one():
    hybrid = attached(WIRES["mlp"], ist.Wire("gravity", "time", ist.Constant()))
    assert ist.detach(hybrid).networks == ist.Blueprint.detach(hybrid).networks == ()
    assert [w.name for w in ist.detach(hybrid, "gravity").networks] == ["passive_torque"]
    assert [w.target for w in ist.Blueprint.of(hybrid)] == ["joint/passive_torque", "gravity"]


def test_scales_come_from_the_data():
    motion = ist.rollout(PENDULUM, START, None, 0.01, 100)
    hybrid = attached(ist.Wire("joint/torque", "joint/velocity", ist.Linear()), data=motion)
    np.testing.assert_allclose(hybrid.networks[0].shift, motion.v.mean(axis=0))
    np.testing.assert_allclose(hybrid.networks[0].scale, motion.v.std(axis=0))


def test_angles_enter_as_sine_and_cosine_and_turned_bodies_by_their_rotation():
    cube = ist.library.cube()
    wired = attached(ist.Wire("gravity", "joint/position", ist.Linear()), model=cube).networks[0]
    q = np.array([1.0, 2.0, 3.0, 0.5, 0.5, 0.5, 0.5])
    flipped = np.concatenate([q[:3], -q[3:]])
    features = jax.jit(lambda q: wired.inputs({"joint/position": q}))
    one, other = np.asarray(features(q)), np.asarray(features(flipped))
    assert one.shape == (9,)
    np.testing.assert_allclose(one, other)
    turning = attached(WIRES["mlp"]).networks[0]
    assert turning.shift.shape == (6,)


def test_hybrids_run_side_by_side():
    hybrid = attached(WIRES["mlp"])
    several = [shaken(hybrid, seed) for seed in range(3)]
    stacked = jax.tree.map(lambda *x: np.stack(x), *several)
    batch = dataclasses.replace(hybrid, networks=stacked.networks)
    together = ist.rollout_many(batch, START, None, 0.01, 10)
    for k, one in enumerate(several):
        np.testing.assert_allclose(
            together.q[k], ist.rollout(one, START, None, 0.01, 10).q, rtol=1e-12
        )


def test_every_signal_that_a_step_computes_can_be_corrected():
    names = targets_of(PENDULUM)
    wires = [ist.Wire(name, "time", ist.Constant(), name=f"n{k}") for k, name in enumerate(names)]
    hybrid = attached(*wires)
    moved = ist.step(hybrid, START, None, 0.01)
    plain = ist.step(PENDULUM, START, None, 0.01)
    np.testing.assert_allclose(moved.q, plain.q, rtol=1e-14)


def test_a_network_shared_by_contacts_sees_each_corner_by_itself():
    cube = ist.library.cube(contact="penalty")
    wire = ist.Wire("contact/friction_force", "contact/velocity", ist.MLP(2, 1), rows="each")
    wired = ist.Blueprint([wire]).attach(cube, key=0).networks[0]
    assert (wired.plan.units, wired.plan.numbers, wired.shift.shape) == (8, 3, (3,))
