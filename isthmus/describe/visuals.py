"""What a file says of a robot's looks: `<visual>` of URDF, geoms of MJCF, as triangles in the frame of a link."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from isthmus.describe.attributes import Attributes
from isthmus.describe.description import Frame
from isthmus.describe.files import PathLike, find_file
from isthmus.describe.meshes import Triangles, triangles_of_file
from isthmus.describe.mjcf import compiled_in
from isthmus.describe.mjcf_bodies import Tree, floats
from isthmus.describe.mjcf_left_out import LeftOut
from isthmus.describe.mjcf_shapes import GEOMS
from isthmus.describe.notes import Notes
from isthmus.describe.urdf_shapes import size_of
from isthmus.describe.xml_lines import Element, parse_xml
from isthmus.errors import IsthmusError

SOLID = ("box", "cylinder", "sphere", "capsule", "ellipsoid")
"""Kinds that their size describes; beside them there are meshes."""
HIDDEN_GROUP = 3
"""MuJoCo's viewers hide geoms of this group and higher, which holds collision shapes."""
GREY = (0.5, 0.5, 0.5, 1.0)
"""The colour of a geom for which an MJCF file says none."""

Colour = tuple[float, float, float] | None


@dataclasses.dataclass(frozen=True)
class Visual:
    """Something that is seen of a link."""

    link: str | None
    """Its name in the file; None: of the world."""
    kind: str
    """One of `SOLID`, or `mesh`."""
    frame: Frame
    size: tuple[float, ...] = (0.0, 0.0, 0.0)
    """[m], as `Shape.size`; of an ellipsoid its half-axes."""
    mesh: Triangles | None = None
    colour: Colour = None
    """Red, green and blue from 0 to 1; None: the file says none."""


@dataclasses.dataclass(frozen=True)
class Looks:
    """All visuals of a file, and what could not be read."""

    visuals: tuple[Visual, ...] = ()
    missing: tuple[str, ...] = ()
    """Mesh files that were not found or cannot be read, each with its reason."""


def read_visuals(
    text: bytes, format: str, folder: PathLike = ".", packages: Sequence[PathLike] = ()
) -> Looks:
    """The looks in the text of a URDF or MJCF; without a word, since the file was read before."""
    if format == "urdf":
        reader = _Reader(folder, packages)
        found = tuple(reader.all_of(parse_xml(text)))
        return Looks(found, tuple(dict.fromkeys(reader.missing)))
    if format == "mjcf":
        return _looks_of_mjcf(text.decode("utf-8", "replace"), [folder, *packages])
    return Looks()


def _looks_of_mjcf(text: str, folders: Sequence[PathLike]) -> Looks:
    """From the first folder around which MuJoCo finds all files of the text."""
    reason = ""
    for folder in folders:
        try:
            return Looks(tuple(_of_mjcf(compiled_in(text, str(folder)))))
        except IsthmusError as refused:
            reason = reason or refused.message.rstrip(".")
    return Looks(missing=(reason,))


class _Reader:
    """Reads `<visual>` elements, and each mesh file once."""

    def __init__(self, folder: PathLike, packages: Sequence[PathLike]) -> None:
        self.folder, self.packages = folder, packages
        self.missing: list[str] = []
        self._meshes: dict[str, Triangles | None] = {}
        self._colours: dict[str, Colour] = {}

    def all_of(self, root: Element) -> Iterator[Visual]:
        for material in root.all("material"):
            self._colours[material.attributes.get("name", "")] = _colour(material)
        for link in root.all("link"):
            for visual in link.all("visual"):
                found = self._visual(link.attributes.get("name", "").strip(), visual)
                if found is not None:
                    yield found

    def _visual(self, link: str, visual: Element) -> Visual | None:
        geometry = visual.first("geometry")
        children = geometry.children if geometry is not None else []
        solid = next((child for child in children if child.tag in (*SOLID, "mesh")), None)
        if solid is None:
            return None
        read = Attributes(f"a visual of link {link!r}", Notes(""))
        frame, colour = read.frame(visual), self._colour(visual.first("material"))
        if solid.tag != "mesh":
            return Visual(link, solid.tag, frame, size_of(solid, read), None, colour)
        mesh = self._mesh(solid.attributes.get("filename", "").strip())
        if mesh is None:
            return None
        scale = np.array(read.vector(solid, "scale", (1.0, 1.0, 1.0)))
        faces = mesh.faces if np.prod(scale) > 0 else mesh.faces[:, ::-1]  # mirrored
        scaled = Triangles(mesh.vertices * scale, faces)
        return Visual(link, "mesh", frame, mesh=scaled, colour=colour)

    def _colour(self, material: Element | None) -> Colour:
        if material is None:
            return None
        return _colour(material) or self._colours.get(material.attributes.get("name", ""))

    def _mesh(self, name: str) -> Triangles | None:
        if name not in self._meshes:
            self._meshes[name] = self._read(name)
        return self._meshes[name]

    def _read(self, name: str) -> Triangles | None:
        path = find_file(name, self.folder, self.packages) if name else None
        if path is None:
            self.missing.append(f"{name!r} was not found")
            return None
        try:
            return triangles_of_file(path)
        except IsthmusError as failed:
            self.missing.append(failed.message.rstrip("."))
            return None


def _colour(material: Element) -> Colour:
    color = material.first("color")
    if color is None:
        return None
    rgba = Attributes("a colour", Notes("")).vector(color, "rgba", (0.6, 0.6, 0.6, 1.0))
    red, green, blue = (min(max(x, 0.0), 1.0) for x in rgba[:3])
    return red, green, blue


def _of_mjcf(m: Any) -> Iterator[Visual]:
    """Geoms that MuJoCo's viewers show; all of a body's where they would show none of them."""
    places = Tree(m, LeftOut()).places
    shown = [int(m.geom_group[i]) < HIDDEN_GROUP for i in range(m.ngeom)]
    bodies = {int(m.geom_bodyid[i]) for i in range(m.ngeom) if shown[i]}
    for i in range(m.ngeom):
        body, kind = int(m.geom_bodyid[i]), GEOMS[m.geom_type[i]]
        if (body in bodies and not shown[i]) or kind not in (*SOLID, "mesh"):
            continue
        frame = places[body].of(m.geom_pos[i], m.geom_quat[i])
        material = int(m.geom_matid[i])
        red, green, blue, _ = m.mat_rgba[material] if material >= 0 else m.geom_rgba[i]
        plain = material < 0 and tuple(m.geom_rgba[i]) == GREY
        colour = None if plain else (float(red), float(green), float(blue))
        mesh = _mesh_of(m, int(m.geom_dataid[i])) if kind == "mesh" else None
        yield Visual(places[body].link, kind, frame, floats(m.geom_size[i]), mesh, colour)


def _mesh_of(m: Any, mesh: int) -> Triangles:
    first, face = int(m.mesh_vertadr[mesh]), int(m.mesh_faceadr[mesh])
    vertices = m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])]
    faces = m.mesh_face[face : face + int(m.mesh_facenum[mesh])]
    return Triangles(np.array(vertices, dtype=np.float64), np.array(faces, dtype=np.int64))
