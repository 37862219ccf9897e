"""Whether the time step is short enough: an error of the integrator would be taken for something that is missing."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from isthmus.discovery.linearise import look, slopes, with_door
from isthmus.discovery.record import Record
from isthmus.discovery.score import Columns, products
from isthmus.errors import BadOption
from isthmus.model.model import Model
from isthmus.simulate.advice import or_rk4
from isthmus.simulate.integrate import Integrator

LARGEST = 0.3
"""By so much of the noise halving the time step may change the residuals, in the mean."""

MOST_WINDOWS = 40
"""Windows that are looked at: the check needs a median."""
MARGIN = 2.0
"""By so much more than needed the advised substeps shorten the step, since errors shrink irregularly."""
MANY = 50
WHY_MANY = (
    "So many mean that joints hit their stops, that springs or contacts are stiff, or that the noise was given too "
    "small: leave such rows out, or give the noise of the sensors."
)


def check_step(model: Model, record: Record, scheme: Integrator, *, whiten: bool) -> None:
    """Refuses a time step that is too long for the noise of the logs, and says which substeps to take."""
    model, record = with_door(model), record.thinned(MOST_WINDOWS)
    once = slopes(model, record.rows, scheme, ())
    halved = dataclasses.replace(scheme, substeps=2 * scheme.substeps)
    halves = look(model, record.rows, halved, halved.substeps).defect
    change = dataclasses.replace(once, defect=halves - once.defect)
    p = products(record, change, Columns({}, ()), whiten=whiten)
    there = p.numbers > 0
    size = np.sqrt(float(np.median(p.cells[there][:, 0, 0] / p.numbers[there])))
    if not size > LARGEST:
        return
    raise BadOption(
        f"the time step is too long to discover anything: halving it changes the residuals by {size:.2g} times their "
        f"noise. {_advice(model, scheme, size, float(np.max(record.rows.dt)))}"
    )


def _advice(model: Model, scheme: Integrator, size: float, dt: float) -> str:
    """What to do about residuals that change by `size` times their noise with steps of `dt` [s]."""
    order = 1 if scheme.stages == 1 else scheme.stages
    needed = scheme.substeps * max(2, math.ceil((MARGIN * size / LARGEST) ** (1.0 / order)))
    many = f" {WHY_MANY}" if needed > scheme.substeps * MANY else ""
    return f"Take substeps={needed}{or_rk4(model, dt, scheme)} ([time] of a study).{many}"
