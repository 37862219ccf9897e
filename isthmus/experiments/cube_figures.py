"""The figure of the cube study: way and rotation error of each throw."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.experiments.tosses_data import rotations
from isthmus.motion.motion import Motion
from isthmus.palette import BLUE, GREY, INK, VERMILION

COLOURS = {"before": GREY, "analytic friction": BLUE, "network": VERMILION}


def draw_throws(truths: dict[str, Motion], made: dict[str, dict[str, np.ndarray]]) -> Any:
    """Above, the middle of the cube from the side; below, how far its rotation is off."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        2, len(truths), figsize=(3.2 * len(truths), 5.2), sharey="row", squeeze=False
    )
    for (above, below), (throw, truth) in zip(panels.T, truths.items(), strict=True):
        true = np.asarray(truth.q)
        above.plot(true[:, 1], true[:, 2], color=INK, lw=2.4, label="world of impulses")
        for name, of in made.items():
            q = of[throw]
            off = (rotations(true[:, 3:]).inv() * rotations(q[:, 3:])).magnitude()
            above.plot(q[:, 1], q[:, 2], color=COLOURS[name], lw=1.5, label=name)
            below.plot(np.asarray(truth.t), np.degrees(off), color=COLOURS[name], lw=1.5)
        above.set_title(throw, fontsize=11)
        above.set_xlabel("y [m]")
        below.set_xlabel("time [s]")
        for panel in (above, below):
            panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("z [m]")
    panels[0, 0].set_ylim(0.0, 1.5)
    panels[1, 0].set_ylabel("rotation error [°]")
    panels[1, 0].set_ylim(0.0, 90.0)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=len(labels), loc="lower center")
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    return figure
