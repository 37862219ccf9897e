"""The filmed pendulum on a support that yields sideways: all numbers by least squares, starts inside.

The support is not filmed: every start of it, as of the angles, is where the model agrees best with 41 frames. For each
point of the search these starts are estimated anew (variable projection); differences over numbers give the slopes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from isthmus.blas import on_one_thread
from isthmus.experiments.pendulum_judge import HALF, SPACING, Film, Found, judge, predicted, rms
from isthmus.experiments.pendulum_markers import Markers
from isthmus.experiments.pendulum_model import made
from isthmus.experiments.run import Settings

SINGLE, DOUBLE = ("frame_time", "weight", "inertia_1", "inertia_2"), ("damping", "friction")
"""Numbers of `made`, and those that both joints have."""
SCALES = (1e-4, 1e-3, 1e-3, 1e-3, 0.1, 0.1, 0.3, 0.1)
"""How far the search moves their logarithms at a time."""
SUPPORT = {"frequency": 20.0, "damping_ratio": 0.3, "support_mass": 10.0}
"""Where the search begins [Hz, 1, kg]."""
MOVES, OFFSETS = 0.3, 1e-3
"""How far it moves the logarithms of these, and the offsets of the angles [rad]."""
EVERY, AHEAD, THIN = 400, 100, 4
"""Frames from start to start; frames that are compared, one in so many."""
NOISE, HUBER = (2e-3, 1e-2), 1.5
"""Of frames that starts come from and of later ones [rad]; beyond so many of these, errors count linearly."""
STEP, TRIALS, LEAST = 0.02, 6, 1e-4
"""Of differences, in scales; points that are tried; friction from which its logarithm begins."""


def on_a_spring(
    films: list[Film], known: Found, settings: Settings
) -> tuple[Found, tuple[str, ...], dict[str, Found]]:
    """All runs but two on a spring; what two more runs, left out, say of the spring; the models they judge."""
    p, offset = fitted(films[:-2], known, settings, sprung=True)
    numbers = {name: (value, np.nan) for name, value in _flat(p).items()}
    part = judge(films[-2:], made(p), known.markers, offset, numbers)
    if len(films) < 6:
        return part, (), {}
    errors, rivals = [], {}
    for name, sprung in (("a rigid support", False), ("a sprung one", True)):
        p, offset = fitted(films[:-4], known, settings, sprung=sprung)
        off = predicted(films[-4:-2], made(p), known.markers, offset, SPACING, True)[1]
        errors.append(rms(off))
        rivals[name] = dataclasses.replace(known, model=made(p), offset=offset)
    said = [" / ".join(f"{x:.4f}" for x in own) for own in errors]
    ratio = float(np.exp(np.mean(np.log(np.array(errors[1]) / errors[0]))))
    return part, (
        f"Fitted without the two runs before the last two, a rigid support predicts these with {said[0]} rad, a sprung "
        f"one with {said[1]} rad: {ratio:.2f} times as much in the mean.",
    ), rivals  # fmt: skip


def fitted(
    films: Sequence[Film], known: Found, settings: Settings, *, sprung: bool
) -> tuple[dict[str, Any], np.ndarray]:
    """Numbers of `made` and offsets (2,) [rad], from `known` ones on."""
    begin = [known.numbers[n][0] for n in (*SINGLE, *(f"{n}[{k}]" for n in DOUBLE for k in (0, 1)))]
    logs = np.log(np.maximum([*begin, *(SUPPORT.values() if sprung else ())], LEAST))
    start = np.concatenate([logs, known.offset])
    scale = np.array([*SCALES, *([MOVES] * len(SUPPORT) if sprung else []), OFFSETS, OFFSETS])
    used = list(films[:1] if settings.quick else films)

    def residuals(y: np.ndarray) -> np.ndarray:
        return _misses(used, *_numbers(start + scale * y), known.markers)

    def slopes(y: np.ndarray) -> np.ndarray:
        here = residuals(y)
        return np.stack([(residuals(y + STEP * e) - here) / STEP for e in np.eye(len(y))], axis=1)

    trials = 2 if settings.quick else TRIALS
    with on_one_thread():
        found = least_squares(
            residuals, np.zeros(len(start)), slopes, loss="huber", f_scale=HUBER, max_nfev=trials
        )
    return _numbers(start + scale * found.x)


def _misses(
    films: list[Film], p: dict[str, Any], offset: np.ndarray, markers: Markers
) -> np.ndarray:
    """Errors of all starts, in units of the noise."""
    off = predicted(films, made(p), markers, offset, EVERY, True, AHEAD)[1][:, ::THIN]
    noise = np.where(np.arange(0, AHEAD + 1, THIN) <= HALF, *NOISE)
    return (off / noise[None, :, None]).ravel()


def _numbers(x: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Numbers of `made` and offsets at a point of the search."""
    values = np.exp(x[:-2]).tolist()
    p: dict[str, Any] = dict(zip(SINGLE, values[:4], strict=True))
    p |= {"damping": values[4:6], "friction": values[6:8]}
    return p | dict(zip(SUPPORT, values[8:], strict=False)), x[-2:]


def _flat(p: dict[str, Any]) -> dict[str, float]:
    """The numbers as the fit of all runs names them."""
    pairs = {f"{n}[{k}]": p[n][k] for n in DOUBLE for k in (0, 1)}
    return {n: x for n, x in p.items() if n not in DOUBLE} | pairs
