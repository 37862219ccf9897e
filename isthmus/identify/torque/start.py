"""Inertias and friction from measured torques, without a simulation: a realisable start for a fit.

Torques are linear in the parameters (`regressor`), so least squares gives the base parameters with their standard
errors at once. They say nothing of many single numbers and may, with noise, be those of no robot; so the model that
is returned is the realisable one nearest to the present model among those that fit (`realisable`). What is fitted
besides the links, and how much nearness counts, is chosen by cross-validation (`choose`).
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from isthmus.blas import on_one_thread
from isthmus.errors import BadMotion, BadOption, FitWarning, did_you_mean
from isthmus.identify.torque.base_parameters import BaseParameters, base_parameters
from isthmus.identify.torque.choose import CrossValidation, State, choose
from isthmus.identify.torque.data import (
    Rows,
    TorqueData,
    horizontal,
    torque_data,
    turned,
    turning,
)
from isthmus.identify.torque.layout import Layout
from isthmus.identify.torque.realisable import Prior, nearest_realisable, scaled_links
from isthmus.identify.torque.regressor import (
    LEAVES,
    OF_JOINT,
    link_of,
    ordered,
)
from isthmus.identify.torque.result import TorqueFit
from isthmus.model.coordinates import single
from isthmus.model.model import Model, switched_on
from isthmus.motion.motion import Motion
from isthmus.motion.slopes import slopes
from isthmus.motion.smooth import LocalFit
from isthmus.types import AnyArray

USUAL = ("damping", "friction", "offset")
"""Terms with which the choice begins."""
QUIET = 1e-6
"""Noise below this share of the torques is taken for that."""
SHARE = 1e-3
"""A number of a joint that is zero in the model starts where it makes this share of the torques."""
WINDOW = 9
"""Rows of polynomials that judge whether velocities are slopes of positions."""
CONTRADICTION = 0.1
"""Share of a joint's typical speed by which slopes of positions and recorded velocities may differ."""
OUTLIER = 6.0
"""So many deviations they may differ, too."""
FAR = 3.0
"""A mass that changes by more than this factor is reported."""


def torque_fit(
    model: Model,
    q: Float[AnyArray, "rows nq"],
    v: Float[AnyArray, "rows dof"],
    a: Float[AnyArray, "rows dof"],
    tau: Float[AnyArray, "rows dof"],
    *,
    joints: Sequence[str] | None = None,
    prior: float | None = None,
) -> TorqueFit:
    """Inertias of the links, and numbers of the joints, from motor torques [N·m, N] along a motion.

    Args:
        tau: NaN where it was not measured; of a base that nothing drives it is zero, not NaN.
        joints: which numbers of revolute and prismatic joints are fitted too: `armature`, `damping`, `friction`,
            `stiction`, `load_friction`, `stiffness`, `offset`. Those that are not stay as they are, as do stops. None:
            each of them, on each joint, where cross-validation supports it, and cogging and a tilt of the base
            (`gravity`) too. Of a recorded motion, then bristles in place of dry friction, likewise.
        prior: how much a change of the model counts: with 1, changing an inertia by a factor of e costs about as
            much as residuals one standard deviation larger in one row. Combinations that the motion determines well are
            not affected. None: chosen by cross-validation.

    Links without mass stay as they are. A `FitWarning` names masses far from those of the model.
    """
    q, v, a, tau = (np.asarray(x, dtype=np.float64) for x in (q, v, a, tau))
    return fit_rows(model, [Rows(q, v, a, tau)], joints, prior, None)


def start_from_torque(
    model: Model,
    motions: Motion | Sequence[Motion],
    *,
    torque: str = "joint/motor_torque",
    joints: Sequence[str] | None = None,
    prior: float | None = None,
    lowpass: float | None = None,
    window: int | None = None,
    order: int = 3,
) -> TorqueFit:
    """`torque_fit` of recorded motions; a good start for `fit`, in a second once compiled.

    The signal called `torque` is that of the motors (for a robot that obeys its commands, `joint/control`).
    Accelerations are the signal `joint/acceleration` where there is one, else slopes of the velocities: of cubics
    through as many rows as leave nothing but noise or, with `window`, of polynomials of this `order` through so many
    rows. Velocities that are missing are taken so from positions. Where the torques were filtered before they were
    recorded, `lowpass` [Hz] sends the model's torques through a filter as well.
    """
    rows = [torque_rows(model, m, torque, window, order) for m in _each(motions)]
    if not rows:
        raise BadMotion("there are no motions to fit.")
    return fit_rows(model, rows, joints, prior, lowpass)


def torque_rows(
    model: Model,
    motion: Motion,
    torque: str = "joint/motor_torque",
    window: int | None = None,
    order: int = 3,
) -> Rows:
    """Positions, velocities, accelerations and torques of a motion, row by row.

    Torques are NaN where recorded positions and velocities contradict each other, as where filters end.
    """
    if torque not in motion.signals:
        hint = did_you_mean(torque, motion.signals)
        raise BadMotion(
            f"the motion {motion.name!r} has no signal {torque!r} to take torques from.{hint}"
        )
    if motion.joints:
        motion = motion.matched(model)
    if derived := motion.v is None:
        motion = _with_velocities(motion, window, order)
    t, q, v = (np.asarray(x, dtype=np.float64) for x in (motion.t, motion.q, motion.v))
    if t.ndim != 1:
        raise BadMotion("a batch of motions cannot be fitted as one; give a list of them.")
    if (a := motion.signals.get("joint/acceleration")) is None:
        if len(t) < (window or WINDOW):
            raise BadMotion(
                f"{len(t)} rows are too few for accelerations from {window or WINDOW} rows."
            )
        a = slopes(t, v) if window is None else LocalFit(t, np.arange(len(t)), window, order)(v)[1]
    step = float(np.mean(np.diff(t))) if len(t) > 1 else None
    a, tau = (np.asarray(x, dtype=np.float64) for x in (a, motion.signals[torque]))
    if not derived and q.shape == v.shape and len(t) >= (width := window or WINDOW):
        wrong = _contradictory(LocalFit(t, np.arange(len(t)), width, order)(q)[1] - v, v)
        tau = np.where(wrong[:, None], np.nan, tau)
    return Rows(q, v, a, tau, step)


def _with_velocities(motion: Motion, window: int | None, order: int) -> Motion:
    """The motion with velocities from its positions; of quaternions always by polynomials through `WINDOW` rows."""
    q, v = motion.q, motion.velocities(window=window or WINDOW, order=order).v
    if window is None and q is not None and v is not None and np.shape(q) == np.shape(v):
        v = slopes(np.asarray(motion.t, np.float64), np.asarray(motion.continuous().q, np.float64))
    return dataclasses.replace(motion, v=v)


def _contradictory(
    off: Float[np.ndarray, "rows dof"], v: Float[np.ndarray, "rows dof"]
) -> Bool[np.ndarray, " rows"]:
    """Rows where a slope of positions is off from the velocity by far more than typical [rad/s, m/s]."""
    known = np.isfinite(off)
    typical = 1.4826 * np.array(
        [np.median(np.abs(x[k])) if k.any() else 0.0 for x, k in zip(off.T, known.T, strict=True)]
    )
    size = np.sqrt(np.nansum(v**2, axis=0) / np.maximum(np.sum(np.isfinite(v), axis=0), 1))
    most = np.maximum(CONTRADICTION * size, OUTLIER * typical)
    return np.any(known & (np.abs(np.where(known, off, 0.0)) > most), axis=1)


def _each(motions: Motion | Sequence[Motion]) -> list[Motion]:
    return [motions] if isinstance(motions, Motion) else list(motions)


def fit_rows(
    model: Model,
    rows: list[Rows],
    joints: Sequence[str] | None = None,
    prior: float | None = None,
    lowpass: float | None = None,
) -> TorqueFit:
    """`torque_fit` of several motions: choice of the terms, then the realisable model nearest to the present one."""
    if prior is not None and not prior > 0.0:
        raise BadOption(f"prior is {prior}; it must be positive: it chooses where torques do not.")
    tried = OF_JOINT if joints is None else ordered(joints)
    can_tilt = joints is None and bool(single(model).all()) and bool(np.any(model.gravity))
    ranges = turned(model, rows) if joints is None else {}
    layout = Layout.of(model, tried, can_tilt, ranges, _bristled(model, rows, joints))
    load = lambda m, **which: torque_data(
        dataclasses.replace(m, cogging=model.cogging),  # what is found of it is in columns
        rows, tried, tilt=can_tilt, ripples=layout.ripples, bristles=layout.bristles, lowpass=lowpass,
        **which,
    )  # fmt: skip
    with on_one_thread():
        data = load(model)
        check = _cross_validation(model, layout, data)
        if joints is None:
            state, best = choose(check, layout.begin(check, USUAL))
        else:
            state = layout.begin(check, tried)
            best = check.best_prior(state) if prior is None else prior
        chosen = Chosen(check, layout, state, best if prior is None else prior)
        before, judged = data.residual(layout.described(model)), check.rms(state, chosen.prior)
        terms = layout.news(check, state, chosen.prior) if joints is None else ()
        if (
            tilt := chosen.tilt.any()
        ):  # its columns are those of the old masses: once more with the new ones
            first = _tilted(model, chosen.tilt)
            links = check.link_values(state, chosen.prior)
            idle = layout.terms[~state.fitted & (state.value == 0.0)]
            data = load(_with_links(first, layout, links), by_part=False, unused=idle)
            check.show(_candidates(model, layout, data))
        level = _tilted(first, chosen.tilt) if tilt else model
        found, base, numbers, rms = _nearest(model, level, data, chosen)
    if notes := _far(model, found):
        warnings.warn(" ".join(notes), FitWarning, stacklevel=3)
    return TorqueFit(
        found, base, *numbers, np.array(found.joint_torque_offset), np.stack([before, *rms]), layout.dofs,
        chosen.prior, judged, terms, _angle(model.gravity, level.gravity), notes,
    )  # fmt: skip


def _bristled(model: Model, rows: list[Rows], joints: Sequence[str] | None) -> list[int]:
    """Degrees of freedom whose dry friction may have bristles: rows of a motion come one after the other."""
    if not all(m.step for m in rows) or (joints is not None and "friction" not in joints):
        return []
    return [k for k in turning(model) if joints is None or k in model.bristling]


@dataclasses.dataclass(frozen=True)
class Chosen:
    """What is fitted, and how."""

    check: CrossValidation
    layout: Layout
    state: State
    prior: float

    @property
    def values(self) -> Float[np.ndarray, " t"]:
        """The numbers of all terms with which the realisable fit begins."""
        return self.check.values(self.state, self.prior)

    @property
    def tilt(self) -> Float[np.ndarray, " axes"]:
        """The change of gravity along `horizontal` [m/s²]."""
        return self.values[len(self.layout.numbers) :]


def _candidates(model: Model, layout: Layout, data: TorqueData) -> TorqueData:
    """The columns of all that may be fitted."""
    kept = np.concatenate([layout.links, layout.terms])
    return data.columns(kept, layout.described(model))


def _cross_validation(model: Model, layout: Layout, data: TorqueData) -> CrossValidation:
    known, some = layout.described(model), _candidates(model, layout, data)
    links = scaled_links(known[layout.links].reshape(-1, 10))
    first = data.columns(np.concatenate([layout.links, layout.early]), known)
    return CrossValidation(some, *links, layout.limits(known[layout.terms]), _noise(first))


def _nearest(model: Model, level: Model, data: TorqueData, chosen: Chosen):
    """The realisable model; base parameters; these at the start, by least squares, their errors, in the model; and
    what least squares and the model leave. `level` is the model with the gravity that was found."""
    layout, values = chosen.layout, chosen.values
    known, now = layout.described(level), layout.described(model)
    known[layout.terms] = values
    fitted = chosen.state.fitted[: len(layout.numbers)]
    kept = np.concatenate([layout.links, layout.numbers[fitted]])
    some = data.columns(kept, known)
    base = base_parameters(some.factors[:, :, :-1], [layout.names[k] for k in kept])
    beta, error, best = _least_squares(some, base)
    W = some.weighted(chosen.check.weights)
    before = _prior(some, known[kept], len(layout.links), chosen, fitted)
    whole = known.copy()
    whole[kept] = nearest_realisable(W[:, :-1], W[:, -1], before, weight=chosen.prior)
    found = _with_parameters(level, whole, layout)
    numbers = base.of(now[kept]), beta, error, base.of(whole[kept])
    return found, base, numbers, (some.residual(best), some.residual(whole[kept]))


def _tilted(model: Model, change: np.ndarray) -> Model:
    """The model under gravity of the same size whose horizontal part is changed [m/s²]."""
    if not np.any(change):
        return model
    gravity = np.array(model.gravity, dtype=np.float64)
    size = np.linalg.norm(gravity)
    gravity[list(horizontal(model))] += change
    return model.set("gravity", gravity * (size / np.linalg.norm(gravity)))


def _angle(a: AnyArray, b: AnyArray) -> float:
    """Between two directions [rad]."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def _far(model: Model, found: Model) -> tuple[str, ...]:
    """A sentence on masses that are far from those of the description."""
    old, new = (np.asarray(m.link_mass, dtype=np.float64) for m in (model, found))
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.flatnonzero((old > 0.0) & (np.abs(np.log(new / old)) > np.log(FAR)))
    if not len(far):
        return ()
    each = [f"{model.link_names[k]!r} {new[k]:.3g} kg (was {old[k]:.3g})" for k in far]
    return (
        f"masses far from the description: {', '.join(each)}. Torques may not determine them, or a term is missing "
        f"(joints=None tries all).",
    )


def _noise(data: TorqueData) -> Float[np.ndarray, " dof"]:
    """What least squares with these columns leaves [N·m, N]: by it the degrees of freedom are weighted."""
    names = [str(k) for k in range(data.factors.shape[-1] - 1)]
    best = _least_squares(data, base_parameters(data.factors[:, :, :-1], names))[2]
    return _noise_of(data, data.residual(best), 0)


def _noise_of(data: TorqueData, residual: np.ndarray, numbers: int) -> np.ndarray:
    """The deviation of the noise from what so many fitted numbers leave; infinite where nothing was measured."""
    rows = max(float(np.sum(data.counts)), 1.0)
    free = np.sqrt(rows / max(rows - numbers, 1.0))
    used = data.counts > 0.0
    scale = np.linalg.norm(data.factors[:, :, -1], axis=1) / np.sqrt(np.maximum(data.counts, 1.0))
    noise = np.maximum(free * np.nan_to_num(residual), QUIET * scale.max())
    return np.where(used, np.where(noise > 0.0, noise, 1.0), np.inf)


def _least_squares(
    data: TorqueData, base: BaseParameters
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Base parameters, their errors, parameters that have those.

    Twice: noise is estimated for each degree of freedom from what an unweighted solution leaves.
    """
    own = list(base.own)
    best = np.zeros(data.factors.shape[-1] - 1)
    beta, inverse = np.zeros(len(own)), np.zeros((len(own), len(own)))
    weights = np.where(data.counts > 0.0, 1.0, 0.0)
    for _ in range(2):
        W = data.weighted(weights)
        length = np.maximum(np.linalg.norm(W[:, own], axis=0), 1e-300)
        U, s, Vt = np.linalg.svd(W[:, own] / length, full_matrices=False)
        beta = Vt.T @ ((U.T @ W[:, -1]) / s) / length
        inverse = (Vt.T / s) / length[:, None]
        best[own] = beta
        weights = 1.0 / _noise_of(data, data.residual(best), len(own))
    return beta, np.linalg.norm(inverse, axis=1), best


def _prior(
    data: TorqueData, now: np.ndarray, links: int, chosen: Chosen, fitted: np.ndarray
) -> Prior:
    """Where the parameters are expected: links as described, numbers of joints where `choose` found them.

    Only links are held back: the scale of numbers that may have any sign grows with the weight of the prior.
    """
    size = np.linalg.norm(data.factors, axis=(0, 1))
    typical = SHARE * size[-1] / np.maximum(size[links:-1], 1e-12 * size[-1] + 1e-300)
    positive = chosen.check.terms.positive[: len(fitted)][fitted]
    scale = np.maximum(now[links:], typical)
    free = typical[~positive] / SHARE * np.sqrt(max(chosen.prior, 1.0))
    return Prior(now[:links].reshape(-1, 10), scale[positive], free)


def _with_parameters(model: Model, pi: np.ndarray, layout: Layout) -> Model:
    """The model with these parameters; gravity is its own."""
    links, joints = len(model.link_names), layout.tried
    changes = {}
    of_joints = pi[10 * links :][: len(joints) * model.dof].reshape(len(joints), model.dof)
    for word, numbers in zip(joints, of_joints, strict=True):
        changes[LEAVES[word]] = numbers
        leaf = LEAVES[word].replace("joint_", "joint/", 1)
        changes |= switched_on(model, leaf, np.flatnonzero(numbers).tolist())
    if ripples := layout.cogging(pi):
        changes |= switched_on(model, "joint/cogging_sin", list(ripples))
        for k, name in enumerate(("periods", "sin", "cos")):
            leaf = f"joint_cogging_{name}"
            changes[leaf] = np.array(getattr(model, leaf), dtype=np.float64)
            changes[leaf][list(ripples)] = [three[k] for three in ripples.values()]
    if rubbing := layout.rubbing(pi):
        changes |= switched_on(model, "joint/bristle_deflection", list(rubbing))
        changes["joint_bristle_deflection"] = np.array(model.joint_bristle_deflection, dtype=float)
        for k, name in enumerate(("joint_friction", "joint_bristle_deflection")):
            changes[name][list(rubbing)] = [both[k] for both in rubbing.values()]
    return _with_links(dataclasses.replace(model, **changes), layout, pi[layout.links])


def _with_links(model: Model, layout: Layout, tens: np.ndarray) -> Model:
    """The model whose links that weigh something have these numbers, ten each."""
    names = ("link_mass", "link_com", "link_inertia")
    mass, com, inertia = changes = [np.array(getattr(model, name)) for name in names]
    for i, ten in zip(layout.links[::10] // 10, tens.reshape(-1, 10), strict=True):
        mass[i], com[i], inertia[i] = link_of(ten)
    return dataclasses.replace(model, **dict(zip(names, changes, strict=True)))
