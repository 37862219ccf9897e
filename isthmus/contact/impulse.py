"""Contact by impulses: what a step's velocity and position become where rigid points meet the ground.

Points that touch keep their speed above `−e` times what it was and give way to no deeper penetration. Points that meet
the ground, or another body, within the step do so at the time of impact `τ`: their impulse comes from the velocity
there, and moves the position for the rest of the step only (`impact.py`). Without that the derivative of a bounce would
be wrong however short the steps.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.contact.few import FEW
from isthmus.contact.geometry import Touch, with_world
from isthmus.contact.impact import delayed
from isthmus.contact.meeting import Yielding, meeting_of
from isthmus.contact.penalty import contact_rows
from isthmus.contact.solution import ContactProblem, Method, solution
from isthmus.contact.solve import Impulses
from isthmus.dynamics.jacobians import link_jacobians
from isthmus.dynamics.kinematics import Kinematics
from isthmus.model.model import Model
from isthmus.networks.signals import Signal
from isthmus.spatial.products import mm, mtv, mv
from isthmus.spatial.vectors import skew
from isthmus.types import AnyArray, Joints, Scalar


def contact_jacobian(
    model: Model, k: Kinematics, touching: Touch, rows: np.ndarray
) -> Float[AnyArray, "rows 3 n"]:
    """`J` with `J v` the velocity [m/s] of each contact along its normal and tangents, less that of what it touches."""
    if touching.other_place is None:
        every, R = link_jacobians(model, k), k.rotation
    else:
        still = jnp.zeros((1, 6, model.dof), k.position.dtype)
        every, R = jnp.concatenate([link_jacobians(model, k), still]), with_world(k)[0]

    def part(axes: AnyArray, link: AnyArray, place: AnyArray) -> AnyArray:
        J = every[link]
        return mm(mm(axes, R[link]), J[:, 3:] - mm(jax.vmap(skew)(place), J[:, :3]))

    own = np.array(touching.links, dtype=np.int32)[rows]
    axes = touching.axes[rows]
    if touching.other_place is None:
        return part(axes, own, touching.place[rows])
    other = np.array(touching.others, dtype=np.int32)[rows]
    sides = (own, touching.place[rows], other, touching.other_place[rows])
    between = lambda axes, own, place, other, there: (
        part(axes, own, place) - part(axes, other, there)
    )
    if len(rows) <= FEW:
        return between(axes, *sides)

    # into one array, contact after contact: code of one size, and rows that can be taken from it by number
    def put(J: AnyArray, contact: tuple) -> tuple[AnyArray, None]:
        row, *parts = contact
        made = between(*(x[None] for x in parts))
        return jax.lax.dynamic_update_slice_in_dim(J, made, row, 0), None

    numbers = np.arange(len(rows), dtype=np.int32)
    start = jnp.zeros((len(rows), 3, model.dof), axes.dtype)
    return jax.lax.scan(put, start, (numbers, axes, *map(jnp.asarray, sides)))[0]


def after_impulses(
    model: Model,
    k: Kinematics,
    touching: Touch,
    mass: Yielding,
    v: Joints,
    a: Joints,
    dt: Scalar,
    signal: Signal,
) -> tuple[Joints, Joints]:
    """Velocity at the end of a step of `dt` [s] with acceleration `a`, and by what `q` moves until then.

    `mass`: the inertia of the joints, with what an implicit step adds.
    """
    rows = contact_rows(model, "impulse")
    J = contact_jacobian(model, k, touching, rows)
    count, n = len(rows), J.shape[-1]
    now, faster = mv(touching.axes[rows], touching.velocity[rows]), mv(J, a[None])
    depth = touching.depth[rows]
    active, share, tau = _when(model.contact_order, depth, now, faster, dt)
    pick = lambda x: jnp.asarray(x)[rows]
    met = jnp.asarray(now + share[:, None] * faster)
    e = jnp.where(
        met[:, 0] < -pick(model.contact_restitution_speed), pick(model.contact_restitution), 0.0
    )
    if model.contact_order == "impact":  # what does not bounce stays for the rest of the step
        met = jnp.where((e > 0.0)[:, None], met, now + dt * faster)
    lift = pick(model.contact_erp) * jnp.maximum(depth, 0.0) / dt
    still = signal("contact/time", tau, row=rows)
    bias = signal("contact/bias", e * met[:, 0] - lift, row=rows)
    c = met.at[:, 0].add(bias)
    friction, plastic = pick(model.contact_friction), met.at[:, 0].add(-lift)
    softness = jnp.repeat(pick(model.contact_softness), 3, total_repeat_length=3 * count)
    meeting = meeting_of(mass, J.reshape(3 * count, n), softness)
    method = Method(model.contact_order, model.contact_sweeps, model.contact_newton)
    start = _last_impulses(touching.axes[rows], signal)
    found = solution(method, ContactProblem(meeting, c, plastic, friction, e, active, start))
    signal("contact/residual", found.off)
    signal.keep("impulses", jax.lax.stop_gradient(mtv(touching.axes[rows], found.p)))
    p = _published(touching, rows, found.p, dt, signal)
    moved = v + dt * a + (found.jump if p is found.p else meeting.jump(p))
    if model.contact_order != "impact":
        return moved, dt * moved
    late = still[:, None] * p
    if touching.other_place is not None:  # over the ground alone, what contacts answer is small
        late = delayed(meeting, still, p, friction)
    return moved, dt * moved - meeting.jump(late)


def _last_impulses(axes: Float[AnyArray, "rows 3 3"], signal: Signal) -> Impulses:
    """The impulses of the last step along the axes of the contacts now [N·s]; zero where there are none."""
    last = signal.recalled("impulses")
    if last is None:
        return jnp.zeros(axes.shape[:2], axes.dtype)
    return jax.lax.stop_gradient(mv(axes, jnp.where(jnp.isfinite(last), last, 0.0)))


def _when(
    order: str, depth: AnyArray, now: AnyArray, faster: AnyArray, dt: Scalar
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Which contacts act; the time after which each one's velocity counts; the time of new impacts, else zero [s]."""
    if order == "b":
        nothing = jnp.zeros_like(depth)
        return depth > 0.0, nothing, nothing
    free = now[:, 0] + dt * faster[:, 0]
    touching = depth >= 0.0
    meets = (depth < 0.0) & (dt * free < depth)
    whole = jnp.full_like(depth, 1.0) * dt
    if order == "plain":
        return touching | meets, whole, jnp.zeros_like(depth)
    tau = jnp.where(meets, depth / jnp.where(meets, free, 1.0), 0.0)
    # the velocity of a semi-implicit step is that of half a step earlier: so read, bounces keep their energy
    return touching | meets, jnp.where(meets, tau + 0.5 * dt, whole), tau


def _published(
    touching: Touch, rows: np.ndarray, p: AnyArray, dt: Scalar, signal: Signal
) -> AnyArray:
    """The impulses, as networks correct them: as mean forces over the step, then as impulses in the world."""
    axes = touching.axes[rows]
    normal, across = p[:, 0] / dt, mtv(axes[:, 1:], p[:, 1:]) / dt
    pressed = signal("contact/normal_force", normal, row=rows)
    rubbed = signal("contact/friction_force", across, row=rows)
    whole = dt * (pressed[:, None] * axes[:, 0] + rubbed)
    found = signal("contact/impulse", whole, row=rows)
    same = found is whole and pressed is normal and rubbed is across
    return p if same else mv(axes, found)
