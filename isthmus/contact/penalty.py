"""Contact by springs: the normal force of Hunt and Crossley, the smooth friction of Brown and McPhee.

Friction may grow less than the normal force does, as where a corner that hits the ground hard slides more easily than
a face that rests on it (`contact/friction_load`).

Each contact acts for itself, so that a network can correct each one (`contact/normal_force`,
`contact/friction_force`). Friction that would reverse the sliding of a link within a step is stiff: a semi-implicit
step takes it as it will be at its end, like that of joints.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.contact.geometry import Touch, contact_links
from isthmus.dynamics.kinematics import Kinematics
from isthmus.model.model import Model
from isthmus.networks.signals import Signal
from isthmus.record import Record
from isthmus.spatial.inertia import symmetric
from isthmus.spatial.products import mtv, mv
from isthmus.spatial.solve import inverse_spd
from isthmus.spatial.vectors import cross, skew
from isthmus.types import AnyArray, Number, Scalar

SHARPNESS = 4.0
"""At the friction speed, friction has tanh(4) of its full size (Brown and McPhee 2016)."""
ADVISED = 0.1
"""Largest √(stiffness / mass) · dt for which a bounce keeps its energy within 0.1 %."""
TINY = 1e-9
"""Least mass [kg] and moment of inertia [kg·m²] of a link in bounds."""


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


class Rubbing(Record):
    """Friction of springs over what does not move as damping of each link, for an implicit step."""

    damping: Float[AnyArray, "links 6 6"]
    """`−f = damping · velocity`, in the link's frame [N·m·s, N·s, N·s/m]."""
    rate: Float[AnyArray, " links"]
    """At most so fast it slows the link [1/s]."""

    def added(self, dt: Scalar) -> Float[AnyArray, "links 6 6"]:
        """Inertia that steps of `dt` [s] add to take stiff friction implicitly: none where `rate · dt` is below 1."""
        share = dt - 1.0 / jnp.maximum(self.rate, 1.0 / dt)
        return share[:, None, None] * self.damping


def friction_slope(
    sliding: Float[AnyArray, "rows 3"], normal: AnyArray, friction: AnyArray, speed: AnyArray, load: AnyArray
) -> AnyArray:  # fmt: skip
    """Friction divided by the sliding velocity [N·s/m], which is finite at rest.

    Friction grows with the normal force, up to `friction / load` [N].
    """
    square = jnp.sum(sliding * sliding, axis=1)
    slow = square < 1e-12 * speed**2
    fast = jnp.sqrt(jnp.where(slow, 1.0, square))
    share = jnp.where(slow, SHARPNESS / speed, jnp.tanh(SHARPNESS * fast / speed) / fast)
    return friction * normal / (1.0 + load * normal) * share


def penalty_forces(
    model: Model, k: Kinematics, touching: Touch, signal: Signal
) -> tuple[Float[AnyArray, "links 6"], Rubbing]:
    """What springs do to each link, in its own frame: moment [N·m], then force [N]; and their friction as damping."""
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
    slope = friction_slope(
        sliding, pressed, pick(model.contact_friction), pick(model.contact_friction_speed),
        pick(model.contact_friction_load),
    )  # fmt: skip
    plain = -slope[:, None] * sliding
    rubbed = signal("contact/friction_force", plain, row=rows)
    if rubbed is not plain:  # what a network made of it, along the sliding velocity
        against = jnp.maximum(-jnp.sum(rubbed * sliding, axis=1), 0.0)
        slope = against / jnp.maximum(jnp.sum(sliding * sliding, axis=1), 1e-30)
    force = pressed[:, None] * n + rubbed
    given = _on_links(k, touching.links, rows, touching.place, force)
    rubbing = _rubbing(model, k, touching, rows, slope)
    if touching.other_place is None:
        return given, rubbing
    return given + _on_links(k, touching.others, rows, touching.other_place, -force), rubbing


def _rubbing(
    model: Model, k: Kinematics, touching: Touch, rows: np.ndarray, slope: AnyArray
) -> Rubbing:
    """The damping of links by contacts with the world, whose friction is `slope` times their sliding velocity."""
    links = np.array(touching.links, np.int32)[rows]
    fixed = np.array(touching.others, np.int32)[rows] < 0
    planes = np.array(model.contact_planes, np.int32)[rows]
    damping = [jnp.zeros((6, 6), slope.dtype)] * len(k.position)
    rate = [jnp.zeros((), slope.dtype)] * len(k.position)
    for link, plane in sorted(set(zip(links[fixed].tolist(), planes[fixed].tolist(), strict=True))):
        own = np.flatnonzero(fixed & (links == link) & (planes == plane)).astype(np.int32)
        place = touching.place[rows[own]]
        n = k.rotation[link].T @ touching.normal[rows[own[0]]]
        damping[link] = damping[link] + _sliding_damping(slope[own], place, n)
        rate[link] = rate[link] + jnp.sum(slope[own] * _mobility(model, link, place))
    return Rubbing(jnp.stack(damping), jnp.stack(rate))


def _sliding_damping(
    slope: AnyArray, place: Float[AnyArray, "rows 3"], n: AnyArray
) -> Float[AnyArray, "6 6"]:
    """`Σ slope Jᵀ (1 − n nᵀ) J` of places on a link over a plane with the normal `n`, by the moments of the slopes.

    `J` gives the velocity of a place: that of the link's origin, and of its turning about it.
    """
    total, first = jnp.sum(slope), jnp.sum(slope[:, None] * place, axis=0)
    second = jnp.sum(slope[:, None, None] * (place[:, :, None] * place[:, None, :]), axis=0)
    one, N = np.eye(3), skew(n)
    turning = jnp.trace(second) * one - second - N @ second @ N.T
    mixed = n[:, None] * cross(n, first)[None] - skew(first)
    moving = total * (one - n[:, None] * n[None])
    return jnp.concatenate([
        jnp.concatenate([turning, mixed.T], axis=1), jnp.concatenate([mixed, moving], axis=1)
    ])  # fmt: skip


def _mobility(model: Model, link: int, place: Float[AnyArray, "rows 3"]) -> AnyArray:
    """A bound on the speed that 1 N·s gives places of a link across a surface, summed over two directions [1/kg].

    It is that of the link alone, summed over all three: joints and what hangs from them can only hold it back. Sums,
    unlike the largest of several numbers, have derivatives everywhere.
    """
    inertia = symmetric(jnp.asarray(model.link_inertia)[link]) + TINY * np.eye(3)
    softness = inverse_spd(inertia)
    arm = place - jnp.asarray(model.link_com)[link][None]
    turning = jnp.trace(softness) * jnp.sum(arm * arm, axis=1) - jnp.sum(arm * (arm @ softness), 1)
    mass = jnp.maximum(jnp.asarray(model.link_mass)[link], TINY)
    return 2.0 / mass + turning


def _on_links(
    k: Kinematics, links: tuple[int, ...], rows: np.ndarray, place: AnyArray, force: AnyArray
) -> Float[AnyArray, "links 6"]:
    """The wrench on each link of forces [N] at places of their links; those of the world have no effect."""
    own = np.array(links, dtype=np.int32)[rows]
    arm = mv(k.rotation[np.maximum(own, 0)], place[rows])
    belongs = (np.arange(len(k.position))[:, None] == own[None]).astype(force.dtype)
    whole = lambda x: mtv(k.rotation, jnp.sum(belongs[:, :, None] * x[None], axis=1))
    return jnp.concatenate([whole(cross(arm, force)), whole(force)], axis=1)


def advised_substeps(model: Model, dt: Number, *, explicit: bool = False) -> int:
    """How many substeps of `dt` [s] springs need, by the stiffest contact and the lighter one of its links.

    Friction that a step takes explicitly needs them too: that between bodies that both move, and with `explicit` all
    of it. A body that rests is damped at a rate of `4 μ g / friction_speed`, which must not exceed `2 / dt`.
    """
    rows = contact_rows(model, "penalty")
    if not len(rows):
        return 1
    links, others = (np.array(x)[rows] for x in contact_links(model))
    pick = lambda name: np.asarray(getattr(model, f"contact_{name}"))[..., rows]
    depth, n = 1e-3, pick("exponent")
    mass = np.minimum(*(_masses(model, x.tolist()) for x in (links, others)))
    spring = float(np.sqrt(np.max(pick("stiffness") * n * depth ** (n - 1.0) / mass)))
    g = float(np.max(np.linalg.norm(np.asarray(model.gravity), axis=-1)))
    rate = np.where(explicit | (others >= 0), pick("friction") / pick("friction_speed"), 0.0)
    rubbing = SHARPNESS * g * float(np.max(rate))
    return max(1, int(np.ceil(max(spring / ADVISED, 0.5 * rubbing) * float(dt) - 1e-9)))


def _masses(model: Model, links: list[int]) -> np.ndarray:
    """Of the links of some contacts [kg]; the world's is infinite."""
    own = np.asarray(model.link_mass)[..., np.maximum(links, 0)]
    return np.where(np.array(links) < 0, np.inf, np.maximum(own, 1e-9))
