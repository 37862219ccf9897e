"""`export_posterior`: a posterior as one HTML page: table, pairs of numbers, bands of what the models predict."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from isthmus.identify.problem import Problem
from isthmus.motion.files import coordinate_names, coordinate_units
from isthmus.posteriors.laplace import TRUSTED
from isthmus.posteriors.posterior import STOPPED, Posterior
from isthmus.report.charts import legend, shortened
from isthmus.report.html import Markup, joined, named, sentence, tag
from isthmus.report.numbers import padded, plain
from isthmus.report.svg import Frame, point
from isthmus.report.write import whole_page, write_page

MAX_PAIRED = 6
"""Numbers that are drawn against each other."""
MAX_DOTS = 400
"""Samples that are drawn."""
MAX_MODELS, MAX_COORDINATES = 100, 4
"""Models whose motion is shown, and coordinates of them."""
SIDE, BINS = 150, 24
"""Width of one pair [pixels]; bars of a histogram."""


def export_posterior(
    found: Posterior,
    path: str | os.PathLike[str] = "posterior.html",
    *,
    problem: Problem | None = None,
) -> Path:
    """Writes one HTML page about a posterior, complete in itself. `problem`: its logs, for the bands."""
    return write_page(path, lambda: page(found, problem))


def page(found: Posterior, problem: Problem | None = None) -> str:
    """The text of the page."""
    heading = f"{found.model.name}: what the data leave open"
    parts = [_numbers(found)]
    if len(found.samples):
        parts.append(joined(tag("h2", "Pairs"), pairs(found)))
        if problem is not None and problem.kind.simulates:
            parts.append(joined(tag("h2", "Predictions"), *bands(found, problem)))
    return whole_page(heading, tag("h1", heading), [tag("section", part) for part in parts])


def _numbers(found: Posterior) -> Markup:
    heads = [tag("th", x, class_="number") for x in ("mean", "±", "5 %", "95 %")]
    head = tag("tr", tag("th", "number"), *heads, tag("th", "unit"))
    rows = []
    if len(found.samples):
        low, high = found.interval(0.9).T
        columns = (found.names, found.mean, found.deviation, low, high, found.units)
        for name, mean, spread, a, b, unit in zip(*columns, strict=True):
            cells = (plain(mean, 5), plain(spread, 2), plain(a, 5), plain(b, 5))
            numbers = [tag("td", x, class_="number") for x in cells]
            rows.append(tag("tr", tag("td", named(name)), *numbers, tag("td", unit)))
    shares = ", ".join(f"{w:.2g}" for w in found.weights)
    said = [f"{len(found.samples)} samples, worth {found.effective:.0f} independent ones."]
    said += (
        [f"{len(found.weights)} modes with the shares {shares}."] if len(found.weights) > 1 else []
    )
    said += (
        []
        if np.isnan(found.khat)
        else [
            f"Pareto shape k̂ of the importance ratios: {plain(found.khat, 2)}{_trust(found.khat)}."
        ]
    )
    said += [sentence(note) for note in found.notes]
    said += [] if found.complete else [STOPPED]
    return joined(tag("h2", "Numbers"), tag("table", head, *rows), *(tag("p", x) for x in said))


def _trust(khat: float) -> str:
    return f"; up to {TRUSTED} the samples can be trusted" if khat <= TRUSTED else ""


def _labels(found: Posterior, most: int) -> list[str]:
    """The names of the numbers in at most so many letters, with units."""
    units = [f" [{unit}]" if unit != "1" else "" for unit in found.units]
    return [
        shortened(name, most - len(unit)) + unit
        for name, unit in zip(found.names, units, strict=True)
    ]


def pairs(found: Posterior) -> Markup:
    """Histograms on the diagonal, and below it the samples of each pair of numbers."""
    most = min(len(found.names), MAX_PAIRED)
    x = found.samples[
        np.linspace(0, len(found.samples) - 1, min(MAX_DOTS, len(found.samples))).astype(int)
    ]
    rows = []
    for i in range(most):
        cells = [_pair(found, x, i, j, most - 1) for j in range(i)] + [_histogram(found, i)]
        rows.append(tag("tr", *(tag("td", cell) for cell in cells)))
    left = len(found.names) - most
    more = tag("p", f"{left} more numbers are not drawn.") if left else None
    return joined(tag("div", tag("table", *rows, class_="pairs"), class_="wide"), more)


def _frame(x: np.ndarray, y: np.ndarray) -> Frame:
    return Frame(padded(x, 0.05), padded(y, 0.05), SIDE + 90, SIDE, left=76, class_="chart narrow")


def _pair(found: Posterior, x: np.ndarray, i: int, j: int, last: int) -> Markup:
    """Number `i` over number `j`; names stand at the left and below the row `last`."""
    a = _labels(found, 28)[j] if i == last else ""
    b = shortened(found.names[i], 18) if j == 0 else ""  # its unit stands below its own histogram
    frame = _frame(x[:, j], x[:, i])
    dots = frame.dots(x[:, j], x[:, i], "difference small")
    title = f"{found.names[i]} over {found.names[j]}"
    return frame.picture(frame.axes(a, b), inside=[dots], title=title, grow=1.0)


def _histogram(found: Posterior, i: int) -> Markup:
    x = found.samples[:, i]
    count, edges = np.histogram(x, BINS)
    frame = _frame(x, np.array([0.0, count.max()]))
    bars = [
        f"M{point(float(frame.X(a)))} {point(float(frame.Y(0.0)))}V{point(float(frame.Y(c)))}"
        f"H{point(float(frame.X(b)))}V{point(float(frame.Y(0.0)))}Z"
        for c, a, b in zip(count, edges[:-1], edges[1:], strict=True)
    ]
    name = _labels(found, 28)[i]
    drawn = tag("path", d="".join(bars), class_="meanband")
    return frame.picture(frame.axes(name), inside=[drawn], title=found.names[i], grow=1.0)


def bands(found: Posterior, problem: Problem) -> list[Markup]:
    """Measured positions of the first log, and the band that holds 90 % of the models' predictions."""
    log, evaluation = problem.logs[0], problem.evaluation
    some = found.points[
        np.linspace(0, len(found.points) - 1, min(MAX_MODELS, len(found.points))).astype(int)
    ]
    X = np.concatenate([some, np.zeros((len(some), evaluation.size - some.shape[1]))], axis=1)
    low, middle, high = np.nanquantile(evaluation.positions(X), [0.05, 0.5, 0.95], axis=0)
    t, drawn = log.time + log.dt * np.arange(len(log)), []
    names, units = coordinate_names(found.model), coordinate_units(found.model)
    own = [(w, s) for w, s in enumerate(problem.windows[1]) if s.run == 0]
    for k in range(min(log.q.shape[1], MAX_COORDINATES)):
        mine = [w for w, _ in own]
        edges = np.concatenate([low[mine, :, k].ravel(), high[mine, :, k].ravel(), log.q[:, k]])
        shown = padded(edges[np.isfinite(edges)], 0.08)
        frame = Frame((float(t[0]), float(t[-1])), shown, right=18)
        inside = [frame.path(t, log.q[:, k], "measured")]
        for w, span in own:
            rows = slice(span.first, span.first + span.steps + 1)
            part = slice(0, len(t[rows]))
            inside.append(frame.area(t[rows], low[w, part, k], high[w, part, k], "meanband"))
            inside.append(frame.path(t[rows], middle[w, part, k], "predicted"))
        name, unit = names[k], units[k]
        title = f"{name} of {log.name}: measured, and what 90 % of the models predict"
        drawn.append(
            frame.picture(
                frame.axes("time [s]", f"{name} [{unit}]" if unit else name),
                inside=inside,
                title=title,
            )
        )
    key = legend(
        ("measured", "models: their median, and where 90 % of them are"), ("measured", "predicted")
    )
    return [key, tag("div", *drawn, class_="plots")]
