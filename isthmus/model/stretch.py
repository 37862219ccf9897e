"""`stretch`: a longer or shorter link of any model, differentiable in the factor."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.model.arrays import is_traced, replaced
from isthmus.model.model import Model
from isthmus.spatial import inertia, rotations
from isthmus.types import AnyArray, Number, Numbers, Vec3


@check_arguments
def stretch(
    model: Model,
    link: str,
    factor: Number,
    *,
    constant: Literal["mass", "density"] = "mass",
    axis: Numbers | None = None,
) -> Model:
    """The model with `link` stretched by `factor` along its length, as if its material were drawn out.

    Centre of mass, inertia, points, shapes and the joints of its children follow; at constant density the mass
    grows with the length. The length runs from the link's joint to its children's (to its centre of mass where it
    has none, or they sit at its own); `axis`, a vector in the link's frame, says otherwise.
    """
    if not is_traced(factor) and not (np.isfinite(float(factor)) and factor > 0):
        raise BadOption(f"a link can be stretched by a positive factor only, not by {factor!r}.")
    if axis is not None and np.shape(axis) != (3,):
        raise BadOption(f"stretch: axis must be three numbers x, y, z, not {axis!r}.")
    if is_traced((model, factor, axis)):
        return _stretched(model, link, factor, constant, axis)
    with jax.enable_x64(True):  # numbers of a model keep their 64 bits, whatever JAX is set to
        return _stretched(model, link, factor, constant, axis)


def _stretched(model: Model, link: str, factor: Number, constant: str, axis: Any) -> Model:
    i = model.link(link)
    d = _direction(model, i, axis)
    A = jnp.eye(3) + (factor - 1.0) * d[:, None] * d[None]
    heavier = factor if constant == "density" else 1.0
    children = np.array([c for c, parent in enumerate(model.parents) if parent == i], dtype=int)
    points = np.array([p for p, owner in enumerate(model.point_links) if owner == i], dtype=int)
    changes = {
        "link_mass": replaced(model.link_mass, i, heavier * model.link_mass[i]),
        "link_com": replaced(model.link_com, i, A @ model.link_com[i]),
        "link_inertia": replaced(model.link_inertia, i, _drawn(model.link_inertia[i], A, heavier)),
        "joint_origin": replaced(model.joint_origin, children, model.joint_origin[children] @ A),
        "point_origin": replaced(model.point_origin, points, model.point_origin[points] @ A),
    }
    return dataclasses.replace(model, **changes, **_shapes(model, i, A))


def _direction(model: Model, i: int, axis: Any) -> Vec3:
    """Unit vector along the link."""
    if axis is None:
        ends = [model.joint_origin[c] for c, parent in enumerate(model.parents) if parent == i]
        axis = sum(ends) / len(ends) if ends else model.link_com[i]
        if not is_traced(axis) and np.linalg.norm(axis) < 1e-9:
            axis = model.link_com[i]
    if not is_traced(axis) and np.linalg.norm(axis) < 1e-9:
        raise BadOption(f"link {model.link_names[i]!r} has no length to stretch: give axis=.")
    return rotations.normalise(jnp.asarray(axis))


def _drawn(six: AnyArray, A: AnyArray, heavier: Number) -> AnyArray:
    """Inertia of the body whose every point `x` went to `A x`."""
    moved = heavier * A @ inertia.second_moment(inertia.symmetric(six)) @ A.T
    return inertia.six_of(inertia.inertia_of_second(moved))


def _shapes(model: Model, i: int, A: AnyArray) -> dict[str, AnyArray]:
    """Shapes of the link, moved and drawn out; a ball stays a ball."""
    origin, size, points = model.shape_origin, model.shape_size, model.shape_points
    for s, (owner, kind) in enumerate(zip(model.shape_links, model.shape_kinds, strict=True)):
        if owner != i:
            continue
        R = rotations.matrix(model.shape_orientation[s])
        longer = jnp.linalg.norm(A @ R, axis=0)
        origin = replaced(origin, s, A @ model.shape_origin[s])
        if kind == "box":
            size = replaced(size, s, model.shape_size[s] * longer)
        elif kind in ("capsule", "cylinder"):
            size = replaced(
                size, s, model.shape_size[s] * jnp.stack([jnp.ones(()), longer[2], jnp.ones(())])
            )
        rows = slice(*model.shape_spans[s])
        points = replaced(points, rows, model.shape_points[rows] @ (R.T @ A @ R).T)
    return {"shape_origin": origin, "shape_size": size, "shape_points": points}
