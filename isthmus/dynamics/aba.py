"""Forward dynamics by the articulated body algorithm (Featherstone 2008, table 7.1)."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.augment.signals import NO_SIGNALS, NoSignals
from isthmus.dynamics.crba import mass_matrix
from isthmus.dynamics.exact import exact
from isthmus.dynamics.kinematics import Kinematics, forward_kinematics, link_inertias
from isthmus.dynamics.rnea import bias_forces, bias_torque, upwards
from isthmus.model.model import Model
from isthmus.model.state import prescribed_rows
from isthmus.spatial.solve import inverse_spd
from isthmus.types import AnyArray, Coordinates, Joints, Spatial


@exact
def forward_dynamics(
    model: Model,
    q: Coordinates,
    v: Joints,
    tau: Joints,
    signal: NoSignals = NO_SIGNALS,
    *,
    force: Float[AnyArray, "links 6"] | None = None,
    prescribed: Float[AnyArray, " pv"] | None = None,
    implicit: Joints | None = None,
    kinematics: Kinematics | None = None,
) -> Joints:
    """Joint accelerations [rad/s², m/s²] under the torques `tau` [N·m, N]; passive torques are not added.

    `force` acts on the links, in their own frames (moment, then force); `prescribed` are the accelerations of
    prescribed joints (None: zero); `implicit` is added to the armature (an implicit integrator's damping).
    """
    if model.mimics:
        return _by_mass_matrix(model, q, v, tau, force, prescribed, implicit)
    k = forward_kinematics(model, q, v, signal) if kinematics is None else kinematics
    X, S, I = k.X, k.S, link_inertias(model)
    c = signal("link/bias_acceleration", k.bias)
    p = signal("link/bias_force", bias_forces(I, k.velocity, force))
    rotor = model.joint_armature if implicit is None else model.joint_armature + implicit
    given = _given_accelerations(model, prescribed)

    # inwards: the inertia and the bias force of all that hangs from each joint, as felt through it
    IA, pA = list(I), list(p)
    U, Di, u = {}, {}, {}
    for i, parent in model.inwards():
        IA[i] = signal("link/articulated_inertia", IA[i], row=i)
        rows = slice(*model.layout.v[i])
        Ia, pa = IA[i], pA[i] + IA[i] @ c[i]
        if i in given:
            pa = pa + IA[i] @ (S[i] @ given[i])
        elif S[i].shape[1]:
            U[i] = IA[i] @ S[i]
            Di[i] = inverse_spd(S[i].T @ U[i] + np.eye(S[i].shape[1]) * rotor[rows][None])
            u[i] = tau[rows] - S[i].T @ pA[i]
            UDi = U[i] @ Di[i]
            Ia = IA[i] - UDi @ U[i].T
            pa = pA[i] + Ia @ c[i] + UDi @ u[i]
        if parent >= 0:
            IA[parent] = IA[parent] + X[i].T @ Ia @ X[i]
            pA[parent] = pA[parent] + X[i].T @ pa

    # outwards: each joint accelerates as its parent leaves it free to
    a: list[Spatial] = []
    qdd: list[AnyArray] = []
    for i, parent in model.outwards():
        carried = X[i] @ (upwards(model.gravity) if parent < 0 else a[parent]) + c[i]
        if i in given:
            qdd.append(given[i])
        elif i in U:
            qdd.append(Di[i] @ (u[i] - U[i].T @ carried))
        else:
            qdd.append(jnp.zeros(0, X.dtype))
        a.append(signal("link/acceleration", carried + S[i] @ qdd[i], row=i))
    return jnp.concatenate(qdd)


def _given_accelerations(model: Model, prescribed: AnyArray | None) -> dict[int, AnyArray]:
    """Acceleration of each prescribed joint."""
    given, start = {}, 0
    for i in model.prescribed:
        size = model.kind(i).nv
        given[i] = jnp.zeros(size) if prescribed is None else prescribed[start : start + size]
        start += size
    return given


def _by_mass_matrix(
    model: Model,
    q: Coordinates,
    v: Joints,
    tau: Joints,
    force: AnyArray | None,
    prescribed: AnyArray | None,
    implicit: Joints | None,
) -> Joints:
    """The same from `H` and `C`, for mechanisms with mimicking joints: they are no tree of free joints."""
    H = mass_matrix(model, q)
    H = H if implicit is None else H + jnp.diag(implicit)
    C = bias_torque(model, q, v, force=force)
    if not model.prescribed:
        return jnp.linalg.solve(H, tau - C)
    _, rows = prescribed_rows(model)
    free = np.setdiff1d(np.arange(model.dof), rows)
    given = jnp.zeros(len(rows)) if prescribed is None else prescribed
    rest = jnp.linalg.solve(H[free][:, free], (tau - C)[free] - H[free][:, rows] @ given)
    return jnp.zeros(model.dof, rest.dtype).at[rows].set(given).at[free].set(rest)
