"""A shape in the world: its support points, its rounding, and the face or edge that it turns towards another shape.

A support point is kept as a code of three numbers in terms of the shape (signs of a corner, angle on a rim, row of a
vertex), so that the derivative of the point by pose and size is right while the code stays the same.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.spatial.products import mtv, mv
from isthmus.spatial.vectors import cross
from isthmus.types import AnyArray, Rotation, Scalar, Vec3

FLAT = 0.1
"""Vertices of a hull whose height falls by less than this share of their distance belong to one face."""
ROUND = ("sphere", "capsule")
"""Kinds that have a rounding of their own."""
SAME = 1e-3
"""Share of a length below which two points are one."""


class Solid(eqx.Module):
    """A sphere, capsule, box, cylinder or convex hull somewhere in the world."""

    kind: str = eqx.field(static=True)
    size: Vec3
    """As `shape/size` of the model [m]; of a box or a cylinder that is rounded, that of its core."""
    R: Rotation
    """Its axes in the world."""
    p: Vec3
    """Its origin in the world [m]."""
    points: Float[AnyArray, "vertices 3"]
    """Of a hull, in its own frame [m]."""
    radius: Scalar | None = None
    """Rounding of a box, a cylinder or a hull [m]: what is put around its core; None: none."""

    @property
    def rounding(self) -> Scalar:
        """Radius [m] of what is put around the core: a sphere has a point, a capsule a line as core."""
        if self.kind in ROUND:
            return self.size[0]
        return jnp.zeros((), self.size.dtype) if self.radius is None else self.radius

    def rounded(self, radius: Scalar) -> Solid:
        """The shape with rounded edges and corners: faces stay where they are, but those of a hull, which grows."""
        used = {"box": 3, "cylinder": 2}.get(self.kind, 0)
        if self.kind in ROUND:
            return self
        if used:
            radius = jnp.minimum(radius, jnp.min(self.size[:used]))
        size = self.size - radius * np.where(np.arange(3) < used, 1.0, 0.0)
        return Solid(self.kind, size, self.R, self.p, self.points, radius)

    def at(self, code: AnyArray) -> AnyArray:
        """Where a support point of the core is in the world [m]."""
        return self.p + mv(self.R, self.local(code))

    def local(self, code: AnyArray) -> AnyArray:
        """The same in the shape's frame."""
        if self.kind == "points":
            return self.points[code[0].astype(np.int32)]
        return code * jnp.stack(_EXTENTS[self.kind](self.size))

    def support(self, direction: AnyArray) -> AnyArray:
        """The code of a point of the core that is farthest in a direction of the world."""
        d = mtv(self.R, direction)
        if self.kind == "points":
            row = jnp.argmax(mv(self.points, d))
            return jnp.stack([row.astype(d.dtype), jnp.zeros_like(d[0]), jnp.zeros_like(d[0])])
        signs = jnp.where(d >= 0.0, 1.0, -1.0)
        if self.kind != "cylinder":
            return signs
        across, _ = _around(d)
        return jnp.stack([across[0], across[1], signs[2]])

    def bound(self) -> Scalar:
        """Radius [m] of a sphere about the shape's origin that holds the shape."""
        a, b, c = self.size
        if self.kind in ROUND:
            return {"sphere": a, "capsule": a + b}[self.kind]
        if self.kind == "points":
            return jnp.sqrt(jnp.max(jnp.sum(self.points * self.points, axis=1))) + self.rounding
        square = a * a + b * b + (c * c if self.kind == "box" else 0.0)
        return jnp.sqrt(square) + self.rounding


_EXTENTS = {
    "sphere": lambda s: [jnp.zeros_like(s[0])] * 3,
    "capsule": lambda s: [jnp.zeros_like(s[0]), jnp.zeros_like(s[0]), s[1]],
    "cylinder": lambda s: [s[0], s[0], s[1]],
    "box": lambda s: [s[0], s[1], s[2]],
}
"""What a code of each kind is multiplied by."""


class Face(eqx.Module):
    """The corners, in order, of what a shape turns towards another one: a face, an edge (flat), or a point."""

    corners: Float[AnyArray, "corners 3"]
    """In the world [m]."""
    normal: Vec3
    """Of its plane, outwards."""


def face(solid: Solid, direction: AnyArray) -> Face:
    """What a solid turns towards a unit vector of the world."""
    if solid.kind == "points":
        core = _hull_face(solid, direction)
    else:
        d = mtv(solid.R, direction)
        local, normal = _FACES[solid.kind](solid.size, d)
        core = Face(solid.p[None] + mv(solid.R[None], local), mv(solid.R, normal))
    if solid.radius is None:
        return core
    return Face(core.corners + (solid.radius * direction)[None], core.normal)


def _sphere_face(size: AnyArray, d: AnyArray) -> tuple[AnyArray, AnyArray]:
    return (size[0] * d)[None], d


def _capsule_face(size: AnyArray, d: AnyArray) -> tuple[AnyArray, AnyArray]:
    ends = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    return size[1] * ends + (size[0] * d)[None], d


def box_face(size: AnyArray, d: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The corners of a box's face, in order, in its frame, and its normal."""
    axis = jnp.argmax(jnp.abs(d))
    normal = jnp.where(axis == np.arange(3), jnp.where(d >= 0.0, 1.0, -1.0), 0.0)
    # first along one of the other two axes, then along the other
    first = jnp.where(axis == 0, np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    second = 1.0 - jnp.abs(normal) - first
    turns = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    signs = normal[None] + turns[:, :1] * first[None] + turns[:, 1:] * second[None]
    return signs * size[None], normal


def _cylinder_face(size: AnyArray, d: AnyArray) -> tuple[AnyArray, AnyArray]:
    """An end, as four points of its rim from the deepest one on, or a line along the side, there and back."""
    across, _ = _around(d)
    a, b = across
    side = jnp.abs(d[2]) < np.sqrt(0.5)
    top = jnp.where(d[2] >= 0.0, 1.0, -1.0)
    end = jnp.stack([jnp.stack(xy) for xy in ((a, b), (-b, a), (-a, -b), (b, -a))])
    rim = jnp.where(side, across[None], end) * size[0]
    height = jnp.where(side, np.array([1.0, 1.0, -1.0, -1.0]), top) * size[1]
    zero = jnp.zeros_like(a)
    normal = jnp.where(side, jnp.stack([a, b, zero]), jnp.stack([zero, zero, top]))
    return jnp.concatenate([rim, height[:, None]], axis=1), normal


_FACES = {
    "sphere": _sphere_face, "capsule": _capsule_face, "box": box_face, "cylinder": _cylinder_face,
}  # fmt: skip


def _around(d: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The direction of `d` around the z axis, and its length across; of one along z, the x axis."""
    square = d[0] * d[0] + d[1] * d[1]
    along = square < 1e-24
    length = jnp.sqrt(jnp.where(along, 1.0, square))
    return jnp.where(along, np.array([1.0, 0.0]), d[:2] / length), jnp.where(along, 0.0, length)


def _hull_face(solid: Solid, direction: AnyArray) -> Face:
    """Four vertices far from each other, of those that are about as far out as the farthest one."""
    world = solid.p[None] + mv(solid.R[None], solid.points)
    t, u = tangents(direction)
    height = mv(world, direction)
    flat = jnp.stack([mv(world, t), mv(world, u)], axis=1)
    first = jnp.argmax(height)
    away = jnp.sqrt(jax.lax.stop_gradient(jnp.sum((flat - flat[first][None]) ** 2, axis=1)))
    near = height[first] - height <= FLAT * away
    rows, _ = spread(flat, height, near, 4)
    rows = [rows[0], rows[2], rows[1], rows[3]]
    corners = jnp.stack([world[row] for row in rows])
    one = cross(corners[2] - corners[0], corners[1] - corners[0])
    other = cross(corners[3] - corners[0], corners[2] - corners[0])
    larger = jnp.where(jnp.sum(one * one) > jnp.sum(other * other), one, other)
    square = jnp.sum(larger * larger)
    thin = square < 1e-8 * jnp.max(away) ** 4
    normal = larger / jnp.sqrt(jnp.where(thin, 1.0, square))
    normal = normal * jnp.where(jnp.sum(normal * direction) >= 0.0, 1.0, -1.0)
    return Face(corners, jnp.where(thin, direction, normal))


def tangents(n: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Two unit vectors that are perpendicular to a unit vector and to each other."""
    steep = jnp.abs(n[0]) > 0.7
    helper = jnp.where(steep, np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    across = helper - jnp.sum(helper * n) * n
    t = across / jnp.sqrt(jnp.sum(across * across))
    return t, cross(n, t)


def spread(
    flat: AnyArray, depth: AnyArray, valid: AnyArray, count: int, apart: Scalar | float = 0.0
) -> tuple[list[AnyArray], list[AnyArray]]:
    """Rows of `count` (1, 2, 4 or 8) points that span a set in the plane, and whether each adds something.

    First the deepest one, then the one farthest from it, then the farthest on either side of the line between them,
    then the farthest outside each side of that quadrilateral. A row that adds nothing is the first one again. Points
    within `apart` [m] of each other are one: rounding must not make two of them.
    """
    first = jnp.argmax(jnp.where(valid, depth, -jnp.inf))
    rows: list[AnyArray] = [first]
    new: list[AnyArray] = [valid[first]]

    def add(measure: AnyArray, least: AnyArray) -> None:
        measure = jnp.where(valid, measure, 0.0)
        row = jnp.argmax(measure)
        adds = measure[row] > least
        rows.append(jnp.where(adds, row, first))
        new.append(adds)

    def beyond(a: int, b: int) -> None:
        """The point farthest to the right of the line from one point to another."""
        start, way = flat[rows[a]], flat[rows[b]] - flat[rows[a]]
        right = (flat[:, 0] - start[0]) * way[1] - (flat[:, 1] - start[1]) * way[0]
        add(right, jnp.maximum(SAME * longest, apart * apart))

    away = jnp.sum((flat - flat[first][None]) ** 2, axis=1)
    longest = jnp.max(jnp.where(valid, away, 0.0))
    if count > 1:
        add(away, jnp.zeros_like(longest) + apart * apart)
    if count > 2:
        beyond(0, 1)
        beyond(1, 0)
    if count > 4:
        for a, b in ((0, 2), (2, 1), (1, 3), (3, 0)):
            beyond(a, b)
    return rows, new
