"""The step of a robot, or of a tracker, as C99 for its controller: `step(q, v, torque, q_next, v_next)`."""

from __future__ import annotations

import os
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.model.model import Model, leaf_fields
from isthmus.model.state import Control, State, prescribed_rows
from isthmus.motion.files import coordinate_names, dof_names
from isthmus.native.runtime.to_c import CCode, to_c
from isthmus.native.targets.c.names import identifier, path_name
from isthmus.networks.signals import Signals
from isthmus.simulate.integrate import Integrator, IntegratorLike, integrator_of
from isthmus.simulate.rollout import check_dt, step
from isthmus.simulate.stiffness import warn_if_stiff
from isthmus.simulate.touching import check_contact
from isthmus.tracking.layout import beginning
from isthmus.tracking.step import Belief, Setup
from isthmus.tracking.step import step as update_of
from isthmus.tracking.tracker import Tracker
from isthmus.types import Number

MEMORY_NOTES = {
    "commands": "commands of past steps, the latest first",
    "bristles": "deflection of the bristles of dry friction, as a share of the full one",
    "impulses": "impulses [N·s] of the last step, from which those of this one are sought",
}
UNITS = {
    "revolute": ("rad", "rad/s", "N·m"),
    "prismatic": ("m", "m/s", "N"),
    "spherical": ("quaternion, w first", "rad/s", "N·m"),
    "planar": ("m, rad", "m/s, rad/s", "N, N·m"),
    "free": ("m; quaternion, w first", "m/s, rad/s", "N, N·m"),
}
"""Units of positions, velocities and torques of a joint."""


class After(NamedTuple):
    """What a step gives back."""

    q_next: Any
    v_next: Any
    memory_next: Any


@check_arguments
def export_c(
    model: Model | Tracker,
    path: str | os.PathLike[str] | None = None,
    *,
    dt: Number | None = None,
    name: str | None = None,
    parameters: Literal["baked", "arguments"] = "baked",
    integrator: IntegratorLike = "semi_implicit",
    explicit: bool = False,
    substeps: int = 1,
) -> CCode:
    """Writes one step of `model`, `dt` [s] long, as a C99 function: `path` (`step.c`), its header, a test program.

    `dt` is 1 ms unless given. The function takes `q`, `v`, `torque`; also the motion of prescribed joints, what
    delayed motors and networks remember, channels that networks read, and the time where something depends on it.
    `parameters="arguments"` makes `dt` and all numbers of the model arguments too; `"baked"` makes shorter and faster
    code. The other options are those of `ist.step`. Of a tracker its `update` is written, as it was made: of the
    options, only `name` counts.
    """
    if isinstance(model, Tracker):
        return _tracker(model, path, name, dt)
    dt = 1e-3 if dt is None else dt
    scheme = integrator_of(integrator, explicit, substeps)
    check_dt(model, dt)
    start = State.neutral(model)
    warn_if_stiff(model, start, dt, scheme)
    check_contact(model, dt, scheme)
    advance = stepper(scheme)
    advance.__doc__ = f"one step of {model.name!r}" + (
        f", {float(dt):g} s" if parameters == "baked" else ""
    )
    q, v, torque = example(model)
    given = (q, v, torque, motion_of(model, q), channels_of(model), start.memory, {"time": 0.0})
    free = parameters == "arguments"
    return to_c(
        advance,
        *given,
        dt,
        model,
        path=path,
        name=name or identifier(f"{model.name}_step"),
        static=() if free else (len(given), len(given) + 1),
        names={"now_time": "time"} | (leaf_names(model) if free else {}),
        notes=notes_of(model, start.memory, free),
    )


def stepper(scheme: Integrator) -> Any:
    """The step as a function of flat arguments, in the order that they have in C."""

    def advance(
        q: Any, v: Any, torque: Any, prescribed: Any, extra: Any, memory: Any, now: Any,
        dt: Any, model: Model,
    ) -> After:  # fmt: skip
        control = Control(torque, extra=extra, **prescribed)
        after = step(model, State(q, v, memory, now["time"]), control, dt, integrator=scheme)
        return After(after.q, after.v, after.memory)

    return advance


def example(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A state and torques that leave nothing at zero, for the test program: the same ones every time."""
    with jax.enable_x64(True):
        state = State.random(model, jax.random.key(0), speed=0.5)
    torque = np.linspace(-0.5, 0.5, model.dof) + 0.05
    return np.asarray(state.q), np.asarray(state.v), torque


def motion_of(model: Model, q: np.ndarray) -> dict[str, np.ndarray]:
    """Where prescribed joints are and how they move; empty where there are none."""
    rows_q, rows_v = prescribed_rows(model)
    if not model.prescribed:
        return {}
    still = np.zeros(rows_v.size)
    return {"position": q[rows_q], "velocity": still, "acceleration": still}


def channels_of(model: Model) -> dict[str, np.ndarray]:
    """The channels of a log that networks of the model read."""
    found = {}
    for reading in (r for wired in model.networks for r in wired.plan.readings):
        if reading.name.startswith("extra/"):
            several = reading.text.endswith("]")
            found[reading.name.removeprefix("extra/")] = np.full(
                (reading.size,) if several else (), 0.1
            )
    return found


# trackers ------------------------------------------------------------------------------------------------


class Updated(NamedTuple):
    """What an update of a tracker gives back."""

    q_next: Any
    v_next: Any
    numbers_next: Any
    covariance_next: Any
    average_next: Any
    memory_next: Any
    alarm: Any


def _tracker(tracker: Tracker, path: Any, name: str | None, dt: Number | None) -> CCode:
    """The update of a tracker as a C function."""
    setup = tracker.setup
    model = setup.model
    if dt is not None and dt != setup.dt:
        raise BadOption(
            f"the tracker samples every {setup.dt:g} s; leave dt= out, or make another."
        )

    def update(
        q: Any, v: Any, numbers: Any, covariance: Any, average: Any, torque: Any, prescribed: Any,
        extra: Any, measured: Any, memory: Any, now: Any,
    ) -> Updated:  # fmt: skip
        belief = Belief(q, v, numbers, covariance, average, memory, now["time"])
        control = Control(torque, extra=extra, **prescribed)
        after, alarm = update_of(setup, belief, control, measured)
        return Updated(*after[:-1], alarm)

    update.__doc__ = f"one sample, {setup.dt:g} s, of a tracker of {model.name!r}"
    q, v, torque = example(model)
    start = beginning(setup, State(q, v))
    seen = lambda c: (
        np.asarray(c.read(Signals(), q, v)) + 1e-3 if c.of_state else np.full(c.size, 0.1)
    )
    measured = np.concatenate([seen(c) for c in setup.channels])
    given = (*start[:5], torque, motion_of(model, q), channels_of(model), measured, start.memory)
    return to_c(
        update,
        *given,
        {"time": 0.0},
        path=path,
        name=name or identifier(f"{model.name}_track"),
        names={"now_time": "time"},
        notes=notes_of(model, start.memory, False) | _tracker_notes(setup),
    )


def _tracker_notes(setup: Setup) -> dict[str, str]:
    """What the arguments of a tracker are."""
    parameters = setup.parameters
    numbers = [
        f"{name} [{unit}]" for name, unit in zip(parameters.names, parameters.units, strict=True)
    ]
    if any(not group.direct for group in parameters.groups):
        numbers = ["as the filter has them, inertias by log-Cholesky numbers"]
    seen = [f"{c.text} ({c.size})" for c in setup.channels]
    start = beginning(setup, State.neutral(setup.model))
    first = ", ".join(f"{x:.3g}" for x in np.sqrt(np.diag(start.covariance)))
    return {
        "numbers": f"estimates: {_ordered(numbers)}",
        "covariance": f"of the errors of q, v, numbers; at the beginning diagonal, of these roots: {first}",
        "average": "averaged innovations; at the beginning zeros",
        "measured": f"{', '.join(seen)}, one behind the other; what was not measured is nan",
        "alarm": "0, or the place, from 1, of the measured number whose average is too large",
        "torque": _torque_note(setup.model, _units(setup.model, 2)) + ", since the sample before",
    }


# what the header says ------------------------------------------------------------------------------------


def leaf_names(model: Model) -> dict[str, str]:
    """Names of the model's numbers in C: those of its leaves, and `network_NAME_…`."""
    names = {}
    for path, _ in jax.tree_util.tree_leaves_with_path(model):
        parts = path_name(path)
        for k, wired in enumerate(model.networks):
            if parts.startswith(f"networks_{k}_"):
                parts = parts.replace(f"networks_{k}_", f"network_{wired.name}_", 1)
                break
        names[identifier(f"model_{path_name(path)}")] = identifier(parts)
    return names


def notes_of(model: Model, memory: Any, with_model: bool) -> dict[str, str]:
    """What each argument is, with its unit and the order of its numbers."""
    units = [_units(model, which) for which in range(3)]
    q, v = _ordered(coordinate_names(model)), _ordered(dof_names(model))
    notes = {
        "q": f"positions [{units[0]}]: {q}",
        "v": f"velocities [{units[1]}]: {v}",
        "torque": _torque_note(model, units[2]),
        "time": "[s]",
        "q_next": "positions after the step",
        "v_next": "velocities after the step",
    }
    if model.prescribed:
        moved = ", ".join(model.joint_names[i] for i in model.prescribed)
        for name, which in (("position", "q"), ("velocity", "v"), ("acceleration", "dv/dt")):
            notes[f"prescribed_{name}"] = f"`{which}` of {moved}, whose motion is given"
    for channel in channels_of(model):
        notes[identifier(f"extra_{channel}")] = f"what networks read as extra/{channel}"
    for place, leaf in jax.tree_util.tree_leaves_with_path(memory):
        parts = path_name(place)
        notes[identifier(f"memory_{parts}")] = _memory_note(parts, np.asarray(leaf))
        notes[identifier(f"memory_next_{parts}")] = "the same for the next step"
    if with_model:
        notes["dt"] = "length of the step [s]"
        for field, spec in leaf_fields():
            rows = f", one row for each {spec.rows}" if spec.rows else ""
            notes[identifier(field)] = f"{spec.meaning} [{spec.unit}]{rows}"
    return notes


def _memory_note(parts: str, start: np.ndarray) -> str:
    what = MEMORY_NOTES.get(parts, "kept by networks")
    values = "zeros" if not start.any() else ", ".join(map(repr, start.ravel().tolist()))
    return f"{what}; at the beginning {values}"


def _units(model: Model, which: int) -> str:
    kinds = dict.fromkeys(k for k in model.joint_kinds if k in UNITS)
    return "; ".join(dict.fromkeys(UNITS[kind][which] for kind in kinds)) or "nothing moves"


def _ordered(names: list[str]) -> str:
    return ", ".join(f"[{k}]\N{NO-BREAK SPACE}{name}" for k, name in enumerate(names))


def _torque_note(model: Model, unit: str) -> str:
    note = f"commands [{unit}], in the order of v"
    if not model.position_controlled:
        return note
    names = dof_names(model)
    held = ", ".join(names[k] for k in model.position_controlled)
    return f"{note}; those of {held} are positions [rad, m]"
