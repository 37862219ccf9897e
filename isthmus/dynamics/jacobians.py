"""Link and point Jacobians: joint velocities to velocities of a link or of a place on it."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Float

from isthmus.dynamics.crba import independent
from isthmus.dynamics.entry import entry
from isthmus.dynamics.exact import exact
from isthmus.dynamics.kinematics import Kinematics, forward_kinematics
from isthmus.model.model import Model
from isthmus.spatial import rotations
from isthmus.spatial.products import mm
from isthmus.spatial.vectors import skew
from isthmus.types import AnyArray, Coordinates, Vec3


@entry
def link_jacobian(model: Model, q: Coordinates, link: str) -> Float[AnyArray, "6 n"]:
    """`J` with `J v` the link's velocity [rad/s, m/s] in its own frame, angular part first."""
    k = forward_kinematics(model, q)
    return _jacobian(model, k.X, k.S, model.link(link))


@entry
def point_jacobian(
    model: Model, q: Coordinates, point: str, place: Vec3 | None = None
) -> Float[AnyArray, "3 n"]:
    """`J` with `J v` the velocity [m/s], in world axes, of a named point; or of `place` on the link `point`."""
    if place is None:
        row = model.point(point)
        i, place = model.point_links[row], jnp.asarray(model.point_origin)[row]
    else:
        i, place = model.link(point), jnp.asarray(place)
    k = forward_kinematics(model, q)
    if i < 0:
        return jnp.zeros((3, model.dof), k.X.dtype)
    J = _jacobian(model, k.X, k.S, i)
    return mm(rotations.matrix(k.quaternion[i]), J[3:] - mm(skew(place), J[:3]))


@exact
def link_jacobians(model: Model, kinematics: Kinematics) -> Float[AnyArray, "links 6 n"]:
    """`link_jacobian` of every link."""
    k = kinematics
    return jnp.stack([_jacobian(model, k.X, k.S, i) for i, _ in model.outwards()])


def _jacobian(model: Model, X: AnyArray, S: list[AnyArray], i: int) -> AnyArray:
    """The motion of link `i` for each joint between it and the root."""
    J = jnp.zeros((6, model.layout.v[-1][1]), X.dtype)
    X_i_j = jnp.eye(6, dtype=X.dtype)
    while i >= 0:
        J = J.at[:, slice(*model.layout.v[i])].set(mm(X_i_j, S[i]))
        X_i_j, i = mm(X_i_j, X[i]), model.parents[i]
    return mm(J, independent(model, J.dtype)) if model.mimics else J
