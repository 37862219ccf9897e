"""Reading and writing at an index: slices, gather, scatter, static or dynamic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from isthmus.errors import NotTranslatable
from isthmus.native.ir.program import View
from isthmus.native.tracing.arrays import Array, Index, Long, Patch, columns
from isthmus.native.tracing.trace import Trace, kind_of, rule

VALUES = 1024
"""With more entries, what is gathered stays a function of its index."""
ROWS = 64
"""So many rows of indices are scattered one by one; more in a loop."""
CHOICES = 2048
"""So many choices are written out for rows at moving places: each may be any entry. More are stored in a loop."""
MANY = 256
"""From so many entries on, an array of equal ones that is changed at a moving place stays in memory."""


def clamped(trace: Trace, index: int, last: int) -> int:
    """`index` moved into 0…`last`."""
    p = trace.p
    known = p.constant(index)
    if known is not None:
        return p.integer(min(max(int(known), 0), last))
    return p.op("imax", p.op("imin", index, p.integer(last)), p.integer(0))


def shifted(trace: Trace, start: Index, index: Index) -> Index:
    """`start + index`, axis by axis."""
    return tuple(trace.p.op("iadd", a, b) for a, b in zip(start, index, strict=True))


def window(trace: Trace, x: Array, start: Index, shape: tuple[int, ...]) -> Array:
    """The part of `x` of `shape` that begins at `start`."""
    if isinstance(x, np.ndarray):
        known: list[Any] = [trace.p.constant(i) for i in start]
        if None not in known:
            return x[tuple(slice(a, a + n) for a, n in zip(known, shape, strict=True))]
        x_flat = [
            trace.memory.pick(x, shifted(trace, start, trace.memory.numbers(i)))
            for i in columns(shape)
        ]
        return np.array(x_flat, dtype=np.int64).reshape(shape)
    if x.view is not None:
        first = x.view.start
        for a, stride in zip(start, x.view.strides, strict=True):
            first = trace.p.op("iadd", first, trace.p.op("imul", a, trace.p.integer(stride)))
        return trace.memory.grid(shape, View(x.view.buffer, first, x.view.strides))
    return Long(shape, x.kind, lambda i: x.at(shifted(trace, start, i)))


def replaced(trace: Trace, x: Array, patch: tuple) -> Array:
    """`x` with `combine(old, update)` in the window at `start`, where `valid`."""
    start, update, combine, valid = patch
    if 0 in update.shape:
        return x
    p, memory = trace.p, trace.memory
    moving = any(p.constant(i) is None for i in start)
    if isinstance(x, np.ndarray) and x.size > MANY and moving and (x == x.flat[0]).all():
        x = memory.long(x)
    if isinstance(x, np.ndarray) and not isinstance(update, Long):
        return replaced_values(trace, x, start, update, combine, valid)
    base = memory.long(x)
    shape = update.shape

    def at(index: Index) -> int:
        inside = p.const(True, "b") if valid is None else valid
        local = []
        for i, s, n in zip(index, start, shape, strict=True):
            j = p.op("isub", i, s)
            inside = p.op("band", inside, p.op("ile", p.integer(0), j))
            inside = p.op("band", inside, p.op("ilt", j, p.integer(n)))
            local.append(clamped(trace, j, n - 1))
        if p.constant(inside) is False:
            return base.at(index)
        old = base.at(index)
        return p.select(inside, combine(old, memory.pick(update, tuple(local))), old)

    return Long(base.shape, base.kind, at, patch=Patch(base, start, update, combine, valid))


def replaced_values(
    trace: Trace,
    x: np.ndarray,
    start: Index,
    update: np.ndarray,
    combine: Callable,
    valid: int | None,
) -> np.ndarray:
    """The same on values: each entry that the window may cover is chosen anew."""
    p = trace.p
    known = [p.constant(i) for i in start]
    out = x.copy()
    yes = p.const(True, "b") if valid is None else valid
    ranges = [
        range(n - m + 1) if a is None else range(int(a), int(a) + 1)
        for a, n, m in zip(known, x.shape, update.shape, strict=True)
    ]
    for corner in np.ndindex(*(len(r) for r in ranges)):
        place = [r[c] for r, c in zip(ranges, corner, strict=True)]
        here = yes
        for s, a, k in zip(start, place, known, strict=True):
            if k is None:
                here = p.op("band", here, p.op("ieq", s, p.integer(a)))
        for local in columns(update.shape):
            spot = tuple(a + i for a, i in zip(place, local, strict=True))
            old = int(x[spot])
            new = p.select(here, combine(old, int(update[local])), int(out[spot]))
            out[spot] = new
    return out


@rule("dynamic_slice", long=True, free=True)
def dynamic_slice(trace: Trace, eqn: Any, x: Array, *start: Array) -> list[Array]:
    shape = tuple(eqn.params["slice_sizes"])
    firsts = [
        clamped(trace, int(trace.memory.values(s)), n - m)
        for s, n, m in zip(start, x.shape, shape, strict=True)
    ]
    return [window(trace, x, tuple(firsts), shape)]


@rule("dynamic_update_slice", long=True, free=True)
def dynamic_update_slice(
    trace: Trace, eqn: Any, x: Array, update: Array, *start: Array
) -> list[Array]:
    firsts = tuple(
        clamped(trace, int(trace.memory.values(s)), n - m)
        for s, n, m in zip(start, x.shape, update.shape, strict=True)
    )
    return [replaced(trace, x, (firsts, update, lambda old, new: new, None))]


def mode_of(eqn: Any) -> str:
    """`fill`, `clip` or `trust`."""
    name = str(eqn.params["mode"]).lower()
    return "clip" if "clip" in name else "fill" if "fill" in name else "trust"


def ints(axes: Any) -> tuple[int, ...]:
    """Plain integers."""
    return tuple(int(k) for k in axes)


def start_of(
    trace: Trace, rows: list[int], axes: tuple[int, ...], shape: tuple, sizes: tuple, mode: str
) -> tuple[list[int], int | None]:
    """The clamped window start on each axis, and where it needed no clamping (None: everywhere)."""
    p = trace.p
    start = [p.integer(0)] * len(shape)
    valid: int | None = None
    for axis, value in zip(axes, rows, strict=True):
        last = shape[axis] - sizes[axis]
        start[axis] = clamped(trace, value, last)
        if mode == "fill":
            inside = p.op(
                "band", p.op("ile", p.integer(0), value), p.op("ile", value, p.integer(last))
            )
            valid = inside if valid is None else p.op("band", valid, inside)
    if valid is not None and p.constant(valid) is True:
        valid = None
    return start, valid


@rule("gather", long=True, free=True)
def gather(trace: Trace, eqn: Any, x: Array, indices: Array) -> list[Array]:
    dims, sizes, mode = (
        eqn.params["dimension_numbers"],
        tuple(eqn.params["slice_sizes"]),
        mode_of(eqn),
    )
    shape = tuple(eqn.outvars[0].aval.shape)
    p, offset, pick = trace.p, tuple(dims.offset_dims), trace.memory.pick
    gone = set(dims.collapsed_slice_dims) | set(dims.operand_batching_dims)
    axes = [k for k in range(len(x.shape)) if k not in gone]
    batch = [k for k in range(len(shape)) if k not in offset]
    fill = int(np.asarray(trace.memory.values(trace.literal(fill_value(eqn)))))
    starts: dict[tuple, tuple] = {}

    def begin(cell: Index) -> tuple:
        if (p.block, cell) not in starts:
            rows = [pick(indices, (*cell, n)) for n in trace.memory.numbers(range(depth))]
            start, valid = start_of(trace, rows, ints(dims.start_index_map), x.shape, sizes, mode)
            for a, b in zip(
                dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True
            ):
                start[a] = cell[b]
            starts[p.block, cell] = (start, valid)
        return starts[p.block, cell]

    def entry(i: Index) -> int:
        start, valid = begin(tuple(i[k] for k in batch))
        index = list(start)
        for k, j in zip(axes, [i[k] for k in offset], strict=True):
            index[k] = p.op("iadd", index[k], j)
        value = pick(x, tuple(index))
        return value if valid is None else p.select(valid, value, fill)

    depth = indices.shape[-1]
    kind = kind_of(eqn.outvars[0].aval.dtype) or "f"
    many = math.prod(shape) > (MANY if isinstance(indices, Long) else VALUES)
    if (many and moves(trace, x, indices)) or (isinstance(x, Long) and not batch):
        return [Long(shape, kind, entry)]
    made = [entry(trace.memory.numbers(i)) for i in columns(shape)]
    return [np.array(made, dtype=np.int64).reshape(shape)]


def moves(trace: Trace, *arrays: Array) -> bool:
    """Not all of it are values at fixed places: the second of `arrays` are the places."""
    return any(isinstance(x, Long) for x in arrays) or not known(trace, arrays[1])


def known(trace: Trace, places: Array) -> bool:
    """Whether indices are numbers that are there when the program is made."""
    if isinstance(places, Long):
        return False
    return all(trace.p.constant(int(i)) is not None for i in np.ravel(places))


def fill_value(eqn: Any) -> np.ndarray:
    """What reading outside gives: NaN, or the smallest integer (largest, unsigned)."""
    value, dtype = eqn.params.get("fill_value"), np.dtype(eqn.outvars[0].aval.dtype)
    if value is None and dtype.kind in "iu":
        limits = np.iinfo(cast(Any, dtype))
        value = limits.max if dtype.kind == "u" else limits.min
    elif value is None:
        value = True if dtype.kind == "b" else math.nan
    return np.asarray(value).astype(dtype)


@rule(
    "scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max", "scatter-sub", long=True
)
def scatter(trace: Trace, eqn: Any, x: Array, indices: Array, updates: Array) -> list[Array]:
    dims, mode = eqn.params["dimension_numbers"], mode_of(eqn)
    p, dtype = trace.p, eqn.outvars[0].aval.dtype
    gone = set(dims.inserted_window_dims) | set(dims.operand_batching_dims)
    axes = [k for k in range(len(x.shape)) if k not in gone]
    windows = tuple(dims.update_window_dims)
    batch = [k for k in range(len(updates.shape)) if k not in windows]
    sizes = [1] * len(x.shape)
    for k, w in zip(axes, windows, strict=True):
        sizes[k] = updates.shape[w]
    combine = combiner(trace, eqn, dtype)
    depth = indices.shape[-1]

    def begin(cell: Index) -> tuple[list[int], int | None]:
        rows = [trace.memory.pick(indices, (*cell, n)) for n in trace.memory.numbers(range(depth))]
        start, valid = start_of(
            trace,
            rows,
            ints(dims.scatter_dims_to_operand_dims),
            x.shape,
            tuple(sizes),
            "clip" if mode == "clip" else "fill",
        )
        for a, b in zip(
            dims.operand_batching_dims, dims.scatter_indices_batching_dims, strict=True
        ):
            start[a] = cell[b]
        return start, valid

    rows = math.prod(updates.shape[k] for k in batch)
    choices = rows > 1 and rows * math.prod(x.shape) > CHOICES and not known(trace, indices)
    if choices or (rows > ROWS and moves(trace, x, indices, updates)):
        place = (batch, [windows[axes.index(k)] if k in axes else None for k in range(len(sizes))])
        return [scatter_loop(trace, x, updates, place, begin, combine)]
    if isinstance(updates, Long) and batch:
        updates = trace.memory.values(updates)
    for cell in columns([updates.shape[k] for k in batch]):
        start, valid = begin(trace.memory.numbers(cell))
        if valid is not None and p.constant(valid) is False:
            continue
        x = replaced(trace, x, (tuple(start), part_of(updates, batch, cell, sizes), combine, valid))
    return [x]


def scatter_loop(
    trace: Trace, x: Array, updates: Array, place: tuple, begin: Callable, combine: Callable
) -> Long:
    """Many windows, one after the other, changed in memory; `place`: which axes of `updates` are what."""
    p, memory = trace.p, trace.memory
    batch, windows = place
    target = memory.settle(memory.long(x))
    assert target.buffer is not None
    buffer, shape = target.buffer, target.shape

    def change(cell: Index, start: list[int], valid: int | None, inner: Index) -> None:
        source: list[int] = [0] * len(updates.shape)
        for k, i in zip(batch, cell, strict=True):
            source[k] = i
        for k, i in zip(windows, inner, strict=True):
            if k is not None:
                source[k] = i
        spot = memory.flat(shape, shifted(trace, tuple(start), inner))
        old = p.load(buffer, spot)
        new = combine(old, memory.pick(updates, tuple(source)))
        p.store(buffer, spot, new if valid is None else p.select(valid, new, old))

    def visit(cell: Index) -> None:
        start, valid = begin(cell)
        sizes = [1 if k is None else updates.shape[k] for k in windows]
        memory.nest(sizes, lambda inner: change(cell, start, valid, inner))

    memory.nest([updates.shape[k] for k in batch], visit, few=1)
    return target


def part_of(updates: Array, batch: list[int], cell: tuple[int, ...], sizes: list[int]) -> Array:
    """The window of `updates` that belongs to one row of indices, with the axes of the operand."""
    if isinstance(updates, np.ndarray):
        spot: list[Any] = [slice(None)] * updates.ndim
        for k, i in zip(batch, cell, strict=True):
            spot[k] = i
        return updates[tuple(spot)].reshape(sizes)
    long = [k for k, n in enumerate(sizes) if n != 1]
    if [sizes[k] for k in long] != [n for n in updates.shape if n != 1]:
        raise NotTranslatable("scatter of this form into a long array")

    short = next((k for k, n in enumerate(sizes) if n == 1), 0)

    def at(index: Index) -> int:
        rest = iter([index[k] for k in long])
        return updates.at(tuple(index[short] if n == 1 else next(rest) for n in updates.shape))

    return Long(tuple(sizes), updates.kind, at)


def combiner(trace: Trace, eqn: Any, dtype: Any) -> Callable[[int, int], int]:
    """How a scatter joins the old entry and the update."""
    p, kind, name = trace.p, kind_of(dtype), eqn.primitive.name
    if name == "scatter":
        return applied(trace, eqn)
    op = name.split("-")[1]
    if kind == "b":
        raise NotTranslatable(f"{name} of truths")
    return lambda old, new: trace.fit(p.op(op if kind == "f" else "i" + op, old, new), dtype)


def applied(trace: Trace, eqn: Any) -> Callable[[int, int], int]:
    """The update as it is, or a function of the old entry: `x.at[i].apply(f)`."""
    jaxpr, consts = eqn.params.get("update_jaxpr"), eqn.params.get("update_consts", ())
    if jaxpr is None or jaxpr.outvars[0] is jaxpr.invars[-1]:
        return lambda old, new: new
    scalar = lambda value: np.array(value, dtype=np.int64)

    def combine(old: int, new: int) -> int:
        given = [trace.literal(c) for c in consts]
        (found,) = trace.run(jaxpr, given, [scalar(old), scalar(new)])
        return int(np.asarray(trace.memory.values(found)))

    return combine
