"""`compile`: a JAX function as machine code, or run by XLA where it cannot be translated."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import jax
import numpy as np

from isthmus.entry import check_arguments
from isthmus.errors import BadOption, FallbackWarning, NotTranslatable
from isthmus.native.runtime.call import Native
from isthmus.native.runtime.stats import Stats
from isthmus.native.tracing.trace import width_of


class Xla:
    """The interface of `Native`, run by XLA in the same precision: what `fallback="xla"` gives."""

    def __init__(self, fn: Callable, examples: tuple, static: frozenset[int]) -> None:
        def given(*args: Any) -> Any:
            rest = iter(args)
            return fn(*(x if k in static else next(rest) for k, x in enumerate(examples)))

        self.fn = given
        self.precise = width_of(jax.tree.leaves(examples)) == 64
        self._single = jax.jit(given)
        self._many = jax.jit(jax.vmap(given))

    def __call__(self, *args: Any, out: Any = None) -> Any:
        with jax.enable_x64(self.precise):
            result = jax.tree.map(np.asarray, self._single(*args))
        if out is None:
            return result
        jax.tree.map(lambda target, x: np.copyto(target, x, casting="unsafe"), out, result)
        return out

    def map(self, *args: Any, threads: int | None = None) -> Any:
        with jax.enable_x64(self.precise):
            return jax.tree.map(np.asarray, self._many(*args))

    def as_jax(self) -> Callable:
        return self.fn

    @property
    def stats(self) -> Stats:
        return Stats(0, 0, 0, 0, 1, 0.0, 0.0, engine="xla")


def positions_of(static: int | Sequence[int], count: int) -> frozenset[int]:
    """`static` as a set, each a position among `count` arguments."""
    positions = frozenset([static] if isinstance(static, int) else static)
    if wrong := sorted(k for k in positions if not 0 <= k < count):
        raise BadOption(f"static names the arguments {wrong}, but there are {count}.")
    return positions


@check_arguments
def compile(
    fn: Callable,
    *examples: Any,
    static: int | Sequence[int] = (),
    fallback: Literal["xla"] | None = None,
    strict: bool = False,
) -> Native | Xla:
    """`fn` as machine code for arguments like `examples` (pytrees of arrays).

    Numbers are float64; float32 where the examples have arrays of floats and all of them are float32.

    `static`: positions of arguments that never change; their examples are baked in and calls leave
    them out. `fallback="xla"`: where an operation cannot be translated, warn and run under XLA.
    `strict`: treat zeros that are there by structure as numbers like others, so that 0·NaN is NaN.
    """
    positions = positions_of(static, len(examples))
    try:
        return Native(fn, examples, static=positions, strict=strict)
    except NotTranslatable as unknown:
        if fallback is None:
            raise
        warnings.warn(f"{unknown} Running under XLA.", FallbackWarning, stacklevel=2)
        return Xla(fn, examples, positions)
