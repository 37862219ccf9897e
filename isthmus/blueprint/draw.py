"""A blueprint as a picture: which signals feed which network, and which signals it corrects.

Three columns, in inches: signals that are read, networks, signals that are corrected. Each network has a colour, and
so have its wires. `+`, `×` and `=` where a wire ends say how it corrects: add, scale, replace.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from isthmus.blueprint.plan import kind_of, recipe_of
from isthmus.blueprint.wire import Wire
from isthmus.disk import check_target, whole_file
from isthmus.networks.names import PREVIOUS
from isthmus.palette import SERIES

KINDS = (".png", ".svg", ".pdf")
"""Of networks and their wires; distinct to colour-blind readers too."""
SIGNS = {"add": "+", "scale": "×", "replace": "="}
LETTER = 0.0785
"""Width of a letter of a signal's name [inch]."""
LONGEST = 44
"""Letters of a name; longer ones are cut."""
MARGIN, APART, BETWEEN = 0.35, 0.16, 1.5
"""Around the picture, between things of a column, and between columns [inch]."""
ROW, BOX, PORT = 0.36, 0.78, 0.3
"""Heights of a signal, of a network, and between wires that end at one signal [inch]."""
SIGN = 0.12
"""Room that a sign takes from a signal [inch]."""


@dataclasses.dataclass(frozen=True)
class Theme:
    """Colours of paper, text and signals."""

    paper: str
    ink: str
    faint: str
    fill: str
    edge: str
    tint: float
    """How much of its colour a network's box has."""


LIGHT = Theme("#ffffff", "#1d2b3a", "#7a8794", "#f2f5f8", "#b9c4cf", 0.10)
DARK = Theme("#12181f", "#e8edf2", "#8d99a6", "#1e2731", "#45525f", 0.22)


@dataclasses.dataclass
class Node:
    """A signal or a network in its column; `y` is its middle."""

    text: str
    height: float
    wires: list[int] = dataclasses.field(default_factory=list)
    y: float = 0.0


def save_drawing(figure: Any, path: str | os.PathLike[str]) -> None:
    """Writes the picture, as its ending says: `.png`, `.svg` or `.pdf`."""
    check_target(path, KINDS)
    with whole_file(path) as file:
        figure.savefig(
            file, format=Path(path).suffix.lower()[1:], dpi=160, facecolor=figure.get_facecolor()
        )


def draw(wires: Sequence[Wire], names: Sequence[str], *, dark: bool = False) -> Any:
    """A matplotlib figure of the wires, whose networks are called `names`."""
    from matplotlib.figure import Figure

    theme = DARK if dark else LIGHT
    if not wires:
        figure = Figure(figsize=(5.0, 1.2), facecolor=theme.paper)
        figure.text(
            0.5, 0.5, "a blueprint without wires", ha="center", va="center", color=theme.faint
        )
        return figure
    sheet = Sheet(wires, names, theme)
    figure = Figure(figsize=(sheet.width, sheet.height), facecolor=theme.paper)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0.0, sheet.width), ylim=(sheet.height, 0.0))
    axes.set_axis_off()
    sheet.draw_on(axes)
    return figure


# where everything stands ---------------------------------------------------------------------------------


class Sheet:
    """Columns and their places; y runs downwards."""

    def __init__(self, wires: Sequence[Wire], names: Sequence[str], theme: Theme) -> None:
        self.wires, self.theme = wires, theme
        self.networks = [Node(name, BOX, [n]) for n, name in enumerate(names)]
        self.sources = _signals((n, text) for n, wire in enumerate(wires) for text in wire.reads)
        self.targets = _signals((n, wire.target) for n, wire in enumerate(wires))
        for node in self.targets:
            node.height = max(ROW, PORT * len(node.wires) + 0.06)
        columns = (self.sources, self.networks, self.targets)
        tall = max(sum(node.height + APART for node in column) for column in columns)
        self.top = MARGIN + 0.45
        self.legend = _legend(wires)
        self.height = self.top + tall + MARGIN + (0.35 if self.legend else 0.0)
        _spread(
            self.networks,
            [self.top + tall * (k + 0.5) / len(wires) for k in range(len(wires))],
            self.top,
            tall,
        )
        for column in (self.sources, self.targets):
            heights = [
                sum(self.networks[n].y for n in node.wires) / len(node.wires) for node in column
            ]
            _spread(column, heights, self.top, tall)
        self._columns()

    def _columns(self) -> None:
        """Left and right edges of the three columns."""
        widths = [
            _width(self.sources),
            _width_of_boxes(self.wires, self.networks),
            _width(self.targets) + SIGN,
        ]
        self.left, x = [], MARGIN
        for width in widths:
            self.left.append(x)
            x += width + BETWEEN
        self.right = [a + b for a, b in zip(self.left, widths, strict=True)]
        self.width = self.right[-1] + MARGIN

    # drawing ---------------------------------------------------------------------------------------------

    def draw_on(self, axes: Any) -> None:
        """Everything: wires first, so that boxes lie upon them."""
        for k, title in enumerate(("reads", "network", "corrects")):
            middle = (self.left[k] + self.right[k]) / 2
            if k != 0 or self.sources:
                _write(axes, middle, MARGIN + 0.08, title, self.theme.faint, size=9.5)
        for node in self.sources:
            for n in node.wires:
                self._wire_in(axes, node, n)
        for node in self.targets:
            for k, n in enumerate(node.wires):
                self._wire_out(axes, node, k, n)
        for column, nodes in ((0, self.sources), (2, self.targets)):
            for node in nodes:
                self._signal(axes, node, column)
        for n, node in enumerate(self.networks):
            self._network(axes, node, n)
        for node in self.targets:
            for k, n in enumerate(node.wires):
                self._sign(axes, node, k, n)
        if self.legend:
            _write(
                axes, self.width / 2, self.height - MARGIN, self.legend, self.theme.faint, size=8.5
            )

    def _wire_in(self, axes: Any, node: Node, n: int) -> None:
        reads = sorted(set(self.wires[n].reads), key=lambda text: self._source(text).y)
        box = self.networks[n]
        step = box.height / (len(reads) + 1)
        y = box.y - box.height / 2 + step * (reads.index(node.text) + 1)
        _curve(axes, (self.right[0], node.y), (self.left[1], y), _colour(n), _dashes(node.text))
        axes.plot(self.left[1], y, "o", ms=4.5, color=_colour(n), zorder=6)

    def _source(self, text: str) -> Node:
        return next(node for node in self.sources if node.text == text)

    def _wire_out(self, axes: Any, node: Node, k: int, n: int) -> None:
        start = (self.right[1], self.networks[n].y)
        _curve(axes, start, (self.left[2], _port(node, k)), _colour(n))

    def _sign(self, axes: Any, node: Node, k: int, n: int) -> None:
        at = (self.left[2], _port(node, k))
        axes.plot(*at, "o", ms=14.5, mfc=_colour(n), mec=self.theme.paper, mew=1.5, zorder=7)
        sign = SIGNS[self.wires[n].mode]
        _write(axes, at[0], at[1], sign, "#ffffff", size=11.5, weight="bold", zorder=8)

    def _signal(self, axes: Any, node: Node, column: int) -> None:
        x, width = self.left[column], self.right[column] - self.left[column]
        style = {"linestyle": _dashes(node.text), "edgecolor": self.theme.edge}
        _box(axes, x, node, width, round_=ROW / 2, facecolor=self.theme.fill, **style)
        middle = x + (width + (SIGN if column == 2 else 0.0)) / 2
        _write(axes, middle, node.y, _cut(node.text), self.theme.ink, family="monospace")

    def _network(self, axes: Any, node: Node, n: int) -> None:
        wire, colour = self.wires[n], _colour(n)
        x, width = self.left[1], self.right[1] - self.left[1]
        fill = _mixed(colour, self.theme.paper, self.theme.tint)
        if wire.rows == "each":  # the same network for each row: a stack of boxes
            for k in (2, 1):
                behind = dataclasses.replace(node, y=node.y - 0.055 * k)
                _box(axes, x + 0.055 * k, behind, width, facecolor=fill, edgecolor=colour)
        _box(axes, x, node, width, facecolor=fill, edgecolor=colour, linewidth=1.7)
        lines = [line for line in (_cut(node.text), _recipe(wire), _law(wire)) if line]
        for k, line in enumerate(lines):
            y = node.y + 0.2 * (k - (len(lines) - 1) / 2)
            style = {"size": 10.5, "weight": "bold"} if k == 0 else {"size": 9.0}
            tone = self.theme.ink if k < 2 else _mixed(colour, self.theme.ink, 0.65)
            _write(axes, x + width / 2, y, line, tone, **style)


def _signals(read: Iterable[tuple[int, str]]) -> list[Node]:
    """A node for each signal, with the wires that it belongs to."""
    nodes: dict[str, Node] = {}
    for n, text in read:
        node = nodes.setdefault(text, Node(text, ROW))
        if n not in node.wires:
            node.wires.append(n)
    return list(nodes.values())


def _spread(nodes: list[Node], wanted: Sequence[float], top: float, tall: float) -> None:
    """Puts nodes near where they want to be, in that order, none upon another, all on the sheet."""
    nodes[:] = [
        node for _, node in sorted(zip(wanted, nodes, strict=True), key=lambda pair: pair[0])
    ]
    wanted = sorted(wanted)
    groups: list[
        tuple[list[Node], float, float]
    ] = []  # nodes that touch, their height, wanted middle
    for node, y in zip(nodes, wanted, strict=True):
        group, height, middle = [node], node.height + APART, y
        while groups and groups[-1][2] + groups[-1][1] / 2 > middle - height / 2:
            before, other, there = groups.pop()
            share = len(before) / (len(before) + len(group))
            middle = _inside(share * there + (1 - share) * middle, height + other, top, tall)
            group, height = before + group, height + other
        groups.append((group, height, _inside(middle, height, top, tall)))
    for group, height, middle in groups:
        y = middle - height / 2
        for node in group:
            node.y = y + (node.height + APART) / 2
            y += node.height + APART


def _inside(middle: float, height: float, top: float, tall: float) -> float:
    return min(max(middle, top + height / 2), max(top + tall - height / 2, top + height / 2))


def _port(node: Node, k: int) -> float:
    """Where the `k`-th wire ends at a signal."""
    return node.y + PORT * (k - (len(node.wires) - 1) / 2)


def _width(nodes: Sequence[Node]) -> float:
    return max((len(_cut(node.text)) for node in nodes), default=0) * LETTER + 0.42


def _width_of_boxes(wires: Sequence[Wire], nodes: Sequence[Node]) -> float:
    lines = [(_cut(node.text), _recipe(w), _law(w)) for w, node in zip(wires, nodes, strict=True)]
    longest = max(len(line) for three in lines for line in three)
    return max(1.5, longest * LETTER + 0.5)


# what is written -----------------------------------------------------------------------------------------


SIZES: dict[str, Callable[[Any], str]] = {
    "MLP": lambda net: f"MLP {'–'.join([str(net.width)] * net.depth) or 'flat'}, {net.activation}",
    "Spline": lambda net: f"Spline, {net.knots} knots",
    "GRU": lambda net: f"GRU, {net.width} remembered",
    "Filter": lambda net: f"Filter, {net.width} of {net.fast:g} to {net.slow:g} s",
}


def _recipe(wire: Wire) -> str:
    """Kind and size of the network."""
    recipe = recipe_of(wire)
    kind = kind_of(recipe)
    shared = " · each row" if wire.rows == "each" else ""
    known = hasattr(recipe, "make") and type(recipe).__module__.startswith("isthmus.")
    return (SIZES[kind](recipe) if known and kind in SIZES else kind) + shared


def _law(wire: Wire) -> str:
    """The guarantee that the network stands under."""
    law = getattr(wire.net, "law", "")
    if law == "internal":
        return f"internal, {wire.net.between[0]} ↔ {wire.net.between[1]}"
    return f"{law}, coupled" if getattr(wire.net, "coupled", False) and law else law


def _legend(wires: Sequence[Wire]) -> str:
    """What the signs mean, as far as they occur."""
    read = [text for wire in wires for text in wire.reads]
    modes = [f"{sign} {mode}" for mode, sign in SIGNS.items() if any(w.mode == mode for w in wires)]
    dashed = ["– –  last step's value"] if any(text.startswith(PREVIOUS) for text in read) else []
    dotted = (
        ["· · ·  channel of the log"] if any(text.startswith("extra/") for text in read) else []
    )
    return "      ".join([*modes, *dashed, *dotted])


def _cut(text: str) -> str:
    """A name that fits; of a long one, its beginning and its end."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[: half - 1]}…{text[-half:]}"


# strokes -------------------------------------------------------------------------------------------------


def _colour(n: int) -> str:
    return SERIES[n % len(SERIES)]


def _dashes(signal: str) -> Any:
    """Last step's values are dashed, channels of the log dotted."""
    return (
        (0, (4, 2.2))
        if signal.startswith(PREVIOUS)
        else (0, (1, 1.6))
        if signal.startswith("extra/")
        else "-"
    )


def _mixed(colour: str, paper: str, share: float) -> tuple[float, ...]:
    """`share` of a colour on paper."""
    from matplotlib.colors import to_rgb

    return tuple(
        share * a + (1 - share) * b for a, b in zip(to_rgb(colour), to_rgb(paper), strict=True)
    )


def _box(axes: Any, x: float, node: Node, width: float, round_: float = 0.1, **style: Any) -> None:
    from matplotlib.patches import FancyBboxPatch

    form = f"round,pad=0,rounding_size={min(round_, node.height / 2)}"
    corner = (x, node.y - node.height / 2)
    style = {"linewidth": 1.1, "zorder": 5} | style
    axes.add_patch(FancyBboxPatch(corner, width, node.height, boxstyle=form, **style))


def _curve(axes: Any, start: tuple, end: tuple, colour: str, dashes: Any = "-") -> None:
    """A smooth line that leaves and arrives level."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Line

    reach = 0.55 * (end[0] - start[0])
    points = [start, (start[0] + reach, start[1]), (end[0] - reach, end[1]), end]
    line = Line(points, [Line.MOVETO, Line.CURVE4, Line.CURVE4, Line.CURVE4])
    axes.add_patch(
        PathPatch(line, fill=False, edgecolor=colour, linewidth=1.9, linestyle=dashes, zorder=3)
    )


def _write(axes: Any, x: float, y: float, text: str, colour: Any, **style: Any) -> None:
    style = {"size": 9.5, "zorder": 6} | style
    axes.text(
        x, y, text, color=colour, ha="center", va="center_baseline", parse_math=False, **style
    )
