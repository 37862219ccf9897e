"""How fast and how well `ist.Tracker` follows a payload: `python -m isthmus.bench.tracking`.

An arm under PD control moves along random sines and takes up a payload after two seconds. The truth is integrated by
RK4 in four substeps, the tracker uses one; positions and velocities have noise. Every row is a count over runs with
fresh seeds: the time after which the estimate stays within 10 % of the payload, its rms error from half a second after
the change on, and alarms before the change. `--first K` chooses other seeds, `--runs N` fewer.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Iterator

import numpy as np

import isthmus as ist
from isthmus.bench.rows import Row
from isthmus.identify.logs.log import as_runs
from isthmus.spatial import bodies

DT, SECONDS, CHANGE = 2e-3, 4.0, 2.0
"""Time between samples, length of a run, and when the payload comes [s]."""
NOISE = {"joint/position": 5e-4, "joint/velocity": 1e-2}
DRIFT = {"link/payload/mass": 0.01}
FREE = ist.Free("link/payload/mass")
MIDDLES = {3: [0.0, 0.6, 0.8], 7: [0.0, 0.3, 0.0, -1.5, 0.0, 1.8, 0.0]}
"""Positions that the joints swing about [rad], by the number of joints."""
STIFFNESS = {3: [60.0, 80.0, 40.0], 7: [80.0, 100.0, 80.0, 80.0, 20.0, 20.0, 5.0]}
DAMPING = {3: [10.0, 10.0, 6.0], 7: [12.0, 15.0, 10.0, 10.0, 2.0, 2.0, 0.5]}
"""Gains of the controller [N·m/rad, N·m·s/rad]."""


def arm_of_three() -> ist.Model:
    """A turning base, an upper arm and a forearm, with an empty hand."""
    robot = ist.Builder("arm of three joints")
    rows = [(4.0, 0.05, 0.2, (0, 0, 1)), (3.0, 0.2, 0.1, (0, 1, 0)), (2.0, 0.2, 0.4, (0, 1, 0))]
    for i, (mass, half, rise, axis) in enumerate(rows):
        name = f"link_{i + 1}"
        moment = bodies.cylinder(mass, 0.05, 2.0 * half)
        robot.add_link(name, mass=mass, com=(0.0, 0.0, half), inertia=moment)
        robot.add_joint_revolute(
            f"joint_{i + 1}", f"link_{i}" if i else None, name,
            position=(0.0, 0.0, rise), axis=tuple(float(x) for x in axis), damping=0.5,
        )  # fmt: skip
    robot.add_link("payload", mass=0.0, inertia=(0.0, 0.0, 0.0))
    robot.add_joint_fixed("grip", "link_3", "payload", position=(0.0, 0.0, 0.4))
    return robot.model()


def arm_of_seven() -> ist.Model:
    """The arm of the library, with some friction."""
    return ist.library.arm(damping=0.5)


def moving(model: ist.Model, payload: float, seeds: range, seconds: float = SECONDS) -> ist.Motion:
    """Measured motions of the arm, which takes up `payload` [kg] after `CHANGE`; one world for each seed."""
    dof, steps = model.dof, round(seconds / DT)
    before, draws = round(CHANGE / DT), [np.random.default_rng(seed) for seed in seeds]
    paths = np.stack([_path(dof, rng, steps + 1) for rng in draws])
    sigma = np.repeat([NOISE["joint/position"], NOISE["joint/velocity"]], dof)
    noise = np.stack([sigma * rng.standard_normal((steps + 1, 2 * dof)) for rng in draws])
    loaded = model.set("link/payload/mass", payload)
    seen, torque = np.zeros_like(paths), np.zeros((len(seeds), steps + 1, dof))
    now = paths[:, 0]
    stiffness, damping = np.array(STIFFNESS[dof]), np.array(DAMPING[dof])
    for k in range(steps + 1):
        seen[:, k] = now + noise[:, k]
        off = paths[:, k] - seen[:, k]
        torque[:, k] = stiffness * off[:, :dof] + damping * off[:, dof:]
        robot, state = model if k < before else loaded, ist.State(now[:, :dof], now[:, dof:])
        after = ist.rollout_many(
            robot, state, torque[:, k, None], DT, integrator="rk4", substeps=4, threads=1
        )
        now = np.concatenate([after.q[:, -1], after.v[:, -1]], axis=1)
    t = np.broadcast_to(DT * np.arange(steps + 1), (len(seeds), steps + 1))
    return ist.Motion(t, seen[..., :dof], seen[..., dof:], {"joint/control": torque})


def _path(dof: int, rng: np.random.Generator, rows: int) -> np.ndarray:
    """Wanted positions and velocities, (rows, 2 dof): two sines for each joint."""
    t = DT * np.arange(rows)[:, None]
    q, v = np.tile(MIDDLES[dof], (rows, 1)), np.zeros((rows, dof))
    for size in (0.4, 0.2):
        w, phase = rng.uniform(1.0, 4.0, dof), rng.uniform(0.0, 2.0 * np.pi, dof)
        q, v = q + size * np.sin(w * t + phase), v + size * w * np.cos(w * t + phase)
    return np.concatenate([q, v], axis=1)


def tracker_of(model: ist.Model) -> ist.Tracker:
    """A tracker of the payload."""
    return ist.Tracker(model, FREE, NOISE, DRIFT, DT, integrator="rk4")


@dataclasses.dataclass(frozen=True)
class Count:
    """How a payload was followed."""

    what: str
    milliseconds: np.ndarray
    """Of each run, until the estimate stays within 10 %."""
    grams: np.ndarray
    """Rms error of each run, afterwards."""
    false_alarms: int

    def __str__(self) -> str:
        median, worst = np.median(self.milliseconds), np.max(self.milliseconds)
        return (
            f"{self.what:<28} within 10 % after {median:4.0f} ms, at worst {worst:4.0f} ms; rms "
            f"{np.median(self.grams):4.1f} g, at worst {np.max(self.grams):4.1f} g; {self.false_alarms} false alarms "
            f"in {len(self.grams)} runs"
        )


def followed(model: ist.Model, payload: float, seeds: range) -> Count:
    """Counts over runs with one payload."""
    tracks = tracker_of(model).run(moving(model, payload, seeds))
    late, rms, false = [], [], 0
    for track in tracks:
        mass, t = track.values[:, 0], track.t - CHANGE
        outside = np.flatnonzero((np.abs(mass - payload) > 0.1 * payload) & (t >= 0.0))
        late.append(1e3 * (t[outside[-1]] + DT) if len(outside) else 0.0)
        rms.append(1e3 * np.sqrt(np.mean((mass[t > 0.5] - payload) ** 2)))
        false += sum(alarm.time < CHANGE for alarm in track.alarms)
    what = f"{model.dof} joints, payload {payload:g} kg"
    return Count(what, np.array(late), np.array(rms), false)


def counts(first: int, runs: int) -> Iterator[Count]:
    """All rows of the table, each as soon as it is known."""
    for model in (arm_of_three(), arm_of_seven()):
        for payload in (0.4, 0.1, 1.0):
            yield followed(model, payload, range(first, first + runs))
            first += runs


def seconds_for_a_sample(samples: int = 5000, lanes: int = 256) -> tuple[float, float]:
    """CPU time of one sample [s]: `update` from Python, and `run` of many logs in lanes."""
    model = arm_of_three()
    tracker, log = tracker_of(model), as_runs(moving(model, 0.4, range(1), CHANGE))[0]
    rows = np.concatenate([log.q, log.v], axis=1)
    torques, count = log.signals["joint/control"], len(log) - 1
    tracker.reset(log.state(0))
    tracker.update(torques[0], rows[1])
    began = time.process_time()
    for k in range(samples):
        tracker.update(torques[k % count], rows[k % count + 1])
    single = (time.process_time() - began) / samples
    logs = [log] * lanes
    tracker.run(logs[:16])
    began = time.process_time()
    tracker.run(logs)
    return single, (time.process_time() - began) / (count * lanes)


def tracking(quick: bool) -> list[Row]:
    """Times of a sample, as rows of `isthmus bench`."""
    single, lanes = seconds_for_a_sample(1000 if quick else 5000, 64 if quick else 256)
    return [
        Row("tracker, 3 joints: a sample from Python", single),
        Row("tracker, 3 joints: a sample in lanes", lanes),
    ]


def main() -> None:
    """Prints all rows."""
    parser = argparse.ArgumentParser(prog="python -m isthmus.bench.tracking")
    parser.add_argument("--runs", type=int, default=10, help="for each row")
    parser.add_argument("--first", type=int, default=60_000, help="the first seed")
    given = parser.parse_args()
    single, lanes = seconds_for_a_sample()
    print(f"a sample from Python {1e6 * single:.1f} µs, in lanes {1e6 * lanes:.2f} µs (CPU)")
    for count in counts(given.first, given.runs):
        print(count, flush=True)


if __name__ == "__main__":
    main()
