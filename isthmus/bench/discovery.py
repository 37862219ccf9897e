"""How often `discover` finds what was put in: `python -m isthmus.bench.discovery`.

Every row is a count over data sets with fresh seeds: a model, a truth with one or two faults (or none), motion of the
truth with noise on positions and velocities, and the places that `discover` then names. Truth and model are integrated
by RK4, the truth with four substeps. `--seeds N` makes fewer data sets, `--first K` other ones.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import isthmus as ist
from isthmus.bench.discovery_data import ARM, CHAIN, Case, arm_case, chain_case, pendulum_case
from isthmus.discovery.discover import Search
from isthmus.errors import FitWarning

TRUTHS = ("damping (0.2, 0)", "damping (0.2, 0.1)", "damping 0.2, dry 0.3")
CROSSED = (
    "joint/*/passive_torque by joint/*/velocity",
    "joint/*/passive_torque by joint/*/position",
)
PARTS = ("pendulum", "chain", "arm")
Seeds = Callable[[int, int], range]


@dataclasses.dataclass(frozen=True)
class Count:
    """One row of the table."""

    what: str
    hits: str
    of: int
    cpu: float
    """Mean processor time of one discovery, without the first, which may compile [s]."""

    def __str__(self) -> str:
        return f"{self.what:<58} {self.hits:>10} of {self.of:<4} {self.cpu:6.2f} s"


def searched(case: Case, most: int, *, whiten: bool = True, crossed: bool = False) -> tuple:
    """Places, ranking of the last stage, and processor time of one discovery."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        problem = ist.Problem(
            case.model, case.motions, loss=ist.Windows(25), noise=case.noise, integrator="rk4",
            signals=["joint/position", "joint/velocity"],
        )  # fmt: skip
        began = time.process_time()
        search = Search(problem, CROSSED if crossed else None, whiten=whiten)
        places = search.found(most).places
    return places, search.ranking, time.process_time() - began


def supports(seeds: range, noise: float, truth: int, *, whiten: bool) -> Count:
    """Exact sets of places of the double pendulum of NeuralSim, figure 10."""
    hits, cpu = 0, []
    for seed in seeds:
        case = pendulum_case(seed, truth, noise)
        places, _, seconds = searched(case, 4, whiten=whiten, crossed=True)
        hits += sorted(p.name for p in places) == sorted(case.faults)
        cpu.append(seconds)
    said = f"exact support, {TRUTHS[truth]}, noise {noise:g}{'' if whiten else ', not whitened'}"
    return Count(said, str(hits), len(cpu), _mean(cpu))


def single_faults(what: str, kinds: Any, make: Callable[..., Case], seeds: range) -> Count:
    """How often the first place, or one alike, is the fault; and how often it is among the best two."""
    first = second = 0
    cpu, missed = [], []
    for kind in kinds:
        for seed in seeds:
            case = make(seed, kind)
            places, ranking, seconds = searched(case, 1)
            named = {x for p in places for x in (p.name, *p.alike)}
            hit = case.faults[0] in named
            near = hit or case.faults[0] in [name for name, *_ in ranking[:2]]
            first, second = first + hit, second + near
            cpu.append(seconds)
            missed += [] if hit else [f"{kind}: {case.faults[0]}, found {[p.name for p in places]}"]
    for text in missed:
        print(f"    missed {text}", flush=True)
    return Count(what, f"{first} / {second}", len(cpu), _mean(cpu))


def two_faults(seeds: range) -> Count:
    """How often both of two faults are among three places or alike to one."""
    hits, cpu = 0, []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        kinds = rng.choice([kind for kind in CHAIN if kind != "delay"], 2, replace=False)
        case = chain_case(seed, *kinds, effect=0.3)
        places, _, seconds = searched(case, 3)
        named = {x for p in places for x in (p.name, *p.alike)}
        hits += set(case.faults) <= named
        cpu.append(seconds)
    return Count("3 links, two faults at once, both named", str(hits), len(cpu), _mean(cpu))


def nothing(seeds: range) -> Count:
    """How many places are named where nothing is missing."""
    cpu, named = [], 0
    for seed in seeds:
        places, _, seconds = searched(chain_case(seed), 3)
        named += len(places)
        cpu.append(seconds)
    return Count("3 links, nothing missing: places named", str(named), len(cpu), _mean(cpu))


def counts(first: int, share: float = 1.0, parts: Sequence[str] = PARTS) -> Iterator[Count]:
    """All rows, each as soon as it is known; `share` of the data sets."""
    seeds = lambda n, offset: range(first + offset, first + offset + max(1, round(share * n)))
    rows = {"pendulum": of_pendulum, "chain": of_chain, "arm": of_arm}
    for part in parts:
        yield from rows[part](seeds)


def of_pendulum(seeds: Seeds) -> Iterator[Count]:
    """The double pendulum of NeuralSim."""
    for noise in (1e-3, 1e-2):
        for truth in range(3):
            yield supports(seeds(20, 100 * truth), noise, truth, whiten=True)
    for truth in range(3):
        yield supports(seeds(20, 100 * truth), 1e-2, truth, whiten=False)


def of_chain(seeds: Seeds) -> Iterator[Count]:
    """Three rods."""
    whole = "3 links, 9 kinds of fault: first, or alike / of two"
    yield single_faults(whole, CHAIN, chain_case, seeds(4, 300))
    weak = [kind for kind in CHAIN if kind != "delay"]
    small = lambda seed, kind: chain_case(seed, kind, effect=0.1)
    yield single_faults("3 links, a tenth of the effect", weak, small, seeds(4, 400))
    yield two_faults(seeds(30, 500))
    yield nothing(seeds(40, 600))


def of_arm(seeds: Seeds) -> Iterator[Count]:
    """The arm."""
    yield single_faults("arm of 7 joints, 8 kinds of fault", ARM, arm_case, seeds(5, 700))


def _mean(cpu: list[float]) -> float:
    return float(np.mean(cpu[1:] or cpu))


def main() -> None:
    """Prints all rows."""
    parser = argparse.ArgumentParser(prog="python -m isthmus.bench.discovery")
    parser.add_argument("--share", type=float, default=1.0, help="of the data sets")
    parser.add_argument("--first", type=int, default=50_000, help="the first seed")
    parser.add_argument("--part", choices=PARTS, default=None)
    given = parser.parse_args()
    for count in counts(given.first, given.share, (given.part,) if given.part else PARTS):
        print(count, flush=True)


if __name__ == "__main__":
    main()
