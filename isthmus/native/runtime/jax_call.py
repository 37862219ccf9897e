"""A compiled function as a JAX function: an XLA custom call with jvp, transpose and batching.

Derivatives are compiled at their first use: the tangent of a job is a job, and so is its transpose.
The FFI of XLA is experimental, so a tiny job is tried first; if it fails, or the device is not a CPU, XLA
compiles the function itself.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend import core as jex_core
from jax.interpreters import ad, batching, mlir

from isthmus.errors import BadShape
from isthmus.native.runtime.codes import Code
from isthmus.native.runtime.slots import Slot
from isthmus.native.tracing.flat import Flat

_LOCK = threading.Lock()
_REGISTERED: dict[str, Any] = {}


class Compiled(Protocol):
    """What a call from JAX needs of a compiled function."""

    flat: Flat
    inputs: list[Slot]
    outputs: list[Slot]
    out_tree: Any
    lanes: int

    def code(
        self, lanes: int, shared: frozenset[int] = frozenset(), *, final: bool = False
    ) -> Code: ...
    def flat_call(self, leaves: Sequence[Any]) -> list[np.ndarray]: ...
    def flat_map(self, given: Sequence[Any]) -> list[np.ndarray]: ...


Make = Callable[..., Compiled]
"""(function, examples, width=) -> the compiled function."""


class Job:
    """A function of flat arrays, its machine code, and the jobs that differentiate it."""

    def __init__(
        self, make: Make, fn: Callable[..., list], examples: Sequence[np.ndarray], width: int = 64
    ) -> None:
        self.make, self.fn, self.examples, self.width = make, fn, list(examples), width
        self._native: Compiled | None = None
        self._tangents: dict[tuple, Job] = {}
        self._transposes: dict[tuple, Job] = {}
        self._lock = threading.RLock()
        self.vjp: Callable[..., list] | None = None

    @property
    def native(self) -> Compiled:
        """The machine code, compiled at its first use."""
        with self._lock:
            if self._native is None:
                self._native = self.make(self.fn, tuple(self.examples), width=self.width)
            return self._native

    @functools.cached_property
    def shapes(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes and types of the results, in the precision of the job."""
        if self._native is not None:
            return [jax.ShapeDtypeStruct(s.shape, s.dtype) for s in self._native.outputs]
        with jax.enable_x64(self.width == 64):
            return list(jax.eval_shape(self.fn, *self.examples))

    def tangent(self, active: tuple[int, ...]) -> Job:
        """(arguments, tangents of the `active` ones) -> tangents of the float results."""
        with self._lock:
            if active not in self._tangents:
                n, floats = len(self.examples), self.float_results

                def push(*arrays: Any) -> list:
                    given = dict(zip(active, arrays[n:], strict=True))
                    tangents = [given.get(k, zero_tangent(x)) for k, x in enumerate(arrays[:n])]
                    _, out = jax.jvp(self.fn, arrays[:n], tuple(tangents))
                    return [out[k] for k in floats]

                def pull(*arrays: Any) -> list:
                    primals, cotangents = arrays[:n], arrays[n:]
                    _, back = jax.vjp(lambda *x: [self.fn(*x)[k] for k in floats], *primals)
                    grads = back(list(cotangents))
                    return [grads[k] for k in active]

                given = self.examples + [self.examples[k] for k in active]
                job = Job(self.make, push, given, self.width)
                job.vjp = pull
                self._tangents[active] = job
            return self._tangents[active]

    @functools.cached_property
    def float_results(self) -> list[int]:
        return [k for k, s in enumerate(self.shapes) if np.dtype(s.dtype).kind == "f"]

    def transpose(self, linear: tuple[int, ...]) -> Job:
        """(other arguments, cotangents of all results) -> cotangents of the `linear` arguments."""
        with self._lock:
            if linear not in self._transposes:
                n = len(self.examples)
                known = [k for k in range(n) if k not in linear]
                tail = tuple(range(n - len(linear), n))

                def pull(*arrays: Any) -> list:
                    fixed = dict(zip(known, arrays[: len(known)], strict=True))
                    zeros = [
                        jnp.zeros(self.examples[k].shape, self.examples[k].dtype) for k in linear
                    ]

                    def part(*x: Any) -> list:
                        all_of = fixed | dict(zip(linear, x, strict=True))
                        return self.fn(*(all_of[k] for k in range(n)))

                    _, back = jax.vjp(part, *zeros)
                    return list(back(list(arrays[len(known) :])))

                fn = self.vjp if self.vjp is not None and linear == tail else pull
                given = [self.examples[k] for k in known]
                cotangents = [np.zeros(s.shape, s.dtype) for s in self.shapes]
                self._transposes[linear] = Job(self.make, fn, given + cotangents, self.width)
            return self._transposes[linear]


def zero_tangent(x: Any) -> Any:
    """No change, in the type that JAX wants for it."""
    if jnp.issubdtype(jnp.result_type(x), jnp.floating):
        return jnp.zeros_like(x)
    return np.zeros(jnp.shape(x), jax.dtypes.float0)


native_call_p = jex_core.Primitive("native_call")
native_call_p.multiple_results = True


@native_call_p.def_impl
def _run(*args: Any, job: Job, worlds: int | None, batched: tuple, dtypes: tuple) -> list:
    """On concrete arrays: the NumPy way."""
    arrays = [np.asarray(x) for x in args]
    if worlds is None:
        results = job.native.flat_call(arrays)
    else:
        full = [
            x if b else np.broadcast_to(x, (worlds, *x.shape))
            for x, b in zip(arrays, batched, strict=True)
        ]
        results = job.native.flat_map(full)
    return [jnp.asarray(y, dtype=d) for y, d in zip(results, dtypes, strict=True)]


@native_call_p.def_abstract_eval
def _shapes(*args: Any, job: Job, worlds: int | None, batched: tuple, dtypes: tuple) -> list:
    lead = () if worlds is None else (worlds,)
    return [
        ShapedArray((*lead, *s.shape), np.dtype(d)) for s, d in zip(job.shapes, dtypes, strict=True)
    ]


def _plain(*args: Any, job: Job, worlds: int | None, batched: tuple, dtypes: tuple) -> list:
    """The same by XLA."""
    fn = job.fn
    if worlds is not None:
        fn = jax.vmap(fn, in_axes=tuple(0 if b else None for b in batched), axis_size=worlds)
    return [jnp.asarray(y, dtype=d) for y, d in zip(fn(*args), dtypes, strict=True)]


def _foreign(*args: Any, job: Job, worlds: int | None, batched: tuple, dtypes: tuple) -> list:
    """The same by a call of machine code from XLA; the last two results are the worlds and scratch."""
    native = job.native
    alike = frozenset(k for k, own in enumerate(batched) if worlds is not None and not own)
    code = native.code(1 if worlds is None else native.lanes, alike, final=True)
    lead = () if worlds is None else (worlds,)
    results = [
        jax.ShapeDtypeStruct((*lead, *s.shape), np.dtype(d))
        for s, d in zip(job.shapes, dtypes, strict=True)
    ]
    counter = jax.ShapeDtypeStruct((1 if worlds is None else worlds,), np.uint8)
    scratch = jax.ShapeDtypeStruct((code.work_bytes,), np.uint8)
    call = jax.ffi.ffi_call(register(code), [*results, counter, scratch])
    return list(call(*args))[: len(results)]


def register(code: Code) -> str:
    """The name under which XLA knows the code; kept alive from here on."""
    name = f"isthmus_native_{code.digest}"
    with _LOCK:
        if name not in _REGISTERED:
            capsule = jax.ffi.pycapsule(code.loaded.handler)
            jax.ffi.register_ffi_target(name, capsule, platform="cpu")
            _REGISTERED[name] = (code, capsule)
    return name


@functools.cache
def foreign_calls_work(make: Make) -> bool:
    """A tiny job, run through XLA's foreign calls, gives the right answer."""
    try:
        job = Job(make, lambda x: [2.0 * x + 1.0], [np.zeros(3)])
        with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
            run = jax.jit(
                lambda x: _foreign(x, job=job, worlds=None, batched=(False,), dtypes=(np.float64,))
            )
            found = np.asarray(run(np.array([1.0, 2.0, -4.0]))[0])
        return bool(np.array_equal(found, [3.0, 5.0, -7.0]))
    except Exception:
        return False


_lower_foreign = mlir.lower_fun(_foreign, multiple_results=True)
_lower_plain = mlir.lower_fun(_plain, multiple_results=True)


def _lower_cpu(ctx: Any, *args: Any, **params: Any) -> Any:
    works = foreign_calls_work(params["job"].make)
    return (_lower_foreign if works else _lower_plain)(ctx, *args, **params)


mlir.register_lowering(native_call_p, _lower_plain)
mlir.register_lowering(native_call_p, _lower_cpu, platform="cpu")


def _batch(
    args: Sequence[Any],
    axes: Sequence[Any],
    *,
    job: Job,
    worlds: int | None,
    batched: tuple,
    dtypes: tuple,
):
    """An axis of worlds in front; a second one is folded into the first."""
    size = next(x.shape[a] for x, a in zip(args, axes, strict=True) if a is not None)
    front = [x if a is None else jnp.moveaxis(x, a, 0) for x, a in zip(args, axes, strict=True)]
    mapped = [a is not None for a in axes]
    if worlds is None:
        outs = native_call_p.bind(
            *front, job=job, worlds=size, batched=tuple(mapped), dtypes=dtypes
        )
        return outs, [0] * len(outs)
    flat, flags = [], []
    for x, new, old, example in zip(front, mapped, batched, job.examples, strict=True):
        if new or old:
            inner = x if new else x[None]
            inner = inner if old else jnp.expand_dims(inner, 1)
            whole = jnp.broadcast_to(inner, (size, worlds, *example.shape))
            x = whole.reshape(size * worlds, *example.shape)
        flat.append(x)
        flags.append(new or old)
    outs = native_call_p.bind(
        *flat, job=job, worlds=size * worlds, batched=tuple(flags), dtypes=dtypes
    )
    return [y.reshape(size, worlds, *y.shape[1:]) for y in outs], [0] * len(outs)


batching.primitive_batchers[native_call_p] = _batch


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any):
    job, batched, dtypes = params["job"], params["batched"], params["dtypes"]
    outs = native_call_p.bind(*primals, **params)
    active = tuple(
        k
        for k, t in enumerate(tangents)
        if type(t) is not ad.Zero and np.dtype(job.examples[k].dtype).kind == "f"
    )
    zeros = [ad.Zero(jax.typeof(y).to_tangent_aval()) for y in outs]
    if not active:
        return outs, zeros
    moved = native_call_p.bind(
        *primals,
        *(tangents[k] for k in active),
        job=job.tangent(active),
        worlds=params["worlds"],
        batched=(*batched, *(batched[k] for k in active)),
        dtypes=tuple(dtypes[k] for k in job.float_results),
    )
    for k, t in zip(job.float_results, moved, strict=True):
        zeros[k] = t
    return outs, zeros


ad.primitive_jvps[native_call_p] = _jvp


def _transpose(
    cotangents: Sequence[Any],
    *args: Any,
    job: Job,
    worlds: int | None,
    batched: tuple,
    dtypes: tuple,
):
    linear = tuple(k for k, x in enumerate(args) if ad.is_undefined_primal(x))
    known = [k for k in range(len(args)) if k not in linear]
    given = [jnp.zeros(c.aval.shape, c.aval.dtype) if type(c) is ad.Zero else c for c in cotangents]
    flags = (*(batched[k] for k in known), *([worlds is not None] * len(given)))
    outs = native_call_p.bind(
        *(args[k] for k in known),
        *given,
        job=job.transpose(linear),
        worlds=worlds,
        batched=flags,
        dtypes=tuple(np.dtype(args[k].aval.dtype) for k in linear),
    )
    result: list[Any] = [None] * len(args)
    for k, y in zip(linear, outs, strict=True):
        result[k] = y if worlds is None or batched[k] else jnp.sum(y, 0)
    return result


ad.primitive_transposes[native_call_p] = _transpose


def as_jax(native: Compiled, make: Make) -> Callable:
    """`native` for use inside jit, vmap, grad, scan; results have the precision that JAX is set to.

    `make` compiles its derivatives.
    """
    given = [x for x, b in zip(native.flat.examples, native.flat.baked, strict=True) if not b]
    job = Job(make, native.flat.moving, given, native.flat.width)
    job._native = native

    def call(*args: Any) -> Any:
        leaves = native.flat.leaves(args)
        for leaf, slot in zip(leaves, native.inputs, strict=True):
            if jnp.shape(leaf) != slot.shape:
                raise BadShape(f"an argument has shape {jnp.shape(leaf)} instead of {slot.shape}.")
        arrays = [entering(x, slot.dtype) for x, slot in zip(leaves, native.inputs, strict=True)]
        dtypes = tuple(jax.dtypes.canonicalize_dtype(slot.dtype) for slot in native.outputs)
        outs = native_call_p.bind(
            *arrays, job=job, worlds=None, batched=(False,) * len(arrays), dtypes=dtypes
        )
        return jax.tree.unflatten(native.out_tree, outs)

    return call


def entering(x: Any, dtype: np.dtype) -> Any:
    """`x` in a type that the machine code reads."""
    x = jnp.asarray(x)
    if dtype.kind == "f" and x.dtype not in (np.float64, np.float32):
        return x.astype(jax.dtypes.canonicalize_dtype(dtype))
    if dtype.kind == "i" and x.dtype not in (np.int64, np.int32):
        return x.astype(jax.dtypes.canonicalize_dtype(dtype))
    return x
