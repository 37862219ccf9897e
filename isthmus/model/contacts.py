"""Contact of a model: which points of its shapes may touch the ground or each other, how, of what they are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from isthmus.describe.description import Frame, Shape
from isthmus.entry import check_arguments
from isthmus.errors import BadModel, BadOption
from isthmus.model.arrays import is_traced, stack
from isthmus.model.filters import body_of, shapes_called, welded
from isthmus.model.leaves import faults_of_leaf
from isthmus.model.model import Model, leaf_fields
from isthmus.model.pairs import (
    RULES,
    ContactKind,
    Pair,
    PairsLike,
    Rule,
    pair_list,
    slots,
    warn_of_idle_numbers,
)
from isthmus.phases import counted
from isthmus.spatial import rotations
from isthmus.types import Number, Numbers

KINDS: tuple[ContactKind, ...] = get_args(ContactKind)
Order = Literal["impact", "plain", "b"]
RIM = 3
"""Points on the rim of each end of a cylinder; the first of them is the lowest one."""
CORNERS = {"sphere": 1, "capsule": 2, "box": 8, "cylinder": 2 * RIM}
"""Points of a shape that may touch a plane; of a convex hull, all its corners."""


@check_arguments
@dataclasses.dataclass(frozen=True)
class Ground:
    """A plane fixed to the world."""

    height: Number = 0.0
    """Where it crosses the z axis [m]."""
    tilt: Numbers = (0.0, 0.0)
    """Turns about the world's x and y axes [rad], together a rotation vector."""
    name: str = "ground"

    def __post_init__(self) -> None:
        several = isinstance(self.tilt, Sequence) or np.ndim(self.tilt) == 1
        turns = [*self.tilt] if several else []
        if len(turns) != 2 or any(np.ndim(x) for x in (self.height, *turns)):
            raise BadOption(
                f"Ground: height is a number and tilt two of them, not {self.height!r} and {self.tilt!r}."
            )
        numbers = stack([self.height, *turns])
        if not is_traced(numbers) and not np.isfinite(numbers).all():
            raise BadOption(
                f"Ground: height and tilt must be finite, not {self.height!r} and {self.tilt!r}."
            )

    def shape(self) -> Shape:
        """The plane, as a description has it."""
        turn = rotations.exp(stack([*self.tilt, 0.0]))
        return Shape(self.name, "plane", None, Frame((0.0, 0.0, self.height), tuple(turn)))


@check_arguments
@dataclasses.dataclass(frozen=True)
class Contact:
    """How some shapes touch the ground and, where they are in a pair, each other.

    Every number is a leaf of the model afterwards: `contact/NAME/friction` …
    """

    kind: ContactKind = "impulse"
    """`impulse`: rigid, no point goes through; `penalty`: springs (Hunt and Crossley), each contact for itself."""
    shapes: str | Sequence[str] = "*"
    """Names of shapes, or of links for all their shapes, or patterns of such names."""
    friction: Number = 0.8
    """Coefficient of friction."""
    restitution: Number = 0.0
    """Impulse: speed after an impact for each unit of speed before."""
    restitution_speed: Number = 0.1
    """Impulse: impacts slower than this [m/s] do not bounce."""
    stiffness: Number | None = None
    """Penalty: force at a depth of 1 m [N/m^exponent]; None: all contacts of a kind, loaded with the weight of the
    whole mechanism, give way by a millimetre."""
    damping: Number = 1.0
    """Penalty: share of the force that is added at a closing speed of 1 m/s [s/m]."""
    exponent: Number = 1.5
    """Penalty: of the depth in the force."""
    friction_speed: Number = 0.01
    """Penalty: speed within which friction is smoothed [m/s]."""
    friction_load: Number = 0.0
    """Penalty: friction is divided by `1 + friction_load · normal force` [1/N], so that it is at most
    `friction / friction_load`."""
    softness: Number | None = None
    """Impulse: speed that 1 N·s gives the contact itself [1/kg]; None: 10⁻⁵ of that of the whole mass."""
    erp: Number = 0.2
    """Impulse: share of the depth that one step corrects."""
    radius: Number = 0.0
    """Rounding of edges and corners [m], inside the shape."""


NUMBERS = (
    "friction", "restitution", "restitution_speed", "stiffness", "damping", "exponent",
    "friction_speed", "friction_load", "softness", "erp", "radius",
)  # fmt: skip
"""Leaves of a contact."""
ALL_BITS = 2**31 - 1
"""The mask of a shape that touches everything."""
SETTLED = 1e-3
"""Depth [m] to which springs give way under the weight, where no stiffness is given."""
SOFT = 1e-5
"""Softness as a share of one over the whole mass, where none is given."""


@check_arguments
def with_contact(
    model: Model,
    contact: Contact | str | Sequence[Contact] = "impulse",
    *,
    ground: Ground | None = None,
    pairs: PairsLike = False,
    rule: Rule = "max",
    order: Order = "impact",
    sweeps: int = 30,
    newton: int = 4,
) -> Model:
    """The model, whose shapes touch the planes of the world, and each other; contacts that it had before are replaced.

    Args:
        contact: how and where: `impulse` or `penalty` for all shapes, the name or the pattern of some shapes or links
            (`*_foot`) for impulses there, or one or several `ist.Contact`. Shapes on links that cannot move are left
            out. An empty list: nothing touches the ground.
        pairs: shapes that touch each other: an `ist.Pair`, two names or patterns, a list of such, or True for all that
            the model allows (`model.pairs()`).
        rule: how friction and restitution of a pair come from those of its two shapes: `max`, `min` or `mean`.
        ground: a plane to add, or to replace the one of that name; None: the planes that the model has.
        order: of impulses. `impact`: points that meet the ground within a step bounce at the time of impact, which
            makes derivatives through impacts right; `plain`: at the end of the step; `b`: box friction in a fixed order
            of rows, as in the benchmark of the Tiny Differentiable Simulator.
        sweeps: of projected Gauss-Seidel over all impulses.
        newton: Newton steps after these, at most.
    """
    records = [record_of(contact)] if isinstance(contact, str | Contact) else list(contact)
    if ground is not None:
        model = with_plane(model, ground)
    model, touching = pair_list(model, pairs)
    planes = [s for s, kind in enumerate(model.shape_kinds) if kind == "plane"]
    if moving := [model.shape_names[s] for s in planes if not stands_still(model, s)]:
        raise BadModel(
            f"the plane {moving[0]!r} is fixed to a link that moves; only the world's planes are ground."
        )
    if not planes and not touching:
        raise BadModel(f"{model.name!r} has no ground to touch: give ground=ist.Ground(height).")
    taken = taken_shapes(model, records, bool(touching))
    rows, materials = _rows(model, records, planes, taken)
    if not rows and not touching:
        raise BadModel(
            f"{model.name!r} has no shape on a link that moves: nothing could touch the ground."
        )
    acting: dict[int, tuple[Pair, set[str]]] = {}
    for (first, second), pair in touching:
        for shape in (first, second):
            _refuse_no_size(model, shape)
        own = [records[taken[s]] if s in taken else None for s in (first, second)]
        material, count = _of_pair(own, pair, rule), slots(model, first, second, pair)
        rows += [(first, k, second) for k in range(count)]
        materials += [material] * count
        acting.setdefault(id(pair), (pair, set()))[1].add(material.kind)
    for pair, kinds in acting.values():
        warn_of_idle_numbers(pair, kinds)
    return _with_rows(model, rows, materials, order, sweeps, newton)


def _with_rows(
    model: Model, rows: list[tuple[int, int, int]], materials: list[Contact], order: Order, sweeps: int, newton: int
) -> Model:  # fmt: skip
    numbers = {
        f"contact_{n}": stack([_number(model, m, n, len(rows)) for m in materials]) for n in NUMBERS
    }
    specs = [(field, spec) for field, spec in leaf_fields() if field in numbers]
    if faults := [fault for field, spec in specs for fault in faults_of_leaf(spec, numbers[field])]:
        raise BadModel(" ".join(faults))
    shapes, corners, under = (tuple(column) for column in zip(*rows, strict=True))
    made = dataclasses.replace(
        model, contact_kinds=tuple(m.kind for m in materials), contact_shapes=shapes, contact_corners=corners,
        contact_planes=under, **numbers,
    )  # fmt: skip
    return with_solver(made, order=order, sweeps=sweeps, newton=newton)


def record_of(contact: Contact | str) -> Contact:
    """A kind for all shapes, or a pattern of shapes for impulses, as a record."""
    if not isinstance(contact, str):
        return contact
    kinds = [kind for kind in KINDS if kind == contact]
    return Contact(kinds[0]) if kinds else Contact(shapes=contact)


@check_arguments
def with_solver(
    model: Model, *, order: Order = "impact", sweeps: int = 30, newton: int = 4
) -> Model:
    """The model, whose impulses are computed so; the options are those of `with_contact`."""
    for name, count, low in (("sweeps", sweeps, 1), ("newton", newton, 0)):
        if count < low:
            raise BadOption(f"{name} must be a whole number from {low}, not {count!r}.")
    return dataclasses.replace(
        model, contact_order=order, contact_sweeps=sweeps, contact_newton=newton
    )


def _of_pair(own: list[Contact | None], pair: Pair, rule: str) -> Contact:
    """What two shapes of these materials are to each other: the pair's own numbers, else by the rule."""
    known = [material for material in own if material is not None] or [Contact()]
    combine = RULES[rule]
    mixed = {
        name: combine([getattr(m, name) for m in known]) for name in ("friction", "restitution")
    }
    kinds = {m.kind for m in known}
    kind = known[0].kind if len(kinds) == 1 else "impulse"
    given = {
        name: value
        for name in ("kind", *NUMBERS)
        if (value := getattr(pair, name, None)) is not None
    }
    return dataclasses.replace(known[0], **{"kind": kind, **mixed, **given})


@check_arguments
def without_contact(model: Model) -> Model:
    """The model, whose shapes touch nothing."""
    nothing: dict[str, Any] = {f"contact_{n}": np.zeros(0) for n in NUMBERS}
    return dataclasses.replace(
        model, contact_kinds=(), contact_shapes=(), contact_corners=(), contact_planes=(), **nothing
    )


def with_plane(model: Model, ground: Ground) -> Model:
    """The model with this plane; one of the same name is replaced."""
    frame: Any = ground.shape().frame
    origin, turn = stack(frame.position), stack(frame.orientation)
    if ground.name in model.shape_names:
        row = model.shape_names.index(ground.name)
        if model.shape_kinds[row] != "plane":
            raise BadModel(
                f"{ground.name!r} is a {model.shape_kinds[row]}, not a plane: name the ground differently."
            )
        return model.set(f"shape/{ground.name}/origin", origin).set(
            f"shape/{ground.name}/orientation", turn
        )
    end = len(model.shape_points)
    more = lambda leaf, row: stack([*leaf, row])
    return dataclasses.replace(
        model, shape_names=(*model.shape_names, ground.name), shape_kinds=(*model.shape_kinds, "plane"),
        shape_links=(*model.shape_links, -1), shape_spans=(*model.shape_spans, (end, end)),
        shape_origin=more(model.shape_origin, origin), shape_orientation=more(model.shape_orientation, turn),
        shape_size=more(model.shape_size, np.zeros(3)),
        contact_masks=(*model.contact_masks, (ALL_BITS, ALL_BITS)) if model.contact_masks else (),
    )  # fmt: skip


def pair_rows(model: Model) -> np.ndarray:
    """The contacts between two bodies; they come after those with planes."""
    kinds = model.shape_kinds
    return np.flatnonzero([kinds[s] != "plane" for s in model.contact_planes]).astype(np.int32)


def corner_count(model: Model, shape: int) -> int:
    """How many points of a shape may touch a plane."""
    start, stop = model.shape_spans[shape]
    return CORNERS.get(model.shape_kinds[shape], stop - start)


def taken_shapes(model: Model, records: list[Contact], paired: bool) -> dict[int, int]:
    """Which record each shape has; shapes of the world have one only where there are pairs."""
    taken: dict[int, int] = {}
    solid = [s for s, kind in enumerate(model.shape_kinds) if kind != "plane"]
    for n, record in enumerate(records):
        patterns = [record.shapes] if isinstance(record.shapes, str) else list(record.shapes)
        for pattern in patterns:
            for shape in shapes_called(model, pattern, solid, KINDS):
                if stands_still(model, shape) and not paired:
                    if "*" not in pattern:
                        raise BadModel(
                            f"the shape {pattern!r} is fixed to the world, as the ground is: they cannot touch."
                        )
                elif taken.setdefault(shape, n) != n:
                    raise BadOption(
                        f"the shape {model.shape_names[shape]!r} is in two contacts; it can be in one."
                    )
    return taken


def _rows(
    model: Model, records: list[Contact], planes: list[int], taken: dict[int, int]
) -> tuple[list[tuple[int, int, int]], list[Contact]]:
    """(shape, corner, plane) of every contact with the ground, and its record."""
    rows: list[tuple[int, int, int]] = []
    materials: list[Contact] = []
    for shape, n in sorted(taken.items()):
        if stands_still(model, shape):
            continue
        _refuse_no_size(model, shape)
        for plane in (p for p in planes if model.filters.meet(shape, p)):
            for corner in range(corner_count(model, shape)):
                rows.append((shape, corner, plane))
                materials.append(records[n])
    return rows, materials


def last_shapes(model: Model) -> tuple[list[str], int]:
    """The shapes on links that move and carry no other link with shapes, such as feet and grippers; and how many more
    shapes there are on links that move."""
    solid = [
        s for s, k in enumerate(model.shape_kinds) if k != "plane" and not stands_still(model, s)
    ]
    carrying: set[int] = set()
    for i in {model.shape_links[s] for s in solid}:
        while (i := model.parents[i]) >= 0:
            carrying.add(i)
    last = [model.shape_names[s] for s in solid if model.shape_links[s] not in carrying]
    return last, len(solid) - len(last)


def _refuse_no_size(model: Model, shape: int) -> None:
    kind, size = model.shape_kinds[shape], model.shape_size[shape]
    needed = {"sphere": 1, "capsule": 1, "cylinder": 2, "box": 3}.get(kind, 0)
    empty = not is_traced(size) and not np.all(np.asarray(size)[:needed] > 0.0)
    if empty or corner_count(model, shape) == 0:
        raise BadModel(
            f"the shape {model.shape_names[shape]!r} ({kind}) has no size, so that it cannot touch anything."
        )


def stands_still(model: Model, shape: int) -> bool:
    """Whether a shape is fixed to the world."""
    return body_of(model, welded(model), shape) < 0


def _number(model: Model, contact: Contact, name: str, count: int) -> Any:
    """A number of a contact, or what is usual where none is given."""
    value = getattr(contact, name)
    if value is not None:
        return value
    mass = model.link_mass.sum()
    if name == "softness":
        return SOFT / mass
    weight = mass * 9.81
    return weight / SETTLED**contact.exponent


def describe_contacts(model: Model) -> list[str]:
    """A line for each shape that touches the ground, and for each pair."""
    lines = []
    for name, rows in model.rows("contact").items():
        kinds = " and ".join(dict.fromkeys(model.contact_kinds[r] for r in rows))
        others = list(dict.fromkeys(model.contact_planes[r] for r in rows))
        what = f"contact {name} on {', '.join(model.shape_names[s] for s in others)}"
        if model.shape_kinds[others[0]] != "plane":
            first = model.shape_names[model.contact_shapes[rows[0]]]
            what = f"pair {first} and {model.shape_names[others[0]]}"
        lines.append(f"{what}: {counted(len(rows), 'point')}, {kinds}")
    return lines
