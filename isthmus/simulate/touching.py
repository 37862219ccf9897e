"""What is checked when a model with contact moves: the integrator, stiff springs, starts in the ground, impulses."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.contact.geometry import touch
from isthmus.contact.penalty import advised_substeps
from isthmus.contact.solve import UNSOLVED
from isthmus.dynamics.kinematics import forward_kinematics
from isthmus.errors import BadOption, StepWarning
from isthmus.model.arrays import is_traced
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.networks.signals import NO_SIGNALS
from isthmus.simulate.engine import compiled
from isthmus.simulate.integrate import Integrator, SemiImplicit
from isthmus.types import AnyArray, Number

DEEP = {"impulse": 1e-3, "penalty": 1e-2}
"""Depth [m] from which a start is in the ground; springs may carry a weight with less."""
RESIDUAL = "contact/residual"


def check_contact(model: Model, dt: Number | None, scheme: Integrator) -> None:
    """Refuses impulses in a scheme that has none, and warns of springs that are too stiff for `dt` [s]."""
    if "impulse" in model.contact_kinds and not isinstance(scheme, SemiImplicit):
        raise BadOption(
            f"{model.name!r} has contacts by impulses, which {scheme.name!r} does not have: use 'semi_implicit', "
            "or contacts of kind 'penalty'."
        )
    if "penalty" not in model.contact_kinds or dt is None or is_traced((model, dt)):
        return
    explicit = not isinstance(scheme, SemiImplicit) or scheme.explicit
    if (advised := advised_substeps(model, dt, explicit=explicit)) > scheme.substeps:
        warnings.warn(
            f"dt = {float(dt) / scheme.substeps:.3g} s is long for the springs and the friction of the contacts of "
            f"{model.name!r}: take substeps={advised}, softer springs (contact/stiffness), or a larger "
            "contact/friction_speed.",
            StepWarning,
            stacklevel=4,
        )


def warn_if_deep(
    model: Model, q: AnyArray, worlds: Sequence[bool] | None = None, name: str = "world"
) -> None:
    """Warns of contacts that start in the ground, with the depth: they would be thrown out of it.

    `q`: coordinates of the start. `worlds`: for each leaf of the model and for `q`, whether it has a leading axis of
    worlds, which messages call `name`.
    """
    if not model.contact_kinds or is_traced((model, q)):
        return
    q, many = np.asarray(q, np.float64), worlds is not None
    leaves, tree = jax.tree.flatten((model, q if many else q[None]))
    flags = [*[False] * (len(leaves) - 1), True] if worlds is None else list(worlds)
    first = tree.unflatten([x[0] if own else x for x, own in zip(leaves, flags, strict=True)])
    run = compiled(depths, first, "depths", None, (first[1],))
    if run is None:
        return
    arrays = [np.asarray(x) for x in leaves]
    depth = np.nan_to_num(run.flat_map(arrays, 1, [not own for own in flags])[0], nan=-np.inf)
    over = depth - np.array([DEEP[kind] for kind in model.contact_kinds])
    world, worst = np.unravel_index(np.argmax(over), over.shape)
    if over[world, worst] > 0.0:
        shape, other = (rows[worst] for rows in (model.contact_shapes, model.contact_planes))
        plane = model.shape_kinds[other] == "plane"
        what = "the ground" if plane else repr(model.shape_names[other])
        place = f" in {name} {world}" if many else ""
        warnings.warn(
            f"{model.name!r} starts with {model.shape_names[shape]!r} {depth[world, worst]:.3g} m deep in {what}"
            f"{place}, which will throw it out: start it {'higher' if plane else 'away from it'}.",
            StepWarning,
            stacklevel=4,
        )


def depths(model: Model, q: Any) -> tuple[Any]:
    """How far each contact is in what it touches, at the coordinates `q` [m]."""
    k = forward_kinematics(model, q, jnp.zeros(model.dof, q.dtype))
    return (touch(model, k, NO_SIGNALS).depth,)


def warn_if_unsolved(model: Model, motion: Motion, asked: Sequence[str]) -> Motion:
    """Warns where impulses were not found, with the step and the residual, and leaves the residual out unless asked."""
    off = motion.signals.get(RESIDUAL)
    if off is None or RESIDUAL in asked:
        rest = motion
    else:
        signals = {name: x for name, x in motion.signals.items() if name != RESIDUAL}
        rest = dataclasses.replace(motion, signals=signals)
    if off is None or is_traced(off) or not np.any(np.asarray(off) > UNSOLVED):
        return rest
    series = np.nan_to_num(np.asarray(off))
    *world, step = np.unravel_index(np.argmax(series), series.shape)
    place = f" of world {world[0]}" if world else ""
    warnings.warn(
        f"the impulses of {model.name!r} were not found in {np.sum(series > UNSOLVED)} steps: in step {step}{place} "
        f"velocities are off by {series.max():.2g} m/s. Take more sweeps= or newton= in ist.with_contact, or shorter "
        "steps.",
        StepWarning,
        stacklevel=4,
    )
    return rest
