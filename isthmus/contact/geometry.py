"""Where contacts are, how deep and how fast: points of spheres, capsules, boxes, cylinders and hulls over planes."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.dynamics.kinematics import Kinematics
from isthmus.model.contacts import CORNERS, RIM
from isthmus.model.model import Model
from isthmus.networks.signals import Signal
from isthmus.record import Record
from isthmus.spatial import rotations
from isthmus.spatial.products import mtv, mv
from isthmus.spatial.vectors import cross
from isthmus.types import AnyArray

TINY = 1e-18
"""Square of a length that has no direction."""


class Touch(Record):
    """All contacts of a model at one state."""

    point: Float[AnyArray, "contacts 3"]
    """The place of the body that is deepest, in the world [m]."""
    place: Float[AnyArray, "contacts 3"]
    """The same in the frame of its link [m]."""
    axes: Float[AnyArray, "contacts 3 3"]
    """Rows: normal of the plane, away from the ground, and two tangents, in the world."""
    depth: Float[AnyArray, " contacts"]
    """How far the point is below the plane [m]; negative: above it."""
    velocity: Float[AnyArray, "contacts 3"]
    """Of the point, in the world [m/s]."""
    links: tuple[int, ...] = eqx.field(static=True)
    """The link of each contact."""

    @property
    def normal(self) -> Float[AnyArray, "contacts 3"]:
        """Unit normal of the plane, away from the ground."""
        return self.axes[:, 0]


def touch(model: Model, k: Kinematics, signal: Signal) -> Touch:
    """Points, depths and velocities of all contacts, published as signals."""
    links = tuple(model.shape_links[s] for s in model.contact_shapes)
    rows = np.array(links, dtype=np.int32)
    R, p = jax.vmap(rotations.matrix)(k.quaternion[rows]), k.position[rows]
    frames = jax.vmap(rotations.matrix)(jnp.asarray(model.shape_orientation))
    planes = np.array(model.contact_planes, dtype=np.int32)
    axes = jnp.swapaxes(frames[planes][:, :, np.array([2, 0, 1], np.int32)], 1, 2)
    down = mtv(R, -axes[:, 0])  # towards the ground, in the link's frame
    centre, radius = _centres(model, frames, down)
    place = centre + radius[:, None] * down
    point = signal("contact/point", p + mv(R, place))
    up = axes[:, 0]
    normal = signal("contact/normal", up)
    axes = axes if normal is up else axes.at[:, 0].set(normal)
    base = jnp.asarray(model.shape_origin)[planes]
    depth = signal("contact/depth", -jnp.sum(normal * (point - base), axis=1))
    twist = k.velocity[rows]
    moving = mv(R, twist[:, 3:] + cross(twist[:, :3], place))
    return Touch(point, place, axes, depth, signal("contact/velocity", moving), links)


def _centres(model: Model, frames: AnyArray, down: AnyArray) -> tuple[AnyArray, AnyArray]:
    """In the frames of the links: the point of each contact before it is rounded, and its rounding [m]."""
    centres: list[AnyArray] = []
    radii: list[AnyArray] = []
    order: list[int] = []
    size, origin = jnp.asarray(model.shape_size), jnp.asarray(model.shape_origin)
    for kind, rows, shapes, corners in _groups(
        model.shape_kinds, model.contact_shapes, model.contact_corners, model.shape_spans
    ):
        own, rounding = size[shapes], jnp.asarray(model.contact_radius)[rows]
        if kind == "points":
            local = jnp.asarray(model.shape_points)[corners]
        else:
            towards = mtv(frames[shapes], down[rows])
            local, rounding = _LOCAL[kind](own, corners, rounding, towards)
        centres.append(origin[shapes] + mv(frames[shapes], local))
        radii.append(rounding)
        order += rows.tolist()
    back = np.argsort(order).astype(np.int32)
    return jnp.concatenate(centres)[back], jnp.concatenate(radii)[back]


@functools.lru_cache(maxsize=256)
def _groups(
    kinds: tuple[str, ...],
    shapes: tuple[int, ...],
    corners: tuple[int, ...],
    spans: tuple[tuple[int, int], ...],
) -> list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Contacts by the kind of their shape: (kind, contacts, shapes, points of the shape or rows of all points)."""
    groups = []
    for kind in dict.fromkeys(kinds[s] for s in shapes):
        rows = [r for r, s in enumerate(shapes) if kinds[s] == kind]
        first = [spans[shapes[r]][0] if kind not in CORNERS else 0 for r in rows]
        which = [f + corners[r] for f, r in zip(first, rows, strict=True)]
        at = lambda numbers: np.array(numbers, dtype=np.int32)
        groups.append((kind, at(rows), at([shapes[r] for r in rows]), at(which)))
    return groups


def _sphere(
    size: AnyArray, corner: np.ndarray, rounding: AnyArray, towards: AnyArray
) -> tuple[AnyArray, AnyArray]:
    return jnp.zeros((len(corner), 3), size.dtype), size[:, 0]


def _capsule(
    size: AnyArray, corner: np.ndarray, rounding: AnyArray, towards: AnyArray
) -> tuple[AnyArray, AnyArray]:
    along = size[:, 1] * np.where(corner == 0, 1.0, -1.0)
    return along[:, None] * np.array([[0.0, 0.0, 1.0]]), size[:, 0]


def _box(
    size: AnyArray, corner: np.ndarray, rounding: AnyArray, towards: AnyArray
) -> tuple[AnyArray, AnyArray]:
    signs = np.stack([1.0 - 2.0 * (corner >> bit & 1) for bit in range(3)], axis=1)
    return signs * (size - rounding[:, None]), rounding


def _cylinder(
    size: AnyArray, corner: np.ndarray, rounding: AnyArray, towards: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """On the rims: the lowest point and others at equal angles; of an upright cylinder, from the x axis on."""
    across = towards * np.array([[1.0, 1.0, 0.0]])
    square = jnp.sum(across * across, axis=1)
    upright = (square < TINY)[:, None]
    long = jnp.sqrt(jnp.where(upright[:, 0], 1.0, square))[:, None]
    first = jnp.where(upright, np.array([[1.0, 0.0, 0.0]]), across / long)
    angle = 2.0 * np.pi / RIM * (corner % RIM)
    second = jnp.stack([-first[:, 1], first[:, 0], jnp.zeros_like(first[:, 0])], axis=1)
    out = np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * second
    half = (size[:, 1] - rounding) * np.where(corner < RIM, 1.0, -1.0)
    rim = (size[:, 0] - rounding)[:, None] * out
    return rim + half[:, None] * np.array([[0.0, 0.0, 1.0]]), rounding


_LOCAL = {"sphere": _sphere, "capsule": _capsule, "box": _box, "cylinder": _cylinder}
