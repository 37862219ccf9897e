"""The compiled thing as a NumPy function: one world, many worlds, its statistics."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from isthmus.errors import BadShape
from isthmus.native.lanes import lower
from isthmus.native.llvm import Code, has_fma, widest
from isthmus.native.passes import contract, prune
from isthmus.native.stats import Stats, count
from isthmus.native.trace import example_array, kind_of, trace_jaxpr, translate
from isthmus.native.wrappers import CODES, SIZES

_LOCK = threading.Lock()
_POOL: list[ThreadPoolExecutor] = []
WORTH_A_THREAD = 200_000
"""Floating-point operations below which a batch is not split over threads unasked."""


def pool() -> ThreadPoolExecutor:
    """The threads that batches are split over."""
    with _LOCK:
        if not _POOL:
            _POOL.append(ThreadPoolExecutor(64, thread_name_prefix="isthmus-native"))
        return _POOL[0]


def aligned(entries: int) -> np.ndarray:
    """Memory for `entries` numbers that starts at a multiple of 64 bytes."""
    raw = np.empty(entries + 8, dtype=np.float64)
    skip = (-raw.ctypes.data % 64) // 8
    return raw[skip : skip + entries]


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
        """The part of `flat` that holds this array, in its shape; truths take 8 bytes there."""
        part = flat[self.place : self.place + self.size]
        wide = np.dtype(np.float64 if self.dtype.kind == "f" else np.int64)
        return part.view(wide).reshape(self.shape)


def slots(prefix: str, shapes: Sequence[tuple[str, tuple[int, ...], Any]]) -> list[Slot]:
    """Arrays one behind the other."""
    made, place = [], 0
    for name, shape, dtype in shapes:
        made.append(Slot(prefix + name, tuple(shape), np.dtype(dtype), place))
        place += math.prod(shape)
    return made


class Station:
    """Flat arrays of one thread for calls on one world: inputs, outputs, scratch."""

    def __init__(self, code: Code, ins: Sequence[Slot], outs: Sequence[Slot]) -> None:
        layout = code.layout
        self.inputs, self.outputs = aligned(layout.inputs), aligned(layout.outputs)
        self.work = aligned(layout.work)
        self.args = (self.inputs.ctypes.data, self.outputs.ctypes.data, self.work.ctypes.data)
        self.into = [slot.window(self.inputs) for slot in ins]
        self.out = [slot.window(self.outputs) for slot in outs]


def is_array(leaf: Any) -> bool:
    """A leaf that can be traced; others (names, functions) are part of the program."""
    return isinstance(leaf, (np.ndarray, np.generic, jax.Array, float, int, bool))


class Flat:
    """A function of pytrees as a function of a list of arrays; the rest is held fixed."""

    def __init__(self, fn: Callable, examples: tuple, static: frozenset[int]) -> None:
        leaves, self.tree = jax.tree.flatten(examples)
        sizes = [len(jax.tree.leaves(x)) for x in examples]
        fixed = [k in static for k, n in enumerate(sizes) for _ in range(n)]
        whole = (int, bool, np.integer, np.bool_)
        self.held = {
            k: leaf
            for k, (leaf, still) in enumerate(zip(leaves, fixed, strict=True))
            if not is_array(leaf) or (still and isinstance(leaf, whole))
        }
        self.traced = [k for k in range(len(leaves)) if k not in self.held]
        self.examples = [example_array(leaves[k]) for k in self.traced]
        self.baked = [fixed[k] for k in self.traced]
        self.fn = fn
        given = tuple(x for k, x in enumerate(examples) if k not in static)
        call_leaves, self.call_tree = jax.tree.flatten(given)
        moving = [leaf for leaf, still in zip(leaves, fixed, strict=True) if not still]
        self.call_traced = [k for k, leaf in enumerate(moving) if is_array(leaf)]
        self.plain_call = len(self.call_traced) == len(call_leaves)

    def __call__(self, *arrays: Any) -> Any:
        """`fn` on the traced leaves."""
        leaves = dict(self.held) | dict(zip(self.traced, arrays, strict=True))
        return self.fn(*jax.tree.unflatten(self.tree, [leaves[k] for k in range(len(leaves))]))

    def moving(self, *arrays: Any) -> list[Any]:
        """The flat results of `fn` on the leaves that a caller gives; baked ones are constants."""
        rest = iter(arrays)
        full = [x if b else next(rest) for x, b in zip(self.examples, self.baked, strict=True)]
        return jax.tree.leaves(self(*full))

    def leaves(self, args: tuple) -> list[Any]:
        """The traced leaves of a call, checked against the structure of the examples."""
        leaves, tree = jax.tree.flatten(args)
        if tree != self.call_tree:
            raise BadShape(
                f"the arguments have the structure {tree}, but the function was compiled for {self.call_tree}."
            )
        return leaves if self.plain_call else [leaves[k] for k in self.call_traced]


class Native:
    """A JAX function as machine code. `f(*args)`: one world; `f.map(*batched)`: many."""

    def __init__(
        self, fn: Callable, examples: tuple, *, static: frozenset[int], strict: bool = False
    ) -> None:
        began = time.perf_counter()
        self.flat = flat = Flat(fn, examples, static)
        closed, out = trace_jaxpr(flat, flat.examples)
        self.out_tree = jax.tree.structure(out)
        program, self._before = translate(closed, flat.examples, flat.baked, strict)
        program = prune(program)
        self._count = count(program)
        self.program = lower(contract(program) if has_fma() else program)
        self._trace_seconds = time.perf_counter() - began
        given = [x for x, b in zip(flat.examples, flat.baked, strict=True) if not b]
        self.inputs = slots("in", [(str(k), x.shape, x.dtype) for k, x in enumerate(given)])
        avals = [v.aval for v in closed.jaxpr.outvars]
        self.outputs = slots("out", [(str(k), a.shape, a.dtype) for k, a in enumerate(avals)])
        self.lanes = widest()
        self._codes: dict[int, Code] = {}
        self._lock = threading.RLock()
        self._local = threading.local()
        self._scratch: list[np.ndarray] = []
        self._narrow = [
            (k, slot.dtype)
            for k, slot in enumerate(self.outputs)
            if slot.dtype not in (np.float64, np.int64)
        ]

    def code(self, lanes: int) -> Code:
        """Machine code for so many worlds side by side; made when first wanted."""
        with self._lock:
            if lanes not in self._codes:
                self._codes[lanes] = Code(self.program, lanes)
            return self._codes[lanes]

    # one world

    def _station(self) -> Station:
        station = self._local.station = Station(self.code(1), self.inputs, self.outputs)
        self._local.run = self.code(1).single
        return station

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """The function of one world's arguments; `out`: arrays of the results' structure to write into."""
        leaves = self.flat.leaves(args)
        if out is None:
            return jax.tree.unflatten(self.out_tree, self.flat_call(leaves))
        targets, tree = jax.tree.flatten(out)
        if tree != self.out_tree:
            raise BadShape(f"out has the structure {tree}; the result has {self.out_tree}.")
        for target, window in zip(targets, self._run(leaves), strict=True):
            if target.shape != window.shape:
                raise BadShape(f"out has an array of shape {target.shape} for {window.shape}.")
            np.copyto(target, window, casting="unsafe")
        return out

    def flat_call(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """The flat results of one world's flat arguments."""
        results = [window.copy() for window in self._run(leaves)]
        for k, dtype in self._narrow:
            results[k] = results[k].astype(dtype)
        return results

    def _run(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """Runs one world; the results stay in this thread's own memory until its next call."""
        local = self._local
        station = getattr(local, "station", None) or self._station()
        for window, leaf in zip(station.into, leaves, strict=True):
            if getattr(leaf, "shape", ()) != window.shape:
                raise self._misfit(leaves)
            np.copyto(window, leaf, casting="same_kind")
        local.run(*station.args)
        return station.out

    def _misfit(
        self, leaves: Sequence[Any], batch: bool = False, slots: Sequence[Slot] | None = None
    ) -> BadShape:
        slots = self.inputs if slots is None else slots
        rows = [
            f"argument leaf {k} has shape {np.shape(x)}, but {slot.shape} was compiled"
            for k, (x, slot) in enumerate(zip(leaves, slots, strict=False))
            if np.shape(x)[1 if batch else 0 :] != slot.shape
        ]
        return BadShape(f"{'; '.join(rows)}." if rows else "the leading axes differ.")

    # many worlds

    def map(self, *args: Any, threads: int | None = None) -> Any:
        """The function of each world; every argument has a leading axis of worlds, as has every result.

        Same bits as one world at a time, whatever the number of `threads` (None: as many as pay).
        """
        return jax.tree.unflatten(self.out_tree, self.flat_map(self.flat.leaves(args), threads))

    def flat_map(
        self,
        given: Sequence[Any],
        threads: int | None = None,
        shared: Sequence[bool] | None = None,
    ) -> list[np.ndarray]:
        """The flat results of many worlds' flat arguments; `shared` ones have no axis of worlds."""
        leaves = [np.asarray(x) for x in given]
        shared = [False] * len(leaves) if shared is None else list(shared)
        moving = [x for x, still in zip(leaves, shared, strict=True) if not still]
        if not moving:
            raise BadShape("map needs at least one argument with an axis of worlds.")
        worlds = moving[0].shape[0] if moving[0].ndim else -1
        if any(x.ndim == 0 or len(x) != worlds for x in moving):
            raise self._misfit(moving, batch=True, slots=[])
        rows = zip(leaves, self.inputs, shared, strict=True)
        if any(x.shape[0 if still else 1 :] != slot.shape for x, slot, still in rows):
            raise self._misfit(leaves, batch=True)
        arrays = [transportable(x, s) for x, s in zip(leaves, self.inputs, strict=True)]
        movable = [s.dtype if s.dtype.name in CODES else np.dtype(np.int64) for s in self.outputs]
        results = [
            np.empty((worlds, *slot.shape), dtype)
            for slot, dtype in zip(self.outputs, movable, strict=True)
        ]
        self.run_blocks(worlds, arrays, results, threads, shared)
        return [y.astype(s.dtype, copy=False) for y, s in zip(results, self.outputs, strict=True)]

    def run_blocks(
        self,
        worlds: int,
        arrays: list[np.ndarray],
        results: list[np.ndarray],
        threads: int | None,
        shared: Sequence[bool] | None = None,
    ) -> None:
        """Blocks of worlds over threads; each thread takes the next block that is left."""
        lanes = self.lanes if worlds > 2 else 1
        code = self.code(lanes)
        blocks = -(-worlds // lanes)
        if threads is None:
            paying = self._count[1] * worlds // WORTH_A_THREAD
            threads = max(1, min(os.cpu_count() or 1, paying))
        threads = max(1, min(threads, blocks))
        ins, outs = describe(arrays, self.inputs, shared), describe(results, self.outputs)
        share = max(1, blocks // (threads * 4)) if threads > 1 else max(blocks, 1)
        tickets = itertools.count(0, share * lanes)

        def work() -> None:
            scratch = self._take(code)
            for first in tickets:
                if first >= worlds:
                    break
                last = min(first + share * lanes, worlds)
                code.map(first, last, *ins.args, *outs.args, scratch.ctypes.data)
            self._scratch.append(scratch)

        others = [pool().submit(work) for _ in range(threads - 1)]
        work()
        for other in others:
            other.result()

    def _take(self, code: Code) -> np.ndarray:
        size = code.work_bytes // 8 + 1
        try:
            scratch = self._scratch.pop()
        except IndexError:
            return np.empty(size)
        return scratch if scratch.size >= size else np.empty(size)

    # more

    def as_jax(self) -> Callable:
        """This function as a JAX function: an XLA custom call with derivatives and batching."""
        from isthmus.native.jaxcall import as_jax

        return as_jax(self)

    @property
    def stats(self) -> Stats:
        """What was pruned, what is left, what it took."""
        made = list(self._codes.values())
        layout = made[0].layout if made else self.code(1).layout
        return Stats(
            operations_before=self._before,
            operations=self._count[0],
            flops=self._count[1],
            bytes=8 * layout.work,
            lanes=self.lanes,
            trace_seconds=self._trace_seconds,
            compile_seconds=sum(code.seconds for code in self._codes.values()),
        )

    def __repr__(self) -> str:
        return f"<{getattr(self.flat.fn, '__name__', 'function')} as {self.stats}>"


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
    if x.dtype.name not in known[kind]:
        x = x.astype(slot.dtype, casting="same_kind")
    return np.ascontiguousarray(x)
