"""Figures of the swimmer study: motions beside the truth (P3's figure 8, right), errors of all methods (figure 9)."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.palette import BLUE, GREEN, GREY, INK, VERMILION, VIOLET, YELLOW

LEARNED = 200
"""Rows of a motion that was learned from."""
COLOURS = {
    "truth": INK, "plain": GREY, "hybrid": VERMILION, "hybrid, dissipative": YELLOW,
    "LSTM": BLUE, "MLP": VIOLET, "residual": GREEN,
}  # fmt: skip


def draw_motion(curves: dict[str, tuple[np.ndarray, np.ndarray]], row: float) -> Any:
    """Angle of each joint over time: truth, hybrid, LSTM and the plain model."""
    import matplotlib.pyplot as plt

    truth = curves["truth"][0]
    joints = truth.shape[1]
    figure, panels = plt.subplots(
        joints, 1, figsize=(8.4, 1.6 * joints + 1.0), sharex=True, squeeze=False
    )
    for j, panel in enumerate(panels[:, 0]):
        for name, line, width in (
            ("plain", "-", 1.2),
            ("LSTM", "-", 1.4),
            ("truth", "-", 2.2),
            ("hybrid", "--", 1.8),
        ):
            if name not in curves:
                continue
            q = curves[name][0][:, j]
            panel.plot(row * np.arange(len(q)), q, line, color=COLOURS[name], lw=width, label=name)
        span = np.ptp(truth[:, j]) + 1e-9
        panel.set_ylim(truth[:, j].min() - 0.6 * span, truth[:, j].max() + 0.6 * span)
        panel.axvspan(0.0, row * LEARNED, color=INK, alpha=0.04, lw=0)
        panel.set_ylabel(f"joint {j + 1} [rad]")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    panels[-1, 0].set_xlabel("time [s]; shaded: as long as the motions it was trained on")
    figure.tight_layout()
    return figure


def draw_errors(found: dict[str, dict], methods: tuple[str, ...]) -> Any:
    """Error of joint angles of each method in each medium, logarithmic."""
    import matplotlib.pyplot as plt

    spans = [
        name for name in next(iter(next(iter(found.values())).values())) if name.startswith("q")
    ]
    figure, panels = plt.subplots(1, len(spans), figsize=(9.6, 3.6), sharey=True)
    for panel, span in zip(panels, spans, strict=True):
        for k, method in enumerate(methods):
            heights = [min(float(errors[method][span]), 1e2) for errors in found.values()]
            at = np.arange(len(found)) + (k - len(methods) / 2 + 0.5) * 0.13
            panel.bar(
                at, np.nan_to_num(heights, nan=1e2), 0.12, color=COLOURS[method], label=method
            )
        panel.set_yscale("log")
        panel.set_xticks(range(len(found)), list(found))
        panel.set_title(f"steps {span.removeprefix('q ')}", fontsize=11)
        panel.axhline(1.0, color=INK, lw=0.8, ls=":")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("RMSE ÷ deviation of the truth")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, frameon=False, ncols=len(methods), loc="lower center", fontsize=9
    )
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    return figure
