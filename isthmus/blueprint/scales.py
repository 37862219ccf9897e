"""Scales of a network's inputs and outputs from motions that the model may go through."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import numpy as np

from isthmus.errors import BadWiring
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.motion.motion import Motion
from isthmus.networks.charts import chart_of
from isthmus.networks.names import PREVIOUS
from isthmus.networks.wired import Wired
from isthmus.simulate.observe import observe
from isthmus.types import AnyArray


def with_scales(model: Model, wired: Wired, motions: Sequence[Motion]) -> Wired:
    """`wired` with inputs of zero mean and unit deviation over the motions, outputs of the target's deviation."""
    plain = dataclasses.replace(model, networks=())
    parts = [_observed(plain, wired, motion) for motion in motions]
    values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    with jax.enable_x64(True):
        features = (
            np.asarray(jax.vmap(wired.features)(values))
            if wired.plan.readings
            else np.zeros((1, 0))
        )
    flat = features.reshape(-1, features.shape[-1])
    deviation = flat.std(axis=0)
    scale = np.where(deviation > 1e-9, deviation, 1.0)
    gain = wired.gain
    if (
        wired.plan.mode != "scale"
        and wired.recipe.output_scale is None
        and wired.plan.law == "free"
    ):
        target = values[wired.plan.target]
        rows = target if wired.plan.rows is None else target[:, np.array(wired.plan.rows)]
        with jax.enable_x64(True):
            typical = float(np.std(chart_of(wired.plan.target).of(rows)))
        gain = np.full_like(gain, typical) if typical > 1e-9 else gain
    return dataclasses.replace(wired, shift=flat.mean(axis=0), scale=scale, gain=gain)


def _observed(model: Model, wired: Wired, motion: Motion) -> dict[str, AnyArray]:
    """What the wire reads and corrects, along a motion."""
    if motion.q is None or motion.v is None or len(motion) == 0:
        raise BadWiring("scales need motions with positions and velocities.")
    channels = {
        r.name: r.name.removeprefix("extra/")
        for r in wired.plan.readings
        if r.name.startswith("extra/")
    }
    if missing := [name for name in channels if name not in motion.signals]:
        raise BadWiring(f"the data for scales has no channel {missing[0]!r}.")
    control = Control(
        torque=motion.signals.get("joint/control"),
        extra={channel: motion.signals[name] for name, channel in channels.items()},
    )
    read = {r.name.removeprefix(PREVIOUS) for r in wired.plan.readings} | {wired.plan.target}
    found = observe(model, State(motion.q, motion.v, None, motion.t), control, names=sorted(read))
    return found | {PREVIOUS + name: found[name] for name in wired.previous}
