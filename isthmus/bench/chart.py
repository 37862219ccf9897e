"""The ratios of a run as a bar chart: how many times faster than each peer, on a logarithmic axis."""

from __future__ import annotations

from typing import Any

from isthmus.bench.machine import described
from isthmus.bench.rows import shown, times
from isthmus.palette import (
    BLUE,
    DIM,
    FAINT,
    GREEN,
    GREY,
    GRID,
    INK,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
)  # fmt: skip

COLOURS = {
    "CasADi C": VERMILION, "Pinocchio": GREEN, "MJX": PURPLE, "Brax": YELLOW,
    "XLA float64": BLUE, "XLA float32": SKY,
}  # fmt: skip


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that have a ratio to a peer."""
    return [row for row in rows if row["ratio"] is not None and not row["own"]]


def draw(result: dict[str, Any]) -> Any:
    """A figure of all rows with a peer; ratios above 1 mean that isthmus is faster."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = compared(result["rows"])
    spots, titles = _places(rows)
    height = max(spots, default=0) + 1.0
    size = (10.5, 1.7 + 0.3 * height)
    figure = Figure(figsize=size, dpi=160, facecolor="white")
    FigureCanvasAgg(figure)
    _head(figure, result, size[1])
    if not rows:
        return figure
    axes = figure.add_axes((0.44, 0.62 / size[1], 0.46, 1.0 - 1.7 / size[1]))
    for row, above, spot in zip(rows, [None, *rows], spots, strict=False):
        again = above is not None and above["work"] == row["work"]
        _bar(axes, row, spot, "" if again else row["work"])
    for title, spot in titles:
        axes.annotate(
            title, (-0.93, spot), xycoords=("axes fraction", "data"),
            weight="bold", color=INK, va="center", fontsize=10,
        )  # fmt: skip
    _finish(axes, rows, height)
    return figure


def _head(figure: Any, result: dict[str, Any], height: float) -> None:
    """Title and machine; `height` of the figure [inch]."""
    about = described(result["machine"], result["versions"])
    figure.text(
        0.014, 1 - 0.3 / height, "isthmus beside its peers", size=15, weight="bold", color=INK
    )
    figure.text(0.014, 1 - 0.58 / height, about, size=8.5, color=DIM, va="center")
    if not compared(result["rows"]):
        nothing = "nothing to compare with; pip install 'isthmus[bench]' brings other engines"
        figure.text(0.014, 1 - 1.0 / height, nothing, size=10, color=INK, va="center")


def _places(rows: list[dict[str, Any]]) -> tuple[list[float], list[tuple[str, float]]]:
    """Where bars lie, from the top, and the titles of the tables between them."""
    spots, titles, at, before = [], [], 0.0, None
    for row in rows:
        if row["table"] != before:
            at += 0.4 if before else 0.0
            titles.append((row["table"], at))
            at, before = at + 1.0, row["table"]
        spots.append(at)
        at += 1.0
    return spots, titles


def _bar(axes: Any, row: dict[str, Any], spot: float, label: str) -> None:
    ratio, colour = row["ratio"], COLOURS.get(row["peer"], GREY)
    axes.barh(spot, ratio - 1.0, left=1.0, height=0.68, color=colour, alpha=0.95)
    end = max(ratio, 1.0)
    axes.annotate(
        times(ratio), (end, spot), (5, 0), textcoords="offset points",
        va="center", weight="bold", color=INK, fontsize=9,
    )  # fmt: skip
    pair = f"{shown(row['ours'])} : {shown(row['theirs'])}"
    axes.annotate(
        pair, (1.0, spot), xycoords=("axes fraction", "data"), xytext=(8, 0),
        textcoords="offset points", va="center", color=FAINT, fontsize=7.5,
    )  # fmt: skip
    axes.annotate(
        label, (-0.02, spot), xycoords=("axes fraction", "data"),
        ha="right", va="center", color=INK, fontsize=8.5,
    )  # fmt: skip


def _finish(axes: Any, rows: list[dict[str, Any]], height: float) -> None:
    """Axis, grid and legend."""
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ratios = [row["ratio"] for row in rows]
    axes.set_xscale("log")
    axes.set_xlim(min(0.7, 0.8 * min(ratios)), 2.2 * max(*ratios, 2.0))
    axes.set_ylim(height - 0.3, -0.7)
    axes.set_yticks([])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", colors=FAINT, labelsize=8, which="both", length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.axvline(1.0, color=INK, linewidth=1.0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.annotate(
        "isthmus : peer", (1.0, 0.0), xycoords=("axes fraction", "data"), xytext=(8, 0),
        textcoords="offset points", va="center", color=FAINT, fontsize=7.5,
    )  # fmt: skip
    axes.set_xlabel("how many times faster isthmus is (log scale)", color=FAINT, fontsize=8.5)
    names = list(dict.fromkeys(row["peer"] for row in rows))
    patches = [Patch(color=COLOURS.get(name, GREY), label=name) for name in names]
    axes.figure.legend(
        handles=patches, loc="upper right", frameon=False, ncols=len(names),
        fontsize=8, bbox_to_anchor=(0.995, 0.999), handlelength=1.0, columnspacing=1.2,
    )  # fmt: skip
