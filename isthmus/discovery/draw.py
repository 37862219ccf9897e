"""Which input drives which output, as a picture: outputs in rows, inputs in columns, as in NeuralSim (figure 10).

The darker a cell, the more that input explains of what the model without any correction lacks at that output; a frame
marks what was named in the end, and grey is what was not tried. Inputs of the joint, link or contact itself are called
by their quantity alone. What reads nothing, such as an inertia, stands in a column of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.blueprint.draw import save_drawing
from isthmus.errors import BadOption
from isthmus.palette import SERIES

CELL, LOWEST, HIGH = 0.42, 0.2, 11.0
"""Side of a cell and its least height [inch]; so high is a picture before its cells become lower."""
LETTER = 0.066
"""Width of a letter [inch]."""
ITSELF = "(itself)"
UNTRIED = "0.92"
"""Grey of what was not tried."""


def draw(
    scores: Sequence[tuple[str, float, float]],
    named: Sequence[str],
    path: str | os.PathLike[str] | None,
) -> Any:
    """The figure; written to `path` if there is one."""
    from matplotlib.figure import Figure  # a heavy library

    if not scores:
        raise BadOption("nothing was tried in this discovery, so there is nothing to draw.")
    cells = cells_of([name for name, _, _ in scores])
    outputs, inputs = (list(dict.fromkeys(x)) for x in zip(*cells.values(), strict=True))
    place = {name: (outputs.index(out), inputs.index(by)) for name, (out, by) in cells.items()}
    shares = np.full((len(outputs), len(inputs)), np.nan)
    for name, mean, _ in scores:
        shares[place[name]] = max(0.0, 1.0 - np.exp(-mean))
    tall = float(np.clip(HIGH / len(outputs), LOWEST, CELL))
    size = (
        LETTER * max(map(len, outputs)) + CELL * len(inputs) + 1.6,
        LETTER * max(map(len, inputs)) + tall * len(outputs) + 0.8,
    )
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.set_facecolor(UNTRIED)
    edges = [np.arange(n + 1) - 0.5 for n in (len(inputs), len(outputs))]
    image = axes.pcolormesh(*edges, shares, cmap="Blues", vmin=0.0, vmax=1.0)
    axes.invert_yaxis()
    small = 8 if tall > 0.3 else 7
    axes.set_xticks(range(len(inputs)), inputs, rotation=90, fontsize=8, parse_math=False)
    axes.set_yticks(range(len(outputs)), outputs, fontsize=small, parse_math=False)
    axes.set_xticks(np.arange(0.5, len(inputs) - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(outputs) - 1), minor=True)
    axes.grid(which="minor", color="white", linewidth=1.0)
    axes.tick_params(which="minor", length=0)
    axes.set_title("share of the residuals that each explains by itself", fontsize=9, loc="right")
    for name in named:
        if name in place:
            _frame(axes, *place[name][::-1])
    bar = figure.colorbar(image, ax=axes, aspect=30)
    bar.ax.tick_params(labelsize=7)
    for area in bar.ax.collections:  # pages show no images, only lines and areas
        area.set(rasterized=False, edgecolor="face")
    if path is not None:
        save_drawing(figure, path)
    return figure


def cells_of(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Output and input of each candidate; inputs by their quantity alone, if none is of another joint or link."""
    pairs = {name: name.partition(" by ")[::2] for name in names}
    owner = lambda signal: signal.rpartition("/")[0]
    crossed = any(
        owner(x) != owner(target) for target, by in pairs.values() for x in by.split(", ") if by
    )
    short = lambda by: by if crossed else ", ".join(x.rpartition("/")[2] for x in by.split(", "))
    return {name: (target, short(by) or ITSELF) for name, (target, by) in pairs.items()}


def _frame(axes: Any, column: int, row: int) -> None:
    from matplotlib.patches import Rectangle  # a heavy library

    corner = (column - 0.5, row - 0.5)
    axes.add_patch(
        Rectangle(corner, 1.0, 1.0, fill=False, edgecolor=SERIES[1], linewidth=2.0, zorder=3)
    )
