"""The stages of a discovery: rank all candidates, refit the best, take the best of these, begin again with it.

A `Stand` is where a discovery stands: free numbers of the problem, candidates that were taken, and the model that these
make, linearised. Forces enter linearly; free numbers and leaves need the model to be linearised again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from isthmus.discovery.candidates import Candidate, changed
from isthmus.discovery.linearise import Slopes, slopes, with_door
from isthmus.discovery.record import Record
from isthmus.discovery.score import Columns, Products, fitted, gain, heldout, products
from isthmus.errors import BadStart
from isthmus.identify.parameters.parameters import Parameters
from isthmus.model.model import Model
from isthmus.simulate.integrate import Integrator

REFITTED = 8
"""So many of the best candidates are fitted again."""
STEPS = 3
"""How often the model is linearised again in such a fit."""
KEPT = 3
"""Linearised models that are kept in memory."""
SIGNIFICANT = 2.5
"""Standard errors by which held-out costs must fall for a candidate to be taken: the best of eight is tested."""
STRIDE = 1e-5
"""Of a free number, for derivatives of the model's leaves."""


@dataclasses.dataclass(frozen=True)
class Stage:
    """What does not change from stage to stage."""

    record: Record
    parameters: Parameters
    scheme: Integrator
    whiten: bool
    held: np.ndarray
    """Which free numbers stay as they are: sensors, the time step, weights of networks."""
    fields: tuple[str, ...]
    """Fields of the model that free numbers or candidates change: the same in all stages, so that code is shared."""
    known: dict[bytes, Slopes] = dataclasses.field(default_factory=dict)
    """Steps that were linearised before, by the numbers of the model; the last few."""

    def slopes(self, model: Model) -> Slopes:
        """The step from each row, linearised."""
        key = b"".join(np.ravel(getattr(model, field)).tobytes() for field in self.fields)
        if key not in self.known:
            while len(self.known) >= KEPT:
                self.known.pop(next(iter(self.known)))
            self.known[key] = slopes(with_door(model), self.record.rows, self.scheme, self.fields)
        return self.known[key]


@dataclasses.dataclass(frozen=True)
class Stand:
    """Where a discovery stands."""

    stage: Stage
    z: np.ndarray
    """Free numbers of the problem."""
    taken: tuple[Candidate, ...] = ()
    coefficients: tuple[np.ndarray, ...] = ()
    """Of each candidate that was taken."""

    def model(self) -> Model:
        """The model with the free numbers and leaves where they stand."""
        model = self.stage.parameters.model(self.z)
        for candidate, c in zip(self.taken, self.coefficients, strict=True):
            if candidate.forces is None:
                model = changed(model, candidate, c)
        return model

    def free_columns(self) -> dict[str, np.ndarray]:
        """Derivatives of the leaves of the model by the free numbers, field by field."""
        return derivatives(self.stage.parameters, self.z, self.stage.held)

    def products(self, candidates: Sequence[Candidate]) -> tuple[Products, Columns]:
        """Residuals and effects of the free numbers, of what was taken, and of more candidates."""
        stage, everything = self.stage, (*self.taken, *candidates)
        columns = Columns(self.free_columns(), everything)
        found = self._with_feedback(stage.slopes(self.model()))
        p = products(stage.record, found, columns, whiten=stage.whiten)
        if p.left_out == stage.record.windows:
            raise BadStart(
                "every window of the logs diverges from its measured start: check units and signs of the logs, and the "
                "start of what is free."
            )
        return p, columns

    def _with_feedback(self, found: Slopes) -> Slopes:
        """The linearised steps with how the forces that were taken change with the state."""
        for candidate, c in zip(self.taken, self.coefficients, strict=True):
            if candidate.slopes is not None and np.any(c):
                k, by_state = candidate.slopes
                found = found.with_feedback(k, np.einsum("rin,rn->ri", found.force, by_state @ c))
        return found

    def before(self, columns: Columns) -> np.ndarray:
        """Where the coefficients of all columns stand that the residuals know of: leaves do, forces do not."""
        found = np.zeros(columns.frees + sum(c.terms for c in columns.candidates))
        for place, c, x in zip(columns.places, self.taken, self.coefficients, strict=False):
            if c.forces is None:
                found[place - 1] = x
        return found

    def moved(self, change: np.ndarray, columns: Columns, share: float = 1.0) -> Stand:
        """The stand after a change of all columns."""
        z = self.z.copy()
        free = ~self.stage.held
        z[free] += share * change[: columns.frees]
        z = np.clip(z, self.stage.parameters.low, self.stage.parameters.high)
        found = []
        for place, c, x in zip(columns.places, self.taken, self.coefficients, strict=False):
            found.append(x + share * change[place - 1] if c.forces is None else change[place - 1])
        return dataclasses.replace(self, z=z, coefficients=tuple(found))

    def room(self, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        """By how much the columns may change: free numbers within their bounds, the rest without any."""
        parameters, free = self.stage.parameters, ~self.stage.held
        wide = np.full(len(columns.prior) - columns.frees, np.inf)
        low, high = parameters.low - self.z, parameters.high - self.z
        return np.concatenate([low[free], -wide]), np.concatenate([high[free], wide])

    def with_candidate(self, candidate: Candidate, c: np.ndarray | None = None) -> Stand:
        """The stand with one more candidate, of no effect yet unless its coefficients are given."""
        c = np.zeros(candidate.terms) if c is None else c
        return dataclasses.replace(
            self, taken=(*self.taken, candidate), coefficients=(*self.coefficients, c)
        )

    def without(self, k: int) -> Stand:
        """The stand without one of the candidates that were taken."""
        drop = lambda x: x[:k] + x[k + 1 :]
        return dataclasses.replace(
            self, taken=drop(self.taken), coefficients=drop(self.coefficients)
        )

    @property
    def is_linear(self) -> bool:
        """Whether one linear fit is exact."""
        plain = all(c.forces is not None and c.slopes is None for c in self.taken)
        return bool(np.all(self.stage.held)) and plain


def derivatives(parameters: Parameters, z: np.ndarray, held: np.ndarray) -> dict[str, np.ndarray]:
    """Derivative of each field of the model by the free numbers that are not held, (size of the field, numbers)."""
    free = np.flatnonzero(~held)
    ends = []
    for k in free:
        unit = np.eye(len(z))[k] * STRIDE * max(1.0, abs(z[k]))
        above, below = np.minimum(z + unit, parameters.high), np.maximum(z - unit, parameters.low)
        up, down, width = parameters.model(above), parameters.model(below), above[k] - below[k]
        ends.append({f: _difference(getattr(up, f), getattr(down, f)) / width for f in _fields(up)})
    found = {
        field: np.stack([end[field] for end in ends], axis=1) for field in (ends[0] if ends else ())
    }
    return {field: columns for field, columns in found.items() if np.any(columns)}


def _difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`a − b`, flat; zero where both are the same infinity."""
    return np.ravel(np.where(a == b, 0.0, a - np.where(a == b, 0.0, b)))


def refitted(stand: Stand, known: Products | None = None) -> tuple[Stand, np.ndarray]:
    """The stand with its numbers fitted, and the held-out cost of each block.

    `known`: the products of its own columns, where they were computed.
    """
    p, columns = (
        stand.products(()) if known is None else (known, Columns(stand.free_columns(), stand.taken))
    )
    here = Linear.at(stand, p, columns)
    for _ in range(0 if stand.is_linear else STEPS):
        for share in (1.0, 0.3):
            trial = stand.moved(here.change, columns, share)
            there = Linear.at(trial, *trial.products(()))
            better = there.cost <= here.cost * (1.0 + 1e-3)
            if better and there.p.left_out <= here.p.left_out:
                stand, here = trial, there
                break
        else:
            break
    return stand.moved(here.change, columns), here.heldout


@dataclasses.dataclass(frozen=True)
class Linear:
    """The linear model of a stand: the best change of its columns that keeps free numbers within their bounds."""

    p: Products
    """Without the columns that are held at a bound."""
    precision: np.ndarray
    before: np.ndarray
    change: np.ndarray
    """Of all columns."""

    @staticmethod
    def at(stand: Stand, p: Products, columns: Columns, own: np.ndarray | None = None) -> Linear:
        """The fit; numbers that it would move beyond a bound are held there, and the others are fitted again.

        `own`: the columns that `p` has, those after `y`; None: all.
        """
        own = np.arange(len(columns.prior)) if own is None else own
        low, high, precision, before = (
            x[own] for x in (*stand.room(columns), columns.prior, stand.before(columns))
        )
        change, kept = np.zeros(len(own)), np.ones(len(own), bool)
        while True:
            part = p.held(change, kept)
            change = np.where(kept, 0.0, change)
            change[kept] = fitted(part, precision[kept], before[kept])
            beyond = kept & ((change < low) | (change > high))
            if not beyond.any():
                return Linear(part, precision[kept], before[kept], change)
            change = np.clip(change, low, high)
            kept &= ~beyond

    @property
    def cost(self) -> float:
        """The lowest cost that it predicts, times `det C` to the power of one over the numbers."""
        p, T = self.p, self.p.total()
        c = fitted(p, self.precision, self.before)
        linear = T[0, 0] - 2.0 * c @ T[1:, 0] + c @ T[1:, 1:] @ c
        spread = np.sum(p.spread * p.numbers) / max(np.sum(p.numbers), 1.0)
        return float(
            (linear + np.sum(self.precision * np.square(self.before + c))) * np.exp(spread)
        )

    @property
    def heldout(self) -> np.ndarray:
        """The held-out cost of each cell."""
        return heldout(self.p, self.precision, self.before)


def ranked(
    stand: Stand, candidates: Sequence[Candidate]
) -> tuple[list[tuple[float, float]], Products, Columns]:
    """How much each candidate lowers the held-out cost, by the linear model: mean fall of its log, standard error."""
    p, columns = stand.products(candidates)
    base = np.arange(columns.frees + sum(c.terms for c in stand.taken))
    costs = lambda own: Linear.at(stand, p.only(own + 1), columns, own).heldout
    plain = costs(base)
    places = columns.places[len(stand.taken) :]
    found = [gain(plain, costs(np.concatenate([base, place - 1]))) for place in places]
    return found, p, columns


def _fields(model: Model) -> list[str]:
    """Names of the leaves of a model, without networks."""
    return [
        f.name for f in dataclasses.fields(model)
        if f.name != "networks" and isinstance(getattr(model, f.name), np.ndarray)
    ]  # fmt: skip
