"""`export_discovery`: a discovery as one HTML page: table, sentences, formulas, what was tried."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

from isthmus.discovery.result import NOTHING, Discovery
from isthmus.report.html import Markup, joined, named, tag
from isthmus.report.write import whole_page, write_page

CAPTION = (
    "Framed: the places named above. Grey: not tried. (itself): a number of the model, such as a mass, is wrong; "
    "no input drives it."
)


def export_discovery(
    found: Discovery, path: str | os.PathLike[str] = "discovery.html", *, title: str = "model"
) -> Path:
    """Writes one HTML page about a discovery, complete in itself, and returns its path."""
    return write_page(path, lambda: page(found, title))


def page(found: Discovery, title: str) -> str:
    """The text of the page."""
    heading = f"{title}: what the model lacks"
    return whole_page(heading, tag("h1", heading), [tag("section", x) for x in _sections(found)])


def _sections(found: Discovery) -> list[Markup]:
    said = [str(p) for p in found.places] or [NOTHING]
    if not found.complete:
        said.append("Stopped before the end: there may be more.")
    parts = [
        joined(tag("h2", "Places"), _places(found), *(tag("p", x) for x in (*said, *found.notes)))
    ]
    if found.stand is not None and (laws := found.formula()):
        rows = [
            tag("tr", tag("td", named(name)), tag("td", str(law))) for name, law in laws.items()
        ]
        parts.append(joined(tag("h2", "Formulas"), tag("table", *rows)))
    if found.scores:
        parts.append(
            joined(tag("h2", "Which input drives which output"), _drawing(found), tag("p", CAPTION))
        )
    return parts


def _places(found: Discovery) -> Markup | None:
    if not found.places:
        return None
    head = tag("tr", *(tag("th", x) for x in ("target", "reads", "explains", "±", "alike")))
    rows = [
        tag(
            "tr", tag("td", named(p.target)), tag("td", ", ".join(p.reads) or "–"),
            tag("td", f"{p.explains:.3f}"), tag("td", f"{p.error:.3f}"), tag("td", "; ".join(p.alike) or "–"),
        )
        for p in found.places
    ]  # fmt: skip
    return tag("table", head, *rows)


def _drawing(found: Discovery) -> Markup:
    """The figure as SVG inside the page."""
    text = io.StringIO()
    found.draw().savefig(text, format="svg")
    drawn = re.sub(r"^.*?(?=<svg)", "", text.getvalue(), flags=re.S)
    drawn = drawn.replace("<svg ", '<svg class="drawing" ', 1)
    return Markup(re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.S))
