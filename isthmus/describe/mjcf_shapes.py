"""Geoms and sites of a compiled MJCF -> shapes and points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isthmus.describe.description import Point, Shape, ShapeKind
from isthmus.describe.meshes import hull
from isthmus.describe.mjcf_bodies import CONSTRAINT, Tree, floats, texts
from isthmus.describe.mjcf_left_out import LeftOut, name_at
from isthmus.describe.mjcf_touch import Touches
from isthmus.describe.notes import free_name
from isthmus.describe.urdf_shapes import with_names

CONTACT = 1 << 4
"""Of `mjtDisableBit`."""
NOT_TOUCHING = "no contacts in the model"
"""A custom text of this name says that contacts are disabled because a model has none, and that its shapes stay."""
GEOMS = "plane hfield sphere capsule ellipsoid cylinder box mesh sdf".split()
"""By MuJoCo's `mjtGeom`."""
KINDS: dict[str, tuple[ShapeKind, int]] = {
    "plane": ("plane", 0),
    "sphere": ("sphere", 1),
    "capsule": ("capsule", 2),
    "cylinder": ("cylinder", 2),
    "box": ("box", 3),
    "mesh": ("points", 0),
}
"""Our kind, and how many of MuJoCo's three numbers count; they mean the same."""


def shapes_of(m: Any, tree: Tree, touches: Touches, left: LeftOut) -> tuple[Shape, ...]:
    """The geoms that may touch something; none where a file disables contacts, unless `export_mjcf` wrote it."""
    if m.opt.disableflags & CONSTRAINT:
        return ()
    if m.opt.disableflags & CONTACT and not texts(m, NOT_TOUCHING):
        return ()
    return with_names(list(_shapes(m, tree, touches, left)))


def _shapes(m: Any, tree: Tree, touches: Touches, left: LeftOut) -> Iterator[Shape]:
    paired = frozenset[int]().union(*touches.pairs)
    for i in range(m.ngeom):
        if not (m.geom_contype[i] or m.geom_conaffinity[i] or i in paired):
            continue
        word, body = GEOMS[m.geom_type[i]], m.geom_bodyid[i]
        name = name_at(m, m.name_geomadr[i]) or f"{tree.body_names[body]}_geom"
        if word not in KINDS:
            left.add(f"shape ({word}) of geom", name)
            continue
        kind, used = KINDS[word]
        place = tree.places[body]
        yield Shape(
            name,
            kind,
            place.link,
            place.of(m.geom_pos[i], m.geom_quat[i]),
            (*floats(m.geom_size[i, :used]), *(0.0,) * (3 - used)),
            _corners(m, m.geom_dataid[i]) if word == "mesh" else (),
            touches.of(i, name, left),
            (int(m.geom_contype[i]), int(m.geom_conaffinity[i])),
        )


def excluded_of(m: Any, tree: Tree) -> tuple[tuple[str | None, str | None], ...]:
    """The pairs of links that `<contact><exclude>` keeps from touching."""
    bodies = [(int(s) >> 16, int(s) & 0xFFFF) for s in m.exclude_signature]
    links = [(tree.places[one].link, tree.places[two].link) for one, two in bodies]
    return tuple(pair for pair in links if pair[0] != pair[1])


def _corners(m: Any, mesh: Any) -> tuple[tuple[float, ...], ...]:
    """Of the convex hull, which is what touches in MuJoCo too."""
    start = m.mesh_vertadr[mesh]
    return tuple(map(floats, hull(m.mesh_vert[start : start + m.mesh_vertnum[mesh]])))


def points_of(m: Any, tree: Tree) -> tuple[Point, ...]:
    """The sites; and `NAME_frame`: a body's own frame, where its link starts at an anchor."""
    points: list[Point] = []
    taken = {name_at(m, address) for address in m.name_siteadr}
    for i in range(m.nsite):
        body = m.site_bodyid[i]
        place, name = tree.places[body], name_at(m, m.name_siteadr[i])
        name = name or free_name(f"{tree.body_names[body]}_site", taken)
        taken.add(name)
        points.append(Point(name, place.link, place.of(m.site_pos[i], m.site_quat[i])))
    for body, place in tree.frames_beside_anchors():
        name = free_name(f"{body}_frame", taken)
        taken.add(name)
        points.append(Point(name, place.link, place.of((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))))
    return tuple(points)
