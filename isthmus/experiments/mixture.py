"""`mixture` (Real2Sim, section IV): three kernels over the lengths of a three-link pendulum, as samples arrive.

The paper gives neither the rate of Adam nor when samples arrive: the rate is 0.02 here, and all of them have arrived
from epoch 0, 55, 110 or 220 on. The kernels' widths stand beside those of the true posterior, `ist.posterior`.
"""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np

import isthmus as ist
from isthmus.errors import FitWarning
from isthmus.experiments.mixture_figures import draw_means
from isthmus.experiments.run import Result, Settings, Table
from isthmus.phases import in_turn

LINKS, RANGE = 3, (0.4, 1.6)
"""Lengths are between these [m]."""
NOISE, DT, STEPS = 0.01, 0.02, 25
"""Of the angles [rad]; time step [s] and number of steps of each motion."""
MOTIONS = 8
"""A motion, from a known start, is a sample that arrives."""
HUBER = 1.5
ARRIVED = (0, 55, 110, 220)
"""Epochs from which on all samples have arrived."""
CLOSE = 0.05
"""The mean of the mixture is at the truth within so many metres."""
PAPER = 120


@dataclasses.dataclass(frozen=True)
class Learned:
    """One mixture."""

    error: float
    """Of the mean of the mixture at the end [m], of the worst length."""
    epoch: int | None
    """After which the mean stays close to the truth."""
    width: float
    """Root mean square of the kernels' widths [m]."""
    curve: np.ndarray
    """Error of each length after each epoch [m]."""


def study(settings: Settings) -> Result:
    """Mixtures for several truths and times of arrival, and the posterior of each."""
    seeds = 1 if settings.quick else int(settings.option("seeds", 10))
    epochs = 12 if settings.quick else int(settings.option("epochs", 400))
    arrivals = ARRIVED[:2] if settings.quick else ARRIVED
    found: dict[int, list[Learned]] = {arrived: [] for arrived in arrivals}
    widths = []
    first: ist.Problem | None = None
    for k in in_turn(range(seeds), "truth"):
        truth, problem = make_problem([settings.seed, k])
        if first is None:
            first = problem
        vars(problem)["compiled"] = first.compiled  # the same windows of the same model
        for arrived in arrivals:
            method = ist.Mixture(
                rate=0.02, epochs=epochs, arrived=arrived, seed=k, batch=8, samples=200
            )
            found[arrived].append(learned(problem, method, truth))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            widths.append(float(np.sqrt(np.mean(np.square(ist.posterior(problem).deviation)))))
        settings.say(f"truth {k + 1}: {', '.join(f'{x[-1].error:.3f} m' for x in found.values())}")
    numbers = {
        "errors": {str(a): [x.error for x in own] for a, own in found.items()},
        "epochs": {str(a): [x.epoch for x in own] for a, own in found.items()},
        "widths": {str(a): [x.width for x in own] for a, own in found.items()},
        "posterior": widths,
    }  # fmt: skip
    figures = {"means": draw_means({a: [x.curve for x in own] for a, own in found.items()}, CLOSE)}
    note = (
        "Nothing in the loss of the mixture asks for the width that the data leave open: its kernels are wider "
        f"than the posterior, {np.median(widths):.4f} m."
    )
    return Result((table(found, widths),), numbers, figures, (note,))


def make_problem(seed: list[int]) -> tuple[np.ndarray, ist.Problem]:
    """Lengths of the range, and noisy swings of a pendulum that has them."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(RANGE[0] + 0.2, RANGE[1] - 0.2, LINKS)
    model, swinging = ist.library.pendulum(LINKS), ist.library.pendulum(LINKS)
    for k, length in enumerate(truth):
        swinging = ist.stretch(swinging, f"rod_{k + 1}", float(length))
    starts = ist.State(rng.uniform(-1.0, 1.0, (MOTIONS, LINKS)), np.zeros((MOTIONS, LINKS)))
    swings = ist.rollout_many(swinging, starts, None, DT, STEPS)
    q = np.asarray(swings.q)
    noise = NOISE * rng.standard_normal(q.shape)
    noise[:, 0] = 0.0
    noisy = dataclasses.replace(swings, q=q + noise, v=np.asarray(swings.v))
    free = [ist.Free(f"stretch/rod_{k + 1}", *RANGE) for k in range(LINKS)]
    problem = ist.Problem(
        model, noisy, free=free, loss=ist.Windows(STEPS), noise=NOISE, huber=HUBER
    )
    return truth, problem


def learned(problem: ist.Problem, method: ist.Mixture, truth: np.ndarray) -> Learned:
    """The mixture that a method learns, judged by the truth."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        found = ist.posterior(problem, method)
    curve = np.abs(found.state["history"] * problem.parameters.scale - truth)
    far = np.flatnonzero(curve.max(axis=1) >= CLOSE)
    epoch = int(far[-1]) + 1 if len(far) else 0
    k, n = method.kernels, len(truth)
    logits, flat = found.state["kernels"][:k], found.state["kernels"][k + k * n :]
    width = np.exp(flat).reshape(k, n) * problem.parameters.scale
    share = np.exp(logits - logits.max())
    rms = float(np.sqrt(np.average(np.square(width).mean(axis=1), weights=share)))
    return Learned(float(curve[-1].max()), epoch if epoch < len(curve) else None, rms, curve)


def table(found: dict[int, list[Learned]], widths: list[float]) -> Table:
    """How many means came close, after how many epochs, and how wide the kernels are."""
    rows = []
    for arrived, own in found.items():
        epochs = [x.epoch for x in own if x.epoch is not None]
        close = sum(x.error < CLOSE for x in own)
        rows.append((
            str(arrived), f"{close} of {len(own)}", f"{np.median(epochs):.0f}" if epochs else "never", f"about {PAPER}",
            f"{np.median([x.width for x in own]):.3f} m", f"{np.median(widths):.4f} m",
        ))  # fmt: skip
    columns = (
        "all data from epoch", f"mean within {100 * CLOSE:.0f} cm", "after epochs (median)", "paper",
        "width of kernels", "width of posterior",
    )  # fmt: skip
    return Table("Three kernels over three lengths, Adam at rate 0.02", columns, tuple(rows))
