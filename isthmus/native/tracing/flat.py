"""Functions of pytrees as functions of flat lists of arrays."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from isthmus.errors import BadShape
from isthmus.native.tracing.captured import widened
from isthmus.native.tracing.trace import example_array, width_of


def is_array(leaf: Any) -> bool:
    """A leaf that can be traced; others (names, functions) are part of the program."""
    return isinstance(leaf, (np.ndarray, np.generic, jax.Array, float, int, bool))


class Flat:
    """A function of pytrees as a function of a list of arrays; the rest is held fixed."""

    def __init__(
        self, fn: Callable, examples: tuple, static: frozenset[int], width: int | None = None
    ) -> None:
        leaves, self.tree = jax.tree.flatten(examples)
        sizes = [len(jax.tree.leaves(x)) for x in examples]
        fixed = [k in static for k, n in enumerate(sizes) for _ in range(n)]
        whole = (int, bool, np.integer, np.bool_)
        self.held = {
            k: leaf
            for k, (leaf, still) in enumerate(zip(leaves, fixed, strict=True))
            if not is_array(leaf) or (still and isinstance(leaf, whole))
        }
        self.width = width_of(leaves) if width is None else width
        """Bits of a number: 64 or 32."""
        self.traced = [k for k in range(len(leaves)) if k not in self.held]
        self.examples = [example_array(leaves[k], self.width) for k in self.traced]
        self.baked = [fixed[k] for k in self.traced]
        self.fn, self.static = fn, static
        given = tuple(x for k, x in enumerate(examples) if k not in static)
        call_leaves, self.call_tree = jax.tree.flatten(given)
        moving = [leaf for leaf, still in zip(leaves, fixed, strict=True) if not still]
        self.call_traced = [k for k, leaf in enumerate(moving) if is_array(leaf)]
        self.plain_call = len(self.call_traced) == len(call_leaves)

    def __call__(self, *arrays: Any) -> Any:
        """`fn` on the traced leaves."""
        leaves = dict(self.held) | dict(zip(self.traced, arrays, strict=True))
        return self.fn(*jax.tree.unflatten(self.tree, [leaves[k] for k in range(len(leaves))]))

    def widened(self) -> Flat:
        """The same, of a function that closes over floats of this width."""
        made = copy.copy(self)
        made.fn = widened(self.fn, self.width)
        return self if made.fn is self.fn else made

    def given(self) -> tuple:
        """The examples, as arrays in their structures."""
        leaves = dict(self.held) | dict(zip(self.traced, self.examples, strict=True))
        return jax.tree.unflatten(self.tree, [leaves[k] for k in range(len(leaves))])

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
