"""Identification beside `mujoco.sysid`: the same logs, starts and bounds; CPU seconds of all threads, in all.

Ours includes tracing and compiling, cold (nothing on disk) and warm (code of an earlier run on disk), as users feel
it. The peer is measured on some starts, one after the other as it works, and counted for as many as ours.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

import isthmus as ist
from isthmus.bench.machine import hint, is_here
from isthmus.bench.peers import double_pendulum_text
from isthmus.bench.rows import Row
from isthmus.bench.sysid_peer import Log, sysid
from isthmus.bench.timing import code_kept_in, cpu_seconds
from isthmus.identify.fit import default_search
from isthmus.identify.search.search import AbstractSearch
from isthmus.phases import counted

PEER = "mujoco.sysid"
NOISE = 1e-3
"""Of the measured angles [rad]."""
CLOSE = 0.01
"""A number of the pendulum, all of which are one, is right within this."""
ROUNDS = 6
"""Of basin hopping; every start is an island that keeps its own best point."""
COUNTS = (1, 10, 100)
"""Starts of the default search."""
OTHER_STARTS = 20
"""Starts of the other searches."""
MEASURED = 10
"""Starts that the peer is measured on."""

Starts = Float[np.ndarray, "starts n"]


@dataclasses.dataclass(frozen=True)
class Case:
    """One problem for both sides."""

    work: str
    problem: ist.Problem
    text: str
    logs: list[Log]
    write: Callable[[Any, np.ndarray], None]
    starts: Starts
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    right: Callable[[Starts], int]
    """How many of the points that searches found are right."""


def pendulum(quick: bool) -> list[Row]:
    """Mass and lengths of the reference double pendulum; the first mass is known, as only ratios are determined."""
    rows = []
    for steps in (100,) if quick else (100, 200, 500):
        rows += rows_of(pendulum_case(steps, 3 if quick else 100))
    return rows


def pendulum_case(steps: int, starts: int) -> Case:
    """Two rods of 1 kg and 1 m, let go at (0.8, 0.4): `m2`, `l1`, `l2` from the angles of some steps."""
    draw = np.random.default_rng(0)
    begin = np.array([0.8, 0.4])
    motion = ist.rollout(
        ist.library.pendulum(2), ist.State(begin, np.zeros(2)), None, 0.01, steps=steps
    )
    q = np.asarray(motion.q) + NOISE * draw.standard_normal((steps + 1, 2))
    q[0] = begin
    names = ("m2", "l1", "l2")
    problem = ist.Problem(
        make=lambda p: ist.library.pendulum(2, [p["l1"], p["l2"]], [1.0, p["m2"]]),
        motions=ist.Motion(motion.t, q, np.zeros_like(q)),
        free=[ist.Free(name, start=1.0, low=0.5, high=2.0) for name in names],
        loss=ist.WholeRun(), noise=NOISE,
    )  # fmt: skip
    box = np.ones(3)
    return Case(
        f"double pendulum, 3 numbers, {steps} steps", problem, double_pendulum_text(), [Log(0.01, q)], write_rods,
        draw.uniform(0.5, 2.0, (starts, 3)), 0.5 * box, 2.0 * box, right=near_one,
    )  # fmt: skip


def near_one(found: Starts) -> int:
    """How many points have all their numbers within a percent of one."""
    return int(np.sum(np.all(np.abs(found - 1.0) < CLOSE, axis=1)))


def write_rods(spec: Any, x: np.ndarray) -> None:
    """`m2`, `l1`, `l2` into the specification of the double pendulum."""
    masses, lengths = (1.0, x[0]), x[1:]
    for name, mass, length in zip("ab", masses, lengths, strict=True):
        body, across = spec.body(name), mass * length**2 / 12.0
        body.mass, body.ipos = mass, [0.0, 0.0, -0.5 * length]
        body.inertia = [across, across, 1e-3 * across]
    spec.body("b").pos = [0.0, 0.0, -lengths[0]]


def rows_of(case: Case) -> list[Row]:
    """Our default search from 1, 10 and 100 starts, compiling included, then other searches; each beside the peer."""
    theirs, peer = _peer(case)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        with code_kept_in(folder):
            _total(case, case.starts[:1])  # fills the folder
        for count in sorted({min(n, len(case.starts)) for n in COUNTS}):
            for start, place in (("cold", "off"), ("warm", folder)):
                with code_kept_in(place):
                    ours, right = _total(case, case.starts[:count])
                what = f"{counted(count, 'start')}, {start}, compiling included"
                work = f"{case.work}, {what}: {right} of {count} right ({peer})"
                total = None if theirs is None else count * theirs
                rows.append(Row(work, ours, PEER, total, 1.0, missing=hint(PEER)))
    few = case.starts[:OTHER_STARTS]
    case.problem.evaluation.normal(case.problem.evaluation.start[None])  # the rest is compiled code
    for name, local in other_searches(len(few)):
        ours, right = _search(case.problem, local, case, few)
        what = f"{counted(len(few), 'start')}, compiled before, {name}"
        work = f"{case.work}, {what}: {right} of {len(few)} right ({peer})"
        total = None if theirs is None else len(few) * theirs
        rows.append(Row(work, ours, PEER, total, 1.0, missing=hint(PEER)))
    return rows


def _peer(case: Case) -> tuple[float | None, str]:
    """CPU seconds of the peer for one start, and how many of those it was measured on ended right."""
    if not is_here(PEER):
        return None, "no peer"
    few = case.starts[:MEASURED]
    ends: list[np.ndarray] = []

    def run() -> None:
        search = sysid(case.text, case.logs, case.write, case.low, case.high)
        ends.extend(search(x) for x in few)

    each = cpu_seconds(run) / len(few)
    return each, f"peer {case.right(np.stack(ends))} of {len(few)}"


def _total(case: Case, starts: Starts) -> tuple[float, int]:
    """CPU seconds of a problem that is new to this process, from tracing to the result, and the right ends."""
    problem = dataclasses.replace(case.problem)
    return _search(problem, default_search(problem), case, starts)


def _search(
    problem: ist.Problem, search: AbstractSearch, case: Case, starts: Starts
) -> tuple[float, int]:
    """CPU seconds from all starts at once, and how many of them ended right."""
    scale = problem.parameters.scale
    ends: list[np.ndarray] = []
    took = cpu_seconds(lambda: ends.append(search.search(problem.evaluation, starts / scale).x))
    return took, case.right(ends[0] * scale)


def other_searches(starts: int) -> list[tuple[str, AbstractSearch]]:
    """Searches beside the default one, on code that is there already."""
    local = ist.LevenbergMarquardt()
    hopping = ist.BasinHopping(local, starts, rounds=ROUNDS, batch=starts)
    return [("plain Levenberg-Marquardt", local), ("basin hopping", hopping)]
