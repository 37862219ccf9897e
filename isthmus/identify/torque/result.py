"""What a torque fit returns, and how it prints."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from isthmus.identify.torque.base_parameters import BaseParameters
from isthmus.model.model import Model

MOST = 60
"""So many combinations are listed one by one."""


@dataclasses.dataclass(frozen=True)
class Term:
    """A term that was tried, on which joints it is fitted, and the cross-validated errors that decided."""

    name: str
    fitted: tuple[str, ...]
    """Joints where it is fitted."""
    zero: tuple[str, ...]
    """Joints where the description has it and zero predicts better."""
    error: tuple[float, float]
    """Error [N·m, N] with the term and without it, on the joints where it is fitted; on all joints if on none."""


@dataclasses.dataclass(frozen=True, eq=False)
class TorqueFit:
    """What torques say; `model` is the realisable model."""

    model: Model
    base: BaseParameters
    """The combinations that the motion determines."""
    start: Float[np.ndarray, " own"]
    """The combinations of the model as it was."""
    least_squares: Float[np.ndarray, " own"]
    """Those that fit best, realisable or not."""
    error: Float[np.ndarray, " own"]
    """Standard errors of these."""
    value: Float[np.ndarray, " own"]
    """Those of the realisable model."""
    offset: Float[np.ndarray, " dof"]
    """Constant torques [N·m, N], `joint/torque_offset` of the model; zero where they are not fitted."""
    rms: Float[np.ndarray, "3 dof"]
    """What torques are off by [N·m, N]: with the model as it was, by least squares, with the realisable model."""
    dofs: tuple[str, ...]
    prior: float
    """Weight of the distance from the description."""
    judged: Float[np.ndarray, " dof"]
    """Cross-validated error [N·m, N]: each block of time, the fast and the slow half, predicted from the rest."""
    terms: tuple[Term, ...] = ()
    """The terms that were tried; empty where `joints` named what to fit."""
    tilt: float = 0.0
    """By how much the base is tilted against the description [rad]."""
    notes: tuple[str, ...] = ()
    """Sentences about masses that are far from the description."""

    def __str__(self) -> str:
        table: list[tuple[str, ...]] = [
            ("combination", "start", "least squares", "± error", "realisable")
        ]
        for row in range(min(len(self.base), MOST)):
            numbers = (self.start, self.least_squares, self.error, self.value)
            table.append((self.base.short(row), *(f"{x[row]:.4g}" for x in numbers)))
        off: list[tuple[str, ...]] = [
            ("torque off by (rms)", "start", "least squares", "realisable", "cross-validated")
        ]
        for name, *numbers in zip(self.dofs, *self.rms, self.judged, strict=True):
            off.append((name, *(f"{x:.4g}" for x in numbers)))
        more = [f"and {len(self.base) - MOST} more combinations"] if len(self.base) > MOST else []
        close = f"condition of the motion: {self.base.condition:.3g}; weight of the prior: {self.prior:.3g}"
        rows = [*_aligned(table), *more, "", *_aligned(off), *self._chosen(), close, *self.notes]
        return "\n".join(rows)

    def _chosen(self) -> list[str]:
        """The table of terms."""
        if not self.terms:
            return []
        rows = [("term", "fitted on", "zero on", "error with", "without")]
        for term in self.terms:
            where = [_joints(names, self.dofs) for names in (term.fitted, term.zero)]
            rows.append((term.name, *where, *(f"{x:.4g}" for x in term.error)))
        return ["", *_aligned(rows), ""]


def _joints(names: tuple[str, ...], dofs: tuple[str, ...]) -> str:
    """The joints by number where there are several."""
    if not names:
        return "none"
    if len(names) == len(dofs) > 1:
        return "all"
    numbers = [str(dofs.index(name) + 1) for name in names if name in dofs]
    return "joint " + ", ".join(numbers) if numbers else ", ".join(names)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    wide = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in rows
    ]
