"""Identification beside `mujoco.sysid`: the same logs, starts and bounds; CPU seconds of all threads for one start.

Ours runs from one start after the other, and from all of them in one batch; compiling is counted apart.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

import isthmus as ist
from isthmus.bench.machine import hint, is_here
from isthmus.bench.peers import double_pendulum_text
from isthmus.bench.rows import Row
from isthmus.bench.sysid_peer import Log, sysid
from isthmus.identify.search import AbstractSearch

PEER = "mujoco.sysid"
NOISE = 1e-3
"""Of the measured angles [rad]."""
CLOSE = 0.01
"""A number of the pendulum, all of which are one, is right within this."""
ROUNDS = 6
"""Of basin hopping; every start is an island that keeps its own best point."""

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
        rows += rows_of(pendulum_case(steps, 3 if quick else 20))
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
    """Each way to search beside the peer, with how many starts ended right."""
    evaluation = case.problem.evaluation
    compiling = _seconds(lambda: evaluation.normal(evaluation.start[None]))
    evaluation.normal(np.tile(evaluation.start, (len(case.starts), 1)))  # code for lanes loads too
    theirs, found = None, "–"
    if is_here(PEER):
        search = sysid(case.text, case.logs, case.write, case.low, case.high)
        ends: list[np.ndarray] = []
        theirs = _seconds(lambda: ends.extend(search(x) for x in case.starts)) / len(case.starts)
        found = f"{case.right(np.stack(ends))}"
    rows = []
    for name, local, batch in ways(len(case.starts)):
        ours, right = _ours(case, local, batch)
        work = f"{case.work}, {name}: {right} of {len(case.starts)} right (peer {found})"
        rows.append(Row(work, ours, PEER, theirs, 10.0, compile=compiling, missing=hint(PEER)))
    return rows


def ways(starts: int) -> list[tuple[str, AbstractSearch, bool]]:
    """How we search, and whether all starts are one batch."""
    local = ist.LevenbergMarquardt()
    return [
        ("one start at a time", local, False),
        ("all starts at once", local, True),
        ("all at once, lengthening horizon", ist.LengtheningHorizon(local), True),
        (
            "all at once, basin hopping",
            ist.BasinHopping(local, starts, rounds=ROUNDS, batch=starts),
            True,
        ),
    ]


def _ours(case: Case, search: AbstractSearch, batch: bool) -> tuple[float, int]:
    """CPU seconds of one start, and how many starts ended right."""
    evaluation, scale = case.problem.evaluation, case.problem.parameters.scale
    Z = case.starts / scale
    parts = [Z] if batch else [z[None] for z in Z]
    ends: list[np.ndarray] = []
    took = _seconds(lambda: ends.extend(search.search(evaluation, part).x for part in parts))
    return took / len(Z), case.right(np.concatenate(ends) * scale)


def _seconds(run: Callable[[], object]) -> float:
    """CPU seconds of all threads."""
    began = time.process_time()
    run()
    return time.process_time() - began
