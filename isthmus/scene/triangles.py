"""Surfaces as triangles: of simple shapes, of convex hulls, and of meshes reduced to a stated size."""

from __future__ import annotations

import numpy as np

from isthmus.describe.meshes import Triangles

AROUND = 20
"""Corners of a circle."""
SIDES = np.array(
    [[1, 3, 7, 5], [0, 4, 6, 2], [2, 6, 7, 3], [0, 1, 5, 4], [4, 5, 7, 6], [0, 2, 3, 1]]
)
"""Corners of each side of a box, in order as seen from outside; their bits say which of x, y and z are positive."""
CREASE = 35.0
"""Angle between two faces from which their edge is sharp [degrees]."""
FINEST = 256
"""Cells along the longest side of a mesh that is reduced."""


def box(half: np.ndarray) -> Triangles:
    """A box of these half-widths (3,) [m]."""
    corners = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)]) * 2.0 - 1.0
    return Triangles(corners * half, np.concatenate([SIDES[:, [0, 1, 2]], SIDES[:, [0, 2, 3]]]))


def turned_outline(radii: np.ndarray, heights: np.ndarray, around: int = AROUND) -> Triangles:
    """What an outline, from the lowest point to the highest, sweeps around z."""
    turn = 2.0 * np.pi * np.arange(around) / around
    rings = [
        np.stack([r * np.cos(turn), r * np.sin(turn), np.full(around, z)], axis=1)
        for r, z in zip(radii, heights, strict=True)
    ]
    k = np.arange(around)
    n = (k + 1) % around
    faces = []
    for i in range(len(rings) - 1):
        a, b = i * around, (i + 1) * around
        faces += [np.stack([a + k, a + n, b + n], 1), np.stack([a + k, b + n, b + k], 1)]
    return merged(Triangles(np.concatenate(rings), np.concatenate(faces)))


def cylinder(radius: float, half: float) -> Triangles:
    """A cylinder along z."""
    radii, heights = np.array([0.0, radius, radius, 0.0]), np.array([-half, -half, half, half])
    return turned_outline(radii, heights)


def capsule(radius: float, half: float) -> Triangles:
    """A capsule along z, or a ball where `half` is zero."""
    angle = np.linspace(0.0, np.pi / 2, AROUND // 4 + 1)
    radii = radius * np.concatenate([np.sin(angle), np.cos(angle)])
    ends = radius * np.concatenate([-np.cos(angle), np.sin(angle)])
    shift = np.repeat([-half, half], len(angle))
    return turned_outline(radii, ends + shift)


def hull(points: np.ndarray) -> Triangles:
    """The convex hull of points (n, 3) [m]; of flat ones, the flat polygon from both sides."""
    from scipy.spatial import ConvexHull, QhullError  # slow to import

    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        return _flat(points)
    faces = found.simplices.copy()
    a, b, c = (points[faces[:, i]] for i in range(3))
    inwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0
    faces[inwards] = faces[inwards][:, ::-1]
    return _used(Triangles(points, faces))


def _flat(points: np.ndarray) -> Triangles:
    middle = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(middle, full_matrices=True)
    angle = np.arctan2(middle @ axes[1], middle @ axes[0])
    order = np.argsort(angle)
    one = [(order[0], order[k], order[k + 1]) for k in range(1, len(order) - 1)]
    return Triangles(points, np.array([*one, *(f[::-1] for f in one)], int).reshape(-1, 3))


def rod(start: np.ndarray, end: np.ndarray, radius: float) -> Triangles:
    """A thin rod from one point to another [m]."""
    along = end - start
    length = float(np.linalg.norm(along))
    straight = turned_outline(
        np.array([0.0, radius, radius, 0.0]), np.array([0.0, 0.0, length, length]), around=8
    )
    z = along / length
    x = np.cross(z, [1.0, 0.0, 0.0] if abs(z[0]) < 0.9 else [0.0, 1.0, 0.0])
    x /= np.linalg.norm(x)
    axes = np.stack([x, np.cross(z, x), z], axis=1)
    return Triangles(straight.vertices @ axes.T + start, straight.faces)


# meshes ----------------------------------------------------------------------------------------------------------


def reduced(mesh: Triangles, most: int) -> Triangles:
    """At most `most` triangles: vertices within a cell of a grid become one, in the finest grid that does it."""
    if len(mesh.faces) <= most:
        return mesh
    low, high, best = 1, FINEST, None
    while low <= high:
        cells = (low + high) // 2
        coarse = _clustered(mesh, cells)
        if len(coarse.faces) <= most:
            best, low = coarse, cells + 1
        else:
            high = cells - 1
    return best if best is not None else Triangles(mesh.vertices, mesh.faces[:0])


def _clustered(mesh: Triangles, cells: int) -> Triangles:
    low = mesh.vertices.min(axis=0)
    size = max(float(np.ptp(mesh.vertices, axis=0).max()), 1e-12) / cells
    cell = np.floor((mesh.vertices - low) / size + 1e-9).astype(np.int64)
    keys = (cell[:, 0] * (cells + 2) + cell[:, 1]) * (cells + 2) + cell[:, 2]
    _, row, count = np.unique(keys, return_inverse=True, return_counts=True)
    middle = np.stack([np.bincount(row, x) for x in mesh.vertices.T], axis=1) / count[:, None]
    return merged(Triangles(middle, row[mesh.faces]))


def creased(mesh: Triangles) -> Triangles:
    """The same surface with vertices doubled along sharp edges, so that only round parts are shaded as round."""
    from scipy.sparse import coo_array  # slow to import
    from scipy.sparse.csgraph import connected_components

    if not len(mesh.faces):
        return mesh
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    ahead = lambda x: np.stack([x, np.roll(x, -1, axis=1)], axis=-1).reshape(-1, 2)
    edges, corners = ahead(mesh.faces), ahead(np.arange(mesh.faces.size).reshape(-1, 3))
    turned = edges[:, 0] > edges[:, 1]
    edges[turned], corners[turned] = edges[turned, ::-1], corners[turned, ::-1]
    order = np.lexsort(edges.T)
    one, other = order[:-1], order[1:]
    bend = np.einsum("ij,ij->i", normal[one // 3], normal[other // 3])
    smooth = (edges[one] == edges[other]).all(axis=1) & (bend > np.cos(np.radians(CREASE)))
    rows, columns = corners[one[smooth]].ravel(), corners[other[smooth]].ravel()
    joined = coo_array((np.ones(len(rows)), (rows, columns)), shape=(mesh.faces.size,) * 2)
    _, row = connected_components(joined, directed=False)
    _, example = np.unique(row, return_index=True)
    return Triangles(mesh.vertices[mesh.faces.ravel()[example]], row.reshape(-1, 3))


def merged(mesh: Triangles) -> Triangles:
    """The same surface with equal vertices as one, and without triangles that have no area or occur twice."""
    vertices, row = np.unique(np.round(mesh.vertices, 12), axis=0, return_inverse=True)
    faces = row.ravel()[mesh.faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (a != c)]
    turn = np.argmin(faces, axis=1)[:, None] if len(faces) else np.zeros((0, 1), int)
    first = np.take_along_axis(faces, (turn + np.arange(3)) % 3, axis=1)  # smallest row in front
    return _used(Triangles(vertices, np.unique(first, axis=0)))


def _used(mesh: Triangles) -> Triangles:
    """Without vertices that no triangle has."""
    rows, faces = np.unique(mesh.faces, return_inverse=True)
    return Triangles(mesh.vertices[rows], faces.reshape(-1, 3))
