"""What a step becomes where bodies meet by impulses."""

from __future__ import annotations

import jax.numpy as jnp

from isthmus.contact.impulse import after_impulses
from isthmus.contact.meeting import Yielding, yielding
from isthmus.dynamics.aba import AddedInertia, total_inertia
from isthmus.dynamics.rnea import LinkDynamics, torques_of
from isthmus.model.state import prescribed_rows
from isthmus.networks.signals import Signal
from isthmus.simulate.forces import Forces
from isthmus.types import AnyArray, Joints, Scalar

RECURSION = frozenset((
    "link/articulated_inertia", "link/articulated_bias_force", "joint/articulated_inertia",
    "joint/articulated_torque", "link/acceleration", "joint/acceleration",
))  # fmt: skip
"""Signals of the articulated body algorithm."""


def after_impacts(
    acting: Forces, a: Joints, dt: Scalar, signal: Signal, added: AddedInertia, ahead: Joints | None
) -> tuple[Joints, Joints]:
    """The velocity `dt` [s] later under the acceleration `a` and impacts, and by what `q` moves until then.

    `added`, `ahead`: what an implicit step adds to the inertia and to the torque.
    """
    model = acting.model
    assert acting.touch is not None
    H = total_inertia(model, acting.kinematics, signal.of("link/spatial_inertia"), added)
    mass = yielding(model, H, coupled=added.dof is not None)
    if not any(RECURSION.intersection(wired.plan.targets) for wired in model.networks):
        tau = acting.joint if ahead is None else acting.joint + ahead
        a = _by_inertia(acting, H, mass, tau, a, signal)
    return after_impulses(model, acting.kinematics, acting.touch, mass, acting.v, a, dt, signal)


def _by_inertia(
    acting: Forces, H: AnyArray, mass: Yielding, tau: Joints, a: Joints, signal: Signal
) -> Joints:
    """The acceleration `a` [rad/s², m/s²] again, by the mass matrix `H` that impulses need anyway.

    Nothing then reads the recursion that gave `a`, and neither it nor its derivative is in the compiled program.
    """
    model, k = acting.model, acting.kinematics
    names = ("link/spatial_inertia", "link/bias_acceleration", "link/bias_force")
    link = LinkDynamics(*map(signal.of, names))
    rest = tau - torques_of(model, k, link, jnp.zeros_like(tau))
    if not model.prescribed:
        return mass.rate(rest)
    _, given = prescribed_rows(model)
    rest = jnp.asarray(rest - H[:, given] @ a[given]).at[given].set(a[given])
    return mass.rate(rest)
