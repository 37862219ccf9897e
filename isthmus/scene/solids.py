"""The shapes of each link: what its file shows, else what collides, else sticks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np

from isthmus.describe.description import Frame
from isthmus.describe.files import PathLike
from isthmus.describe.meshes import Triangles
from isthmus.describe.poses import compose
from isthmus.describe.visuals import Colour, Visual, read_visuals
from isthmus.model.model import Model
from isthmus.scene import triangles
from isthmus.spatial import rotations

STICK = 0.018
"""Radius of a stick, as a share of the longest distance between joints."""
AWAY = 0.5
"""A shape that is farther from its joint than this share of its size is away from it."""
MOST_NAMED = 3
"""Missing meshes that the note names."""


@dataclasses.dataclass(frozen=True, eq=False)
class Solid:
    """A surface that moves with a link."""

    name: str
    link: int
    """−1: it stands in the world."""
    mesh: Triangles
    """In the link's frame [m]."""
    kind: Literal["visual", "collision", "stick"]
    shown: bool
    """Whether this is how the link looks; a collision shape under a visual is not."""
    colour: Colour = None


def solids_of(
    model: Model, most: int, packages: Sequence[PathLike] = ()
) -> tuple[tuple[Solid, ...], tuple[str, ...]]:
    """All solids of a model, meshes reduced to `most` triangles each; and sentences on what could not be shown.

    `packages`: folders in which meshes are looked for, besides those that the model was loaded with.
    """
    source = model.source
    homes = (*packages, *source.packages)
    looks = read_visuals(source.text, source.format, source.folder or ".", homes)
    visuals = [solid for v in looks.visuals if (solid := _visual(model, v, most)) is not None]
    seen = {solid.link for solid in visuals}
    touching = [
        _collision(model, s, most, model.shape_links[s] not in seen)
        for s, kind in enumerate(model.shape_kinds)
        if kind != "plane"
    ]
    sticks = _sticks(model, [*visuals, *touching])
    return (*visuals, *touching, *sticks), _notes(looks.missing)


def _notes(missing: Sequence[str]) -> tuple[str, ...]:
    if not missing:
        return ()
    named = "; ".join(missing[:MOST_NAMED])
    more = f"; and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
    advice = "packages= (--packages) says where to look"
    return (f"Meshes that are not shown: {named}{more}. {advice}.",)


def _visual(model: Model, visual: Visual, most: int) -> Solid | None:
    """A visual in the frame of its link; None for one of a link that the model does not have."""
    place = _place(model, visual.link)
    mesh = _surface(visual.kind, np.asarray(visual.size, dtype=np.float64), visual.mesh, most)
    if place is None or mesh is None or not len(mesh.faces):
        return None
    link, frame = place
    moved = _moved(mesh, compose(frame, visual.frame))
    return Solid(visual.link or "world", link, moved, "visual", True, visual.colour)


def _place(model: Model, name: str | None) -> tuple[int, Frame] | None:
    """Where a link of the file went: a link of the model, a point of one, or the world."""
    if name in model.link_names:
        return model.link_names.index(str(name)), Frame()
    if name in model.point_names:
        k = model.point_names.index(str(name))
        origin, turn = np.asarray(model.point_origin[k]), np.asarray(model.point_orientation[k])
        return model.point_links[k], Frame(tuple(origin.tolist()), tuple(turn.tolist()))
    return (-1, Frame()) if name in (None, "world") else None


def _collision(model: Model, s: int, most: int, shown: bool) -> Solid:
    points = Triangles(np.asarray(model.shape_points[slice(*model.shape_spans[s])]), np.zeros(0))
    size = np.asarray(model.shape_size[s], dtype=np.float64)
    mesh = _surface(model.shape_kinds[s], size, points, most)
    origin, turn = np.asarray(model.shape_origin[s]), np.asarray(model.shape_orientation[s])
    moved = _moved(mesh, Frame(tuple(origin.tolist()), tuple(turn.tolist())))
    return Solid(model.shape_names[s], model.shape_links[s], moved, "collision", shown)


def _surface(kind: str, size: np.ndarray, mesh: Triangles | None, most: int) -> Triangles:
    if kind == "box":
        return triangles.box(size)
    if kind == "cylinder":
        return triangles.cylinder(size[0], size[1])
    if kind == "ellipsoid":
        ball = triangles.capsule(1.0, 0.0)
        return Triangles(ball.vertices * size, ball.faces)
    if kind in ("sphere", "capsule"):
        return triangles.capsule(size[0], size[1] if kind == "capsule" else 0.0)
    if mesh is None:
        return Triangles(np.zeros((0, 3)), np.zeros((0, 3), int))
    whole = triangles.hull(np.array(mesh.vertices)) if kind == "points" else mesh
    return triangles.reduced(whole, most)


def _moved(mesh: Triangles, frame: Frame) -> Triangles:
    R = np.asarray(rotations.matrix(np.asarray(frame.orientation, dtype=np.float64)))
    return Triangles(mesh.vertices @ R.T + np.asarray(frame.position), mesh.faces)


def _sticks(model: Model, solids: Sequence[Solid]) -> list[Solid]:
    """Rods to the next joints, or to the centre of mass, of links without shapes; else to a shape away from its joint.

    A ball marks the joint of each rod, and a link that has no length. Joints away from what collides get a rod to it.
    """
    origins, coms = np.asarray(model.joint_origin), np.asarray(model.link_com)
    radius = STICK * max(float(np.linalg.norm([*origins, *coms], axis=1).max(initial=0.0)), 0.1)
    found = []
    for i, name in enumerate(model.link_names):
        own = [solid for solid in solids if solid.link == i]
        joints = [origins[k] for k, parent in enumerate(model.parents) if parent == i]
        ends = _far_shapes(own) if own else joints or [coms[i]]
        ways = [end for end in ends if np.linalg.norm(end) > radius]
        meshes = [triangles.rod(np.zeros(3), end, radius) for end in ways]
        if ways or not own:
            meshes.append(triangles.capsule(1.6 * radius, 0.0))
        else:
            gaps = [(_nearest(own, joint), joint) for joint in joints]
            meshes += [
                triangles.rod(*g, radius) for g in gaps if np.linalg.norm(g[1] - g[0]) > radius
            ]
        found += [Solid(name, i, mesh, "stick", True) for mesh in meshes]
    return found


def _far_shapes(solids: Sequence[Solid]) -> list[np.ndarray]:
    """Middles of collision shapes of a link, where none of them reaches its joint; nothing where it has visuals."""
    boxes = [_box(solid) for solid in solids]
    near = [
        np.all((low - AWAY * (high - low) <= 0) & (high + AWAY * (high - low) >= 0))
        for low, high in boxes
    ]
    if any(near) or any(solid.kind == "visual" for solid in solids):
        return []
    return [0.5 * (low + high) for low, high in boxes]


def _nearest(solids: Sequence[Solid], place: np.ndarray) -> np.ndarray:
    """The point of a link's solids that is nearest to a place, by the boxes around them; the place, with visuals."""
    if any(solid.kind == "visual" for solid in solids):
        return place
    points = [np.clip(place, *_box(solid)) for solid in solids]
    return min(points, key=lambda point: float(np.linalg.norm(point - place)))


def _box(solid: Solid) -> tuple[np.ndarray, np.ndarray]:
    return solid.mesh.vertices.min(axis=0), solid.mesh.vertices.max(axis=0)
