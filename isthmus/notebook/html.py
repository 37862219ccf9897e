"""Objects as HTML for notebooks: a model as its tree, a fit as its table, others as text and figure."""

from __future__ import annotations

import functools
import io
from typing import Any

from isthmus.blueprint.blueprint import Blueprint
from isthmus.errors import IsthmusError
from isthmus.identify.answer.table import MAX_ROWS_SHOWN
from isthmus.identify.fit import Fit
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.report.html import Markup, joined, tag
from isthmus.report.numbers import plain

OPEN_LINKS = 30
"""The tree of a model with more links is folded."""
FIT = '<svg style="max-width:100%;height:auto"'
"""Figures become narrower with their cell."""
CELL = "text-align:right;padding:2px 10px"


@functools.singledispatch
def html_of(thing: Any) -> str:
    """The text of an object, and the figure that its `plot` or `draw` gives."""
    return joined(_figure(thing), _text(str(thing)))


@html_of.register
def _(thing: Model) -> str:
    head, *tree = str(thing).splitlines()
    is_short = len(thing.link_names) <= OPEN_LINKS
    return tag("details", tag("summary", head), _text("\n".join(tree)), open=is_short)


@html_of.register
def _(thing: Motion) -> str:
    return joined(_text(str(thing)), _figure(thing))


@html_of.register
def _(thing: Blueprint) -> str:
    return joined(_figure(thing), _text(thing.to_toml()))


@html_of.register
def _(thing: Fit) -> str:
    """The table of estimates, then everything that the text says of errors and warnings."""
    named = [(n, e) for n, e in thing.estimates.items() if not n.startswith("network/")]
    shown = named[:MAX_ROWS_SHOWN]
    head = tag("tr", *(tag("th", h) for h in ("", "estimate", "± error", "start", "unit")))
    rows = [
        tag(
            "tr",
            tag("td", tag("code", name), style="text-align:left"),
            *(tag("td", plain(x, 4), style=CELL) for x in (e.value, e.error, e.start)),
            tag("td", e.unit),
        )
        for name, e in shown
    ]
    errors = [
        f"{where}: {name} {plain(before, 3)} → {plain(after, 3)}"
        for where, found in (("fitted", thing.errors), ("held out", thing.heldout or {}))
        for name, (before, after) in found.items()
    ]
    left = len(thing.estimates) - len(shown)
    more = [f"and {left} more numbers"] if left else []
    told = [*more, f"{thing.status}", *errors, *thing.warnings]
    return joined(
        tag("table", tag("thead", head), tag("tbody", *rows)),
        tag("ul", *(tag("li", text) for text in told)),
    )


def _text(text: str) -> Markup:
    return tag("pre", text)


def _figure(thing: Any) -> Markup | None:
    """The figure as SVG; None where there is nothing to draw."""
    draw = getattr(thing, "plot", None) or getattr(thing, "draw", None)
    if draw is None:
        return None
    try:
        figure = draw()
    except IsthmusError:  # it can only say itself in words
        return None
    written = io.StringIO()
    figure.savefig(written, format="svg")
    text = written.getvalue()
    return Markup(FIT + text[text.index("<svg") + len("<svg") :])
