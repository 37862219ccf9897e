"""Counts of posteriors: coverage, modes, distances to references, CPU time. `python -m isthmus.bench.posteriors`.

`--count 400` data sets of each case (fewer are quicker), `--seed` of all of them, `--only coverage two_sided …`. Truths
are drawn from the prior, so that intervals of 50 and 90 % should hold the truth in so many of 100 cases.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist

import isthmus as ist
from isthmus.bench.posterior_cases import Case, cases
from isthmus.errors import ExportWarning, FitWarning
from isthmus.posteriors.density import Density

DRAWS = 1000
"""Samples of each side of a distance."""


def sampled(
    problem: ist.Problem, method: ist.Laplace | ist.SMC | ist.NUTS | None = None
) -> ist.Posterior:
    """The posterior, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return ist.posterior(problem, method)


@dataclasses.dataclass(frozen=True)
class Coverage:
    """How often intervals hold the truth, number by number."""

    name: str
    hits: np.ndarray
    """(data sets, intervals of 50 and 90 %, numbers): whether the interval holds the truth."""
    warned: np.ndarray
    """(data sets,): whether it was said that normals are not enough."""

    @property
    def half(self) -> np.ndarray:
        """Shares of data sets whose 50 % interval holds the truth."""
        return self.hits[:, 0].mean(axis=0)

    @property
    def most(self) -> np.ndarray:
        """The same of 90 %."""
        return self.hits[:, 1].mean(axis=0)

    def __str__(self) -> str:
        text = lambda rows: "; ".join(
            f"{share} %: {' '.join(f'{x:.3f}' for x in rows[:, k].mean(axis=0))}"
            for k, share in enumerate((50, 90))
        )
        count, warned = len(self.hits), int(self.warned.sum())
        told = (
            f"coverage, {self.name}, {count} data sets: {text(self.hits)}; {warned} were warned of"
        )
        if 0 < warned < count:
            told += f"; the other {count - warned}: {text(self.hits[~self.warned])}"
        return told


def coverage(case: Case, count: int, seed: int) -> Coverage:
    """Of `count` data sets whose truths are draws of the prior."""
    hits, warned = [], []
    for k in range(count):
        truth, problem = case.draw(np.random.default_rng([seed, k]))
        found = sampled(problem)
        warned.append(any("not near its normals" in note for note in found.notes))
        ends = [found.interval(share) for share in (0.5, 0.9)]
        hits.append([(low <= truth) & (truth <= high) for low, high in (e.T for e in ends)])
    return Coverage(case.name, np.array(hits), np.array(warned))


def both_modes(case: Case, count: int, seed: int) -> str:
    """Data sets of the two-sided case in which both modes are found with weights of a half."""
    good, worst = 0, 0.0
    for k in range(count):
        rng = np.random.default_rng([seed, 1, k])
        truth = np.array(
            [rng.choice([-1.0, 1.0]) * rng.uniform(0.08, 0.28), rng.uniform(0.05, 0.45)]
        )
        found = sampled(case.at(truth, rng)[1])
        off = abs(found.weights[0] - 0.5) if len(found.weights) == 2 else 0.5
        good, worst = good + (off <= 0.05), max(worst, off)
    return f"two-sided: both modes with weights within 0.05 of a half: {good} of {count}; worst {worst:.3f}"


# distances ---------------------------------------------------------------------------------------------------


def energy(a: np.ndarray, b: np.ndarray) -> float:
    """Energy distance of two sets of samples (Székely and Rizzo 2013), numbers in units of their spread."""
    scale = b.std(axis=0)
    a, b = a / scale, b / scale
    return float(2.0 * cdist(a, b).mean() - cdist(a, a).mean() - cdist(b, b).mean())


def distances(name: str, reference: np.ndarray, ours: np.ndarray) -> str:
    """Ours to each half of a reference, beside the halves' own distance."""
    first, second = reference[:DRAWS], reference[DRAWS : 2 * DRAWS]
    own = energy(first, second)
    to = np.mean([energy(ours[:DRAWS], half) for half in (first, second)])
    return f"energy distance, {name}: {to:.5f}, {to / own:.2f} × that of two halves of the reference ({own:.5f})"


def to_nuts(case: Case, seed: int) -> str:
    """Laplace's samples of a problem with one mode, beside a long run of NUTS."""
    _, problem = case.draw(np.random.default_rng([seed, 2]))
    long = sampled(problem, ist.NUTS(800, 4 * DRAWS, seed=seed)).samples
    thinned = np.random.default_rng(0).permutation(long)[: 2 * DRAWS]
    return distances(f"{case.name} numbers, to NUTS", thinned, sampled(problem).samples)


def to_grid(case: Case, seed: int, side: int = 300) -> str:
    """Laplace's samples of the two-sided problem, beside draws of its density on a grid."""
    rng = np.random.default_rng([seed, 3])
    _, problem = case.at(np.array([0.12, 0.2]), rng)
    ours, inner = sampled(problem), Density.of(problem.evaluation).inner
    scale = problem.parameters.scale
    size, damping = np.abs(ours["offset"]), ours["joint/hinge/damping"]
    around = lambda x: np.linspace(x.mean() - 6.0 * x.std(), x.mean() + 6.0 * x.std(), side)
    a, b = around(size), around(damping)
    grid = np.stack(np.meshgrid(np.concatenate([-a[::-1], a]), b, indexing="ij"), axis=-1).reshape(
        -1, 2
    )
    cost = np.concatenate([inner.cost(part / scale) for part in np.array_split(grid, 60)])
    weight = np.exp(-(cost - cost.min()))
    rows = rng.choice(len(grid), 2 * DRAWS, p=weight / weight.sum())
    cell = np.array([a[1] - a[0], b[1] - b[0]])
    reference = grid[rows] + cell * (rng.random((2 * DRAWS, 2)) - 0.5)
    return distances("two modes, to a grid", reference, ours.samples)


# time --------------------------------------------------------------------------------------------------------


def clocked(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds of CPU of the second call, and how many more the first one took: those of compiling."""
    spent = []
    for _ in range(2):
        start = time.process_time()
        run()
        spent.append(time.process_time() - start)
    return spent[1], spent[0] - spent[1]


def times(seed: int, *, nuts: bool = True) -> Iterator[str]:
    """CPU time of a posterior of four numbers and 10 s of data, of its models and of files."""
    case = dataclasses.replace(cases()["four"], rows=1000, noise=1e-3)
    _, problem = case.draw(np.random.default_rng([seed, 4]))
    again, _ = clocked(lambda: sampled(problem))
    yield f"CPU to a posterior, 4 numbers, 10 s: {again:.3f} s"
    if nuts:
        again, compiling = clocked(lambda: sampled(problem, ist.NUTS(300, 1000)))
        yield f"CPU of NUTS 300 + 1,000: {again:.2f} s, after compiling for {compiling:.1f} s"
    found = sampled(problem)
    start = time.process_time()
    found.models()
    yield f"1,000 models: {time.process_time() - start:.2f} s"
    state, torque = ist.State(np.array(case.start), np.zeros(2)), np.zeros((500, 2))
    run = lambda: found.predict(state, torque, 0.01, n=len(found.samples))
    yield f"{len(found.samples):,} × 500 steps, 2 joints: {clocked(run)[0]:.3f} s"
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ExportWarning)
        start = time.process_time()
        found.export(Path(folder) / "models", 100, "urdf")
        yield f"URDF each: {10.0 * (time.process_time() - start):.1f} ms"


PARTS = ("coverage", "curved", "two_sided", "distance", "nuts", "time")


def lines(parts: tuple[str, ...], count: int, seed: int) -> Iterator[str]:
    """Every count, one line for each."""
    known = cases()
    if "coverage" in parts:
        yield from (
            str(coverage(known[name], count, seed)) for name in ("two_sided", "four", "six")
        )
    if "curved" in parts:
        yield str(coverage(known["curved"], count, seed))
    if "two_sided" in parts:
        yield both_modes(known["two_sided"], max(1, count // 10), seed)
    if "distance" in parts:
        yield to_grid(known["two_sided"], seed)
    if "nuts" in parts:
        yield to_nuts(known["four"], seed)
    if "time" in parts:
        yield from times(seed, nuts="nuts" in parts)


def main() -> None:
    """Prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    given = parser.parse_args()
    for line in lines(tuple(given.only), given.count, given.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
