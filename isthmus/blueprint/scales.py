"""Scales of a network's inputs and outputs from motions that the model may go through."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import numpy as np

from isthmus.blueprint.ranges import inputs_along, known_inputs, observed, rows_of
from isthmus.errors import BadWiring
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.networks.charts import chart_of
from isthmus.networks.seen import range_of
from isthmus.networks.wired import Wired


def with_scales(model: Model, wired: Wired, motions: Sequence[Motion]) -> Wired:
    """`wired` with inputs of zero mean and unit deviation over the motions, outputs of the target's deviation."""
    target = wired.plan.target
    parts = [observed(model, wired, rows_of(m, [wired]), target) for m in motions]
    values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    gain = wired.gain
    if (
        wired.plan.mode != "scale"
        and wired.recipe.output_scale is None
        and wired.plan.law == "free"
    ):
        whole = values[target]
        rows = whole if wired.plan.rows is None else whole[:, np.array(wired.plan.rows)]
        with jax.enable_x64(True):
            typical = float(np.std(chart_of(target).of(rows)))
        gain = np.full_like(gain, typical) if typical > 1e-9 else gain
    if not wired.plan.readings:
        return dataclasses.replace(wired, gain=gain)
    x = known_inputs(inputs_along(wired, values))
    if not len(x):
        raise BadWiring(
            f"the data for scales has no row with all that the wire to {target!r} reads."
        )
    deviation = x.std(axis=0)
    scale = np.where(deviation > 1e-9, deviation, 1.0)
    return dataclasses.replace(
        wired, shift=x.mean(axis=0), scale=scale, gain=gain, seen=range_of(x)
    )
