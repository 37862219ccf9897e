"""Where the simulation of some start values breaks down, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.losses.windows import Span
from isthmus.phases import counted

BROKEN_DOWN = 1e12
"""A difference of so many standard deviations belongs to a simulation that has broken down."""


def divergence(evaluation: Evaluation, spans: Sequence[Span], x: np.ndarray) -> str:
    """The window and row where the simulation of the point `x` diverges, as a sentence."""
    r, _ = evaluation.residuals(x[None])
    bad = ~(np.abs(r[0]) < BROKEN_DOWN).all(axis=2)
    where = ""
    if bad.any():
        window = int(np.argmax(bad.any(axis=1)))
        span = spans[window]
        steps = counted(int(np.argmax(bad[window])), "step")
        where = f", first in run {span.run + 1}, {steps} after row {span.first}"
    return (
        f"the simulation of the start values diverges{where}. Start elsewhere (Free(start=)), take shorter windows "
        "(loss=ist.Windows(20), steps = 20 under [loss] of a study), or a shorter time step (Problem(substeps=), "
        "[time] of a study)."
    )
