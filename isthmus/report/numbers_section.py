"""What was found: headline, estimates, correlations, what the data cannot tell, how the search went."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from isthmus.identify.answer.abstract_fit import Estimate
from isthmus.identify.answer.quality import POOR, Errors, nothing, rms, still
from isthmus.identify.answer.table import effort, noise_warning
from isthmus.identify.fit import Fit
from isthmus.identify.problem import Problem
from isthmus.losses.residuals import HEADING
from isthmus.model.model import Model
from isthmus.networks.names import select, signals_of, unit_at, unit_for
from isthmus.phases import counted
from isthmus.report import charts
from isthmus.report.html import Markup, joined, named, sentence, tag
from isthmus.report.numbers import plain, with_error

GOOD = 0.1
"""Share of the error of predicting that nothing moves, below which an error is good."""
MAPPED = 60
"""Up to so many numbers, correlations are drawn."""

ISLANDS = 12
"""So many islands are drawn."""
SAME_MINIMUM = 0.01
"""Losses that differ by less than this share belong to the same minimum."""


def physical(fit: Fit) -> dict[str, Estimate]:
    """Estimates that are no weights of networks."""
    return {n: e for n, e in fit.estimates.items() if not n.startswith("network/")}


def signal_unit(model: Model, text: str) -> str:
    """Of a signal as a whole: `rad|m` stays where joints of both kinds are meant."""
    selection = select(model, text) if text != HEADING else None
    units = {spec.name: spec.unit for spec in signals_of(model)}
    unit = "1" if selection is None else units[selection.name]
    return unit_for(unit, model.joint_kinds)


# headline -------------------------------------------------------------------------------------------------------


def headline(fit: Fit, problem: Problem | None, title: str) -> Markup:
    """Title, a few sentences, and the numbers that matter most."""
    grades = grades_of(fit, problem)
    runs, data = fit.settings.get("runs", 0), fit.settings.get("data", 0)
    free = counted(len(fit.estimates), "number")
    said = f"{free} of “{fit.model.name}” fitted to {counted(runs, 'run')}, {counted(data, 'measured value')}. "
    said += _verdict(fit, grades)
    said += "".join(f" {line}." for line in (fit.networks.lines() if fit.networks else ()))
    top = tag(
        "div",
        tag("span", "isthmus · identification report"),
        tag("button", "Light / dark", id="theme", type="button"),
        class_="bar-top",
    )
    return joined(top, tag("h1", title), tag("p", said, class_="lead"), tiles(fit, grades))


@dataclasses.dataclass(frozen=True)
class Grade:
    """How good the error of one signal is, beside a prediction that nothing moves (of torques: that there is none)."""

    before: float
    after: float
    still: float
    """The error of that prediction; NaN: not known, the fit was loaded."""
    noisy: bool
    """Whether more remains than noise."""

    @property
    def colour(self) -> str:
        """`good`, `bad` or neither."""
        if not self.after < self.before or self.after > POOR * self.still:
            return "bad"
        return "good" if self.after < GOOD * self.still and not self.noisy else ""


def grades_of(fit: Fit, problem: Problem | None) -> dict[str, Grade]:
    """The grade of each signal in held-out motion, or where there is none in fitted motion."""
    moved: dict[str, float] = {}
    if problem is not None:
        judged = problem.heldout_evaluation if fit.heldout else problem.evaluation
        moved = {} if judged is None else {name: rms(d) for name, d in still(judged).items()}
    noisy = bool(noise_warning(fit))
    errors = fit.heldout or fit.errors
    return {n: Grade(a, b, moved.get(n, math.nan), noisy) for n, (a, b) in errors.items()}


def _verdict(fit: Fit, grades: dict[str, Grade]) -> str:
    where = "motion that the fit has not seen" if fit.heldout else "the fitted motion"
    if not grades:
        return ""
    name, grade = next(iter(grades.items()))
    before, after = grade.before, grade.after
    unit = f" {signal_unit(fit.model, name)}".rstrip()
    how = f"from {plain(before, 3)} to {plain(after, 3)}{unit}"
    rest = "" if fit.heldout else " No motion was held out, so nothing is said about prediction."
    said = f"On {where}, the error of {name} went {how}{_factor(before, after)}."
    if after > POOR * grade.still:
        than = nothing(fit.settings.get("loss", {}).get("kind") == "TorqueLoss")
        said += f" That is {plain(after / grade.still, 2)} times the error of predicting {than}: a poor fit."
    return said + rest


def _factor(before: float, after: float) -> str:
    if not (math.isfinite(before) and math.isfinite(after)) or after <= 0 or before <= 0:
        return ""
    ratio = before / after
    if 0.95 < ratio < 1.05:
        return ", about the same"
    size, way = (ratio, "smaller") if ratio > 1 else (1.0 / ratio, "larger")
    rounded = float(f"{size:.2g}")
    return f" ({plain(rounded, 6)} times {way})"


def tiles(fit: Fit, grades: dict[str, Grade]) -> Markup:
    """A few numbers, large."""
    where = "held-out error" if fit.heldout else "error where fitted"
    boxes = [
        _tile(
            joined(
                tag("small", f"{plain(g.before, 3)} → "),
                tag("i", plain(g.after, 3), class_=g.colour or None),
            ),
            f"{where}, {name} [{signal_unit(fit.model, name)}]",
        )
        for name, g in list(grades.items())[:2]
    ]
    own = physical(fit)
    known = sum(math.isfinite(e.error) for e in own.values())
    boxes.append(_tile(f"{known} of {len(own)}", "physical numbers with an error bar"))
    boxes.append(_tile(f"{plain(fit.noise, 3)} ×", "noise, in units of what was assumed"))
    number, unit = effort(fit)
    boxes.append(_tile(f"{number:,}", f"{unit}s in {plain(fit.seconds, 2)} s: {_ending(fit)}"))
    return tag("div", *boxes, class_="tiles")


def _ending(fit: Fit) -> str:
    return fit.status.split(":")[0].split(";")[0]


def _tile(value: str, caption: str) -> Markup:
    return tag("div", tag("b", value), tag("span", caption), class_="tile")


# estimates ------------------------------------------------------------------------------------------------------


def estimates(fit: Fit, problem: Problem | None) -> Markup:
    """The table with a bar in each row."""
    bounds = bounds_of(problem)
    own = physical(fit)
    head = tag(
        "tr",
        tag("th", "number"),
        *(tag("th", h, class_="number") for h in ("estimate", "± error", "start")),
        tag("th", "unit"),
        tag("th", "bounds"),
        tag("th", "start ○ → estimate ● ± 2 errors"),
    )
    rows = [_row(fit.model, n, e, *bounds.get(n, (math.nan, math.nan))) for n, e in own.items()]
    weights = len(fit.estimates) - len(own)
    more = f"{counted(weights, 'weight')} of networks were fitted too; see what they learned below."
    table = tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="wide")
    return joined(
        tag("h2", "Estimates"),
        tag(
            "p",
            "Standard errors come from the curvature of the loss, the noise that the differences show, and its "
            "correlation in time. Where the differences call for a number that is held, the errors include what it "
            "would change; a missing effect that no number of the model describes makes them too small.",
            class_="hint",
        ),
        table if own else None,
        tag("p", more) if weights else None,
        errors_table(fit),
    )


def bounds_of(problem: Problem | None) -> dict[str, tuple[float, float]]:
    """Bounds of each number that has its own."""
    if problem is None:
        return {}
    groups = [g for g in problem.parameters.groups if g.direct]
    return {
        label: (float(low), float(high))
        for g in groups
        for label, low, high in zip(g.labels, g.bound("low"), g.bound("high"), strict=False)
    }


def _row(model: Model, name: str, e: Estimate, low: float, high: float) -> Markup:
    value, error = with_error(e.value, e.error)
    unit = unit_at(model, name, e.unit)
    unsure = "at its bound" if math.isnan(e.error) else "not told by the data"
    told = error if math.isfinite(e.error) else tag("span", unsure, class_="unsure")
    within = "" if math.isnan(low) else f"{plain(low, 3)} … {plain(high, 3)}"
    return tag(
        "tr",
        tag("td", named(name)),
        tag("td", tag("b", value), class_="number"),
        tag("td", told, class_="number"),
        tag("td", plain(e.start), class_="number muted"),
        tag("td", unit, class_="muted"),
        tag("td", within, class_="muted"),
        tag("td", charts.error_bar(e.start, e.value, e.error, low, high, unit)),
    )


def errors_table(fit: Fit) -> Markup:
    """Root mean square differences, before and after."""
    rows = [*_error_rows("held out", fit.heldout or {}), *_error_rows("fitted", fit.errors)]
    head = tag(
        "tr",
        tag("th", "signal"),
        tag("th", "motion"),
        *(tag("th", h, class_="number") for h in ("before", "after", "smaller by")),
    )
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    return joined(tag("h3", "Root mean square difference"), tag("div", table, class_="wide"))


def _error_rows(kind: str, errors: Errors) -> list[Markup]:
    shown = tag("span", kind, class_="badge") if kind == "held out" else kind
    return [
        tag(
            "tr",
            tag("td", named(name)),
            tag("td", shown),
            tag("td", plain(a), class_="number"),
            tag("td", tag("b", plain(b)), class_="number"),
            tag("td", f"{plain(a / b, 3)} ×" if b > 0 else "–", class_="number"),
        )
        for name, (a, b) in errors.items()
    ]


# what is doubtful -----------------------------------------------------------------------------------------------


def doubts(fit: Fit) -> Markup:
    """What the data cannot tell, in words, and other warnings."""
    said = [tag("li", sentence(text)) for text in fit.undetermined]
    remains = [text] if (text := noise_warning(fit)) else []
    other = [text for text in fit.warnings if text not in fit.undetermined]
    moved = [f"{name}: {text}." for name, text in fit.doubtful.items()]
    other = [tag("li", sentence(text)) for text in [*remains, *other, *moved]]
    fine = tag(
        "ul",
        tag("li", "Every number that was free has an effect of its own on what was measured."),
        class_=None if other else "told fine",
    )
    return joined(
        tag("h2", "What the data cannot tell"),
        tag("ul", *said, class_="told") if said else joined() if other else fine,
        joined(tag("h3", "Reasons for doubt"), tag("ul", *other, class_="told")) if other else None,
    )


def correlations(fit: Fit) -> Markup | None:
    """A heat map, and the pairs that the data can hardly tell apart."""
    order = list(fit.estimates)
    rows = [k for k, name in enumerate(order) if not name.startswith("network/")]
    if len(rows) < 2:
        return None
    names, C = [order[k] for k in rows], np.asarray(fit.correlations)[np.ix_(rows, rows)]
    map_ = (
        charts.heat_map(C, names)
        if len(rows) <= MAPPED
        else tag("p", f"{len(rows)} numbers are too many to draw.")
    )
    return joined(
        tag("h2", "Correlations"),
        tag(
            "p",
            "Two numbers with a correlation near ±1 can be exchanged for each other: the data tells only a "
            "combination of them well.",
            class_="hint",
        ),
        _strong(names, C),
        tag("div", map_, class_="wide"),
    )


def _strong(names: list[str], C: np.ndarray) -> Markup | None:
    """The pairs above 0.95, strongest first."""
    i, j = np.triu_indices(len(names), 1)
    size = np.abs(np.nan_to_num(C[i, j]))
    order = [k for k in np.argsort(-size, kind="stable") if size[k] > 0.95][:5]
    pairs = [
        tag("li", named(names[i[k]]), " and ", named(names[j[k]]), f": {plain(C[i[k], j[k]], 3)}")
        for k in order
    ]
    return tag("ul", *pairs) if pairs else None


# how the search went --------------------------------------------------------------------------------------------


def convergence(fit: Fit) -> Markup:
    """The loss after each step."""
    history = np.asarray(fit.history, dtype=np.float64)
    number, unit = effort(fit)
    drawn = (
        charts.convergence([history], ["loss"], f"loss after each {unit}", step=unit)
        if len(history) > 1 and not flat([history])
        else None
    )
    words = (
        f"Loss {plain(fit.loss, 6)} after {counted(number, unit)} and "
        f"{counted(fit.evaluations, 'evaluation')}, {plain(fit.seconds, 2)} s. How it ended: {fit.status}."
    )
    if len(history) > 1 and drawn is None:
        words += f" It came within {SAME_MINIMUM:.0%} of that in the first {unit} already."
    return joined(tag("h2", "Convergence"), tag("p", sentence(words)), drawn, islands(fit))


def flat(histories: Sequence[np.ndarray]) -> bool:
    """Whether all losses belong to the same minimum, so that a picture of them would be one line."""
    losses = np.concatenate(histories)
    return bool(np.all(losses <= (1.0 + SAME_MINIMUM) * losses.min()))


def islands(fit: Fit) -> Markup | None:
    """The best loss of each island; how many of them ended in the same place."""
    if len(fit.islands) < 2:
        return None
    order = sorted(
        range(len(fit.islands)), key=lambda k: np.nan_to_num(fit.islands[k][-1], nan=np.inf)
    )
    last = np.array([fit.islands[k][-1] for k in order])
    alike = int(np.sum(last <= last[0] + SAME_MINIMUM * abs(last[0])))
    said = f"{alike} of {len(last)} searches ended within {SAME_MINIMUM:.0%} of the lowest loss. "
    said += (
        "A minimum that many reach is likely the lowest."
        if alike > 1
        else "Others may find a lower one still."
    )
    shown = sorted(order[:ISLANDS])
    curves = [np.array(fit.islands[k], dtype=np.float64) for k in shown]
    names = [f"island {k + 1}" for k in shown]
    left = f" The {len(shown)} best are drawn." if len(order) > len(shown) else None
    unit = effort(fit)[1]
    title = f"best loss of each island after each {unit}"
    drawn = None if flat(curves) else charts.convergence(curves, names, title, step=unit)
    return joined(tag("h3", "Islands"), tag("p", said, left), drawn)
