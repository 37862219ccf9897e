"""`export_report`: a fit as one HTML page that needs nothing else: no network, no fonts, no files beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from isthmus.disk import made_folder, whole_file
from isthmus.entry import check_arguments
from isthmus.errors import warn_renamed
from isthmus.identify.fit import Fit
from isthmus.identify.problem import Problem
from isthmus.phases import phase
from isthmus.report import motion_section as motion
from isthmus.report import numbers_section as numbers
from isthmus.report.gather import as_fitted, runs_of
from isthmus.report.html import Markup, joined, tag
from isthmus.report.network_section import networks
from isthmus.report.run_section import again
from isthmus.report.scene import can_be_drawn

NOTHING_ELSE = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What a browser may load for the page: what stands in it."""


@check_arguments
def export_report(
    fit: Fit,
    path: str | os.PathLike[str] = "report.html",
    *,
    problem: Problem | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    command: str | None = None,
) -> Path:
    """Writes one HTML page about a fit and returns its path.

    `problem`: what was fitted; a fit knows it unless it was loaded, and without it the page has no motion.
    `title` and `notes` (sentences) are yours; `command`: what to run again, instead of Python code made from the
    settings.
    """
    make = lambda: page(fit, problem=problem, title=title, notes=notes, command=command)
    return write_page(path, make, "report")


@check_arguments
def write_report(fit: Fit, path: str | os.PathLike[str] = "report.html", **options: Any) -> Path:
    """The old name of `export_report`, until version 0.3."""
    warn_renamed("write_report", "export_report")
    return export_report(fit, path, **options)


def page(
    fit: Fit,
    *,
    problem: Problem | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    command: str | None = None,
) -> str:
    """The text of the page: the same for the same fit."""
    problem = problem or fit.problem
    problem = problem and as_fitted(fit, problem)
    title = title or f"{fit.model.name}: what the data says"
    sections = sections_of(fit, problem, notes, command)
    links = [tag("a", name, href=f"#{key}") for key, name, _ in sections]
    bodies = [tag("section", body, id=key) for key, _, body in sections]
    top = joined(numbers.headline(fit, problem, title), tag("nav", *links))
    return whole_page(
        title, top, bodies, tag("script", asset("report.js")), tag("script", asset("player.js"))
    )


def write_page(path: str | os.PathLike[str], make: Callable[[], str], what: str = "page") -> Path:
    """Writes the text that `make` returns, in a folder that is made if need be, and returns its path."""
    target = Path(path)
    made_folder(target.parent)
    with phase(f"writing the {what}"):
        text = make()
    with whole_file(target) as file:
        file.write(text.encode())
    return target


def whole_page(title: str, top: Markup, sections: Sequence[Markup], *end: Markup) -> str:
    """The text of a page that is complete in itself: headline, sections, and what stands at the end."""
    head = joined(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=NOTHING_ELSE),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", asset("report.css")),
    )
    said = "Written by isthmus. This page is complete in itself and can be sent as one file."
    header = tag("header", top, class_="top")
    body = joined(header, tag("main", *sections), tag("footer", said), *end)
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"


def sections_of(
    fit: Fit, problem: Problem | None, notes: Sequence[str], command: str | None
) -> list[tuple[str, str, Markup]]:
    """Anchor, name and content of each section that is not empty."""
    with phase("predicting the runs for the report"):
        runs = [] if problem is None else runs_of(fit, problem)
    drawn = [run for run in runs if can_be_drawn(run)]
    found: list[tuple[str, str, Markup | None]] = [
        ("mechanism", "Mechanism", motion.animation(fit, drawn) if drawn else None),
        ("estimates", "Estimates", numbers.estimates(fit, problem)),
        ("undetermined", "What the data cannot tell", numbers.doubts(fit)),
        ("correlations", "Correlations", numbers.correlations(fit)),
        (
            "trajectories",
            "Measured and predicted",
            motion.trajectories(runs, problem) if problem and runs else _no_logs(),
        ),
        (
            "residuals",
            "What remains",
            motion.residuals(fit, runs, problem) if problem and runs else None,
        ),
        ("networks", "Networks", networks(fit, problem)),
        ("convergence", "Convergence", numbers.convergence(fit)),
        ("again", "Run it again", again(fit, notes, command)),
    ]
    return [(key, name, body) for key, name, body in found if body is not None]


def _no_logs() -> Markup:
    said = "A fit that was loaded has no logs: export_report(fit, path, problem=problem) draws them here."
    return joined(tag("h2", "Measured and predicted"), tag("p", said))


def asset(name: str) -> Markup:
    """A file that is part of every page."""
    return Markup(files("isthmus.report").joinpath("assets", name).read_text(encoding="utf-8"))
