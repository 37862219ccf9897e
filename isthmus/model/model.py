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

from isthmus.entry import check_arguments
from isthmus.errors import BadModel, BadShape, UnknownName, did_you_mean
from isthmus.model import address
from isthmus.model.arrays import as_floats, as_leaf, broadcast, is_traced, replaced
from isthmus.model.filters import Filters, pairs_of
from isthmus.model.joint_fields import JointFields, leaf
from isthmus.model.joints import JOINTS, JointKind
from isthmus.model.layout import Layout, layout_of
from isthmus.model.leaves import DELAY_STEPS, SWITCHES, LeafSpec, Switch, faults_of_leaf
from isthmus.model.source import SourceFile
from isthmus.shown import Shown
from isthmus.types import AnyArray, Number


def _of_contact(name: str, unit: str, meaning: str) -> Any:
    """A number of each contact; models without contact have none."""
    spec = LeafSpec(f"contact/{name}", "contact", (), unit, meaning)
    return eqx.field(
        converter=as_leaf,
        metadata={"leaf": spec},
        default_factory=lambda: np.zeros(0),
    )


class Model(JointFields, Shown):
    """A mechanism, ready to be simulated. Made by `ist.load`, `ist.Builder` or `ist.library`."""

    gravity: Float[AnyArray, "3"] = leaf("gravity", None, (3,), "m/s²", "acceleration of free fall")
    link_mass: Float[AnyArray, " links"] = leaf("link/mass", "link", (), "kg", "mass")
    link_com: Float[AnyArray, "links 3"] = leaf(
        "link/com", "link", (3,), "m", "centre of mass in the link's frame"
    )
    link_inertia: Float[AnyArray, "links 6"] = leaf(
        "link/inertia", "link", (6,), "kg·m²", "xx yy zz xy xz yz about the centre of mass"
    )
    mimic_multiplier: Float[AnyArray, " mimics"] = leaf(
        "mimic/multiplier", "mimic", (), "1", "`q = multiplier · q_source + offset`"
    )
    mimic_offset: Float[AnyArray, " mimics"] = leaf(
        "mimic/offset", "mimic", (), "rad|m", "`q = multiplier · q_source + offset`"
    )
    point_origin: Float[AnyArray, "points 3"] = leaf(
        "point/origin", "point", (3,), "m", "place in the link's frame"
    )
    point_orientation: Float[AnyArray, "points 4"] = leaf(
        "point/orientation", "point", (4,), "1", "quaternion in the link's frame"
    )
    shape_origin: Float[AnyArray, "shapes 3"] = leaf(
        "shape/origin", "shape", (3,), "m", "place in the link's frame"
    )
    shape_orientation: Float[AnyArray, "shapes 4"] = leaf(
        "shape/orientation", "shape", (4,), "1", "quaternion in the link's frame"
    )
    shape_size: Float[AnyArray, "shapes 3"] = leaf(
        "shape/size", "shape", (3,), "m", "radius, half-length, half-widths: by the kind of shape"
    )
    shape_points: Float[AnyArray, "vertices 3"] = leaf(
        "shape/points", "vertex", (3,), "m", "corners of convex hulls, in the shape's frame"
    )

    contact_kinds: tuple[str, ...] = eqx.field(static=True, default=())
    """How each contact acts: `penalty` or `impulse`. Contacts are points of a shape that may touch another one."""
    contact_shapes: tuple[int, ...] = eqx.field(static=True, default=())
    """The shape of each contact."""
    contact_corners: tuple[int, ...] = eqx.field(static=True, default=())
    """Which point of that shape it is."""
    contact_planes: tuple[int, ...] = eqx.field(static=True, default=())
    """The shape that it may touch: a plane of the world, or, after all of these, a shape of another body."""
    contact_masks: tuple[tuple[int, int], ...] = eqx.field(static=True, default=())
    """For each shape the bits of what it is and of what it touches (contype, conaffinity); empty: all touch."""
    contact_excluded: tuple[tuple[int, int], ...] = eqx.field(static=True, default=())
    """Pairs of links that the model's file keeps from touching; -1: the world."""
    contact_named: tuple[tuple[int, int], ...] = eqx.field(static=True, default=())
    """Pairs of shapes that the model's file lets touch by name, whatever masks and exclusions say."""
    contact_order: str = eqx.field(static=True, default="impact")
    """How impulses are computed: `impact`, `plain` or `b`, as `with_contact` explains."""
    contact_sweeps: int = eqx.field(static=True, default=30)
    """Sweeps of projected Gauss-Seidel over all impulses."""
    contact_newton: int = eqx.field(static=True, default=4)
    """Newton steps after these, at most."""

    contact_friction: Float[AnyArray, " contacts"] = _of_contact(
        "friction", "1", "coefficient of friction"
    )
    contact_restitution: Float[AnyArray, " contacts"] = _of_contact(
        "restitution", "1", "speed after an impact for each unit of speed before (impulse)"
    )
    contact_restitution_speed: Float[AnyArray, " contacts"] = _of_contact(
        "restitution_speed", "m/s", "slower impacts do not bounce (impulse)"
    )
    contact_stiffness: Float[AnyArray, " contacts"] = _of_contact(
        "stiffness", "N/m^n", "force at a depth of 1 m, `n` being the exponent (penalty)"
    )
    contact_damping: Float[AnyArray, " contacts"] = _of_contact(
        "damping", "s/m", "share of the force that is added at a closing speed of 1 m/s (penalty)"
    )
    contact_exponent: Float[AnyArray, " contacts"] = _of_contact(
        "exponent", "1", "of the depth in the force (penalty)"
    )
    contact_friction_speed: Float[AnyArray, " contacts"] = _of_contact(
        "friction_speed", "m/s", "speed within which friction is smoothed (penalty)"
    )
    contact_friction_load: Float[AnyArray, " contacts"] = _of_contact(
        "friction_load", "1/N", "friction is divided by 1 + this · normal force (penalty)"
    )
    contact_softness: Float[AnyArray, " contacts"] = _of_contact(
        "softness", "1/kg", "speed that an impulse of 1 N·s gives the contact itself (impulse)"
    )
    contact_erp: Float[AnyArray, " contacts"] = _of_contact(
        "erp", "1", "share of the depth that one step corrects (impulse)"
    )
    contact_radius: Float[AnyArray, " contacts"] = _of_contact(
        "radius", "m", "rounding of edges and corners"
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
            if isinstance(value, np.ndarray) and want not in (value.shape, value.shape[1:]):
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

    @check_arguments
    def link(self, name: str) -> int:
        """The row of a link."""
        return _index(name, self.link_names, "link")

    @check_arguments
    def joint(self, name: str) -> int:
        """The row of a joint."""
        return _index(name, self.joint_names, "joint")

    @check_arguments
    def point(self, name: str) -> int:
        """The row of a named point."""
        return _index(name, self.point_names, "point")

    def rows(self, family: str | None) -> dict[str, tuple[int, ...]]:
        """Which rows of an array of this `family` each name owns."""
        if family == "vertex":
            return {
                n: tuple(range(*s)) for n, s in zip(self.shape_names, self.shape_spans, strict=True)
            }
        if family == "contact":
            owned: dict[str, tuple[int, ...]] = {}
            for row, (shape, other) in enumerate(
                zip(self.contact_shapes, self.contact_planes, strict=True)
            ):
                name = self.shape_names[shape]
                if self.shape_kinds[other] != "plane":
                    name = f"{name}+{self.shape_names[other]}"
                owned[name] = (*owned.get(name, ()), row)
            return owned
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

    @check_arguments
    def pairs(self, first: str = "*", second: str = "*") -> tuple[tuple[str, str], ...]:
        """Names of the pairs of shapes that two names or patterns pick, for `pairs` of `ist.with_contact`.

        Names are those of shapes, or of links for all of their shapes. Two names, each of one shape and no pattern, are
        taken at their word. Where patterns pick, pairs are left out that cannot move against each other, that are
        neighbours in the tree, or that the model's file keeps apart (MJCF's contype, conaffinity and exclude), unless
        it names them (MJCF's pair).
        """
        return pairs_of(self, first, second, self.filters)

    @property
    def filters(self) -> Filters:
        """What the model's file says of shapes that touch."""
        return Filters(self.contact_masks, self.contact_excluded, self.contact_named)

    # numbers by name -----------------------------------------------------------------------------------

    @check_arguments
    def get(self, name: str) -> Number:
        """The numbers called `name`: a whole leaf, `link/upper/mass`, `link/mass[upper]` or `link/*/mass`.

        A single row comes without its axis (a number, for a mass); a pattern with `*` gives all rows it matches.
        """
        field, rows = self._find(name)
        value = getattr(self, field)
        return value if rows is ... else value[_index_of(rows, value, field)]

    @check_arguments
    def set(self, name: str, value: Any) -> Model:
        """A model that differs in the numbers called `name`; `value` is broadcast over them.

        A value with one axis more, its first, makes as many worlds for `rollout_many`.
        A number with a switch (`isthmus.model.leaves.SWITCHES`: ends of travel, `effort`, `delay`, `stiction`, …) acts
        from then on, also in a model made without it; with `kp` or `kd` the command of the joint is a position.
        """
        field, rows = self._find(name)
        if field.startswith("contact_") and not self.contact_kinds:
            raise UnknownName(
                f"{self.name!r} touches nothing, so it has no {name!r}: see ist.with_contact."
            )
        old, value = getattr(self, field), as_floats(f"the value of {name!r}", value)
        want, got = np.shape(old[_index_of(rows, old, field)]), np.shape(value)
        if len(got) == len(want) + 1 and got[1:] == want:
            old = broadcast(old, (got[0], *old.shape))
        index = _index_of(rows, old, field)
        try:
            new = replaced(old, index, value)
        except ValueError as mismatch:
            raise BadShape(
                f"{name!r} has shape {want}; a value of shape {got} does not fit, and {('worlds', *want)} makes "
                "many worlds for rollout_many."
            ) from mismatch
        spec = dataclasses.replace(dict(leaf_fields())[field], name=name)
        _refuse_bad_values(spec, old[index], value if is_traced(new) else new[index])
        model = dataclasses.replace(self, **{field: new}, **self._acting(field, rows, new))
        _refuse_crossed_ends(model)
        return model

    def _acting(self, field: str, rows: Any, new: AnyArray) -> dict[str, Any]:
        """Static fields that make the changed rows of a leaf act, where their numbers have an effect."""
        spec = dict(leaf_fields())[field]
        if spec.switch is None:
            return {}
        touched = {*np.atleast_1d(np.arange(self.dof)[rows]).tolist()}
        if is_traced(new):  # of a whole leaf, the numbers of quaternions may be idle
            return switched_on(
                self, spec.name, touched - rows_never_on(self, spec.switch) or touched
            )
        return switched_on(
            self, spec.name, [k for k in touched if np.any(new[..., k] != spec.switch.idle)]
        )

    def _find(self, name: str) -> tuple[str, Any]:
        """The leaf called so, and its rows: a number, several, or `...` for all."""
        base, pattern = address.parse(name)
        for field, spec in leaf_fields():
            if spec.name == base:
                if pattern is None:
                    return field, ...
                names = self.rows(spec.rows)
                rows = address.rows_of(name, pattern, names)
                single = address.picks_one(pattern, names) and len(rows) == 1
                return field, rows[0] if single else np.array(rows)
        known = [spec.name for _, spec in leaf_fields()]
        raise UnknownName(f"this model has no number called {name!r}.{did_you_mean(base, known)}")

    def __str__(self) -> str:
        from isthmus.model.pretty import as_text

        return as_text(self)


FAMILIES = ("gravity", "link", "joint", "mimic", "point", "shape", "contact")
"""First parts of the names of leaves, in their order."""


@functools.cache
def leaf_fields() -> tuple[tuple[str, LeafSpec], ...]:
    """The leaves of a model: name of the field, and what it is."""
    found = [
        (f.name, f.metadata["leaf"]) for f in dataclasses.fields(Model) if "leaf" in f.metadata
    ]
    return tuple(sorted(found, key=lambda pair: FAMILIES.index(pair[1].name.split("/")[0])))


def _index_of(rows: Any, leaf: AnyArray, field: str) -> Any:
    """The index of rows in a leaf, which may have an axis of worlds before them."""
    if rows is ...:
        return ...
    worlds = np.ndim(leaf) - 1 - len(dict(leaf_fields())[field].shape)
    return (*[slice(None)] * worlds, rows)


def _row_count(model: Model, spec: LeafSpec) -> tuple[int, ...]:
    if spec.rows is None:
        return ()
    if spec.rows == "vertex":  # a damaged file may claim any number of them
        return (sum(end - start for start, end in model.shape_spans),)
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
    if switch.field not in ("limited", "position_controlled", "cogging", "playing"):
        return set()
    spans = enumerate(model.layout.v_own)
    return {k for i, s in spans if model.kind(i).nq != model.kind(i).nv for k in range(*s)}


def _refuse_crossed_ends(model: Model) -> None:
    """Refuses a lower end of travel above the upper one."""
    lower, upper = model.joint_lower, model.joint_upper
    if is_traced((lower, upper)):
        return
    for name, rows in model.rows("dof").items():
        low, high = np.broadcast_arrays(lower[..., rows], upper[..., rows])
        if (crossed := (low > high) | (low == np.inf)).any():
            a, b = low[crossed][0], high[crossed][0]
            raise BadModel(
                f"joint {name!r} would have its lower limit {a:g} above its upper limit {b:g}; "
                "set the other one first."
            )
