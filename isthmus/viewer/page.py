"""Worlds as one HTML page that needs nothing else: the report's player, with the same scene as the viewer."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

from isthmus.disk import whole_file
from isthmus.model.model import Model
from isthmus.report.html import Markup, joined, tag
from isthmus.report.stage import stage
from isthmus.report.write import asset, whole_page
from isthmus.scene.packed import MESH, stride
from isthmus.scene.scene import Take, scene_of
from isthmus.viewer.worlds import World

ALONE = "The mechanism in motion."
WITH_GHOST = "The mechanism in motion; what was measured is a ghost."


def save_page(
    model: Model,
    worlds: Sequence[World],
    path: str | os.PathLike[str],
    packages: Sequence[str | os.PathLike[str]] = (),
    notes: Sequence[str] = (),
) -> Path:
    """Writes the page, with `notes` under the picture, and returns its path."""
    takes = [_thinned(model, world.take, len(worlds)) for world in worlds]
    scene = scene_of(model, takes, most=MESH, packages=packages)
    scene = dataclasses.replace(scene, notes=(*scene.notes, *notes))
    bar = tag(
        "div",
        tag("span", "isthmus · view"),
        tag("button", "Light / dark", id="theme", type="button"),
        class_="bar-top",
    )
    top = joined(bar, tag("h1", model.name))
    said = WITH_GHOST if any(take.measured is not None for take in takes) else ALONE
    tree = tag("section", tag("h2", "The model"), tag("pre", str(model)))
    body = [tag("section", tag("h2", "The mechanism"), stage(scene, said)), tree]
    scripts = tag("script", Markup(asset("report.js") + asset("player.js")))
    text = whole_page(model.name, top, body, scripts)
    with whole_file(path) as file:
        file.write(text.encode())
    return Path(path)


def _thinned(model: Model, take: Take, takes: int) -> Take:
    """As many pictures as a page holds."""
    rows = len(take.poses[0])
    every = stride(take.seconds, rows, len(model.link_names), len(model.contact_kinds), takes)
    return take.every(every)
