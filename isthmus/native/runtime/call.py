"""A compiled function as a NumPy function: one world, many worlds, its statistics."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import numpy as np

from isthmus.errors import BadShape
from isthmus.native.ir.program import Program
from isthmus.native.runtime.codes import Code
from isthmus.native.runtime.cores import cores
from isthmus.native.runtime.jax_call import as_jax
from isthmus.native.runtime.known import Known
from isthmus.native.runtime.plan import Plan
from isthmus.native.runtime.slots import (
    Station,
    checked,
    describe,
    inside,
    slots,
    transportable,
)
from isthmus.native.runtime.stats import Stats
from isthmus.native.runtime.store import usable
from isthmus.native.targets import find, here
from isthmus.native.targets.layout import CODES
from isthmus.native.tracing.flat import Flat
from isthmus.phases import phase

_LOCK = threading.Lock()
_POOL: list[ThreadPoolExecutor] = []
DRAFT = 30_000
"""Operations above which code is drafted: compiled fast first, and optimised once it has run for long. Of a robot
of 38 degrees of freedom, the gradient (103,000) then starts after 11 s instead of 23 s of CPU."""
HASTY = 2_500
"""The same for functions that may run once or often."""
DRAFT_SECONDS = 5e-5
"""Seconds of running, for each operation, after which a draft is optimised: about half of what that takes."""
WORTH_A_THREAD = 200_000
"""Floating-point operations below which a batch is not split over threads unasked."""


def pool() -> ThreadPoolExecutor:
    """The threads that batches are split over."""
    with _LOCK:
        if not _POOL:
            _POOL.append(ThreadPoolExecutor(64, thread_name_prefix="isthmus-native"))
        return _POOL[0]


class Native:
    """A JAX function as machine code. `f(*args)`: one world; `f.map(*batched)`: many."""

    def __init__(
        self,
        fn: Callable,
        examples: tuple,
        *,
        static: frozenset[int] = frozenset(),
        strict: bool = False,
        known: Known | None = None,
        width: int | None = None,
        label: str | None = None,
        seconds: float | None = None,
        brief: bool = False,
        hasty: bool = False,
    ) -> None:
        """`label`: what people call the function; `seconds`: about how long tracing and compiling take.

        `brief`: it will run so rarely that compiling fast matters more than fast code. `hasty`: it is not known how
        often it will run, so code of medium length is drafted too.
        """
        self._brief, self._draft_from = brief, HASTY if hasty else DRAFT
        began = time.perf_counter()
        self.label, self._seconds = label, seconds
        self.flat = flat = Flat(fn, examples, static, width)
        self._strict, self._known = strict, known
        self.target = here()
        self._lock = threading.RLock()
        self._plan: Plan | None = None
        found = None if known is None else known.read()
        self.facts = self.plan.facts if found is None else found
        self.out_tree = self.plan.out_tree if known is None or found is None else known.result
        self._trace_seconds = time.perf_counter() - began
        given = [x for x, b in zip(flat.examples, flat.baked, strict=True) if not b]
        self.inputs = slots("in", [(str(k), x.shape, x.dtype) for k, x in enumerate(given)])
        results = [(str(k), *about) for k, about in enumerate(self.facts.outputs)]
        self.outputs = slots("out", results)
        self.lanes = self.target.lanes(flat.width)
        self._codes: dict[str, Code] = {}
        self._local = threading.local()
        self._scratch: list[np.ndarray] = []
        self._whole = [k for k, slot in enumerate(self.inputs) if slot.dtype.kind in "iu"]
        self._narrow = [
            (k, slot.dtype)
            for k, slot in enumerate(self.outputs)
            if slot.dtype != inside(slot.dtype, flat.width)
        ]

    @property
    def plan(self) -> Plan:
        """The traced function; one that was found on disk is traced only when its program is needed."""
        with self._lock:
            if self._plan is None:
                from isthmus.native.runtime.pipeline import plan_of  # the whole translator

                flat = self.flat
                with self._phase():
                    self._plan = plan_of(
                        flat, flat.examples, flat.baked, self._strict, flat.width, self.target
                    )
            return self._plan

    def _phase(self) -> AbstractContextManager[None]:
        """A phase that is shown while this function is compiled, if it has a label."""
        if self.label is None:
            return nullcontext()
        kept = ", once, then kept on disk" if self._known and usable() is not None else ""
        return phase(f"compiling {self.label}{kept}", self._seconds)

    @property
    def program(self) -> Program:
        """The scalar program that the machine code does."""
        return self.plan.program

    @property
    def known_as(self) -> str | None:
        """The name that finds this function on disk without tracing it; None: there is none."""
        return None if self._known is None else self._known.name

    def code(
        self, lanes: int, shared: frozenset[int] = frozenset(), *, final: bool = False
    ) -> Code:
        """Machine code for so many worlds side by side; compiled, or loaded from disk, at its first use.

        `shared`: positions of the inputs that are the same in all lanes of a block. `final`: no draft, for callers
        that keep the code and would not ask again for the optimised one.
        """
        variant = f"{lanes}" + "".join(f" {k}" for k in sorted(shared))
        with self._lock:
            if variant not in self._codes:
                draft = self._brief or (not final and self.facts.operations > self._draft_from)
                found = self._load(variant, lanes) or (
                    self._load(f"{variant} draft", lanes) if draft else None
                )
                self._codes[variant] = found or self._make(variant, lanes, shared, draft)
            code = self._codes[variant]
            tried = final or code.spent > DRAFT_SECONDS * self.facts.operations
            if code.draft and tried and not self._brief:
                code = self._codes[variant] = self._make(variant, lanes, shared, False)
            return code

    def _load(self, variant: str, lanes: int) -> Code | None:
        """Code that a known function left on disk."""
        entry = self.facts.codes.get(variant) if self._known else None
        code = None if entry is None else Code.stored(self.target, entry, lanes)
        if code is not None:
            code.draft = variant.endswith("draft")
        return code

    def _make(self, variant: str, lanes: int, shared: frozenset[int], draft: bool) -> Code:
        program = self.program
        with self._phase():
            code = Code.of(self.target, program, lanes, shared, draft)
        code.draft = draft
        if self._known and self.plan.out_tree == self._known.result:
            self.facts.codes[f"{variant} draft" if draft else variant] = code.entry
            self._known.write(self.facts)
        return code

    # one world

    def _station(self) -> Station:
        code = self.code(1)
        station = self._local.station = Station(code.layout, self.inputs, self.outputs)
        self._local.run = self._timed if code.draft else code.single
        return station

    def _timed(self, *addresses: int) -> None:
        """Runs one world with a draft; one that has run for long is replaced by optimised code."""
        code = self.code(1)
        began = time.perf_counter()
        code.single(*addresses)
        code.spent += time.perf_counter() - began
        if not code.draft:
            self._local.run = code.single

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """The function of one world's arguments; `out`: arrays of the results' structure to write into."""
        leaves = self.flat.leaves(args)
        if out is None:
            return jax.tree.unflatten(self.out_tree, self.flat_call(leaves))
        targets, tree = jax.tree.flatten(out)
        if tree != self.out_tree:
            raise BadShape(f"out has the structure {tree}; the result has {self.out_tree}.")
        for target, window in zip(targets, self.run(leaves), strict=True):
            if target.shape != window.shape:
                raise BadShape(f"out has an array of shape {target.shape} for {window.shape}.")
            np.copyto(target, window, casting="unsafe")
        return out

    def flat_call(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """The flat results of one world's flat arguments."""
        results = [window.copy() for window in self.run(leaves)]
        for k, dtype in self._narrow:
            results[k] = results[k].astype(dtype)
        return results

    def run(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """Runs one world; the results stay in this thread's own memory until its next call."""
        local = self._local
        station = getattr(local, "station", None) or self._station()
        for window, leaf in zip(station.into, leaves, strict=True):
            if getattr(leaf, "shape", ()) != window.shape:
                raise self._misfit(leaves)
            np.copyto(window, leaf, casting="same_kind")
        for k in self._whole:
            if getattr(leaves[k], "dtype", None) != self.inputs[k].dtype:
                checked(leaves[k], self.inputs[k])
        local.run(*station.args)
        return station.out

    def _misfit(self, leaves: Sequence[Any], batch: bool = False) -> BadShape:
        rows = [
            f"argument leaf {k} has shape {np.shape(x)}, but {slot.shape} was compiled"
            for k, (x, slot) in enumerate(zip(leaves, self.inputs, strict=False))
            if np.shape(x)[1 if batch else 0 :] != slot.shape
        ]
        return BadShape(f"{'; '.join(rows)}.")

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
            shapes = ", ".join(str(x.shape) for x in moving)
            raise BadShape(f"map: the leading axes differ, of worlds; the arguments have {shapes}.")
        rows = zip(leaves, self.inputs, shared, strict=True)
        if any(x.shape[0 if still else 1 :] != slot.shape for x, slot, still in rows):
            raise self._misfit(leaves, batch=True)
        arrays = [transportable(x, s) for x, s in zip(leaves, self.inputs, strict=True)]
        results = self._empty(worlds)
        self.run_blocks(worlds, arrays, results, threads, shared)
        return [y.astype(s.dtype, copy=False) for y, s in zip(results, self.outputs, strict=True)]

    def _empty(self, worlds: int) -> list[np.ndarray]:
        """Room for the results of so many worlds, in types that the machine code writes."""
        movable = [s.dtype if s.dtype.name in CODES else np.dtype(np.int64) for s in self.outputs]
        return [
            np.empty((worlds, *slot.shape), dtype)
            for slot, dtype in zip(self.outputs, movable, strict=True)
        ]

    def flat_blocks(
        self, given: Sequence[Any], rows: Sequence[np.ndarray], threads: int | None = None
    ) -> list[np.ndarray]:
        """The flat results (blocks, lanes, …) of blocks whose lanes share most arguments.

        Block `b` takes row `rows[k][b]` of the flat argument `k`, of shape (rows, …), for all of its lanes; of an
        argument of shape (rows, lanes, …), each lane takes its own. What is computed from shared arguments alone is
        computed once for all lanes.
        """
        leaves, lanes = [np.asarray(x) for x in given], self.lanes
        each = [x.ndim > 1 + len(s.shape) for x, s in zip(leaves, self.inputs, strict=True)]
        for k, (x, slot, own) in enumerate(zip(leaves, self.inputs, each, strict=True)):
            if x.shape[1:] != ((lanes, *slot.shape) if own else slot.shape):
                raise BadShape(f"argument leaf {k} has shape {x.shape}; {slot.shape} was compiled.")
        arrays = [transportable(x, s) for x, s in zip(leaves, self.inputs, strict=True)]
        table = np.array(
            [np.asarray(r) * (lanes if own else 1) for r, own in zip(rows, each, strict=True)],
            dtype=np.int64,
        )
        results = self._empty(table.shape[1] * lanes)
        alike = frozenset(k for k, own in enumerate(each) if not own)
        self.run_blocks(len(results[0]), arrays, results, threads, rows=table, alike=alike)
        split = lambda y: y.reshape(table.shape[1], lanes, *y.shape[1:])
        return [
            split(y).astype(s.dtype, copy=False) for y, s in zip(results, self.outputs, strict=True)
        ]

    def run_blocks(
        self,
        worlds: int,
        arrays: list[np.ndarray],
        results: list[np.ndarray],
        threads: int | None,
        shared: Sequence[bool] | None = None,
        rows: np.ndarray | None = None,
        alike: frozenset[int] = frozenset(),
    ) -> None:
        """Blocks of worlds over threads; each thread takes the next block that is left.

        `rows`: for each argument, the row where each block begins; `alike`: arguments whose lanes take one row.
        """
        lanes = self.lanes if worlds > 2 or rows is not None else 1
        code = self.code(lanes, alike)
        blocks = -(-worlds // lanes)
        starts = None if rows is None else np.array([r.ctypes.data for r in rows], dtype=np.int64)
        table = 0 if starts is None else starts.ctypes.data
        if threads is None:
            paying = self.facts.flops * worlds // WORTH_A_THREAD
            threads = max(1, min(cores(), paying))
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
                code.map(first, last, *ins.args, *outs.args, scratch.ctypes.data, table)
            self._scratch.append(scratch)

        began = time.perf_counter()
        others = [pool().submit(work) for _ in range(threads - 1)]
        work()
        for other in others:
            other.result()
        code.spent += time.perf_counter() - began

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
        return as_jax(self, Native)

    def source(self, language: str = "llvm", *, lanes: int = 1) -> str:
        """This function as text: what LLVM gets for so many `lanes`, or plain C for one world."""
        target = find(language)
        if target is self.target:
            return target.text(self.program, lanes)
        from isthmus.native.runtime.c_source import source_c  # loads the backend for C

        return str(source_c(self, tested=False))

    @property
    def stats(self) -> Stats:
        """What was pruned, what is left, what it took."""
        made = list(self._codes.values())
        layout = made[0].layout if made else self.code(1).layout
        return Stats(
            operations_before=self.facts.before,
            operations=self.facts.operations,
            flops=self.facts.flops,
            bytes=layout.bytes * layout.work,
            lanes=self.lanes,
            trace_seconds=self._trace_seconds,
            compile_seconds=sum(code.seconds for code in self._codes.values()),
        )

    @property
    def name(self) -> str:
        """What the function is called."""
        return getattr(self.flat.fn, "__name__", "function")

    def __repr__(self) -> str:
        return f"<{self.name} as {self.stats}>"

    def __str__(self) -> str:
        """Operations by kind, and the lines of code that they come from."""
        from isthmus.native.runtime.table import report

        return report(self.name, self.stats, self.plan.pruned, self.target.fuses())
