"""What a model lacks, and how far its estimates would move if it had it: errors beyond what noise explains.

Residuals that are correlated in time say less than their number. With residuals `r` of autocovariance `Ω`, a different
one for each compared component, the covariance is `G⁻¹ JᵀΩJ G⁻¹`, `G = JᵀJ` (Newey and West 1987; Andrews 1991).

Model errors bias estimates without widening that. Columns for numbers that are held (`columns.py`) are therefore added
one by one, the one first that explains most, as long as the last one is significant (orthogonal matching pursuit; a
score test, White 1982). The Gauss-Newton step of the larger model is the shift of the estimates; no search is repeated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from isthmus.identify.answer.columns import Columns
from isthmus.identify.answer.hidden_errors import is_start

SIGNIFICANT = 4.0
"""Standard errors that a held number must be off by to count as missing: some hundred are tried."""
START_SIGNIFICANT = 3.0
"""The same for the start of a window, where there are few windows: starts are measured, and so are never exact."""
MOST_PER_COMPONENT = 3
"""So many held numbers are added at most, for each component that is compared."""
LAGS = 1
"""Windows before and after one that it may be correlated with."""
VANISHING = 1e-10
"""Eigenvalue of a matrix of unit diagonal, relative to the largest, below which a direction is not determined."""

Correlate = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""`Ω X` of columns `X` (k, rows, width), with the covariance that residuals `r` (rows, width) show."""


@dataclasses.dataclass(frozen=True)
class ModelError:
    """What the residuals say about the model, in the coordinates `z` of the search."""

    alone: Float[np.ndarray, "p p"]
    """Covariance by the noise and its correlation in time, of the model as it is."""
    beside: Float[np.ndarray, "p p"]
    """The same with all that was added free."""
    by_starts: Float[np.ndarray, " p"]
    """How far the estimates would move if the starts of windows were free, where there are few windows."""
    added: tuple[str, ...]
    """Held numbers that the residuals call for, the most important first."""
    parts: Float[np.ndarray, "added p"]
    """By how much the estimates would move with each of them."""
    share: float
    """Share of the squares of the residuals that they and the starts explain."""


def model_error(
    columns: Columns,
    precision: Float[np.ndarray, " p"],
    pull: Float[np.ndarray, " p"],
    kept: Bool[np.ndarray, " p"],
) -> ModelError:
    """`precision` and `pull`: curvature and slope of the prior; `kept`: which of `z` are not at a bound."""
    p, r, free = len(kept), columns.r, np.flatnonzero(kept)
    X = np.concatenate([columns.free, columns.held])
    size = sizes(columns)
    of_starts = np.array([is_start(name) for name in columns.names], dtype=bool)
    Omega = lambda X, r: (between_windows if columns.restarts else correlated)(X, r, columns.run)
    most = MOST_PER_COMPONENT * len(np.unique(columns.component))
    able = lambda which: np.concatenate([np.zeros(p, dtype=bool), which])
    scaled = X / size, r / size, Omega
    starts = chosen_columns(*scaled, free, able(of_starts), most, START_SIGNIFICANT)
    known = [*free, *starts]
    chosen = chosen_columns(*scaled, np.array(known), able(~of_starts), most, SIGNIFICANT)
    own, count = X[[*known, *chosen]], len(free)
    flat = own.reshape(len(own), -1)
    G, slope = flat @ flat.T, flat @ r.ravel()
    prior = np.zeros(len(own))
    prior[:count], slope[:count] = precision[kept], slope[:count] + pull[kept]
    step = -inverse_of(G + np.diag(prior)) @ slope
    left = r + np.einsum("krc,k->rc", own, step)
    whole = lambda C: _spread(C[:count, :count], kept)
    alone = whole(sandwich(own[:count], r, Omega, prior[:count]))
    beside = whole(sandwich(own, left, Omega, prior)) if len(own) > count else alone
    parts = np.zeros((len(own) - count, p))
    follows = inverse_of(G[:count, :count] + np.diag(prior[:count])) @ G[:count, count:]
    parts[:, kept] = -(follows * step[None, count:]).T
    share = 1.0 - float(np.sum(np.square(left)) / max(np.sum(np.square(r)), 1e-300))
    names = tuple(columns.names[k - p] for k in chosen)
    by_starts = parts[: len(starts)].sum(axis=0)
    return ModelError(alone, beside, by_starts, names, parts[len(starts) :], share)


def sandwich(
    X: Float[np.ndarray, "k rows width"],
    r: Float[np.ndarray, "rows width"],
    Omega: Correlate,
    prior: Float[np.ndarray, " k"],
) -> Float[np.ndarray, "k k"]:
    """Covariance of a least-squares solution with the columns `X`, whose residuals `r` are correlated in time.

    A prior of this precision is as wide as it was given, whatever the noise.
    """
    flat = X.reshape(len(X), -1)
    data = max(np.count_nonzero(r) - len(X), 1)
    meat = flat @ Omega(X, r).reshape(len(X), -1).T * (np.count_nonzero(r) / data)
    inverse = inverse_of(flat @ flat.T + np.diag(prior))
    return inverse @ (meat + np.diag(prior)) @ inverse


def _spread(C: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """A matrix of what is kept, with zeros for the rest."""
    whole = np.zeros((len(kept), len(kept)))
    whole[np.ix_(kept, kept)] = C
    return whole


def chosen_columns(
    X: Float[np.ndarray, "q rows width"],
    r: Float[np.ndarray, "rows width"],
    Omega: Correlate,
    used: np.ndarray,
    able: Bool[np.ndarray, " q"],
    most: int,
    significant: float,
) -> list[int]:
    """Which of the columns `able` the residuals call for, beside those that are `used`; all in units of the noise."""
    flat = X.reshape(len(X), -1)
    G, c = flat @ flat.T, flat @ r.ravel()
    diagonal = np.diag(G).copy()
    found: list[int] = []
    for _ in range(min(most, int(able.sum()))):
        now = np.concatenate([used, np.array(found, dtype=np.int64)])
        inverse = inverse_of(G[np.ix_(now, now)])
        weights = inverse @ G[now]
        alone = diagonal - np.einsum("kq,kq->q", G[now], weights)
        score = c - c[now] @ weights
        new = able & (alone > 1e-6 * diagonal)
        new[now] = False
        gain = np.where(new, np.square(score) / np.where(new, alone, 1.0), 0.0)
        best = int(np.argmax(gain))
        if not gain[best] > 0.0:
            break
        b = (flat[best] - weights[:, best] @ flat[now]).reshape(r.shape)
        left = (
            r - np.einsum("krc,k->rc", X[now], inverse @ c[now]) - b * (score[best] / alone[best])
        )
        spread = float(np.sum(b * Omega(b[None], left)[0]))
        if not abs(score[best]) > significant * np.sqrt(max(spread, 1e-300)):
            break
        found.append(best)
    return found


def sizes(columns: Columns) -> Float[np.ndarray, " width"]:
    """Root mean square of the residuals of the component that each column of them belongs to."""
    squares = np.bincount(columns.component, np.mean(np.square(columns.r), axis=0))
    size = np.sqrt(squares / np.bincount(columns.component))
    return np.maximum(size, 1e-9 * max(float(size.max()), 1e-300))[columns.component]


def between_windows(
    X: Float[np.ndarray, "k windows data"], r: Float[np.ndarray, "windows data"], run: np.ndarray
) -> Float[np.ndarray, "k windows data"]:
    """`Ω X` where every window starts anew: inside one, any two numbers may be correlated, and neighbours are."""
    R = r / np.sqrt(np.maximum(np.count_nonzero(r, axis=0), 1))
    found = _times(X, R, R)
    for lag in range(1, min(LAGS, len(r) - 1) + 1):
        late = np.flatnonzero(run[lag:] == run[:-lag]) + lag
        share = 1.0 - lag / (LAGS + 1.0)
        found[:, late] += share * _times(X[:, late - lag], R[late], R[late - lag])
        found[:, late - lag] += share * _times(X[:, late], R[late - lag], R[late])
    return found


def _times(X: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """`X Bᵀ A` (k, windows, data), in the cheaper order."""
    flat = X.reshape(-1, X.shape[-1])
    few = len(A) < A.shape[1]
    return ((flat @ B.T) @ A if few else flat @ (B.T @ A)).reshape(X.shape)


def correlated(
    X: Float[np.ndarray, "k rows width"], r: Float[np.ndarray, "rows width"], run: np.ndarray
) -> Float[np.ndarray, "k rows width"]:
    """`Ω X`, with the autocovariance of each component of `r`; runs are independent of each other."""
    found = np.zeros_like(X)
    ends = np.flatnonzero(np.diff(run, append=run[-1:] + 1)) + 1
    spans = list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))
    longest = max(b - a for a, b in spans)
    for c in range(r.shape[1]):
        total = longest + int(reach(r[:, c], spans))
        length = 2 ** int(np.ceil(np.log2(2 * total)))
        power = sum(np.square(np.abs(np.fft.rfft(r[a:b, c], length))) for a, b in spans)
        gamma = np.fft.irfft(power, length) / max(np.count_nonzero(r[:, c]), 1)
        lags = np.minimum(np.arange(length), length - np.arange(length))
        gamma *= np.maximum(0.0, 1.0 - lags / (reach(r[:, c], spans) + 1.0))
        kernel = np.fft.rfft(gamma)
        for a, b in spans:
            moved = np.fft.irfft(np.fft.rfft(X[:, a:b, c], length, axis=1) * kernel, length, axis=1)
            found[:, a:b, c] = moved[:, : b - a]
    return found


def reach(r: Float[np.ndarray, " rows"], spans: list[tuple[int, int]]) -> float:
    """Lags of Bartlett's window: what Andrews' rule gives for a series of the same correlation of neighbours."""
    square = float(np.sum(np.square(r)))
    pairs = sum(float(r[a : b - 1] @ r[a + 1 : b]) for a, b in spans)
    rho = min(max(pairs / max(square, 1e-300), 0.0), 0.97)
    slow = 4.0 * rho**2 / (1.0 - rho**2) ** 2
    return float(min(1.1447 * (slow * len(r)) ** (1.0 / 3.0), len(r) / 4.0))


def inverse_of(G: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    """The inverse over what is determined, zero elsewhere."""
    size = np.sqrt(np.maximum(np.diag(G), 1e-300))
    values, vectors = np.linalg.eigh(G / size[:, None] / size[None])
    good = values > VANISHING * max(float(values[-1]), 1e-300) if len(values) else values > 0
    V = vectors[:, good] / size[:, None]
    return V / values[good] @ V.T
