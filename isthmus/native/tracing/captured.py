"""What a function closes over, in the width of a trace.

A cost that closes over `goal = jnp.array([0.5, 0.3])` holds a float32 array where JAX has its default of 32 bits.
In a trace of 64 bits most operations promote it, but a loop that starts from it, for example, refuses to change
its type. `widened` gives a copy of the function in which such arrays are numbers of the trace's width.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

LIBRARIES = frozenset("jax jaxlib numpy equinox builtins functools operator math isthmus".split())
"""Packages whose functions close over nothing of the user's, but for what they are given."""


def widened(fn: Callable, width: int) -> Callable:
    """`fn`, closing over floats of `width` bits; `fn` itself where it closes over no others."""
    return Widening(np.dtype(f"f{width // 8}")).function(fn)


class Widening:
    """Copies functions and trees in which some array of floats has another width."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.done: dict[int, tuple[Any, Any]] = {}
        """Id -> the thing and its copy; both are kept, so that no id is used twice."""

    def value(self, x: Any) -> Any:
        """A captured value: an array, a function, or a tree of them."""
        if isinstance(x, jax.Array):
            return self.array(x)
        if callable(x) and not isinstance(x, type):
            return self.function(x)
        if isinstance(x, (tuple, list, dict)):
            leaf = lambda y: not isinstance(y, (tuple, list, dict)) and y is not None
            return jax.tree.map(self.value, x, is_leaf=leaf)
        return x

    def array(self, x: jax.Array) -> Any:
        """`x` itself, or its numbers in the right width."""
        if isinstance(x, Tracer) or not jnp.issubdtype(x.dtype, np.floating):
            return x
        return x if x.dtype == self.dtype else jnp.asarray(np.asarray(x), self.dtype)

    def function(self, fn: Any) -> Any:
        """`fn`, or a copy that sees other arrays."""
        known = self.done.get(id(fn))
        if known is not None:
            return known[1]
        self.done[id(fn)] = (fn, fn)  # a function that calls itself
        made = self._function(fn)
        self.done[id(fn)] = (fn, made)
        return made

    def _function(self, fn: Any) -> Any:
        if isinstance(fn, functools.partial):
            keywords = {k: self.value(v) for k, v in fn.keywords.items()}
            return functools.partial(self.value(fn.func), *map(self.value, fn.args), **keywords)
        inner = getattr(fn, "__wrapped__", None)
        if type(fn).__name__ == "PjitFunction" and inner is not None:
            made = self.function(inner)  # its own trace has the old arrays: the copy does without
            return fn if made is inner else made
        if isinstance(fn, types.FunctionType):
            return self._copied(fn)
        return self._tree(fn)

    def _tree(self, fn: Any) -> Any:
        """An object that can be called and is a tree of arrays, as modules of equinox are."""
        leaves, tree = jax.tree.flatten(fn)
        made = [self.value(x) if x is not fn else x for x in leaves]
        same = all(x is y for x, y in zip(made, leaves, strict=True))
        return fn if same else jax.tree.unflatten(tree, made)

    def _copied(self, fn: types.FunctionType) -> Callable:
        cells = {k: cell.cell_contents for k, cell in enumerate(fn.__closure__ or ()) if full(cell)}
        names = () if package_of(fn) in LIBRARIES else names_in(fn.__code__)
        seen = {name: fn.__globals__[name] for name in names if name in fn.__globals__}
        new_cells = {k: y for k, x in cells.items() if differs(y := self.value(x), x)}
        new_names = {name: y for name, x in seen.items() if differs(y := self.value(x), x)}
        if not new_cells and not new_names:
            return fn
        closure = tuple(
            types.CellType(new_cells[k]) if k in new_cells else cell
            for k, cell in enumerate(fn.__closure__ or ())
        )
        space = fn.__globals__ | new_names if new_names else fn.__globals__
        made = types.FunctionType(fn.__code__, space, fn.__name__, fn.__defaults__, closure)
        made.__kwdefaults__ = fn.__kwdefaults__
        return made


def full(cell: types.CellType) -> bool:
    """The cell has a content."""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def differs(new: Any, old: Any) -> bool:
    """A copy that is not the same thing again, leaf by leaf."""
    if not isinstance(old, (tuple, list, dict)):
        return new is not old
    return any(x is not y for x, y in zip(jax.tree.leaves(new), jax.tree.leaves(old), strict=True))


def names_in(code: types.CodeType) -> set[str]:
    """The global names that a function and the functions inside it may read."""
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*map(names_in, inner))


def package_of(fn: types.FunctionType) -> str:
    """The first part of the name of a function's module."""
    return (fn.__module__ or "").partition(".")[0]
