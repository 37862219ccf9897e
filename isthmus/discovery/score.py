"""The whitened score test: how much each candidate lowers the residuals of blocks that its coefficients do not know.

Along a window the deviation from the recorded motion obeys a linear recursion, so the residuals are
`y = X c + G ξ₀ + e`: `X` are the effects of candidates, `G` that of the noise `ξ₀` in the state that the window begins
with. With all in units of the noise, `C = I + G Gᵀ` is the covariance of what noise does, and `C⁻¹` weighs the
residuals. Only the products `[y X]ᵀ C⁻¹ [y X]` of some windows together are kept: all fits, held-out costs and angles
follow from them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from isthmus.discovery.candidates import Candidate
from isthmus.discovery.linearise import Slopes
from isthmus.discovery.record import Record

CHUNK = 4_000_000
"""Numbers of columns that are held in memory at a time."""
FOLDS = 5
"""Into so many parts the windows are divided for cross-validation."""
ROUNDS = 3
"""Of weighing the cells anew in a fit."""
RIDGE = 1e-9
"""Added to normal matrices, as a share of their diagonal."""
ROUNDING = 1e-10
"""Share of a cost that is left after whitening, below which it is rounding."""
DIVERGED = 1e8
"""A window whose residual is so many times that of most has diverged."""


@dataclasses.dataclass(frozen=True)
class Columns:
    """Names of the columns beside `y`: numbers that are free, then the terms of candidates."""

    free: dict[str, np.ndarray]
    """Derivative of each field of the model by the free numbers, (size of the field, numbers)."""
    candidates: Sequence[Candidate]

    @property
    def frees(self) -> int:
        """How many numbers are free."""
        return next((x.shape[1] for x in self.free.values()), 0)

    @property
    def places(self) -> list[np.ndarray]:
        """Where the terms of each candidate stand, `y` being column 0."""
        ends = 1 + self.frees + np.cumsum([0, *(c.terms for c in self.candidates)])
        return [np.arange(a, b) for a, b in itertools.pairwise(ends)]

    @property
    def prior(self) -> np.ndarray:
        """Precision of each column but `y`, in units of one over its usual size squared."""
        parts = [np.broadcast_to(c.precision, c.terms) for c in self.candidates]
        return np.concatenate([np.zeros(self.frees), *parts])

    def sources(self, slopes: Slopes, rows: np.ndarray) -> np.ndarray:
        """What each column adds to the deviation at some rows, (*rows, 2 dof, columns)."""
        parts = [-slopes.defect[rows][..., None]]
        if self.free:
            parts.append(sum(slopes.leaves[field][rows] @ J for field, J in self.free.items()))
        B = slopes.force[rows]
        for c in self.candidates:
            if c.forces is not None:
                parts.append(B @ c.forces[rows])
                continue
            by_leaf = [
                slopes.leaves[field][rows][..., place] * size for field, place, size in c.leaves
            ]
            parts.append(np.stack(by_leaf, axis=-1))
        return np.concatenate(parts, axis=-1)


@dataclasses.dataclass(frozen=True)
class Products:
    """`[y X]ᵀ C⁻¹ [y X]` of the windows of each block, by fold."""

    cells: np.ndarray
    """(folds, blocks, columns, columns), `y` first. Folds take turns, so that all see the same motion."""
    numbers: np.ndarray
    """How many numbers each cell compares, (folds, blocks)."""
    spread: np.ndarray
    """`log det C` of each cell, for each of its numbers: what noise is expected to do differs between models."""
    left_out: int
    """Windows that diverged."""

    def total(self) -> np.ndarray:
        """Of all windows together."""
        return self.cells.sum(axis=(0, 1))

    def only(self, columns: np.ndarray) -> Products:
        """Some of the columns, and `y`."""
        kept = np.concatenate([[0], columns])
        return dataclasses.replace(self, cells=self.cells[:, :, kept[:, None], kept[None]])

    def held(self, change: np.ndarray, kept: np.ndarray) -> Products:
        """The columns that are `kept`, and what `y` is once the others have changed by `change`."""
        width = len(change) + 1
        M = np.eye(width)[:, np.concatenate([[True], kept])]
        M[1:, 0] = np.where(kept, 0.0, -change)
        return dataclasses.replace(self, cells=M.T @ self.cells @ M)


def products(record: Record, slopes: Slopes, columns: Columns, *, whiten: bool) -> Products:
    """The products of all blocks, window by window; windows that diverge are left out."""
    n = len(record.start)
    width = 1 + columns.frees + sum(c.terms for c in columns.candidates)
    steps = record.window.shape[1]
    most = max(1, CHUNK // (steps * n * (width + n)))
    parts = []
    for first in range(0, record.windows, most):
        window = record.window[first : first + most]
        with np.errstate(all="ignore"):
            parts.append(_of_windows(record, slopes, columns, window, whiten=whiten))
    P, log_det = (np.concatenate(part) for part in zip(*parts, strict=True))
    good = np.all(np.isfinite(P), axis=(1, 2))
    usual = np.median(P[good, 0, 0]) if good.any() else 0.0
    good &= P[:, 0, 0] <= DIVERGED * max(usual, 1e-300)
    P[~good] = 0.0
    cell = np.arange(len(P)) % FOLDS, record.block
    cells = np.zeros((FOLDS, int(record.block[-1]) + 1, width, width))
    numbers, spread = np.zeros(cells.shape[:2]), np.zeros(cells.shape[:2])
    np.add.at(cells, cell, P)
    np.add.at(numbers, cell, good * np.count_nonzero(record.weight[record.window], axis=(1, 2)))
    np.add.at(spread, cell, np.where(good, log_det, 0.0))
    spread /= np.maximum(numbers, 1.0)
    there = np.any(numbers, axis=0)
    return Products(cells[:, there], numbers[:, there], spread[:, there], int(np.sum(~good)))


def _of_windows(
    record: Record, slopes: Slopes, columns: Columns, window: np.ndarray, *, whiten: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The products of some windows, (windows, columns, columns), and their `log det C`."""
    Z = residuals(record, slopes, columns, window)
    G, Z = Z[..., -len(record.start) :], Z[..., : -len(record.start)]
    P = np.swapaxes(Z, 1, 2) @ Z
    if not whiten:
        return P, np.zeros(len(P))
    cross = np.swapaxes(G, 1, 2) @ Z
    inner = np.swapaxes(G, 1, 2) @ G + np.eye(G.shape[2])
    known = regular(inner)
    solved = np.full_like(cross, np.nan)
    solved[known] = np.linalg.solve(inner[known], cross[known])
    white = P - np.swapaxes(cross, 1, 2) @ solved
    # where the start explains all, the window grows without bound
    white[white[:, 0, 0] < ROUNDING * P[:, 0, 0]] = np.nan
    return white, np.linalg.slogdet(inner)[1]


def regular(inner: np.ndarray) -> np.ndarray:
    """Which of the matrices (windows, n, n), each at least the identity, can be solved with, whatever their units."""
    known = np.all(np.isfinite(inner), axis=(1, 2))
    size = np.sqrt(np.diagonal(inner, axis1=1, axis2=2))[known]
    scaled = inner[known] / (size[:, :, None] * size[:, None, :])
    known[known] = np.linalg.eigvalsh(scaled)[:, 0] > inner.shape[1] * np.finfo(float).eps
    return known


def residuals(record: Record, slopes: Slopes, columns: Columns, window: np.ndarray) -> np.ndarray:
    """`y`, `X` and `G` of some windows, in units of the noise, (windows, numbers, columns + 2 dof)."""
    n = len(record.start)
    source = columns.sources(slopes, window)
    A = slopes.state[window]
    (count, steps), width = window.shape, source.shape[-1]
    S = np.zeros((count, n, width + n))
    S[:, :, width:] = np.diag(record.start)
    found = np.empty((count, steps, n, width + n))
    for k in range(steps):
        S = A[:, k] @ S
        S[..., :width] += source[:, k]
        found[:, k] = S
    found *= record.weight[window][..., None]
    return found.reshape(count, steps * n, width + n)


# fits ----------------------------------------------------------------------------------------------------------


def solved(H: np.ndarray, g: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """`(H + precision)⁻¹ g` for a batch of matrices, (…, p, p) and (…, p)."""
    H = H + np.diag(precision)
    size = np.sqrt(np.maximum(np.diagonal(H, axis1=-2, axis2=-1), 1e-300))
    scaled = H / (size[..., :, None] * size[..., None, :]) + RIDGE * np.eye(H.shape[-1])
    return np.linalg.solve(scaled, (g / size)[..., None])[..., 0] / size


def fitted(p: Products, precision: np.ndarray, before: np.ndarray | float = 0.0) -> np.ndarray:
    """The best coefficients of all columns, as changes from `before`, where they stand now."""
    return _robust(
        p.cells.reshape(1, -1, *p.cells.shape[2:]), p.numbers.ravel(), precision, before
    )[0][0]


def covariance(p: Products, precision: np.ndarray, before: np.ndarray | float = 0.0) -> np.ndarray:
    """Of the coefficients that `fitted` gives, for noise as large as what remains."""
    flat, numbers = p.cells.reshape(1, -1, *p.cells.shape[2:]), p.numbers.ravel()
    cost = _robust(flat, numbers, precision, before)[1][0]
    scale = np.median(cost[numbers > 0] / numbers[numbers > 0])
    H = p.total()[1:, 1:]
    return scale * np.stack([solved(H, row, precision) for row in np.eye(len(H))])


def heldout(p: Products, precision: np.ndarray, before: np.ndarray | float = 0.0) -> np.ndarray:
    """The cost of each cell for the coefficients that fit all other folds, times `det C` to the power of one over its
    numbers, (folds, blocks): its logarithm is that of the likelihood."""
    folds, blocks = p.cells.shape[:2]
    flat = p.cells.reshape(-1, *p.cells.shape[2:])
    own = np.repeat(np.arange(folds), blocks)[None] == np.arange(folds)[:, None]
    _, cost = _robust(
        np.broadcast_to(flat, (folds, *flat.shape)), p.numbers.ravel(), precision, before, own
    )
    return cost[own].reshape(folds, blocks) * np.exp(p.spread)


def _robust(
    cells: np.ndarray, numbers: np.ndarray, precision: np.ndarray, before: np.ndarray | float,
    left_out: np.ndarray | bool = False,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Coefficients that fit the cells which are not left out, (fits, p), and the cost of all cells, (fits, cells).

    A cell whose cost is above the median counts for less in the next of a few rounds: where the model fails for another
    reason, there are such cells, and they should not decide.
    """
    used = np.broadcast_to(~np.asarray(left_out) & (numbers > 0), cells.shape[:2])
    weight, cost = used * 1.0, cells[..., 0, 0]
    c = np.zeros((len(cells), cells.shape[-1] - 1))
    for _ in range(ROUNDS if cells.shape[-1] > 1 else 0):
        T = np.einsum("fk,fkij->fij", weight, cells)
        c = solved(T[:, 1:, 1:], T[:, 1:, 0] - precision * before, precision)
        linear = np.einsum("fi,fki->fk", c, cells[..., 1:, 0])
        square = np.einsum("fi,fkij,fj->fk", c, cells[..., 1:, 1:], c)
        cost = (numbers > 0) * np.maximum(cells[..., 0, 0] - 2.0 * linear + square, 1e-300)
        each = cost / np.maximum(numbers, 1.0)
        usual = np.median(each[:, numbers > 0], axis=1, keepdims=True)
        weight = used / np.maximum(1.0, each / usual)
    return c, cost


def gain(without: np.ndarray, with_it: np.ndarray) -> tuple[float, float]:
    """Mean and standard error, over blocks, of by how much the logarithm of the cells' costs falls."""
    there = without > 0.0
    fall = np.where(
        there, np.log(np.where(there, without, 1.0) / np.where(there, with_it, 1.0)), 0.0
    )
    fall = fall.sum(axis=0) / there.sum(axis=0)
    return float(np.mean(fall)), float(np.std(fall, ddof=1) / np.sqrt(len(fall)))


def cosine(
    T: np.ndarray, base: np.ndarray, one: np.ndarray, c: np.ndarray, other: np.ndarray,
    precision: np.ndarray,
) -> float:  # fmt: skip
    """Cosine between the effect of the columns `one` with coefficients `c`, and the space of the columns `other`.

    The columns `base` are projected out of both. `precision`: of the priors of all columns of `T`.
    """
    keep = np.concatenate([one, other])
    P = T[np.ix_(keep, keep)]
    if len(base):
        cross = T[np.ix_(base, keep)]
        H = T[np.ix_(base, base)] + np.diag(precision[base])
        size = np.sqrt(np.maximum(np.diag(H), 1e-300))
        inner = np.linalg.solve(
            H / np.outer(size, size) + RIDGE * np.eye(len(H)), cross / size[:, None]
        )
        P = P - (cross / size[:, None]).T @ inner
    k = len(one)
    effect = c @ P[:k, :k] @ c
    t = P[k:, :k] @ c
    seen = t @ solved(P[k:, k:], t, precision[other])
    return float(np.sqrt(np.clip(seen / max(effect, 1e-300), 0.0, 1.0)))
