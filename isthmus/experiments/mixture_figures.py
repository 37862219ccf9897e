"""The figure of `mixture`: how the mean of the mixture approaches the truth, for each time of arrival."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.palette import BLUE, FAINT, INK


def draw_means(curves: dict[int, list[np.ndarray]], close: float) -> Any:
    """`curves`: for each epoch of arrival, of each truth, the errors of the lengths after each epoch (epochs, 3)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 3.4), layout="constrained")
    panels = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for panel, (arrived, own) in zip(panels, curves.items(), strict=True):
        panel.axhline(close, color=FAINT, lw=1.0)
        panel.axvline(arrived, color=FAINT, lw=1.0)
        for curve in own:
            panel.semilogy(curve.max(axis=1), color=BLUE, lw=1.2, alpha=0.7)
        panel.set_title(f"all data from epoch {arrived}", fontsize=11, color=INK)
        panel.set_xlabel("epoch")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("error of the worst length [m]")
    return figure
