"""Every variable of a step that may be recorded, read or corrected: name, shape, unit, meaning, in the step's order.

`signals_of(model)` is the one list; `isthmus info`, `record=` and error messages all read it, and a test compares
it with what a step really publishes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

import numpy as np

from isthmus.errors import UnknownSignal, did_you_mean
from isthmus.model import address
from isthmus.model.joints import JOINTS
from isthmus.model.leaves import LeafSpec
from isthmus.model.model import Model, leaf_fields
from isthmus.types import AnyArray

SignalSpec = LeafSpec
"""A signal is described as a leaf is."""

STATE = (
    SignalSpec("time", None, (), "s", "time at the beginning of the step"),
    SignalSpec("joint/position", "coordinate", (), "rad|m", "`q`"),
    SignalSpec("joint/velocity", "dof", (), "rad/s|m/s", "`v`"),
)
COMMAND = SignalSpec("joint/control", "dof", (), "N·m|N", "command, as given")
QUANTITIES = (
    COMMAND,
    SignalSpec("joint/motor_torque", "dof", (), "N·m|N", "what the motors make of the command"),
    SignalSpec(
        "joint/transform", "joint", (6, 6), "1|m",
        "motion from the parent's to the link's frame; corrected by 6 numbers, a rotation vector and a translation",
    ),
    SignalSpec("link/velocity", "link", (6,), "rad/s, m/s", "in the link's frame, angular first"),
    SignalSpec("link/pose", "link", (7,), "m, 1", "position and quaternion in the world"),
    SignalSpec("point/position", "point", (3,), "m", "in the world"),
    SignalSpec("point/velocity", "point", (3,), "m/s", "in the world"),
    SignalSpec("joint/passive_torque", "dof", (), "N·m|N", "springs, friction, cogging, offset"),
    SignalSpec("joint/limit_torque", "dof", (), "N·m|N", "stops at the ends of travel"),
    SignalSpec("joint/torque", "dof", (), "N·m|N", "motor, passive and limit torque together"),
    SignalSpec("contact/point", "contact", (3,), "m", "of the body, in the world"),
    SignalSpec("contact/normal", "contact", (3,), "1", "of the ground, or from the other body, in the world"),
    SignalSpec("contact/depth", "contact", (), "m", "of the point in what it touches; negative: above it"),
    SignalSpec("contact/velocity", "contact", (3,), "m/s", "of the point against what it touches, in the world"),
    SignalSpec("contact/normal_force", "contact", (), "N", "of impulses: mean over the step"),
    SignalSpec("contact/friction_force", "contact", (3,), "N", "in the world; of impulses: mean over the step"),
    SignalSpec("link/external_force", "link", (6,), "N·m, N", "in the link's frame, moment first"),
    SignalSpec(
        "link/spatial_inertia", "link", (6, 6), "kg·m²|kg·m|kg",
        "about the origin of the link's frame; corrected by 21 numbers, the lower triangle row by row",
    ),
    SignalSpec("link/bias_acceleration", "link", (6,), "rad/s², m/s²", "at zero joint acceleration"),
    SignalSpec("link/bias_force", "link", (6,), "N·m, N", "`v ×* I v` less the external force"),
    SignalSpec(
        "link/articulated_inertia", "link", (6, 6), "kg·m²|kg·m|kg",
        "of the link and what hangs from it; corrected by 21 numbers, the lower triangle row by row",
    ),
    SignalSpec("link/articulated_bias_force", "link", (6,), "N·m, N", "of the link and what hangs from it"),
    SignalSpec(
        "joint/articulated_inertia", "pair", (), "kg·m²|kg",
        "`D` of the articulated body algorithm, with armature and what an implicit step adds; lower triangle",
    ),
    SignalSpec(
        "joint/articulated_torque", "dof", (), "N·m|N",
        "`u` of the articulated body algorithm: torque less what the articulated bias force takes",
    ),
    SignalSpec("link/acceleration", "link", (6,), "rad/s², m/s²", "in the link's frame, gravity taken off"),
    SignalSpec("joint/acceleration", "dof", (), "rad/s²|m/s²", "`dv/dt`"),
    SignalSpec("contact/time", "contact", (), "s", "of an impact within the step; zero: there is none"),
    SignalSpec("contact/bias", "contact", (), "m/s", "speed that impulses take off: restitution, less what lifts out"),
    SignalSpec("contact/residual", None, (), "m/s", "by which velocities after the impulses miss their conditions"),
    SignalSpec("contact/impulse", "contact", (3,), "N·s", "in the world"),
    SignalSpec("joint/new_velocity", "dof", (), "rad/s|m/s", "`v` at the end of the step"),
    SignalSpec("joint/new_position", "coordinate", (), "rad|m", "`q` at the end of the step"),
)  # fmt: skip


INWARDS = (
    "link/articulated_inertia",
    "link/articulated_bias_force",
    "joint/articulated_inertia",
    "joint/articulated_torque",
)
OUTWARDS = ("link/acceleration",)
"""Signals that the passes of the articulated body algorithm publish level by level."""

PREVIOUS = "previous/"
"""Prefix of a signal's name for its value in the last step."""


@dataclasses.dataclass(frozen=True)
class Selection:
    """Some rows of a signal, as a user named them."""

    text: str
    name: str
    rows: tuple[int, ...] | None
    single: bool

    def pick(self, value: AnyArray) -> AnyArray:
        """Those rows of the whole array; a single row comes without its axis."""
        if self.rows is None:
            return value
        return value[self.rows[0]] if self.single else value[np.array(self.rows)]


def signals_of(model: Model, extra: tuple[str, ...] = ()) -> list[SignalSpec]:
    """All signals of this model in the order in which a step publishes them."""
    given = [SignalSpec(f"extra/{name}", None, (), "?", "channel of the log") for name in extra]
    given += [_previous(name) for name in sorted({n for w in model.networks for n in w.previous})]
    leaves = [spec for _, spec in leaf_fields() if count_rows(model, spec) != 0]
    step = [spec for spec in QUANTITIES if spec is not COMMAND and _published(model, spec)]
    return [*STATE, COMMAND, *given, *leaves, *step]


def _previous(name: str) -> SignalSpec:
    """The last step's value of a signal, as a signal of this step."""
    spec = {s.name: s for s in (*STATE, *(s for _, s in leaf_fields()), *QUANTITIES)}[name]
    return dataclasses.replace(spec, name=PREVIOUS + name, meaning=f"{spec.meaning}, one step ago")


def count_rows(model: Model, spec: SignalSpec) -> int | None:
    """How many rows the signal has for this model; None: it has no rows."""
    return None if spec.rows is None else sum(len(r) for r in model.rows(spec.rows).values())


def shape_of(model: Model, spec: SignalSpec) -> tuple[int, ...]:
    """Shape of the whole signal."""
    rows = count_rows(model, spec)
    return spec.shape if rows is None else (rows, *spec.shape)


def select(model: Model, text: str, extra: tuple[str, ...] = ()) -> Selection:
    """`joint/torque`, `joint/elbow/torque`, `joint/torque[elbow]`, `link/*/pose` … as rows of a signal."""
    known = {spec.name: spec for spec in signals_of(model, extra)}
    if text in known:
        return Selection(text, text, None, False)
    before = PREVIOUS if text.startswith(PREVIOUS) else ""
    name, pattern = address.parse(text.removeprefix(before))
    name = before + name
    if name not in known or pattern is None:
        raise UnknownSignal(f"no signal is called {text!r}.{did_you_mean(name, known)}")
    names = model.rows(known[name].rows)
    rows = address.rows_of(text, pattern, names)
    return Selection(text, name, tuple(rows), address.picks_one(pattern, names) and len(rows) == 1)


def _published(model: Model, spec: SignalSpec) -> bool:
    if spec.rows == "point":
        return bool(model.point_names)
    if spec.name.startswith("contact/"):
        only_impulses = spec.name.rsplit("/", 1)[-1] in ("time", "bias", "residual", "impulse")
        return ("impulse" in model.contact_kinds) if only_impulses else bool(model.contact_kinds)
    shared = any(wired.plan.couples_joints for wired in model.networks)
    return not ((model.mimics or shared) and spec.name in (*INWARDS, *OUTWARDS))


def unit_for(unit: str, kinds: Iterable[str]) -> str:
    """A unit such as `rad|m` for joints of these kinds: `rad` if all turn, `m` if all slide, else `rad|m`."""
    return _unit_of(unit, {way for kind in kinds for way in JOINTS[kind].units})


def _unit_of(unit: str, ways: set[str]) -> str:
    """A unit such as `rad|m` of coordinates that move in these ways, `rad` or `m` or both."""
    turning, _, sliding = unit.partition("|")
    if not sliding or len(ways) != 1:
        return unit
    return turning if "rad" in ways else sliding


def unit_at(model: Model, name: str, unit: str) -> str:
    """A unit such as `rad|m` for one number: the joint in its name decides, `joint/elbow/damping`.

    In `joint/trunk/position[2]`, the third degree of freedom of that joint does.
    """
    part = name.split("/")
    if len(part) < 3 or part[1] not in model.joint_names:
        return unit
    ways = JOINTS[model.joint_kinds[model.joint(part[1])]].units
    row = re.search(r"\[(\d+)\]$", name)
    return _unit_of(unit, {ways[int(row[1])]} if row and int(row[1]) < len(ways) else {*ways})
