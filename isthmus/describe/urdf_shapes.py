"""The collision shapes of a URDF link: what is missing or has no size is left out, and named."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from isthmus.describe.attributes import Attributes
from isthmus.describe.checks import SIZES
from isthmus.describe.description import Shape, ShapeKind, Touch
from isthmus.describe.files import PathLike, find_file
from isthmus.describe.meshes import hull_of_file
from isthmus.describe.notes import Notes, free_name
from isthmus.describe.xml_lines import Element
from isthmus.errors import BadFile, MissingExtra

SIZELESS = "collision shapes without size were left out: {}."
UNKNOWN = "collision shapes of a kind that URDF does not have were left out: {}."
NOT_FOUND = "meshes not found, so that their shapes were left out: {}. `packages=` (--packages) says where to look."
UNREADABLE = "meshes that could not be read, so that their shapes were left out: {}."
NEEDS_EXTRA = (
    "meshes that only trimesh and pycollada read (pip install 'isthmus[mesh]'), so that their"
    " shapes were left out: {}."
)
KINDS = (*SIZES, "mesh")
TOUCH = {"lateral_friction": "friction", "restitution": "restitution"}
"""Elements in <contact>, which Bullet reads, and what they are in `ist.Contact`."""


class ShapeReader:
    """Reads shapes, and each mesh file once."""

    def __init__(
        self, folder: PathLike, packages: Sequence[PathLike], notes: Notes, *, hulls: bool = True
    ) -> None:
        self.hulls = hulls
        """Whether mesh files are read; if not, their shapes have no points."""
        self.folder = folder
        self.packages = packages
        self.notes = notes
        self.solid: set[str] = set()
        """Links that have a shape, or would have one if its mesh were there."""
        self._hulls: dict[str, np.ndarray] = {}

    def shapes(self, link: str, element: Element) -> Iterator[Shape]:
        """The shapes of a link, without names."""
        touch = self._touch(link, element.first("contact"))
        for collision in element.all("collision"):
            geometry = collision.first("geometry")
            children = geometry.children if geometry is not None else []
            solid = next((child for child in children if child.tag in KINDS), None)
            if solid is None:
                self.notes.doubt(UNKNOWN, f"of link {link!r}, line {collision.line}")
                continue
            read = Attributes(f"a {solid.tag} of link {link!r}", self.notes)
            shape = self._shape(link, solid, read)
            frame = read.frame(collision)
            if shape is not None:
                name = collision.attributes.get("name", "").strip()
                yield dataclasses.replace(shape, name=name, frame=frame, touch=touch)

    def _touch(self, link: str, contact: Element | None) -> Touch:
        read = Attributes(f"link {link!r}", self.notes)
        found = (
            []
            if contact is None
            else [(name, contact.first(tag), tag) for tag, name in TOUCH.items()]
        )
        numbers = [
            (name, (read.number(e, "value", called=tag),))
            for name, e, tag in found
            if e is not None
        ]
        return Touch(numbers=tuple(numbers))

    def _shape(self, link: str, solid: Element, read: Attributes) -> Shape | None:
        if solid.tag == "mesh":
            return self._mesh(link, solid, read)
        size = size_of(solid, read)
        needed = 1 if solid.tag == "capsule" else SIZES[solid.tag]  # a short capsule is a ball
        if 0.0 in size[:needed]:
            self.notes.doubt(SIZELESS, f"a {solid.tag} of link {link!r}")
            return None
        self.solid.add(link)
        return Shape("", cast(ShapeKind, solid.tag), link, size=size)

    def _mesh(self, link: str, mesh: Element, read: Attributes) -> Shape | None:
        name = mesh.attributes.get("filename", "").strip()
        scale = read.vector(mesh, "scale", (1.0, 1.0, 1.0))
        if not any(scale):
            self.notes.doubt(SIZELESS, f"the mesh {name!r} of link {link!r}")
            return None
        self.solid.add(link)
        hull = self._hull(name, link)
        if hull is None:
            return None
        points = tuple(tuple(map(float, row)) for row in hull * np.array(scale))
        return Shape("", "points", link, points=points)

    def _hull(self, name: str, link: str) -> np.ndarray | None:
        if not self.hulls:
            return np.zeros((0, 3))
        path = find_file(name, self.folder, self.packages) if name else None
        if path is None:
            self.notes.doubt(NOT_FOUND, f"{name!r} of link {link!r}")
            return None
        try:
            if name not in self._hulls:
                self._hulls[name] = hull_of_file(path)
            return self._hulls[name]
        except MissingExtra:
            self.notes.doubt(NEEDS_EXTRA, f"{name!r} of link {link!r}")
        except BadFile as failed:
            reason = failed.message.removesuffix(".")
            self.notes.doubt(UNREADABLE, f"{reason} (link {link!r})")
        return None


def size_of(solid: Element, read: Attributes) -> tuple[float, float, float]:
    """As `Shape.size` wants it: radius and half-length, or half-widths."""
    if solid.tag == "box":
        x, y, z = read.vector(solid, "size", (0.0, 0.0, 0.0))
        return x / 2, y / 2, z / 2
    radius = read.number(solid, "radius")
    length = 0.0 if solid.tag == "sphere" else read.number(solid, "length")
    return radius, length / 2, 0.0


def with_names(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Shapes keep the names of the file where these differ; others are called after their link."""
    taken, seen, named = {shape.name for shape in shapes}, {""}, []
    for shape in shapes:
        name = shape.name
        if name in seen:
            name = free_name(name or f"{shape.link}_shape", taken)
        taken.add(name)
        seen.add(name)
        named.append(dataclasses.replace(shape, name=name))
    return tuple(named)
