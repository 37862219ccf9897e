"""The fields of a model that speak of contact: what touches what, and of what it is made."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from isthmus.model.arrays import as_leaf
from isthmus.model.leaves import LeafSpec
from isthmus.types import AnyArray


def _of_contact(name: str, unit: str, meaning: str) -> Any:
    """A number of each contact; models without contact have none."""
    spec = LeafSpec(f"contact/{name}", "contact", (), unit, meaning)
    return eqx.field(
        converter=as_leaf,
        metadata={"leaf": spec},
        kw_only=True,
        default_factory=lambda: np.zeros(0),
    )


class ContactFields(eqx.Module):
    """Contacts of a model; by default there are none."""

    contact_kinds: tuple[str, ...] = eqx.field(static=True, kw_only=True, default=())
    """How each contact acts: `penalty` or `impulse`. Contacts are points of a shape that may touch a plane."""
    contact_shapes: tuple[int, ...] = eqx.field(static=True, kw_only=True, default=())
    """The shape of each contact."""
    contact_corners: tuple[int, ...] = eqx.field(static=True, kw_only=True, default=())
    """Which point of that shape it is."""
    contact_planes: tuple[int, ...] = eqx.field(static=True, kw_only=True, default=())
    """The shape, a plane of the world, that it may touch."""
    contact_order: str = eqx.field(static=True, kw_only=True, default="impact")
    """How impulses are computed: `impact`, `plain` or `b`, as `with_contact` explains."""
    contact_sweeps: int = eqx.field(static=True, kw_only=True, default=30)
    """Sweeps of projected Gauss-Seidel over all impulses."""
    contact_newton: int = eqx.field(static=True, kw_only=True, default=4)
    """Newton steps after these, at most."""

    contact_friction: Float[AnyArray, " contacts"] = _of_contact(
        "friction", "1", "coefficient of friction"
    )
    contact_restitution: Float[AnyArray, " contacts"] = _of_contact(
        "restitution", "1", "speed after an impact for each unit of speed before (impulse)"
    )
    contact_restitution_speed: Float[AnyArray, " contacts"] = _of_contact(
        "restitution_speed", "m/s", "slower impacts do not bounce (impulse)"
    )
    contact_stiffness: Float[AnyArray, " contacts"] = _of_contact(
        "stiffness", "N/m^n", "force at a depth of 1 m, `n` being the exponent (penalty)"
    )
    contact_damping: Float[AnyArray, " contacts"] = _of_contact(
        "damping", "s/m", "share of the force that is added at a closing speed of 1 m/s (penalty)"
    )
    contact_exponent: Float[AnyArray, " contacts"] = _of_contact(
        "exponent", "1", "of the depth in the force (penalty)"
    )
    contact_friction_speed: Float[AnyArray, " contacts"] = _of_contact(
        "friction_speed", "m/s", "speed within which friction is smoothed (penalty)"
    )
    contact_softness: Float[AnyArray, " contacts"] = _of_contact(
        "softness", "1/kg", "speed that an impulse of 1 N·s gives the contact itself (impulse)"
    )
    contact_erp: Float[AnyArray, " contacts"] = _of_contact(
        "erp", "1", "share of the depth that one step corrects (impulse)"
    )
    contact_radius: Float[AnyArray, " contacts"] = _of_contact(
        "radius", "m", "rounding of edges and corners"
    )
