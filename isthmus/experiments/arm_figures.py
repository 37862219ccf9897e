"""Figures of the arm study: torques over time, errors of all methods on all splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isthmus.identify.torque.data import Rows
from isthmus.palette import BLUE, BROWN, GREEN, GREY, INK, SKY, VERMILION, VIOLET, YELLOW

COLOURS = {
    "urdf": GREY, "least_squares": VIOLET, "ridge": BLUE, "usual": GREEN, "chosen": YELLOW,
    "filtered": VERMILION, "network": BROWN, "figaroh": SKY,
}  # fmt: skip
DRAWN = ("ridge", "filtered")


def draw_torques(
    run: Rows, predicted: Mapping[str, np.ndarray], dofs: Sequence[str], names: Mapping[str, str]
) -> Any:
    """Recorded torques of a run, and what methods predict that had not seen the block [N·m]; beside them the errors."""
    import matplotlib.pyplot as plt

    t = (run.step or 1.0) * np.arange(len(run.tau))
    figure, panels = plt.subplots(
        len(dofs), 2, figsize=(11.0, 1.25 * len(dofs) + 0.8), sharex=True, squeeze=False
    )
    for j, (left, right) in enumerate(panels):
        left.plot(t, run.tau[:, j], color=INK, lw=2.4, alpha=0.35, label="recorded")
        for name in (n for n in DRAWN if n in predicted):
            left.plot(t, predicted[name][:, j], color=COLOURS[name], lw=1.1, label=names[name])
            off = predicted[name][:, j] - run.tau[:, j]
            right.plot(t, off, color=COLOURS[name], lw=1.0)
        right.axhline(0.0, color=INK, lw=0.6)
        left.set_ylabel(f"joint {j + 1}\n[N·m]", fontsize=9)
        for panel in (left, right):
            panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_title("torque", fontsize=10)
    panels[0, 1].set_title("predicted − recorded", fontsize=10)
    for panel in panels[-1]:
        panel.set_xlabel("time [s]")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=3, loc="upper center", fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    return figure


def draw_errors(
    errors: Mapping[str, Mapping[str, np.ndarray]], dofs: Sequence[str], names: Mapping[str, str]
) -> Any:
    """Error of each method on each joint [N·m], one panel for each split."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        len(errors), 1, figsize=(8.8, 1.7 * len(errors) + 0.8), sharex=True, squeeze=False
    )
    for panel, (split, methods) in zip(panels[:, 0], errors.items(), strict=True):
        width = 0.84 / len(methods)
        for k, (name, error) in enumerate(methods.items()):
            at = np.arange(len(dofs)) + (k - len(methods) / 2 + 0.5) * width
            panel.bar(at, error, 0.92 * width, color=COLOURS[name], label=names[name])
        best = max(
            float(np.max(e)) for n, e in methods.items() if n not in ("urdf", "least_squares")
        )
        panel.set_ylim(0.0, 1.3 * best)
        panel.set_ylabel(f"{split}\n[N·m]", fontsize=9)
        panel.spines[["top", "right"]].set_visible(False)
    panels[-1, 0].set_xticks(range(len(dofs)), [f"joint {k + 1}" for k in range(len(dofs))])
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=3, loc="upper center", fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.94))
    return figure
