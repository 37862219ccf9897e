"""Measured motion and torque -> what is left of them for least squares: one triangle for each degree of freedom.

The rows `[Y | τ]` of a degree of freedom matter only by their products, which a triangular factor keeps. Rows come
in pieces of equal length, so that any motion costs one compilation and little memory. For cross-validation the products
of each part of the rows are kept as well.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from isthmus.dynamics.passive import limit_torque, passive_torque
from isthmus.dynamics.rnea import inverse_dynamics
from isthmus.errors import BadMotion, BadOption, BadShape
from isthmus.identify.torque.regressor import LEAVES, OF_JOINT, parameter_vector, regressor
from isthmus.model.model import Model
from isthmus.simulate.engine import compiled
from isthmus.types import AnyArray

PIECE = 2048
"""Rows at a time."""
BLOCKS = 5
"""Blocks of time into which every motion is cut; each has a slow and a fast half."""
PARTS = 2 * BLOCKS
ORDER = 5
"""Of the Butterworth filter, which runs forwards and backwards."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """One motion, row by row: `q`, `v`, `a` and motor torques, and the time between rows [s] where it is known."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    step: float | None = None

    def only(self, rows: np.ndarray) -> Rows:
        return dataclasses.replace(
            self, q=self.q[rows], v=self.v[rows], a=self.a[rows], tau=self.tau[rows]
        )


@dataclasses.dataclass(frozen=True)
class TorqueData:
    """Triangular factors of `[Y | τ]`, for torques [N·m, N] that remain after springs and known friction."""

    factors: Float[np.ndarray, "dof rows p1"]
    counts: Float[np.ndarray, " dof"]
    """Rows that were measured."""
    products: Float[np.ndarray, "parts dof p1 p1"]
    """`[Y | τ]ᵀ [Y | τ]` of each part: block `part // 2` of time, in it the slow (0) or fast (1) rows. Or of none."""
    part_counts: Float[np.ndarray, "parts dof"]

    def residual(self, pi: Float[np.ndarray, " p"]) -> Float[np.ndarray, " dof"]:
        """Root mean square of `Y π − τ`; NaN where nothing was measured."""
        total = np.linalg.norm(self.factors @ np.append(pi, -1.0), axis=1)
        with np.errstate(invalid="ignore"):
            return np.where(self.counts > 0.0, total / np.sqrt(self.counts), np.nan)

    def weighted(self, weights: Float[np.ndarray, " dof"]) -> Float[np.ndarray, "rows p1"]:
        """All factors under each other, each times its weight."""
        return np.reshape(weights[:, None, None] * self.factors, (-1, self.factors.shape[-1]))

    def columns(self, kept: np.ndarray, known: Float[np.ndarray, " p"]) -> TorqueData:
        """Only some of the parameters; the others have their `known` values."""
        others = np.setdiff1d(np.arange(len(known)), kept)
        others = others[known[others] != 0.0]
        rows = lambda x: np.concatenate(
            [x[..., kept, :], x[..., -1:, :] - known[others] @ x[..., others, :][..., None, :, :]],
            axis=-2,
        )
        turned = lambda x: np.swapaxes(x, -1, -2)
        factors, products = turned(rows(turned(self.factors))), rows(turned(rows(self.products)))
        return dataclasses.replace(self, factors=factors, products=products)


def torque_data(
    model: Model,
    motions: Sequence[Rows],
    joints: tuple[str, ...],
    *,
    tilt: bool = False,
    ripples: Sequence[tuple[int, int]] = (),
    bristles: Sequence[tuple[int, float]] = (),
    lowpass: float | None = None,
    by_part: bool = True,
    unused: Sequence[int] | np.ndarray = (),
) -> TorqueData:
    """The data of motions, with products of each part if asked for; NaN torques were not measured.

    With `tilt`, two columns more: the torques of gravity of 1 m/s² along the axes of `horizontal(model)`. Two more for
    each cogging in `ripples`: the degree of freedom, and periods in a turn. One more for each of `bristles`: the degree
    of freedom, and the deflection [rad] over which its dry friction builds up. `lowpass` [Hz]: `Y` goes through the
    filter that the torques have been through. The force of a stop is not known: the torque of a joint that touches one
    is not used. Columns that are `unused` are zero, which saves time.
    """
    for rows in motions:
        _check(model, rows)
    whole = lambda m: np.flatnonzero(np.isfinite(np.hstack([m.q, m.v, m.a])).all(axis=1))
    motions = [m.only(whole(m)) for m in motions]
    if not sum(len(m.q) for m in motions):
        raise BadMotion("no row has positions, velocities and accelerations that are all measured.")
    model = eqx.tree_at(lambda m: m.networks, model, ())
    parts = iter(parts_of(motions))
    factors, counts = np.zeros((model.dof, 0, 0)), np.zeros((PARTS, model.dof))
    products = np.zeros(0)
    for motion in motions:
        part = next(parts)
        for where, piece, used in _pieces(model, motion, joints, tilt, ripples, bristles, lowpass):
            if not factors.size:
                factors = np.zeros((model.dof, piece.shape[2], piece.shape[2]))
                products = np.zeros((PARTS if by_part else 0, *factors.shape))
            piece[:, :, unused] = 0.0
            order = np.argsort(part[where], kind="stable")
            for j, felt in enumerate(np.any(piece, axis=0)):
                columns = np.flatnonzero(felt | np.any(factors[j], axis=0))
                chosen = order[used[order, j]]
                own = np.take(piece[chosen, j], columns, axis=1)
                _add_rows(factors[j], own, columns)
                ends = np.searchsorted(part[where][chosen], np.arange(PARTS + 1))
                counts[:, j] += np.diff(ends)
                for k in np.flatnonzero(np.diff(ends)) if len(products) else ():
                    some = own[ends[k] : ends[k + 1]]
                    products[k, j][np.ix_(columns, columns)] += some.T @ some
    if not counts.any():
        raise BadMotion("no torque was measured while its joint was off its stops.")
    return TorqueData(factors, counts.sum(axis=0), products, counts[: len(products)])


def parts_of(motions: Sequence[Rows]) -> list[Int[np.ndarray, " rows"]]:
    """The part of each row: its block of time, the same share of every motion; slower or faster than the median.

    Only rows with a measured torque count.
    """
    used = [np.isfinite(m.tau).any(axis=1) for m in motions]
    v = np.concatenate([m.v[rows] for m, rows in zip(motions, used, strict=True)])
    size = np.sqrt(np.mean(v**2, axis=0)) if len(v) else np.zeros(v.shape[1])
    speed = [np.linalg.norm(m.v / np.where(size > 0.0, size, 1.0), axis=1) for m in motions]
    counted = np.concatenate([s[rows] for s, rows in zip(speed, used, strict=True)])
    middle = np.median(counted) if len(counted) else 0.0
    blocks = [(np.cumsum(rows) - rows) * BLOCKS // max(np.sum(rows), 1) for rows in used]
    parts = [2 * b + (s > middle) for b, s in zip(blocks, speed, strict=True)]
    return [np.minimum(part, PARTS - 1) for part in parts]


def horizontal(model: Model) -> tuple[int, int]:
    """The two axes of the world (0 x, 1 y, 2 z) along which gravity acts least: a tilt of the base adds to them."""
    least = np.argsort(np.abs(np.asarray(model.gravity)), kind="stable")[:2]
    return int(min(least)), int(max(least))


def _pieces(
    model: Model,
    motion: Rows,
    joints: tuple[str, ...],
    tilt: bool,
    ripples: Sequence[tuple[int, int]],
    bristles: Sequence[tuple[int, float]],
    lowpass: float | None,
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Rows `[Y | τ − known]` in pieces: where they are in the motion, they (rows, dof, p1), and which are used."""
    found, axes = [], horizontal(model) if tilt else ()
    bent = _bent(model, motion.q, bristles)
    for start in range(0, len(motion.q), PIECE):
        where = slice(start, min(start + PIECE, len(motion.q)))
        given = (motion.q, motion.v, motion.a, np.nan_to_num(motion.tau))
        Y, known, stopped = _rows(model, *(x[where] for x in given), joints, axes)
        own = Y.shape[2], Y.shape[2] + 2 * len(ripples)
        piece = np.zeros((*Y.shape[:2], own[1] + len(bristles) + 1))
        piece[:, :, : own[0]] = Y
        _add_waves(piece[:, :, own[0] : own[1]], model, motion.q[where], ripples)
        piece[:, [dof for dof, _ in bristles], own[1] + np.arange(len(bristles))] = bent[where]
        piece[:, :, -1] = -known
        used = np.isfinite(motion.tau[where]) & ~stopped
        if lowpass is None:
            piece[:, :, -1] += motion.tau[where]
            yield where, piece, used
        else:
            found.append((piece, used))
    if found and lowpass is not None:
        whole, used = (np.concatenate(parts) for parts in zip(*found, strict=True))
        whole = filtered(whole, motion.step, lowpass)
        whole[:, :, -1] += motion.tau
        yield slice(0, len(whole)), whole, used


def turning(model: Model) -> dict[int, int]:
    """Degrees of freedom of revolute joints -> place in `q`."""
    spans = enumerate(zip(model.layout.q_own, model.layout.v_own, strict=True))
    return {v: q for i, ((q, _), (v, _)) in spans if model.joint_kinds[i] == "revolute"}


def turned(model: Model, motions: Sequence[Rows]) -> dict[int, float]:
    """Degree of freedom -> range of its angle in rows with a torque [rad], for revolute joints that do not cog yet."""
    used = np.concatenate([m.q[np.isfinite(m.tau).any(axis=1)] for m in motions])
    used = used[np.isfinite(used).all(axis=1)]
    places = {k: at for k, at in turning(model).items() if k not in model.cogging}
    return {k: float(np.ptp(used[:, at])) if len(used) else 0.0 for k, at in places.items()}


def described_bristles(model: Model) -> tuple[tuple[int, float], ...]:
    """Degree of freedom and deflection [rad] of the revolute joints of a model that have bristles."""
    deflections, revolute = np.asarray(model.joint_bristle_deflection), turning(model)
    return tuple((k, float(deflections[k])) for k in model.bristling if k in revolute)


def _bent(
    model: Model, q: Float[np.ndarray, "rows nq"], bristles: Sequence[tuple[int, float]]
) -> Float[np.ndarray, "rows columns"]:
    """The states of `bristles`, −1 to 1, along a motion: motor torques against dry friction of 1 N·m.

    They follow `bristles_after`, a linear recurrence `z ← k z + s` from slack ones. Its steps are joined in pairs,
    pairs of pairs and so on: thirteen products for a motion of 8,000 rows.
    """
    places = turning(model)
    angles = q[:, [places[dof] for dof, _ in bristles]]
    way = np.diff(angles, axis=0, prepend=angles[:1])
    full = np.array([deflection for _, deflection in bristles])
    k, z = full / (full + np.abs(way)), way / (full + np.abs(way))
    joined = 1
    while joined < len(q):
        z[joined:] += k[joined:] * z[:-joined]
        k[joined:] *= k[:-joined]
        joined *= 2
    return z


def _add_waves(
    out: Float[np.ndarray, "rows dof columns"],
    model: Model,
    q: Float[np.ndarray, "rows nq"],
    ripples: Sequence[tuple[int, int]],
) -> None:
    """Writes motor torques against a cogging of 1 N·m, sine and cosine, for each of `ripples`."""
    places = turning(model)
    for k, (dof, periods) in enumerate(ripples):
        angle = periods * q[:, places[dof]]
        out[:, dof, 2 * k], out[:, dof, 2 * k + 1] = -np.sin(angle), -np.cos(angle)


def filtered(x: np.ndarray, step: float | None, lowpass: float) -> np.ndarray:
    """Rows every `step` seconds after a Butterworth filter [Hz] without phase shift."""
    from scipy.signal import butter, sosfiltfilt  # slow to import, and few need it

    if step is None:
        raise BadOption("lowpass needs the time between rows: use start_from_torque with motions.")
    if not 0.0 < lowpass < 0.5 / step:
        raise BadOption(
            f"lowpass is {lowpass} Hz; rows every {step:.4g} s allow more than 0 and less than "
            f"{0.5 / step:.4g} Hz."
        )
    sos = butter(ORDER, lowpass, fs=1.0 / step, output="sos")
    return sosfiltfilt(sos, x, axis=0, padlen=min(len(x) - 1, 6 * ORDER))


def predicted_torque(
    model: Model, rows: Rows, like: Model, *, lowpass: float | None = None
) -> Float[np.ndarray, "rows dof"]:
    """Motor torques [N·m, N] of a model that was fitted to `like`: `Y π`, after the filter if there is one.

    All programs are those of the fit, so that nothing is compiled.
    """
    same = {
        name: getattr(model, name) for name in ("gravity", "link_mass", "link_com", "link_inertia")
    }
    pi, level = parameter_vector(model, joints=OF_JOINT), dataclasses.replace(like, **same)
    new = sorted({*model.cogging} - {*like.cogging})
    sizes = np.stack([model.joint_cogging_sin, model.joint_cogging_cos], axis=1)[new].ravel()
    ripples = [(k, int(np.asarray(model.joint_cogging_periods)[k])) for k in new]
    bristles = described_bristles(model)
    dry = 10 * len(model.link_names) + OF_JOINT.index("friction") * model.dof
    rubbing = [dry + k for k, _ in bristles]
    sizes, pi[rubbing] = np.append(sizes, pi[rubbing]), 0.0
    still = dataclasses.replace(rows, tau=0.0 * rows.v)
    Y = _pieces(level, still, OF_JOINT, True, ripples, bristles, None)
    whole = np.concatenate([pi, np.zeros(2), sizes, [-1.0]])
    tau = np.concatenate([piece @ whole for _, piece, _ in Y])
    return tau if lowpass is None else filtered(tau, rows.step, lowpass)


def _rows(
    model: Model,
    q: Float[np.ndarray, "rows nq"],
    v: Float[np.ndarray, "rows dof"],
    a: Float[np.ndarray, "rows dof"],
    tau: Float[np.ndarray, "rows dof"],
    joints: tuple[str, ...],
    axes: tuple[int, ...] = (),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regressors, with a column for gravity along each of `axes`; motor torques for all that is not one of their
    columns; which joints touch a stop. By native code, which is found on disk where it was made before."""
    model = jax.tree.map(lambda x: np.asarray(x, np.float64), model)
    row = functools.partial(_row, joints=joints, axes=axes)
    example = (model, *(x[0] for x in (q, v, a, tau)))
    made = compiled(row, example, ("torques by regressor", joints, axes), "native", (0, 0, 0))
    same = jax.tree.leaves(model)
    shared = [True] * len(same) + [False] * 4
    Y, known, stopped = made.flat_map([*same, q, v, a, tau], shared=shared)
    return Y, known, stopped != 0.0


def _row(
    model: Model,
    q: AnyArray,
    v: AnyArray,
    a: AnyArray,
    tau: AnyArray,
    *,
    joints: tuple[str, ...],
    axes: tuple[int, ...],
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The same for one row; joints that touch a stop have another number than zero."""
    plain = model
    for name in joints:
        plain = eqx.tree_at(
            lambda m, n=name: getattr(m, LEAVES[n]), plain, replace_fn=lambda x: 0.0 * x
        )
    known = plain.joint_armature * a - passive_torque(plain, q, v, tau)
    pulled = [eqx.tree_at(lambda m: m.gravity, model, jnp.eye(3)[axis]) for axis in axes]
    weights = [inverse_dynamics(m, q, 0.0 * v, 0.0 * a)[:, None] for m in pulled]
    Y = jnp.concatenate([regressor(model, q, v, a, joints=joints), *weights], axis=1)
    return Y, known, limit_torque(plain, q, v)


def _add_rows(factor: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
    """Takes rows of these columns into a square factor, in place; all its other columns are zero."""
    old = factor[np.any(factor != 0.0, axis=1)][:, columns]
    R = np.asarray(np.linalg.qr(np.concatenate([old, rows]), mode="r"))
    factor[: len(R), columns] = R


def _check(model: Model, rows: Rows) -> None:
    sizes = {"q": model.nq, "v": model.dof, "a": model.dof, "tau": model.dof}
    for word, size in sizes.items():
        x = getattr(rows, word)
        if x.ndim != 2 or x.shape != (len(rows.q), size):
            raise BadShape(f"{word} has shape {x.shape}; this model needs ({len(rows.q)}, {size}).")
