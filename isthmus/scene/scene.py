"""`Scene`: shapes of links, floor, axes, networks in their places, and motions as pictures, all in the world's frame.

A picture is the pose of every link at one time, and the contacts there. Meshes are reduced to the number of triangles
that the caller states.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from isthmus.describe.files import PathLike
from isthmus.model.contacts import pair_rows
from isthmus.model.model import Model
from isthmus.networks.names import signals_of
from isthmus.scene.along import Contacts
from isthmus.scene.planes import Plane, planes_of
from isthmus.scene.solids import Solid, solids_of

Place: TypeAlias = tuple[float, float, float]

FLAT = 0.08
"""A mechanism whose axes stay within this share of its size of a plane is seen at right angles to it."""
TILT = 8.0
"""Elevation from which an upright plane is seen, so that the floor is more than a line [degrees]."""
THIN = 0.3
"""Share of its length below which a solid is thin."""
TRAILS = 6
"""Points that leave a trail, at most."""
ARROW = 0.35
"""Length of the usual arrow, as a share of the reach; large forces have at most three times that."""


@dataclasses.dataclass(frozen=True, eq=False)
class Take:
    """One motion as pictures at equal distances in time."""

    name: str
    seconds: float
    """Between two pictures [s]."""
    predicted: np.ndarray | None = None
    """Poses (pictures, links, 7): position [m] and quaternion; NaN: not known."""
    measured: np.ndarray | None = None
    """The same of what was measured: the ghost."""
    contacts: Contacts | None = None
    """Of the predicted motion."""
    heldout: bool = False

    @property
    def poses(self) -> list[np.ndarray]:
        """Predicted and measured ones, as far as there are."""
        return [x for x in (self.predicted, self.measured) if x is not None]

    def every(self, k: int) -> Take:
        """Every k-th picture."""
        thin = lambda x: None if x is None else x[::k]
        touching = self.contacts and Contacts(*(x[::k] for x in self.contacts))
        return dataclasses.replace(
            self, seconds=k * self.seconds, predicted=thin(self.predicted),
            measured=thin(self.measured), contacts=touching,
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Mark:
    """A place on a link (−1: in the world), with a text."""

    link: int
    place: Place
    """In the link's frame [m]."""
    text: str = ""
    about: str = ""
    """What the text names does."""


@dataclasses.dataclass(frozen=True, eq=False)
class Scene:
    """All that is drawn."""

    name: str
    links: tuple[str, ...]
    solids: tuple[Solid, ...]
    trails: tuple[Mark, ...]
    wires: tuple[Mark, ...]
    """Networks, where they act."""
    takes: tuple[Take, ...]
    planes: tuple[Plane, ...]
    """Those of the model, else a level one through the lowest point that is seen."""
    has_ground: bool
    """Whether the model has planes."""
    centre: np.ndarray
    half: np.ndarray
    """Half-widths (3,) of the box around all that is seen [m]."""
    view: tuple[float, float]
    """Azimuth and elevation from which to look first [degrees]."""
    newton: float
    """Length of an arrow for a force of 1 N [m]."""
    has_pairs: bool = False
    """Whether bodies may touch each other."""
    notes: tuple[str, ...] = ()
    """Sentences on what is not shown."""

    @property
    def reach(self) -> float:
        """Largest distance of anything from the centre, along an axis [m]."""
        return max(float(self.half.max()), 1e-6)


def scene_of(
    model: Model, takes: Sequence[Take], *, most: int, packages: Sequence[PathLike] = ()
) -> Scene:
    """The scene of a model and its motions; `most`: triangles of a mesh."""
    solids, notes = solids_of(model, most, packages)
    trails = trails_of(model)
    poses = [x for take in takes for x in take.poses]
    places = key_points(solids, trails, poses, _corners)
    low, high = (
        (places.min(axis=0), places.max(axis=0)) if len(places) else (-np.ones(3), np.ones(3))
    )
    centre = 0.5 * (low + high)
    planes = planes_of(model)
    return Scene(
        model.name, model.link_names, solids, trails, wires_of(model), tuple(takes),
        planes or (Plane(np.array([0.0, 0.0, low[2]])),), bool(planes), centre, high - centre,
        view_of(key_points(solids, trails, poses, _axes)),
        _newton(model, takes, max(float((high - centre).max()), 1e-6)), len(pair_rows(model)) > 0, notes,
    )  # fmt: skip


def _newton(model: Model, takes: Sequence[Take], reach: float) -> float:
    """Length of an arrow for 1 N [m], by the forces that are known, else by the weight on up to four contacts."""
    forces = [np.linalg.norm(t.contacts.forces, axis=-1).ravel() for t in takes if t.contacts]
    size = np.concatenate(forces) if forces else np.zeros(0)
    size = size[np.isfinite(size)]
    weight = float(np.sum(model.link_mass) * np.linalg.norm(model.gravity))
    share = weight / min(4, max(1, len(model.contact_kinds)))
    usual, largest = np.percentile(size, [50, 95]).tolist() if len(size) else (share, share)
    return reach * min(ARROW / max(usual, 1e-9), 3 * ARROW / max(largest, 1e-9))


def trails_of(model: Model) -> tuple[Mark, ...]:
    """Places that leave a trail: named points, or the centres of mass at the ends of the tree."""
    pairs = zip(model.point_links, model.point_origin, strict=True)
    named = [Mark(link, _numbers(place)) for link, place in pairs if link >= 0]
    ends = [i for i in range(len(model.parents)) if i not in model.parents]
    return tuple((named or [Mark(i, _numbers(model.link_com[i])) for i in ends])[:TRAILS])


def wires_of(model: Model) -> tuple[Mark, ...]:
    """Every network at every place where it acts: joints at their origin, links at their centre of mass."""
    families = {spec.name: spec.rows for spec in signals_of(model)}
    found: list[Mark] = []
    for wired in model.networks:
        plan = wired.plan
        mark = Mark(-1, (0.0, 0.0, 0.0), plan.name, f"{plan.mode} {plan.target}")
        owners = model.rows(families.get(plan.target))
        rows = set(plan.rows or ())
        names = [name for name, own in owners.items() if rows & set(own)]
        places = [_place(model, families.get(plan.target), name) for name in names]
        found += [dataclasses.replace(mark, link=i, place=x) for i, x in places] or [mark]
    return tuple(found)


def _place(model: Model, family: str | None, name: str) -> tuple[int, Place]:
    """Where a row of a signal is seen: a link, and a point of it [m]."""
    if family == "link":
        i = model.link(name)
        return i, _numbers(model.link_com[i])
    if family == "point":
        k = model.point(name)
        return model.point_links[k], _numbers(model.point_origin[k])
    shape = name.split("+")[0]
    if family in ("shape", "vertex", "contact") and shape in model.shape_names:
        s = model.shape_names.index(shape)
        return model.shape_links[s], _numbers(model.shape_origin[s])
    return model.joint(name), (0.0, 0.0, 0.0)


def _numbers(place: Any) -> Place:
    x, y, z = np.asarray(place, dtype=np.float64).tolist()
    return x, y, z


# where to look from ----------------------------------------------------------------------------------------------


def key_points(
    solids: Sequence[Solid],
    trails: Sequence[Mark],
    poses: Sequence[np.ndarray],
    of: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Places in the world (places, 3) [m]: the points `of` each solid's vertices, and the trails."""
    ends = [(s.link, of(s.mesh.vertices)) for s in solids if s.shown and len(s.mesh.faces)]
    ends += [(mark.link, np.array([mark.place])) for mark in trails]
    found = [place for link, place in ends if link < 0]
    for x in poses:
        turn = matrices(x[..., 3:])
        moving = [(link, place) for link, place in ends if link >= 0]
        found += [
            (x[:, None, link, :3] + np.einsum("tij,pj->tpi", turn[:, link], place)).reshape(-1, 3)
            for link, place in moving
        ]
    places = np.concatenate(found) if found else np.zeros((0, 3))
    return places[np.isfinite(places).all(axis=1)]


def _corners(vertices: np.ndarray) -> np.ndarray:
    """Those vertices that reach farthest along the axes and diagonals: at most 14."""
    signs = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)])
    kept = signs[np.isin(np.abs(signs).sum(axis=1), (1, 3))]
    return vertices[np.unique(np.argmax(vertices @ kept.T, axis=0))]


def _axes(vertices: np.ndarray) -> np.ndarray:
    """Ends of the axes of a solid, without those along which it is thin."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    half = 0.5 * (high - low)
    arms = np.diag(half)[half > THIN * half.max()]
    return 0.5 * (low + high) + np.concatenate([arms, -arms])


def view_of(places: np.ndarray) -> tuple[float, float]:
    """Azimuth and elevation [degrees] of the viewer: nearly square to a flat mechanism, else obliquely from above."""
    if len(places) < 3:
        return -90.0, TILT
    _, size, axes = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    if size[2] > FLAT * size[0]:
        return -60.0, 20.0
    if size[1] <= FLAT * size[0]:  # along a line: seen from the side
        along = axes[0]
        return (0.0 if abs(along[1]) > max(abs(along[0]), abs(along[2])) else -90.0), TILT
    normal = axes[2] if axes[2][int(np.argmax(np.abs(axes[2])))] > 0 else -axes[2]
    if abs(normal[2]) > 0.9:
        return -90.0, 90.0
    if abs(normal[1]) > abs(normal[0]):
        normal = -normal  # looking along +y has x to the right
    azimuth, elevation = np.arctan2(normal[1], normal[0]), np.arcsin(np.clip(normal[2], -1, 1))
    return float(np.degrees(azimuth)), max(float(np.degrees(elevation)), TILT)


def matrices(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices (…, 3, 3) of quaternions (…, 4), `w` first; NaN where they are not known."""
    from scipy.spatial.transform import Rotation  # slow to import

    flat = np.asarray(quaternion, dtype=np.float64).reshape(-1, 4)
    known = np.isfinite(flat).all(axis=1)
    found = np.full((len(flat), 3, 3), np.nan)
    if known.any():
        found[known] = Rotation.from_quat(flat[known], scalar_first=True).as_matrix()
    return found.reshape(*np.shape(quaternion)[:-1], 3, 3)
