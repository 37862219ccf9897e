"""Contact by springs: the normal force of Hunt and Crossley, the smooth friction of Brown and McPhee.

Each contact acts for itself, so that a network can correct each one (`contact/normal_force`,
`contact/friction_force`).
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.contact.geometry import Touch, contact_links
from isthmus.dynamics.kinematics import Kinematics
from isthmus.model.model import Model
from isthmus.networks.signals import Signal
from isthmus.spatial.products import mtv
from isthmus.spatial.vectors import cross
from isthmus.types import AnyArray, Number

SHARPNESS = 4.0
"""At the friction speed, friction has tanh(4) of its full size (Brown and McPhee 2016)."""
ADVISED = 0.1
"""Largest √(stiffness / mass) · dt for which a bounce keeps its energy within 0.1 %."""


def contact_rows(model: Model, kind: str) -> np.ndarray:
    """The contacts of a kind."""
    return np.flatnonzero([k == kind for k in model.contact_kinds]).astype(np.int32)


def normal_force(
    depth: AnyArray, closing: AnyArray, stiffness: AnyArray, damping: AnyArray, exponent: AnyArray
) -> AnyArray:
    """`k dⁿ max(0, 1 + λ ḋ)` [N]: zero at first touch whatever the speed, and never pulling."""
    inside = depth > 0.0
    d = jnp.where(inside, depth, 1.0)  # powers of it stay smooth where it is not used
    return jnp.where(
        inside, stiffness * d**exponent * jnp.maximum(0.0, 1.0 + damping * closing), 0.0
    )


def friction_force(
    sliding: Float[AnyArray, "rows 3"], normal: AnyArray, friction: AnyArray, speed: AnyArray
) -> Float[AnyArray, "rows 3"]:
    """Against the sliding velocity [N]; its slope at rest is finite."""
    square = jnp.sum(sliding * sliding, axis=1)
    slow = square < 1e-12 * speed**2
    fast = jnp.sqrt(jnp.where(slow, 1.0, square))
    share = jnp.where(slow, SHARPNESS / speed, jnp.tanh(SHARPNESS * fast / speed) / fast)
    return -(friction * normal * share)[:, None] * sliding


def penalty_forces(
    model: Model, k: Kinematics, touching: Touch, signal: Signal
) -> Float[AnyArray, "links 6"]:
    """What springs do to each link, in its own frame: moment [N·m], then force [N]."""
    rows = contact_rows(model, "penalty")
    pick = lambda x: jnp.asarray(x)[rows]
    n, velocity = touching.normal[rows], touching.velocity[rows]
    along = jnp.sum(n * velocity, axis=1)
    pressed = normal_force(
        touching.depth[rows], -along, pick(model.contact_stiffness), pick(model.contact_damping),
        pick(model.contact_exponent),
    )  # fmt: skip
    pressed = signal("contact/normal_force", pressed, row=rows)
    sliding = velocity - along[:, None] * n
    rubbed = friction_force(
        sliding, pressed, pick(model.contact_friction), pick(model.contact_friction_speed)
    )
    rubbed = signal("contact/friction_force", rubbed, row=rows)
    force = pressed[:, None] * n + rubbed
    given = _on_links(k, touching.links, rows, touching.place, force)
    if touching.other_place is None:
        return given
    return given + _on_links(k, touching.others, rows, touching.other_place, -force)


def _on_links(
    k: Kinematics, links: tuple[int, ...], rows: np.ndarray, place: AnyArray, force: AnyArray
) -> Float[AnyArray, "links 6"]:
    """The wrench on each link of forces [N] at places of their links; those of the world have no effect."""
    own = np.array(links, dtype=np.int32)[rows]
    local = mtv(k.rotation[np.maximum(own, 0)], force)
    wrench = jnp.concatenate([cross(place[rows], local), local], axis=1)
    belongs = (np.arange(len(k.position))[:, None] == own[None]).astype(wrench.dtype)
    return jnp.sum(belongs[:, :, None] * wrench[None], axis=1)


def advised_substeps(model: Model, dt: Number) -> int:
    """How many substeps of `dt` [s] springs need, by the stiffest contact and the lighter one of its links.

    Friction too: a body that rests is damped at a rate of `4 μ g / friction_speed`, which must not exceed `2 / dt`.
    """
    rows = contact_rows(model, "penalty")
    if not len(rows):
        return 1
    pick = lambda name: np.asarray(getattr(model, f"contact_{name}"))[..., rows]
    depth, n = 1e-3, pick("exponent")
    mass = np.min(
        [_masses(model, [links[r] for r in rows]) for links in contact_links(model)], axis=0
    )
    spring = float(np.sqrt(np.max(pick("stiffness") * n * depth ** (n - 1.0) / mass)))
    g = float(np.max(np.linalg.norm(np.asarray(model.gravity), axis=-1)))
    rubbing = SHARPNESS * g * float(np.max(pick("friction") / pick("friction_speed")))
    return max(1, int(np.ceil(max(spring / ADVISED, 0.5 * rubbing) * float(dt) - 1e-9)))


def _masses(model: Model, links: list[int]) -> np.ndarray:
    """Of the links of some contacts [kg]; the world's is infinite."""
    own = np.asarray(model.link_mass)[..., np.maximum(links, 0)]
    return np.where(np.array(links) < 0, np.inf, np.maximum(own, 1e-9))
