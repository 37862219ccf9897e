"""A figure of the acrobot study: errors run by run, beside the lab's model."""

from __future__ import annotations

from typing import Any

import numpy as np

COLOURS = {"lab": "#b5b5b5", "parameters": "#00798c"}


def draw_errors(runs: dict[str, dict[str, list[list[float]]]]) -> Any:
    """Errors over 1 s [rad] of each run, logarithmic; a panel for each design."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(runs), figsize=(3.4 * len(runs) + 1.0, 3.4), sharey=True, squeeze=False
    )
    for panel, (design, methods) in zip(panels[0], runs.items(), strict=True):
        for k, (name, errors) in enumerate(methods.items()):
            heights = np.array(errors)[:, -1]
            at = np.arange(len(heights)) + 0.38 * (k - 0.5)
            panel.bar(at, heights, 0.36, color=COLOURS[name], label=name)
        panel.set(yscale="log", title=design, xlabel="run that was not fitted")
        panel.set_xticks(range(len(heights)))
        panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("error over 1 s [rad]")
    panels[0, 0].legend(frameon=False)
    figure.tight_layout()
    return figure
