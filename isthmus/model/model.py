"""`Model`: every physical number of a mechanism as a leaf, its topology as static fields.

One pytree is the whole simulator: `jax.grad` with respect to a model gives the derivative by every number in it.
Leaves are NumPy float64 arrays until they are traced. Quaternions and axes are normalised in use, so any leaf
may be moved and the model stays valid.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from isthmus.errors import BadModel, BadShape, UnknownName, did_you_mean
from isthmus.model import address
from isthmus.model.arrays import as_leaf, is_traced, replaced
from isthmus.model.joints import JOINTS, JointKind
from isthmus.model.layout import Layout, layout_of
from isthmus.model.leaves import DELAY_STEPS, SWITCHES, LeafSpec, Switch, faults_of_leaf
from isthmus.model.source import SourceFile
from isthmus.types import AnyArray, Number


def _leaf(name: str, rows: str | None, shape: tuple[int, ...], unit: str, meaning: str) -> Any:
    spec = LeafSpec(name, rows, shape, unit, meaning)
    return eqx.field(converter=as_leaf, metadata={"leaf": spec})


def _dof_leaf(quantity: str, unit: str, meaning: str) -> Any:
    """A leaf of the joints with one number for each degree of freedom."""
    return _leaf(f"joint/{quantity}", "dof", (), unit, meaning)


PerDof = Float[AnyArray, " dof"]


class Model(eqx.Module):
    """A mechanism, ready to be simulated. Made by `ist.load`, `ist.Builder` or `ist.library`."""

    name: str = eqx.field(static=True)
    link_names: tuple[str, ...] = eqx.field(static=True)
    joint_names: tuple[str, ...] = eqx.field(static=True)
    """Joint `i` carries link `i`."""
    joint_kinds: tuple[str, ...] = eqx.field(static=True)
    parents: tuple[int, ...] = eqx.field(static=True)
    """The link that joint `i` hangs from; −1: the world. Always smaller than `i`."""
    mimics: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """Joints that follow another one: (joint, source)."""
    prescribed: tuple[int, ...] = eqx.field(static=True)
    """Joints whose motion comes with the controls."""
    limited: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom with ends of travel."""
    saturated: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose motor torque is bounded."""
    position_controlled: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose command is a position, for a PD controller."""
    delay_steps: int = eqx.field(static=True)
    """How many past commands are kept; 0: motors act at once."""
    current_driven: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose motors have a motor constant."""
    biased: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom with a torque offset."""
    sticking: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom with stiction."""
    load_rubbing: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose dry friction grows with the motor torque."""
    cogging: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom whose torque ripples with the position."""
    point_names: tuple[str, ...] = eqx.field(static=True)
    point_links: tuple[int, ...] = eqx.field(static=True)
    shape_names: tuple[str, ...] = eqx.field(static=True)
    shape_kinds: tuple[str, ...] = eqx.field(static=True)
    shape_links: tuple[int, ...] = eqx.field(static=True)
    shape_spans: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """Rows of `shape_points` that each shape owns."""

    gravity: Float[AnyArray, "3"] = _leaf(
        "gravity", None, (3,), "m/s²", "acceleration of free fall"
    )
    link_mass: Float[AnyArray, " links"] = _leaf("link/mass", "link", (), "kg", "mass")
    link_com: Float[AnyArray, "links 3"] = _leaf(
        "link/com", "link", (3,), "m", "centre of mass in the link's frame"
    )
    link_inertia: Float[AnyArray, "links 6"] = _leaf(
        "link/inertia", "link", (6,), "kg·m²", "xx yy zz xy xz yz about the centre of mass"
    )
    joint_origin: Float[AnyArray, "links 3"] = _leaf(
        "joint/origin", "joint", (3,), "m", "origin of the joint in the parent's frame"
    )
    joint_orientation: Float[AnyArray, "links 4"] = _leaf(
        "joint/orientation", "joint", (4,), "1", "quaternion of the joint in the parent's frame"
    )
    joint_axis: Float[AnyArray, "links 3"] = _leaf(
        "joint/axis", "joint", (3,), "1", "direction of motion, or normal of the plane"
    )
    joint_armature: PerDof = _dof_leaf("armature", "kg·m²|kg", "reflected inertia of the rotor")
    joint_stiffness: PerDof = _dof_leaf(
        "stiffness", "N·m/rad|N/m", "of a spring towards the rest position"
    )
    joint_rest_position: Float[AnyArray, " nq"] = _leaf(
        "joint/rest_position", "coordinate", (), "rad|m", "where that spring is slack, as `q`"
    )
    joint_damping: PerDof = _dof_leaf("damping", "N·m·s/rad|N·s/m", "viscous friction")
    joint_friction: PerDof = _dof_leaf("friction", "N·m|N", "dry friction")
    joint_friction_speed: PerDof = _dof_leaf(
        "friction_speed", "rad/s|m/s", "speed within which dry friction is smoothed"
    )
    joint_stiction: PerDof = _dof_leaf(
        "stiction", "N·m|N", "by how much dry friction at rest exceeds that of sliding"
    )
    joint_stiction_speed: PerDof = _dof_leaf(
        "stiction_speed", "rad/s|m/s", "speed at which stiction has fallen by the factor e"
    )
    joint_load_friction: PerDof = _dof_leaf(
        "load_friction", "1", "dry friction for each N·m of the motor torque"
    )
    joint_torque_offset: PerDof = _dof_leaf(
        "torque_offset", "N·m|N", "constant part of the motor torque that moves nothing"
    )
    joint_cogging_sin: PerDof = _dof_leaf(
        "cogging_sin", "N·m|N", "torque that follows the sine of the position"
    )
    joint_cogging_cos: PerDof = _dof_leaf(
        "cogging_cos", "N·m|N", "torque that follows the cosine of the position"
    )
    joint_cogging_periods: PerDof = _dof_leaf(
        "cogging_periods", "1|1/m", "periods of that sine and cosine in a turn, or in a metre"
    )
    joint_lower: PerDof = _dof_leaf("lower", "rad|m", "lower end of travel")
    joint_upper: PerDof = _dof_leaf("upper", "rad|m", "upper end of travel")
    joint_limit_stiffness: PerDof = _dof_leaf(
        "limit_stiffness", "N·m/rad|N/m", "of the stop at an end of travel"
    )
    joint_limit_damping: PerDof = _dof_leaf(
        "limit_damping", "N·m·s/rad|N·s/m", "of the stop at an end of travel"
    )
    joint_limit_width: PerDof = _dof_leaf(
        "limit_width", "rad|m", "distance over which the stop sets in"
    )
    joint_effort: PerDof = _dof_leaf("effort", "N·m|N", "largest motor torque")
    joint_gear: PerDof = _dof_leaf("gear", "1", "motor's turns for each of the joint's")
    joint_motor_constant: PerDof = _dof_leaf(
        "motor_constant", "N·m|N", "motor torque for one unit of the command, as for one ampere"
    )
    joint_kp: PerDof = _dof_leaf("kp", "N·m/rad|N/m", "gain of a PD controller on position")
    joint_kd: PerDof = _dof_leaf("kd", "N·m·s/rad|N·s/m", "gain of a PD controller on velocity")
    joint_delay: PerDof = _dof_leaf("delay", "s", "between command and motor")
    mimic_multiplier: Float[AnyArray, " mimics"] = _leaf(
        "mimic/multiplier", "mimic", (), "1", "`q = multiplier · q_source + offset`"
    )
    mimic_offset: Float[AnyArray, " mimics"] = _leaf(
        "mimic/offset", "mimic", (), "rad|m", "`q = multiplier · q_source + offset`"
    )
    point_origin: Float[AnyArray, "points 3"] = _leaf(
        "point/origin", "point", (3,), "m", "place in the link's frame"
    )
    point_orientation: Float[AnyArray, "points 4"] = _leaf(
        "point/orientation", "point", (4,), "1", "quaternion in the link's frame"
    )
    shape_origin: Float[AnyArray, "shapes 3"] = _leaf(
        "shape/origin", "shape", (3,), "m", "place in the link's frame"
    )
    shape_orientation: Float[AnyArray, "shapes 4"] = _leaf(
        "shape/orientation", "shape", (4,), "1", "quaternion in the link's frame"
    )
    shape_size: Float[AnyArray, "shapes 3"] = _leaf(
        "shape/size", "shape", (3,), "m", "radius, half-length, half-widths: by the kind of shape"
    )
    shape_points: Float[AnyArray, "vertices 3"] = _leaf(
        "shape/points", "vertex", (3,), "m", "corners of convex hulls, in the shape's frame"
    )

    networks: tuple[Any, ...] = ()
    """Networks that correct signals, in the order of their blueprint: made by `Blueprint.attach`."""
    source: SourceFile = eqx.field(static=True, default=SourceFile())
    """The file that the model was read from; no part of what is traced or compared."""

    def __check_init__(self) -> None:
        for kind, names in (("link", self.link_names), ("joint", self.joint_names)):
            if twice := sorted({n for n in names if names.count(n) > 1}):
                raise BadModel(f"{kind} names must differ, but {twice} occur more than once.")
        for i, parent in enumerate(self.parents):
            if parent >= i:
                raise BadModel(f"link {self.link_names[i]!r} comes before its parent.")
        for field, spec in leaf_fields():
            value = getattr(self, field)
            want = (*_row_count(self, spec), *spec.shape)
            if isinstance(value, np.ndarray) and value.shape != want:
                raise BadShape(f"{spec.name!r} has shape {value.shape}; this model needs {want}.")

    # topology ------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """Where each joint's numbers stand in `q` and `v`."""
        return layout_of(self.joint_kinds, self.mimics)

    @property
    def dof(self) -> int:
        """Degrees of freedom: the length of `v`."""
        return self.layout.nv

    @property
    def nq(self) -> int:
        """The length of `q`: a quaternion counts four."""
        return self.layout.nq

    def kind(self, i: int) -> JointKind:
        """What joint `i` is."""
        return JOINTS[self.joint_kinds[i]]

    def outwards(self) -> Iterator[tuple[int, int]]:
        """Each link with its parent, parents first."""
        return iter(enumerate(self.parents))

    def inwards(self) -> Iterator[tuple[int, int]]:
        """Each link with its parent, children first."""
        return reversed(list(enumerate(self.parents)))

    def link(self, name: str) -> int:
        """The row of a link."""
        return _index(name, self.link_names, "link")

    def joint(self, name: str) -> int:
        """The row of a joint."""
        return _index(name, self.joint_names, "joint")

    def point(self, name: str) -> int:
        """The row of a named point."""
        return _index(name, self.point_names, "point")

    def rows(self, family: str | None) -> dict[str, tuple[int, ...]]:
        """Which rows of an array of this `family` each name owns."""
        if family == "vertex":
            return {
                n: tuple(range(*s)) for n, s in zip(self.shape_names, self.shape_spans, strict=True)
            }
        if family in ("dof", "coordinate"):
            spans = self.layout.v_own if family == "dof" else self.layout.q_own
            return {n: tuple(range(*s)) for n, s in zip(self.joint_names, spans, strict=True)}
        if family == "pair":
            counts = [(b - a) * (b - a + 1) // 2 for a, b in self.layout.v_own]
            ends = np.cumsum(counts)
            return {
                n: tuple(range(e - c, e))
                for n, c, e in zip(self.joint_names, counts, ends.tolist(), strict=True)
            }
        names = {
            "link": self.link_names, "joint": self.joint_names, "point": self.point_names,
            "shape": self.shape_names, "mimic": tuple(self.joint_names[j] for j, _ in self.mimics),
        }.get(family or "", ())  # fmt: skip
        return {n: (i,) for i, n in enumerate(names)}

    # numbers by name -----------------------------------------------------------------------------------

    def get(self, name: str) -> Number:
        """The numbers called `name`: a whole leaf, `link/upper/mass`, `link/mass[upper]` or `link/*/mass`.

        A single row comes without its axis (a number, for a mass); a pattern with `*` gives all rows it matches.
        """
        field, rows, single = self._find(name)
        value = getattr(self, field)
        return value if rows is None else value[rows[0]] if single else value[np.array(rows)]

    def set(self, name: str, value: Any) -> Model:
        """A model that differs in the numbers called `name`; `value` is broadcast over them.

        A number with a switch (`isthmus.model.leaves.SWITCHES`: ends of travel, `effort`, `delay`, `stiction`, …) acts
        from then on, also in a model made without it; with `kp` or `kd` the command of the joint is a position.
        """
        field, rows, single = self._find(name)
        old = getattr(self, field)
        index = Ellipsis if rows is None else rows[0] if single else np.array(rows)
        try:
            new = replaced(old, index, value)
        except ValueError as mismatch:
            want, got = np.shape(old[index]), np.shape(value)
            raise BadShape(
                f"{name!r} has shape {want}; a value of shape {got} does not fit."
            ) from mismatch
        spec = dataclasses.replace(dict(leaf_fields())[field], name=name)
        _refuse_bad_values(spec, old[index], value if is_traced(new) else new[index])
        model = dataclasses.replace(self, **{field: new}, **self._acting(field, rows, new))
        _refuse_crossed_ends(model)
        return model

    def _acting(self, field: str, rows: list[int] | None, new: AnyArray) -> dict[str, Any]:
        """Static fields that make the changed rows of a leaf act, where their numbers have an effect."""
        spec = dict(leaf_fields())[field]
        if spec.switch is None:
            return {}
        touched = {*range(self.dof)} if rows is None else {*rows}
        if is_traced(new):  # of a whole leaf, the numbers of quaternions may be idle
            return switched_on(
                self, spec.name, touched - rows_never_on(self, spec.switch) or touched
            )
        return switched_on(self, spec.name, [k for k in touched if new[k] != spec.switch.idle])

    def _find(self, name: str) -> tuple[str, list[int] | None, bool]:
        base, pattern = address.parse(name)
        for field, spec in leaf_fields():
            if spec.name == base:
                if pattern is None:
                    return field, None, False
                rows = address.rows_of(name, pattern, self.rows(spec.rows))
                return field, rows, address.picks_one(pattern) and len(rows) == 1
        known = [spec.name for _, spec in leaf_fields()]
        raise UnknownName(f"this model has no number called {name!r}.{did_you_mean(base, known)}")

    def __str__(self) -> str:
        from isthmus.model.pretty import as_text

        return as_text(self)


@functools.cache
def leaf_fields() -> tuple[tuple[str, LeafSpec], ...]:
    """The leaves of a model: name of the field, and what it is."""
    fields = dataclasses.fields(Model)
    return tuple((f.name, f.metadata["leaf"]) for f in fields if "leaf" in f.metadata)


def _row_count(model: Model, spec: LeafSpec) -> tuple[int, ...]:
    if spec.rows is None:
        return ()
    return (sum(len(rows) for rows in model.rows(spec.rows).values()),)


def _index(name: str, names: tuple[str, ...], kind: str) -> int:
    if name not in names:
        raise UnknownName(f"no {kind} is called {name!r}.{did_you_mean(name, names)}")
    return names.index(name)


def _refuse_bad_values(spec: LeafSpec, old: Number, new: Any) -> None:
    """Refuses values that no mechanism can have; rows that stay as they were are not judged again."""
    if not is_traced((old, new)):
        new = np.asarray(new)[np.any(new != old, axis=tuple(range(-len(spec.shape), 0)))]
    if faults := faults_of_leaf(spec, new):
        raise BadModel(" ".join(faults))


def switched_on(model: Model, leaf: str, rows: Iterable[int]) -> dict[str, Any]:
    """Static fields that make these rows of a leaf act; refuses rows of joints whose position is a quaternion."""
    rows, switch = tuple(rows), SWITCHES.get(leaf)
    if switch is None or not rows:
        return {}
    if switch.field == "delay_steps":
        return {"delay_steps": model.delay_steps or DELAY_STEPS}
    if bad := sorted({*rows} & rows_never_on(model, switch)):
        joint = next(joint for joint, own in model.rows("dof").items() if bad[0] in own)
        raise BadModel(
            f"{leaf!r} of joint {joint!r} would have no meaning: its position is a quaternion. "
            f"Name the other joints, as in {leaf.replace('/', '/NAME/')!r}."
        )
    return {switch.field: tuple(sorted({*getattr(model, switch.field), *rows}))}


def rows_never_on(model: Model, switch: Switch) -> set[int]:
    """Degrees of freedom whose position has no meaning (their joint has a quaternion), for a switch that needs one."""
    if switch.field not in ("limited", "position_controlled", "cogging"):
        return set()
    spans = enumerate(model.layout.v_own)
    return {k for i, s in spans if model.kind(i).nq != model.kind(i).nv for k in range(*s)}


def _refuse_crossed_ends(model: Model) -> None:
    """Refuses a lower end of travel above the upper one."""
    lower, upper = model.joint_lower, model.joint_upper
    if is_traced((lower, upper)):
        return
    for name, rows in model.rows("dof").items():
        if crossed := [row for row in rows if lower[row] > upper[row] or lower[row] == np.inf]:
            a, b = lower[crossed[0]], upper[crossed[0]]
            raise BadModel(
                f"joint {name!r} would have its lower limit {a:g} above its upper limit {b:g}; "
                "set the other one first."
            )
