"""What a torque fit should contain, by cross-validation: terms of the joints, a tilt of the base, the prior's weight.

Every motion is cut into blocks of time. In turn each block, the slow half and the fast half of all rows are predicted
by a fit to the rest; runs that repeat a trajectory are cut alike, so that no repetition of a row helps to predict it.
A term (dry friction of one joint, say) is fitted where that lowers the error clearly, and is zero elsewhere, or as
described where that predicts clearly better. The links are eliminated first, with a quadratic penalty around the
description (the second order of the distance in `realisable.py`): what remains are small systems, thousands a second.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from isthmus.identify.torque.data import BLOCKS, PARTS, TorqueData

PRIORS = tuple(10.0 ** (k / 2) for k in range(13))
"""Weights that are tried: 1 … 10⁶."""
CLOSE = 1.05
"""Of the weights whose error is at most this times the least one, the largest is taken."""
GAIN = 0.01
"""Share of the error by which a further fitted number must lower it."""
LOSS = 0.002
"""Share of the error that a number may cost that is fitted no more."""
NEAR = 11.0
"""A weight is looked for again within this factor of the last one."""
ROUNDS = 10
"""Of changes at most; some five are needed."""
RIDGE = 1e-9
"""Share of a column's own product that is added to it, against columns that cannot be told apart."""
ROUNDING = 1e-12
"""Share of the torques' products that counts as rounding."""

FOLDS = (
    *(np.arange(PARTS) // 2 == block for block in range(BLOCKS)),
    *(np.arange(PARTS) % 2 == half for half in (1, 0)),
)
"""Parts that are judged, of each fold: the blocks, then the fast and the slow half."""


@dataclasses.dataclass(frozen=True)
class Terms:
    """The columns behind the links, and what their numbers may be."""

    groups: tuple[tuple[int, ...], ...]
    """Columns that are fitted together or not at all; one for each joint and term."""
    homes: tuple[int, ...]
    """The degree of freedom of each group, −1 for none."""
    rivals: tuple[tuple[int, ...], ...]
    """Columns that are not fitted where a group is."""
    late: tuple[bool, ...]
    """Whether a group is tried once all others are chosen."""
    described: Float[np.ndarray, " t"]
    most: Float[np.ndarray, " t"]
    """Upper bounds."""
    positive: Bool[np.ndarray, " t"]


@dataclasses.dataclass(frozen=True)
class State:
    """Which columns are fitted, and the numbers of the others."""

    fitted: Bool[np.ndarray, " t"]
    value: Float[np.ndarray, " t"]

    def changed(
        self, group: Sequence[int], fitted: bool, value: np.ndarray, rivals: Sequence[int] = ()
    ) -> State:
        """The state with this change of a group; its rivals are zero."""
        where, numbers = self.fitted.copy(), self.value.copy()
        where[list(rivals)], numbers[list(rivals)] = False, 0.0
        where[list(group)], numbers[list(group)] = fitted, value
        return State(where, numbers)


@dataclasses.dataclass(frozen=True)
class Folds:
    """For one weight of the prior: products of terms and torques without the links, and the links by them."""

    fitted: Float[np.ndarray, "folds t1 t1"]
    """Of the fitted rows."""
    judged: Float[np.ndarray, "folds t1 t1"]
    """Of the judged rows, divided by noise and number of rows of each degree of freedom."""
    links: Float[np.ndarray, "folds n t1"]
    """The best change of the scaled links is `−links` times terms and −1."""


class CrossValidation:
    """Errors of fits to parts of the data on the other parts.

    One eigendecomposition of the links' products of each fold serves all weights of the prior, and all changes of the
    terms are scored together.

    Args:
        data: columns are those of the links, of the terms, and the torques.
        links: the matrix from scaled numbers of the links, which are expected at `start`, to their parameters.
        noise: of each degree of freedom [N·m, N], by which residuals are divided; infinite where none was measured.
    """

    def __init__(
        self,
        data: TorqueData,
        links: np.ndarray,
        start: np.ndarray,
        terms: Terms,
        noise: np.ndarray,
    ) -> None:
        self.terms, self.links, self.counts = terms, len(links), data.part_counts
        self.scaling, self.start = links, start
        self.weights = 1.0 / noise
        self.show(data)

    def show(self, data: TorqueData) -> None:
        """Takes this data from now on."""
        self.data = data
        columns = np.sum(data.factors**2, axis=(0, 1))
        self.felt = columns[self.links : -1] > ROUNDING * columns[-1]
        self._weigh_rows()

    def weigh(self, noise: Float[np.ndarray, " dof"]) -> None:
        """Divides residuals by this noise from now on."""
        self.weights = 1.0 / noise
        self._weigh_rows()

    def _weigh_rows(self) -> None:
        rows = self.data.weighted(self.weights)
        self.all_rows = self._scaled(rows.T @ rows)
        self._folds: dict[float, Folds] = {}

    def _summed(
        self, weights: Float[np.ndarray, "... parts dof"]
    ) -> Float[np.ndarray, "... p1 p1"]:
        """The weighted sum of all products, for scaled numbers of the links."""
        flat = weights.reshape(-1, self.counts.size) @ self.data.products.reshape(
            self.counts.size, -1
        )
        return self._scaled(flat.reshape(*weights.shape[:-2], *self.data.products.shape[-2:]))

    def _scaled(self, products: Float[np.ndarray, "... p1 p1"]) -> Float[np.ndarray, "... p1 p1"]:
        """The products for scaled numbers of the links, as changes from their start."""
        n, L, out = self.links, self.scaling, products.copy()
        out[..., :, :n] = out[..., :, :n] @ L
        out[..., :n, :] = L.T @ out[..., :n, :]
        out[..., :, -1] -= out[..., :, :n] @ self.start
        out[..., -1, :] -= self.start @ out[..., :n, :]
        return out

    def folds(self, prior: float) -> Folds:
        """The folds with this weight of the prior."""
        if not self._folds:
            self._split()
        if prior not in self._folds:
            values, axes, cross, own = self._fitted
            A, B, C = self._judged
            K = cross / (values + prior)[:, :, None]
            half = np.swapaxes(K, 1, 2) @ (0.5 * (A @ K) - B)
            judged = C + half + np.swapaxes(half, 1, 2)
            fitted = own - np.swapaxes(cross, 1, 2) @ K
            self._folds[prior] = Folds(fitted, judged, axes @ K)
        return self._folds[prior]

    def _split(self) -> None:
        """Products of fitted and of judged rows of each fold, along axes in which those of the fitted links are
        diagonal."""
        w, out, rows = self.weights**2, np.stack(FOLDS)[..., None], self._rows()
        each = np.where(rows > 0.0, w / np.maximum(rows, 1.0), 0.0) / max(np.sum(rows > 0.0), 1)
        self.least = ROUNDING * np.einsum(
            "fkj,kj->", out * each[:, None], self.data.products[..., -1, -1]
        )
        n, rest, judged = self.links, self._summed(~out * w), self._summed(out * each[:, None])
        values, axes = np.linalg.eigh(rest[:, :n, :n])
        turned = np.swapaxes(axes, 1, 2)
        self._fitted = values, axes, turned @ rest[:, :n, n:], rest[:, n:, n:]
        self._judged = (
            turned @ judged[:, :n, :n] @ axes,
            turned @ judged[:, :n, n:],
            judged[:, n:, n:],
        )

    def _rows(self) -> Float[np.ndarray, "folds dof"]:
        """How many rows are judged."""
        return np.stack(FOLDS) @ self.counts

    def errors(
        self, states: Sequence[State], prior: float
    ) -> Float[np.ndarray, "states folds dof"]:
        """Mean squared errors [N²·m², N²]; NaN where a fold has no row."""
        folds, rows = self.folds(prior), self._rows()
        w = _with_torque(np.swapaxes(self.solve(folds.fitted, states), 0, 1))
        links = (self.start - w @ np.swapaxes(folds.links, 1, 2)) @ self.scaling.T
        w = np.concatenate([links, w], axis=2)[:, None]
        judged = np.stack([self.data.products[own].sum(axis=0) for own in FOLDS])
        squares = np.sum((w @ judged) * w, axis=3)
        squares = np.maximum(squares, ROUNDING * judged[:, :, None, -1, -1])
        rows = rows[..., None]
        errors = np.where(rows > 0.0, squares / np.maximum(rows, 1.0), np.nan)
        return np.moveaxis(errors, 2, 0)

    def scores(self, states: Sequence[State], prior: float) -> Float[np.ndarray, " states"]:
        """The mean over folds and joints of squared errors in units of the noise."""
        folds = self.folds(prior)
        w = _with_torque(np.swapaxes(self.solve(folds.fitted, states), 0, 1))
        return np.maximum(np.sum((w @ folds.judged) * w, axis=(0, 2)), self.least)

    def rms(self, state: State, prior: float) -> Float[np.ndarray, " dof"]:
        """Root mean squared errors over all folds [N·m, N]; NaN where nothing was measured."""
        errors = self.errors([state], prior)[0]
        count = np.sum(np.isfinite(errors), axis=0)
        mean = np.nansum(errors, axis=0) / np.maximum(count, 1)
        return np.sqrt(np.where(count > 0, mean, np.nan))

    def best_prior(self, state: State, near: float | None = None) -> float:
        """The largest weight whose error is close to the least; of those near a given one, or of all."""
        tried = [p for p in PRIORS if near is None or near / NEAR < p < near * NEAR]
        scores = [self.scores([state], prior)[0] for prior in tried]
        return max(p for p, s in zip(tried, scores, strict=True) if s <= CLOSE * min(scores))

    def values(self, state: State, prior: float) -> Float[np.ndarray, " t"]:
        """The numbers of all terms, the fitted ones from all data."""
        return self.solve(self._eliminated(prior)[0][None], [state])[0, 0]

    def link_values(self, state: State, prior: float) -> Float[np.ndarray, " n"]:
        """The parameters of the links that go with `values`; realisable or not."""
        change = -self._eliminated(prior)[1] @ np.append(self.values(state, prior), -1.0)
        return self.scaling @ (self.start + change)

    def _eliminated(self, prior: float) -> tuple[np.ndarray, np.ndarray]:
        """Of all rows: products of terms and torques where the links have their best numbers, `−K` times those."""
        n, G = self.links, self.all_rows
        K = np.linalg.solve(G[:n, :n] + prior * np.eye(n), G[:n, n:])
        return G[n:, n:] - G[n:, :n] @ K, K

    def solve(
        self, H: Float[np.ndarray, "folds t1 t1"], states: Sequence[State]
    ) -> Float[np.ndarray, "states folds t"]:
        """The least squares of the fitted numbers; those that would leave their bounds are zero."""
        values, where = (
            np.stack(x) for x in zip(*((s.value, s.fitted) for s in states), strict=True)
        )
        values[where] = 0.0
        x = np.repeat(values, len(H), axis=0)
        fitted, fold = np.repeat(where, len(H), axis=0), np.tile(np.arange(len(H)), len(states))
        known = np.swapaxes(values @ H[:, :-1, :-1], 0, 1)  # torques of what is not fitted
        right = (H[None, :, :-1, -1] - known).reshape(x.shape)
        left = np.flatnonzero(fitted.any(axis=1))
        while len(left):  # systems whose fitted numbers are not all inside their bounds yet
            some = fitted[left]
            best = _least_squares(H, fold[left], right[left], some)
            bad = some & ((self.terms.positive & (best < 0.0)) | (best > self.terms.most))
            x[left] = np.where(some, np.where(bad, 0.0, best), x[left])
            fitted[left] = some & ~bad
            left = left[bad.any(axis=1) & fitted[left].any(axis=1)]
        return x.reshape(len(states), len(H), -1)


def _least_squares(
    H: Float[np.ndarray, "folds t1 t1"],
    fold: Int[np.ndarray, " systems"],
    right: Float[np.ndarray, "systems t"],
    fitted: Bool[np.ndarray, "systems t"],
) -> Float[np.ndarray, "systems t"]:
    """The best of the fitted numbers, zero elsewhere; smaller systems have rows of the identity in addition."""
    most, size = int(fitted.sum(axis=1).max()), H.shape[-1]
    k = np.argsort(~fitted, axis=1, kind="stable")[:, :most]
    used = np.take_along_axis(fitted, k, axis=1)
    rows = (fold[:, None] * size + k) * size
    own = np.take(H, rows[:, :, None] + k[:, None]) * (used[:, :, None] & used[:, None])
    diagonal = np.arange(most)
    own[:, diagonal, diagonal] = own[:, diagonal, diagonal] * (1.0 + RIDGE) + np.where(
        used, 1e-300, 1.0
    )
    found = np.linalg.solve(
        own, np.where(used, np.take_along_axis(right, k, axis=1), 0.0)[..., None]
    )
    out = np.zeros(right.shape)
    np.put_along_axis(out, k, found[..., 0], axis=1)
    return out


def _with_torque(x: Float[np.ndarray, "... t"]) -> Float[np.ndarray, "... t1"]:
    """Numbers and the factor −1 of the torques."""
    return np.concatenate([x, np.full((*x.shape[:-1], 1), -1.0)], axis=-1)


def choose(check: CrossValidation, state: State) -> tuple[State, float]:
    """The state, reached from the given one by changes of single groups, and the weight of the prior.

    Twice: then the noise is what cross-validation leaves, in which there is also what no term explains. Terms that
    refine others come last, so that these are chosen for what they explain alone.
    """
    state, prior = _searched(check, state)
    left = check.rms(state, prior)
    with np.errstate(divide="ignore"):
        check.weigh(np.where(np.isfinite(left), np.maximum(left, 1.0 / check.weights), np.inf))
    state, prior = _searched(check, state, prior)
    state, prior = _searched(check, state, prior, late=True)
    idle = state.fitted & (check.values(state, prior) == 0.0)
    return State(state.fitted & ~idle, state.value), prior


def _searched(
    check: CrossValidation, state: State, near: float | None = None, *, late: bool = False
) -> tuple[State, float]:
    """Changes that pay, until there are none; of the `late` groups or of the others."""
    prior = check.best_prior(state, near)
    for _ in range(ROUNDS):
        now = float(check.scores([state], prior)[0])
        changes = _improvements(check, state, prior, now, late)
        if not changes:
            break
        together, homes = state, set()
        for _, home, change in changes:
            if home not in homes:
                homes.add(home)
                together = together.changed(*change)
        one = state.changed(*changes[0][2])
        state = (one, together)[int(np.argmin(check.scores((one, together), prior)))]
        prior = check.best_prior(state, prior)
    return state, prior


def _improvements(
    check: CrossValidation, state: State, prior: float, now: float, late: bool
) -> list:
    """Changes that pay, the best one first: gain, degree of freedom, arguments of `State.changed`."""
    tried, terms = [], check.terms
    groups = zip(terms.groups, terms.homes, terms.rivals, terms.late, strict=True)
    for group, home, rivals, when in groups:
        columns = list(group)
        if when != late or not check.felt[columns].any():
            continue
        is_fitted = bool(state.fitted[columns].any())
        for fitted, value in _options(check.terms.described[columns]):
            same = np.array_equal(state.value[columns], value)
            if fitted == is_fitted and (fitted or same):
                continue
            simpler = is_fitted and not np.any(value)
            needed = now * len(group) * (-LOSS if simpler else GAIN)
            tried.append(
                (needed, home, (group, fitted, value, rivals if fitted or np.any(value) else ()))
            )
    if not tried:
        return []
    gains = now - check.scores([state.changed(*change) for *_, change in tried], prior)
    found = [
        (gain - needed, home, change)
        for gain, (needed, home, change) in zip(gains.tolist(), tried, strict=True)
        if gain > needed
    ]
    return sorted(found, key=lambda change: -change[0])


def _options(described: np.ndarray) -> list[tuple[bool, np.ndarray]]:
    """Fitted, as described, zero."""
    fixed = [described] if not described.any() else [described, 0.0 * described]
    return [(True, 0.0 * described), *((False, value) for value in fixed)]
