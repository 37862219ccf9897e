"""Any signal can be recorded, by any of its names; the list of signals is the list of what a step publishes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import Control, State, compile_model, rollout
from isthmus.errors import UnknownSignal
from isthmus.networks.names import shape_of, signals_of
from isthmus.simulate.integrate import SemiImplicit, advance
from tests import trees
from tests.compiled import forward_kinematics, passive_torque

MENAGERIE = compile_model(trees.menagerie())
ARM = compile_model(trees.arm())
RODS = compile_model(trees.pendulum(2, damping=0.3, friction=0.1))
FLOATING = compile_model(trees.floating())
STILL = Control(position=np.zeros((2, 1)), velocity=np.zeros((2, 1)))
CONTROLS = {"menagerie": (MENAGERIE, STILL), "floating": (FLOATING, np.zeros((2, 10)))}


@pytest.mark.parametrize("name", CONTROLS)
def test_a_step_publishes_what_the_list_of_signals_says_in_its_order(name, key):
    model, _ = CONTROLS[name]
    state, control = State.random(model, key), Control(position=np.zeros(1), velocity=np.zeros(1))
    published = []

    def run(q, v):
        given = control if model.prescribed else Control()
        after, signal = advance(model, State(q, v), given, jnp.asarray(0.01), SemiImplicit())
        published.extend(signal.published)
        return after

    jax.eval_shape(run, state.q, state.v)
    assert published == [spec.name for spec in signals_of(model)]


@pytest.mark.parametrize("name", CONTROLS)
def test_every_signal_can_be_recorded_with_the_shape_that_the_list_says(name, key):
    model, controls = CONTROLS[name]
    specs = signals_of(model)
    motion = rollout(
        model, State.random(model, key), controls, 1e-3, record=[s.name for s in specs]
    )
    for spec in specs:
        assert motion.signals[spec.name].shape == (3, *shape_of(model, spec)), spec.name
        assert not np.any(np.isnan(motion.signals[spec.name])), spec.name


def test_rows_and_patterns_pick_from_the_whole_signal(key):
    names = [
        "joint/torque", "joint/torque[axis3]", "joint/axis3/torque", "joint/*/torque", "joint/torque[axis*]",
        "link/pose", "link/arm2/pose", "point/hand/position", "point/*/velocity", "point/velocity",
        "link/arm4/mass", "joint/axis1/damping", "gravity", "time",
    ]  # fmt: skip
    motion = rollout(ARM, State.random(ARM, key), np.ones((4, 7)), 1e-3, record=names)
    s = motion.signals
    assert set(s) == {*names, "joint/control"}  # which every rollout keeps
    np.testing.assert_array_equal(s["joint/torque[axis3]"], s["joint/torque"][:, 2])
    np.testing.assert_array_equal(s["joint/axis3/torque"], s["joint/torque"][:, 2])
    np.testing.assert_array_equal(s["joint/*/torque"], s["joint/torque"])
    np.testing.assert_array_equal(s["joint/torque[axis*]"], s["joint/torque"])
    np.testing.assert_array_equal(s["link/arm2/pose"], s["link/pose"][:, 1])
    np.testing.assert_array_equal(s["point/*/velocity"], s["point/velocity"])
    np.testing.assert_array_equal(s["link/arm4/mass"], np.full(5, ARM.get("link/arm4/mass")))
    np.testing.assert_allclose(s["time"], motion.t, rtol=1e-14)
    assert s["point/hand/position"].shape == (5, 3)


def test_recorded_signals_are_those_of_the_recorded_states(key):
    names = ["link/pose", "joint/passive_torque", "joint/position", "joint/velocity"]
    motion = rollout(RODS, State.random(RODS, key), np.ones((6, 2)), 1e-2, record=names)
    poses = [forward_kinematics(RODS, q).pose for q in motion.q]
    passive = [passive_torque(RODS, q, v) for q, v in zip(motion.q, motion.v, strict=True)]
    np.testing.assert_allclose(motion.signals["link/pose"], poses, atol=1e-14)
    np.testing.assert_allclose(motion.signals["joint/passive_torque"], passive, atol=1e-14)
    np.testing.assert_array_equal(motion.signals["joint/position"], motion.q)
    np.testing.assert_array_equal(motion.signals["joint/velocity"], motion.v)


def test_recording_changes_nothing(key):
    start = State.random(RODS, key)
    plain = rollout(RODS, start, np.ones((6, 2)), 1e-3)
    seen = rollout(RODS, start, np.ones((6, 2)), 1e-3, record="link/velocity")
    np.testing.assert_allclose(seen.q, plain.q, atol=1e-14)


def test_channels_of_a_log_can_be_recorded():
    controls = Control(torque=np.zeros((4, 2)), extra={"wind": np.arange(4.0)})
    motion = rollout(RODS, State.neutral(RODS), controls, 1e-3, record=["extra/wind"])
    np.testing.assert_array_equal(motion.signals["extra/wind"], [0.0, 1.0, 2.0, 3.0, 3.0])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("joint/torqe", r"'joint/torqe'.*Did you mean 'joint/torque'"),
        ("joint/axis9/torque", r"'axis9'.*Did you mean 'axis"),
        ("link/arm1/torque", r"'link/arm1/torque'"),
    ],
)
def test_an_unknown_signal_is_named_with_its_neighbour(name, words):
    with pytest.raises((UnknownSignal, KeyError), match=words):
        rollout(ARM, State.neutral(ARM), None, 1e-3, steps=1, record=[name])
