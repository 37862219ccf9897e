"""Faults of the logs of a problem, found before anything is compiled. A rule is a function that yields sentences."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Sequence

import jax
import numpy as np

from isthmus.dynamics.actuators import has_motors
from isthmus.errors import BadLog, DataWarning
from isthmus.identify.logs.beyond import limited_joints, warn_beyond_effort, warn_beyond_stops
from isthmus.identify.logs.log import Log, differentiated, target
from isthmus.identify.parameters.parameters import Parameters
from isthmus.losses.residuals import Channel
from isthmus.model.model import Model
from isthmus.motion.motion import CONTROL, Motion

UNITS = {
    180.0 / np.pi: "velocities seem to be in degrees a second, positions in radians",
    np.pi / 180.0: "positions seem to be in degrees, velocities in radians a second",
    30.0 / np.pi: "velocities seem to be in turns a minute",
    1e3: "time seems to be in milliseconds, or velocities in millimetres a second",
    1e-3: "positions seem to be in millimetres",
}
"""Ratio of velocities to rates of change of positions -> the likely fault."""
MOTORS = ("/effort", "/gear", "/motor_constant")
"""Free numbers with which the torque of a command changes, or its bound."""
LONGEST_STEP = 0.5
"""Longest time between two rows [s]."""


@dataclasses.dataclass(frozen=True)
class Compared:
    """What the rules look at."""

    logs: Sequence[Log]
    channels: Sequence[Channel]
    """Signals that are compared."""
    parameters: Parameters


def check_logs(
    logs: Sequence[Log], channels: Sequence[Channel], parameters: Parameters, *, simulated: bool
) -> None:
    """Refuses logs that cannot be fitted; all faults at once."""
    compared = Compared(logs, channels, parameters)
    faults = [fault for rule in RULES for fault in rule(compared)]
    if faults:
        raise BadLog(" ".join(dict.fromkeys(faults)))
    if not any(name.endswith(("/lower", "/upper")) for name in parameters.names):
        warn_beyond_stops(parameters.template, logs)
    if simulated and not any(name.endswith(MOTORS) for name in parameters.names):
        warn_beyond_effort(parameters.template, logs)


def check_heldout(fitted: Sequence[Motion], heldout: Sequence[Motion]) -> None:
    """Refuses to judge a fit by a motion that it has seen."""
    for k, motion in enumerate(heldout):
        for n, seen in enumerate(fitted):
            if motion is seen or _equal(motion, seen):
                raise BadLog(
                    f"held-out motion {k + 1} is fitted too, as motion {n + 1}: its error would say nothing about "
                    "new motions. Hold out another one, or a part: motion.split(share=0.8)."
                )


def _equal(a: Motion, b: Motion) -> bool:
    """Whether two motions hold the same numbers."""
    one, other = jax.tree.leaves(a), jax.tree.leaves(b)
    return len(one) == len(other) and all(
        np.array_equal(x, y, equal_nan=True) for x, y in zip(one, other, strict=True)
    )


def warn_without_commands(model: Model, logs: Sequence[Log]) -> None:
    """Warns of logs without commands of a model with motors: their torque counts as zero."""
    silent = [log.name for log in logs if log.control.torque is None]
    if silent and has_motors(model) and np.any(model.joint_effort):
        command = "a position of 0" if model.position_controlled else "no torque"
        warnings.warn(
            f"{', '.join(silent)}: there is no {CONTROL!r}, so the motors of {model.name!r} are taken to be commanded "
            f"{command}; add what they were commanded as motion.signals[{CONTROL!r}] (zeros, if nothing).",
            DataWarning,
            stacklevel=4,
        )
    driven = {*model.position_controlled, *(k for k in model.saturated if model.joint_effort[k])}
    for log in logs if np.ndim(model.joint_effort) == 1 else ():
        logged = np.isfinite(log.signals.get(CONTROL, np.zeros((1, model.dof))))
        without = {*np.flatnonzero(~np.any(logged, axis=0)).tolist()}
        rows = model.rows("dof").items()
        if idle := [joint for joint, own in rows if driven & without & {*own}]:
            warnings.warn(
                f"{log.name}: {CONTROL!r} has no column for {', '.join(map(repr, idle[:6]))}, so these motors are "
                "taken to be commanded 0; add what they were commanded (zeros, if nothing).",
                DataWarning,
                stacklevel=4,
            )


def rows_are_close_together(compared: Compared) -> Iterator[str]:
    for log in compared.logs:
        if log.dt > LONGEST_STEP:
            yield f"rows of {log.name} are {log.dt:g} s apart: is its time in milliseconds?"


def something_moves(compared: Compared) -> Iterator[str]:
    for c in compared.channels:
        rows = [target(compared.parameters.template, log, c) for log in compared.logs]
        seen = np.concatenate(rows)
        if not np.any(np.isfinite(seen)):
            yield f"{c.text!r} was never measured: every row is nan."
        elif all(_still(x) for x in rows):
            yield f"{c.text!r} is constant in every run, so it carries no information: was the right column read?"


def _still(x: np.ndarray) -> bool:
    known = [column[np.isfinite(column)] for column in x.T]
    return all(not len(column) or np.ptp(column) <= 1e-12 for column in known)


def there_are_more_data_than_free_numbers(compared: Compared) -> Iterator[str]:
    count = sum(
        int(np.isfinite(target(compared.parameters.template, log, c)[1:]).sum())
        for c in compared.channels
        for log in compared.logs
    )
    if count <= compared.parameters.size and not np.all(compared.parameters.prior[1] > 0.0):
        yield (
            f"the motions are too short: {count} measured numbers for {compared.parameters.size} free ones. "
            "Record more, or free less."
        )


def velocities_are_rates_of_positions(compared: Compared) -> Iterator[str]:
    for log in compared.logs:
        ratio = _ratio(compared.parameters.template, log)
        for factor, meaning in UNITS.items():
            if ratio is not None and abs(ratio / factor - 1.0) < 0.1:
                yield f"{log.name}: velocities are {ratio:.3g} times the rate of change of positions: {meaning}."


def _ratio(model: Model, log: Log) -> float | None:
    """Velocities over rates of change of positions, where the two clearly belong together."""
    if not all(log.measured) or len(log) < 10:
        return None
    rate, v = differentiated(model, log.start_q, log.dt).ravel(), log.v.ravel()
    known = np.isfinite(rate) & np.isfinite(v)
    rate, v = rate[known], v[known]
    size = np.linalg.norm(rate) * np.linalg.norm(v)
    if size == 0.0 or abs(rate @ v) < 0.9 * size:
        return None
    return float(rate @ v / (rate @ rate))


def positions_are_within_limits(compared: Compared) -> Iterator[str]:
    model = compared.parameters.template
    for log in compared.logs:
        for name, dof, column in limited_joints(model) if log.measured[0] else ():
            reach = max(abs(float(model.joint_lower[dof])), abs(float(model.joint_upper[dof])))
            seen = np.nanmax(np.abs(log.q[:, column]), initial=0.0)
            if np.isfinite(reach) and seen > 5.0 * reach:
                yield (
                    f"{log.name}: joint {name!r} reaches {seen:.3g}, but its end of travel is {reach:.3g}: "
                    "are positions in degrees or millimetres?"
                )


RULES = (
    rows_are_close_together,
    something_moves,
    there_are_more_data_than_free_numbers,
    velocities_are_rates_of_positions,
    positions_are_within_limits,
)
