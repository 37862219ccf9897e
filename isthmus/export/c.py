"""The step of a robot as C99 for its controller: `step(q, v, torque, q_next, v_next)`."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import jax
import numpy as np

from isthmus.errors import BadOption
from isthmus.model.model import Model, leaf_fields
from isthmus.model.state import Control, State, prescribed_rows
from isthmus.native.c import CCode, to_c
from isthmus.native.c_names import identifier
from isthmus.simulate.integrate import Scheme
from isthmus.simulate.motion_files import coordinate_names, dof_names
from isthmus.simulate.rollout import check_dt, step
from isthmus.simulate.stiffness import warn_if_stiff
from isthmus.types import Number

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


def export_c(
    model: Model,
    path: str | os.PathLike[str] | None = None,
    *,
    dt: Number = 1e-3,
    name: str | None = None,
    parameters: str = "baked",
    integrator: str = "semi_implicit",
    explicit: bool = False,
    substeps: int = 1,
) -> CCode:
    """Writes one step of `model`, `dt` [s] long, as a C99 function: `path` (`step.c`), its header, a test program.

    The function takes `q`, `v`, `torque`; also the motion of prescribed joints, past commands where motors have
    delays, and the time where something depends on it. `parameters="arguments"` makes `dt` and all numbers of
    the model arguments too; `"baked"` makes shorter and faster code. The other options are those of `ist.step`.
    """
    if parameters not in ("baked", "arguments"):
        raise BadOption(f"parameters is {parameters!r}; it can be 'baked' or 'arguments'.")
    scheme = Scheme(integrator, explicit, substeps)
    check_dt(model, dt)
    start = State.neutral(model)
    warn_if_stiff(model, start, dt, scheme)
    advance = stepper(scheme)
    advance.__doc__ = f"one step of {model.name!r}" + (
        f", {float(dt):g} s" if parameters == "baked" else ""
    )
    q, v, torque = example(model)
    given = (q, v, torque, motion_of(model, q), start.memory, {"time": 0.0}, dt, model)
    renamed = {"now_time": "time"} | {
        f"model_{field}": identifier(field) for field, _ in leaf_fields()
    }
    names = renamed if parameters == "arguments" else {"now_time": "time"}
    return to_c(
        advance,
        *given,
        path=path,
        name=name or identifier(f"{model.name}_step"),
        static=() if parameters == "arguments" else (6, 7),
        names=names,
        notes=notes_of(model, parameters == "arguments"),
    )


def stepper(scheme: Scheme) -> Any:
    """The step as a function of flat arguments, in the order that they have in C."""

    def advance(
        q: Any, v: Any, torque: Any, prescribed: Any, memory: Any, now: Any, dt: Any, model: Model
    ) -> After:
        control = Control(torque, **prescribed)
        after = step(
            model,
            State(q, v, memory, now["time"]),
            control,
            dt,
            integrator=scheme.integrator,
            explicit=scheme.explicit,
            substeps=scheme.substeps,
        )
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


# what the header says ------------------------------------------------------------------------------------


def notes_of(model: Model, with_model: bool) -> dict[str, str]:
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
    if model.delay_steps:
        notes["memory_commands"] = (
            "commands of past steps, the latest first; zeros at the beginning"
        )
        notes["memory_next_commands"] = "the same for the next step"
    if with_model:
        notes["dt"] = "length of the step [s]"
        for field, spec in leaf_fields():
            rows = f", one row for each {spec.rows}" if spec.rows else ""
            notes[identifier(field)] = f"{spec.meaning} [{spec.unit}]{rows}"
    return notes


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
