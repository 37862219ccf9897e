"""Which number stands where in the parameters of a torque fit: links, joints, a tilt of the base, cogging."""

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

TILT, COGGING = "tilt", "cogging"
PERIODS = (2, 3, 4, 5, 6)
"""Of cogging, in a turn, that are tried; one period in a turn looks like gravity."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """Columns that may be fitted: links that weigh something, joints of one coordinate, gravity, cogging."""

    tried: tuple[str, ...]
    names: tuple[str, ...]
    """Of all columns."""
    dofs: tuple[str, ...]
    links: np.ndarray
    joints: np.ndarray
    tilt: np.ndarray
    """Two columns, or none."""
    ripples: tuple[tuple[int, int], ...]
    """Degree of freedom and periods in a turn of each cogging that may be fitted: two columns each, the last ones."""

    @classmethod
    def of(
        cls, model: Model, tried: tuple[str, ...], tilt: bool, turned: dict[int, float]
    ) -> Layout:
        """The columns for these terms of the joints; `turned`: degree of freedom -> range of its angle [rad].

        Cogging is tried where a whole period of it was seen: less cannot be told from springs and gravity.
        """
        names = parameter_names(model, joints=tried)
        links = np.flatnonzero(np.repeat(np.asarray(model.link_mass) > 0.0, 10))
        joints = np.flatnonzero(np.tile(single(model), len(tried))) + 10 * len(model.link_names)
        extra, dofs = len(names) + np.arange(2 if tilt else 0), tuple(dof_names(model))
        ripples = [(k, n) for k, x in turned.items() for n in PERIODS if n * x >= 2.0 * np.pi]
        gravity = (f"gravity {k}" for k in range(len(extra)))
        names = (*names, *gravity, *(x for k, n in ripples for x in cogging_names(dofs[k], n)))
        return cls(tried, names, dofs, links, joints, extra, tuple(ripples))

    def described(self, model: Model) -> Float[np.ndarray, " columns"]:
        """All numbers of the model; a tilt and cogging are none."""
        own = parameter_vector(model, joints=self.tried)
        return np.append(own, np.zeros(len(self.names) - len(own)))

    @property
    def numbers(self) -> np.ndarray:
        """The columns behind the links that the realisable model has numbers for: joints, cogging."""
        last = len(self.names)
        return np.concatenate([self.joints, np.arange(last - 2 * len(self.ripples), last)])

    @property
    def terms(self) -> np.ndarray:
        """The columns behind the links that may be fitted."""
        return np.concatenate([self.numbers, self.tilt])

    @property
    def places(self) -> list[tuple[str, int]]:
        """Term and degree of freedom of each of `numbers`."""
        of_joints = len(self.tried) * len(self.dofs)
        first = len(self.names) - len(self.tilt) - 2 * len(self.ripples) - of_joints
        rows = [divmod(int(k) - first, len(self.dofs)) for k in self.joints]
        joints = [(self.tried[term], dof) for term, dof in rows]
        return joints + [(COGGING, dof) for dof, _ in self.ripples for _ in range(2)]

    def cogging(self, whole: Float[np.ndarray, " columns"]) -> dict[int, tuple[int, float, float]]:
        """Degree of freedom -> periods in a turn, factor of the sine and of the cosine [N·m], where there is one."""
        pairs = whole[len(whole) - 2 * len(self.ripples) :].reshape(-1, 2).tolist()
        return {
            dof: (n, *pair) for (dof, n), pair in zip(self.ripples, pairs, strict=True) if any(pair)
        }

    def limits(self, described: Float[np.ndarray, " t"]) -> Terms:
        """What the numbers of the terms may be; friction that grows as fast as the load would block the joint."""
        count, places = len(self.joints), self.places
        most = [1.0 if name == "load_friction" else np.inf for name, _ in places]
        positive = [name not in ("offset", COGGING) for name, _ in places]
        pairs = [(k, k + 1) for k in range(count, count + 2 * len(self.ripples), 2)]
        tilt = [(len(places), len(places) + 1)] if len(self.tilt) else []
        groups = (*((k,) for k in range(count)), *pairs, *tilt)
        homes = tuple(places[group[0]][1] if group[0] < len(places) else -1 for group in groups)
        rivals = tuple(
            tuple(k for pair in pairs if group in pairs and pair != group and places[pair[0]][1] == home for k in pair)
            for group, home in zip(groups, homes, strict=True)
        )  # fmt: skip
        return Terms(
            groups,
            homes,
            rivals,
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
        places = [*self.places, *((TILT, -1) for _ in self.tilt)]
        tried = (*self.tried, *dict.fromkeys(name for name, _ in places[len(self.joints) :]))
        owns = [np.array([place[0] == name for place in places], dtype=bool) for name in tried]
        others = [self._other(check, state, own) for own in owns]
        now, *errors = check.errors([state, *others], prior)
        names = lambda mask: tuple(
            dict.fromkeys(self.dofs[places[i][1]] if places[i][1] >= 0 else "base" for i in np.flatnonzero(mask))
        )  # fmt: skip
        out = []
        for name, own, other in zip(tried, owns, errors, strict=True):
            fitted = own & state.fitted
            zero = own & ~fitted & (state.value == 0.0) & (check.terms.described != 0.0)
            where = fitted if fitted.any() else own
            dofs = [k for k in dict.fromkeys(places[i][1] for i in np.flatnonzero(where)) if k >= 0]
            both = _rms(now, dofs), _rms(other, dofs)
            out.append(Term(name, names(fitted), names(zero), both if fitted.any() else both[::-1]))
        return tuple(out)

    def _other(self, check: CrossValidation, state: State, own: np.ndarray) -> State:
        """The state without these numbers of a term, or with them where none is fitted."""
        fitted = own & state.fitted
        if fitted.any():
            value = np.where(fitted, check.terms.described, state.value)
            return State(state.fitted & ~own, value)
        return State(state.fitted | self._first(own), state.value)

    def _first(self, own: np.ndarray) -> np.ndarray:
        """Of the numbers of a term, the cogging of fewest periods only: a joint has one."""
        firsts = dict(self.ripples[::-1])
        cogging = np.array(
            [n != firsts[dof] for dof, n in self.ripples for _ in range(2)], dtype=bool
        )
        out = own.copy()
        out[len(self.joints) : len(self.joints) + len(cogging)] &= ~cogging
        return out


def cogging_names(dof: str, periods: int) -> tuple[str, str]:
    """What the two numbers of a cogging are called."""
    return f"cogging sin {periods}q of {dof!r}", f"cogging cos {periods}q of {dof!r}"


def single(model: Model) -> np.ndarray:
    """Which degrees of freedom are those of revolute and prismatic joints."""
    out = np.zeros(model.dof, dtype=bool)
    for name, rows in model.rows("dof").items():
        out[list(rows)] = model.joint_kinds[model.joint(name)] in ONE_COORDINATE
    return out


def _rms(errors: np.ndarray, dofs: list[int]) -> float:
    """Over folds and these degrees of freedom, or all."""
    return float(np.sqrt(np.nanmean(errors[:, dofs] if dofs else errors)))
