"""Figures of the tosses: how many tosses are predicted how well, and one toss beside its predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.experiments.tosses_data import ROW, WIDTH, Errors, rotations
from isthmus.palette import GREY, INK, SERIES


def draw_errors(off: dict[str, Errors], width: str) -> Any:
    """Share of tosses whose error is below each value."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.8), sharey=True)
    colours = dict(zip([n for n in off if "default" not in n], SERIES, strict=False))
    for k, (panel, factor, label) in enumerate(
        zip(panels, (100.0, 1.0), (f"position [% of a {width[:-1]}]", "rotation [°]"), strict=True)
    ):
        for name, pair in off.items():
            x = factor * np.sort(pair[k])
            share = np.arange(1, len(x) + 1) / len(x)
            panel.plot(x, share, color=colours.get(name, GREY), lw=1.6, label=name)
        panel.set_xlim(
            0.0, factor * np.percentile(np.concatenate([p[k] for p in off.values()]), 97)
        )
        panel.set_xlabel(f"mean error of a toss: {label}")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of tosses")
    panels[1].legend(frameon=False, fontsize=9, loc="lower right")
    figure.tight_layout()
    return figure


def draw_toss(curves: dict[str, np.ndarray]) -> Any:
    """Height, way and turn of the cube over time."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(3, 1, figsize=(8.0, 6.0), sharex=True)
    first = next(iter(curves.values()))[0]
    for name, colour in zip(curves, (INK, *SERIES), strict=False):
        q = curves[name]
        t = 1e3 * ROW * np.arange(len(q))
        turned = rotations(np.repeat(first[None, 3:], len(q), axis=0)).inv() * rotations(q[:, 3:])
        way = np.linalg.norm(q[:, :2] - first[None, :2], axis=1)
        style = {"color": colour, "lw": 2.2 if name == "recorded" else 1.5, "label": name}
        for panel, y in zip(
            panels, (q[:, 2] / WIDTH, way / WIDTH, np.degrees(turned.magnitude())), strict=True
        ):
            panel.plot(t, y, **style)
            panel.spines[["top", "right"]].set_visible(False)
    for panel, label in zip(panels, ("height [widths]", "way [widths]", "turned [°]"), strict=True):
        panel.set_ylabel(label)
    panels[0].legend(frameon=False, ncols=3)
    panels[-1].set_xlabel("time [ms]")
    figure.tight_layout()
    return figure
