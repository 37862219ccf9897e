"""What `ist.design` gives: a motion, and what it tells of the numbers beside random ones; table, figure, file."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.entry import check_arguments
from isthmus.excitation.limits import Limits
from isthmus.excitation.search import Aim
from isthmus.motion.motion import Motion
from isthmus.palette import FAINT, GRID, INK, SERIES
from isthmus.phases import counted

MAX_NUMBERS = 12
"""Numbers that a table shows."""
ROUNDING = 1e-9
"""Share of its error, or of its limit, below which a number is shown as zero."""


@dataclasses.dataclass(frozen=True)
class Design:
    """A motion that determines numbers of a robot well, within its limits."""

    motion: Motion
    """Positions and velocities from rest to rest, with the signals `joint/acceleration` and `joint/motor_torque`."""
    names: tuple[str, ...]
    """Of the numbers that it is to determine."""
    values: Float[np.ndarray, " p"]
    """Of the model."""
    errors: Float[np.ndarray, " p"]
    """Standard deviations that a fit to the motion will have, for noise of size one where none was given."""
    random_errors: Float[np.ndarray, "random p"]
    """The same for random motions within the same limits."""
    condition: float
    """Largest singular value of the sensitivities over the least, their columns scaled to one length."""
    raw_condition: float
    """The same with the columns as they are, in SI units."""
    random_conditions: Float[np.ndarray, " random"]
    """`condition` of the random motions."""
    information: Float[np.ndarray, "p p"]
    aim: Aim
    limits: Limits
    notes: tuple[str, ...]
    """What was left out, one sentence each."""

    @property
    def torque(self) -> Float[np.ndarray, "rows dof"]:
        """Motor torques that the motion needs [N·m, N]."""
        return np.asarray(self.motion.signals["joint/motor_torque"])

    @property
    def ratios(self) -> Float[np.ndarray, " p"]:
        """Errors over the median of those of random motions."""
        return self.errors / np.median(self.random_errors, axis=0)

    @property
    def ratio(self) -> float:
        """The geometric mean of `ratios`."""
        return float(np.exp(np.mean(np.log(self.ratios))))

    @check_arguments
    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the motion as `.csv` or `.npz`: time, positions, velocities, accelerations, torques."""
        self.motion.save(path)

    def __str__(self) -> str:
        worse = float(np.median(self.random_conditions))
        span = f"{len(self.motion)} rows in {self.motion.t[-1]:g} s"
        lines = [
            f"{self.aim} design for {counted(len(self.names), 'number')}, {span}",
            f"errors: {self.ratio:.2f} times those of the median random motion ({self.ratios.min():.2f} to "
            f"{self.ratios.max():.2f})",
            f"condition: {self.condition:.3g}, of the median random motion {worse:.3g}; unscaled "
            f"{self.raw_condition:.3g}",
            *_table(self._joints()),
            *_table(self._numbers()),
        ]
        more = len(self.names) - MAX_NUMBERS
        return "\n".join([*lines, *([f"and {more} more numbers"] if more > 0 else []), *self.notes])

    def _joints(self) -> list[tuple[str, ...]]:
        """What each joint does, beside what it may."""
        m, limits = self.motion, self.limits
        a = np.asarray(m.signals["joint/acceleration"])
        rows = [("joint", "from", "to", "velocity", "acceleration", "torque")]
        for k, (name, *_) in enumerate(m.joints):
            most = [np.abs(x[:, k]).max() for x in (m.v, a, self.torque)]
            allowed = [limits.velocity[k], limits.acceleration[k], limits.torque[k]]
            sizes = [allowed[0], allowed[1], np.abs(self.torque).max()]
            used = [
                f"{_digits(x, size)} of {y:.3g}"
                for x, y, size in zip(most, allowed, sizes, strict=True)
            ]
            travel = [_digits(x, limits.half[k]) for x in (m.q[:, k].min(), m.q[:, k].max())]
            rows.append((name, *travel, *used))
        return rows

    def _numbers(self) -> list[tuple[str, ...]]:
        rows = [("number", "value", "error", "ratio")]
        for k in range(min(len(self.names), MAX_NUMBERS)):
            value = _digits(self.values[k], self.errors[k])
            rows.append((self.names[k], value, f"{self.errors[k]:.3g}", f"{self.ratios[k]:.3g}"))
        return rows

    def plot(self) -> Any:
        """A matplotlib figure: positions, velocities, accelerations and torques as shares of their limits."""
        from matplotlib.figure import Figure  # slow to import

        m, limits = self.motion, self.limits
        figure = Figure(figsize=(8.0, 8.0), layout="constrained")
        panels = figure.subplots(4, 1, sharex=True)
        acceleration = np.asarray(m.signals["joint/acceleration"])
        rows = [
            ("position, of half of the travel", (m.q - limits.middle) / limits.half),
            ("velocity, of its limit", m.v / limits.velocity),
            ("acceleration, of its limit", acceleration / limits.acceleration),
            (
                "torque, of its limit",
                self.torque / np.where(np.isinf(limits.torque), np.nan, limits.torque),
            ),
        ]
        for panel, (title, values) in zip(panels, rows, strict=True):
            for k, line in enumerate(values.T):
                panel.plot(m.t, line, color=SERIES[k % len(SERIES)], linewidth=1.2)
            panel.set_title(title, loc="left", fontsize=9, color=INK)
            panel.set_ylim(-1.05, 1.05)
            panel.grid(color=GRID, linewidth=0.6)
            panel.spines[["top", "right"]].set_visible(False)
            panel.spines[["left", "bottom"]].set_color(FAINT)
            panel.tick_params(colors=INK, labelsize=8)
        names = [name for name, *_ in m.joints]
        figure.legend(
            panels[0].lines, names, loc="outside upper left", ncols=min(len(names), 8),
            frameon=False, fontsize=8, labelcolor=INK,
        )  # fmt: skip
        panels[-1].set_xlabel("time [s]", color=INK)
        return figure


def _digits(x: float, size: float) -> str:
    """`x` in three digits; what is rounding beside `size` is zero."""
    return f"{0.0 if abs(x) < ROUNDING * size else x:.3g}"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
