"""Poses and velocities of the links (Featherstone 2008, sections 3.5 and 4.4).

Joints of one kind are computed side by side; only what must follow the tree loops over it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.augment.signals import NO_SIGNALS, NoSignals
from isthmus.dynamics.exact import exact
from isthmus.model.coordinates import expand_q, expand_v
from isthmus.model.joints import JOINTS, JointKind
from isthmus.model.layout import layout_of
from isthmus.model.model import Model
from isthmus.spatial import rotations, transforms
from isthmus.spatial.inertia import spatial_inertia
from isthmus.spatial.vectors import cross_motion, skew
from isthmus.types import AnyArray, Coordinates, Joints, Quaternion, Spatial, Vec3


class Kinematics(eqx.Module):
    """Where all links are and how they move; spatial vectors in each link's own frame."""

    X: Float[AnyArray, "links 6 6"]
    """`X[i]` takes motions from the parent's frame to link `i`'s."""
    S: list[Float[AnyArray, "6 _"]]
    """Motion subspace of each joint."""
    velocity: Float[AnyArray, "links 6"]
    """Angular [rad/s], then linear [m/s]."""
    bias: Float[AnyArray, "links 6"]
    """Acceleration that remains when all joint accelerations are zero, less the parent's."""
    position: Float[AnyArray, "links 3"]
    """Origin in the world [m]."""
    quaternion: Float[AnyArray, "links 4"]
    """Axes in the world."""

    @property
    def pose(self) -> Float[AnyArray, "links 7"]:
        """Position, then quaternion, of each link in the world."""
        return jnp.concatenate([self.position, self.quaternion], axis=1)

    @property
    def rotation(self) -> Float[AnyArray, "links 3 3"]:
        """Rotation matrix of each link in the world."""
        return jax.vmap(rotations.matrix)(self.quaternion)


@exact
def forward_kinematics(
    model: Model, q: Coordinates, v: Joints | None = None, signal: NoSignals = NO_SIGNALS
) -> Kinematics:
    """Poses [m, quaternion] and velocities [rad/s, m/s] of all links; `v` None: at rest."""
    full_q = expand_q(model, q)
    full_v = expand_v(model, jnp.zeros(model.dof, full_q.dtype) if v is None else v)
    R, p, v_J, c_J, S = _joint_motion(model, full_q, full_v)
    X = signal("joint/transform", jax.vmap(transforms.into_child)(R, p))

    # outwards: each link moves with its parent, and along its joint
    velocity: list[Spatial] = []
    for i, parent in model.outwards():
        velocity.append(v_J[i] if parent < 0 else X[i] @ velocity[parent] + v_J[i])
    twist = signal("link/velocity", jnp.stack(velocity))
    position, quaternion = _world_poses(model, full_q, p)
    pose = signal("link/pose", jnp.concatenate([position, quaternion], axis=1))
    found = Kinematics(
        X, S, twist, jax.vmap(cross_motion)(twist, v_J) + c_J, pose[:, :3], pose[:, 3:]
    )
    if model.point_names:
        _publish_points(model, found, signal)
    return found


@exact
def link_inertias(model: Model) -> Float[AnyArray, "links 6 6"]:
    """Spatial inertia of each link about its own origin [kg·m², kg·m, kg]."""
    return jax.vmap(spatial_inertia)(model.link_mass, model.link_com, model.link_inertia)


@exact
def point_motion(model: Model, kinematics: Kinematics, i: int, place: Vec3) -> tuple[Vec3, Vec3]:
    """Position [m] and velocity [m/s] in the world of a place given in link `i`'s frame; −1: the world."""
    if i < 0:
        return jnp.asarray(place), jnp.zeros(3)
    R = rotations.matrix(kinematics.quaternion[i])
    twist = kinematics.velocity[i]
    return kinematics.position[i] + R @ place, R @ (twist[3:] + skew(twist[:3]) @ place)


@exact
def force_at(model: Model, kinematics: Kinematics, link: str, place: Vec3, force: Vec3) -> AnyArray:
    """A force [N] given in world axes, at a place [m] of a link: rows for `Control.force`, one for each link."""
    i = model.link(link)
    local = rotations.matrix(kinematics.quaternion[i]).T @ jnp.asarray(force)
    row = jnp.concatenate([skew(jnp.asarray(place)) @ local, local])
    return jnp.zeros((len(model.link_names), 6), row.dtype).at[i].set(row)


def _publish_points(model: Model, kinematics: Kinematics, signal: NoSignals) -> None:
    rows = [
        point_motion(model, kinematics, link, model.point_origin[k])
        for k, link in enumerate(model.point_links)
    ]
    signal("point/position", jnp.stack([position for position, _ in rows]))
    signal("point/velocity", jnp.stack([velocity for _, velocity in rows]))


def _joint_motion(model: Model, q: AnyArray, v: AnyArray):
    """For all joints: child's axes and origin in the parent, `S v`, `Ṡ v`; and the list of `S`."""

    def motion(
        kind: JointKind, axis: Vec3, origin: Vec3, turn: Quaternion, q: AnyArray, v: AnyArray
    ):
        axis = rotations.normalise(axis) if kind.axial else axis
        (R_J, p_J), S, R = kind.pose(axis, q), kind.subspace(axis, q), rotations.matrix(turn)
        bias = jnp.zeros(6, R.dtype) if kind.bias is None else kind.bias(axis, q, v)
        return (R @ R_J, origin + R @ p_J, S @ v, bias), S

    leaves = (model.joint_axis, model.joint_origin, model.joint_orientation)
    return _for_all_joints(model, motion, leaves, q, v)


def _for_all_joints(
    model: Model, f: Callable, leaves: tuple[AnyArray, ...], q: AnyArray, v: AnyArray
):
    """`f` for every joint, those of one kind side by side; stacked in the order of joints."""
    stacked, S = [], [jnp.zeros((6, 0))] * len(model.joint_kinds)
    order, groups = _groups(model.joint_kinds)
    for kind, rows, at_q, at_v in groups:
        here = [
            jnp.asarray(leaf)[rows] if len(groups) > 1 else jnp.asarray(leaf) for leaf in leaves
        ]
        out, subspaces = jax.vmap(functools.partial(f, JOINTS[kind]))(*here, q[at_q], v[at_v])
        stacked.append(out)
        for k, i in enumerate(rows):
            S[i] = subspaces[k]
    if len(groups) == 1:
        return *stacked[0], S
    return *(jnp.concatenate(parts)[order] for parts in zip(*stacked, strict=True)), S


@functools.lru_cache(maxsize=256)
def _groups(kinds: tuple[str, ...]):
    """Joints by kind: (kind, joints, rows in expanded `q`, rows in expanded `v`), and the way back."""
    layout = layout_of(kinds, ())
    groups = []
    for kind in dict.fromkeys(kinds):
        rows = np.array([i for i, k in enumerate(kinds) if k == kind], dtype=np.int32)
        at_q = np.array([range(*layout.q[i]) for i in rows], dtype=np.int32).reshape(len(rows), -1)
        at_v = np.array([range(*layout.v[i]) for i in rows], dtype=np.int32).reshape(len(rows), -1)
        groups.append((kind, rows, at_q, at_v))
    order = np.argsort(np.concatenate([rows for _, rows, _, _ in groups]))
    return order.astype(np.int32), groups  # 64-bit indices would not survive a change of precision


def _world_poses(model: Model, q: AnyArray, p: Float[AnyArray, "links 3"]):
    """Positions and quaternions of all links in the world."""
    position, quaternion = [], []
    for i, parent in model.outwards():
        kind, (start, stop) = model.kind(i), model.layout.q[i]
        axis = jnp.asarray(model.joint_axis)[i]
        turn = kind.turn(rotations.normalise(axis) if kind.axial else axis, q[start:stop])
        frame = rotations.normalise(jnp.asarray(model.joint_orientation)[i])
        local = rotations.product(frame, turn)
        if parent < 0:
            position.append(p[i])
            quaternion.append(local)
        else:
            position.append(position[parent] + rotations.matrix(quaternion[parent]) @ p[i])
            quaternion.append(rotations.product(quaternion[parent], local))
    return jnp.stack(position), jnp.stack(quaternion)
