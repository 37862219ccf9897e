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
SIGNIFICANT = 2.0
"""Standard errors by which held-out costs must fall for a candidate to be taken."""
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
        step = STRIDE * max(1.0, abs(z[k]))
        unit = np.eye(len(z))[k] * step
        up, down = parameters.model(z + unit), parameters.model(z - unit)
        ends.append(
            {f: _difference(getattr(up, f), getattr(down, f)) / (2.0 * step) for f in _fields(up)}
        )
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
    precision = columns.prior
    for _ in range(0 if stand.is_linear else STEPS):
        change = fitted(p, precision, stand.before(columns))
        best = _cost(p, precision, stand.before(columns))
        for share in (1.0, 0.3):
            trial = stand.moved(change, columns, share)
            q, own = trial.products(())
            better = _cost(q, precision, trial.before(own)) <= best * (1.0 + 1e-3)
            if better and q.left_out <= p.left_out:
                stand, p, columns = trial, q, own
                break
        else:
            break
    before = stand.before(columns)
    costs = heldout(p, precision, before)
    return stand.moved(fitted(p, precision, before), columns), costs


def _cost(p: Products, precision: np.ndarray, before: np.ndarray) -> float:
    """The lowest cost that the linear model predicts, times `det C` to the power of one over the numbers."""
    T = p.total()
    c = fitted(p, precision, before)
    linear = T[0, 0] - 2.0 * c @ T[1:, 0] + c @ T[1:, 1:] @ c
    spread = np.sum(p.spread * p.numbers) / max(np.sum(p.numbers), 1.0)
    return float((linear + np.sum(precision * np.square(before + c))) * np.exp(spread))


def ranked(
    stand: Stand, candidates: Sequence[Candidate]
) -> tuple[list[tuple[float, float]], Products, Columns]:
    """How much each candidate lowers the held-out cost, by the linear model: mean fall of its log, standard error."""
    p, columns = stand.products(candidates)
    before, precision = stand.before(columns), columns.prior
    places = columns.places
    base = np.arange(1, 1 + columns.frees + sum(c.terms for c in stand.taken))
    plain = heldout(p.only(base), precision[base - 1], before[base - 1])
    found = []
    for place in places[len(stand.taken) :]:
        own = np.concatenate([base, place])
        found.append(gain(plain, heldout(p.only(own), precision[own - 1], before[own - 1])))
    return found, p, columns


def _fields(model: Model) -> list[str]:
    """Names of the leaves of a model, without networks."""
    return [
        f.name for f in dataclasses.fields(model)
        if f.name != "networks" and isinstance(getattr(model, f.name), np.ndarray)
    ]  # fmt: skip
