"""The stage of a page: a canvas with its controls, and the scene that `player.js` draws there."""

from __future__ import annotations

from isthmus.report import charts
from isthmus.report.html import Markup, joined, tag
from isthmus.report.numbers import plain
from isthmus.scene.packed import as_json
from isthmus.scene.scene import Scene

SPEEDS = ("0.1", "0.25", "0.5", "1", "2")


def stage(scene: Scene, said: str) -> Markup:
    """Canvas, controls, legend and data; `said`: a sentence above the canvas."""
    shown = [
        name
        for name in ("measured", "predicted")
        if any(getattr(take, name) is not None for take in scene.takes)
    ]
    canvas = tag(
        "canvas", id="stage", tabindex=0, role="img",
        aria_label=f"{' and '.join(shown)} motion of the mechanism",
    )  # fmt: skip
    script = "The animation needs JavaScript; everything else on this page does not."
    return joined(
        tag("p", f"{said} Drag to turn the view.", class_="hint"),
        canvas,
        _controls(),
        *([charts.legend(shown, shown)] if len(shown) > 1 else []),
        *(tag("p", note, class_="hint") for note in notes_of(scene)),
        tag("noscript", tag("p", script)),
        tag("script", Markup(as_json(scene).replace("<", "\\u003c")), type="application/json", id="scene"),
    )  # fmt: skip


def notes_of(scene: Scene) -> list[str]:
    """Sentences under the canvas: what stands for what, and what is not shown."""
    found = []
    if any(take.contacts is not None for take in scene.takes):
        scale = f"0.1 m is {plain(0.1 / scene.newton, 2)} N"
        which = ", of two bodies on the first of the pair" if scene.has_pairs else ""
        found.append(
            f"Dots are points that touch, arrows are the forces on the body{which}: {scale}."
        )
    if scene.wires:
        named = dict.fromkeys(f"{mark.text} ({mark.about})" for mark in scene.wires)
        found.append(f"Diamonds are networks, where they act: {', '.join(named)}.")
    if any(solid.kind == "stick" for solid in scene.solids):
        found.append("Links without shapes are drawn as sticks.")
    return [*found, *scene.notes]


def _controls() -> Markup:
    slider = tag("input", type="range", id="scrub", min=0, max=1, value=0, aria_label="time")
    speeds = [tag("option", f"{s} ×", value=s, selected=s == "1") for s in SPEEDS]
    return tag(
        "div",
        tag("button", "Play", id="play", type="button"),
        slider,
        tag("span", "", id="clock"),
        tag("select", id="whichrun", aria_label="run"),
        tag("select", *speeds, id="speed", aria_label="speed"),
        tag("button", "Reset view", id="resetview", type="button"),
        class_="controls",
    )
