"""Are log and simulation aligned in time? A shift of one row biases lengths by percents and is easily overlooked.

Two shifts are estimated together with a step of all free numbers, so that neither explains the other: that of what
was measured, and that of what acted, each against the simulation.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from isthmus.identify.evaluate.evaluation import Evaluation

MIN_SHARE_EXPLAINED = 0.5
"""Share of the remaining squares that a shift must explain; less may be any other error of the model."""
MAX_ROWS = 10.0
"""A shift beyond this is another error of the model: rates of change tell only of short ones."""
MIN_SHARE_SHOWN = 0.01
"""Share below which a shift is not mentioned."""


@dataclasses.dataclass(frozen=True)
class Shift:
    """By how many rows something lags behind the simulation."""

    what: str
    rows: float
    error: float
    share: float
    """The share of the remaining squares that it explains."""

    @property
    def warning(self) -> str:
        """A sentence if the shift is significant, else empty."""
        significant = abs(self.rows) >= max(0.3, 4.0 * self.error)
        if not (self.visible and significant and self.share >= MIN_SHARE_EXPLAINED):
            return ""
        return f"{self.what} seem {abs(self.rows):.2g} rows {self.way}; check the time stamps, or free a delay."

    @property
    def visible(self) -> bool:
        """Whether the shift is more than chance, and explains some of the residual; else it says nothing."""
        likely = 2.0 * self.error < abs(self.rows) < MAX_ROWS
        return likely and self.share > MIN_SHARE_SHOWN

    @property
    def way(self) -> str:
        """`late` or `early`."""
        return "late" if self.rows > 0 else "early"

    def __str__(self) -> str:
        shift = f"{self.what} {abs(self.rows):.2g} ± {self.error:.1g} rows {self.way}"
        return f"time alignment: {shift}, which explains {100 * self.share:.0f} % of the residual"


def shifts(evaluation: Evaluation, x: np.ndarray, J: np.ndarray | None) -> tuple[Shift, ...]:
    """Shifts of what was measured, and of the commands where there are any."""
    if evaluation.plan.delayed:
        return ()
    r = evaluation.residuals(x[None])[0].ravel()
    directions = {"measurements": measured_rate(evaluation).ravel()}
    if evaluation.windows.control.torque is not None:
        directions["commands"] = _command_rate(evaluation, x).ravel()
    known = {
        name: d
        for name, d in directions.items()
        if np.linalg.norm(d) > 1e-9 * max(np.linalg.norm(r), 1e-300)
    }
    if not known:
        return ()
    columns = np.stack(list(known.values()), axis=1)
    full = columns if J is None else np.concatenate([columns, J], axis=1)
    size = np.maximum(np.linalg.norm(full, axis=0), 1e-300)
    scaled = full / size
    fitted, left = _explained(scaled, r)
    noise = np.sqrt(left / max(evaluation.data - full.shape[1], 1))
    inverse = np.linalg.pinv(scaled.T @ scaled, rcond=1e-12)
    spread = np.sqrt(np.maximum(np.diag(inverse), 0.0))  # rounding may make it negative
    found = []
    for k, name in enumerate(known):
        without = _explained(np.delete(scaled, k, axis=1), r)[1]
        share = 1.0 - left / max(without, 1e-300)
        found.append(
            Shift(
                name, *(float(x) for x in (fitted[k] / size[k], noise * spread[k] / size[k], share))
            )
        )
    return tuple(found)


def _explained(columns: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, float]:
    """Least squares, and the squares that are left."""
    fitted = np.linalg.lstsq(columns, r, rcond=1e-10)[0]
    left = r - columns @ fitted
    return fitted, float(left @ left)


def measured_rate(evaluation: Evaluation) -> np.ndarray:
    """What one row of lag of the measurements adds to the weighted differences, (windows, rows, width)."""
    target, weight = evaluation.windows.target, evaluation.windows.weight
    rate = np.zeros_like(weight)
    place = column = 0
    for c in evaluation.plan.channels:
        if c.size == c.width and target.shape[1] > 2:
            y = target[..., place : place + c.size]
            if c.name == "joint/position":
                y = np.unwrap(y, axis=1)
            rate[..., column : column + c.width] = np.gradient(y, axis=1)
            ends = np.arange(len(y)), evaluation.windows.steps  # behind them, rows only repeat
            rate[(*ends, slice(column, column + c.width))] = y[ends] - y[ends[0], ends[1] - 1]
        place, column = place + c.size, column + c.width
    return rate * weight


def _command_rate(evaluation: Evaluation, x: np.ndarray) -> np.ndarray:
    """What one row of lag of the commands in the log adds to the weighted differences."""
    control = evaluation.windows.control
    torque = np.asarray(control.torque)

    def moved(rows: int) -> np.ndarray:
        index = np.clip(np.arange(torque.shape[1]) + rows, 0, torque.shape[1] - 1)
        late = dataclasses.replace(control, torque=torque[:, index])
        return evaluation.changed(control=late).residuals(x[None])[0]

    return 0.5 * (moved(-1) - moved(1))
