"""Synthetic logs of driven pendulums that have something which the model of the fit lacks, for simulated losses."""

from __future__ import annotations

import warnings

import numpy as np

import isthmus as ist
from tests.identify.arms import Tally

KINDS = ("friction", "delay", "flexibility")
DT = 0.01
NOISE = {"joint/position": 1e-3, "joint/velocity": 1e-2}


def tally(
    seeds: range, kinds: tuple[str, ...], loss: object, *, links: int = 2, rows: int = 401
) -> Tally:
    """Masses and damping of one pendulum for each seed, the kinds of model error in turn."""
    total = Tally()
    for k, seed in enumerate(seeds):
        truth, log = swing_log(seed, kinds[k % len(kinds)], links, rows)
        start = truth.set("joint/damping", 0.3).set("link/mass", 1.1 * truth.link_mass)
        free = [ist.Free("link/*/mass"), ist.Free("joint/*/damping")]
        with warnings.catch_warnings(action="ignore", category=ist.errors.FitWarning):
            total.add(ist.fit(ist.Problem(start, log, free=free, loss=loss, noise=1e-3)), truth)
    return total


def swing_log(seed: int, kind: str, links: int, rows: int) -> tuple[ist.Model, ist.Motion]:
    """A random pendulum without `kind` of model error, and a log of one that has it."""
    draw = np.random.default_rng(seed)
    base = ist.library.pendulum(links)
    factor = np.exp(0.2 * draw.standard_normal(links))
    model = base.set("link/mass", base.link_mass * factor).set(
        "link/inertia", base.link_inertia * factor[:, None]
    )
    model = model.set("joint/damping", draw.uniform(0.1, 0.4, links))
    t = DT * np.arange(rows)
    torque = commands(draw, t, links)
    acting, made = torque, model
    if kind == "friction":
        made = model.set("joint/friction", np.exp(draw.uniform(np.log(0.03), np.log(0.3), links)))
    if kind == "delay":
        late = DT * np.exp(draw.uniform(np.log(0.3), np.log(5.0)))
        acting = np.stack([np.interp(t - late, t, x) for x in torque.T], axis=1)
    clean = ist.rollout(
        made, ist.State(draw.uniform(-0.5, 0.5, links), np.zeros(links)), acting[:-1], DT
    )
    q, v = np.array(clean.q), np.array(clean.v)
    if kind == "flexibility":  # encoders are in front of springs that give way by up to 0.03 rad
        soft = np.exp(draw.uniform(np.log(0.002), np.log(0.03), links)) / np.abs(torque).max(axis=0)
        q, v = q + soft * torque, v + soft * np.gradient(torque, DT, axis=0)
    q = q + NOISE["joint/position"] * draw.standard_normal(q.shape)
    v = v + NOISE["joint/velocity"] * draw.standard_normal(v.shape)
    return model, ist.Motion(clean.t, q, v, {"joint/control": torque})


def commands(draw: np.random.Generator, t: np.ndarray, links: int) -> np.ndarray:
    """Torques [N·m] that move everything: sums of sines."""
    found = np.zeros((len(t), links))
    for j in range(links):
        for k in range(1, 5):
            w, phase = (
                1.5 * k * (1.0 + 0.1 * draw.standard_normal()),
                draw.uniform(0.0, 2.0 * np.pi),
            )
            found[:, j] += 2.0 * draw.standard_normal() / np.sqrt(k) * np.sin(w * t + phase)
    return found
