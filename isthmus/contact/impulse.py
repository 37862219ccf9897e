"""Contact by impulses: what a step's velocity and position become where rigid points meet the ground.

Points that touch keep their speed above `−e` times what it was and give way to no deeper penetration. Points that meet
the ground within the step do so at the time of impact `τ`: their impulse comes from the velocity there, and moves the
position for the rest of the step only. Without that the derivative of a bounce would be wrong however short the steps.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.contact.box_friction import following_in_box, impulses_in_box
from isthmus.contact.geometry import Touch
from isthmus.contact.penalty import contact_rows
from isthmus.contact.solve import Impulses, following, impulses
from isthmus.dynamics.factor import Factor, factored, inverse_times, solve_transposed
from isthmus.dynamics.jacobians import link_jacobians
from isthmus.dynamics.kinematics import Kinematics
from isthmus.model.model import Model
from isthmus.model.state import prescribed_rows
from isthmus.networks.signals import Signal
from isthmus.record import Record
from isthmus.spatial.products import mm, mtv, mv
from isthmus.spatial.vectors import skew
from isthmus.types import AnyArray, Joints, Scalar

RIGID = 1e-12
"""Share of the largest mobility below which there is none."""


def contact_jacobian(
    model: Model, k: Kinematics, touching: Touch, rows: np.ndarray
) -> Float[AnyArray, "rows 3 n"]:
    """`J` with `J v` the velocity [m/s] of each contact along its normal and tangents."""
    links = np.array(touching.links, dtype=np.int32)[rows]
    J = link_jacobians(model, k)[links]
    turned = mm(touching.axes[rows], k.rotation[links])
    return mm(turned, J[:, 3:] - mm(jax.vmap(skew)(touching.place[rows]), J[:, :3]))


def after_impulses(
    model: Model,
    k: Kinematics,
    touching: Touch,
    inertia: Float[AnyArray, "n n"],
    v: Joints,
    a: Joints,
    dt: Scalar,
    signal: Signal,
    coupled: bool = False,
) -> tuple[Joints, Joints]:
    """Velocity at the end of a step of `dt` [s] with acceleration `a`, and by what `q` moves until then.

    `inertia`: of the joints, with what an implicit step adds; `coupled`: across branches of the tree too.
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
    inertia, J = _yielding_joints(model, inertia, J.reshape(3 * count, n))

    softness = jnp.repeat(pick(model.contact_softness), 3, total_repeat_length=3 * count)

    def act() -> tuple[AnyArray, Scalar, Joints, Joints]:
        meeting = _meeting(model, inertia, J, softness, coupled)
        p, off = _solved(model, meeting, c, plastic, friction, active, e)
        return p, off, meeting.jump(p), meeting.jump(still[:, None] * p)

    nothing = jnp.zeros_like(v)
    rest = lambda: (jnp.zeros_like(c), jnp.zeros((), c.dtype), nothing, nothing)
    p, off, jump, shift = jax.lax.cond(jnp.any(active), act, rest)
    signal("contact/residual", off)
    found = _published(touching, rows, p, dt, signal)
    if found is not p:
        meeting = _meeting(model, inertia, J, softness, coupled)
        jump, shift = meeting.jump(found), meeting.jump(still[:, None] * found)
    moved = v + dt * a + jump
    return moved, dt * moved - shift if model.contact_order == "impact" else dt * moved


class Meeting(Record):
    """A mechanism as impulses feel it."""

    H: Float[AnyArray, "n n"]
    L: Factor
    """Of `H`."""
    J: Float[AnyArray, "rows n"]
    soft: Float[AnyArray, " rows"]
    """Speed that 1 N·s gives the contacts themselves [1/kg]."""
    A: Float[AnyArray, "rows rows"]
    """`J H⁻¹ Jᵀ + diag(soft)`: velocities that impulses give [1/kg]; held fixed in derivatives."""

    def jump(self, p: Impulses) -> Joints:
        """What impulses do to the velocity of the joints."""
        return inverse_times(self.H, self.L, self.J.T @ p.reshape(-1))

    def yields(self, p: Impulses) -> Impulses:
        """`A p`, with all its derivatives."""
        return (self.J @ self.jump(p) + self.soft * p.reshape(-1)).reshape(p.shape)


def _meeting(model: Model, H: AnyArray, J: AnyArray, softness: AnyArray, coupled: bool) -> Meeting:
    held, still = jax.lax.stop_gradient((H, J))
    L = factored(model, held, coupled)
    Y = solve_transposed(L, still.T)
    soft = softness + _yielding(jnp.sum(Y * Y, axis=0))
    return Meeting(H, L, J, soft, Y.T @ Y + jnp.diag(jax.lax.stop_gradient(soft)))


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


def _yielding_joints(model: Model, H: AnyArray, J: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Mass matrix and Jacobian; joints whose motion is given do not yield."""
    if not model.prescribed:
        return H, J
    _, given = prescribed_rows(model)
    free = jnp.ones(model.dof, J.dtype).at[given].set(0.0)
    return H * free[:, None] * free[None] + jnp.diag(1.0 - free), J * free[None]


def _yielding(mobility: AnyArray) -> AnyArray:
    """What is added to the diagonal: a number in directions in which the mechanism cannot move at all."""
    most = jnp.max(mobility)
    return jnp.where(mobility <= RIGID * most, most, 0.0)


def _solved(
    model: Model,
    meeting: Meeting,
    c: Impulses,
    plastic: Impulses,
    friction: AnyArray,
    active: AnyArray,
    e: AnyArray,
) -> tuple[Impulses, Scalar]:
    """The impulses, and by how much velocities are off."""
    box = model.contact_order == "b"

    def solved(c: Impulses) -> tuple[Impulses, Scalar]:
        given = meeting.A, *jax.lax.stop_gradient((c, friction)), active
        if box:
            p, off = impulses_in_box(*given, model.contact_sweeps)
        else:
            p, off = impulses(*given, model.contact_sweeps, model.contact_newton)
        follow = following_in_box if box else following
        return follow(meeting.A, p, meeting.yields(p) + c, friction, active), off

    p, off = solved(c)
    if box:
        return p, off
    gains = jnp.any(e > 0.0) & (_work(meeting, plastic, p) > 0.0)
    return jax.lax.cond(
        gains, lambda: (_tamed(meeting, plastic, p, solved(plastic)[0]), off), lambda: (p, off)
    )


def _work(meeting: Meeting, w: Impulses, p: Impulses) -> Scalar:
    """Energy [J] that impulses bring in, where velocities were `w` before."""
    return jnp.sum(p * (w + 0.5 * meeting.yields(p)))


def _tamed(meeting: Meeting, w: Impulses, p: Impulses, plastic: Impulses) -> Impulses:
    """Between the impulses without restitution and those with it: as much as brings in no energy."""
    d = p - plastic
    start = jnp.minimum(_work(meeting, w, plastic), 0.0)
    slope, curve = jnp.sum(d * (w + meeting.yields(plastic))), 0.5 * jnp.sum(d * meeting.yields(d))
    root = jnp.sqrt(jnp.maximum(slope * slope - 4.0 * curve * start, 0.0))
    share = jnp.clip((root - slope) / jnp.maximum(2.0 * curve, 1e-300), 0.0, 1.0)
    return plastic + share * d


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
