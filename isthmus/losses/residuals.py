"""Differences between what was simulated and what was measured, each on its own manifold.

A `Channel` is one signal of the log: how it is read from a step, how it is compared, and the names of its components.
Angles of hinges differ by less than half a turn, quaternions by a rotation vector, all else is subtracted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from isthmus.model.model import Model
from isthmus.networks.names import Selection, count_rows, select, signals_of
from isthmus.networks.signals import Signals
from isthmus.spatial import rotations
from isthmus.types import AnyArray

HEADING = "joint/heading"
"""Unit vector along each spherical joint's own z axis, in its parent's frame: z(q) of Heiden et al. 2019."""
STATE = ("joint/position", "joint/velocity")


@dataclasses.dataclass(frozen=True)
class Channel:
    """One signal that is compared."""

    text: str
    """As the user named it."""
    name: str
    """Of the whole signal."""
    size: int
    """Length of a row of the log."""
    labels: tuple[str, ...]
    """Name of each component of the difference."""
    read: Callable[[Signals, AnyArray, AnyArray], AnyArray]
    """From a step's signals, `q` and `v`, the row of `size` numbers."""
    minus: Callable[[AnyArray, AnyArray], AnyArray]
    """Simulated, measured -> difference."""
    tidy: Callable[[AnyArray], AnyArray]
    """Brings an interpolated row back to its manifold."""
    rows: tuple[int, ...] | None = None
    """Which rows of `q` or `v` these numbers are, for the two signals of the state."""
    wrap: bool = True
    """Whether angles are compared on a circle. `text`, `wrap` and the model determine all other fields."""

    @property
    def of_state(self) -> bool:
        """Whether it can be computed from `q` and `v` alone, without the signals of a step."""
        return self.rows is not None or self.name == HEADING

    @property
    def width(self) -> int:
        """Length of the difference."""
        return len(self.labels)


def channel(model: Model, text: str, *, wrap: bool = True) -> Channel:
    """The signal called `text` (`joint/position`, `point/tip/position` …); `wrap`: angles on a circle."""
    return dataclasses.replace(_channel(model, text, wrap), wrap=wrap)


def _channel(model: Model, text: str, wrap: bool) -> Channel:
    if text == HEADING:
        return _headings(model)
    selection = select(model, text)
    if selection.name == "joint/position":
        return _positions(model, selection, wrap)
    labels = _labels(model, selection)
    size = len(labels)
    read = lambda signal, q, v: jnp.ravel(selection.pick(signal[selection.name]))
    if selection.name == "link/pose":
        return _poses(selection, labels, size, read)
    rows = None
    if selection.name == "joint/velocity":
        rows = _rows(model, selection)
        read = lambda signal, q, v: v if len(rows) == model.dof else v[np.array(rows)]
    minus, tidy = (lambda a, b: a - b), (lambda y: y)
    return Channel(text, selection.name, size, labels, read, minus, tidy, rows)


def heading(q: AnyArray) -> AnyArray:
    """The child's z axis in the parent's frame, of a quaternion."""
    return rotations.matrix(q)[:, 2]


def headings(model: Model, q: AnyArray) -> AnyArray:
    """Unit vectors of all spherical joints, concatenated."""
    spans = [model.layout.q_own[i] for i in _spherical(model)]
    return jnp.concatenate([heading(q[slice(*span)]) for span in spans])


def circular(d: AnyArray) -> AnyArray:
    """The angle `d` [rad] brought to less than half a turn by whole turns."""
    return d - 2.0 * np.pi * jnp.round(d / (2.0 * np.pi))


# kinds of channel ------------------------------------------------------------------------------------------


def _positions(model: Model, selection: Selection, wrap: bool) -> Channel:
    """Positions of some joints, joint by joint."""
    rows = _rows(model, selection)
    joints = [i for i, (a, _) in enumerate(model.layout.q_own) if a in rows and _owns(model, i)]
    kinds, spans, place = [model.kind(i) for i in joints], [], 0
    for kind in kinds:
        spans.append(slice(place, place + kind.nq))
        place += kind.nq

    def minus(a: AnyArray, b: AnyArray) -> AnyArray:
        parts = [kind.minus(a[s], b[s]) for kind, s in zip(kinds, spans, strict=True)]
        return wrapped(jnp.concatenate(parts))

    turning = np.array(
        [model.joint_kinds[i] == "revolute" for i in joints for _ in range(model.kind(i).nv)]
    )
    wrapped = lambda d: d
    if wrap and turning.any():
        wrapped = lambda d: circular(d) if turning.all() else jnp.where(turning, circular(d), d)
    tidy = lambda y: jnp.concatenate([k.normalise(y[s]) for k, s in zip(kinds, spans, strict=True)])
    labels = tuple(
        f"joint/{model.joint_names[i]}/position" + (f"[{k}]" if kind.nv > 1 else "")
        for i, kind in zip(joints, kinds, strict=True)
        for k in range(kind.nv)
    )
    read = lambda signal, q, v: q if len(rows) == model.nq else q[np.array(rows)]
    return Channel(selection.text, selection.name, place, labels, read, minus, tidy, rows)


def _poses(selection: Selection, labels: tuple[str, ...], size: int, read: Callable) -> Channel:
    """Places [m] and rotation vectors [rad]; each seven numbers become six."""

    def minus(a: AnyArray, b: AnyArray) -> AnyArray:
        pairs = [(a[k : k + 7], b[k : k + 7]) for k in range(0, size, 7)]
        turn = lambda x, y: rotations.log(
            rotations.normalise(rotations.product(rotations.conjugate(y[3:]), x[3:]))
        )
        return jnp.concatenate([jnp.concatenate([x[:3] - y[:3], turn(x, y)]) for x, y in pairs])

    def tidy(y: AnyArray) -> AnyArray:
        parts = [y[k : k + 7] for k in range(0, size, 7)]
        return jnp.concatenate(
            [jnp.concatenate([x[:3], rotations.normalise(x[3:])]) for x in parts]
        )

    kept = tuple(label for k, label in enumerate(labels) if k % 7 < 6)
    return Channel(selection.text, selection.name, size, kept, read, minus, tidy)


def _headings(model: Model) -> Channel:
    names = [model.joint_names[i] for i in _spherical(model)]
    labels = tuple(f"joint/{name}/heading[{axis}]" for name in names for axis in "xyz")
    tidy = lambda y: jnp.ravel(
        jnp.concatenate([rotations.normalise(y[k : k + 3]) for k in range(0, len(labels), 3)])
    )
    read = lambda signal, q, v: headings(model, q)
    return Channel(HEADING, HEADING, len(labels), labels, read, lambda a, b: a - b, tidy)


# names -------------------------------------------------------------------------------------------------------


def _labels(model: Model, selection: Selection) -> tuple[str, ...]:
    """Name of each component of a row."""
    spec = next(s for s in signals_of(model) if s.name == selection.name)
    inner = ["".join(f"[{i}]" for i in index) for index in np.ndindex(*spec.shape)]
    if spec.rows is None:
        return tuple(selection.name + part for part in inner)
    family, quantity = selection.name.split("/", 1)
    owned = [
        f"{family}/{name}/{quantity}" + (f"[{k}]" if len(rows) > 1 else "")
        for name, rows in model.rows(spec.rows).items()
        for k, _ in enumerate(rows)
    ]
    rows = range(count_rows(model, spec) or 0) if selection.rows is None else selection.rows
    return tuple(owned[row] + part for row in rows for part in inner)


def _rows(model: Model, selection: Selection) -> tuple[int, ...]:
    count = model.nq if selection.name == "joint/position" else model.dof
    return tuple(range(count)) if selection.rows is None else selection.rows


def _spherical(model: Model) -> list[int]:
    return [
        i for i, kind in enumerate(model.joint_kinds) if kind == "spherical" and _owns(model, i)
    ]


def _owns(model: Model, i: int) -> bool:
    start, stop = model.layout.q_own[i]
    return stop > start
