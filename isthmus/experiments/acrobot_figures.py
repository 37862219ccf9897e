"""Figures of the acrobot study: errors run by run beside the lab's model; what each part of the model takes off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus.palette import BLUE, GREY, VERMILION

SHOWN = {"lab_zeros": GREY, "chosen": BLUE, "network": VERMILION}


def draw_errors(runs: Mapping[str, Mapping[str, list]], titles: Mapping[str, str]) -> Any:
    """Errors over 1 s [rad] of each run, logarithmic; a panel for each design."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(runs), figsize=(3.4 * len(runs) + 1.0, 3.4), sharey=True, squeeze=False
    )
    for panel, (design, methods) in zip(panels[0], runs.items(), strict=True):
        shown = {name: colour for name, colour in SHOWN.items() if name in methods}
        for k, (name, colour) in enumerate(shown.items()):
            heights = np.array(methods[name])[:, -1]
            at = np.arange(len(heights)) + 0.27 * (k - 1)
            panel.bar(at, heights, 0.25, color=colour, label=titles[name])
        panel.set(yscale="log", title=design, xlabel="run that was not fitted")
        panel.set_xticks(range(len(heights)))
        panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("error over 1 s [rad]")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 0.97)
    )
    figure.tight_layout()
    return figure


def draw_misses(misses: Mapping[str, Mapping[str, float]], titles: Mapping[str, str]) -> Any:
    """Errors of short windows [mrad] by what is in the model; a group of bars for each design."""
    import matplotlib.pyplot as plt

    figure, panel = plt.subplots(figsize=(2.6 * len(misses) + 2.0, 3.4))
    shades = plt.get_cmap("viridis")(np.linspace(0.15, 0.85, len(titles)))
    width = 0.8 / len(titles)
    for k, (name, title) in enumerate(titles.items()):
        heights = [1e3 * found.get(name, np.nan) for found in misses.values()]
        at = np.arange(len(misses)) + width * (k - 0.5 * (len(titles) - 1))
        panel.bar(at, heights, 0.92 * width, color=shades[k], label=title)
    panel.set_xticks(range(len(misses)), list(misses))
    panel.set_ylabel("error over 0.5 s [mrad]")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    return figure
