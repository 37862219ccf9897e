"""What moved: the mechanism, measured against predicted, and the differences that remain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus.identify.answer.missing import missing
from isthmus.identify.fit import Fit
from isthmus.identify.problem import Problem
from isthmus.phases import counted
from isthmus.report import charts
from isthmus.report.gather import Curve, Run, pooled
from isthmus.report.html import Markup, joined, named, tag
from isthmus.report.numbers import padded, plain
from isthmus.report.scene import FEWEST, scene, watchable
from isthmus.report.stage import stage
from isthmus.report.svg import Frame

SHOWN = 16
"""So many runs are drawn; the rest stand in the table."""
OPEN = 2
"""So many fitted runs are unfolded from the beginning; held-out ones all are, up to that many too."""
NUMBERS = 24
"""So many numbers of the signals are drawn."""
COLUMNS = 50_000
"""Pixels that all curves together may cover: what keeps the page small."""
PREDICTED = "Measured positions and predicted ones, both drawn with the fitted model."
MEASURED = (
    "Only the measured motion, drawn with the fitted model: with this loss nothing is simulated, or too few steps on "
    "end to be watched."
)


def animation(fit: Fit, runs: Sequence[Run]) -> Markup:
    """The fitted mechanism in some runs; the script of the page draws."""
    said = PREDICTED if any(watchable(run) for run in runs) else MEASURED
    return joined(tag("h2", "The mechanism"), stage(scene(fit.model, runs), said))


# measured and predicted -----------------------------------------------------------------------------------------


def trajectories(runs: Sequence[Run], problem: Problem) -> Markup:
    """For each run, every signal measured and predicted; the held-out ones first."""
    ordered = sorted(runs, key=lambda run: not run.heldout)
    drawn = ordered[:SHOWN]
    curves = sum(len(run.curves[:NUMBERS]) for run in drawn)
    columns = int(np.clip(COLUMNS / max(3 * curves, 1), 50, 420))
    unfolded = {
        id(r) for group in (True, False) for r in [x for x in ordered if x.heldout is group][:OPEN]
    }
    left = len(ordered) - len(drawn)
    return joined(
        tag("h2", "Measured and predicted"),
        tag("p", problem.kind.description, class_="hint"),
        legend(),
        _run_table(ordered),
        *(_one_run(run, columns, id(run) in unfolded) for run in drawn),
        tag("p", f"{counted(left, 'more run')} are only in the table.") if left else None,
    )


def legend() -> Markup:
    """What the curves are."""
    keys = charts.legend(
        ["measured", "predicted", "predicted with the start values"],
        ["measured", "predicted", "before"],
    )
    shaded = tag("span", tag("i", "", class_="swatch"), "held out: not used by the fit")
    return Markup(keys.replace("</p>", f"{shaded}</p>"))


def _run_table(runs: Sequence[Run]) -> Markup:
    texts = list(
        dict.fromkeys(c.label.split("[")[0].rsplit("/", 1)[-1] for r in runs for c in r.curves)
    )
    head = tag(
        "tr",
        tag("th", "run"),
        tag("th", ""),
        *(
            tag("th", h, class_="number")
            for h in ("rows", "seconds", *(f"rms of {t}" for t in texts))
        ),
    )
    rows = [
        tag(
            "tr",
            tag("td", run.name),
            tag(
                "td",
                tag("span", "held out", class_="badge") if run.heldout else "fitted",
                class_="muted",
            ),
            tag("td", f"{run.rows:,}", class_="number"),
            tag("td", plain(run.dt * (run.rows - 1)), class_="number"),
            *(tag("td", plain(_rms(run, t), 3), class_="number") for t in texts),
        )
        for run in runs
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    return tag("div", table, class_="wide")


def _rms(run: Run, text: str) -> float:
    """Of all numbers of one quantity."""
    own = [c.difference for c in run.curves if c.label.split("[")[0].rsplit("/", 1)[-1] == text]
    d = np.concatenate(own) if own else np.zeros(0)
    d = d[~np.isnan(d)]
    return float(np.sqrt(np.mean(np.square(d)))) if d.size else float("nan")


def _one_run(run: Run, columns: int, unfolded: bool) -> Markup:
    badge = tag("span", "held out", class_="badge") if run.heldout else None
    figures = [
        tag("figure", tag("figcaption", named(c.label)), trajectory(run, c, columns))
        for c in run.curves[:NUMBERS]
    ]
    left = len(run.curves) - NUMBERS
    summary = tag("summary", run.name, badge, tag("span", f"{run.rows:,} rows", class_="hint"))
    return tag(
        "details",
        summary,
        tag("div", *figures, class_="plots"),
        tag("p", f"{counted(left, 'more number')} of this run are not drawn.")
        if left > 0
        else None,
        open=unfolded,
    )


def trajectory(run: Run, c: Curve, columns: int) -> Markup:
    """One number over time; where it cannot be drawn itself, its difference."""
    at = c.over(c.time)
    x = (0.0, max(float(c.time[-1]), 1e-9))
    if c.measured is None:
        frame = Frame(x, padded(c.difference))
        inside = [charts.curve(frame, at, c.difference, "predicted", columns)]
        name = f"difference [{c.unit}]"
    else:
        frame = Frame(x, padded(np.concatenate([c.measured, _tame(c.predicted, c.measured)])))
        inside = [
            None if _short(run) else charts.curve(frame, at, c.before, "before", columns),
            charts.curve(frame, c.time, c.measured, "measured", columns),
            _windows(run, frame, at, c.predicted, "predicted", columns),
        ]
        name = f"[{c.unit}]" if c.unit else ""
    back = frame.band(*x, "heldout", "held out") if run.heldout else None
    title = f"{c.label} of {run.name}, measured and predicted"
    return frame.picture(back, frame.axes("time [s]", name), inside=inside, title=title)


def _short(run: Run) -> bool:
    """Whether windows are too short to be drawn as curves."""
    return bool(run.spans) and float(np.median([s.steps for s in run.spans])) < FEWEST


def _windows(
    run: Run, frame: Frame, x: np.ndarray, y: np.ndarray, class_: str, columns: int
) -> Markup:
    """A curve in pieces, or dots where the pieces are too short."""
    if not _short(run):
        return charts.curve(frame, x, y, class_, columns)
    known = np.flatnonzero(np.isfinite(y))
    keep = known[np.linspace(0, len(known) - 1, min(columns, len(known))).astype(int)]
    return frame.dots(x[keep], y[keep], f"{class_} small")


def _tame(predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """What of a prediction decides the axis: no more than a measurement's range beyond the measured."""
    low, high = padded(measured, 1.0)
    return np.clip(predicted, low, high)


# what remains ---------------------------------------------------------------------------------------------------


def residuals(fit: Fit, runs: Sequence[Run], problem: Problem) -> Markup:
    """Every number's difference over time, and over its joint's position and velocity."""
    count_ = min(len(runs[0].curves), NUMBERS)
    columns = int(np.clip(COLUMNS / max(count_, 1) / 2, 50, 900))
    dots = int(np.clip(9000 / max(count_, 1), 150, charts.DOTS))
    groups = [[run.curves[k] for run in runs] for k in range(count_)]
    hints = [tag("li", f"{lack}.") for lack in missing(problem.logs, problem.scheme, fit.model)]
    return joined(
        tag("h2", "What remains"),
        tag(
            "p",
            "Predicted less measured. Noise has no shape; a bend of the mean over position or velocity is "
            "an effect that the model lacks.",
            class_="hint",
        ),
        tag("h3", "Torques that the model lacks") if hints else None,
        tag("ul", *hints, class_="told") if hints else None,
        *(_remains(runs, group, columns, dots) for group in groups),
    )


def _remains(runs: Sequence[Run], curves: Sequence[Curve], columns: int, dots: int) -> Markup:
    c = curves[0]
    figures = [over_time(runs, curves, columns)]
    for what in ("position", "velocity"):
        x, d = pooled(curves, what)
        if np.isfinite(x).any():
            speed = "/s" if what == "velocity" else ""
            unit = {"m": "m", "m/s": "m"}.get(c.unit, "rad")
            figures.append(
                charts.cloud(
                    x,
                    d,
                    f"{what} [{unit}{speed}]",
                    "",
                    f"difference of {c.label} over {what}",
                    dots,
                )
            )
    drawn = [tag("figure", f) for f in figures]
    unit = f" [{c.unit}]" if c.unit else ""
    return joined(
        tag("h3", named(c.label), tag("span", unit, class_="unit")),
        tag("div", *drawn, class_="plots three"),
    )


def over_time(runs: Sequence[Run], curves: Sequence[Curve], columns: int) -> Markup:
    """Differences of all runs, one behind the other."""
    lengths = np.array([max(float(c.time[-1]), 1e-9) for c in curves])
    begins = np.concatenate([[0.0], np.cumsum(lengths)])
    every = np.concatenate([c.difference for c in curves])
    known = every[np.isfinite(every)]
    y = padded(np.percentile(known, [0.2, 99.8]) if known.size else known, 0.15)
    frame = Frame((0.0, float(begins[-1])), y, width=420, height=190)
    back = [
        frame.band(
            begins[k],
            begins[k + 1],
            "heldout",
            "held out" if run.heldout and not runs[k - 1].heldout else "",
        )
        for k, run in enumerate(runs)
        if run.heldout
    ]
    inside = []
    for k, c in enumerate(curves):
        share = max(20, int(columns * lengths[k] / lengths.sum()))
        at = c.over(c.time) + begins[k]
        inside.append(_windows(runs[k], frame, at, c.difference, "difference", share))
    edges = "".join(
        f"M{float(frame.X(b)):.1f} {frame.top}V{frame.height - frame.bottom}" for b in begins[1:-1]
    )
    lines = tag("path", d=edges, class_="separator") if edges else None
    title = f"difference of {curves[0].label} over time"
    return frame.picture(
        *back, frame.axes("time, runs one behind the other [s]"), lines, inside=inside, title=title
    )
