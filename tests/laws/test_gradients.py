"""The end of a 50-step rollout by every number: automatic derivatives against Richardson's differences.

All numbers (leaves of the model, initial state, controls) make one long vector, so that one compiled gradient
and one compiled batch of rollouts serve every start.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from isthmus import Control, State, compile_model, native, rollout
from isthmus.describe.description import EXTRAS
from isthmus.model.model import leaf_fields
from tests import trees

STEPS, DT = 50, 0.01
MODEL = compile_model(trees.menagerie()).set("joint/limit_width", 0.05)
WEIGHTS = np.random.default_rng(5).uniform(0.5, 1.5, MODEL.nq + MODEL.dof + 9)


def everything(model, state, *, load: float = 1.0):
    """Model, start and controls as one tree."""
    draw = np.random.default_rng(1)
    t = DT * np.arange(STEPS)[:, None]
    controls = Control(
        torque=load * draw.normal(size=(STEPS, MODEL.dof)),
        position=load * 0.3 * np.sin(3.0 * t),
        velocity=load * 0.9 * np.cos(3.0 * t),
        acceleration=load * -2.7 * np.sin(3.0 * t),
        force=load * 0.3 * draw.normal(size=(STEPS, len(MODEL.link_names), 6)),
    )
    return model, state, controls


def loss(model, state, controls):
    """Squares of the last positions and velocities, and of where the points are then."""
    motion = rollout(model, state, controls, DT, record=["point/position"])
    points = motion.signals["point/position"][-1]
    end = jnp.concatenate([motion.q[-1], motion.v[-1], jnp.ravel(points)])
    return jnp.sum(WEIGHTS * jnp.square(end))


def at_random():
    state = State.random(MODEL, jax.random.key(3), speed=0.5)
    return everything(MODEL, state)


def at_neutral():
    """No rotation anywhere, no velocity, dry friction about to set in."""
    return everything(MODEL, State.neutral(MODEL), load=0.0)


def at_rest():
    """The same, and nothing ever moves."""
    still = MODEL.set("gravity", 0.0).set("joint/stiffness", 0.0)
    return everything(still, State.neutral(MODEL), load=0.0)


def near_minus_one():
    """Quaternions of almost a whole turn."""
    q = np.array(State.neutral(MODEL).q)
    for i, kind in enumerate(MODEL.joint_kinds):
        if kind in ("spherical", "free"):
            stop = MODEL.layout.q_own[i][1]
            q[stop - 4 : stop] = [-1.0, 1e-9, -2e-9, 1e-10]
    return everything(MODEL, State(q, np.zeros(MODEL.dof)))


STARTS = {"random": at_random, "neutral": at_neutral, "rest": at_rest, "minus one": near_minus_one}
VECTOR, UNRAVEL = ravel_pytree(at_random())
FREE = np.isfinite(VECTOR)
"""Ends of travel that are not there stay so."""


def other_controls() -> np.ndarray:
    """Rows of the vector that are controls, save those of every tenth step: they need no differences."""
    controls = UNRAVEL(jnp.arange(VECTOR.size, dtype=float))[2]
    others = [
        np.ravel(x[k]) for x in jax.tree.leaves(controls) for k in range(STEPS) if k % 10 != 3
    ]
    return np.concatenate(others).astype(int)


@functools.cache
def compiled():
    """Loss and gradient by XLA; losses of a batch and the derivative along a direction by native code."""
    f = lambda x: loss(*UNRAVEL(x))
    along = lambda x, d: jax.jvp(f, (x,), (jnp.where(FREE, d, 0.0),))[1]
    batch = native.compile(f, VECTOR)
    return jax.jit(jax.value_and_grad(f)), batch.map, native.compile(along, VECTOR, VECTOR)


def differences(x: np.ndarray, rows: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Central differences with steps `h` and `h/2`, extrapolated: error of fourth order."""
    _, batch, _ = compiled()

    def central(h: np.ndarray) -> np.ndarray:
        moves = np.zeros((len(rows), x.size))
        moves[np.arange(len(rows)), rows] = h
        values = batch(np.concatenate([x + moves, x - moves]))
        return np.asarray(values[: len(rows)] - values[len(rows) :]) / (2.0 * h)

    return (4.0 * central(0.5 * h) - central(h)) / 3.0


def typical(x) -> np.ndarray:
    """The mean size of an array, everywhere; one, where it is all zero or infinite."""
    sizes = np.abs(np.asarray(x))[np.isfinite(x)]
    return np.full(np.shape(x), np.mean(sizes) if np.any(sizes) else 1.0)


def scales() -> np.ndarray:
    """For each number, the typical size of those of its kind."""
    return np.asarray(ravel_pytree(jax.tree.map(typical, UNRAVEL(VECTOR)))[0])


@pytest.mark.slow
@pytest.mark.compiles_much("all numbers of a model, leaf by leaf, become one vector")
@pytest.mark.parametrize("start", STARTS)
def test_gradients_by_every_number_are_those_of_differences(start):
    x = np.asarray(ravel_pytree(STARTS[start]())[0])
    value, slope = compiled()[0](x)
    assert bool(jnp.all(jnp.isfinite(slope)))
    scale = scales()
    assert 1e-4 * np.max(UNRAVEL(scale)[1].v) < np.min(MODEL.joint_friction_speed) / 100.0
    rows = np.setdiff1d(np.flatnonzero(FREE), other_controls())
    found = differences(x, rows, 1e-4 * scale[rows])
    error = np.abs(np.asarray(slope)[rows] - found)
    allowed = 1e-6 * np.maximum(np.abs(found), max(abs(float(value)), 1.0) / scale[rows])
    worst = rows[np.argmax(error / allowed)]
    assert np.all(error <= allowed), (
        f"{name_of(worst)}: {slope[worst]} by AD, {found[rows == worst]}"
    )


@pytest.mark.slow
@pytest.mark.compiles_much("all numbers of a model, leaf by leaf, become one vector")
@pytest.mark.parametrize("start", STARTS)
def test_forward_and_reverse_mode_agree(start):
    x = np.asarray(ravel_pytree(STARTS[start]())[0])
    reverse, _, along = compiled()
    _, slope = reverse(x)
    for seed in range(3):
        d = np.random.default_rng(seed).normal(size=x.size) * scales()
        expected = float(jnp.sum(jnp.where(FREE, slope * d, 0.0)))
        size = float(jnp.sum(jnp.abs(jnp.where(FREE, slope * d, 0.0))))
        assert abs(float(along(x, d)) - expected) <= 1e-10 * size


def name_of(row: int) -> str:
    """Which number a row of the vector is, for messages."""
    paths = jax.tree_util.tree_flatten_with_path(UNRAVEL(VECTOR))[0]
    ends = np.cumsum([np.size(leaf) for _, leaf in paths])
    k = int(np.searchsorted(ends, row, side="right"))
    return f"{jax.tree_util.keystr(paths[k][0])}[{row - (ends[k] - np.size(paths[k][1]))}]"


def test_the_gradient_reaches_every_kind_of_number():
    """What nobody's derivative reaches would pass unnoticed: only what this mechanism has no use for is zero."""
    _, slope = compiled()[0](VECTOR)
    by_model = UNRAVEL(slope)[0]
    silent = {spec.name for field, spec in leaf_fields() if not np.any(getattr(by_model, field))}
    unused = {spec.name for field, spec in leaf_fields() if not getattr(by_model, field).size}
    motors = {"joint/effort", "joint/gear", "joint/kp", "joint/kd", "joint/delay"}
    extras = {
        f"joint/{name}" for name in EXTRAS
    }  # tests/dynamics/test_extras.py has their gradients
    assert silent - unused - motors - extras == {"point/orientation"}
