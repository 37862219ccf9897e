"""The figure of `landscape`: the cost over both lengths, and where searches from each start end."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.palette import INK, YELLOW

TITLES = {"local": "local search", "basin hopping": "basin hopping"}


def draw_landscape(
    line: np.ndarray, cost: np.ndarray, errors: dict[str, np.ndarray], truth: np.ndarray
) -> Any:
    """`line`: lengths of the grid; `cost` and each of `errors`: one number for each of its points."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.6, 4.2), layout="constrained")
    panels = figure.subplots(1, 1 + len(errors), sharey=True)
    side = len(line)
    field = np.where(np.isfinite(cost), cost, np.nan).reshape(side, side)
    image = panels[0].pcolormesh(
        line, line, field, cmap="cividis_r", shading="nearest",
        norm=LogNorm(np.nanpercentile(field, 0.5), np.nanmax(field)),
    )  # fmt: skip
    figure.colorbar(image, ax=panels[0], label="cost of the start", shrink=0.9)
    panels[0].set_title("the cost", fontsize=11, color=INK)
    for panel, (name, error) in zip(panels[1:], errors.items(), strict=True):
        ends = np.clip(error, 1e-3, 1.0).reshape(side, side)
        image = panel.pcolormesh(
            line, line, ends, cmap="YlGnBu_r", shading="nearest", norm=LogNorm(1e-3, 1.0)
        )
        share = np.mean(error < 0.01)
        panel.set_title(f"{TITLES[name]}: {share:.1%} of starts right", fontsize=11, color=INK)
    figure.colorbar(image, ax=panels[1:], label="relative error where the start led", shrink=0.9)
    for panel in panels:
        panel.plot(*truth, "*", ms=13, color=YELLOW, mec=INK, mew=0.8)
        panel.set_xlabel("first length at the start [m]")
        panel.set_aspect("equal")
    panels[0].set_ylabel("second length at the start [m]")
    return figure
