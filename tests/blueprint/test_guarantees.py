"""Laws that hold for any weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.dynamics import energy, mass_matrix, momentum
from isthmus.model.coordinates import minus, plus
from isthmus.networks.laws import CONJUGATE
from isthmus.networks.signals import Signals
from isthmus.simulate.accelerate import accelerate
from isthmus.simulate.observe import observe
from tests.blueprint.support import PENDULUM, START, attached, shaken

Q_V = ("joint/position", "joint/velocity")
DISSIPATIVE = {
    "joints": ist.Wire("joint/passive_torque", Q_V, ist.Dissipative(ist.MLP(6, 1))),
    "one matrix": ist.Wire(
        "joint/passive_torque", Q_V, ist.Dissipative(ist.MLP(6, 1), coupled=True)
    ),
    "a matrix for each link": ist.Wire(
        "link/external_force", Q_V, ist.Dissipative(ist.MLP(6, 1), coupled=True), rows="each"
    ),
    "links": ist.Wire("link/external_force", Q_V, ist.Dissipative(ist.MLP(6, 1)), rows="each"),
}


energies = jax.jit(jax.vmap(energy, (None, 0, 0)))


def total(model, motion):
    return np.asarray(energies(model, motion.q, motion.v))


@pytest.mark.parametrize("kind", DISSIPATIVE)
@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_a_dissipative_network_never_gives_power(kind, size):
    wire = DISSIPATIVE[kind]
    hybrid = shaken(attached(wire), seed=3, size=size)
    pair = CONJUGATE[wire.target]
    motion = ist.rollout(hybrid, START, None, dt=1e-3, steps=10_000, record=[wire.target, pair])
    power = np.sum(
        motion.signals[wire.target] * motion.signals[pair],
        axis=tuple(range(1, motion.signals[pair].ndim)),
    )
    assert np.max(power) <= 0.0
    # the scheme's own ripple within a swing stays; from swing to swing energy only falls
    swings = total(PENDULUM, motion)[1:].reshape(10, 1000).max(axis=1)
    assert np.all(np.diff(swings) <= 1e-2 * np.ptp(swings))
    assert np.all(np.isfinite(motion.q))


@pytest.mark.parametrize("joints", ["hinges", "a ball", "free"])
def test_a_conservative_network_does_no_work_in_loops(joints):
    model = {
        "hinges": PENDULUM,
        "a ball": ist.library.pendulum(2, joints="spherical"),
        "free": ist.library.cube(),
    }[joints]
    wire = ist.Wire("joint/passive_torque", "joint/position", ist.Conservative(ist.MLP(6, 1)))
    hybrid = shaken(attached(wire, model=model), seed=1)
    angle = np.linspace(0.0, 2.0 * np.pi, 401)
    way = np.random.default_rng(0).normal(size=(2, model.dof))
    loop = np.cos(angle)[:, None] * way[0] + np.sin(angle)[:, None] * way[1]
    neutral = ist.State.neutral(model).q
    positions = jax.jit(jax.vmap(lambda d: plus(model, jnp.asarray(neutral), d)))
    q, middle = positions(loop), positions(0.5 * (loop[1:] + loop[:-1]))
    moves = np.asarray(jax.jit(jax.vmap(lambda a, b: minus(model, a, b)))(q[1:], q[:-1]))
    force = lambda m: observe(
        m, ist.State(middle, np.zeros((400, model.dof))), names=["joint/passive_torque"]
    )
    learned = force(hybrid)["joint/passive_torque"] - force(model)["joint/passive_torque"]
    work = np.sum(learned * moves, axis=1)
    assert abs(np.sum(work)) < 2e-3 * np.sum(np.abs(work))


@pytest.mark.parametrize("size", [0.5, 5.0])
def test_an_internal_force_changes_no_momentum(size):
    swimmer = ist.library.swimmer(3).set("gravity", 0.0)
    a, b = swimmer.link_names[-2:]
    wire = ist.Wire("link/external_force", Q_V, ist.Internal(ist.MLP(6, 1), between=(a, b)))
    hybrid = shaken(attached(wire, model=swimmer), size=size)
    state = ist.State.random(swimmer, jax.random.key(3))

    @jax.jit
    def rate(model):
        signal = Signals(model, None, 0.0)
        _, dv = accelerate(model, state, ist.Control(), signal)
        moving = lambda q, v: momentum(swimmer, q, v)
        _, change = jax.jvp(
            lambda h: moving(plus(swimmer, jnp.asarray(state.q), h * state.v), state.v + h * dv),
            (0.0,),
            (1.0,),
        )
        return change, dv

    (change, dv), (_, plain) = rate(hybrid), rate(swimmer)
    assert np.max(np.abs(dv - plain)) > 1e-3
    for part in jax.tree.leaves(change):
        np.testing.assert_allclose(part, 0.0, atol=1e-9 * size)


@pytest.mark.parametrize(
    "lift", [0.0, 3.0]
)  # without a lift, inertia reaches zero on the way, with a kink there
@pytest.mark.parametrize("coupled", [False, True])
def test_learned_inertia_is_positive_and_keeps_energy(coupled, lift):
    wire = ist.Wire(
        "joint/armature", "joint/position", ist.Lagrangian(ist.MLP(6, 1), coupled=coupled)
    )
    hybrid = shaken(attached(wire), seed=4, size=0.5)
    hybrid = eqx.tree_at(
        lambda m: m.networks[0].net.layers[-1].bias, hybrid, replace_fn=lambda b: b + lift
    )
    wired = hybrid.networks[0]
    plain = PENDULUM.set("joint/damping", 0.0)
    hybrid = hybrid.set("joint/damping", 0.0)

    def inertia(q):
        y, _ = wired.answer({"joint/position": q}, None, None)
        if not coupled:
            return jnp.diag(jnp.maximum(y, 0.0))
        L = jnp.array([[1.0, 0.0], [0.0, 1.0]]).at[1, 0].set(y[2])
        return L @ jnp.diag(jnp.maximum(y[:2], 0.0)) @ L.T

    motion = ist.rollout(hybrid, START, None, dt=1e-3, steps=2000, integrator="rk4")
    A = np.asarray(jax.jit(jax.vmap(inertia))(motion.q))
    H = np.asarray(jax.jit(jax.vmap(lambda q: mass_matrix(plain, q)))(motion.q))
    assert np.min(np.linalg.eigvalsh(A)) > -1e-12
    assert np.min(np.linalg.eigvalsh(A + H)) > 0.0
    assert np.max(A) > 0.05
    whole = total(plain, motion) + 0.5 * np.einsum("ti,tij,tj->t", motion.v, A, motion.v)
    np.testing.assert_allclose(whole, whole[0], rtol=1e-8 if lift else 1e-3)
