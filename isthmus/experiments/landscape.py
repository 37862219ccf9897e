"""`landscape` (NeuralSim, figure 4): two lengths of a double pendulum from its joint angles, from many starts.

Local search falls into false minima; basin hopping, which jumps out of them, does not. Every start is a run of its own:
an island of `BasinHopping` that keeps its best point and hears nothing of the others.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from jaxtyping import Float

import isthmus as ist
from isthmus.experiments.landscape_figures import draw_landscape
from isthmus.experiments.run import Result, Settings, Table
from isthmus.identify.search.search import AbstractSearch
from isthmus.model.builder import Builder
from isthmus.model.model import Model
from isthmus.phases import in_turn

TRUTH = np.array([3.0, 4.0])
"""Lengths of the two links [m]."""
LOW, HIGH = 0.5, 8.0
"""Between these the lengths are searched, and the starts are drawn."""
STEPS, DT = 50, 1.0 / 60.0
CLOSE = 0.01
"""A run is right that ends within this share of both lengths."""

Lengths = Float[np.ndarray, "starts 2"]


def study(settings: Settings) -> Result:
    """Local search and basin hopping from random starts and from a grid, for a short motion and longer ones."""
    lengths = (STEPS,) if settings.quick else (STEPS, 3 * STEPS, 6 * STEPS)
    rounds = int(settings.option("rounds", 3 if settings.quick else 25))
    side = int(settings.option("side", 8 if settings.quick else 50))
    count = int(settings.option("starts", 20 if settings.quick else 100))
    starts = np.random.default_rng(settings.seed).uniform(LOW, HIGH, (count, 2))
    line = np.linspace(LOW, HIGH, side)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    found, figures = {}, {}
    for steps in in_turn(lengths, "length of motion"):
        problem = make_problem(steps)
        problem.evaluation.normal(starts / problem.parameters.scale)  # compiles
        ends = {}
        for name in ("local", "basin hopping"):
            random, even = (
                run(problem, search_of(name, rounds, len(x), settings.seed), x)
                for x in (starts, grid)
            )
            found[steps, name] = random | {"grid": even["right"]}
            ends[name] = errors(even["x"])
            settings.say(f"{steps} steps, {name}: {random['right']:.0%} right")
        cost = problem.evaluation.cost(grid / problem.parameters.scale)
        figures[f"landscape_{steps}"] = draw_landscape(line, cost, ends, TRUTH)
    return Result((table(found, count, side),), numbers(found), figures, NOTES)


NOTES = (
    "The paper's figure has 50 steps. Both searches may take as many; the local one ends where it has converged.",
)


def pendulum(lengths: Any) -> Model:
    """Two links about x with their masses [1 kg] at their ends; the second hinge hangs as the reference has it.

    In the engine that made the paper's figure, the second joint is at the distance of the second length from the
    first; the study keeps that.
    """
    robot = Builder("double_pendulum")
    for i in range(2):
        name, parent = f"link_{i + 1}", f"link_{i}" if i else None
        at = (0.0, lengths[1], 0.0) if i else (0.0, 0.0, 0.0)
        inertia = (0.009, 0.009, 0.009, 0.0, 0.0, 0.0)
        robot.add_link(name, mass=1.0, com=(0.0, lengths[i], 0.0), inertia=inertia)
        robot.add_joint_revolute(f"joint_{i + 1}", parent, name, position=at, axis=(1.0, 0.0, 0.0))
    return robot.model()


def make_problem(steps: int = STEPS) -> ist.Problem:
    """The angles of so many steps from rest, horizontal, and two free lengths."""
    model = pendulum(TRUTH)
    motion = ist.rollout(model, ist.State(np.zeros(2), np.zeros(2)), None, DT, steps=steps)
    log = ist.Motion(motion.t, motion.q, motion.v)
    free = [ist.Free("length", start=1.0, low=LOW, high=HIGH, shape=2)]
    return ist.Problem(
        make=lambda p: pendulum(p["length"]),
        motions=log,
        free=free,
        loss=ist.WholeRun(),
        wrap=False,
    )


def search_of(name: str, rounds: int, islands: int, seed: int) -> AbstractSearch:
    """Local search with the steps of all rounds, or basin hopping with one island for each start."""
    if name == "local":
        return ist.LevenbergMarquardt(steps=50 * rounds)
    local = ist.LevenbergMarquardt(steps=50)
    return ist.BasinHopping(local, islands, rounds=rounds, seed=seed, batch=islands, step=0.3)


def run(problem: ist.Problem, search: AbstractSearch, starts: Lengths) -> dict[str, Any]:
    """Where each start led, how many ended right, and what it took."""
    scale = problem.parameters.scale
    wall, work = time.perf_counter(), time.process_time()
    outcome = search.search(problem.evaluation, starts / scale)
    x = outcome.x * scale
    return {
        "x": x, "right": float(np.mean(errors(x) < CLOSE)), "evaluations": outcome.evaluations,
        "wall": time.perf_counter() - wall, "work": time.process_time() - work,
    }  # fmt: skip


def errors(x: Lengths) -> Float[np.ndarray, " starts"]:
    """The larger relative error of the two lengths."""
    return np.max(np.abs(x / TRUTH - 1.0), axis=1)


def table(found: dict, count: int, side: int) -> Table:
    """Shares of starts that end right."""
    paper = {"local": "often wrong", "basin hopping": "right"}
    rows = tuple(
        (
            f"{steps}", name, f"{one['right']:.0%}", f"{one['grid']:.1%}", paper[name],
            f"{one['evaluations'] / count:.0f}", f"{one['wall']:.1f} s", f"{one['work']:.1f} s",
        )
        for (steps, name), one in found.items()
    )  # fmt: skip
    columns = (
        "steps", "search", f"right of {count} random", f"right of {side}×{side} grid", "paper",
        "evaluations a start", f"time of {count} runs", "CPU time",
    )  # fmt: skip
    return Table("Lengths 3 m and 4 m of a double pendulum, within 1 %", columns, rows)


def numbers(found: dict) -> dict[str, Any]:
    """The results as plain data for `numbers.json`."""
    plain = lambda one: {k: v.tolist() if k == "x" else v for k, v in one.items()}
    return {f"{steps} steps, {name}": plain(one) for (steps, name), one in found.items()}
