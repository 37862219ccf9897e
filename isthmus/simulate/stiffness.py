"""Warnings about resistance that a scheme takes explicitly: learned drag, and dry friction where `dt` is too long."""

from __future__ import annotations

import warnings

import jax
import numpy as np

from isthmus.dynamics.crba import mass_matrix
from isthmus.errors import StepWarning
from isthmus.model.arrays import is_traced
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.simulate.integrate import Integrator, SemiImplicit
from isthmus.types import Number

_mass_matrix = jax.jit(
    mass_matrix
)  # operation by operation, XLA would compile hundreds of programs


def warn_if_stiff(model: Model, state: State, dt: Number, scheme: Integrator) -> None:
    """Warns where `dt · friction / (friction_speed · H_ii) > 1`, stiction included: such a joint would shake."""
    if isinstance(scheme, SemiImplicit) and not scheme.explicit:
        return
    _warn_of_drag(model, scheme)
    if is_traced((model, state, dt)):
        return
    friction = np.asarray(model.joint_friction) + model.joint_stiction
    if not friction.any():
        return
    if np.ndim(state.q) != 1 or np.ndim(model.link_mass) != 1:
        return
    H = np.diag(np.asarray(_mass_matrix(model, state.q)))
    ratio = dt / scheme.substeps * friction / (model.joint_friction_speed * H)
    names = [name for name, rows in model.rows("dof").items() if np.any(ratio[list(rows)] > 1.0)]
    if names:
        warnings.warn(
            f"dt = {dt:g} s is too long for the dry friction of {', '.join(map(repr, names))} in an explicit scheme "
            f"(dt·friction/(friction_speed·H) = {np.max(ratio):.3g} > 1): it will shake. Shorten dt, raise "
            f"joint/friction_speed, or leave explicit=True out.",
            StepWarning,
            stacklevel=3,
        )


def _warn_of_drag(model: Model, scheme: Integrator) -> None:
    """Warns that an explicit scheme may create energy from the force of a dissipative network."""
    if names := [repr(w.name) for w in model.networks if w.plan.law == "dissipative"]:
        warnings.warn(
            f"{scheme.name!r} takes the force −D v of Dissipative networks ({', '.join(names)}) explicitly: its power "
            "is never positive, but a step creates energy where dt·D exceeds twice the inertia. Use the semi-implicit "
            "integrator without explicit=True, which never does, or keep dt short.",
            StepWarning,
            stacklevel=4,
        )
