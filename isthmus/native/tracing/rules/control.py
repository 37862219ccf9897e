"""Control flow: scan, while, cond. Loops stay loops; their stacked arrays live in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from jax.extend import core as jex_core

from isthmus.native.ir.program import Branch, Buffer, Loop, View
from isthmus.native.tracing.arrays import SMALL, Array, Index, Long, Patch, columns
from isthmus.native.tracing.rules.products import LARGE
from isthmus.native.tracing.trace import INNER, Trace, cost, kind_of, rule

UNROLL = 256
"""A loop of at most this many scalar operations, all rounds together, is written out."""
CARRY_VALUES = 1024
"""Carried arrays with more entries live in memory."""
CARRY_BESIDE = 32
"""The same, in a loop with products that run over memory."""
BY_INDEX = frozenset(("dynamic_slice", "dynamic_update_slice", "gather", "scatter", "scatter-add"))
"""Primitives that reach some entries of their first operand by an index."""
CHEAP = 24
"""A branch of at most this many values is computed always and chosen from."""


class Carry:
    """The carried arrays of a loop: small ones as parameters, large ones in buffers of their own."""

    def __init__(
        self, trace: Trace, inits: Sequence[Array], most: int, indexed: set[int] | None = None
    ) -> None:
        """`most`: entries of an array of parameters; SMALL for those `indexed`: reached by a computed index."""
        self.trace = trace
        self.shapes = [x.shape for x in inits]
        self.buffers: list[Buffer | None] = []
        self.inits: list[int] = []
        for k, x in enumerate(inits):
            limit = min(most, SMALL) if indexed and k in indexed else most
            if isinstance(x, Long) or x.size > limit:
                p = trace.p
                kind = x.kind if isinstance(x, Long) else p.kinds[int(x.flat[0])]
                buffer = p.buffer(f"c{len(p.buffers)}", "work", math.prod(x.shape), kind)
                trace.memory.write(x, buffer)
                self.buffers.append(buffer)
            else:
                self.buffers.append(None)
                self.inits.extend(x.ravel().tolist())
        self.kinds = [trace.p.kinds[v] for v in self.inits]

    def arrays(self, flat: Sequence[int]) -> list[Array]:
        """The carried arrays with the small ones' entries from `flat`."""
        out: list[Array] = []
        first = 0
        for shape, buffer in zip(self.shapes, self.buffers, strict=True):
            if buffer is not None:
                out.append(self.trace.memory.whole(shape, buffer))
                continue
            size = math.prod(shape)
            out.append(np.array(flat[first : first + size], dtype=np.int64).reshape(shape))
            first += size
        return out

    def update(self, before: Sequence[Array], after: Sequence[Array]) -> list[int]:
        """Stores the new large arrays, in place where only a part changed; returns the small ones' entries."""
        memory, flat, jobs = self.trace.memory, [], []
        for buffer, old, new in zip(self.buffers, before, after, strict=True):
            if buffer is None:
                flat.extend(memory.values(new).ravel().tolist())
            elif new is not old:
                jobs.append(self._job(buffer, old, new))
        for job in jobs:
            job()
        return flat

    def _job(self, buffer: Buffer, old: Array, new: Array) -> Callable[[], None]:
        memory, patches, base = self.trace.memory, [], new
        while isinstance(base, Long) and base.patch is not None:
            patches.append(base.patch)
            base = base.patch.base
        if base is not old:
            settled = memory.settle(memory.long(new))
            return lambda: memory.write(settled, buffer)
        for patch in patches:
            if isinstance(patch.update, Long):
                patch.update = memory.settle(patch.update)

        def apply() -> None:
            for patch in reversed(patches):
                self._apply(buffer, old.shape, patch)

        return apply

    def _apply(self, buffer: Buffer, shape: tuple[int, ...], patch: Patch) -> None:
        p, memory = self.trace.p, self.trace.memory

        def visit(local: Index) -> None:
            spot = tuple(p.op("iadd", a, b) for a, b in zip(patch.start, local, strict=True))
            position = memory.flat(shape, spot)
            old = p.load(buffer, position)
            new = patch.combine(old, memory.pick(patch.update, local))
            p.store(
                buffer, position, new if patch.valid is None else p.select(patch.valid, new, old)
            )

        update = patch.update
        memory.over(update, visit) if isinstance(update, Long) else memory.each(update.shape, visit)


class Stack:
    """The stacked outputs of a scan: one buffer for each entry that changes from round to round."""

    def __init__(self, trace: Trace, length: int, group: object) -> None:
        self.trace, self.length, self.group = trace, length, group

    def push(self, spot: int, y: Array) -> Long:
        """Stores one round's `y`; returns the whole stack, to be read after the loop."""
        p, memory = self.trace.p, self.trace.memory
        shape = (self.length, *y.shape)
        if isinstance(y, Long):
            buffer = p.buffer(f"y{len(p.buffers)}", "work", math.prod(shape), y.kind)
            at = lambda i: memory.flat(shape, (spot, *i))
            memory.over(y, lambda i: p.store(buffer, at(i), y.at(i)))
            return memory.whole(shape, buffer)
        sources: list[Callable[[int], int]] = []
        depth = p.block.depth
        for v in y.ravel().tolist():
            if p.depths[v] < depth:
                sources.append(lambda k, v=v: v)
                continue
            buffer = p.buffer(
                f"y{len(p.buffers)}", "work", self.length, p.kinds[v], group=self.group
            )
            p.store(buffer, spot, v)
            sources.append(lambda k, b=buffer: p.load(b, k))
        kind = p.kinds[int(y.flat[0])] if y.size else "f"
        return Long(shape, kind, lambda i: self._read(y.shape, sources, i), ragged=y.size > 1)

    def _read(
        self, shape: tuple[int, ...], sources: list[Callable[[int], int]], index: Index
    ) -> int:
        p = self.trace.p
        column = self.trace.memory.flat(shape, index[1:])
        known = p.constant(column)
        if known is not None:
            return sources[int(known)](index[0])
        chosen = sources[-1](index[0])
        for k in range(len(sources) - 2, -1, -1):
            chosen = p.select(p.op("ieq", column, p.integer(k)), sources[k](index[0]), chosen)
        return chosen


def size_of(jaxpr: Any) -> int:
    """Scalar operations of a jaxpr, loops inside it multiplied by their length."""
    total = 0
    for eqn in jaxpr.eqns:
        inner = [eqn.params[k] for k in ("jaxpr", "call_jaxpr", "fun_jaxpr") if k in eqn.params]
        if eqn.primitive.name in ("while", "cond"):
            total += 10 * UNROLL
        elif inner:
            total += eqn.params.get("length", 1) * size_of(getattr(inner[0], "jaxpr", inner[0]))
        else:
            total += cost(eqn)
    return total


def indexed_inputs(jaxpr: Any) -> set[int]:
    """Positions of inputs of a jaxpr that are read or written at an index which is computed."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    place = {v: k for k, v in enumerate(jaxpr.invars)}
    found: set[int] = set()
    for eqn in jaxpr.eqns:
        names = [place.get(v) if not isinstance(v, jex_core.Literal) else None for v in eqn.invars]
        if eqn.primitive.name in BY_INDEX:
            found.update(k for k in names[:1] if k is not None)
        inner = next((eqn.params[k] for k in ("jaxpr", "call_jaxpr") if k in eqn.params), None)
        if inner is not None and eqn.primitive.name not in ("scan", "while", "cond"):
            found.update(k for j in indexed_inputs(inner) if (k := names[j]) is not None)
    return found


def most_values(*jaxprs: Any) -> int:
    """Carried arrays of more entries live in memory, in a loop over these jaxprs."""
    for jaxpr in jaxprs:
        for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
            inner = [eqn.params[k] for k in INNER if k in eqn.params]
            inner.extend(eqn.params.get("branches", ()))
            large = eqn.primitive.name == "dot_general" and cost(eqn) >= 2 * LARGE
            if large or most_values(*inner) == CARRY_BESIDE:
                return CARRY_BESIDE
    return CARRY_VALUES


def entry_of(trace: Trace, x: Array, spot: int, most: int = CARRY_VALUES) -> Array:
    """`x[spot]` of a stacked input; in memory where it has more than `most` entries."""
    shape = x.shape[1:]
    memory = trace.memory
    in_memory = isinstance(x, Long) and x.view is not None
    if math.prod(shape) > (min(SMALL, most) if in_memory else most):
        long = memory.long(x)
        if long.view is not None:
            stride, p = long.view.strides[0], trace.p
            start = p.op("iadd", long.view.start, p.op("imul", spot, p.integer(stride)))
            return memory.grid(shape, View(long.view.buffer, start, long.view.strides[1:]))
        at = lambda i: long.at((spot, *i))
        return Long(shape, long.kind, at, work=long.work, ragged=long.ragged)
    if isinstance(x, np.ndarray) and len(x):
        fixed = (x == x[0]).reshape(len(x), -1).all(0).reshape(shape)
        if fixed.all():
            return np.asarray(x[0])
        long = memory.long(x)
        made = [
            int(x[0][i]) if fixed[i] else long.at((spot, *memory.numbers(i)))
            for i in columns(shape)
        ]
        return np.array(made, dtype=np.int64).reshape(shape)
    assert isinstance(x, Long)
    made = [x.at((spot, *memory.numbers(i))) for i in columns(shape)]
    return np.array(made, dtype=np.int64).reshape(shape)


def scan_counts(params: Any) -> tuple[int, int]:
    """How many constants and how many carried arrays a scan has; JAX 0.12 keeps them as trees."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = params["ft_in"].unpack()
    return len(consts), len(carry)


@rule("scan", long=True)
def scan(trace: Trace, eqn: Any, *arrays: Array) -> list[Array]:
    params, length = eqn.params, eqn.params["length"]
    nc, nk = scan_counts(params)
    consts, inits, xs = arrays[:nc], arrays[nc : nc + nk], arrays[nc + nk :]
    closed = params["jaxpr"]
    if length == 0:
        shapes = [v.aval for v in eqn.outvars[nk:]]
        return [*inits, *(np.zeros(a.shape, dtype=np.int64) for a in shapes)]
    if length == 1 or length * size_of(closed.jaxpr) <= UNROLL:
        return scan_unrolled(trace, eqn, consts, list(inits), xs)
    p = trace.p
    consts = [trace.memory.ready(x) for x in consts]
    most = most_values(closed)
    carry = Carry(trace, inits, most, {k - nc for k in indexed_inputs(closed)})
    sources = [x if isinstance(x, Long) else np.asarray(x) for x in xs]
    body = p.enter("loop")
    counter = p.symbol("counter", "i")
    names = [p.symbol("param", kind) for kind in carry.kinds]
    spot = p.op("isub", p.integer(length - 1), counter) if params["reverse"] else counter
    before = carry.arrays(names)
    entries = [entry_of(trace, x, spot, most) for x in sources]
    outs = trace.closed(closed, [*consts, *before, *entries])
    stack = Stack(trace, length, group=body)
    ys = [stack.push(spot, y) for y in outs[nk:]]
    yields = carry.update(before, outs[:nk])
    p.leave()
    results = p.finish("for", Loop(length, counter, carry.inits, names, body, yields), carry.kinds)
    return [*carry.arrays(results), *ys]


def scan_unrolled(
    trace: Trace, eqn: Any, consts: Sequence[Array], carry: list[Array], xs: Sequence[Array]
) -> list[Array]:
    """A short scan, round by round."""
    p, memory, length = trace.p, trace.memory, eqn.params["length"]
    _, nk = scan_counts(eqn.params)
    rounds: list[list[Array]] = [[] for _ in range(length)]
    order = range(length)
    for k in reversed(order) if eqn.params["reverse"] else order:
        entries = [
            np.asarray(x[k]) if isinstance(x, np.ndarray) else entry_of(trace, x, p.integer(k))
            for x in xs
        ]
        outs = trace.closed(eqn.params["jaxpr"], [*consts, *carry, *entries])
        carry, rounds[k] = outs[:nk], outs[nk:]
    stacked = [
        np.array([memory.values(r[j]) for r in rounds], dtype=np.int64).reshape(v.aval.shape)
        for j, v in enumerate(eqn.outvars[nk:])
    ]
    return [*carry, *stacked]


@rule("platform_index", free=True)
def platform_index(trace: Trace, eqn: Any) -> list[Array]:
    """Which of several ways to write a function is the one for CPUs; the last is for all others."""
    platforms = eqn.params["platforms"]
    mine = [k for k, names in enumerate(platforms) if names is None or "cpu" in names]
    return [np.array(trace.p.integer(mine[0] if mine else len(platforms) - 1), dtype=np.int64)]


@rule("cond", long=True)
def cond(trace: Trace, eqn: Any, index: Array, *arrays: Array) -> list[Array]:
    """Cheap branches are computed and chosen from; others are entered only where they are wanted."""
    return choose(trace, eqn, int(trace.memory.values(index)), list(eqn.params["branches"]), arrays)


def choose(
    trace: Trace, eqn: Any, index: int, branches: list, arrays: Sequence[Array]
) -> list[Array]:
    """The branch number `index`, clamped to those there are."""
    p = trace.p
    if len(branches) == 1:
        return trace.closed(branches[0], arrays)
    known = p.constant(index)
    if known is not None:
        return trace.closed(branches[min(max(int(known), 0), len(branches) - 1)], arrays)
    condition = p.op("bnot", index) if p.kinds[index] == "b" else p.op("ile", index, p.integer(0))
    down = p.op("isub", index, p.integer(1)) if p.kinds[index] == "i" else index
    first = lambda: trace.closed(branches[0], arrays)
    rest = lambda: choose(trace, eqn, down, branches[1:], arrays)
    counted = trace.counted
    buffers = [result_buffer(trace, v) for v in eqn.outvars]
    then, then_yields = branch(trace, first, buffers)
    orelse, else_yields = branch(trace, rest, buffers)
    if is_cheap(trace, then) and is_cheap(trace, orelse) and not any(buffers):
        trace.counted = counted
        outs = zip(first(), rest(), strict=True)
        return [
            chosen(trace, condition, trace.memory.values(x), trace.memory.values(y))
            for x, y in outs
        ]
    results = branched(trace, condition, then, orelse, zip(then_yields, else_yields, strict=True))
    outs, at = [], 0
    for v, buffer in zip(eqn.outvars, buffers, strict=True):
        shape, size = tuple(v.aval.shape), math.prod(v.aval.shape)
        if buffer is not None:
            outs.append(trace.memory.whole(shape, buffer))
            continue
        outs.append(np.array(results[at : at + size], dtype=np.int64).reshape(shape))
        at += size
    return outs


def branched(
    trace: Trace, condition: int, then: Any, orelse: Any, pairs: Iterable[tuple[int, int]]
) -> list[int]:
    """The results of two blocks, given as pairs of what they yield: each pair once, and none of equal values."""
    p, pairs = trace.p, list(pairs)
    apart = list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))
    record = Branch(condition, then, orelse, [a for a, _ in apart], [b for _, b in apart])
    found = p.finish("if", record, [p.kinds[a] for a, _ in apart])
    results = dict(zip(apart, found, strict=True))
    return [results.get(pair, pair[0]) for pair in pairs]


def chosen(trace: Trace, condition: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`x` where `condition` holds, else `y`."""
    pairs = zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
    made = [trace.p.select(condition, a, b) for a, b in pairs]
    return np.array(made, dtype=np.int64).reshape(x.shape)


def result_buffer(trace: Trace, var: Any) -> Buffer | None:
    """A buffer for a result that is too large for values."""
    size = math.prod(var.aval.shape)
    if size <= CARRY_VALUES:
        return None
    p = trace.p
    return p.buffer(f"r{len(p.buffers)}", "work", size, kind_of(var.aval.dtype) or "f")


def branch(trace: Trace, run: Callable[[], list[Array]], buffers: list) -> tuple[Any, list[int]]:
    """One branch as a block, and the values it yields; large results are stored inside it."""
    block = trace.p.enter("branch")
    yields: list[int] = []
    for out, buffer in zip(run(), buffers, strict=True):
        if buffer is None:
            yields.extend(trace.memory.values(out).ravel().tolist())
        else:
            trace.memory.write(out, buffer)
    trace.p.leave()
    return block, yields


def is_cheap(trace: Trace, block: Any) -> bool:
    """Few values and no statements."""
    ops = [trace.p.ops[v] for v in block.items]
    return len(ops) <= CHEAP and not set(ops) & {"store", "for", "while", "if", "load"}
