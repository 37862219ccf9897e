"""`discover`: from a problem to the places where its model lacks something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isthmus.blas import on_one_thread
from isthmus.discovery.candidates import Candidate, Motion, candidates_of
from isthmus.discovery.linearise import look, with_door
from isthmus.discovery.record import record_of
from isthmus.discovery.result import Discovery, Place, numbers
from isthmus.discovery.score import Columns, Products, cosine, fitted, gain
from isthmus.discovery.stages import (
    REFITTED,
    SIGNIFICANT,
    Stage,
    Stand,
    derivatives,
    ranked,
    refitted,
)
from isthmus.discovery.step_check import check_step
from isthmus.entry import check_arguments
from isthmus.errors import BadFile
from isthmus.identify.fit import starting_values
from isthmus.identify.problem import Problem
from isthmus.losses.windows import whole_number
from isthmus.phases import counted, phase

ALIKE = 0.99
"""Cosine from which on two candidates cannot be told apart."""
OF_SENSORS = ("dt", "offset", "delay", "network", "start")
"""Families of free numbers that stay as they are: they are no part of the physics, or networks' own."""


@check_arguments
def discover(
    problem: Problem,
    candidates: Sequence[str] | str | None = None,
    most: int = 3,
    *,
    start: Any = None,
    whiten: bool = True,
    resume: Discovery | None = None,
    listen: Callable[[Discovery], Any] | None = None,
) -> Discovery:
    """Where the model of `problem` lacks something that its logs show, on which signals it depends, and how surely.

    `candidates`: what is tried, such as "joint/*/passive_torque by velocity"; None: everything. `most`: so many places
    are named at most. `start`: of the free numbers, as in `fit`. `whiten`: take the noise in the states that windows
    begin with into account. `resume`: go on with the places of an earlier discovery. `listen`: gets what is known
    after each place. Ctrl-C stops and keeps the places that were found.
    """
    whole_number("most", most)
    wanted = (candidates,) if isinstance(candidates, str) else candidates
    with on_one_thread():
        search = Search(problem, wanted, start=start, whiten=whiten)
        return search.found(most, resume, listen)


class Search:
    """A discovery in progress."""

    def __init__(
        self,
        problem: Problem,
        wanted: Sequence[str] | None = None,
        *,
        start: Any = None,
        whiten: bool = True,
    ) -> None:
        parameters, scheme = problem.parameters, problem.scheme
        z = starting_values(parameters, start)[0]
        record = record_of(problem)
        model = parameters.model(z)
        with phase("looking at every row"):
            seen = look(with_door(model), record.rows, scheme, scheme.substeps)
        with phase("checking the time step"):
            check_step(model, record, scheme, whiten=whiten)
        given = Motion(model, record, seen)
        found, still = candidates_of(given, wanted), given.still()
        self.candidates = [c for c in found if not _is_of(c, still)]
        self.unjudged = tuple(str(c) for c in found if _is_of(c, still))
        held = np.concatenate(
            [np.zeros(0, bool)]
            + [np.full(len(g.start), _is_held(g.free.name)) for g in parameters.groups]
        )
        self.notes = [*record.notes, *_told(problem, still)]
        moved = {field for c in found for field, _, _ in c.leaves}
        fields = tuple(sorted(moved | {*derivatives(parameters, z, held)}))
        self.stand = Stand(Stage(record, parameters, scheme, whiten, held, fields), z)
        self.costs = np.zeros(0)
        self.scores: tuple[tuple[str, float, float], ...] = ()
        self.ranking: list[tuple[str, float, float]] = []
        """Of the last stage: the candidates that were fitted again, the best first, with their gain and its error."""

    def found(
        self,
        most: int,
        earlier: Discovery | None = None,
        listen: Callable[[Discovery], Any] | None = None,
    ) -> Discovery:
        """Place after place, until one is not significant or there are `most`."""
        places, complete = self._taken_up(earlier), True
        try:
            with phase("fitting what is free"):
                self.stand, self.costs = refitted(self.stand)
            while len(places) < most:
                with phase(f"place {len(places) + 1} of {most} at most"):
                    place = self.next_place()
                    if place is None:
                        break
                    kept = self.needed([*places, place])
                    if [p.name for p in kept] == [p.name for p in places]:
                        break
                    places = kept
                if listen is not None:
                    listen(self._result(places, complete=False))
        except KeyboardInterrupt:
            complete = False
            places = places[: len(self.stand.taken)]
        return self._result(places, complete=complete)

    def _result(self, places: Sequence[Place], *, complete: bool) -> Discovery:
        return Discovery(
            tuple(places), tuple(self.notes), self.unjudged, self.scores, complete, self.stand
        )

    def _taken_up(self, earlier: Discovery | None) -> list[Place]:
        """The places of an earlier discovery, taken into the stand."""
        if earlier is None:
            return []
        known = {str(c): c for c in self.candidates}
        for place in earlier.places:
            candidate = known.get(place.name)
            if candidate is None or candidate.terms != len(place.coefficients):
                raise BadFile(
                    f"the discovery to resume has {place.name!r}, which is no candidate here: begin anew."
                )
            self.stand = self.stand.with_candidate(candidate, np.array(place.coefficients))
        self.scores = earlier.scores
        return list(earlier.places)

    def next_place(self) -> Place | None:
        """The best candidate, if it is significant; it is then part of the stand."""
        rest = [c for c in self.candidates if c not in self.stand.taken]
        if not rest:
            return None
        scores, p, columns = ranked(self.stand, rest)
        self._tell_diverged(p)
        if not self.scores:
            self.scores = tuple((str(c), *score) for c, score in zip(rest, scores, strict=True))
        order = np.argsort([-mean for mean, _ in scores])[:REFITTED]
        tries = []
        for k in order:
            own = np.concatenate([self._base(columns), columns.places[len(self.stand.taken) + k]])
            tries.append(refitted(self.stand.with_candidate(rest[k]), p.only(own)))
        falls = [gain(self.costs, costs) for _, costs in tries]
        best = int(np.argmax([mean for mean, _ in falls]))
        pairs = sorted(zip(order, falls, strict=True), key=lambda pair: -pair[1][0])
        self.ranking = [(str(rest[k]), *fall) for k, fall in pairs]
        mean, error = falls[best]
        if not mean > SIGNIFICANT * error:
            return None
        chosen = rest[order[best]]
        alike = self._alike(rest, chosen, p, columns)
        self.stand, self.costs = tries[best]
        share = float(np.exp(-mean))
        c = numbers(self.stand.coefficients[-1])
        return Place(chosen.target, chosen.reads, 1.0 - share, share * error, alike, c)

    def needed(self, places: list[Place]) -> list[Place]:
        """The places without those that later ones have made superfluous."""
        for k in reversed(range(len(places) - 1)):
            without, costs = refitted(self.stand.without(k))
            mean, error = gain(costs, self.costs)
            if not mean > SIGNIFICANT * error:
                self.stand, self.costs = without, costs
                places = places[:k] + places[k + 1 :]
        return places

    def _base(self, columns: Columns) -> np.ndarray:
        return np.arange(1, 1 + columns.frees + sum(c.terms for c in self.stand.taken))

    def _tell_diverged(self, p: Products) -> None:
        if p.left_out and not any("diverge" in note for note in self.notes):
            there = self.stand.stage.record.windows
            self.notes.append(
                f"{counted(p.left_out, 'window')} of {there} diverged; what diverges is left out."
            )

    def _alike(
        self, rest: Sequence[Candidate], chosen: Candidate, p: Products, columns: Columns
    ) -> tuple[str, ...]:
        """Candidates whose effect cannot be told from that of the chosen one."""
        T, base = p.total(), self._base(columns)
        places = dict(zip(rest, columns.places[len(self.stand.taken) :], strict=True))
        precision = np.concatenate([[0.0], columns.prior])
        own = np.concatenate([base, places[chosen]])
        before = self.stand.before(columns)
        c = fitted(p.only(own), precision[own], before[own - 1])[len(base) :]
        near = lambda place: cosine(T, base, places[chosen], c, place, precision) >= ALIKE
        return tuple(str(o) for o, place in places.items() if o is not chosen and near(place))


def _told(problem: Problem, still: Sequence[str]) -> list[str]:
    """Sentences on what is held and on what cannot be judged."""
    notes = []
    names = [g.free.name for g in problem.parameters.groups if _is_held(g.free.name)]
    if names:
        notes.append(f"Held as they are: {', '.join(dict.fromkeys(names))}.")
    for name in still:
        notes.append(f"Joint {name} hardly moves: what it lacks cannot be judged.")
    return notes


def _is_held(name: str) -> bool:
    return name.split("/")[0] in OF_SENSORS


def _is_of(candidate: Candidate, joints: Sequence[str]) -> bool:
    """Whether a candidate acts on, or reads, one of the joints."""
    parts = [name.split("/") for name in (candidate.target, *candidate.reads)]
    return any(p[0] == "joint" and len(p) > 2 and p[1] in joints for p in parts)
