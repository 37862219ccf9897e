"""The controls of a rollout as signals of its motion, under the names that logs use, so that a fit knows what acted."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np

from isthmus.dynamics.actuators import has_motors
from isthmus.model.arrays import broadcast, is_traced
from isthmus.model.model import Model
from isthmus.model.state import Control
from isthmus.motion.motion import CONTROL, EXTRA, FORCE, Motion
from isthmus.types import AnyArray


def as_signals(control: Control) -> dict[str, AnyArray]:
    """What a control says beside the motion of prescribed joints, which is part of `q` and `v`."""
    named = {CONTROL: control.torque, FORCE: control.force}
    named |= {EXTRA + name: value for name, value in control.extra.items()}
    return {name: value for name, value in named.items() if value is not None}


def with_controls(model: Model, motion: Motion, controls: Control, *, deep: bool = False) -> Motion:
    """The motion with its controls, unless they were recorded; `deep`: they have a batch axis before time.

    The motion has one row more than the controls: in it the last control acts on. No command of a model with motors
    is a command of zero.
    """
    times = np.shape(motion.t)
    if times[-1] < 2:
        return motion
    signals = {name: last_row_again(x, int(deep)) for name, x in as_signals(controls).items()}
    if len(times) > 1 and not deep:  # what all worlds share, as a view
        signals = {name: broadcast(x, (times[0], *x.shape)) for name, x in signals.items()}
    if CONTROL not in signals and has_motors(model):
        signals[CONTROL] = np.broadcast_to(0.0, (*times, model.dof))
    return dataclasses.replace(motion, signals={**signals, **motion.signals})


def last_row_again(x: AnyArray, axis: int = 0) -> AnyArray:
    """`x` with its last row repeated along the axis of time."""
    xp = jnp if is_traced(x) else np
    x = xp.asarray(x)
    last = x[(slice(None),) * axis + (slice(-1, None),)]
    return xp.concatenate([x, last], axis=axis)
