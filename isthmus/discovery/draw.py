"""Which input drives which output, as a picture: outputs in rows, inputs in columns, as in NeuralSim (figure 10).

The darker a cell, the more that input explains of what the model without any correction lacks at that output; a frame
marks what was named in the end. What reads nothing, such as an inertia, stands in a column of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.blueprint.draw import save_drawing
from isthmus.palette import SERIES

CELL = 0.42
"""Side of a cell [inch]."""
LETTER = 0.075
"""Width of a letter [inch]."""
ITSELF = "(itself)"


def draw(
    scores: Sequence[tuple[str, float, float]],
    named: Sequence[str],
    path: str | os.PathLike[str] | None,
) -> Any:
    """The figure; written to `path` if there is one."""
    from matplotlib.figure import Figure  # a heavy library

    pairs = {name: name.partition(" by ")[::2] for name, _, _ in scores}
    outputs = list(dict.fromkeys(target for target, _ in pairs.values()))
    inputs = list(dict.fromkeys(by or ITSELF for _, by in pairs.values()))
    shares = np.full((len(outputs), len(inputs)), np.nan)
    for name, mean, _ in scores:
        target, by = pairs[name]
        shares[outputs.index(target), inputs.index(by or ITSELF)] = max(0.0, 1.0 - np.exp(-mean))
    left = 0.3 + LETTER * max(map(len, outputs), default=1)
    below = 0.3 + LETTER * max(map(len, inputs), default=1)
    width, height = (
        left + CELL * max(len(inputs), 1) + 1.2,
        below + CELL * max(len(outputs), 1) + 0.5,
    )
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes(
        (left / width, below / height, CELL * len(inputs) / width, CELL * len(outputs) / height)
    )
    image = axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
    axes.set_xticks(range(len(inputs)), inputs, rotation=90, fontsize=8, parse_math=False)
    axes.set_yticks(range(len(outputs)), outputs, fontsize=8, parse_math=False)
    axes.set_title("what explains the residuals, by itself", fontsize=9)
    for name in named:
        if name in pairs:
            row, column = outputs.index(pairs[name][0]), inputs.index(pairs[name][1] or ITSELF)
            _frame(axes, column, row)
    bar = figure.add_axes(
        (1.0 - 0.9 / width, below / height, 0.14 / width, axes.get_position().height)
    )
    figure.colorbar(image, cax=bar).ax.tick_params(labelsize=7)
    if path is not None:
        save_drawing(figure, path)
    return figure


def _frame(axes: Any, column: int, row: int) -> None:
    from matplotlib.patches import Rectangle  # a heavy library

    corner = (column - 0.5, row - 0.5)
    axes.add_patch(Rectangle(corner, 1.0, 1.0, fill=False, edgecolor=SERIES[1], linewidth=2.0))
