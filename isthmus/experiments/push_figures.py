"""Figures of the push study: real and simulated objects on their way, and how many pushes are predicted how well."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.experiments.push_data import Pushes
from isthmus.palette import GREY, INK, SERIES

PANELS = 6
MOMENTS = 4
"""Outlines of an object that are drawn, from the first moment to the last."""


def draw_paths(pushes: Pushes, paths: dict[str, np.ndarray], off: np.ndarray) -> Any:
    """Outlines and paths of the middle of objects, real and simulated, from the best to the worst of the pushes."""
    import matplotlib.pyplot as plt

    order = np.argsort(off.sum(axis=1))
    count = min(PANELS, len(order))
    chosen = order[np.round(np.linspace(0, len(order) - 1, count)).astype(int)]
    columns = min(3, count)
    rows = -(-count // columns)
    figure, panels = plt.subplots(
        rows, columns, figsize=(3.4 * columns, 3.3 * rows + 0.4), squeeze=False
    )
    for panel in panels.ravel():
        panel.set_axis_off()
    curves = {"recorded": pushes.objects, **paths}
    for panel, i in zip(panels.ravel(), chosen, strict=False):
        outline = pushes.shapes[pushes.names[i]].outline
        for (name, poses), colour in zip(curves.items(), (INK, *SERIES), strict=False):
            _draw_object(panel, outline, poses[i], colour, name)
        panel.plot(*(1e3 * pushes.tips[i]).T, color=GREY, lw=2.5, zorder=0, label="tip")
        panel.set_aspect("equal")
        far, turned = np.sqrt(off[i])
        panel.set_title(f"{pushes.names[i]}: {far:.1f} mm, {turned:.1f}°", fontsize=10)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=len(labels), loc="lower center")
    figure.tight_layout(rect=(0.0, 0.05, 1.0, 1.0))
    return figure


def _draw_object(
    panel: Any, outline: np.ndarray, poses: np.ndarray, colour: str, name: str
) -> None:
    """One object at some moments, and the path of its middle [mm]."""
    closed = np.concatenate([outline, outline[:1]])
    width = 1.6 if name == "recorded" else 1.0
    for k, row in enumerate(np.round(np.linspace(0, len(poses) - 1, MOMENTS)).astype(int)):
        x, y, angle = poses[row]
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        corners = 1e3 * (closed @ turn.T + np.array([x, y]))
        panel.plot(*corners.T, color=colour, lw=width, alpha=0.25 + 0.75 * k / (MOMENTS - 1))
    panel.plot(*(1e3 * poses[:, :2]).T, color=colour, lw=width, ls="--", label=name)


def draw_errors(off: dict[str, tuple[np.ndarray, np.ndarray]]) -> Any:
    """Share of pushes whose error is below each value: seen and unseen shapes, position and angle."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(9.0, 6.0), sharey=True)
    colours = dict(zip(off, (GREY, *SERIES), strict=False))
    titles = ("other pushes of seen shapes", "unseen shape")
    for column, title in enumerate(titles):
        for row, label in enumerate(("position on one axis [mm]", "angle [°]")):
            panel = panels[row, column]
            for name, both in off.items():
                x = np.sort(np.sqrt(both[column][:, row]))
                panel.plot(x, np.arange(1, len(x) + 1) / len(x), color=colours[name], label=name)
            panel.set(xscale="log", xlabel=f"RMS error of a push: {label}", title=title)
            panel.spines[["top", "right"]].set_visible(False)
        panels[column, 0].set_ylabel("share of pushes")
    panels[0, 0].legend(frameon=False, fontsize=9)
    figure.tight_layout()
    return figure
