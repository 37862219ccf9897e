"""What networks read along a motion, the range of it, and which rows of another motion lie outside of that range."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import jax
import numpy as np
from jaxtyping import Bool, Float

from isthmus.errors import BadWiring
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.motion.motion import Motion
from isthmus.networks.names import PREVIOUS
from isthmus.networks.seen import is_outside, range_of
from isthmus.networks.wired import Wired
from isthmus.simulate.observe import observe
from isthmus.types import AnyArray

Rows = tuple[State, Control]
"""States and what acted, with the rows of a motion as their first axis."""


def rows_of(motion: Motion, wired: Sequence[Wired]) -> Rows:
    """The states of a motion, with commands and the channels that some networks read."""
    if motion.q is None or motion.v is None or len(motion) == 0:
        raise BadWiring("scales and ranges need motions with positions and velocities.")
    names = {r.name for w in wired for r in w.plan.readings if r.name.startswith("extra/")}
    if missing := sorted(names - set(motion.signals)):
        raise BadWiring(f"the data for scales has no channel {missing[0]!r}.")
    extra = {name.removeprefix("extra/"): motion.signals[name] for name in names}
    control = Control(torque=motion.signals.get("joint/control"), extra=extra)
    return State(motion.q, motion.v, None, motion.t), control


def observed(model: Model, wired: Wired, rows: Rows, *more: str) -> dict[str, AnyArray]:
    """The signals that a network reads, and those called `more`, along a motion of the model without networks."""
    state, control = rows
    names = {r.name.removeprefix(PREVIOUS) for r in wired.plan.readings} | set(more)
    given = {"time": state.time, "joint/position": state.q, "joint/velocity": state.v}
    given |= {f"extra/{name}": x for name, x in control.extra.items()}
    if control.torque is not None:
        given["joint/control"] = control.torque
    found: dict[str, AnyArray] = {name: np.asarray(given[name]) for name in names & set(given)}
    if wanted := sorted(names - set(given)):
        plain = dataclasses.replace(model, networks=())
        found |= observe(plain, state, control, names=wanted)
    return found | {PREVIOUS + name: found[name] for name in wired.previous}


def inputs_along(
    wired: Wired, values: Mapping[str, AnyArray]
) -> Float[np.ndarray, "rows units inputs"]:
    """What a network reads in each row, before scaling; `values`: signals with rows as their first axis."""
    with jax.enable_x64(True):
        x = np.asarray(jax.vmap(wired.inputs)(dict(values)))
    return x if x.ndim == 3 else x[:, None]


def known_inputs(x: Float[np.ndarray, "rows units inputs"]) -> Float[np.ndarray, "n inputs"]:
    """Inputs of all rows and units, one below the other, without those that were not measured."""
    flat = x.reshape(-1, x.shape[-1])
    return flat[np.all(np.isfinite(flat), axis=1)]


def with_ranges(model: Model, motions: Sequence[Rows], names: Collection[str]) -> Model:
    """The model whose networks called `names` have seen these motions, and nothing else."""

    def changed(wired: Wired) -> Wired:
        if wired.name not in names or not wired.plan.readings:
            return wired
        parts = [inputs_along(wired, observed(model, wired, rows)) for rows in motions]
        x = known_inputs(np.concatenate(parts))
        return dataclasses.replace(wired, seen=range_of(x)) if len(x) else wired

    return dataclasses.replace(model, networks=tuple(map(changed, model.networks)))


def rows_outside(model: Model, rows: Rows) -> dict[str, Bool[np.ndarray, " rows"]]:
    """Whether a network reads, in each row of a motion, something outside of the range that it has seen.

    By the name of the network; networks whose range is not known are left out.
    """
    found: dict[str, np.ndarray] = {}
    for wired in model.networks:
        if wired.seen is not None:
            x = inputs_along(wired, observed(model, wired, rows))
            out = is_outside(x.reshape(-1, x.shape[-1]), np.asarray(wired.seen))
            found[wired.name] = np.any(out.reshape(x.shape[:2]), axis=1)
    return found
