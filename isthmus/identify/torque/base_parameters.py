"""The combinations of parameters that torques determine (Gautier 1991), named in words.

Columns of the stacked regressor `W` that are combinations of columns before them change nothing that those cannot
change: their parameters are felt only together with the others'. So `W π = W₁ β` with `β = π₁ + K π₂`: the base
parameters. Columns are taken in their own order (links from the root outwards), so that what is not felt alone goes
to the links that carry it; their number is checked against a QR decomposition with pivoting.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from isthmus.errors import BadShape

TOLERANCE = 1e-8
"""Share of a column, or of the largest one, that counts as rounding."""
NEGLIGIBLE = 1e-7
"""Factors of a combination below this, times the largest, are not shown."""


@dataclasses.dataclass(frozen=True)
class BaseParameters:
    """`β = π[own] + mix π[others]`: all that torques determine of `π`."""

    own: tuple[int, ...]
    """Which parameter each combination is named after."""
    others: tuple[int, ...]
    """Parameters that are felt together with those only, or (with a column of zeros in `mix`) not at all."""
    mix: Float[np.ndarray, "own others"]
    names: tuple[str, ...]
    """Of all parameters."""
    condition: float
    """Largest singular value of `W₁` over the least, its columns scaled to one length: beyond 100 or so the motion
    determines some of the combinations badly."""

    def of(self, pi: Float[np.ndarray, " parameters"]) -> Float[np.ndarray, " own"]:
        """The combinations for these parameters."""
        return pi[list(self.own)] + self.mix @ pi[list(self.others)]

    def matrix(self) -> Float[np.ndarray, "own parameters"]:
        """`B` of `β = B π`."""
        B = np.zeros((len(self.own), len(self.names)))
        B[np.arange(len(self.own)), list(self.own)] = 1.0
        B[:, list(self.others)] = self.mix
        return B

    def words(self, row: int) -> str:
        """One combination: `Iyy of 'upper' + 0.25 m of 'lower'`."""
        factors = self.mix[row]
        parts = [_term(float(factors[k]), self.names[self.others[k]]) for k in self._shown(row)]
        return " ".join([self.names[self.own[row]], *parts])

    def short(self, row: int) -> str:
        """One combination by its first parameter, and how many more are in it."""
        more = len(self._shown(row))
        return self.names[self.own[row]] + (f" and {more} more" if more else "")

    def _shown(self, row: int) -> np.ndarray:
        size = np.abs(self.mix[row])
        return np.flatnonzero(size > NEGLIGIBLE * max(1.0, size.max(initial=0.0)))

    @property
    def unfelt(self) -> tuple[str, ...]:
        """The parameters that no torque depends on."""
        idle = np.max(np.abs(self.mix), axis=0, initial=0.0) == 0.0
        return tuple(self.names[self.others[k]] for k in np.flatnonzero(idle))

    def __len__(self) -> int:
        return len(self.own)

    def __str__(self) -> str:
        count = f"{len(self)} combinations of {len(self.names)} parameters are felt"
        rows = [f"  {self.words(row)}" for row in range(len(self))]
        idle = [f"not felt at all: {', '.join(self.unfelt)}"] if self.unfelt else []
        return "\n".join([f"{count} (condition {self.condition:.3g}):", *rows, *idle])


def base_parameters(
    Y: Float[np.ndarray, "... parameters"],
    names: Sequence[str] = (),
    *,
    tolerance: float = TOLERANCE,
) -> BaseParameters:
    """The combinations that regressors determine: one matrix, or many along leading axes.

    Take states that excite all joints: `Y` from random ones shows the structure of the robot, `Y` from a recorded
    motion what that motion determines. `names` are those of `parameter_names`.
    """
    W = np.asarray(Y, dtype=np.float64)
    W = W.reshape(-1, W.shape[-1])
    names = tuple(names) or tuple(f"parameter {k}" for k in range(W.shape[1]))
    if len(names) != W.shape[1]:
        raise BadShape(f"there are {len(names)} names for {W.shape[1]} columns.")
    if len(W) > W.shape[1]:
        W = np.asarray(np.linalg.qr(W, mode="r"))  # as good as all rows
    length = np.linalg.norm(W, axis=0)
    alive = length > tolerance * length.max(initial=0.0)
    U = W / np.where(alive, length, 1.0)
    own = _chosen(U, alive, tolerance)
    others = [k for k in range(W.shape[1]) if k not in set(own)]
    mix = np.linalg.lstsq(U[:, own], U[:, others], rcond=None)[0]
    mix[np.abs(mix) < 10.0 * tolerance] = 0.0
    mix = mix * np.where(alive, length, 0.0)[others] / length[own][:, None]
    singular = np.linalg.svd(U[:, own], compute_uv=False)
    condition = float(singular[0] / singular[-1]) if own else 1.0
    return BaseParameters(tuple(own), tuple(others), mix, names, condition)


def _chosen(U: np.ndarray, alive: np.ndarray, tolerance: float) -> list[int]:
    """Independent columns in their own order; those of the pivoted decomposition where the counts differ."""
    from scipy.linalg import qr  # slow to import, and few need it

    if not alive.any():
        return []
    columns = np.flatnonzero(alive)
    R, pivots = qr(U[:, columns], mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int(np.sum(size > tolerance * size[0]))
    in_order = _greedy(U, columns, tolerance)
    return in_order if len(in_order) == rank else sorted(columns[pivots[:rank]].tolist())


def _greedy(U: np.ndarray, columns: np.ndarray, tolerance: float) -> list[int]:
    """Each column that is no combination of those taken before; orthogonalised twice against rounding."""
    basis, taken = np.zeros((len(U), 0)), []
    for k in columns.tolist():
        rest = U[:, k]
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        size = np.linalg.norm(rest)
        if size > tolerance:
            basis = np.column_stack([basis, rest / size])
            taken.append(k)
    return taken


def _term(factor: float, name: str) -> str:
    sign, size = ("−" if factor < 0.0 else "+"), abs(factor)
    return f"{sign} {name}" if abs(size - 1.0) < NEGLIGIBLE else f"{sign} {size:.4g} {name}"
