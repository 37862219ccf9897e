"""Bad input of `step`, `rollout` and `rollout_many` is refused in one clear sentence."""

from __future__ import annotations

import equinox as eqx
import numpy as np
import pytest

from isthmus import RK4, Control, State, compile_model, rollout, rollout_many, step
from isthmus.errors import BadOption, BadShape, IsthmusError, UnknownSignal
from tests import trees

MODEL = compile_model(trees.pendulum(2))
START = State.neutral(MODEL)
DRIVEN_MODEL = compile_model(trees.with_joint(trees.arm(), "axis3", prescribed=True))
LONG = State(np.zeros(3), np.zeros(2))
SHORT = State(np.zeros(2), np.zeros(1))
TWO = eqx.tree_at(lambda m: m.link_mass, MODEL, np.ones((2, 2)))
THREE = State(np.zeros((3, 2)), np.zeros((3, 2)))

FAULTS = {
    "q too long": (lambda: step(MODEL, LONG, None, 0.1), BadShape, r"state.q has shape \(3,\).*needs \(2,\)"),
    "v too short": (lambda: step(MODEL, SHORT, None, 0.1), BadShape, r"state.v has shape \(1,\)"),
    "torque": (lambda: step(MODEL, START, np.zeros(3), 0.1), BadShape, r"torque has shape \(3,\).*\(2,\)"),
    "force": (
        lambda: step(MODEL, START, Control(force=np.zeros((3, 6))), 0.1), BadShape, r"force has shape \(3, 6\)"
    ),
    "torques": (
        lambda: rollout(MODEL, START, np.zeros((5, 3)), 0.1), BadShape, r"torque has shape \(5, 3\).*\(5, 2\)"
    ),
    "torques without time": (lambda: rollout(MODEL, START, np.zeros(2), 0.1), BadShape, "shape|time"),
    "lengths differ": (
        lambda: rollout(MODEL, START, Control(torque=np.zeros((5, 2)), force=np.zeros((4, 2, 6))), 0.1),
        BadShape, "one length",
    ),
    "steps and rows": (
        lambda: rollout(MODEL, START, np.zeros((5, 2)), 0.1, steps=6), BadShape, "5 rows but steps=6"
    ),
    "no steps": (lambda: rollout(MODEL, START, None, 0.1), BadOption, "steps= must say how many"),
    "negative steps": (lambda: rollout(MODEL, START, None, 0.1, steps=-1), BadOption, "whole number"),
    "nan dt": (lambda: step(MODEL, START, None, float("nan")), BadOption, "dt must be a positive number.*nan"),
    "negative dt": (lambda: rollout(MODEL, START, None, -0.1, steps=1), BadOption, "dt must be a positive.*-0.1"),
    "zero dt": (lambda: step(MODEL, START, None, 0.0), BadOption, "dt must be a positive"),
    "integrator": (
        lambda: step(MODEL, START, None, 0.1, integrator="rk5"), BadOption, "'rk5'.*Did you mean 'rk4'"
    ),
    "explicit": (
        lambda: rollout(MODEL, START, None, 0.1, steps=1, integrator="rk4", explicit=True), BadOption,
        "explicit=True is an option of 'semi_implicit'; 'rk4' is explicit without it",
    ),
    "substeps twice": (
        lambda: step(MODEL, START, None, 0.1, integrator=RK4(substeps=2), substeps=3), BadOption,
        r"substeps is given twice: 3 and RK4\(substeps=2\)",
    ),
    "substeps": (lambda: step(MODEL, START, None, 0.1, substeps=0), BadOption, "substeps must be a whole number"),
    "checkpoint": (
        lambda: rollout(MODEL, START, None, 0.1, steps=3, checkpoint=0), BadOption, "checkpoint must be"
    ),
    "record": (
        lambda: rollout(MODEL, START, None, 0.1, steps=3, record=["link/poes"]), UnknownSignal, "'link/pose'"
    ),
    "undriven": (
        lambda: rollout(DRIVEN_MODEL, State.neutral(DRIVEN_MODEL), None, 0.1, steps=2),
        BadShape, "'axis3' is prescribed: give its motion",
    ),
    "batches differ": (
        lambda: rollout_many(TWO, THREE, None, 0.1, steps=2), BadShape, "one common batch axis; model: 2, state: 3"
    ),
    "no batch": (lambda: rollout_many(MODEL, START, None, 0.1, steps=2), BadShape, "none has one"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_bad_input_is_refused_in_one_sentence(fault):
    call, kind, words = FAULTS[fault]
    with pytest.raises(IsthmusError, match=words) as caught:
        call()
    assert isinstance(caught.value, kind)
    assert "\n" not in str(caught.value)


def test_a_nan_state_or_control_is_a_value_not_an_exception():
    """Numbers that fail are values: a batch survives its worst member."""
    after = step(MODEL, State(np.array([np.nan, 0.0]), np.zeros(2)), None, 0.1)
    assert np.isnan(after.q).any()
