"""Figures of the pendulum study: a prediction beside the film, errors over the horizon beside the floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isthmus.palette import BLUE, BROWN, GREEN, GREY, INK, VERMILION, VIOLET, YELLOW

COLOURS = {
    "uniform rods": GREY, "one second of run 0": VIOLET, "all runs": BLUE,
    "all runs, markers, sprung support": GREEN, "all runs, markers": YELLOW, "all runs, markers, network": VERMILION,
    "all runs, markers, sprung support, network": BROWN,
}  # fmt: skip


def draw_motion(seen: np.ndarray, parts: Mapping[str, Any]) -> Any:
    """Both absolute angles (frames, 2) [rad] of a run that was not fitted, and what each model predicts."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 1, figsize=(8.4, 5.0), sharex=True)
    for k, panel in enumerate(panels):
        low, high = seen[:, k].min(), seen[:, k].max()
        panel.plot(seen[:, k], color=INK, lw=3.0, alpha=0.35, label="filmed")
        for name, part in parts.items():
            panel.plot(part.example[:, k], color=COLOURS[name], lw=1.3, label=name)
        panel.set_ylim(low - 0.2 * (high - low), high + 0.2 * (high - low))
        panel.set_ylabel(f"link {k + 1} [rad]")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(
        frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=9
    )
    panels[-1].set_xlabel("frames")
    figure.tight_layout()
    return figure


def draw_errors(horizons: Sequence[int], floor: Sequence[float], parts: Mapping[str, Any]) -> Any:
    """Errors [rad] over frames ahead, both logarithmic; starts by the model."""
    import matplotlib.pyplot as plt

    figure, panel = plt.subplots(figsize=(8.8, 4.2))
    if floor:
        panel.plot(horizons, floor, "o--", color=INK, label="least squares on accelerations")
    for name, part in parts.items():
        panel.plot(horizons, part.by_model, "o-", color=COLOURS[name], label=name, ms=4)
    panel.set(
        xscale="log", yscale="log", xlabel="frames ahead", ylabel="error of both angles [rad]"
    )
    panel.set_xticks(horizons, [str(h) for h in horizons])
    panel.minorticks_off()
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    return figure
