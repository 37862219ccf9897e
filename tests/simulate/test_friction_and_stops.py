"""Dry friction brings joints to rest and never turns them round; stops hold, set in smoothly, and are off inside."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import State, compile_model, rollout, step
from isthmus.errors import StepWarning
from tests import trees
from tests.compiled import limit_torque, mass_matrix, passive_torque

RUBBING = compile_model(trees.pendulum(1, friction=20.0, damping=0.1, armature=0.2)).set(
    "gravity", 0.0
)
STOPPED = compile_model(trees.pendulum(2, lower=-0.5, upper=0.25))


@pytest.mark.parametrize("speed", [-3.0, -0.1, -0.01, 1e-5, 0.005, 0.5, 10.0])
@pytest.mark.parametrize("dt", [1e-3, 1e-2, 0.1])
def test_an_implicit_step_never_turns_a_rubbing_joint_round(speed, dt):
    after = step(RUBBING, State(np.zeros(1), np.array([speed])), None, dt).v[0]
    assert 0.0 <= float(after) / speed <= 1.0


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_rubbing_joint_comes_to_rest_and_stays_there(dt):
    motion = rollout(RUBBING, State(np.zeros(1), np.array([2.0])), None, dt, steps=200)
    assert bool(jnp.all(jnp.diff(motion.v[:, 0]) <= 0.0))
    assert float(jnp.abs(motion.v[-1, 0])) < 1e-6
    np.testing.assert_allclose(motion.q[-1], motion.q[-20], atol=1e-6)


def test_dry_friction_holds_a_load_that_is_lighter_than_it():
    """It creeps, at a share of the smoothing speed."""
    held = compile_model(trees.pendulum(1, friction=20.0))
    motion = rollout(held, State(np.array([0.5]), np.zeros(1)), None, 1e-2, steps=100)
    assert float(jnp.max(jnp.abs(motion.v))) < 0.01
    sliding = rollout(
        held.set("joint/friction", 1.0), State(np.array([0.5]), np.zeros(1)), None, 1e-2, steps=100
    )
    assert float(jnp.max(jnp.abs(sliding.v))) > 0.1


def test_implicit_friction_converges_to_the_same_motion_as_explicit():
    model = compile_model(trees.pendulum(2, friction=0.5, damping=0.3)).set(
        "joint/friction_speed", 0.5
    )
    start = State(np.array([0.8, 0.4]), np.array([1.0, -2.0]))
    fine = rollout(model, start, None, 1e-3, steps=400, integrator="rk4").q[-1]
    ends = [rollout(model, start, None, 0.4 / n, steps=800).q[n] for n in (400, 800)]
    errors = [float(jnp.linalg.norm(end - fine)) for end in ends]
    assert errors[0] < 1e-2
    assert abs(np.log2(errors[0] / errors[1]) - 1.0) < 0.2


def ratio(model, q, dt) -> float:
    """`dt·c/(v_s·H)`: above one, an explicit step overshoots."""
    H = mass_matrix(model, q)[0, 0]
    return float(dt * model.joint_friction[0] / (model.joint_friction_speed[0] * H))


@pytest.mark.parametrize(
    "options", [{"explicit": True}, {"integrator": "explicit_euler"}, {"integrator": "rk4"}]
)
def test_an_explicit_scheme_warns_of_a_step_too_long_for_the_friction(options):
    start = State(np.zeros(1), np.ones(1))
    border = 1.0 / ratio(RUBBING, start.q, 1.0)
    with pytest.warns(StepWarning, match=r"dt = .* is too long for the dry friction of 'hinge1'"):
        step(RUBBING, start, None, 1.01 * border, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(RUBBING, start, None, 0.99 * border, **options)


def test_a_rollout_warns_too_and_substeps_help():
    start = State(np.zeros(1), np.ones(1))
    border = 1.0 / ratio(RUBBING, start.q, 1.0)
    with pytest.warns(StepWarning, match="explicit=True"):
        rollout(RUBBING, start, None, 3.0 * border, steps=2, explicit=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rollout(RUBBING, start, None, 3.0 * border, steps=2, explicit=True, substeps=4)


def test_the_usual_scheme_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(RUBBING, State(np.zeros(1), np.ones(1)), None, 0.1)


def test_friction_takes_power_and_never_gives_it(key):
    model = compile_model(trees.menagerie()).set("joint/stiffness", 0.0)
    v = jax.random.normal(key, (50, model.dof))
    q = State.neutral(model).q
    power = jax.vmap(lambda v: passive_torque(model, jnp.asarray(q), v) * v)(v)
    assert float(jnp.max(power)) <= 0.0


def test_stops_are_exactly_off_inside_the_travel(key):
    q = jax.random.uniform(key, (100, 2), minval=-0.5, maxval=0.25)
    torque = jax.vmap(lambda q: limit_torque(STOPPED, q, jnp.array([5.0, -5.0])))(q)
    np.testing.assert_array_equal(torque, 0.0)


def test_a_stop_pushes_back_and_sets_in_smoothly():
    """No jump of force or of its slope, neither at the end of travel nor where the stop is fully on."""
    at = lambda x: limit_torque(STOPPED, jnp.stack([x, 0.0]), jnp.array([0.3, 0.0]))[0]
    force, slope = jax.jit(at), jax.jit(jax.grad(at))
    width = float(STOPPED.joint_limit_width[0])
    for edge in (0.25, 0.25 + width, -0.5, -0.5 - width):
        left, right = edge - 1e-9, edge + 1e-9
        scale = float(STOPPED.joint_limit_stiffness[0])
        assert abs(float(force(right) - force(left))) < 1e-6 * scale
        assert abs(float(slope(right) - slope(left))) < 1e-3 * scale
    assert float(force(0.25 + 2 * width)) < 0.0 < float(force(-0.5 - 2 * width))


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_stops_hold_a_falling_pendulum(dt):
    """Both rods fall onto their stops and lie there; what hits them fast goes in by less than a tenth."""
    start = State(np.array([0.2, 0.2]), np.array([2.0, 2.0]))
    tilted = STOPPED.set("gravity", np.array([-9.81, 0.0, 0.0]))
    motion = rollout(tilted, start, None, dt, steps=int(2.0 / dt))
    assert float(jnp.max(motion.q)) < 0.25 + 0.1
    assert float(jnp.min(motion.q)) > -0.5 - 0.1
    assert float(jnp.max(jnp.abs(motion.v[-1]))) < 1e-3


def test_setting_an_end_of_travel_adds_a_stop():
    model = compile_model(trees.pendulum(2)).set("joint/hinge1/upper", 0.1)
    assert float(limit_torque(model, jnp.array([0.3, 0.3]), jnp.zeros(2))[0]) < 0.0
    assert float(limit_torque(model, jnp.array([0.3, 0.3]), jnp.zeros(2))[1]) == 0.0
