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
from jaxtyping import Bool, Float

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
    """Without the links: the fitted rows' products, and those of the judged rows of each degree of freedom."""

    fitted: Float[np.ndarray, "folds t1 t1"]
    judged: Float[np.ndarray, "folds dof t1 t1"]


class CrossValidation:
    """Errors of fits to parts of the data on the other parts.

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
        size = data.products[:, :, -1, -1]
        sums = lambda x: np.stack([x[judged].sum(axis=0) for judged in FOLDS])
        self.judged_size, self.judged_rows = sums(size), sums(self.counts)
        columns = np.einsum("kjaa->a", data.products)
        self.felt = columns[self.links : -1] > ROUNDING * columns[-1]
        self.whole = self._scaled(data.products.sum(axis=0))
        self.judged = self._scaled(sums(data.products))
        self._weigh_products()

    def _scaled(self, products: Float[np.ndarray, "... p1 p1"]) -> Float[np.ndarray, "... p1 p1"]:
        """The products for scaled numbers of the links, as changes from their start."""
        n, L, out = self.links, self.scaling, products.copy()
        out[..., :, :n] = out[..., :, :n] @ L
        out[..., :n, :] = L.T @ out[..., :n, :]
        out[..., :, -1] -= out[..., :, :n] @ self.start
        out[..., -1, :] -= self.start @ out[..., :n, :]
        return out

    def weigh(self, noise: Float[np.ndarray, " dof"]) -> None:
        """Divides residuals by this noise from now on."""
        self.weights = 1.0 / noise
        self._weigh_products()

    def _weigh_products(self) -> None:
        weighted = lambda x: np.einsum("...jab,j->...ab", x, self.weights**2)
        self.weighted = weighted(self.whole), weighted(self.judged)
        self._folds: dict[float, Folds] = {}

    def folds(self, prior: float) -> Folds:
        """The folds with this weight of the prior."""
        if prior not in self._folds:
            whole, judged = self.weighted
            parts = [
                self._reduced(whole - out, own, prior)
                for out, own in zip(judged, self.judged, strict=True)
            ]
            self._folds[prior] = Folds(*(np.stack(x) for x in zip(*parts, strict=True)))
        return self._folds[prior]

    def errors(self, state: State, prior: float) -> Float[np.ndarray, "folds dof"]:
        """Mean squared errors [N²·m², N²]; NaN where a fold has no row."""
        folds = self.folds(prior)
        x = self.solve(folds.fitted, state)
        w = np.concatenate([x, np.full((len(x), 1), -1.0)], axis=1)
        used = np.flatnonzero(w.any(axis=0))
        some, w = folds.judged[:, :, used[:, None], used], w[:, None, used]
        squares = np.sum((some @ w[..., None])[..., 0] * w, axis=2)
        squares = np.maximum(squares, ROUNDING * self.judged_size)
        rows = self.judged_rows
        return np.where(rows > 0.0, squares / np.maximum(rows, 1.0), np.nan)

    def score(self, state: State, prior: float) -> float:
        """The mean over folds and joints of squared errors in units of the noise."""
        return float(np.nanmean(self.errors(state, prior) * self.weights**2))

    def rms(self, state: State, prior: float) -> Float[np.ndarray, " dof"]:
        """Root mean squared errors over all folds [N·m, N]; NaN where nothing was measured."""
        errors = self.errors(state, prior)
        count = np.sum(np.isfinite(errors), axis=0)
        mean = np.nansum(errors, axis=0) / np.maximum(count, 1)
        return np.sqrt(np.where(count > 0, mean, np.nan))

    def best_prior(self, state: State, near: float | None = None) -> float:
        """The largest weight whose error is close to the least; of those near a given one, or of all."""
        tried = [p for p in PRIORS if near is None or near / NEAR < p < near * NEAR]
        scores = [self.score(state, prior) for prior in tried]
        return max(p for p, s in zip(tried, scores, strict=True) if s <= CLOSE * min(scores))

    def values(self, state: State, prior: float) -> Float[np.ndarray, " t"]:
        """The numbers of all terms, the fitted ones from all data."""
        return self.solve(self._eliminated(self.weighted[0], prior)[0][None], state)[0]

    def link_values(self, state: State, prior: float) -> Float[np.ndarray, " n"]:
        """The parameters of the links that go with `values`; realisable or not."""
        _, K = self._eliminated(self.weighted[0], prior)
        change = -K @ np.append(self.values(state, prior), -1.0)
        return self.scaling @ (self.start + change)

    def solve(
        self, H: Float[np.ndarray, "folds t1 t1"], state: State
    ) -> Float[np.ndarray, "folds t"]:
        """The least squares of the fitted numbers; those that would leave their bounds are zero."""
        x = np.tile(state.value, (len(H), 1))
        left, fitted = np.arange(len(H)), np.tile(state.fitted, (len(H), 1))
        while len(left):  # folds whose fitted numbers are not all inside their bounds yet
            for group in _alike(fitted, left):
                k = np.flatnonzero(fitted[group[0]])
                x[group[:, None], k] = 0.0
                own = H[group[:, None, None], k[:, None], k]
                rows = H[group[:, None], k]
                right = rows[..., -1] - (rows[..., :-1] @ x[group, :, None])[..., 0]
                own[:, range(len(k)), range(len(k))] *= 1.0 + RIDGE
                own[:, range(len(k)), range(len(k))] += 1e-300
                x[group[:, None], k] = np.linalg.solve(own, right[..., None])[..., 0]
            bad = fitted & ((self.terms.positive & (x < 0.0)) | (x > self.terms.most))
            x[bad], fitted = 0.0, fitted & ~bad
            left = np.flatnonzero(bad.any(axis=1) & fitted.any(axis=1))
        return x

    def _eliminated(self, G: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
        """Products of terms and torques where the links have their best numbers, `−K` times those."""
        n = self.links
        K = np.linalg.solve(G[:n, :n] + prior * np.eye(n), G[:n, n:])
        return G[n:, n:] - G[n:, :n] @ K, K

    def _reduced(
        self, G: np.ndarray, judged: np.ndarray, prior: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Products of terms and torques, of fitted and judged rows, without the links."""
        H, K = self._eliminated(G, prior)
        P = np.concatenate([-K, np.eye(len(H))])
        out = np.empty((len(judged), *H.shape))
        for k, own in enumerate(judged):
            felt = np.flatnonzero(np.diagonal(own))  # a joint feels few of the columns
            out[k] = P[felt].T @ own[np.ix_(felt, felt)] @ P[felt]
        return H, out


def _alike(fitted: Bool[np.ndarray, "folds t"], left: np.ndarray) -> list[np.ndarray]:
    """The folds `left`, those with the same fitted numbers together; none where nothing is fitted."""
    groups: dict[bytes, list[int]] = {}
    for fold in left.tolist():
        if fitted[fold].any():
            groups.setdefault(fitted[fold].tobytes(), []).append(fold)
    return [np.array(group) for group in groups.values()]


def choose(check: CrossValidation, state: State) -> tuple[State, float]:
    """The state, reached from the given one by changes of single groups, and the weight of the prior.

    Twice: then the noise is what cross-validation leaves, in which there is also what no term explains.
    """
    state, prior = _searched(check, state)
    left = check.rms(state, prior)
    with np.errstate(divide="ignore"):
        check.weigh(np.where(np.isfinite(left), np.maximum(left, 1.0 / check.weights), np.inf))
    state, prior = _searched(check, state, prior)
    idle = state.fitted & (check.values(state, prior) == 0.0)
    return State(state.fitted & ~idle, state.value), prior


def _searched(
    check: CrossValidation, state: State, near: float | None = None
) -> tuple[State, float]:
    """Changes that pay, until there are none."""
    prior = check.best_prior(state, near)
    for _ in range(ROUNDS):
        now = check.score(state, prior)
        changes = _improvements(check, state, prior, now)
        if not changes:
            break
        together, homes = state, set()
        for _, home, change in changes:
            if home not in homes:
                homes.add(home)
                together = together.changed(*change)
        one = state.changed(*changes[0][2])
        state = min((one, together), key=lambda s: check.score(s, prior))
        prior = check.best_prior(state, prior)
    return state, prior


def _improvements(check: CrossValidation, state: State, prior: float, now: float) -> list:
    """Changes that pay, the best one first: gain, degree of freedom, arguments of `State.changed`."""
    found, terms = [], check.terms
    for group, home, rivals in zip(terms.groups, terms.homes, terms.rivals, strict=True):
        columns = list(group)
        if not check.felt[columns].any():
            continue
        is_fitted = bool(state.fitted[columns].any())
        for fitted, value in _options(check.terms.described[columns]):
            same = np.array_equal(state.value[columns], value)
            if fitted == is_fitted and (fitted or same):
                continue
            simpler = is_fitted and not np.any(value)
            needed = now * len(group) * (-LOSS if simpler else GAIN)
            change = (group, fitted, value, rivals if fitted else ())
            gain = now - check.score(state.changed(*change), prior)
            if gain > needed:
                found.append((gain - needed, home, change))
    return sorted(found, key=lambda change: -change[0])


def _options(described: np.ndarray) -> list[tuple[bool, np.ndarray]]:
    """Fitted, as described, zero."""
    fixed = [described] if not described.any() else [described, 0.0 * described]
    return [(True, 0.0 * described), *((False, value) for value in fixed)]
