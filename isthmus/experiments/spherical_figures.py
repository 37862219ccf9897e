"""The figure of `spherical`: how the lengths approach the truth, search by search."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.palette import BLUE, DIM, FAINT, INK, VERMILION


def draw_lengths(curves: dict[str, list[np.ndarray]], truth: np.ndarray, epochs: int) -> Any:
    """`curves`: for each search, from each start, the lengths after each step, (steps, 2)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 4.0), layout="constrained")
    panels = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for panel, (name, own) in zip(panels, curves.items(), strict=True):
        for link, (colour, length) in enumerate(zip((VERMILION, BLUE), truth, strict=True)):
            panel.axhline(length, color=colour, lw=1.0, ls=":")
            for k, curve in enumerate(own):
                label = f"length of link {link + 1}" if k == 0 else None
                panel.plot(curve[:, link], color=colour, lw=1.8, alpha=0.85, label=label)
        panel.set_title(name, fontsize=11, color=INK)
        panel.set_xlabel("step")
        panel.set_ylim(0.0, 1.75 * truth.max())
        panel.spines[["top", "right"]].set_visible(False)
    if "Adam" in curves:
        panels[0].axvline(epochs, color=FAINT, lw=1.0)
        panels[0].annotate(
            "converged in the paper", (epochs, 1.66 * truth.max()), (5, 0),
            textcoords="offset points", color=DIM, fontsize=8.5,
        )  # fmt: skip
    panels[0].set_ylabel("length [m]; dotted: truth")
    panels[-1].legend(frameon=False, loc="upper right")
    return figure
