"""The force that a place lacks, as a curve over its input, with errors: what formulas are fitted to."""

from __future__ import annotations

import numpy as np

from isthmus.discovery.candidates import Candidate
from isthmus.discovery.score import covariance, fitted
from isthmus.discovery.stages import Stand

KNOTS = 40
"""Places along the input at which the force is estimated."""


def curve(stand: Stand, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Input, force there [N·m, N] and its standard error, (knots,), of the place number `k` of a stand."""
    place = stand.taken[k]
    x = place.inputs[0]
    knots = np.unique(np.quantile(x, np.linspace(0.01, 0.99, KNOTS)))
    hats = np.stack([np.interp(x, knots, row) for row in np.eye(len(knots))], axis=1)
    forces = np.zeros((len(x), len(stand.stage.record.start) // 2, len(knots)))
    forces[:, list(place.rows)] = hats[:, None]
    free_form = Candidate(place.target, place.reads, forces, precision=np.min(place.precision))
    rest = stand.without(k)
    p, columns = rest.products((free_form,))
    own = columns.places[-1] - 1
    before = rest.before(columns)
    c, spread = fitted(p, columns.prior, before), covariance(p, columns.prior, before)
    return knots, c[own], np.sqrt(np.diag(spread)[own])
