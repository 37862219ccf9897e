"""What a tracked log gives: estimates over time with intervals, alarms; as a table, a figure and a file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.disk import check_target, whole_file
from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.palette import BLUE, FAINT, GRID, INK, VERMILION
from isthmus.phases import counted
from isthmus.tracking.step import Setup

MAX_PANELS = 12
"""Numbers that a figure shows."""
MAX_LINES = 20
"""Alarms that a figure shows as lines."""
MAX_NAMED = 3
"""Numbers that a sentence names."""
MAX_ALARMS = 8
"""Alarms that a table shows."""
LASTING = 0.1
"""Share of the time in which alarms are up, beyond which what is followed does not explain the motion."""
CLEAR = 5.0
"""An alarm is over when averages have stayed small for so many times the span that they are averaged over."""
ELSE = (
    "Otherwise fit the model first (isthmus fit), see what it lacks (isthmus discover), take shorter steps (substeps=, "
    "integrator=), or give a larger noise"
)


@dataclasses.dataclass(frozen=True)
class Alarm:
    """Averaged innovations that were too large, from when they became so until they were no longer."""

    time: float
    """When it was raised [s]."""
    signal: str
    """The measured number that raised it."""
    until: float
    """When an average was too large for the last time [s]."""

    @classmethod
    def at(cls, setup: Setup, time: float, place: float) -> Alarm:
        """The alarm that a step returned as the place of a number, from 1."""
        labels = [label for c in setup.channels for label in c.labels]
        return cls(time, labels[round(place) - 1], time)

    def __str__(self) -> str:
        span = f" to {self.until:g}" if self.until > self.time else ""
        return f"{self.time:g}{span} s by {self.signal}"


def raised(setup: Setup, alarms: Sequence[Alarm], time: float, place: float) -> list[Alarm]:
    """The alarms with what a step returned: the last one goes on, or, if it was over, a new one is raised."""
    pause = CLEAR * (2.0 / setup.share - 1.0) * setup.dt
    if alarms and time - alarms[-1].until <= pause:
        return [*alarms[:-1], dataclasses.replace(alarms[-1], until=time)]
    return [*alarms, Alarm.at(setup, time, place)]


@dataclasses.dataclass(frozen=True)
class Track:
    """Estimates along a log."""

    name: str
    """Of the log."""
    t: Float[np.ndarray, " rows"]
    """[s]"""
    names: tuple[str, ...]
    """Of the numbers."""
    units: tuple[str, ...]
    values: Float[np.ndarray, "rows p"]
    """Estimates of the numbers."""
    errors: Float[np.ndarray, "rows p"]
    """Their standard deviations."""
    q: Float[np.ndarray, "rows nq"]
    v: Float[np.ndarray, "rows dof"]
    """The estimated state."""
    alarms: tuple[Alarm, ...]
    lacking: str = ""
    """Numbers of the model that would explain the motion better, in words, where alarms last; empty: none is known."""

    def __len__(self) -> int:
        return len(self.t)

    @check_arguments
    def interval(self, level: float = 0.9) -> Float[np.ndarray, "2 rows p"]:
        """Lower and upper ends of the intervals that hold each number with this probability."""
        if not 0.0 < level < 1.0:
            raise BadOption(f"level must be between 0 and 1, not {level!r}.")
        from scipy.special import ndtri  # slow to import

        half = float(ndtri(0.5 + 0.5 * level)) * self.errors
        return np.stack([self.values - half, self.values + half])

    def __str__(self) -> str:
        last, half = self.values[-1], 1.6448536 * self.errors[-1]
        rows = [("number", "at the end", "90 % interval", "unit")]
        for name, x, h, unit in zip(self.names, last, half, self.units, strict=True):
            rows.append((name, f"{x:.4g}", f"{x - h:.4g} … {x + h:.4g}", unit))
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        span = f"{self.name}: {counted(len(self), 'row')}, {self.t[0]:g} to {self.t[-1]:g} s"
        return "\n".join([span, *lines, self._told()])

    def _told(self) -> str:
        if (lost := ~np.isfinite(self.values).all(axis=1)).any():
            return (
                f"from {self.t[np.argmax(lost)]:g} s on, estimates are not finite: the motion that they predict broke "
                "down. Are log and model those of one robot? Bounds (ist.Free), a larger noise or shorter steps help"
            )
        if not self.alarms:
            return "no alarm"
        more = len(self.alarms) - MAX_ALARMS
        shown = "; ".join(map(str, self.alarms[:MAX_ALARMS])) + (
            f"; {more} more" if more > 0 else ""
        )
        told = f"{counted(len(self.alarms), 'alarm')}: {shown}"
        return "\n".join([told, self._unexplained()]) if self.lasting > LASTING else told

    @property
    def lasting(self) -> float:
        """Share of the time in which an alarm is up."""
        total = sum(alarm.until - alarm.time for alarm in self.alarms)
        return float(total / max(self.t[-1] - self.t[0], 1e-300))

    def _unexplained(self) -> str:
        """What it means that alarms last, and what to do."""
        names = ", ".join(self.names[:MAX_NAMED]) + (" …" if len(self.names) > MAX_NAMED else "")
        further = (
            f"Follow or correct more: by the torques, {self.lacking}. " if self.lacking else ""
        )
        return (
            f"alarms are up for {100 * self.lasting:.0f} % of the time: {names} alone cannot explain the motion, and "
            f"estimates and intervals are not to be trusted. {further}{ELSE}"
        )

    @check_arguments
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `.csv`: time, each number, its standard deviation, and 1 while an alarm is up."""
        check_target(path, (".csv",))
        fired = np.zeros(len(self))
        for alarm in self.alarms:
            fired[(self.t >= alarm.time) & (self.t <= alarm.until)] = 1.0
        pairs = np.stack([self.values, self.errors], axis=2).reshape(len(self), -1)
        header = ["t", *(part for name in self.names for part in (name, f"{name} (sd)")), "alarm"]
        with whole_file(path) as file:
            file.write((",".join(f'"{h}"' if "," in h else h for h in header) + "\n").encode())
            np.savetxt(file, np.column_stack([self.t, pairs, fired]), delimiter=",", fmt="%.17g")

    def plot(self) -> Any:
        """A matplotlib figure: each number over time with its 90 % interval, and the alarms."""
        from matplotlib.figure import Figure  # slow to import

        shown = range(min(len(self.names), MAX_PANELS))
        figure = Figure(figsize=(8.0, 0.8 + 2.2 * len(shown)), layout="constrained")
        panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
        low, high = self.interval()
        for k, panel in zip(shown, panels, strict=True):
            panel.fill_between(self.t, low[:, k], high[:, k], color=BLUE, alpha=0.25, linewidth=0)
            panel.plot(self.t, self.values[:, k], color=BLUE, linewidth=1.4)
            _mark(panel, self.alarms)
            panel.set_title(f"{self.names[k]} [{self.units[k]}]", loc="left", fontsize=9, color=INK)
            panel.set_ylim(*_room(self.values[:, k], self.errors[:, k]))
            panel.grid(color=GRID, linewidth=0.6)
            panel.spines[["top", "right"]].set_visible(False)
            panel.spines[["left", "bottom"]].set_color(FAINT)
            panel.tick_params(colors=INK, labelsize=8)
        panels[-1].set_xlabel("time [s]", color=INK)
        return figure


def _mark(panel: Any, alarms: Sequence[Alarm]) -> None:
    """Alarms as lines where they were raised, or, where lines would hide the curve, as marks at the upper edge."""
    times = [alarm.time for alarm in alarms]
    for alarm in alarms:
        panel.axvspan(alarm.time, alarm.until, color=VERMILION, alpha=0.08, linewidth=0)
    if len(times) > MAX_LINES:
        top = panel.get_xaxis_transform()
        panel.plot(times, [1.0] * len(times), "|", color=VERMILION, transform=top, clip_on=False)
        return
    for time in times:
        panel.axvline(time, color=VERMILION, linewidth=0.9, linestyle=(0, (4, 2)))


def _room(values: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    """Limits that show the estimates, and intervals as wide as usual; those of the beginning may be cut."""
    known = np.isfinite(values) & np.isfinite(errors)
    if not known.any():
        return -1.0, 1.0
    half = 2.0 * float(np.median(errors[known]))
    low, high = float(np.min(values[known])) - half, float(np.max(values[known])) + half
    more = 0.05 * (high - low) or 1.0
    return low - more, high + more


def values_of(setup: Setup, numbers: Float[np.ndarray, "rows p"]) -> np.ndarray:
    """What is reported of the filter's numbers."""
    parameters = setup.parameters
    if all(group.report is None for group in parameters.groups):
        return np.array(numbers)
    return np.stack([parameters.values(x / parameters.scale) for x in numbers])


def errors_of(setup: Setup, numbers: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Standard deviations of what is reported, (rows, …); `covariance` is that of the numbers, (rows, p, p)."""
    parameters = setup.parameters
    if all(group.report is None for group in parameters.groups):
        return np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0))
    slopes = [parameters.reported(x / parameters.scale)[1] / parameters.scale for x in numbers]
    variances: Sequence = [
        np.einsum("ij,jk,ik->i", J, P, J) for J, P in zip(slopes, covariance, strict=True)
    ]
    return np.sqrt(np.maximum(np.stack(variances), 0.0))
