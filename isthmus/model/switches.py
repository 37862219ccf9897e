"""Leaves that act only where a static field of the model switches them on: which rows are off, and their refusal."""

from __future__ import annotations

import functools

import numpy as np

from isthmus.errors import BadModel
from isthmus.model.arrays import is_traced
from isthmus.model.leaves import SWITCHES, Switch
from isthmus.model.model import Model


def rows_off(model: Model, switch: Switch) -> np.ndarray:
    """Degrees of freedom for which the switch is off: one boolean for each."""
    return _without(getattr(model, switch.field), model.dof)


@functools.cache
def _without(on: tuple[int, ...] | int, dof: int) -> np.ndarray:
    """Which of `dof` rows are not among `on`; `on` as a number switches all rows or none."""
    off = np.full(dof, not on) if isinstance(on, int) else ~np.isin(np.arange(dof), on)
    off.setflags(write=False)  # all callers share it
    return off


_FIELDS = [(name, name.replace("/", "_"), switch) for name, switch in SWITCHES.items()]
"""Name and field of each leaf with a switch."""


@functools.cache
def _all_idle(idle: float, dof: int) -> bytes:
    """What a leaf consists of where none of its numbers acts."""
    return np.full(dof, idle).tobytes()


def row_name(model: Model, name: str, row: int) -> str:
    """The address of one row of a leaf with a number for each degree of freedom: `joint/elbow/kp`."""
    family, quantity = name.split("/")
    joint = next(joint for joint, rows in model.rows("dof").items() if row in rows)
    return f"{family}/{joint}/{quantity}"


def refuse_idle_numbers(model: Model) -> None:
    """Refuses numbers of leaves that are switched off, where `eqx.tree_at` can put them without effect."""
    own, dof = vars(model), model.dof
    for name, field, switch in _FIELDS:
        value = own[field]
        if isinstance(value, np.ndarray) and value.tobytes() == _all_idle(switch.idle, dof):
            continue  # the usual case, and quick
        off = _without(own[switch.field], dof)
        if is_traced(value) or not off.any():
            continue
        worlds = np.reshape(np.asarray(value), (-1, dof))
        if (found := off & np.any(worlds != switch.idle, axis=0)).any():
            row = int(np.argmax(found))
            where = row_name(model, name, row)
            raise BadModel(
                f"{where!r} is {worlds[0, row]:g}, but this model does not use the number ({switch.off}), "
                f"so it would have no effect: change it by model.set({where!r}, ...), which switches it on."
            )
