"""The figure of `gradients`: times of one gradient by all methods."""

from __future__ import annotations

from typing import Any

from isthmus.palette import BLUE, GREY, INK, SKY


def draw_gradients(found: dict[str, dict[str, float]], methods: dict[str, tuple]) -> Any:
    """`found`: our times [s] for each problem; `methods`: TDS's, in the same order of problems."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.6, 3.4), layout="constrained")
    panels = figure.subplots(1, len(found), sharey=True)
    names = [f"TDS: {name}" for name in methods] + ["isthmus", "isthmus, in lanes"]
    for k, (panel, (title, one)) in enumerate(zip(panels, found.items(), strict=True)):
        times = [row[k] for row in methods.values()]
        times += [one["gradient"], one["gradient in lanes"]]
        colours = [GREY] * len(methods) + [BLUE, SKY]
        for row, (time, colour) in enumerate(zip(times, colours, strict=True)):
            if time is not None:
                panel.barh(row, time, color=colour)
        panel.set_xscale("log")
        panel.set_title(title, fontsize=11, color=INK)
        panel.set_xlabel("time of one gradient [s]")
        panel.grid(axis="x", alpha=0.3)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    return figure
