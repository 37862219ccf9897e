"""What a motion consists of: time, positions, velocities, signals, and what is said about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
from jaxtyping import Float

from isthmus.entry import check_arguments
from isthmus.errors import BadMotion, BadOption
from isthmus.model.arrays import as_floats, as_leaf
from isthmus.model.state import State
from isthmus.motion.spans import JointList
from isthmus.record import Record
from isthmus.types import AnyArray

CONTROL, FORCE, EXTRA = "joint/control", "link/external_force", "extra/"
"""Signals that act on the mechanism: commands, forces, channels that networks read."""

# to type checkers `Any`: only logs can lack them, and who reads a rollout should not have to ask
Positions: Any = Float[AnyArray, "*batch time nq"] | None
Velocities: Any = Float[AnyArray, "*batch time dof"] | None


@dataclasses.dataclass(frozen=True, eq=False)
class About:
    """What is said about a motion and decides nothing: any two compare equal, so that motions stay alike as pytrees."""

    name: str = ""
    """The file or run it came from."""
    notes: tuple[str, ...] = ()
    """What was found and what was done when it was read, one sentence each."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, About)

    def __hash__(self) -> int:
        return hash(About)


def _array(name: str) -> Callable[[Any], Any]:
    """A converter of lists to arrays; arrays and None stay as they are."""
    return lambda x: x if x is None or hasattr(x, "dtype") else as_floats(name, x)


class AbstractMotion(Record):
    """The arrays of a motion, for the functions that `Motion` offers as methods."""

    t: Float[AnyArray, "*batch time"] = eqx.field(converter=_array("Motion.t"))
    """[s]"""
    q: Positions = eqx.field(converter=_array("Motion.q"))
    """Positions, as `State.q`; None where none were measured."""
    v: Velocities = eqx.field(converter=_array("Motion.v"), default=None)
    """Velocities, as `State.v`; None where none were measured."""
    signals: dict[str, AnyArray] = eqx.field(default_factory=dict)
    """What acted and what was recorded, by name; the same rows as `t`."""
    joints: JointList = eqx.field(static=True, default=())
    """Name and kind of each joint that has coordinates; empty where they are not known."""
    about: About = eqx.field(static=True, default=About())

    def __len__(self) -> int:
        return self.t.shape[-1]

    @property
    def name(self) -> str:
        """The file or run it came from."""
        return self.about.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found and what was done when it was read."""
        return self.about.notes

    @property
    def controls(self) -> AnyArray | None:
        """The commands, `signals["joint/control"]` [N·m or N]; None where there are none."""
        return self.signals.get(CONTROL)

    def __check_init__(self) -> None:
        for name in ("q", "v"):
            shape, want = getattr(getattr(self, name), "shape", None), getattr(self.t, "shape", ())
            if shape is not None and shape[:-1] != want:
                raise BadMotion(
                    f"Motion: {name} has shape {shape} and t {want}; {name} needs a row for each time, {(*want, name)}."
                )

    @check_arguments
    def state(self, row: int) -> State:
        """The state at one row; `state(-1)` is the last one."""
        if not -len(self) <= row < len(self):
            raise BadOption(f"Motion.state: there is no row {row}; the motion has {len(self)}.")
        if self.q is None or self.v is None:
            raise BadMotion(
                f"this motion has no {'positions' if self.q is None else 'velocities'}, so there is no state; "
                "motion.velocities() derives velocities from positions."
            )
        return State(self.q[..., row, :], self.v[..., row, :], time=as_leaf(self.t[..., row]))


M = TypeVar("M", bound=AbstractMotion)


def noted(motion: M, *notes: str, name: str | None = None) -> M:
    """With further notes, or another name."""
    about = About(motion.name if name is None else name, (*motion.notes, *notes))
    return dataclasses.replace(motion, about=about)
