"""The noise of logs, as far as their rows tell: one number for angles and one for lengths."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence

import numpy as np

from isthmus.model.coordinates import minus_rows
from isthmus.model.model import Model
from isthmus.motion.motion import Motion

LEAST_NOISE = 1e-4
"""Of the range of positions: no noise below this is suggested, since no model predicts a motion any better."""
AT_REST = 1e-3
"""A coordinate that goes less far than this share of the farthest one does not count for the range of positions."""
TURN = 2.0 * np.pi
"""A range beyond this counts as this [rad, m]: a joint that turns round and round is no worse measured."""
UNLIKE = 1.5
"""Factor between the noises of angles and lengths from which on each gets its own."""
DIFFERENCES = 3
"""Order of the differences of neighbouring rows of which the noise is taken: smooth motion is no part of them."""
SPREAD = np.sqrt(20.0)
"""Standard deviation of third differences of white noise of deviation one."""
NORMAL = 1.4826
"""Standard deviation over the median of absolute values, of a normal distribution."""


@dataclasses.dataclass(frozen=True)
class Noise:
    """The noise of all joint coordinates that are measured in one unit."""

    unit: str
    """rad or m."""
    rows: tuple[int, ...]
    """Degrees of freedom with that unit."""
    scatter: float
    """Of positions, estimated [unit]."""
    least: float
    """The least that is suggested for positions [unit]."""
    velocity: float
    """Of velocities [unit/s]; 0: not measured, or without noise."""

    @property
    def position(self) -> float:
        """What is suggested for positions [unit]; 0: nothing moves."""
        return max(self.scatter, self.least)

    @property
    def reason(self) -> str:
        """Where the number comes from."""
        if self.scatter > self.least:
            return "estimated from the scatter of neighbouring rows"
        return f"{LEAST_NOISE:g} of their range: they scatter by {self.scatter:.2g} only"


def noises(model: Model, motions: Sequence[Motion]) -> list[Noise]:
    """The noise of angles and of lengths; of all coordinates together where logs do not have those of the model."""
    units = units_of(model)
    if any(m.q is not None and np.shape(m.q)[1:] != (model.nq,) for m in motions):
        least = LEAST_NOISE * usual_range(motions)
        return [Noise(units[0] if units else "rad", (), scatter(motions), least, 0.0)]
    steps = [
        minus_rows(model, q[1:], q[:-1])
        for m in motions
        if m.q is not None and len(q := np.asarray(m.q)) > DIFFERENCES
    ]
    speeds = [np.asarray(m.v) for m in motions if m.v is not None]
    spans = ranges(model, motions)
    found = []
    for unit in dict.fromkeys(units):
        rows = [k for k, x in enumerate(units) if x == unit]
        own = usual(spans[:, rows].ravel()) if spans.size else 0.0
        found.append(
            Noise(
                unit, tuple(rows), deviation([s[:, rows] for s in steps], DIFFERENCES - 1),
                LEAST_NOISE * own, deviation([s[:, rows] for s in speeds], DIFFERENCES),
            )
        )  # fmt: skip
    return found


def noise_lines(kinds: Sequence[Noise]) -> list[str]:
    """The line `noise = …` of a study: one number, or one for each coordinate where angles and lengths differ."""
    known = [kind for kind in kinds if kind.position > 0.0]
    if not known:
        return []
    sizes = [kind.position for kind in known]
    if len(known) < len(kinds) or max(sizes) < UNLIKE * min(sizes):
        most = max(known, key=lambda kind: kind.position)
        return [f"noise = {most.position:.2g}  # {most.reason}"]
    each = {row: kind.position for kind in known for row in kind.rows}
    numbers = ", ".join(f"{each[row]:.2g}" for row in sorted(each))
    return [
        "# One for each coordinate, in their order:",
        *(f"#   {kind.position:.2g} {kind.unit}: {kind.reason}" for kind in known),
        f'noise = {{ "joint/position" = [{numbers}] }}',
    ]


def units_of(model: Model) -> list[str]:
    """The unit of each degree of freedom."""
    found = [""] * model.dof
    for name, rows in model.rows("dof").items():
        for row, unit in zip(rows, model.kind(model.joint(name)).units, strict=False):
            found[row] = unit
    return found


def scatter(motions: Sequence[Motion]) -> float:
    """Standard deviation of the noise of positions, from third differences of neighbouring rows."""
    return deviation([np.asarray(m.q) for m in motions if m.q is not None], DIFFERENCES)


def deviation(series: Sequence[np.ndarray], order: int) -> float:
    """Of the noise of rows, whose third differences are these differences (of this order) of the series."""
    parts = [np.ravel(np.diff(x, n=order, axis=0)) for x in series if len(x) > order]
    found = np.concatenate(parts) if parts else np.zeros(0)
    found = found[np.isfinite(found)]
    return float(NORMAL * np.median(np.abs(found)) / SPREAD) if found.size else 0.0


def ranges(model: Model, motions: Sequence[Motion]) -> np.ndarray:
    """How far each degree of freedom goes in each motion (motions, dof) [rad, m]; NaN where nothing is known."""
    measured = [np.asarray(m.q, dtype=np.float64) for m in motions if m.q is not None and len(m.t)]
    return np.array([_span(_moved(model, q)) for q in measured]).reshape(-1, model.dof)


def _moved(model: Model, q: np.ndarray) -> np.ndarray:
    """Rows of positions as displacements from a row that was measured, (rows, dof)."""
    if model.nq == model.dof:
        return q
    start = q[np.argmax(np.isfinite(q).all(axis=1))]
    return minus_rows(model, q, np.broadcast_to(start, q.shape))


def usual_range(motions: Sequence[Motion]) -> float:
    """How far a coordinate that moves usually goes [rad, m]."""
    spans = [_span(np.asarray(m.q)) for m in motions if m.q is not None and len(m.t)]
    return usual(np.concatenate(spans)) if spans else 0.0


def usual(spans: np.ndarray) -> float:
    """The median of spans, without those of coordinates at rest."""
    found = np.minimum(spans, TURN)
    found = found[np.isfinite(found) & (found > 0.0)]
    return float(np.median(found[found > AT_REST * found.max()])) if found.size else 0.0


def _span(q: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings(action="ignore"):  # columns without a number
        return np.nanmax(q, axis=0) - np.nanmin(q, axis=0)
