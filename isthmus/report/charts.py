"""The figures of a report: each a function of arrays that gives one SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from isthmus.report.html import Markup, joined, tag
from isthmus.report.numbers import MINUS, padded, plain, thinned
from isthmus.report.svg import Frame, picture, point

DOTS = 900
"""So many dots of a cloud are drawn."""
BINS = 24
"""Parts of an axis over which the mean of a cloud is taken."""


def curve(frame: Frame, x: np.ndarray, y: np.ndarray, class_: str, columns: int = 0) -> Markup:
    """A curve, thinned out to the frame's pixels or to fewer `columns`."""
    keep = thinned(y, columns or frame.columns)
    return frame.path(x[keep], y[keep], class_)


def convergence(
    histories: Sequence[np.ndarray], names: Sequence[str], title: str, *, step: str = "step"
) -> Markup:
    """The loss after each step or round, one curve for each search."""
    every = np.concatenate([h[np.isfinite(h) & (h > 0)] for h in histories])
    logarithmic = bool(every.size and every.max() > 3.0 * every.min())
    y = padded(np.log10(every)) if logarithmic else padded(every)
    bounds = (10.0 ** y[0], 10.0 ** y[1]) if logarithmic else y
    first = 1 if step == "round" else 0  # a round is a whole search; step 0 is where one begins
    steps = max(len(h) for h in histories) - 1
    x = (float(first), float(first + max(steps, 1)))
    frame = Frame(x, bounds, height=220, left=70, right=16, log_y=logarithmic)
    many = len(histories) > 1
    classes = [f"series s{k % 6}" if many else "predicted" for k in range(len(histories))]
    curves = [
        curve(
            frame, first + np.arange(len(h), dtype=np.float64), np.asarray(h, dtype=np.float64), c
        )
        for h, c in zip(histories, classes, strict=True)
    ]
    if not many and steps <= 60:
        at = first + np.arange(steps + 1)
        curves.append(frame.dots(at, np.asarray(histories[0]), "predicted thick"))
    chart = frame.picture(frame.axes(step, "loss"), inside=curves, title=title, grow=1.35)
    return chart if not many else joined(chart, legend(names, classes))


def legend(names: Sequence[str], classes: Sequence[str]) -> Markup:
    """Colours and what they stand for."""
    key = lambda c: tag(
        "svg", tag("path", d="M1 6H21", class_=f"curve {c}"), viewBox="0 0 22 12", class_="key"
    )
    entries = [tag("span", key(c), n) for n, c in zip(names, classes, strict=True)]
    return tag("p", *entries, class_="legend")


def error_bar(
    start: float, value: float, error: float, low: float, high: float, unit: str
) -> Markup:
    """One estimate in one row: its bounds, start as a ring, value as a dot with ±2 errors."""
    reach = 2.0 * error if math.isfinite(error) else 0.0
    inner = np.array([start, value - reach, value + reach])
    x = padded(inner, 0.12)
    if math.isfinite(low):  # where there is no upper bound, some room beyond what is shown
        x = padded(np.array([low, high if math.isfinite(high) else x[1]]), 0.04)
    frame = Frame(x, (0.0, 1.0), width=190, height=26, left=4, right=4, top=0, bottom=0)
    place = lambda v: float(np.clip(frame.X(v), -5.0, 195.0))
    parts = [tag("path", d="M4 13H186", class_="rail")]
    parts += [
        tag("path", d=f"M{point(place(b))} 7V19", class_="bound")
        for b in (low, high)
        if math.isfinite(b) and x[0] <= b <= x[1]
    ]
    if math.isfinite(value):
        moved = f"M{point(place(start))} 13H{point(place(value))}"
        bar = f"M{point(place(value - reach))} 13H{point(place(value + reach))}"
        parts += [tag("path", d=moved, class_="moved")] if math.isfinite(start) else []
        parts += [tag("path", d=bar, class_="errorbar")] if reach else []
    if math.isfinite(start):
        parts.append(tag("circle", cx=point(place(start)), cy=13, r=3.4, class_="start"))
    if math.isfinite(value):
        solid = "value" if math.isfinite(error) else "value doubtful"
        parts.append(tag("circle", cx=point(place(value)), cy=13, r=4.2, class_=solid))
    told = f"start {plain(start)}, estimate {plain(value)} ± {plain(error, 2)} {unit}"
    return picture(190, 26, *parts, title=told, class_="bar")


def heat_map(matrix: np.ndarray, names: Sequence[str]) -> Markup:
    """Correlations between −1 and 1, with the names of rows and columns; numbers are written where there is room."""
    n = len(names)
    size = int(np.clip(620 // max(n, 1), 14, 44))
    labels = [shortened(name) for name in names]
    edge = 12 + round(6.9 * max(map(len, labels)))
    parts: list[Markup] = []
    for i in range(n):
        middle = edge + i * size + size / 2
        side = tag("text", tag("title", names[i]), labels[i], x=edge - 6, y=point(middle + 4))
        turned = f"translate({point(middle + 4)} {edge - 6}) rotate(-90)"
        top = tag("text", tag("title", names[i]), labels[i], transform=turned)
        parts += [tag("g", side, text_anchor="end", class_="label"), tag("g", top, class_="label")]
        parts += [_cell(matrix[i, j], names[i], names[j], (edge, size), (i, j)) for j in range(n)]
    whole = edge + n * size
    return picture(
        whole + 2, whole + 2, *parts, title="correlations of the estimates", grow=1.0, least=0.8
    )


def _cell(c: float, a: str, b: str, place: tuple[int, int], at: tuple[int, int]) -> Markup:
    """One correlation: a square, and its number where there is room."""
    (edge, size), (i, j) = place, at
    x, y, known = edge + j * size, edge + i * size, math.isfinite(c)
    square = tag(
        "rect",
        tag("title", f"{a} with {b}: {plain(c, 3)}"),
        x=x,
        y=y,
        width=size - 1,
        height=size - 1,
        class_=("plus" if c >= 0 else "minus") if known else "unknown",
        fill_opacity=f"{min(abs(c), 1.0) ** 1.5:.2f}" if known else None,
    )
    if size < 30 or not known:
        return square
    text = "1" if i == j else "0" if abs(c) < 0.005 else f"{c:+.2f}".replace("-", MINUS)
    strong = "cell strong" if abs(c) > 0.75 else "cell"
    centre = {"x": x + size // 2, "y": y + size // 2 + 4, "text_anchor": "middle"}
    return joined(square, tag("text", text, **centre, class_=strong))


def shortened(name: str, longest: int = 30) -> str:
    """A name of at most `longest` letters: the middle of a longer one is left out."""
    front = longest // 3
    return name if len(name) <= longest else f"{name[:front]}…{name[front + 1 - longest :]}"


def cloud(
    x: np.ndarray, d: np.ndarray, x_name: str, y_name: str, title: str, most: int = DOTS
) -> Markup:
    """Differences over a quantity, with the mean of each part of its range."""
    known = np.isfinite(x) & np.isfinite(d)
    x, d = x[known], d[known]
    span = np.percentile(d, [0.5, 99.5]) if len(d) else np.zeros(0)
    frame = Frame(padded(x, 0.03), padded(span, 0.15), width=320, height=190, class_="chart narrow")
    keep = np.linspace(0, len(x) - 1, min(most, len(x))).astype(int)
    inside = [frame.dots(x[keep], d[keep], "difference")]
    centre, mean, error = binned(x, d)
    inside.append(frame.area(centre, mean - 2 * error, mean + 2 * error, "meanband"))
    inside.append(frame.path(centre, mean, "mean"))
    return frame.picture(frame.axes(x_name, y_name), inside=inside, title=title)


def binned(x: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre of each part of an axis with enough data, mean of `d` there, and its standard error."""
    parts = [rows for rows in np.array_split(np.argsort(x, kind="stable"), BINS) if len(rows) > 3]
    centre = np.array([x[rows].mean() for rows in parts])
    mean = np.array([d[rows].mean() for rows in parts])
    return centre, mean, np.array([d[rows].std() / math.sqrt(len(rows)) for rows in parts])
