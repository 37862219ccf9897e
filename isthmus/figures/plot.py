"""Positions and velocities over time, as one figure: a row of two panels for each kind of unit.

A panel holds at most `MAX_LINES` lines; more of one kind go on in a further row. Six colours that colour-blind people
tell apart, then the same ones dashed.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.disk import check_target, whole_file
from isthmus.errors import BadMotion
from isthmus.model.joints import JOINTS
from isthmus.model.model import Model
from isthmus.motion.files import names_of
from isthmus.motion.motion import Motion
from isthmus.motion.spans import UNKNOWN, JointList, joints_of, spans
from isthmus.palette import FAINT, GRID, INK, SERIES

KINDS = (".png", ".svg", ".pdf")
MAX_LINES = 12
"""Lines in a panel."""
ROWS = 8
"""Of panels; what is beyond them is left out, and the title says so."""
POINTS = 20_000
"""Of a line; longer motions are thinned."""
COLOURS = SERIES[:6]
ROUNDING = 1e-12
"""What changes by less does not move."""


@dataclasses.dataclass(frozen=True)
class _Row:
    """Lines of one kind: labels of the axes, and columns of `q` and `v`."""

    title: str
    unit_q: str
    unit_v: str
    q: list[int]
    v: list[int]


def plot_motion(model: Model, motion: Motion) -> Any:
    """A matplotlib figure of a motion's positions (left) and velocities (right); save it with `save_figure`."""
    return _plotted(model.name, joints_of(model), motion.t, motion.q, motion.v)


def plot_of_motion(motion: Motion) -> Any:
    """The same of a motion without its model; of a batch, its first motion."""
    if motion.q is None:
        raise BadMotion("a motion without positions has nothing to plot.")
    q, v, many = motion.q, motion.v, np.ndim(motion.q) - 2
    joints = motion.joints or tuple((f"q[{k}]", UNKNOWN) for k in range(np.shape(q)[-1]))
    first = lambda x: None if x is None else np.asarray(x)[(0,) * (np.ndim(x) - 2)]
    t = np.asarray(motion.t)[(0,) * (np.ndim(motion.t) - 1)]
    name = motion.about.name or "motion"
    title = f"{name} (the first of {np.shape(q)[0]})" if many else name
    return _plotted(title, joints, t, first(q), first(v))


def _plotted(name: str, joints: JointList, t: Any, q: Any, v: Any) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    rows = _rows(joints)
    v = np.full((len(q), sum(len(s.v) for s in spans(joints))), np.nan) if v is None else v
    shown, hidden = rows[:ROWS], sum(len(row.q) for row in rows[ROWS:])
    space = ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.09)
    figure = Figure(figsize=(11.0, 0.9 + 2.9 * max(1, len(shown))), layout=space)
    more = f" ({hidden} coordinates not shown)" if hidden else ""
    figure.suptitle(f"{shown_name(name)}{more}", x=0.01, ha="left", fontsize=13, color=INK)
    if not shown:
        figure.text(0.5, 0.4, "nothing here can move", ha="center", color=INK)
        return figure
    panels = figure.subplots(len(shown), 2, sharex=True, squeeze=False)
    stride = 1 + (len(t) - 1) // POINTS
    t, q, v = (_finite(x)[::stride] for x in (t, q, v))
    all_q, all_v = names_of(joints, 0), names_of(joints, 1)
    for row, (left, right) in zip(shown, panels, strict=True):
        names_q = [all_q[k] for k in row.q]
        names_v = [all_v[k] for k in row.v]
        _draw(left, t, q[:, row.q], f"{row.title} [{row.unit_q}]")
        turning = "angular velocity" if row.title == "quaternion" else "velocity"
        _draw(right, t, v[:, row.v], f"{turning} [{row.unit_v}]")
        if len(names_q) != len(names_v):  # quaternions and angular velocities
            _legend(left, names_q)
            _legend(right, names_v)
        else:
            _legend(left if _fits_above(names_q) else right, names_q)
    for panel in panels[-1]:
        panel.set_xlabel("time [s]", color=INK)
        panel.set_xlim(*_span(t))
    return figure


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Writes a figure, as its ending says: `.png`, `.svg` or `.pdf`."""
    check_target(path, KINDS)
    with whole_file(path) as file:
        figure.savefig(file, format=Path(path).suffix.lower()[1:], dpi=150)


def _rows(joints: JointList) -> list[_Row]:
    """Angles, lengths, then orientations; each in rows of at most `MAX_LINES` lines."""
    angles, lengths, turns = (_Row("angle", "rad", "rad/s", [], []),
                              _Row("position", "m", "m/s", [], []),
                              _Row("quaternion", "1", "rad/s", [], []))  # fmt: skip
    for span in spans(joints):
        q, v = list(span.q), list(span.v)
        straight = 0 if span.kind == UNKNOWN else JOINTS[span.kind].units.count("m")
        lengths.q.extend(q[:straight])
        lengths.v.extend(v[:straight])
        others = angles if len(q) == len(v) else turns
        others.q.extend(q[straight:])
        others.v.extend(v[straight:])
    parts = []
    for row in (angles, lengths, turns):
        most_q, most_v = (
            (MAX_LINES, MAX_LINES) if row is not turns else (MAX_LINES, 3 * MAX_LINES // 4)
        )
        for k in range(0, len(row.q), most_q):
            n = k // most_q * most_v
            parts.append(dataclasses.replace(row, q=row.q[k : k + most_q], v=row.v[n : n + most_v]))
    return parts


def _draw(panel: Any, t: np.ndarray, values: np.ndarray, label: str) -> None:
    for k, line in enumerate(values.T):
        style = "-" if k < len(COLOURS) else (0, (4, 1.5))
        panel.plot(t, line, color=COLOURS[k % len(COLOURS)], linestyle=style, linewidth=1.4)
    if np.ptp(values) < ROUNDING and values.size:
        panel.set_ylim(
            float(values.mean()) - 1.0, float(values.mean()) + 1.0
        )  # no noise as a motion
    panel.set_ylabel(label, color=INK)
    panel.grid(color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(FAINT)
    panel.tick_params(colors=INK, labelsize=9)


def _fits_above(names: list[str]) -> bool:
    return len(names) <= 4 and sum(map(len, names)) < 50


def _legend(panel: Any, names: list[str]) -> None:
    """Four short names fit above the panel; more go to its right."""
    place: dict[str, Any] = (
        {"loc": "lower left", "bbox_to_anchor": (0.0, 1.02), "ncols": 4, "columnspacing": 1.2}
        if _fits_above(names)
        else {"loc": "upper left", "bbox_to_anchor": (1.01, 1.02)}
    )
    panel.legend(
        panel.lines, [shown_name(name) for name in names], **place,
        frameon=False, fontsize=9, labelcolor=INK, handlelength=1.5, borderaxespad=0.0,
    )  # fmt: skip


def _finite(values: Any) -> np.ndarray:
    """Values that can be drawn; a motion that diverged ends there."""
    values = np.asarray(values, dtype=np.float64)
    return np.where(np.abs(values) < 1e12, values, np.nan)


def _span(t: np.ndarray) -> tuple[float, float]:
    first, last = float(t[0]), float(t[-1])
    return (first, last) if last > first else (first - 0.5, first + 0.5)


def shown_name(name: str) -> str:
    """A name as matplotlib shows it: no formulas, and nothing that it takes for hidden."""
    shown = name if len(name) <= 32 else f"{name[:31]}…"
    return (" " if shown.startswith("_") else "") + shown.replace("$", r"\$")
