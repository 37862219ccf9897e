"""What the colours of the viewer mean, and its theme."""

from __future__ import annotations

from typing import Any

from isthmus.palette import BLUE, INK, PURPLE, VERMILION
from isthmus.report.numbers import plain
from isthmus.scene.scene import Scene

STYLE = "margin:0.4em 0.9em;font-size:0.85em;line-height:1.4;overflow-wrap:anywhere"


def theme(server: Any, dark: bool = False) -> None:
    """The look of the page: no button that would share the scene over the network."""
    server.gui.configure_theme(dark_mode=dark, show_share_button=False, show_logo=False)


def paragraph(inner: str) -> str:
    """A paragraph of the panel; long paths break."""
    return f'<div style="{STYLE}">{inner}</div>'


def legend(scene: Scene, cell: float, touching: bool) -> str:
    """What each colour is, as HTML; `cell`: width of the squares of the floor [m]; `touching`: with contacts."""
    named = dict.fromkeys(f"{mark.text}: {mark.about}" for mark in scene.wires)
    on = "force on the first body of a pair" if scene.has_pairs else "force"
    rows = [
        (BLUE, "simulated"),
        (INK + "70", "ghost: measured, or before a change"),
        *([(VERMILION, f"{on}; 0.1 m is {plain(0.1 / scene.newton, 2)} N")] if touching else []),
        *((PURPLE, text) for text in named),
    ]
    dot = "display:inline-block;width:0.8em;height:0.8em;border-radius:50%;margin-right:0.6em"
    lines = [f'<span style="{dot};background:{colour}"></span>{text}' for colour, text in rows]
    return paragraph("<br>".join([*lines, f"squares of {cell:g} m"]))
