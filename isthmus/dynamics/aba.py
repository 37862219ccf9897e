"""Forward dynamics by the articulated body algorithm (Featherstone 2008, table 7.1).

Links of one level are taken side by side: `IA[n]` holds the articulated inertias of all links at depth `n`.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.dynamics.crba import mass_matrix_at
from isthmus.dynamics.entry import entry
from isthmus.dynamics.exact import exact
from isthmus.dynamics.jacobians import link_jacobians
from isthmus.dynamics.kinematics import Kinematics, forward_kinematics
from isthmus.dynamics.rnea import LinkDynamics, link_dynamics, torques_of, upwards
from isthmus.model.levels import dofs_of, in_order, joints_in_order, levels_of, pairs_of
from isthmus.model.model import Model
from isthmus.model.state import prescribed_rows
from isthmus.networks.signals import NO_SIGNALS, Signal
from isthmus.record import Record
from isthmus.spatial.products import mm, mmt, mtm, mtv, mv
from isthmus.spatial.solve import inverse_spd
from isthmus.spatial.transforms import carried_back
from isthmus.types import AnyArray, Coordinates, Joints


class AddedInertia(Record):
    """Inertia beside the model's own. An implicit step of `dt` adds `dt · slope` for what resists motion."""

    joint: Joints | None = None
    """For each degree of freedom, beside the armature [kg·m², kg]."""
    link: Float[AnyArray, "links 6 6"] | None = None
    """For each link, in its frame; it resists the accelerations of joints only, not gravity or `J̇ v` [kg·m², kg]."""
    dof: Float[AnyArray, "dof dof"] | None = None
    """A matrix in joint space [kg·m², kg·m, kg]."""


NOTHING_ADDED = AddedInertia()


@entry
def forward_dynamics(
    model: Model,
    q: Coordinates,
    v: Joints,
    tau: Joints,
    signal: Signal = NO_SIGNALS,
    *,
    force: Float[AnyArray, "links 6"] | None = None,
    prescribed: Float[AnyArray, " pv"] | None = None,
) -> Joints:
    """Joint accelerations [rad/s², m/s²] under the torques `tau` [N·m, N]; passive torques are not added.

    `force` acts on the links, in their own frames (moment, then force); `prescribed` are the accelerations of
    prescribed joints (None: zero).
    """
    kinematics = forward_kinematics(model, q, v, signal)
    return forward_dynamics_at(model, kinematics, tau, signal, force=force, prescribed=prescribed)


@exact
def forward_dynamics_at(
    model: Model,
    kinematics: Kinematics,
    tau: Joints,
    signal: Signal = NO_SIGNALS,
    *,
    force: Float[AnyArray, "links 6"] | None = None,
    prescribed: Float[AnyArray, " pv"] | None = None,
    added: AddedInertia = NOTHING_ADDED,
) -> Joints:
    """`forward_dynamics` where the kinematics are known; `added` is inertia beside the model's."""
    k = kinematics
    link = link_dynamics(model, k, force, signal)
    if model.mimics or added.dof is not None:
        return _by_mass_matrix(model, k, link, tau, prescribed, added)
    I, c, p = link
    if added.link is not None:
        I, p = I + added.link, p - mv(added.link, _with_joints_at_rest(model, k.X, c))
    if model.prescribed:
        c = c + _given_accelerations(model, k, prescribed)
    rotor = model.joint_armature if added.joint is None else model.joint_armature + added.joint
    levels = levels_of(model)
    X, S = [level.of(k.X) for level in levels], [level.subspaces(k.S) for level in levels]
    c_l = [level.of(c) for level in levels]

    # inwards: the inertia and the bias force of all that hangs from each joint, as felt through it
    IA, pA = [level.of(I) for level in levels], [level.of(p) for level in levels]
    U, Di, u = {}, {}, {}
    for n, level in reversed(list(enumerate(levels))):
        IA[n] = signal("link/articulated_inertia", IA[n], row=level.rows)
        pA[n] = signal("link/articulated_bias_force", pA[n], row=level.rows)
        U[n] = mm(IA[n], S[n])
        D = mtm(S[n], U[n]) + level.diagonal(rotor)
        Di[n] = inverse_spd(signal("joint/articulated_inertia", D, row=pairs_of(model, level)))
        u[n] = level.of_joints(tau) - mtv(S[n], pA[n])
        u[n] = signal("joint/articulated_torque", u[n], row=dofs_of(level))
        UDi = mm(U[n], Di[n])
        Ia = IA[n] - mmt(UDi, U[n])
        pa = pA[n] + mv(Ia, c_l[n]) + mv(UDi, u[n])
        if n > 0:
            IA[n - 1] = IA[n - 1] + level.to_parents(carried_back(X[n], Ia))
            pA[n - 1] = pA[n - 1] + level.to_parents(mtv(X[n], pa))
    _publish_prescribed(model, signal)

    # outwards: each joint accelerates as its parent leaves it free to
    a: list[AnyArray] = []
    qdd: list[AnyArray] = []
    for n, level in enumerate(levels):
        above = upwards(model.gravity)[None] if n == 0 else level.from_parents(a[n - 1])
        carried = mv(X[n], above) + c_l[n]
        qdd.append(mv(Di[n], u[n] - mtv(U[n], carried)))
        a.append(signal("link/acceleration", carried + mv(S[n], qdd[n]), row=level.rows))
    _, rows = prescribed_rows(model)
    given = jnp.zeros(len(rows), k.X.dtype) if prescribed is None else jnp.asarray(prescribed)
    return joints_in_order(levels, qdd, given, rows)


def _with_joints_at_rest(model: Model, X: AnyArray, c: AnyArray) -> AnyArray:
    """Accelerations of the links while those of all joints are zero: gravity and velocity products."""
    a: list[AnyArray] = []
    levels = levels_of(model)
    for n, level in enumerate(levels):
        above = upwards(model.gravity)[None] if n == 0 else level.from_parents(a[n - 1])
        a.append(mv(level.of(X), above) + level.of(c))
    return in_order(levels, a)


def _publish_prescribed(model: Model, signal: Signal) -> None:
    """Prescribed joints take no part in the recursion: zeros in their rows of what it publishes."""
    for name, family in (
        ("joint/articulated_inertia", "pair"),
        ("joint/articulated_torque", "dof"),
    ):
        owned = model.rows(family)
        rows = [r for i in model.prescribed for r in owned[model.joint_names[i]]]
        if rows:
            signal(name, jnp.zeros(len(rows)), row=np.array(rows, np.int32))


def _given_accelerations(model: Model, k: Kinematics, prescribed: AnyArray | None) -> AnyArray:
    """What prescribed joints add to the acceleration of their links."""
    if prescribed is None:
        return jnp.zeros_like(k.bias)
    parts, start = {}, 0
    for i in model.prescribed:
        size = model.kind(i).nv
        parts[i] = mv(k.S[i], prescribed[start : start + size])
        start += size
    return jnp.stack([parts.get(i, jnp.zeros_like(k.bias[i])) for i, _ in model.outwards()])


def _by_mass_matrix(
    model: Model,
    k: Kinematics,
    link: LinkDynamics,
    tau: Joints,
    prescribed: AnyArray | None,
    added: AddedInertia,
) -> Joints:
    """The same from `H` and `C`, where joints mimic others or share inertia, beyond what a recursion can do."""
    H = total_inertia(model, k, link.I, added)
    C = torques_of(model, k, link, jnp.zeros(model.dof, k.X.dtype))
    if not model.prescribed:
        return jnp.linalg.solve(H, tau - C)
    _, rows = prescribed_rows(model)
    free = np.setdiff1d(np.arange(model.dof), rows)
    given = jnp.zeros(len(rows)) if prescribed is None else prescribed
    rest = jnp.linalg.solve(H[free][:, free], (tau - C)[free] - H[free][:, rows] @ given)
    return jnp.zeros(model.dof, rest.dtype).at[rows].set(given).at[free].set(rest)


@exact
def total_inertia(
    model: Model, k: Kinematics, inertias: Float[AnyArray, "links 6 6"], added: AddedInertia
) -> Float[AnyArray, "n n"]:
    """The mass matrix [kg·m², kg·m, kg] with what is added to it."""
    H = mass_matrix_at(model, k, inertias)
    H = H if added.joint is None else H + jnp.diag(added.joint)
    H = H if added.dof is None else H + added.dof
    if added.link is not None:
        J = link_jacobians(model, k)
        H = H + jnp.einsum("lin,lij,ljm->nm", J, added.link, J)
    return H
