"""Arrays of a caller as the machine code sees them: their places in flat memory, tables of addresses and types."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.native.targets.layout import CODES, SIZES, Layout
from isthmus.native.tracing.trace import fitting, kind_of


def aligned(entries: int, width: int) -> np.ndarray:
    """Memory for `entries` numbers of `width` bits that starts at a multiple of 64 bytes."""
    raw = np.empty(entries + 16, dtype=inside(np.dtype("f"), width))
    skip = (-raw.ctypes.data % 64) // raw.itemsize
    return raw[skip : skip + entries]


def inside(dtype: np.dtype, width: int) -> np.dtype:
    """The type in which numbers of `dtype` lie in a program's memory; truths are integers there."""
    return np.dtype(f"{'f' if dtype.kind == 'f' else 'i'}{width // 8}")


@dataclasses.dataclass(frozen=True)
class Slot:
    """One array among the flat inputs or outputs."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    place: int

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def window(self, flat: np.ndarray) -> np.ndarray:
        """The part of `flat` that holds this array, in its shape."""
        part = flat[self.place : self.place + self.size]
        return part.view(inside(self.dtype, 8 * flat.itemsize)).reshape(self.shape)


def slots(prefix: str, shapes: Sequence[tuple[str, tuple[int, ...], Any]]) -> list[Slot]:
    """Arrays one behind the other."""
    made, place = [], 0
    for name, shape, dtype in shapes:
        made.append(Slot(prefix + name, tuple(shape), np.dtype(dtype), place))
        place += math.prod(shape)
    return made


class Station:
    """Flat arrays of one thread for calls on one world: inputs, outputs, scratch."""

    def __init__(self, layout: Layout, ins: Sequence[Slot], outs: Sequence[Slot]) -> None:
        self.inputs, self.outputs, self.work = (
            aligned(size, layout.width) for size in (layout.inputs, layout.outputs, layout.work)
        )
        self.args = (self.inputs.ctypes.data, self.outputs.ctypes.data, self.work.ctypes.data)
        self.into = [slot.window(self.inputs) for slot in ins]
        self.out = [slot.window(self.outputs) for slot in outs]


@dataclasses.dataclass
class Table:
    """Addresses, strides and codes of arrays, as the machine code reads them."""

    keep: list[np.ndarray]

    @property
    def args(self) -> tuple[int, int, int]:
        first, second, third = (int(x.ctypes.data) for x in self.keep[:3])
        return first, second, third


def describe(
    arrays: Sequence[np.ndarray], given: Sequence[Slot], shared: Sequence[bool] | None = None
) -> Table:
    """The table of `arrays`, each with a leading axis of worlds unless it is `shared`."""
    moves = [True] * len(arrays) if shared is None else [not still for still in shared]
    codes = [CODES[x.dtype.name] for x in arrays]
    rows = [
        [x.ctypes.data for x in arrays],
        [slot.size * SIZES[c] * m for slot, c, m in zip(given, codes, moves, strict=True)],
        codes,
    ]
    return Table([*(np.array(row or [0], dtype=np.int64) for row in rows), *arrays])


def transportable(x: np.ndarray, slot: Slot) -> np.ndarray:
    """`x` in rows without gaps, in a type that the machine code reads."""
    known = {"f": ("float64", "float32"), "i": ("int64", "int32", "uint32"), "b": ("bool",)}
    kind = kind_of(slot.dtype) or "f"
    if kind == "i":
        x = checked(x, slot)
    if x.dtype.name not in known[kind]:
        movable = slot.dtype if slot.dtype.name in CODES else np.dtype(np.int64)
        x = x.astype(movable, casting="same_kind")
    return np.ascontiguousarray(x)


def checked(x: Any, slot: Slot) -> np.ndarray:
    """Integers that fit into the type of `slot`; truths count as integers, as in NumPy."""
    array = np.asarray(x)
    return fitting(array, slot.dtype) if array.dtype.kind in "iu" else array
