"""A toss of two boxes on a hinge beside its predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.data.datasets_bodies import ELBOW_STEP
from isthmus.experiments.elbow_data import LENGTH, boxes
from isthmus.experiments.tosses_data import rotations
from isthmus.palette import INK, SERIES


def draw_toss(curves: dict[str, np.ndarray]) -> Any:
    """Height and way of the point between the boxes, turn of the first one, and the hinge's angle over time."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(4, 1, figsize=(8.0, 7.6), sharex=True)
    first = next(iter(curves.values()))[0]
    before = boxes(first)[0].mean(axis=0)
    for name, colour in zip(curves, (INK, *SERIES), strict=False):
        q = curves[name]
        middle = boxes(q)[0].mean(axis=1)
        turned = rotations(np.repeat(first[None, 3:7], len(q), axis=0)).inv() * rotations(q[:, 3:7])
        way = np.linalg.norm(middle[:, :2] - before[None, :2], axis=1) / LENGTH
        shown = (middle[:, 2] / LENGTH, way, np.degrees(turned.magnitude()), np.degrees(q[:, 7]))
        style = {"color": colour, "lw": 2.2 if name == "recorded" else 1.5, "label": name}
        for panel, y in zip(panels, shown, strict=True):
            panel.plot(1e3 * ELBOW_STEP * np.arange(len(q)), y, **style)
            panel.spines[["top", "right"]].set_visible(False)
    labels = ("height [lengths]", "way [lengths]", "turned [°]", "hinge [°]")
    for panel, label in zip(panels, labels, strict=True):
        panel.set_ylabel(label)
    panels[0].legend(frameon=False, ncols=3)
    panels[-1].set_xlabel("time [ms]")
    figure.tight_layout()
    return figure
