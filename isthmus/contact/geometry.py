"""Where contacts are, how deep and how fast: points of shapes over planes, and between two shapes (`pairs`)."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.dynamics.kinematics import Kinematics
from isthmus.model.contacts import CORNERS, RIM, pair_rows
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
    """The deepest place of the body over a plane; of pairs, half way between the surfaces; in the world [m]."""
    place: Float[AnyArray, "contacts 3"]
    """The same in the frame of its link [m]."""
    other_place: Float[AnyArray, "contacts 3"] | None
    """The same in the frame of the link that it touches [m]; None: there are only planes."""
    axes: Float[AnyArray, "contacts 3 3"]
    """Rows: normal, away from the plane or from the other body, and two tangents, in the world."""
    depth: Float[AnyArray, " contacts"]
    """How far the point is below the surface [m]; negative: above it."""
    velocity: Float[AnyArray, "contacts 3"]
    """Of the point, less that of the other body there, in the world [m/s]."""
    links: tuple[int, ...] = eqx.field(static=True)
    """The link of each contact; -1: the world."""
    others: tuple[int, ...] = eqx.field(static=True)
    """The link that it touches; -1: the world."""

    @property
    def normal(self) -> Float[AnyArray, "contacts 3"]:
        """Unit normal, away from the plane or from the other body."""
        return self.axes[:, 0]


def touch(model: Model, k: Kinematics, signal: Signal) -> Touch:
    """Points, depths and velocities of all contacts, published as signals."""
    links, others = contact_links(model)
    frames = jax.vmap(rotations.matrix)(jnp.asarray(model.shape_orientation))
    ground = len(links) - len(pair_rows(model))
    parts = [_over_planes(model, k, frames, ground)] if ground else []
    if ground < len(links):
        parts.append(_between(model, k, frames, links[ground:], others[ground:]))
    place, point, axes, base = (_joined(column) for column in zip(*parts, strict=True))
    point = signal("contact/point", point)
    up = axes[:, 0]
    normal = signal("contact/normal", up)
    axes = axes if normal is up else jnp.asarray(axes).at[:, 0].set(normal)
    depth = signal("contact/depth", -jnp.sum(normal * (point - base), axis=1))
    moving, other_place = _moving(k, links, place), None
    if ground < len(links):
        R, p = with_world(k)
        rows = np.array(others, dtype=np.int32)
        other_place = mtv(R[rows], point - p[rows])
        moving = moving - _moving(k, others, other_place)
    velocity = signal("contact/velocity", moving)
    return Touch(point, place, other_place, axes, depth, velocity, links, others)


def contact_links(model: Model) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The link of each contact, and the link that it touches; -1: the world."""
    of = lambda shapes: tuple(model.shape_links[s] for s in shapes)
    return of(model.contact_shapes), of(model.contact_planes)


def with_world(k: Kinematics) -> tuple[AnyArray, AnyArray]:
    """Rotations and positions of all links, and of the world as the last row."""
    still = jnp.eye(3, dtype=k.position.dtype)[None], jnp.zeros((1, 3), k.position.dtype)
    return jnp.concatenate([k.rotation, still[0]]), jnp.concatenate([k.position, still[1]])


Row = tuple[AnyArray, AnyArray, AnyArray, AnyArray]
"""Of some contacts: place in the link's frame, point, axes, and a point of the surface that each touches."""


def _over_planes(model: Model, k: Kinematics, frames: AnyArray, count: int) -> Row:
    """The first `count` contacts, whose other shapes are planes of the world."""
    rows = np.array([model.shape_links[s] for s in model.contact_shapes[:count]], dtype=np.int32)
    R, p = jax.vmap(rotations.matrix)(k.quaternion[rows]), k.position[rows]
    planes = np.array(model.contact_planes[:count], dtype=np.int32)
    axes = jnp.swapaxes(frames[planes][:, :, np.array([2, 0, 1], np.int32)], 1, 2)
    down = mtv(R, -axes[:, 0])  # towards the ground, in the link's frame
    centre, radius = _centres(model, frames, down)
    place = centre + radius[:, None] * down
    return place, p + mv(R, place), axes, jnp.asarray(model.shape_origin)[planes]


def _between(
    model: Model, k: Kinematics, frames: AnyArray, links: tuple[int, ...], others: tuple[int, ...]
) -> Row:
    """The contacts of pairs of bodies."""
    from isthmus.contact.pairs.collect import pair_manifolds  # few models have pairs

    R, p = with_world(k)
    rows = np.array(links, dtype=np.int32)
    point, axes, depth = pair_manifolds(model, R, p, frames)
    return mtv(R[rows], point - p[rows]), point, axes, point + depth[:, None] * axes[:, 0]


def _moving(k: Kinematics, links: tuple[int, ...], place: AnyArray) -> AnyArray:
    """Velocities [m/s] of places of links, in the world."""
    rows = np.array(links, dtype=np.int32)
    if (rows >= 0).all():
        R, twist = jax.vmap(rotations.matrix)(k.quaternion[rows]), k.velocity[rows]
    else:
        still = jnp.zeros((1, 6), k.velocity.dtype)
        R, twist = with_world(k)[0][rows], jnp.concatenate([k.velocity, still])[rows]
    return mv(R, twist[:, 3:] + cross(twist[:, :3], place))


def _joined(parts: tuple[AnyArray, ...]) -> AnyArray:
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts)


def _centres(model: Model, frames: AnyArray, down: AnyArray) -> tuple[AnyArray, AnyArray]:
    """In the frames of the links: the point of each contact before it is rounded, and its rounding [m]."""
    centres: list[AnyArray] = []
    radii: list[AnyArray] = []
    order: list[int] = []
    count = len(down)
    size, origin = jnp.asarray(model.shape_size), jnp.asarray(model.shape_origin)
    for kind, rows, shapes, corners in _groups(
        model.shape_kinds, model.contact_shapes[:count], model.contact_corners, model.shape_spans
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
    rounding = jnp.minimum(rounding, jnp.min(size, axis=1))
    return signs * (size - rounding[:, None]), rounding


def _cylinder(
    size: AnyArray, corner: np.ndarray, rounding: AnyArray, towards: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """On the rims: the lowest point and others at equal angles; of an upright cylinder, from the x axis on."""
    rounding = jnp.minimum(rounding, jnp.minimum(size[:, 0], size[:, 1]))
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
