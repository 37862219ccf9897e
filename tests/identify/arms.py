"""Synthetic logs of arms with torques that the model of the fit cannot explain: friction, a delay, flexible joints."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np

import isthmus as ist
from isthmus.library.arm import TRAVEL

KINDS = ("friction", "delay", "flexibility")
NINETY = 1.645
"""Standard errors on either side of an interval of 90 %."""
DT = 0.01


@dataclasses.dataclass
class Tally:
    """Counts over many arms."""

    held: int = 0
    """Intervals of estimates that are not doubtful and hold the truth."""
    trusted: int = 0
    """Estimates that are determined and not doubtful."""
    determined: int = 0
    doubted_arms: int = 0
    arms: int = 0

    def add(self, fit: ist.Fit, truth: ist.Model) -> None:
        """One more arm."""
        known = {n: e for n, e in fit.estimates.items() if np.isfinite(e.error)}
        trusted = {n: e for n, e in known.items() if n not in fit.doubtful}
        off = {n: abs(e.value - float(np.squeeze(truth.get(n)))) for n, e in trusted.items()}
        self.held += sum(off[n] < NINETY * e.error for n, e in trusted.items())
        self.trusted += len(trusted)
        self.determined += len(known)
        self.doubted_arms += bool(fit.doubtful)
        self.arms += 1

    def __str__(self) -> str:
        share = f"{self.held} of {self.trusted} intervals hold the truth"
        trusted = f"{self.trusted} of {self.determined} estimates are not doubtful"
        return f"{self.arms} arms: {share}; {trusted}; {self.doubted_arms} arms have doubtful ones"


def tally(seeds: range, kinds: tuple[str, ...], rows: int = 1000) -> Tally:
    """Masses and damping of one arm for each seed, the kinds of model error in turn."""
    total = Tally()
    for k, seed in enumerate(seeds):
        truth, log = arm_log(seed, kinds[k % len(kinds)], rows)
        start = truth.set("joint/damping", 0.3).set("link/mass", 1.1 * truth.link_mass)
        free = [ist.Free("link/*/mass"), ist.Free("joint/*/damping")]
        with warnings.catch_warnings(action="ignore", category=ist.errors.FitWarning):
            total.add(ist.fit(ist.Problem(start, log, free=free, loss="torque")), truth)
    return total


def arm_log(seed: int, kind: str, rows: int) -> tuple[ist.Model, ist.Motion]:
    """A random arm without `kind` of model error, and a log of one that has it."""
    draw = np.random.default_rng(seed)
    model = random_arm(draw)
    t, q, v, a = random_motion(draw, rows)
    tau = torques(model, t, q, v, a)
    size = np.sqrt(np.mean(np.square(tau), axis=0))
    noise = size * draw.uniform(0.01, 0.03, 7)
    tau = with_error(kind, draw, model, tau, (t, q, v, a))
    tau = tau + noise * draw.standard_normal(tau.shape)
    return model, ist.Motion(t, q, v, {"joint/motor_torque": tau, "joint/acceleration": a})


def random_arm(draw: np.random.Generator) -> ist.Model:
    """Masses and inertias of the links some 20 % off the library's, and some damping."""
    base = ist.library.arm()
    factor = np.exp(0.2 * draw.standard_normal(8))
    scaled = base.set("link/mass", base.link_mass * factor)
    scaled = scaled.set("link/inertia", base.link_inertia * factor[:, None])
    return scaled.set("joint/damping", draw.uniform(0.1, 0.6, 7))


def random_motion(draw: np.random.Generator, rows: int) -> tuple[np.ndarray, ...]:
    """Time, positions, velocities and accelerations: sums of sines inside the travel of the joints."""
    t = DT * np.arange(rows)
    q, v, a = np.zeros((3, rows, 7))
    for j in range(7):
        for k in range(1, 6):
            w = 0.4 * np.pi * k * (1.0 + 0.05 * draw.standard_normal())
            size, phase = draw.standard_normal() / np.sqrt(k), draw.uniform(0.0, 2.0 * np.pi)
            q[:, j] += size * np.sin(w * t + phase)
            v[:, j] += size * w * np.cos(w * t + phase)
            a[:, j] -= size * w * w * np.sin(w * t + phase)
    fits = 0.9 * np.minimum(np.abs(TRAVEL).min(axis=1), 1.5) / np.abs(q).max(axis=0)
    return t, q * fits, v * fits, a * fits


def torques(model: ist.Model, t: np.ndarray, *motion: np.ndarray) -> np.ndarray:
    """What motors must give for a motion, (rows, dof)."""
    q, v, a = motion
    log = ist.Motion(t, q, v, {"joint/motor_torque": v, "joint/acceleration": a})
    free = [ist.Free("joint/*/damping")]
    evaluation = ist.Problem(model, log, free=free, loss="torque").evaluation
    r = evaluation.residuals(evaluation.start[None])[0][0]
    steps = evaluation.windows.steps
    return v + np.concatenate([r[k, : n + 1] for k, n in enumerate(steps)])


def with_error(
    kind: str, draw: np.random.Generator, model: ist.Model, tau: np.ndarray, motion: tuple
) -> np.ndarray:
    """The torques of an arm that has what the model lacks."""
    t, q, v, a = motion
    size = np.sqrt(np.mean(np.square(tau), axis=0))
    if kind == "friction":  # some of it grows with the load
        dry = size * np.exp(draw.uniform(np.log(0.01), np.log(0.1), 7))
        return tau + dry * np.tanh(v / 0.02) * (1.0 + 0.3 * draw.uniform() * np.abs(tau) / size)
    if kind == "delay":
        late = DT * np.exp(draw.uniform(np.log(0.3), np.log(5.0)))
        return np.stack([np.interp(t - late, t, x) for x in tau.T], axis=1)
    if kind == "flexibility":  # encoders are in front of springs that give way by up to 0.03 rad
        soft = np.exp(draw.uniform(np.log(0.002), np.log(0.03), 7)) / np.abs(tau).max(axis=0)
        rate = np.gradient(tau, DT, axis=0)
        twist = (soft * tau, soft * rate, soft * np.gradient(rate, DT, axis=0))
        return torques(model, t, *(x - y for x, y in zip((q, v, a), twist, strict=True)))
    return tau
