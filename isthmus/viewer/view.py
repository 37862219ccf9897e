"""`view`: a model and its motion in the browser, or as a page."""

from __future__ import annotations

import dataclasses
import os
import webbrowser
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.disk import check_target
from isthmus.entry import check_arguments
from isthmus.errors import BadOption, MissingExtra
from isthmus.identify.fit import Fit
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.scene.scene import Scene, scene_of
from isthmus.viewer.legend import theme
from isthmus.viewer.page import save_page
from isthmus.viewer.panel import Panel
from isthmus.viewer.viewer import Viewer, quiet
from isthmus.viewer.worlds import World, notes_on, simulated, worlds_of

MESH = 20_000
"""Triangles of a mesh in the viewer, at most."""
PORT = 8080


@check_arguments
def view(
    model: Model | Fit,
    motion: Motion | Sequence[Motion] | Fit | None = None,
    *,
    measured: Motion | None = None,
    packages: Sequence[str | os.PathLike[str]] = (),
    save: str | os.PathLike[str] | None = None,
    port: int = PORT,
    host: str = "127.0.0.1",
    open_browser: bool = True,
) -> Viewer | Path:
    """Shows a model in the browser, and returns the running `Viewer`; needs viser (extra `view`).

    `motion`: one, several or a batch of them side by side, or a fit, whose runs are shown as predicted with what was
    measured as a ghost; None: the model falls from its neutral position for 2 s, or stands there if nothing carries it.
    `measured`: another motion as the ghost. Sliders move the start of every joint and change every number of the model;
    the motion is simulated again at once. `packages`: folders in which meshes are looked for. `save`: writes one HTML
    page that needs nothing else, with the motions but without sliders of numbers, and returns its path; this needs no
    viser. `port` and `host` [address] of the server: with `host="0.0.0.0"` other computers can see it too.
    """
    if isinstance(model, Fit):
        model, motion = model.model, model if motion is None else motion
    if not 0 < port < 65536:
        raise BadOption(f"port must be from 1 to 65535, not {port}.")
    if save is not None:
        check_target(save, (".html",))
    worlds = worlds_of(model, motion, measured)
    notes = notes_on(worlds)
    if save is not None:
        return save_page(model, [_moving(world) for world in worlds], save, packages, notes)
    viser = _viser()
    scene = scene_of(model, [world.take for world in worlds], most=MESH, packages=packages)
    scene = dataclasses.replace(scene, notes=(*scene.notes, *notes))
    return _opened(viser, scene, worlds, host, port, open_browser)


def _moving(world: World) -> World:
    """A world whose motion is simulated, if nobody gave one."""
    if not world.still or world.motion is None:
        return world
    return simulated(world, world.model, np.asarray(world.motion.q[0]))


def _viser() -> Any:
    try:
        return import_module("viser")
    except ImportError:
        raise MissingExtra("viser", "view", "the viewer") from None


def _opened(
    viser: Any, scene: Scene, worlds: Sequence[World], host: str, port: int, open_browser: bool
) -> Viewer:
    try:
        with quiet():
            server = viser.ViserServer(host=host, port=port, label=scene.name, verbose=False)
    except OSError as failed:
        raise BadOption(f"no server can run on {host!r}, port {port}: {failed}.") from None
    theme(server)
    server.gui.main_panel.dock_right()  # beside the picture, not over it
    found = Viewer(server, scene, worlds)
    Panel(found)
    found.start()
    print(f"{scene.name}: {found.address}", flush=True)
    if open_browser:
        webbrowser.open(found.address)
    return found
