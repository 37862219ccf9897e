"""Bodies at the edge of what can exist: there log-Cholesky numbers have no effect, and a search ends without a minimum.

A body of log-Cholesky numbers is `U Uᵀ`: `U[3, 3]²` is its mass, and its second moments about the centre of mass are
those of the first three rows and columns of `U`.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from isthmus.identify.parameters.parameters import Parameters
from isthmus.identify.search.bodies import factor

POINT = 1e-3
"""Radius of gyration, as a share of the distance of the centre of mass from the link's origin, of a point."""
FLAT = 1e-4
"""Smallest radius of gyration, as a share of the largest, of a flat body; it must have shrunk a hundredfold, too."""
LIGHT, FAR = 1e-4, 1e3
"""Mass, in units of the start's, and distance of the centre of mass from the link's origin, in units of the start's (at
least 0.1 m), that no body has."""


def edges(
    parameters: Parameters, z: Float[np.ndarray, " p"], first: Float[np.ndarray, " p"]
) -> tuple[str, ...]:
    """A sentence for each body at an edge, for the point `z` of a search that began at `first`."""
    links = [g.labels[0].rpartition("/")[0] for g in parameters.groups if not g.direct]
    found = []
    for link, body in zip(links, parameters.bodies(), strict=True):
        scale = parameters.scale[body]
        if edge := _edge(factor(z[body] * scale), factor(first[body] * scale)):
            found.append(
                f"{link}/inertial is at an edge of what bodies can be: {edge}. Start from a body of "
                f"about the right mass and size (ist.identify.start_from_torque finds one), or give a prior."
            )
    return tuple(found)


def _edge(U: np.ndarray, start: np.ndarray) -> str:
    """At which edge a body is; empty: at none."""
    (mass, radii, away), (old_mass, old_radii, old_away) = _sizes(U), _sizes(start)
    if mass < LIGHT * old_mass:
        return f"its mass is {mass:.3g} kg (it began with {old_mass:.3g} kg)"
    if away > FAR * max(old_away, 0.1):
        return f"its centre of mass is {away:.3g} m away (it began at {old_away:.3g} m)"
    if radii[-1] < POINT * away:
        return f"it is a point {away:.3g} m away, of radius {radii[-1]:.2g} m"
    if radii[0] < radii[-1] * min(FLAT, 1e-2 * old_radii[0] / old_radii[-1]):
        return f"it is flat, {radii[0]:.2g} m thick and {radii[-1]:.2g} m wide"
    return ""


def _sizes(U: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Mass [kg], the three radii of gyration [m], the smallest first, and the distance of the centre of mass [m]."""
    root = U[3, 3]
    radii = np.linalg.svd(U[:3, :3], compute_uv=False)[::-1] / root
    return float(root**2), radii, float(np.linalg.norm(U[:3, 3]) / root)
