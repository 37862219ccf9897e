"""Bad input of `step`, `rollout` and `rollout_many` is refused in one clear sentence."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np
import pytest

from isthmus import RK4, Control, State, compile_model, rollout, rollout_many, step
from isthmus.errors import BadOption, BadShape, IsthmusError, UnknownSignal
from isthmus.simulate.observe import observe
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
        lambda: rollout_many(TWO, THREE, None, 0.1, steps=2), BadShape, "'link/mass' of the model: 2, states: 3"
    ),
    "a batch of states in a step": (
        lambda: step(MODEL, THREE, None, 0.1), BadShape, r"state.q has shape \(3, 2\).*for a batch use rollout_many"
    ),
    "a batch of states in a rollout": (
        lambda: rollout(MODEL, THREE, None, 0.1, steps=2), BadShape, "for a batch use rollout_many"
    ),
    "a batch of models": (
        lambda: rollout(TWO, START, None, 0.1, steps=2), BadShape, "'link/mass' of .* for a batch use rollout_many"
    ),
    "a batch of controls": (
        lambda: rollout(MODEL, START, np.zeros((3, 5, 2)), 0.1), BadShape, "for a batch use rollout_many"
    ),
    "times": (
        lambda: step(MODEL, State(np.zeros(2), np.zeros(2), None, np.zeros(2)), None, 0.1), BadShape, "state.time"
    ),
    "a law of one argument": (
        lambda: rollout(MODEL, START, lambda t: np.zeros(2), 0.1, steps=2), BadOption, "must take two arguments"
    ),
    "a law that gives too few torques": (
        lambda: rollout(MODEL, START, lambda t, s: s.q[:1], 0.1, steps=2), BadShape, r"torque has shape \(1,\)"
    ),
    "a law that leaves a prescribed joint": (
        lambda: rollout(DRIVEN_MODEL, State.neutral(DRIVEN_MODEL), lambda t, s: None, 0.1, steps=2),
        BadShape, "'axis3' is prescribed",
    ),
    "nan state": (
        lambda: step(MODEL, State(np.array([0.0, np.nan]), np.zeros(2)), None, 0.1), BadOption,
        r"state.q\[1\] is nan; every number must be finite",
    ),
    "infinite velocity": (
        lambda: rollout(MODEL, State(np.zeros(2), np.array([np.inf, 0.0])), None, 0.1, steps=1), BadOption,
        r"state.v\[0\] is inf",
    ),
    "nan control": (
        lambda: rollout(MODEL, START, np.array([[0.0, 0.0], [0.0, np.nan]]), 0.1), BadOption,
        r"control torque\[1, 1\] is nan",
    ),
    "complex state": (lambda: State(np.zeros(2) * 1j, np.zeros(2)), BadOption, "must be real, not"),
    "complex dt": (lambda: step(MODEL, START, None, np.array(0.1j)), BadOption, "dt must be a positive"),
    "observed state": (lambda: observe(MODEL, LONG, names=["link/pose"]), BadShape, r"state.q has shape \(3,\)"),
    "observed controls": (
        lambda: observe(MODEL, THREE, np.zeros((2, 2)), names=["link/pose"]), BadShape, r"torque has shape \(2, 2\)"
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


def test_a_batch_survives_its_worst_member():
    """Among worlds side by side, nan is a value: the others go on."""
    q = np.zeros((2, 2))
    q[0, 0] = np.nan
    after = rollout_many(MODEL, State(q, np.zeros((2, 2))), None, 0.1, steps=1)
    assert np.isnan(after.q[0]).any()
    assert np.isfinite(after.q[1]).all()


def test_a_trace_does_not_look_at_values():
    of_start = lambda q: step(MODEL, State(q, np.zeros(2)), None, 0.1).q
    assert jax.eval_shape(of_start, np.array([np.nan, 0.0])).shape == (2,)
