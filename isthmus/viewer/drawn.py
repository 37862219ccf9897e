"""One world in viser: frames of links with their surfaces, the ghost, contacts with their forces, networks."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from isthmus.palette import BLUE, INK, PURPLE, VERMILION
from isthmus.scene.along import Contacts
from isthmus.scene.scene import Mark, Scene, Take
from isthmus.scene.solids import Solid
from isthmus.scene.triangles import creased

GHOST = 0.35
"""Opacity of what was measured."""
SHRUNK = 0.97
"""Size of the ghost's surfaces: where it moves as the mechanism does, it is hidden inside."""
TINTS = (0.35, 0.6)
"""Shares of white in the colours of links, in turn, so that neighbours can be told apart."""


def rgb(colour: str) -> tuple[int, int, int]:
    """`#d55e00` as numbers from 0 to 255."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def tinted(colour: str, white: float) -> tuple[int, int, int]:
    """A colour with a share of white."""
    red, green, blue = (round(x + white * (255 - x)) for x in rgb(colour))
    return red, green, blue


class Body:
    """The links of one mechanism as frames of viser, each with its surfaces."""

    def __init__(
        self, server: Any, root: str, scene: Scene, colour: str, opacity: float | None
    ) -> None:
        self.surfaces: list[tuple[Solid, Any]] = []
        """Solids, with their handles."""
        size = 0.12 * scene.reach
        self.root = server.scene.add_frame(root, show_axes=False)
        self.links = [
            server.scene.add_frame(
                f"{root}/{k}", show_axes=False, axes_length=size, axes_radius=0.05 * size
            )
            for k, _ in enumerate(scene.links)
        ]
        for k, solid in enumerate(scene.solids):
            if not len(solid.mesh.faces) or (opacity is not None and solid.link < 0):
                continue
            mesh, own = creased(solid.mesh), solid.colour if opacity is None else None
            middle = 0.5 * (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0))
            size = 1.0 if opacity is None else SHRUNK
            parent = root if solid.link < 0 else f"{root}/{solid.link}"
            plain = tinted(colour, TINTS[solid.link % 2]) if opacity is None else rgb(colour)
            handle = server.scene.add_mesh_simple(
                f"{parent}/solid{k}",
                (middle + size * (mesh.vertices - middle)).astype(np.float32),
                mesh.faces.astype(np.uint32),
                color=plain if own is None else tuple(int(255 * c) for c in own),
                opacity=opacity, side="double", visible=solid.shown, cast_shadow=opacity is None,
            )  # fmt: skip
            self.surfaces.append((solid, handle))

    def place(self, poses: np.ndarray | None) -> None:
        """Moves the links to poses (links, 7); hides the mechanism where they are not known."""
        known = poses is not None and bool(np.isfinite(poses).all())
        self.root.visible = known
        if poses is not None and known:
            for handle, pose in zip(self.links, poses, strict=True):
                handle.position, handle.wxyz = pose[:3], pose[3:]

    def show(self, kind: str) -> None:
        """Shows links as they look (`visual`), or what collides (`collision`)."""
        for solid, handle in self.surfaces:
            handle.visible = solid.shown if kind == "visual" else solid.kind != "visual"

    def show_frames(self, on: bool) -> None:
        """Shows or hides the axes of every link."""
        for handle in self.links:
            handle.show_axes = on


@dataclasses.dataclass
class Drawn:
    """A world: what moves, its ghost, arrows and points of contact, marks of networks."""

    body: Body
    ghost: Body
    arrows: Any
    points: Any
    wires: list[Any]
    newton: float
    """Length of an arrow for a force of 1 N [m]."""
    shows_ghost: bool = True
    shows_contacts: bool = True

    def picture(self, take: Take, k: int) -> None:
        """Draws picture `k` of a motion: what was predicted, with what was measured as its ghost."""
        now = take.measured if take.predicted is None else take.predicted
        ghost = None if take.predicted is None or not self.shows_ghost else take.measured
        self.body.place(None if now is None else now[k])
        self.ghost.place(None if ghost is None else ghost[k])
        self._touch(take.contacts if self.shows_contacts else None, k)

    def _touch(self, contacts: Contacts | None, k: int) -> None:
        """Draws the contacts of a picture."""
        none = np.zeros((0, 3))
        point, force = (none, none) if contacts is None else (x[k] for x in contacts)
        touching = np.isfinite(point).all(axis=1)
        self.arrows.visible = self.points.visible = bool(touching.any())
        if touching.any():
            start = point[touching]
            ends = start + self.newton * force[touching]
            self.arrows.points = np.stack([start, ends], axis=1).astype(np.float32)
            self.points.points = start.astype(np.float32)


def draw(server: Any, scene: Scene, name: str, place: np.ndarray, title: str = "") -> Drawn:
    """Puts a world into viser at a place (3,) [m], with its title, if any, over it."""
    root = f"/{name}"
    axis = 0.15 * scene.reach
    server.scene.add_frame(root, axes_length=axis, axes_radius=0.03 * axis, position=place)
    if title:
        x, y, z = scene.centre
        top = (x, y, z + scene.half[2] + 0.1 * scene.reach)
        server.scene.add_label(f"{root}/title", title, position=top, anchor="bottom-center")
    body = Body(server, f"{root}/now", scene, BLUE, None)
    ghost = Body(server, f"{root}/ghost", scene, INK, GHOST)
    size = 0.02 * scene.reach
    one = np.zeros((1, 3), np.float32)
    arrows = server.scene.add_arrows(
        f"{root}/forces", np.zeros((1, 2, 3), np.float32), rgb(VERMILION),
        shaft_radius=0.4 * size, head_radius=size, head_length=2.0 * size, visible=False,
    )  # fmt: skip
    points = server.scene.add_point_cloud(
        f"{root}/contacts", one, rgb(VERMILION), point_size=size, point_shape="circle", visible=False
    )  # fmt: skip
    wires = [
        handle
        for k, mark in enumerate(scene.wires)
        for handle in _mark(server, root, k, mark, 0.6 * size)
    ]
    return Drawn(body, ghost, arrows, points, wires, scene.newton)


def _mark(server: Any, root: str, k: int, mark: Mark, size: float) -> list[Any]:
    """A ball and a text where a network acts."""
    parent = f"{root}/now" if mark.link < 0 else f"{root}/now/{mark.link}"
    ball = server.scene.add_icosphere(
        f"{parent}/wire{k}", radius=size, color=rgb(PURPLE), position=mark.place
    )
    text = server.scene.add_label(f"{parent}/wire{k}/text", f"{mark.text}: {mark.about}")
    return [ball, text]
