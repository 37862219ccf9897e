"""Controls in every form, batches, substeps and checkpoints give the motion that they must."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import (
    RK4,
    Control,
    Euler,
    SemiImplicit,
    State,
    compile_model,
    rollout,
    rollout_many,
    step,
)
from isthmus.simulate.integrate import integrator_of
from tests import trees

MODEL = compile_model(trees.pendulum(2, damping=0.1))
START = State(np.array([0.8, 0.4]), np.array([0.3, -0.2]))
STEPS, DT = 30, 0.01
TORQUES = np.random.default_rng(0).normal(size=(STEPS, MODEL.dof))


@pytest.mark.smoke
def test_a_rollout_is_many_steps():
    motion = rollout(MODEL, START, TORQUES, DT)
    state = START
    for k in range(STEPS):
        np.testing.assert_allclose(motion.q[k], state.q, rtol=0.0, atol=1e-13)
        state = step(MODEL, state, TORQUES[k], DT)
    np.testing.assert_allclose(motion.state(-1).q, state.q, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(motion.state(-1).v, state.v, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(motion.t, DT * np.arange(STEPS + 1), rtol=1e-14)
    np.testing.assert_allclose(state.time, STEPS * DT, rtol=1e-12)


def test_an_array_a_control_and_a_function_of_time_and_state_mean_the_same():
    table = jnp.asarray(TORQUES)
    row = lambda t: table[jnp.round(t / DT).astype(int)]
    forms = [
        (TORQUES, None),
        (Control(torque=TORQUES), STEPS),
        (lambda t, state: row(t), STEPS),
        (lambda t, state: Control(torque=row(t)), STEPS),
    ]
    motions = [rollout(MODEL, START, controls, DT, steps=steps) for controls, steps in forms]
    for motion in motions[1:]:
        np.testing.assert_allclose(motion.q, motions[0].q, rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(motion.v, motions[0].v, rtol=0.0, atol=1e-13)


def test_no_controls_are_zero_controls():
    free = rollout(MODEL, START, None, DT, steps=STEPS)
    zero = rollout(MODEL, START, np.zeros((STEPS, 2)), DT)
    np.testing.assert_array_equal(free.q, zero.q)


def test_a_function_can_feed_the_state_back():
    """A spring by control is a spring by the model, in an explicit scheme."""
    springy = MODEL.set("joint/stiffness", 4.0)
    by_model = rollout(springy, START, None, DT, steps=STEPS)
    by_control = rollout(MODEL, START, lambda t, state: -4.0 * state.q, DT, steps=STEPS)
    np.testing.assert_allclose(by_control.q, by_model.q, atol=1e-13)


def test_a_rollout_continues_where_another_one_stopped():
    whole = rollout(MODEL, START, TORQUES, DT)
    half = rollout(MODEL, START, TORQUES[:10], DT)
    rest = rollout(MODEL, half.state(-1), TORQUES[10:], DT)
    np.testing.assert_allclose(rest.q, whole.q[10:], atol=1e-13)
    np.testing.assert_allclose(rest.t, whole.t[10:], rtol=1e-13)


def test_no_steps_give_the_start():
    motion = rollout(MODEL, START, None, DT, steps=0)
    np.testing.assert_array_equal(motion.q, START.q[None])


@pytest.mark.parametrize("integrator", ["semi_implicit", "explicit_euler"])
def test_substeps_are_shorter_steps_under_the_same_control(integrator):
    one = rollout(MODEL, START, TORQUES, DT, substeps=3, integrator=integrator)
    many = rollout(MODEL, START, np.repeat(TORQUES, 3, axis=0), DT / 3, integrator=integrator)
    np.testing.assert_allclose(one.q, many.q[::3], atol=1e-12)


@pytest.mark.parametrize(
    ("value", "options"),
    [
        (SemiImplicit(), {}),
        (SemiImplicit(explicit=True, substeps=2), {"explicit": True, "substeps": 2}),
        (Euler(), {"integrator": "explicit_euler"}),
        (RK4(substeps=3), {"integrator": "rk4", "substeps": 3}),
    ],
)
def test_an_integrator_is_a_value_or_a_name_with_options(value, options):
    assert integrator_of(**options) == value
    assert integrator_of(**value.options()) == value
    one, same = (
        step(MODEL, START, None, DT, integrator=value),
        step(MODEL, START, None, DT, **options),
    )
    np.testing.assert_array_equal(one.q, same.q)


def end_of(model, checkpoint, steps):
    motion = rollout(model, START, TORQUES[:steps], DT, checkpoint=checkpoint)
    return jnp.sum(jnp.square(motion.q[-1])) + jnp.sum(motion.v[3]), motion.q


run_with_slope = jax.jit(jax.value_and_grad(end_of, has_aux=True), static_argnums=(1, 2))


@pytest.fixture(scope="module")
def without_checkpoints():
    (_, motion), slope = run_with_slope(MODEL, None, 29)
    return motion, slope


@pytest.mark.parametrize("checkpoint", [7, "sqrt"])
def test_checkpoints_change_neither_motion_nor_gradient(checkpoint, without_checkpoints):
    plain, slope = without_checkpoints
    (_, again), slope_again = run_with_slope(MODEL, checkpoint, 29)
    np.testing.assert_allclose(again, plain, atol=1e-13)
    for a, b in zip(jax.tree.leaves(slope_again), jax.tree.leaves(slope), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_checkpoints_save_memory():
    """Of 1024 steps, the gradient keeps 32 states and one stretch of 32 steps instead of everything."""
    single = compile_model(trees.pendulum(1, damping=0.1))

    def bytes_needed(checkpoint) -> int:
        def loss(mass):
            model = eqx.tree_at(lambda m: m.link_mass, single, mass)
            start = State(np.array([0.8]), np.zeros(1))
            motion = rollout(model, start, None, 1e-3, steps=1024, checkpoint=checkpoint)
            return jnp.sum(motion.q[-1])

        compiled = jax.jit(jax.grad(loss)).lower(jnp.ones(1)).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert bytes_needed("sqrt") < 0.2 * bytes_needed(None)


BATCH = 4
MASSES = np.linspace(0.5, 2.0, BATCH)[:, None] * np.ones((1, 2))
MODELS = eqx.tree_at(lambda m: m.link_mass, MODEL, MASSES)
STATES = State(np.linspace(0.1, 1.0, 2 * BATCH).reshape(BATCH, 2), np.zeros((BATCH, 2)))
MANY_TORQUES = np.random.default_rng(1).normal(size=(BATCH, STEPS, 2))


@pytest.mark.parametrize(
    "batched", ["model", "state", "controls", "model state controls", "model state"]
)
def test_many_rollouts_are_a_loop_of_rollouts(batched):
    models, states, controls = (
        many if name in batched.split() else one
        for name, many, one in (
            ("model", MODELS, MODEL), ("state", STATES, START), ("controls", MANY_TORQUES, TORQUES)
        )
    )  # fmt: skip
    found = rollout_many(models, states, controls, DT, record=["joint/torque"])
    for i in range(BATCH):
        model = MODEL.set("link/mass", MASSES[i]) if "model" in batched else MODEL
        state = State(STATES.q[i], STATES.v[i]) if "state" in batched else START
        torques = MANY_TORQUES[i] if "controls" in batched else TORQUES
        one = rollout(model, state, torques, DT, record=["joint/torque"])
        np.testing.assert_allclose(found.q[i], one.q, atol=1e-12)
        np.testing.assert_allclose(
            found.signals["joint/torque"][i], one.signals["joint/torque"], atol=1e-12
        )


def test_many_rollouts_take_functions_and_no_controls():
    found = rollout_many(MODELS, START, None, DT, steps=5)
    assert found.q.shape == (BATCH, 6, 2)
    again = rollout_many(MODELS, START, lambda t, state: jnp.zeros(2), DT, steps=5)
    np.testing.assert_allclose(found.q, again.q, atol=1e-14)
    one = rollout(MODEL.set("link/mass", MASSES[2]), START, None, DT, steps=5)
    np.testing.assert_allclose(found.q[2], one.q, atol=1e-13)


def test_a_batch_made_by_vmap_can_be_rolled_out():
    heavier = jax.vmap(lambda s: eqx.tree_at(lambda m: m.link_mass, MODEL, s * MODEL.link_mass))
    found = rollout_many(heavier(jnp.array([1.0, 2.0])), START, None, DT, steps=5)
    one = rollout(MODEL, START, None, DT, steps=5)
    np.testing.assert_allclose(found.q[0], one.q, atol=1e-13)
