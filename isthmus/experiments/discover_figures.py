"""The figures of `discover`: first layers before and after, and the test error over the number of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.experiments.discover_truth import INPUTS
from isthmus.palette import BLUE, INK, VERMILION


def draw_layers(pairs: dict[str, tuple[np.ndarray, np.ndarray]]) -> Any:
    """For each truth, the size of the weights of each input before and after, (outputs, inputs) each."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 2.1 * len(pairs)), layout="constrained")
    panels = figure.subplots(len(pairs), 2, squeeze=False)
    for line, (title, both) in zip(panels, pairs.items(), strict=True):
        for panel, weights, when in zip(line, both, ("trained", "sparse"), strict=True):
            share = weights / max(float(weights.max()), 1e-300)
            panel.imshow(
                np.where(share > 0, share, np.nan), cmap="YlGnBu", vmin=0.0, vmax=1.0, aspect="auto"
            )
            panel.set_xticks(range(len(INPUTS)), INPUTS)
            panel.set_yticks([0, 1], ["τ1", "τ2"])
            panel.set_title(f"{title}, {when}", fontsize=9, color=INK)
    return figure


def draw_errors(errors: dict[str, dict[int, float]]) -> Any:
    """Error of one step over the number of samples, a line for each method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    panel = figure.subplots()
    for (name, found), color in zip(errors.items(), (BLUE, VERMILION), strict=True):
        panel.loglog(list(found), list(found.values()), "o-", color=color, label=name)
    panel.set_xlabel("samples")
    panel.set_ylabel("error of the velocities after a step [rad/s]")
    panel.legend(frameon=False)
    return figure
