"""Stiction, friction by load, cogging, offsets, motor constants: closed forms, gradients, energy, no cost where off."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.describe.description import EXTRAS
from isthmus.dynamics.actuators import command_for, motor_slope, motor_torque
from isthmus.dynamics.passive import (
    LOAD_CORNER,
    cogging_energy,
    cogging_torque,
    passive_slope,
    passive_torque,
    stribeck,
    transmitted_torque,
)
from isthmus.dynamics.smooth import dead_zone
from isthmus.files.topology import SINCE_FORMAT_2
from isthmus.model.state import Control, State
from isthmus.networks.signals import NO_SIGNALS
from isthmus.simulate.accelerate import accelerate, needed_torque

NUMBERS = {
    "friction": 0.4, "friction_speed": 0.05, "stiction": 0.7, "stiction_speed": 0.3,
    "stiction_exponent": 0.8, "load_friction": 0.15,
    "torque_offset": 0.25, "cogging_sin": 0.3, "cogging_cos": -0.2, "cogging_periods": 6.0, "motor_constant": 0.6,
    "stiffness": 1.5, "play": 0.1, "bristle_deflection": 0.01,
}  # fmt: skip


def robot(**numbers) -> ist.Model:
    """A hinge that carries a slide."""
    return (
        ist.Builder()
        .add_link("rod", mass=1.0, com=(0.0, 0.0, -0.5), inertia=(0.1, 0.1, 0.02))
        .add_link("sled", mass=0.5, com=(0.1, 0.0, 0.0), inertia=(0.01, 0.01, 0.01))
        .add_joint_revolute("hinge", None, "rod", axis=(0.0, 1.0, 0.0), **numbers)
        .add_joint_prismatic("slide", "rod", "sled", axis=(1.0, 0.0, 0.0), **numbers)
        .model()
    )


FULL, BARE = robot(**NUMBERS), robot()
DRAW = np.random.default_rng(0)
Q, V, TAU = DRAW.normal(size=(3, 50, 2))
PASSIVE = jax.jit(jax.vmap(passive_torque, in_axes=(None, 0, 0, 0)))
SLOPE = jax.jit(jax.vmap(passive_slope, in_axes=(None, 0, 0)))


def test_every_extra_number_stands_in_the_model_and_is_switched_on():
    for name in EXTRAS:
        np.testing.assert_array_equal(FULL.get(f"joint/{name}"), NUMBERS[name])
    for field in SINCE_FORMAT_2:
        assert getattr(FULL, field) == (0, 1)
        assert getattr(BARE, field) == ()


def test_the_torque_is_the_closed_form():
    n = NUMBERS
    limit = n["friction"] + n["stiction"] * np.exp(
        -(np.abs(V / n["stiction_speed"]) ** n["stiction_exponent"])
    )
    limit = limit + n["load_friction"] * np.sqrt(TAU**2 + LOAD_CORNER**2)
    angle = n["cogging_periods"] * Q * np.array([[1.0, 2.0 * np.pi]])  # in a turn, in a metre
    ripple = n["cogging_sin"] * np.sin(angle) + n["cogging_cos"] * np.cos(angle)
    spring = -n["stiffness"] * dead_zone(Q, np.full_like(Q, 0.5 * n["play"]))
    want = spring + ripple - limit * np.tanh(V / n["friction_speed"]) - n["torque_offset"]
    np.testing.assert_allclose(PASSIVE(FULL, Q, V, TAU), want, rtol=1e-13, atol=1e-14)


def test_friction_never_has_power_and_its_slope_is_that_of_the_chord():
    rubbing = FULL.set("joint/torque_offset", 0.0).set("joint/cogging_sin", 0.0)
    rubbing = rubbing.set("joint/cogging_cos", 0.0).set("joint/stiffness", 0.0)
    tau = PASSIVE(rubbing, Q, V, TAU)
    assert (np.asarray(tau * V) <= 0.0).all()
    np.testing.assert_allclose(SLOPE(FULL, V, TAU) * V, -tau, rtol=1e-12)


def test_stiction_is_largest_at_rest_and_gone_at_speed():
    slow, fast = np.array([[0.15, 0.15]]), np.array([[3.0, 3.0]])
    dry = robot(friction=0.4, friction_speed=0.01, stiction=0.7, stiction_speed=0.3)
    zero = np.zeros((1, 2))
    at_rest, sliding = (np.abs(PASSIVE(dry, zero, v, zero)) for v in (slow, fast))
    np.testing.assert_allclose(at_rest, 0.4 + 0.7 * np.exp(-0.25))
    np.testing.assert_allclose(sliding, 0.4)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_stiction_of_any_exponent_is_whole_at_rest_and_has_derivatives_there(exponent):
    dry = robot(stiction=0.7, stiction_speed=0.3, stiction_exponent=exponent)
    share = jax.jit(jax.value_and_grad(lambda m, v: jnp.sum(stribeck(m, v)), argnums=(0, 1)))
    value, (by_model, by_speed) = share(dry, jnp.zeros(2))
    np.testing.assert_allclose(value, 2.0, rtol=2e-4)
    for slope in (by_speed, by_model.joint_stiction_speed, by_model.joint_stiction_exponent):
        assert np.isfinite(slope).all()


def test_cogging_is_the_slope_of_its_potential():
    for periods in (6.0, 0.0):
        model = FULL.set("joint/cogging_periods", periods)
        slope = jax.jit(jax.vmap(jax.grad(cogging_energy, argnums=1), in_axes=(None, 0)))(model, Q)
        torque = jax.jit(jax.vmap(cogging_torque, in_axes=(None, 0)))(model, Q)
        np.testing.assert_allclose(-slope, torque, rtol=1e-12, atol=1e-13)


def test_energy_is_kept_where_a_joint_only_cogs():
    model = robot(cogging_sin=0.3, cogging_cos=0.1, cogging_periods=4.0).set("gravity", 0.0)
    start = State(np.array([0.3, 0.1]), np.array([1.0, 0.2]))
    motion = ist.rollout(model, start, None, 1e-3, steps=400, integrator="rk4", engine="native")
    of = jax.jit(ist.dynamics.energy)
    ends = [float(of(model, motion.q[k], motion.v[k])) for k in (0, -1)]
    assert abs(ends[1] - ends[0]) < 1e-9
    assert np.abs(np.asarray(motion.q)).max() > 0.3


@pytest.mark.parametrize("dt", [1e-3, 0.1, 1.0])
def test_an_implicit_step_stops_a_sticking_loaded_joint_and_never_turns_it_round(dt):
    model = robot(friction=2.0, stiction=20.0, load_friction=0.5).set("gravity", 0.0)
    for speed in (-3.0, 0.02, 10.0):
        start = State(np.zeros(2), np.array([speed, 0.0]))
        after = ist.step(model, start, None, dt, engine="native").v[0]
        assert 0.0 <= float(after) / speed <= 1.0


def test_friction_by_load_is_solved_for_the_motor_torque():
    motor = jax.jit(jax.vmap(transmitted_torque, in_axes=(None, 0, 0)))(FULL, TAU, V)
    load = jnp.sqrt(motor * motor + LOAD_CORNER**2)
    lost = NUMBERS["load_friction"] * load * jnp.tanh(V / NUMBERS["friction_speed"])
    np.testing.assert_allclose(motor - lost, TAU, rtol=1e-12, atol=1e-13)


def test_torques_that_a_simulated_motion_needs_are_those_that_drove_it():
    """Forward and backward agree, in all terms, also for commands that are currents."""

    @jax.jit
    def there_and_back(q, v, command):
        acting, a = accelerate(FULL, State(q, v), Control(command), NO_SIGNALS)
        needed = needed_torque(acting, a, NO_SIGNALS)
        return acting.motor, needed, command_for(FULL, needed, q, v)

    for q, v, command in zip(Q[:5], V[:5], TAU[:5], strict=True):
        motor, needed, again = there_and_back(q, v, command)
        np.testing.assert_allclose(motor, NUMBERS["motor_constant"] * command, rtol=1e-14)
        np.testing.assert_allclose(needed, motor, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(again, command, rtol=1e-9, atol=1e-10)


def test_the_command_of_a_pd_controller_is_found_back():
    model = BARE.set("joint/kp", 30.0).set("joint/kd", 2.0).set("joint/motor_constant", 0.5)
    model = model.set("joint/gear", 3.0)
    q, v, command = Q[0], V[0], TAU[0]
    for play in (0.0, 0.1):
        model = model.set("joint/play", play)
        tau = motor_torque(model, jnp.asarray(command), q, v)
        np.testing.assert_allclose(command_for(model, tau, q, v), command, rtol=1e-11)
    np.testing.assert_allclose(motor_slope(model), 3.0 * 3.0 * 2.0 * 0.5)


def test_native_code_and_xla_agree_and_the_gradient_is_that_of_differences():
    start, torques = State(Q[0], V[0]), 0.5 * TAU[:10]

    def end(x, engine=None):
        model = FULL
        for k, name in enumerate(EXTRAS):
            model = model.set(f"joint/{name}", x[k])
        return ist.rollout(model, start, torques, 0.01, engine=engine).q[-1].sum()

    x = np.array([NUMBERS[name] for name in EXTRAS])
    with jax.enable_x64(True):
        value, slope = jax.jit(jax.value_and_grad(end))(x)
    np.testing.assert_allclose(value, end(x, "native"), rtol=1e-12)
    h = 1e-5
    for k, unit in enumerate(np.eye(len(x))):
        by_difference = (end(x + h * unit, "native") - end(x - h * unit, "native")) / (2.0 * h)
        assert abs(slope[k]) > 1e-6
        np.testing.assert_allclose(slope[k], by_difference, rtol=1e-5, atol=1e-9)


def test_numbers_that_are_off_leave_no_operation_behind():
    """The program of a model without them does not read them."""
    numbers = {f"joint_{name}": jnp.ones(2) for name in EXTRAS}

    def acceleration(numbers):
        model = dataclasses.replace(BARE, **numbers)
        state, command = State(Q[0], V[0]), Control(TAU[0])
        return accelerate(model, state, command, NO_SIGNALS, implicit=np.array(0.01))[1]

    program = jax.make_jaxpr(acceleration)(numbers).jaxpr
    used = {id(v) for equation in program.eqns for v in equation.invars}
    assert not used & {id(v) for v in program.invars}
