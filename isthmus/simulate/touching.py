"""What is checked before a model with contact moves: the integrator, the stiffness of springs, points in the ground."""

from __future__ import annotations

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np

from isthmus.contact.geometry import touch
from isthmus.contact.penalty import advised_substeps
from isthmus.dynamics.kinematics import forward_kinematics
from isthmus.errors import BadOption, StepWarning
from isthmus.model.arrays import is_traced
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.networks.signals import NO_SIGNALS
from isthmus.simulate.engine import compiled
from isthmus.simulate.integrate import Integrator, SemiImplicit
from isthmus.types import Number

DEEP = {"impulse": 1e-3, "penalty": 1e-2}
"""Depth [m] from which a start is in the ground; springs may carry a weight with less."""


def check_contact(model: Model, dt: Number | None, scheme: Integrator) -> None:
    """Refuses impulses in a scheme that has none, and warns of springs that are too stiff for `dt` [s]."""
    if "impulse" in model.contact_kinds and not isinstance(scheme, SemiImplicit):
        raise BadOption(
            f"{model.name!r} has contacts by impulses, which {scheme.name!r} does not have: use 'semi_implicit', "
            "or contacts of kind 'penalty'."
        )
    if "penalty" not in model.contact_kinds or dt is None or is_traced((model, dt)):
        return
    if (advised := advised_substeps(model, dt)) > scheme.substeps:
        warnings.warn(
            f"dt = {float(dt) / scheme.substeps:.3g} s is long for the springs and the friction of the contacts of "
            f"{model.name!r}: take substeps={advised}, softer springs (contact/stiffness), or a larger "
            "contact/friction_speed.",
            StepWarning,
            stacklevel=4,
        )


def warn_if_deep(model: Model, state: State) -> None:
    """Warns of contacts that start in the ground, with the depth: they would be thrown out of it."""
    if not model.contact_kinds or is_traced((model, state)):
        return
    q = np.asarray(state.q, np.float64)
    run = compiled(_depths, (model, q), "depths", None, (q,))
    if run is None:
        return
    depth = np.asarray(run(model, q)[0])
    over = depth - np.array([DEEP[kind] for kind in model.contact_kinds])
    worst = int(np.argmax(over))
    if over[worst] > 0.0:
        shape, other = (
            model.shape_names[shapes[worst]]
            for shapes in (model.contact_shapes, model.contact_planes)
        )
        plane = model.shape_kinds[model.contact_planes[worst]] == "plane"
        where, advice = ("the ground", "higher") if plane else (repr(other), "away from it")
        warnings.warn(
            f"{model.name!r} starts with {shape!r} {depth[worst]:.3g} m deep in {where}, which will throw it out: "
            f"start it {advice}.",
            StepWarning,
            stacklevel=3,
        )


def _depths(model: Model, q: Any) -> tuple[Any]:
    k = forward_kinematics(model, q, jnp.zeros(model.dof, q.dtype))
    return (touch(model, k, NO_SIGNALS).depth,)
