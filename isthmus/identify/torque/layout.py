"""Which number stands where in the parameters of a torque fit: links, then joints, then a tilt of the base."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from isthmus.describe.checks import ONE_COORDINATE
from isthmus.identify.torque.choose import CrossValidation, State, Terms
from isthmus.identify.torque.regressor import parameter_names, parameter_vector
from isthmus.identify.torque.result import Term
from isthmus.model.model import Model
from isthmus.motion.files import dof_names

TILT = "tilt"


@dataclasses.dataclass(frozen=True)
class Layout:
    """Columns of the regressor that may be fitted: links that weigh something, joints of one coordinate, gravity."""

    tried: tuple[str, ...]
    names: tuple[str, ...]
    """Of all columns."""
    dofs: tuple[str, ...]
    links: np.ndarray
    joints: np.ndarray
    tilt: np.ndarray
    """Two columns, or none."""

    @classmethod
    def of(cls, model: Model, tried: tuple[str, ...], tilt: bool) -> Layout:
        """The columns for these terms of the joints."""
        names = parameter_names(model, joints=tried)
        links = np.flatnonzero(np.repeat(np.asarray(model.link_mass) > 0.0, 10))
        joints = np.flatnonzero(np.tile(single(model), len(tried))) + 10 * len(model.link_names)
        extra = len(names) + np.arange(2 if tilt else 0)
        names = (*names, *(f"gravity {k}" for k in range(len(extra))))
        return cls(tried, names, tuple(dof_names(model)), links, joints, extra)

    def described(self, model: Model) -> Float[np.ndarray, " columns"]:
        """All numbers of the model; a tilt is none."""
        return np.append(parameter_vector(model, joints=self.tried), np.zeros(len(self.tilt)))

    @property
    def terms(self) -> np.ndarray:
        """The columns behind the links that may be fitted."""
        return np.concatenate([self.joints, self.tilt])

    @property
    def places(self) -> list[tuple[str, int]]:
        """Term and degree of freedom of each number of a joint."""
        first = len(self.names) - len(self.tilt) - len(self.tried) * len(self.dofs)
        rows = [divmod(int(k) - first, len(self.dofs)) for k in self.joints]
        return [(self.tried[term], dof) for term, dof in rows]

    def limits(self, described: Float[np.ndarray, " t"]) -> Terms:
        """What the numbers of the terms may be; friction that grows as fast as the load would block the joint."""
        count, places = len(self.joints), self.places
        most = [1.0 if name == "load_friction" else np.inf for name, _ in places]
        positive = [name != "offset" for name, _ in places]
        tilt = [tuple(range(count, count + 2))] if len(self.tilt) else []
        return Terms(
            (*((k,) for k in range(count)), *tilt),
            (*(dof for _, dof in places), *(-1 for _ in tilt)),
            described,
            np.array([*most, *(np.inf for _ in self.tilt)]),
            np.array([*positive, *(False for _ in self.tilt)], dtype=bool),
        )

    def begin(self, check: CrossValidation, fitted: tuple[str, ...]) -> State:
        """The state in which these terms are fitted on all joints that feel them, and the others are as described."""
        named = [name in fitted for name, _ in self.places]
        where = np.array([*named, *(False for _ in self.tilt)], dtype=bool) & check.felt
        return State(where, np.where(where, 0.0, check.terms.described))

    def news(self, check: CrossValidation, state: State, prior: float) -> tuple[Term, ...]:
        """For each term: where it is fitted, where zero is better than the description, and the errors."""
        return tuple(
            self._term(check, state, prior, name)
            for name in (*self.tried, *([TILT] if len(self.tilt) else []))
        )

    def _term(self, check: CrossValidation, state: State, prior: float, name: str) -> Term:
        places = [*self.places, *((TILT, -1) for _ in self.tilt)]
        own = np.array([place[0] == name for place in places], dtype=bool)
        fitted = own & state.fitted
        described = check.terms.described
        zero = own & ~fitted & (state.value == 0.0) & (described != 0.0)
        if fitted.any():
            where, other = (
                fitted,
                State(state.fitted & ~own, np.where(fitted, described, state.value)),
            )
        else:
            where, other = own, State(state.fitted | own, state.value)
        dofs = [k for k in dict.fromkeys(places[i][1] for i in np.flatnonzero(where)) if k >= 0]
        mean = lambda s: _rms(check.errors(s, prior), dofs)
        errors = mean(state), mean(other)
        names = lambda mask: tuple(
            dict.fromkeys(self.dofs[places[i][1]] if places[i][1] >= 0 else "base" for i in np.flatnonzero(mask))
        )  # fmt: skip
        return Term(name, names(fitted), names(zero), errors if fitted.any() else errors[::-1])


def single(model: Model) -> np.ndarray:
    """Which degrees of freedom are those of revolute and prismatic joints."""
    out = np.zeros(model.dof, dtype=bool)
    for name, rows in model.rows("dof").items():
        out[list(rows)] = model.joint_kinds[model.joint(name)] in ONE_COORDINATE
    return out


def _rms(errors: np.ndarray, dofs: list[int]) -> float:
    """Over folds and these degrees of freedom, or all."""
    return float(np.sqrt(np.nanmean(errors[:, dofs] if dofs else errors)))
