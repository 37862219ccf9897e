"""Samples of a posterior as one figure: a histogram for each number, with its modes."""

from __future__ import annotations

from typing import Any

from isthmus.figures.plot import shown_name
from isthmus.palette import BLUE, FAINT, INK, VERMILION
from isthmus.posteriors.posterior import Posterior

PANELS, ACROSS = 24, 4
"""Panels at most, and in a row."""


def plot_posterior(posterior: Posterior) -> Any:
    """A matplotlib figure of the samples of each number; lines are the modes, the heaviest in full."""
    from matplotlib.figure import Figure  # slow to import

    names = posterior.names[:PANELS]
    across = min(ACROSS, max(1, len(names)))
    down = -(-len(names) // across) or 1
    figure = Figure(figsize=(1.0 + 2.8 * across, 0.8 + 2.0 * down), layout="constrained")
    left = len(posterior.names) - len(names)
    more = f" ({left} more are not shown)" if left else ""
    title = f"{shown_name(posterior.model.name)}: {len(posterior.samples)} samples{more}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, color=INK)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for k, (panel, name) in enumerate(zip(panels, names, strict=False)):
        panel.hist(posterior.samples[:, k], bins="sqrt", color=BLUE, alpha=0.6)
        for rank, mode in enumerate(posterior.modes[:, k]):
            panel.axvline(mode, color=VERMILION, linewidth=1.4, linestyle=":" if rank else "-")
        unit = f" [{posterior.units[k]}]" if posterior.units[k] else ""
        panel.set_title(f"{shown_name(name)}{unit}", loc="left", fontsize=9, color=INK)
        panel.set_yticks([])
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.spines["bottom"].set_color(FAINT)
        panel.tick_params(colors=INK, labelsize=8)
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    return figure
