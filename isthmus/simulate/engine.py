"""Which engine runs a step or a rollout: native code on concrete arrays, plain JAX on traced ones.

Native code is compiled once for each structure (model topology, shapes, options) and kept; all numbers
are its arguments, so that a changed mass compiles nothing anew. It is kept on disk too, under a name that
does not need tracing, so that the next process starts at once.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Literal

import jax
import numpy as np

from isthmus.errors import FallbackWarning, NotTranslatable
from isthmus.model.arrays import is_traced

Engine = Literal["native", "xla"] | None
"""`native`, `xla`, or None: native code unless something is traced."""

KEPT = 64
"""So many compiled functions are kept; the one that was not used for longest goes first."""
_CACHE: OrderedDict[Hashable, Any] = OrderedDict()
_LOCK = threading.Lock()


def wants_native(engine: Engine, *arguments: Any) -> bool:
    """Whether native code is to run: not for traced arguments, which an outer compilation sees through."""
    return engine != "xla" and not is_traced(arguments)


def _form(x: Any) -> tuple[tuple[int, ...], str]:
    """Shape and kind of an array or a number."""
    if not isinstance(x, np.ndarray):
        x = np.asarray(x)
    return x.shape, x.dtype.kind


def compiled(
    fn: Callable, arguments: tuple, settings: Hashable, engine: Engine, result: Any
) -> Any:
    """`fn` as native code for `arguments`, made or found; None where it cannot be, and None was asked for.

    `settings` and the structure of `arguments` decide what `fn` does; `result` has the structure of its result.
    """
    leaves, tree = jax.tree.flatten(arguments)
    shapes = tuple([_form(x) for x in leaves])
    key = (settings, tree, shapes)
    with _LOCK:
        if key in _CACHE:
            _CACHE.move_to_end(key)
            found = _CACHE[key]
            if found is not None or engine is None:
                return found
    # loads LLVM, which only those who get here need
    from isthmus.native.runtime.call import Native
    from isthmus.native.runtime.known import Known, digest

    try:
        name = digest(settings, arguments)
        known = None if name is None else Known(name, jax.tree.structure(result))
        made = Native(fn, arguments, known=known, width=64)
    except NotTranslatable as unknown:
        if engine == "native":
            raise
        warnings.warn(f"{unknown} Running under XLA.", FallbackWarning, stacklevel=4)
        made = None
    with _LOCK:
        _CACHE[key] = made
        while len(_CACHE) > KEPT:
            _CACHE.popitem(last=False)
    return made
