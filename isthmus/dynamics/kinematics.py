"""Poses and velocities of the links (Featherstone 2008, sections 3.5 and 4.4).

Joints of one kind are computed side by side, links of one depth too: only depth is walked.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.dynamics.entry import entry
from isthmus.dynamics.exact import exact
from isthmus.model.coordinates import expand_q, expand_v
from isthmus.model.joints import JOINTS, JointKind
from isthmus.model.layout import layout_of
from isthmus.model.levels import in_order, levels_of
from isthmus.model.model import Model
from isthmus.networks.signals import NO_SIGNALS, Signal
from isthmus.record import Record
from isthmus.spatial import rotations, transforms
from isthmus.spatial.inertia import spatial_inertia
from isthmus.spatial.products import mm, mtm, mtv, mv
from isthmus.spatial.vectors import cross_motion, skew
from isthmus.types import AnyArray, Coordinates, Joints, Quaternion, Vec3


class Kinematics(Record):
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


@entry
def forward_kinematics(
    model: Model, q: Coordinates, v: Joints | None = None, signal: Signal = NO_SIGNALS
) -> Kinematics:
    """Poses [m, quaternion] and velocities [rad/s, m/s] of all links; `v` None: at rest."""
    full_q = expand_q(model, q)
    full_v = expand_v(model, jnp.zeros(model.dof, full_q.dtype) if v is None else v)
    R, p, turn, v_J, c_J, S = _joint_motion(model, full_q, full_v)
    by_joint = jax.vmap(transforms.into_child)(R, p)
    X = signal("joint/transform", by_joint)
    if X is not by_joint:
        p, turn = jax.vmap(_displaced)(by_joint, X, p, turn)

    # outwards: each link moves with its parent, and along its joint
    levels = levels_of(model)
    velocity, position, quaternion = [], [], []
    for level in levels:
        v_l, p_l, turn_l = level.of(v_J), level.of(p), level.of(turn)
        if level.above is not None:
            above = level.from_parents(quaternion[-1])
            v_l = mv(level.of(X), level.from_parents(velocity[-1])) + v_l
            p_l = level.from_parents(position[-1]) + mv(jax.vmap(rotations.matrix)(above), p_l)
            turn_l = jax.vmap(rotations.product)(above, turn_l)
        velocity.append(v_l)
        position.append(p_l)
        quaternion.append(turn_l)

    twist = signal("link/velocity", in_order(levels, velocity))
    places = [in_order(levels, position), in_order(levels, quaternion)]
    pose = jnp.concatenate(places, axis=1)
    signal("link/pose", pose)
    found = Kinematics(X, S, twist, cross_motion(twist, v_J) + c_J, pose[:, :3], pose[:, 3:])
    if model.point_names:
        _publish_points(model, found, signal)
    return found


@exact
def link_inertias(model: Model) -> Float[AnyArray, "links 6 6"]:
    """Spatial inertia of each link about its own origin [kg·m², kg·m, kg]."""
    return jax.vmap(spatial_inertia)(model.link_mass, model.link_com, model.link_inertia)


@entry
def point_motion(model: Model, kinematics: Kinematics, link: str, place: Vec3) -> tuple[Vec3, Vec3]:
    """Position [m] and velocity [m/s] in the world of a place [m] given in a link's frame."""
    i = model.link(link)
    pose = kinematics.position[i], kinematics.quaternion[i], kinematics.velocity[i]
    return _carried(*pose, jnp.asarray(place))


@entry
def force_at(model: Model, kinematics: Kinematics, link: str, place: Vec3, force: Vec3) -> AnyArray:
    """A force [N] given in world axes, at a place [m] of a link: rows for `Control.force`, one for each link."""
    i = model.link(link)
    local = mtv(rotations.matrix(kinematics.quaternion[i]), jnp.asarray(force))
    row = jnp.concatenate([mv(skew(jnp.asarray(place)), local), local])
    return jnp.zeros((len(model.link_names), 6), row.dtype).at[i].set(row)


def _carried(
    position: Vec3, quaternion: Quaternion, twist: AnyArray, place: Vec3
) -> tuple[Vec3, Vec3]:
    """Position and velocity in the world of a place that a moving frame carries."""
    R = rotations.matrix(quaternion)
    return position + mv(R, place), mv(R, twist[3:] + mv(skew(twist[:3]), place))


def _displaced(before: AnyArray, X: AnyArray, p: Vec3, turn: Quaternion) -> tuple[Vec3, Quaternion]:
    """Origin and quaternion of a child in its parent after its transform was corrected from `before` to `X`."""
    (R_0, p_0), (R_1, p_1) = transforms.pose_of(before), transforms.pose_of(X)
    return p + (p_1 - p_0), rotations.product(turn, rotations.from_matrix(mtm(R_0, R_1)))


def _publish_points(model: Model, k: Kinematics, signal: Signal) -> None:
    """Positions and velocities of the named points; a link of −1 is the world, the last row here."""
    links = np.array(model.point_links)
    world = (jnp.zeros((1, 3)), jnp.array([rotations.IDENTITY]), jnp.zeros((1, 6)))
    rows = (k.position, k.quaternion, k.velocity)
    frames = [jnp.concatenate([row, rest])[links] for row, rest in zip(rows, world, strict=True)]
    position, velocity = jax.vmap(_carried)(*frames, jnp.asarray(model.point_origin))
    signal("point/position", position)
    signal("point/velocity", velocity)


def _joint_motion(model: Model, q: AnyArray, v: AnyArray):
    """For all joints: child's axes, origin and quaternion in the parent, `S v`, `Ṡ v`; and the list of `S`."""

    def motion(
        kind: JointKind, axis: Vec3, origin: Vec3, frame: Quaternion, q: AnyArray, v: AnyArray
    ):
        axis = rotations.normalise(axis) if kind.axial else axis
        (R_J, p_J), S, R = kind.pose(axis, q), kind.subspace(axis, q), rotations.matrix(frame)
        turn = rotations.product(rotations.normalise(frame), kind.turn(axis, q))
        bias = jnp.zeros(6, R.dtype) if kind.bias is None else kind.bias(axis, q, v)
        return (mm(R, R_J), origin + mv(R, p_J), turn, mv(S, v), bias), S

    order, groups = _groups(model.joint_kinds)
    leaves = (model.joint_axis, model.joint_origin, model.joint_orientation)
    stacked, S = [], [jnp.zeros((6, 0), q.dtype)] * len(model.joint_kinds)
    for kind, rows, at_q, at_v in groups:
        here = [
            jnp.asarray(leaf)[rows] if len(groups) > 1 else jnp.asarray(leaf) for leaf in leaves
        ]
        moves = jax.vmap(functools.partial(motion, JOINTS[kind]))
        out, subspaces = moves(*here, q[at_q], v[at_v])
        stacked.append(out)
        for n, i in enumerate(rows):
            S[i] = subspaces[n]
    if len(groups) == 1:
        return *stacked[0], S
    return *(jnp.concatenate(parts)[order] for parts in zip(*stacked, strict=True)), S


@functools.lru_cache(maxsize=256)
def _groups(kinds: tuple[str, ...]):
    """Joints by kind: (kind, joints, rows in expanded `q`, rows in expanded `v`), and the order to undo it."""
    layout = layout_of(kinds, ())
    groups = []
    for kind in dict.fromkeys(kinds):
        rows = np.array([i for i, k in enumerate(kinds) if k == kind], dtype=np.int32)
        at_q = np.array([range(*layout.q[i]) for i in rows], dtype=np.int32).reshape(len(rows), -1)
        at_v = np.array([range(*layout.v[i]) for i in rows], dtype=np.int32).reshape(len(rows), -1)
        groups.append((kind, rows, at_q, at_v))
    order = np.argsort(np.concatenate([rows for _, rows, _, _ in groups]))
    return order.astype(np.int32), groups  # 64-bit indices would not survive a change of precision
