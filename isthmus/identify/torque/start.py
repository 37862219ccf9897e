"""Inertias and friction from measured torques, without a simulation: a realisable start for a fit.

Torques are linear in the parameters (`regressor`), so least squares gives the base parameters with their standard
errors at once. They say nothing of many single numbers and may, with noise, be those of no robot; so the model that
is returned is the realisable one nearest to the present model among those that fit (`realisable`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from isthmus.describe.checks import ONE_COORDINATE
from isthmus.errors import BadMotion, BadOption, did_you_mean
from isthmus.identify.torque.base_parameters import BaseParameters, base_parameters
from isthmus.identify.torque.data import TorqueData, torque_data
from isthmus.identify.torque.realisable import Prior, nearest_realisable
from isthmus.identify.torque.regressor import (
    LEAVES,
    link_of,
    ordered,
    parameter_names,
    parameter_vector,
)
from isthmus.model.model import Model, switched_on
from isthmus.motion.files import dof_names
from isthmus.motion.motion import Motion
from isthmus.motion.smooth import LocalFit
from isthmus.types import AnyArray

FRICTION = ("damping", "friction")
QUIET = 1e-6
"""Noise below this share of the torques is taken for that."""
SHARE = 1e-3
"""A number of a joint that is zero in the model starts where it makes this share of the torques."""
MOST = 60
"""So many combinations are listed one by one."""


@dataclasses.dataclass(frozen=True, eq=False)
class TorqueFit:
    """What torques say; `model` is the realisable model."""

    model: Model
    base: BaseParameters
    """The combinations that the motion determines."""
    start: Float[np.ndarray, " own"]
    """The combinations of the model as it was."""
    least_squares: Float[np.ndarray, " own"]
    """Those that fit best, realisable or not."""
    error: Float[np.ndarray, " own"]
    """Standard errors of these."""
    value: Float[np.ndarray, " own"]
    """Those of the realisable model."""
    offset: Float[np.ndarray, " dof"]
    """Constant torques [N·m, N], `joint/torque_offset` of the model; zero where they were not asked for."""
    rms: Float[np.ndarray, "3 dof"]
    """What torques are off by [N·m, N]: with the model as it was, by least squares, with the realisable model."""
    dofs: tuple[str, ...]

    def __str__(self) -> str:
        table = [("combination", "start", "least squares", "± error", "realisable")]
        for row in range(min(len(self.base), MOST)):
            numbers = (self.start, self.least_squares, self.error, self.value)
            table.append((self.base.short(row), *(f"{x[row]:.4g}" for x in numbers)))
        off = [("torque off by (rms)", "start", "least squares", "", "realisable")]
        for name, before, best, after in zip(self.dofs, *self.rms, strict=True):
            off.append((name, f"{before:.4g}", f"{best:.4g}", "", f"{after:.4g}"))
        more = [f"and {len(self.base) - MOST} more combinations"] if len(self.base) > MOST else []
        close = f"condition of the motion: {self.base.condition:.3g}"
        return "\n".join([*_aligned(table), *more, "", *_aligned(off), close])


def torque_fit(
    model: Model,
    q: Float[AnyArray, "rows nq"],
    v: Float[AnyArray, "rows dof"],
    a: Float[AnyArray, "rows dof"],
    tau: Float[AnyArray, "rows dof"],
    *,
    joints: Sequence[str] = FRICTION,
    prior: float = 1.0,
) -> TorqueFit:
    """Inertias of the links, and numbers of the joints, from motor torques [N·m, N] along a motion.

    Args:
        tau: NaN where it was not measured; of a base that nothing drives it is zero, not NaN.
        joints: which numbers of revolute and prismatic joints are fitted too: `armature`, `damping`, `friction`,
            `offset`. Those that are not stay as they are, as do springs and stops.
        prior: how much a change of the model counts: with 1, changing an inertia by a factor of e costs about as
            much as residuals one standard deviation larger in one row. Combinations that the motion determines well are
            not affected.

    Links without mass stay as they are.
    """
    if not prior > 0.0:
        raise BadOption(f"prior is {prior}; it must be positive: it chooses where torques do not.")
    joints = ordered(joints)
    names, known = parameter_names(model, joints=joints), parameter_vector(model, joints=joints)
    kept = _fitted(model, joints)
    data = torque_data(model, q, v, a, tau, joints).columns(kept, known)
    now = known[kept]
    base = base_parameters(data.factors[:, :, :-1], [names[k] for k in kept])
    beta, error, weights, best = _least_squares(data, base)
    before = _prior(model, data, now, joints)
    W = data.weighted(weights)
    found = nearest_realisable(W[:, :-1], W[:, -1], before, weight=prior)
    whole = np.array(known)
    whole[kept] = found
    rms = np.stack([data.residual(now), data.residual(best), data.residual(found)])
    return TorqueFit(
        _with_parameters(model, whole, joints), base, base.of(now), beta, error, base.of(found),
        whole[-model.dof :] if "offset" in joints else np.zeros(model.dof), rms, tuple(dof_names(model)),
    )  # fmt: skip


def start_from_torque(
    model: Model,
    motions: Motion | Sequence[Motion],
    *,
    torque: str = "joint/motor_torque",
    joints: Sequence[str] = FRICTION,
    prior: float = 1.0,
    window: int = 9,
    order: int = 3,
) -> TorqueFit:
    """`torque_fit` of recorded motions; a good start for `fit`, in a fraction of a second once compiled.

    The signal called `torque` is that of the motors (for a robot that obeys its commands, `joint/control`).
    Accelerations are the signal `joint/acceleration` where there is one, else slopes of polynomials of this `order`
    through `window` rows of the velocities; velocities that are missing are taken so from positions.
    """
    rows = [_arrays(model, m, torque, window, order) for m in _each(motions)]
    if not rows:
        raise BadMotion("there are no motions to fit.")
    q, v, a, tau = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    return torque_fit(model, q, v, a, tau, joints=joints, prior=prior)


def _each(motions: Motion | Sequence[Motion]) -> list[Motion]:
    return [motions] if isinstance(motions, Motion) else list(motions)


def _arrays(
    model: Model, motion: Motion, torque: str, window: int, order: int
) -> tuple[np.ndarray, ...]:
    """Positions, velocities, accelerations and torques of a motion, row by row."""
    if torque not in motion.signals:
        hint = did_you_mean(torque, motion.signals)
        raise BadMotion(
            f"the motion {motion.name!r} has no signal {torque!r} to take torques from.{hint}"
        )
    if motion.joints:
        motion = motion.matched(model)
    if motion.v is None:
        motion = motion.velocities(window=window, order=order)
    t, q, v = (np.asarray(x, dtype=np.float64) for x in (motion.t, motion.q, motion.v))
    if t.ndim != 1:
        raise BadMotion("a batch of motions cannot be fitted as one; give a list of them.")
    if (a := motion.signals.get("joint/acceleration")) is None:
        if len(t) < window:
            raise BadMotion(f"{len(t)} rows are too few for accelerations from {window} rows.")
        a = LocalFit(t, np.arange(len(t)), window, order)(v)[1]
    return q, v, np.asarray(a), np.asarray(motion.signals[torque])


def _fitted(model: Model, joints: Sequence[str]) -> np.ndarray:
    """Columns that are fitted: links that weigh something, joints of one coordinate."""
    links = np.repeat(np.asarray(model.link_mass) > 0.0, 10)
    single = np.zeros(model.dof, dtype=bool)
    for name, rows in model.rows("dof").items():
        single[list(rows)] = model.joint_kinds[model.joint(name)] in ONE_COORDINATE
    return np.flatnonzero(np.concatenate([links, *(single for _ in joints)]))


def _least_squares(data: TorqueData, base: BaseParameters):
    """Base parameters, their errors, the weight of each degree of freedom, parameters that have those.

    Twice: noise is estimated for each degree of freedom from what an unweighted solution leaves.
    """
    own, dof = list(base.own), len(data.counts)
    used = data.counts > 0.0
    scale = np.linalg.norm(data.factors[:, :, -1], axis=1) / np.sqrt(np.maximum(data.counts, 1.0))
    best, weights = np.zeros(data.factors.shape[-1] - 1), np.ones(dof)
    rows = max(float(np.sum(data.counts)), 1.0)
    free = np.sqrt(rows / max(rows - len(own), 1.0))
    beta, inverse = np.zeros(len(own)), np.zeros((len(own), len(own)))
    for _ in range(2):
        W = data.weighted(np.where(used, weights, 0.0))
        length = np.maximum(np.linalg.norm(W[:, own], axis=0), 1e-300)
        U, s, Vt = np.linalg.svd(W[:, own] / length, full_matrices=False)
        beta = Vt.T @ ((U.T @ W[:, -1]) / s) / length
        inverse = (Vt.T / s) / length[:, None]
        best[own] = beta
        noise = np.maximum(free * np.nan_to_num(data.residual(best)), QUIET * scale.max())
        weights = 1.0 / noise
    return beta, np.linalg.norm(inverse, axis=1), np.where(used, weights, 0.0), best


def _prior(model: Model, data: TorqueData, now: np.ndarray, joints: Sequence[str]) -> Prior:
    """Where the parameters are expected; numbers of joints that are zero, at a small share of the torques."""
    count = 10 * int(np.sum(np.asarray(model.link_mass) > 0.0))
    size = np.linalg.norm(data.factors, axis=(0, 1))
    typical = SHARE * size[-1] / np.maximum(size[count:-1], 1e-12 * size[-1] + 1e-300)
    each = (len(now) - count) // max(len(joints), 1)
    positive = each * sum(word != "offset" for word in joints)
    scale = np.maximum(now[count:], typical)
    return Prior(now[:count].reshape(-1, 10), scale[:positive], scale[positive:] / SHARE)


def _with_parameters(model: Model, pi: np.ndarray, joints: Sequence[str]) -> Model:
    """The model with these parameters."""
    links = len(model.link_names)
    mass, com, inertia = (
        np.array(x) for x in (model.link_mass, model.link_com, model.link_inertia)
    )
    for i, ten in enumerate(pi[: 10 * links].reshape(links, 10)):
        if mass[i] > 0.0:
            mass[i], com[i], inertia[i] = link_of(ten)
    changes = {"link_mass": mass, "link_com": com, "link_inertia": inertia}
    for word, numbers in zip(joints, pi[10 * links :].reshape(len(joints), model.dof), strict=True):
        changes[LEAVES[word]] = numbers
    if np.any(offset := changes.get("joint_torque_offset", 0.0)):
        changes |= switched_on(model, "joint/torque_offset", np.flatnonzero(offset).tolist())
    return dataclasses.replace(model, **changes)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    wide = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in rows
    ]
