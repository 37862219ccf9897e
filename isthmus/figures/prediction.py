"""Measured and predicted signals over time, as one figure: a panel for each number of each log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.errors import BadOption
from isthmus.figures.plot import shown_name
from isthmus.identify.fit import Fit
from isthmus.identify.predict import Prediction
from isthmus.palette import FAINT, GRID, INK, VERMILION
from isthmus.report.gather import Curve, Run, as_fitted, runs_at, runs_of

PANELS = 24
"""So many are drawn; the title says how many are not."""
ACROSS = 3


def plot_prediction(prediction: Prediction) -> Any:
    """A matplotlib figure of what was measured and what was predicted; save it with `save_figure`."""
    problem, x = prediction.problem, prediction.x
    spans, points = problem.windows[1], np.stack([x, x])
    runs = runs_at(problem, problem.evaluation, spans, problem.logs, points, heldout=True)
    return plot_runs(problem.template.name, runs)


def plot_fit(fit: Fit) -> Any:
    """The same of a fit, held-out runs first."""
    if fit.problem is None:
        raise BadOption(
            "a fit that was loaded has no motions to plot; fit again, or plot fit.model's motions."
        )
    runs = runs_of(fit, as_fitted(fit, fit.problem))
    return plot_runs(fit.model.name, sorted(runs, key=lambda run: not run.heldout))


def plot_runs(name: str, runs: Sequence[Run]) -> Any:
    """A panel for each number of each run."""
    from matplotlib.figure import Figure  # slow to import

    pairs = [(run.name, curve) for run in runs for curve in run.curves]
    drawn = pairs[:PANELS]
    across = min(len(runs[0].curves) if 1 < len(runs[0].curves) <= ACROSS else ACROSS, len(drawn))
    down = -(-len(drawn) // across)
    figure = Figure(figsize=(1.0 + 4.2 * across, 1.0 + 2.4 * down), layout="constrained")
    left = len(pairs) - len(drawn)
    more = f" ({left} more are not shown)" if left else ""
    title = f"{shown_name(name)}: measured and predicted{more}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, color=INK)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel, (log, curve) in zip(panels, drawn, strict=False):
        _draw(panel, log, curve)
    for panel in panels[len(drawn) :]:
        panel.set_visible(False)
    panels[0].legend(frameon=False, fontsize=9, labelcolor=INK, loc="upper right")
    return figure


def _draw(panel: Any, log: str, curve: Curve) -> None:
    at = curve.over(curve.time)
    if curve.measured is None:
        panel.plot(at, curve.difference, color=VERMILION, linewidth=1.2, label="difference")
    else:
        panel.plot(
            curve.time, curve.measured, color=INK, linewidth=3.5, alpha=0.3, label="measured"
        )
        panel.plot(at, curve.predicted, color=VERMILION, linewidth=1.2, label="predicted")
        low, high = np.nanmin(curve.measured), np.nanmax(curve.measured)
        room = max(high - low, 1e-9)
        panel.set_ylim(low - 0.2 * room, high + 0.2 * room)  # a prediction may run away
    panel.set_title(
        f"{shown_name(log)}  {shown_name(curve.label)}", loc="left", fontsize=9, color=INK
    )
    panel.set_ylabel(f"[{curve.unit}]", color=INK, fontsize=9)
    panel.set_xlabel("time [s]", color=INK, fontsize=9)
    panel.grid(color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(FAINT)
    panel.tick_params(colors=INK, labelsize=8)
