"""Shapes in random poses, ours and coal's, and the manifolds of many pairs in one compiled call."""

from __future__ import annotations

import functools
from typing import Any

import coal
import jax.numpy as jnp
import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import isthmus as ist
from isthmus.bench.pairs import HULL, SIZES
from isthmus.contact.pairs.narrow import KINDS, touching
from isthmus.contact.pairs.solids import Solid
from isthmus.spatial import rotations

PAIRS = [(a, b) for i, a in enumerate(KINDS) for b in KINDS[i:]]
CALLS = {"sphere": 1, "capsule": 2}
"""Points of contact of pairs with these kinds; others have four."""


def vertices(kind: str) -> np.ndarray:
    return HULL if kind == "points" else np.zeros((0, 3))


def solid(kind: str, turn: Any, place: Any) -> Solid:
    """A shape at `place`, turned by a unit quaternion."""
    size = jnp.array(SIZES[kind])
    return Solid(
        kind, size, rotations.matrix(turn), jnp.asarray(place), jnp.asarray(vertices(kind))
    )


def bound(kind: str) -> float:
    """Radius of a sphere about the shape."""
    r, h, _ = SIZES[kind]
    simple = {"sphere": r, "capsule": r + h, "cylinder": np.hypot(r, h)}
    around = np.linalg.norm(HULL, axis=1).max() if kind == "points" else np.linalg.norm(SIZES[kind])
    return simple.get(kind, around)


def poses(first: str, second: str, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Quaternions of both shapes, and the place of the second one from the first: some apart, most overlapping."""
    rng = np.random.default_rng(seed)
    unit = lambda x: x / np.linalg.norm(x, axis=1)[:, None]
    turns = [unit(rng.normal(size=(count, 4))) for _ in range(2)]
    away = rng.random(count) * 1.2 * (bound(first) + bound(second))
    return *turns, unit(rng.normal(size=(count, 3))) * away[:, None]


def level_poses(first: str, second: str, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """The same of two shapes that stand over each other on parallel faces, or are tilted by a little, just apart."""
    rng = np.random.default_rng(seed)
    up = np.array([0.0, 0.0, 1.0])
    ups = Rotation.from_rotvec(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]]) * np.pi / 2)
    places, turns = np.empty((count, 3)), np.empty((2, count, 4))
    for i in range(count):
        yaw = rng.choice([0.0, np.pi / 4, np.pi / 2, rng.uniform(0.0, np.pi)], size=2)
        one, two = (Rotation.from_rotvec(a * up) * ups[rng.integers(3)] for a in yaw)
        two = Rotation.from_rotvec(rng.choice([0.0, 0.0, 1e-8, 1e-6]) * rng.normal(size=3)) * two
        high = _reach(first, one.inv().apply(up)) + _reach(second, two.inv().apply(-up))
        beside = rng.uniform(-0.6, 0.6, 2) * min(bound(first), bound(second))
        places[i] = *beside, high + 10.0 ** rng.uniform(-7.0, -2.0)
        turns[:, i] = [x.as_quat(scalar_first=True) for x in (one, two)]
    return *turns, places


def manifold_of(first: str, second: str, points: int | None = None) -> Any:
    """(turn, turn, place of the second) -> depths, axes, points."""
    count = points or min(CALLS.get(first, 4), CALLS.get(second, 4))

    def found(turn: Any, other: Any, place: Any) -> tuple:
        m = touching(solid(first, turn, np.zeros(3)), solid(second, other, place), count)
        return m.depth, m.axes, m.points

    return found


@functools.cache
def compiled(first: str, second: str, points: int | None = None) -> Any:
    """The same in native code."""
    one = poses(first, second, 1)
    return ist.native.compile(manifold_of(first, second, points), *(x[0] for x in one))


def coal_distances(first: str, second: str, turns: Any, others: Any, places: Any) -> np.ndarray:
    """Signed distances [m] by coal; nan where it gives up."""
    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    one, two = _coal(first), _coal(second)
    matrices = [Rotation.from_quat(t, scalar_first=True).as_matrix() for t in (turns, others)]
    found = np.empty(len(places))
    here = np.zeros(3)
    for i, place in enumerate(places):
        a, b = coal.Transform3s(matrices[0][i], here), coal.Transform3s(matrices[1][i], place)
        found[i] = coal.distance(one, a, two, b, request, coal.DistanceResult())
    return np.where(np.abs(found) < 1e3, found, np.nan)


def _coal(kind: str) -> Any:
    a, b, c = SIZES[kind]
    match kind:
        case "sphere":
            return coal.Sphere(a)
        case "capsule":
            return coal.Capsule(a, 2.0 * b)
        case "box":
            return coal.Box(2.0 * a, 2.0 * b, 2.0 * c)
        case "cylinder":
            return coal.Cylinder(a, 2.0 * b)
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for point in HULL:
        points.append(point)
    spanned = ConvexHull(HULL)
    for corners, plane in zip(spanned.simplices, spanned.equations, strict=True):
        i, j, k = map(int, corners)
        turned = np.cross(HULL[j] - HULL[i], HULL[k] - HULL[i]) @ plane[:3] < 0.0
        triangles.append(coal.Triangle(i, k, j) if turned else coal.Triangle(i, j, k))
    return coal.Convex(points, triangles)


def overlap_along(first: str, second: str, pose: Any, n: np.ndarray) -> float:
    """How far the shapes overlap along a unit vector [m], by their supports in NumPy."""
    turn, other, place = pose
    reach = lambda kind, t, d: _reach(kind, Rotation.from_quat(t, scalar_first=True).inv().apply(d))
    return reach(first, turn, -n) + reach(second, other, n) + float(n @ place)


def corner_poses(first: str, second: str, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """The same of two shapes whose farthest points along a line overlap by at most 0.3 % of their size."""
    rng = np.random.default_rng(seed)
    unit = lambda x: x / np.linalg.norm(x, axis=1)[:, None]
    turns, others, along = (unit(rng.normal(size=(count, k))) for k in (4, 4, 3))
    depth = rng.uniform(1e-5, 3e-3, count) * (bound(first) + bound(second))
    places = np.empty((count, 3))
    for i, d in enumerate(along):
        one, two = (Rotation.from_quat(x[i], scalar_first=True) for x in (turns, others))
        tips = (
            one.apply(_tip(first, one.inv().apply(d))),
            two.apply(_tip(second, two.inv().apply(-d))),
        )
        places[i] = tips[0] - tips[1] - depth[i] * d
    return turns, others, places


def _reach(kind: str, d: np.ndarray) -> float:
    return float(d @ _tip(kind, d))


def _tip(kind: str, d: np.ndarray) -> np.ndarray:
    """The farthest point along a vector [m]."""
    a, b, _ = SIZES[kind]
    up = np.array([0.0, 0.0, b * np.sign(d[2])])
    match kind:
        case "sphere":
            return a * d / np.linalg.norm(d)
        case "capsule":
            return a * d / np.linalg.norm(d) + up
        case "box":
            return np.sign(d) * SIZES["box"]
        case "cylinder":
            across = np.hypot(d[0], d[1])
            return np.array([*(a * d[:2] / across if across > 0.0 else d[:2]), up[2]])
    return HULL[np.argmax(HULL @ d)]
