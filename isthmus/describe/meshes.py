"""Mesh files, to triangles or to the corners of their convex hull: STL and OBJ here, all else through trimesh."""

from __future__ import annotations

import itertools
import re
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from isthmus.describe.files import read_bytes
from isthmus.errors import BadFile, MissingExtra

TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
FLAT = 1e-9
"""Share of the largest extent below which a mesh has no thickness."""


class Triangles(NamedTuple):
    """A surface."""

    vertices: np.ndarray
    """(vertices, 3) [m]"""
    faces: np.ndarray
    """(triangles, 3): rows of `vertices`, anticlockwise seen from outside."""


def triangles_of_file(path: str | Path) -> Triangles:
    """The surface in a mesh file, in the file's own units."""
    kind = Path(path).suffix.lower()
    vertices = vertices_of_file(path)
    if kind == ".obj":
        return Triangles(vertices, _faces_of_obj(Path(path), len(vertices)))
    if kind == ".stl":
        merged, row = np.unique(vertices, axis=0, return_inverse=True)
        return Triangles(merged, row.reshape(-1, 3))
    return Triangles(vertices, np.asarray(_with_trimesh(Path(path)).faces).reshape(-1, 3))


def hull_of_file(path: str | Path) -> np.ndarray:
    """The corners of the convex hull of a mesh, in the file's own units: one row each."""
    return hull(vertices_of_file(path))


def vertices_of_file(path: str | Path) -> np.ndarray:
    """All vertices of a mesh: one row each, perhaps with repetitions."""
    readers = {".stl": _read_stl, ".obj": _read_obj}
    reader = readers.get(Path(path).suffix.lower(), _read_other)
    vertices = reader(Path(path))
    if not len(vertices):
        raise BadFile(f"the mesh {str(path)!r} has no vertices.")
    if not np.isfinite(vertices).all():
        raise BadFile(f"the mesh {str(path)!r} has vertices that are nan or infinite.")
    return vertices


def hull(vertices: np.ndarray) -> np.ndarray:
    """Those vertices that span the convex hull; flat and straight sets are fine."""
    from scipy.spatial import ConvexHull, QhullError  # slow to import, and few files need it

    vertices = np.unique(np.asarray(vertices, float), axis=0)
    middle = vertices - vertices.mean(axis=0)
    _, extents, axes = np.linalg.svd(middle, full_matrices=False)
    rank = int(np.sum(extents > FLAT * max(extents[0], np.finfo(float).tiny)))
    if rank == 0:
        return vertices[:1]
    inside = middle @ axes[:rank].T
    if rank == 1:
        return vertices[[int(inside.argmin()), int(inside.argmax())]]
    try:
        return vertices[np.sort(ConvexHull(inside).vertices)]
    except QhullError:  # too thin for Qhull: all of them span it as well
        return vertices


def farthest_corners(points: np.ndarray, count: int) -> np.ndarray:
    """At most `count` corners of the convex hull of `points` (rows, 3) [m], far from each other.

    The first one is farthest from the centre, each next one farthest from those before.
    """
    corners = hull(points)
    if len(corners) <= count:
        return corners
    away = np.linalg.norm(corners - corners.mean(axis=0), axis=1)
    chosen = [int(np.argmax(away))]
    near = np.linalg.norm(corners - corners[chosen[0]], axis=1)
    while len(chosen) < count:
        chosen.append(int(np.argmax(near)))
        near = np.minimum(near, np.linalg.norm(corners - corners[chosen[-1]], axis=1))
    return corners[chosen]


def _read_stl(path: Path) -> np.ndarray:
    data = read_bytes(path)
    if len(data) >= 84:
        count = int.from_bytes(data[80:84], "little")
        full = len(data) >= 84 + 50 * count
        if full and (not data.lstrip().startswith(b"solid") or len(data) == 84 + 50 * count):
            triangles: Any = np.frombuffer(data, TRIANGLE, count, offset=84)
            return triangles["corners"].reshape(-1, 3).astype(float)
    if not data.lstrip().startswith(b"solid"):
        raise BadFile(f"the mesh {str(path)!r} is no STL file, or cut off.")
    return _numbers(re.findall(rb"^\s*vertex\s+(\S+)\s+(\S+)\s+(\S+)", data, re.MULTILINE), path)


def _read_obj(path: Path) -> np.ndarray:
    rows = re.findall(rb"^[ \t]*v[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)", read_bytes(path), re.MULTILINE)
    return _numbers(rows, path)


def _faces_of_obj(path: Path, count: int) -> np.ndarray:
    """Polygons as fans of triangles; a negative number counts back from the last vertex."""
    found: list[tuple[int, int, int]] = []
    for line in re.findall(rb"^[ \t]*f[ \t]+(.+)$", read_bytes(path), re.MULTILINE):
        try:
            rows = [int(word.split(b"/")[0]) for word in line.split()]
        except ValueError:
            raise BadFile(f"the mesh {str(path)!r} has a face that is not numbers.") from None
        rows = [row - 1 if row > 0 else count + row for row in rows]
        found += [(rows[0], *pair) for pair in itertools.pairwise(rows[1:])]
    faces = np.array(found, dtype=np.int64).reshape(-1, 3)
    if faces.size and (faces.min() < 0 or faces.max() >= count):
        raise BadFile(f"the mesh {str(path)!r} has a face of vertices that are not there.")
    return faces


def _numbers(rows: list[tuple[bytes, ...]], path: Path) -> np.ndarray:
    try:
        return np.array(rows, dtype="S").astype(float).reshape(-1, 3)
    except ValueError:
        raise BadFile(f"the mesh {str(path)!r} has a vertex that is not three numbers.") from None


def _read_other(path: Path) -> np.ndarray:
    return np.asarray(_with_trimesh(path).vertices, float).reshape(-1, 3)


def _with_trimesh(path: Path) -> Any:
    try:
        trimesh: Any = import_module("trimesh")
    except ModuleNotFoundError:
        raise MissingExtra("trimesh and pycollada", "mesh", f"the mesh {str(path)!r}") from None
    try:
        return trimesh.load(path, force="mesh")
    except ImportError:  # trimesh wants one more library for this format
        raise MissingExtra("trimesh and pycollada", "mesh", f"the mesh {str(path)!r}") from None
    except Exception as failed:  # whatever a third-party reader makes of a broken file
        reason = f"{type(failed).__name__}: {failed}"
        raise BadFile(f"the mesh {str(path)!r} cannot be read ({reason}).") from None
