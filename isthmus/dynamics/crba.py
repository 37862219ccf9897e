"""Joint-space inertia by the composite rigid body algorithm (Featherstone 2008, table 6.2)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.dynamics.entry import entry
from isthmus.dynamics.exact import exact
from isthmus.dynamics.kinematics import Kinematics, forward_kinematics, link_inertias
from isthmus.model.model import Model
from isthmus.spatial.products import mm, mtm
from isthmus.spatial.transforms import carried_back
from isthmus.types import AnyArray, Coordinates


@entry
def mass_matrix(model: Model, q: Coordinates) -> Float[AnyArray, "n n"]:
    """The matrix `H` of `τ = H q̈ + C` [kg·m², kg·m, kg], armature included."""
    return mass_matrix_at(model, forward_kinematics(model, q), link_inertias(model))


@exact
def mass_matrix_at(
    model: Model, kinematics: Kinematics, inertias: Float[AnyArray, "links 6 6"]
) -> Float[AnyArray, "n n"]:
    """`mass_matrix` where the kinematics and the spatial inertias of the links are known."""
    X, S, I = kinematics.X, kinematics.S, list(inertias)
    spans = model.layout.v

    # inwards: what hangs from each joint, as one rigid body
    for i, parent in model.inwards():
        if parent >= 0:
            I[parent] = I[parent] + carried_back(X[i], I[i])

    # from each joint to the root: the force that its motion takes, felt by the joints between
    H = jnp.zeros((spans[-1][1], spans[-1][1]), X.dtype)
    for i, parent in model.outwards():
        F = mm(I[i], S[i])
        here = slice(*spans[i])
        H = H.at[here, here].set(mtm(S[i], F))
        j = i
        while parent >= 0:
            F, j = mtm(X[j], F), parent
            there, parent = slice(*spans[j]), model.parents[j]
            H = H.at[there, here].set(mtm(S[j], F)).at[here, there].set(mtm(F, S[j]))
    if model.mimics:
        G = independent(model, H.dtype)
        H = mtm(G, mm(H, G))
    return H + jnp.diag(jnp.asarray(model.joint_armature))


@exact
def independent(model: Model, dtype: Any) -> AnyArray:
    """The matrix `G` of `v_all = G v`: velocities of all joints from those that mimic none."""
    source = np.array(model.layout.v_source)
    G = jnp.zeros((len(source), model.dof), dtype).at[np.arange(len(source)), source].set(1.0)
    rows = np.array([model.layout.v[i][0] for i, _ in model.mimics])
    return G.at[rows, source[rows]].set(model.mimic_multiplier)
