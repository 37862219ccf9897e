"""The figures of `discover`: first layers before and after, and the test error over the number of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.experiments.discover_truth import INPUTS
from isthmus.palette import BLUE, INK, SERIES, VERMILION


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


def draw_ratios(parts: Sequence[tuple[str, Sequence[str], dict[str, np.ndarray]]]) -> Any:
    """Errors over those of the physics, with intervals; a panel for each recording.

    Each part: title, horizons, and for each method the ratios and the ends of their intervals, (horizons, 3).
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.9 * len(parts) + 1.2, 3.4), layout="constrained")
    panels = figure.subplots(1, len(parts), squeeze=False, sharey=True)[0]
    for panel, (title, horizons, methods) in zip(panels, parts, strict=True):
        for k, ((name, each), color) in enumerate(zip(methods.items(), SERIES, strict=False)):
            at = np.arange(len(each)) + 0.2 * (k - 0.5 * (len(methods) - 1))
            ends = np.abs(each[:, 1:].T - each[:, 0])
            panel.errorbar(at, each[:, 0], ends, fmt="o", color=color, capsize=3, label=name)
        panel.axhline(1.0, color=INK, linewidth=0.8)
        panel.set_xticks(range(len(each)), horizons, fontsize=8)
        panel.set_title(title, fontsize=9, color=INK)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("error over that of the physics")
    panels[0].legend(frameon=False, fontsize=8)
    return figure
