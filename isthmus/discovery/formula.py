"""`find_formula`: which few known laws, of eleven, add up to a force, with coefficients and their errors.

All subsets of up to four laws are fitted by weighted least squares and compared by the Bayesian information criterion
(Schwarz 1978), `n log(RSS / n) + k log n`. Where neighbouring residuals are alike, `n` is the number of independent
ones. Formulas whose criterion is within 2 of the best one's cannot be told from it, and are told beside it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.blas import on_one_thread
from isthmus.discovery.formula_terms import CORNERS, Candidate, Kind, candidates, rms
from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.identify.parameters.free import Free
from isthmus.model.model import Model

MOST_TERMS = 4
ALIKE = 2.0
"""Difference of the criterion below which two formulas cannot be told apart."""
REFINED = 6
"""Formulas of each number of terms whose shapes are refined: the best ones on the grid."""
LEAST_ROWS = 20
MAX_FITS = 400_000
"""Least-squares problems; beyond, a formula has at most one law with a shape."""


@dataclasses.dataclass(frozen=True)
class Term:
    """One law of a formula."""

    name: str
    """viscous, dry, Stribeck, quadratic, spring, cubic, offset, cogging, backlash, sin, cos, linear or square."""
    signal: str
    """What it depends on; empty for the offset."""
    coefficients: tuple[float, ...]
    errors: tuple[float, ...]
    """Standard errors."""
    shape: tuple[float, ...]
    """Speed, periods or play; empty for most."""
    kind: Kind = dataclasses.field(repr=False, compare=False)

    def __str__(self) -> str:
        law = re.sub(r"\bx\b", lambda _: self.signal or "x", self.kind.text.format(*self.shape))
        if self.name == "offset":
            law = ""
        parts = law.split(", ") if len(self.coefficients) > 1 else [law]
        pairs = zip(self.coefficients, self.errors, parts, strict=True)
        text = " ".join(f"{_signed(c)} ± {e:.2g} {part}".rstrip() for c, e, part in pairs)
        return f"{text} ({self.name})"


@dataclasses.dataclass(frozen=True)
class Formula:
    """A sum of known laws for a force [N·m, N], the best by the Bayesian information criterion."""

    terms: tuple[Term, ...]
    explains: float
    """Share of the force's mean square that the formula explains, 0 to 1."""
    bic: float
    """The criterion; only differences mean something."""
    alternatives: tuple[Formula, ...] = ()
    """Formulas whose criterion is within 2 of the best one's, best first."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its terms."""
        return tuple(term.name for term in self.terms)

    @check_arguments
    def __call__(self, inputs: Mapping[str, Any]) -> Float[np.ndarray, " rows"]:
        """The force [N·m, N] for signals (rows,) by the names that the formula was found with."""
        arrays = {name: np.asarray(x, np.float64) for name, x in inputs.items()}
        if missing := [t.signal for t in self.terms if t.signal and t.signal not in arrays]:
            raise BadOption(f"the formula needs the signal {missing[0]!r}, which was not given.")
        if not arrays:
            raise BadOption("the formula needs the signals that it was found with.")
        first = next(iter(arrays.values()))
        total = np.zeros(first.shape)
        for term in self.terms:
            columns = term.kind.columns(arrays.get(term.signal, first), *term.shape)
            total += sum(c * x for c, x in zip(term.coefficients, columns, strict=True))
        return total

    @check_arguments
    def free(self, model: Model | None = None) -> tuple[Free, ...]:
        """Leaves of a joint that have the laws of the formula, to be fitted.

        With a model they start at its own numbers plus what was found; else at what was found. Laws that no leaf has
        (quadratic, cubic, backlash, sin, cos), and numbers below zero where a leaf cannot have them, are left out.
        """
        signals = [term.signal for term in self.terms if term.signal]
        found: dict[str, Free] = {}
        for term in self.terms:
            joint = _joint(term.signal or (signals[0] if signals else ""))
            for name, start, own in _leaves(term, joint, model):
                if not (own and name in found):
                    found[name] = Free(name, start=start)
        return tuple(found.values())

    def __str__(self) -> str:
        text = " ".join(map(str, self.terms)).removeprefix("+ ") or "0"
        head = f"force = {text}; explains {100 * self.explains:.3g} %"
        rivals = [
            f"{' + '.join(other.names) or 'nothing'} (BIC {other.bic - self.bic:+.1f})"
            for other in self.alternatives
        ]
        return " or ".join([head, *rivals])


def _signed(x: float) -> str:
    return f"{'−' if x < 0 else '+'} {abs(x):.4g}"


def _joint(signal: str) -> str:
    """The joint of a signal, `elbow` of `joint/elbow/velocity` or `joint/velocity[elbow]`; `*` where it has none."""
    if "[" in signal:
        return signal.split("[")[1].rstrip("]")
    parts = signal.split("/")
    return parts[1] if len(parts) > 2 else "*"


NONNEGATIVE = ("damping", "friction", "stiction", "stiffness")


def _leaves(term: Term, joint: str, model: Model | None) -> Iterator[tuple[str, float, bool]]:
    """Name and start of each leaf of a term, and whether it is a shape."""
    pairs = zip(term.kind.leaves, term.kind.signs, term.coefficients, strict=False)
    found = [(leaf, sign * c) for leaf, sign, c in pairs]
    if not found:
        return
    if model is not None:
        before = lambda leaf: float(np.mean(np.asarray(model.get(f"joint/{joint}/{leaf}"))))
        found = [(leaf, before(leaf) + value) for leaf, value in found]
    if any(leaf in NONNEGATIVE and value < 0 for leaf, value in found):
        return
    yield from ((f"joint/{joint}/{leaf}", value, False) for leaf, value in found)
    shapes = zip(term.kind.shape_leaves, term.shape, strict=False)
    yield from ((f"joint/{joint}/{leaf}", value, True) for leaf, value in shapes)


# the search ------------------------------------------------------------------------------------------------


@check_arguments
def find_formula(inputs: Mapping[str, Any], force: Any, error: Any = None) -> Formula:
    """The formula of up to four laws that best describes a force.

    `inputs`: signals by name, (rows,) each; names that end in `velocity` and `position` (rad, rad/s, m, m/s) have the
    laws of a joint, others a straight line and a square. `force`: (rows,) [N·m, N]. `error`: standard deviation of
    each row of the force, or of all; None: the same in all rows. Only ratios of errors matter: their size comes from
    what the formula leaves over.
    """
    x, y, weight = _rows(inputs, force, error)
    with on_one_thread():
        problem = _Problem(candidates(x), y, weight)
        best = problem.refined(problem.ranked())
    first, near = best[0], [f for f in best[1:] if f.bic - best[0].bic <= ALIKE]
    return dataclasses.replace(first, alternatives=tuple(near))


def _rows(inputs: Mapping[str, Any], force: Any, error: Any) -> tuple[dict, np.ndarray, np.ndarray]:
    """Signals, force and weights, without rows that are not finite."""
    try:
        arrays = {name: np.asarray(x, np.float64) for name, x in inputs.items()}
        y = np.asarray(force, np.float64)
        sigma = np.asarray(1.0 if error is None else error, np.float64)
    except (TypeError, ValueError, OverflowError) as wrong:
        raise BadOption(f"find_formula needs arrays of numbers: {wrong}.") from wrong
    if not arrays:
        raise BadOption("find_formula needs at least one input, such as 'joint/velocity'.")
    sigma = np.broadcast_to(sigma, y.shape) if sigma.ndim == 0 else sigma
    for name, x in {**arrays, "the force": y, "the error": sigma}.items():
        if x.shape != y.shape or y.ndim != 1:
            raise BadOption(
                f"find_formula needs one number in each row, but {name} has the shape {x.shape} and the force "
                f"{y.shape}."
            )
    good = np.isfinite(y) & (sigma > 0) & np.isfinite(sigma)
    for x in arrays.values():
        good &= np.isfinite(x)
    if good.sum() < LEAST_ROWS:
        raise BadOption(
            f"find_formula needs {LEAST_ROWS} rows with finite numbers and positive errors; there are {good.sum()}."
        )
    weight = 1.0 / sigma[good]
    return {n: x[good] for n, x in arrays.items()}, y[good], weight / rms(weight)


@dataclasses.dataclass(frozen=True)
class _Choice:
    """Some laws, each with a shape: what a formula is before its coefficients are known."""

    laws: tuple[int, ...]
    shapes: tuple[tuple[float, ...], ...]
    bic: float


class _Problem:
    """Weighted columns of all laws in all shapes of their grids, and their products with each other and the force."""

    def __init__(self, laws: list[Candidate], y: np.ndarray, weight: np.ndarray) -> None:
        self.laws, self.weight = laws, weight
        self.y = y * weight
        corner = min(CORNERS, key=self._left_by_all)
        self.grids = [law.kind.grid(law.x, corner) for law in laws]
        columns, self.places = [], []
        for law, grid in zip(laws, self.grids, strict=True):
            places = []
            for shape in grid:
                own = law.columns(shape)
                places.append(range(len(columns), len(columns) + len(own)))
                columns += own
            self.places.append(np.array(places).reshape(len(grid), -1))
        X = np.stack(columns, axis=1) * weight[:, None]
        self.size = np.maximum(np.sqrt(np.sum(X * X, axis=0)), 1e-300)
        X = X / self.size
        self.gram, self.moments, self.power = X.T @ X, X.T @ self.y, float(self.y @ self.y)
        self.count = self._independent(X)

    def _left_by_all(self, corner: float) -> float:
        """The sum of squares that all laws together leave over, each in one shape."""
        shapes = [law.kind.grid(law.x, corner) for law in self.laws]
        shapes = [grid[len(grid) // 3] for grid in shapes]
        pairs = zip(self.laws, shapes, strict=True)
        X = np.stack([c for law, s in pairs for c in law.columns(s)], axis=1) * self.weight[:, None]
        left = self.y - X @ np.linalg.lstsq(X, self.y, rcond=1e-9)[0]
        return float(left @ left)

    def _independent(self, X: np.ndarray) -> float:
        """How many independent residuals there are: of the fit of all plain laws, by their autocorrelation."""
        plain = np.concatenate([places[0] for places in self.places])
        left = self.y - X[:, plain] @ np.linalg.lstsq(X[:, plain], self.y, rcond=1e-9)[0]
        rho = float(left[1:] @ left[:-1]) / max(float(left @ left), 1e-300)
        rho = 0.0 if rho < 3.0 / math.sqrt(len(left)) else min(rho, 0.99)
        return max(len(left) * (1.0 - rho) / (1.0 + rho), 10.0)

    def criterion(self, left: Any, numbers: int) -> Any:
        """The criterion of a sum of squares that is left over."""
        floor = 1e-26 * max(self.power, 1e-300)
        return self.count * np.log(np.maximum(left, floor) / len(self.y)) + numbers * math.log(
            self.count
        )

    def subsets(self) -> list[tuple[int, ...]]:
        """All sets of up to four laws; with few shapes, where there would be too many fits."""
        every = range(len(self.laws))
        found = [s for k in range(MOST_TERMS + 1) for s in itertools.combinations(every, k)]
        fits = sum(math.prod(len(self.grids[i]) for i in subset) for subset in found)
        if fits <= MAX_FITS:
            return found
        shaped = lambda s: sum(len(self.grids[i]) > 1 for i in s)
        return [s for s in found if shaped(s) <= 1]

    def ranked(self) -> list[_Choice]:
        """The best shapes of every set of laws, best set first."""
        found = []
        for laws in self.subsets():
            counts = [len(self.grids[i]) for i in laws]
            picks = np.indices(counts).reshape(len(laws), -1) if laws else np.zeros((0, 1), int)
            columns = [self.places[i][pick] for i, pick in zip(laws, picks, strict=True)]
            left = self._left(np.concatenate(columns, axis=1)) if laws else np.array([self.power])
            k = int(np.argmin(left))
            shapes = tuple(self.grids[i][pick[k]] for i, pick in zip(laws, picks, strict=True))
            found.append(_Choice(laws, shapes, float(self.criterion(left[k], self.numbers(laws)))))
        return sorted(found, key=lambda choice: choice.bic)

    def numbers(self, laws: tuple[int, ...]) -> int:
        """How many numbers a formula has."""
        kinds = [self.laws[i].kind for i in laws]
        return sum(
            kind.counted + self.places[i].shape[1] for i, kind in zip(laws, kinds, strict=True)
        )

    def _left(self, columns: np.ndarray) -> np.ndarray:
        """Sums of squares that least squares with these columns leave over; (fits, columns) -> (fits,)."""
        gram = self.gram[columns[:, :, None], columns[:, None, :]]
        gram = gram + 1e-11 * np.eye(columns.shape[1])
        b = self.moments[columns]
        c = np.linalg.solve(gram, b[..., None])[..., 0]
        return self.power - np.sum(b * c, axis=1)

    # shapes between the points of the grid ----------------------------------------------------------------------

    def refined(self, ranked: list[_Choice]) -> list[Formula]:
        """The best formulas with their coefficients, best first."""
        sizes = {k: [c for c in ranked if len(c.laws) == k] for k in range(MOST_TERMS + 1)}
        found = [self._formula(choice) for group in sizes.values() for choice in group[:REFINED]]
        return sorted(found, key=lambda formula: formula.bic)

    def _formula(self, choice: _Choice) -> Formula:
        """The laws of a choice with refined shapes, coefficients and errors."""
        from scipy.optimize import least_squares  # heavy

        laws = [self.laws[i] for i in choice.laws]
        if not laws:
            return Formula((), 0.0, choice.bic)
        counts = [law.kind.refined for law in laws]
        pairs = list(zip(choice.shapes, counts, strict=True))
        free = np.log(np.array([x for shape, n in pairs for x in shape[:n]]))

        def shapes(logs: np.ndarray) -> list[tuple[float, ...]]:
            moved = iter(np.exp(logs).tolist())
            return [(*(next(moved) for _ in range(n)), *shape[n:]) for shape, n in pairs]

        def fitted(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            pairs = zip(laws, shapes(logs), strict=True)
            X = np.stack([c for law, s in pairs for c in law.columns(s)], axis=1)
            X = X * self.weight[:, None]
            c = np.linalg.lstsq(X, self.y, rcond=1e-12)[0]
            return X, c, self.y - X @ c

        if free.size:
            free = least_squares(
                lambda logs: fitted(logs)[2], free, bounds=(free - 0.5, free + 0.5), max_nfev=20
            ).x
        X, c, left = fitted(free)
        return self._summary(laws, choice.laws, shapes(free), X, c, left)

    def _summary(
        self,
        laws: list[Candidate],
        places: tuple[int, ...],
        shapes: list,
        X: Any,
        c: Any,
        left: Any,
    ) -> Formula:
        """Coefficients with standard errors, for the number of independent residuals."""
        rest = float(left @ left)
        size = np.sqrt(np.sum(X * X, axis=0))
        inverse = np.linalg.pinv((X / size).T @ (X / size))
        spread = math.sqrt(rest / max(self.count - len(c), 1.0))
        errors = spread * np.sqrt(np.maximum(np.diag(inverse), 0.0)) / size
        terms, at = [], 0
        for law, shape in zip(laws, shapes, strict=True):
            end = at + len(law.kind.columns(law.x[:1], *shape))
            own = slice(at, end)
            terms.append(
                Term(
                    law.kind.name, law.signal, tuple(c[own].tolist()), tuple(errors[own].tolist()), shape, law.kind,
                )
            )  # fmt: skip
            at = end
        order = sorted(terms, key=lambda term: term.name == "offset")
        share = 1.0 - rest / max(self.power, 1e-300)
        return Formula(
            tuple(order), max(share, 0.0), float(self.criterion(rest, self.numbers(places)))
        )
