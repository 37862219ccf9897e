"""The loss that a study is begun with: what is compared, and over which stretches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus.model.model import Model
from isthmus.motion.motion import CONTROL, Motion
from isthmus.study.begin_noise import Noise, noise_lines, noises, scatter, usual_range

LOSSES = ("windows", "multiple_shooting", "one_step", "whole_run")
"""Kinds of losses, to choose from."""
WINDOW = 0.5
"""Length of the windows that are suggested [s]."""
STEPS = 50
"""How many rows they have where no log could be read."""
TORQUE = "joint/motor_torque"
FILTERED = 1e-6
"""Of the range of positions: no sensor scatters less, so that they were filtered after the motion."""


def loss_text(model: Model, motions: Sequence[Motion]) -> str:
    """The part `[loss]` of a study, with comments."""
    if compares_torques(model, motions):
        return _torque_loss(motions)
    steps, dt = _window(motions)
    kinds = noises(model, motions)
    shooting, why, reasons = _starts(motions, kinds, steps * dt)
    kind = "multiple_shooting" if shooting else "windows"
    others = ", ".join(k for k in LOSSES if k != kind)
    if _has_every_torque(model, motions):
        others += "; or torque (no signals, no noise), if joint/control holds measured torques, not only commands"
    return "\n".join(
        [
            "# What is compared, over which stretches (docs/identify.md)",
            *reasons,
            "[loss]",
            f'kind = "{kind}"  # {why}; or {others}',
            f"steps = {steps}  # {steps * dt:.3g} s",
            'signals = ["joint/position"]',
            *noise_lines(kinds),
            "# huber = 3.0  # beyond so many deviations, differences count less",
        ]
    )


def _starts(
    motions: Sequence[Motion], kinds: Sequence[Noise], span: float
) -> tuple[bool, str, list[str]]:
    """Whether windows of `span` [s] need free starts, why, and comments with the estimate behind that.

    A velocity that is measured with an error moves the end of a window by that error times its length, and this bias is
    the same in all rows of a window: beyond the noise of the positions, free starts are better.
    """
    if any(m.v is None for m in motions):
        return True, "velocities were not measured: starts are free", []
    known = [k for k in kinds if k.velocity > 0.0 and k.position > 0.0]
    if not known:
        return False, "each window starts as measured", []
    worst = max(known, key=lambda k: k.velocity * span / k.position)
    off, unit = worst.velocity * span, worst.unit
    shooting = off > worst.position
    than = "more" if shooting else "less"
    ending = ", so that starts as measured would bias estimates." if shooting else "."
    estimate = [
        f"# The noise of the velocities, about {worst.velocity:.2g} {unit}/s, moves the end of a window by {off:.2g}",
        f"# {unit}: {than} than the noise of the positions, {worst.position:.2g} {unit}{ending}",
    ]
    why = "velocities are noisy: starts are free" if shooting else "each window starts as measured"
    return shooting, why, estimate


def _torque_loss(motions: Sequence[Motion]) -> str:
    """The part of the loss where torques are compared."""
    lines = ["# What is compared (docs/identify.md)", "[loss]"]
    kind = 'kind = "torque"  # torques that the motion needs, against measured ones; or windows, multiple_shooting …'
    if not _has_torques(motions):
        lines += [
            "# Positions look filtered, so that joint/control is taken for measured torques. If it only holds what was",
            f'# commanded: kind = "windows", with steps = {_window(motions)[0]}.',
        ]
    return "\n".join([*lines, kind])


def _window(motions: Sequence[Motion]) -> tuple[int, float]:
    """Rows of the windows that are suggested, and the time between two [s]."""
    rows = [np.diff(np.asarray(m.t)) for m in motions]
    dt = float(np.median(np.concatenate(rows))) if rows else WINDOW / STEPS
    return max(5, round(WINDOW / dt)), dt


def compares_torques(model: Model, motions: Sequence[Motion]) -> bool:
    """Whether whole inertias can be found by inverse dynamics: a mass alone, with a wrong inertia held, is biased.

    Columns such as `tau_1` count as commands; beside positions that were filtered they were measured, too.
    """
    if _has_torques(motions):
        return True
    return _has_every_torque(model, motions) and scatter(motions) < FILTERED * usual_range(motions)


def _has_torques(motions: Sequence[Motion]) -> bool:
    """Whether there are logs, and all hold measured torques."""
    return bool(motions) and all(TORQUE in (m.signals or {}) for m in motions)


def _has_every_torque(model: Model, motions: Sequence[Motion]) -> bool:
    """Whether the logs hold position, velocity and a command that changes of every joint of a fixed robot."""
    if model.nq != model.dof or not motions:
        return False
    commands = [
        (m.signals or {}).get(CONTROL) for m in motions if m.v is not None and m.q is not None
    ]
    return len(commands) == len(motions) and all(
        u is not None and bool(np.all(np.nanstd(np.asarray(u), axis=0) > 0.0)) for u in commands
    )
