"""What networks learned: by how much each one changes its target, over the motion that was measured."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from isthmus.blueprint.blueprint import detach
from isthmus.identify.fit import Fit
from isthmus.identify.problem import Problem
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.networks.names import signals_of, unit_for
from isthmus.phases import counted
from isthmus.report import charts
from isthmus.report.html import Markup, joined, named, tag
from isthmus.report.numbers import padded
from isthmus.report.svg import Frame
from isthmus.simulate.observe import observe

CURVE_POINTS = 81
"""Places along an axis."""
AXES = 12
"""So many axes are drawn for each network."""
OUTPUTS = 6
"""So many numbers of a target are drawn in one figure."""


@dataclasses.dataclass(frozen=True)
class Axis:
    """A number of the state that is varied; the others stay at their median."""

    quantity: str
    joint: str
    unit: str
    row: int
    """Of `q` or `v`."""
    dof: int


def networks(fit: Fit, problem: Problem | None) -> Markup | None:
    """What each network changes, as figures; None for a model without networks."""
    model = fit.model
    if not model.networks:
        return None
    weights = sum(n.startswith("network/") for n in fit.estimates)
    return joined(
        tag("h2", "What the networks learned"),
        tag(
            "p",
            "The change that each network makes to its target, over one number of the state at a time; the others "
            "stay at their median. The shaded range holds nine tenths of the measured rows.",
            class_="hint",
        ),
        tag("p", f"{counted(weights, 'weight')} were fitted.") if weights else None,
        *(_network(model, wired, problem) for wired in model.networks),
    )


def _network(model: Model, wired: Any, problem: Problem | None) -> Markup:
    plan = wired.plan
    reads = [named(reading.text) for reading in plan.readings]
    listed = [part for r in reads for part in (r, ", ")][:-1]
    said = joined(
        named(f"network/{plan.name}"),
        " reads ",
        *listed,
        " and acts on ",
        named(plan.target),
        f" ({plan.mode}).",
    )
    if problem is None:
        return tag("p", said)
    figures = [_figure(model, wired, axis, problem) for axis in axes_of(model, wired)[:AXES]]
    drawn = [tag("figure", f) for f in figures if f is not None]
    return joined(tag("h3", said), tag("div", *drawn, class_="plots") if drawn else None)


def axes_of(model: Model, wired: Any) -> list[Axis]:
    """Positions and velocities of single-axis joints: those it reads, or all where it reads something else only."""
    read = {reading.name for reading in wired.plan.readings}
    wanted = [q for q in ("velocity", "position") if f"joint/{q}" in read]
    found = []
    for i, name in enumerate(model.joint_names):
        (q, q_end), (v, v_end) = model.layout.q_own[i], model.layout.v_own[i]
        if q_end - q == v_end - v == 1:
            unit = "m" if model.joint_kinds[i] == "prismatic" else "rad"
            both = {"position": (unit, q), "velocity": (f"{unit}/s", v)}
            found += [Axis(w, name, *both[w], v) for w in wanted or both]
    return found


def _figure(model: Model, wired: Any, axis: Axis, problem: Problem) -> Markup | None:
    """The network's effect over one axis."""
    q = np.concatenate([log.q for log in problem.logs])
    v = np.concatenate([log.v for log in problem.logs])
    seen = (q if axis.quantity == "position" else v)[:, axis.row]
    low, high = padded(seen, 0.0)
    x = np.linspace(low, high, CURVE_POINTS)
    effect = changed(model, wired, axis, x, np.nanmedian(q, axis=0), np.nanmedian(v, axis=0))
    y, names = _outputs(model, wired, axis, effect)
    if not y:
        return None
    frame = Frame((low, high), padded(np.concatenate([*y, [0.0]])))
    usual = np.nanpercentile(seen, [5, 95])
    classes = ["predicted"] if len(y) == 1 else [f"series s{k}" for k in range(len(y))]
    inside = [frame.path(x, line, c) for line, c in zip(y, classes, strict=True)]
    units = {spec.name: spec.unit for spec in signals_of(model)}
    x_name = f"{axis.quantity} of {axis.joint} [{axis.unit}]"
    unit = unit_for(units.get(wired.plan.target, ""), model.joint_kinds)
    chart = frame.picture(
        frame.band(*usual, "usual"),
        frame.axes(x_name, f"change [{unit}]"),
        inside=inside,
        title=f"effect of network {wired.plan.name} over {axis.quantity} of {axis.joint}",
    )
    caption = tag("figcaption", named(names[0])) if len(y) == 1 else None
    return joined(caption, chart, None if len(y) == 1 else charts.legend(names, classes))


def changed(
    model: Model, wired: Any, axis: Axis, x: np.ndarray, q: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Target with the network less target without it, (places, …)."""
    Q, V = np.tile(q, (len(x), 1)), np.tile(v, (len(x), 1))
    (Q if axis.quantity == "position" else V)[:, axis.row] = x
    target = wired.plan.target
    ask = lambda m: np.asarray(observe(m, State(Q, V), names=[target])[target])
    return ask(model) - ask(detach(model, wired.name))


def _outputs(
    model: Model, wired: Any, axis: Axis, effect: np.ndarray
) -> tuple[list[np.ndarray], list[str]]:
    """The numbers that are drawn: the joint's own where the target is by joint, else those that change most."""
    target = wired.plan.target
    rows = {spec.name: spec.rows for spec in signals_of(model)}[target]
    if rows == "dof":
        family, quantity = target.split("/", 1)
        own = np.any(effect[:, axis.dof] != 0.0)
        return ([effect[:, axis.dof]], [f"{family}/{axis.joint}/{quantity}"]) if own else ([], [])
    flat = effect.reshape(len(effect), -1)
    order = np.argsort(-np.ptp(flat, axis=0), kind="stable")[:OUTPUTS]
    kept = [int(k) for k in order if np.any(flat[:, k] != 0.0)]
    return [flat[:, k] for k in kept], [f"{target}[{k}]" for k in kept]
