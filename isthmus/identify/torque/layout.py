"""Which number stands where in the parameters of a torque fit: links, joints, a tilt of the base, cogging, bristles."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np
from jaxtyping import Float

from isthmus.identify.torque.choose import CrossValidation, State, Terms
from isthmus.identify.torque.data import described_bristles
from isthmus.identify.torque.regressor import parameter_names, parameter_vector
from isthmus.identify.torque.result import Term
from isthmus.model.coordinates import single
from isthmus.model.model import Model
from isthmus.motion.files import dof_names

TILT, COGGING, BRISTLES = "tilt", "cogging", "bristles"
PERIODS = (2, 3, 4, 5, 6)
"""Of cogging, in a turn, that are tried; one period in a turn looks like gravity."""
DEFLECTIONS = (5e-4, 1.5e-3, 5e-3)
"""Of bristles that are tried [rad]."""
DRY = ("friction", "stiction", "load_friction")
"""Terms that bristles replace."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """Columns that may be fitted: links that weigh something, joints of one coordinate, gravity, cogging, bristles."""

    tried: tuple[str, ...]
    names: tuple[str, ...]
    """Of all columns."""
    dofs: tuple[str, ...]
    links: np.ndarray
    joints: np.ndarray
    tilt: np.ndarray
    """Two columns, or none."""
    ripples: tuple[tuple[int, int], ...]
    """Degree of freedom and periods in a turn of each cogging that may be fitted: two columns each."""
    bristles: tuple[tuple[int, float], ...]
    """Degree of freedom and deflection [rad] of dry friction that builds up: one column each, the last ones."""

    @classmethod
    def of(
        cls,
        model: Model,
        tried: tuple[str, ...],
        tilt: bool,
        turned: dict[int, float],
        bristled: Iterable[int] = (),
    ) -> Layout:
        """The columns for these terms of the joints; `turned`: degree of freedom -> range of its angle [rad].

        Cogging is tried where a whole period of it was seen: less cannot be told from springs and gravity. `bristled`:
        where bristles are tried. Joints that have them keep their deflection.
        """
        names = parameter_names(model, joints=tried)
        links = np.flatnonzero(np.repeat(np.asarray(model.link_mass) > 0.0, 10))
        joints = np.flatnonzero(np.tile(single(model), len(tried))) + 10 * len(model.link_names)
        extra, dofs = len(names) + np.arange(2 if tilt else 0), tuple(dof_names(model))
        ripples = [(k, n) for k, x in turned.items() for n in PERIODS if n * x >= 2.0 * np.pi]
        known = dict(described_bristles(model))
        bristles = [(k, d) for k in bristled for d in ((known[k],) if k in known else DEFLECTIONS)]
        replaced = [names.index(f"friction of {dofs[k]!r}") for k in bristled if k in known]
        gravity = (f"gravity {k}" for k in range(len(extra)))
        cogging = (x for k, n in ripples for x in cogging_names(dofs[k], n))
        names = (*names, *gravity, *cogging, *(bristle_name(dofs[k], d) for k, d in bristles))
        joints = np.setdiff1d(joints, replaced)
        return cls(tried, names, dofs, links, joints, extra, tuple(ripples), tuple(bristles))

    def described(self, model: Model) -> Float[np.ndarray, " columns"]:
        """All numbers of the model; a tilt, cogging and bristles that it does not have are zero."""
        own = parameter_vector(model, joints=self.tried)
        out = np.append(own, np.zeros(len(self.names) - len(own)))
        for dof, deflection in set(self.bristles) & set(described_bristles(model)):
            replaced = self.names.index(f"friction of {self.dofs[dof]!r}")
            new = self.names.index(bristle_name(self.dofs[dof], deflection))
            out[[new, replaced]] = out[replaced], 0.0
        return out

    @property
    def numbers(self) -> np.ndarray:
        """The columns behind the links that the realisable model has numbers for, those that may be negative last:
        bristles, joints, cogging."""
        last = len(self.names)
        bristles, first = last - len(self.bristles), last - self._extra
        return np.concatenate([np.arange(bristles, last), self.joints, np.arange(first, bristles)])

    @property
    def _extra(self) -> int:
        """How many columns cogging and bristles have."""
        return 2 * len(self.ripples) + len(self.bristles)

    @property
    def terms(self) -> np.ndarray:
        """The columns behind the links that may be fitted."""
        return np.concatenate([self.numbers, self.tilt])

    @property
    def early(self) -> np.ndarray:
        """Those of `terms` that are tried first: all but bristles that the description does not have."""
        return self.terms[[not late for late in self._late] + [True] * len(self.tilt)]

    @property
    def _late(self) -> list[bool]:
        """Of each of `numbers`, whether it is tried last."""
        plain = {dof for name, dof in self.places if name == "friction"}
        return [name == BRISTLES and dof in plain for name, dof in self.places]

    @property
    def places(self) -> list[tuple[str, int]]:
        """Term and degree of freedom of each of `numbers`."""
        of_joints = len(self.tried) * len(self.dofs)
        first = len(self.names) - len(self.tilt) - self._extra - of_joints
        rows = [divmod(int(k) - first, len(self.dofs)) for k in self.joints]
        joints = [(self.tried[term], dof) for term, dof in rows]
        cogging = [(COGGING, dof) for dof, _ in self.ripples for _ in range(2)]
        return [(BRISTLES, dof) for dof, _ in self.bristles] + joints + cogging

    def cogging(self, whole: Float[np.ndarray, " columns"]) -> dict[int, tuple[int, float, float]]:
        """Degree of freedom -> periods in a turn, factor of the sine and of the cosine [N·m], where there is one."""
        last = len(whole) - len(self.bristles)
        pairs = whole[last - 2 * len(self.ripples) : last].reshape(-1, 2).tolist()
        return {
            dof: (n, *pair) for (dof, n), pair in zip(self.ripples, pairs, strict=True) if any(pair)
        }

    def rubbing(self, whole: Float[np.ndarray, " columns"]) -> dict[int, tuple[float, float]]:
        """Degree of freedom -> dry friction [N·m] and the deflection [rad] of its bristles, where it has some."""
        sizes = whole[len(whole) - len(self.bristles) :].tolist()
        found = zip(self.bristles, sizes, strict=True)
        return {dof: (size, deflection) for (dof, deflection), size in found if size}

    def limits(self, described: Float[np.ndarray, " t"]) -> Terms:
        """What the numbers of the terms may be; friction that grows as fast as the load would block the joint."""
        places = self.places
        most = [1.0 if name == "load_friction" else np.inf for name, _ in places]
        positive = [name not in ("offset", COGGING) for name, _ in places]
        alone = len(places) - 2 * len(self.ripples)
        pairs = [(k, k + 1) for k in range(alone, len(places) + len(self.tilt), 2)]
        groups = (*((k,) for k in range(alone)), *pairs)
        own = [(*places, (TILT, -1))[group[0]] for group in groups]
        near: dict[int, list[int]] = {}
        for g, (_, dof) in enumerate(own):
            near.setdefault(dof, []).append(g)
        rivals = tuple(
            tuple(k for j in near[dof] if j != g and _exclude(name, own[j][0]) for k in groups[j])
            for g, (name, dof) in enumerate(own)
        )
        return Terms(
            groups,
            tuple(dof for _, dof in own),
            rivals,
            tuple([*self._late, False][group[0]] for group in groups),
            described,
            np.array([*most, *(np.inf for _ in self.tilt)]),
            np.array([*positive, *(False for _ in self.tilt)], dtype=bool),
        )

    def begin(self, check: CrossValidation, fitted: tuple[str, ...]) -> State:
        """The state in which these terms are fitted on all joints that feel them, and the others are as described."""
        dry = "friction" in fitted  # also where the description has bristles
        known = [
            name == BRISTLES and dry and not late
            for (name, _), late in zip(self.places, self._late, strict=True)
        ]
        named = [name in fitted or own for (name, _), own in zip(self.places, known, strict=True)]
        where = np.array([*named, *(False for _ in self.tilt)], dtype=bool) & check.felt
        return State(where, np.where(where, 0.0, check.terms.described))

    def news(self, check: CrossValidation, state: State, prior: float) -> tuple[Term, ...]:
        """For each term: where it is fitted, where zero is better than the description, and the errors."""
        places = [*self.places, *((TILT, -1) for _ in self.tilt)]
        tried = tuple(dict.fromkeys([*self.tried, *(name for name, _ in places)]))
        owns = [self._called(name) for name in tried]
        others = [self._other(check, state, own) for own in owns]
        now, *errors = check.errors([state, *others], prior)
        names = lambda mask: tuple(
            dict.fromkeys(self.dofs[places[i][1]] if places[i][1] >= 0 else "base" for i in np.flatnonzero(mask))
        )  # fmt: skip
        out, replaced = [], self._replaced(state)
        for name, own, other in zip(tried, owns, errors, strict=True):
            fitted = own & state.fitted
            zero = own & ~fitted & ~replaced & (state.value == 0.0) & (check.terms.described != 0.0)
            where = fitted if fitted.any() else own
            dofs = [k for k in dict.fromkeys(places[i][1] for i in np.flatnonzero(where)) if k >= 0]
            both = _rms(now, dofs), _rms(other, dofs)
            out.append(Term(name, names(fitted), names(zero), both if fitted.any() else both[::-1]))
        return tuple(out)

    def _other(self, check: CrossValidation, state: State, own: np.ndarray) -> State:
        """The state without these numbers of a term, or with them where none is fitted.

        Dry friction takes the place of bristles. Of numbers that exclude each other, the first one is fitted.
        """
        terms, replaced = check.terms, self._replaced(state)
        if (fitted := own & state.fitted).any():
            left = State(state.fitted & ~own, np.where(fitted, terms.described, state.value))
            dry = replaced & ~self._replaced(left) & self._called("friction")
            return State(left.fitted | dry, np.where(dry, 0.0, left.value))
        for group, rivals in reversed(list(zip(terms.groups, terms.rivals, strict=True))):
            if (own & ~replaced)[list(group)].all():
                state = state.changed(group, True, np.zeros(len(group)), rivals)
        return state

    def _called(self, *names: str) -> np.ndarray:
        """Which columns of `terms` belong to these terms."""
        own = [name in names for name, _ in self.places]
        return np.array([*own, *(TILT in names for _ in self.tilt)], dtype=bool)

    def _replaced(self, state: State) -> np.ndarray:
        """Which columns of `terms` are those of dry friction on joints where bristles are fitted."""
        dofs = np.array([*(dof for _, dof in self.places), *(-1 for _ in self.tilt)])
        return self._called(*DRY) & np.isin(dofs, dofs[self._called(BRISTLES) & state.fitted])


def _exclude(one: str, other: str) -> bool:
    """Whether two terms of a joint, or the same one with other periods or another deflection, exclude each other."""
    names = {one, other}
    return names in ({COGGING}, {BRISTLES}) or (BRISTLES in names and bool(names & {*DRY}))


def cogging_names(dof: str, periods: int) -> tuple[str, str]:
    """What the two numbers of a cogging are called."""
    return f"cogging sin {periods}q of {dof!r}", f"cogging cos {periods}q of {dof!r}"


def bristle_name(dof: str, deflection: float) -> str:
    """What the dry friction of a joint with bristles is called."""
    return f"friction over {1e3 * deflection:.3g} mrad of {dof!r}"


def _rms(errors: np.ndarray, dofs: list[int]) -> float:
    """Over folds and these degrees of freedom, or all."""
    return float(np.sqrt(np.nanmean(errors[:, dofs] if dofs else errors)))
