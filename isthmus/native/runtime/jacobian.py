"""`jacobian`: value and Jacobian from one compiled directional derivative, the directions side by side in lanes.

The code is that of one tangent (or one cotangent), however many numbers there are. Forward mode takes one lane for
each number that is differentiated by, reverse mode one for each number of the result: the cheaper one is taken.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.errors import BadOption, FallbackWarning, NotTranslatable
from isthmus.native.runtime.call import Native
from isthmus.native.runtime.stats import Stats
from isthmus.native.tracing.flat import Flat
from isthmus.native.tracing.trace import width_of
from isthmus.phases import counted

PULL = 2.0
"""How much more a cotangent costs than a tangent, roughly."""


class Jacobian:
    """`f(*args) -> (value, Jacobian)`, laid out as `jax.jacfwd` has it; `f.map`: the same for many worlds.

    `mode` says whether directions are those of the arguments ("forward") or of the results ("reverse").
    """

    def __init__(
        self, fn: Callable, examples: tuple, argnums: int | Sequence[int], mode: str | None
    ) -> None:
        self.argnums = argnums
        picked = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        if wrong := [k for k in picked if not 0 <= k < len(examples)]:
            there = counted(len(examples), "argument")
            raise BadOption(f"argnums asks for argument {wrong[0]}, but there is only {there}.")
        self.flat = Flat(fn, examples, frozenset())
        owners = [k for k, x in enumerate(examples) for _ in jax.tree.leaves(x)]
        self.active = [
            k
            for k, (leaf, x) in enumerate(zip(self.flat.traced, self.flat.examples, strict=True))
            if owners[leaf] in picked and x.dtype.kind == "f"
        ]
        self.sizes = [self.flat.examples[k].size for k in self.active]
        with jax.enable_x64(self.flat.width == 64):
            shapes = jax.eval_shape(self._floats, *self.flat.examples)
        self.results = [tuple(x.shape) for x in shapes]
        rows = sum(int(np.prod(shape)) for shape in self.results)
        cheaper = "forward" if sum(self.sizes) <= PULL * max(rows, 1) else "reverse"
        self.mode = cheaper if mode is None else mode
        if self.mode not in ("forward", "reverse"):
            raise BadOption(f"mode is {mode!r}; it can be None, 'forward' or 'reverse'.")
        self.directions = sum(self.sizes) if self.mode == "forward" else rows
        run = self._push if self.mode == "forward" else self._pull
        seed = np.zeros(self.directions, f"f{self.flat.width // 8}")
        self.native = Native(run, (*self.flat.examples, seed), width=self.flat.width)

    # what is compiled

    def _floats(self, *arrays: Any) -> list[Any]:
        """The flat results; all of them must be floats."""
        leaves = [jnp.asarray(x) for x in jax.tree.leaves(self.flat(*arrays))]
        if wrong := [str(x.dtype) for x in leaves if not jnp.issubdtype(x.dtype, jnp.floating)]:
            raise BadOption(f"a Jacobian needs results of floats, but one is of {wrong[0]}.")
        return leaves

    def _of_active(self, arrays: Sequence[Any]) -> Callable:
        def of(*moving: Any) -> list[Any]:
            given = list(arrays)
            for k, x in zip(self.active, moving, strict=True):
                given[k] = x
            return self._floats(*given)

        return of

    def _push(self, *arrays: Any) -> tuple:
        """Results and their change along one direction."""
        given, seed = arrays[:-1], arrays[-1]
        here = [given[k] for k in self.active]
        ends = np.cumsum(self.sizes).tolist()
        moves = [
            jnp.reshape(seed[end - size : end], x.shape)
            for x, size, end in zip(here, self.sizes, ends, strict=True)
        ]
        return jax.jvp(self._of_active(given), tuple(here), tuple(moves))

    def _pull(self, *arrays: Any) -> tuple:
        """Results and the gradient of one combination of them."""
        given, seed = arrays[:-1], arrays[-1]
        out, back = jax.vjp(self._of_active(given), *(given[k] for k in self.active))
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.results)]).tolist()
        weights = [
            jnp.reshape(seed[a:b], shape)
            for a, b, shape in zip(ends, ends[1:], self.results, strict=False)
        ]
        return out, list(back(weights))

    # calls

    def __call__(self, *args: Any) -> tuple[Any, Any]:
        """Value and Jacobian of one world."""
        single = jax.tree.map(lambda x: np.asarray(x)[None], args)
        return jax.tree.map(lambda x: x[0], self.map(*single))

    def map(self, *args: Any, threads: int | None = None) -> tuple[Any, Any]:
        """Values and Jacobians of many worlds; every argument has a leading axis of them."""
        leaves = [np.asarray(x) for x in self.flat.leaves(args)]
        worlds, lanes = len(leaves[0]), self.native.lanes
        chunks = max(1, -(-self.directions // lanes))
        seeds = np.zeros((chunks * lanes, self.directions))
        np.fill_diagonal(seeds, 1.0)
        world, chunk = (x.ravel() for x in np.indices((worlds, chunks)))
        given = [*leaves, seeds.reshape(chunks, lanes, self.directions)]
        rows = [*(world for _ in leaves), chunk]
        found = self.native.flat_blocks(given, rows, threads)
        parts = [x.reshape(worlds, chunks * lanes, *x.shape[2:]) for x in found]
        value = [x[:, 0] for x in parts[: len(self.results)]]
        return self._shaped(value, [x[:, : self.directions] for x in parts[len(self.results) :]])

    def _shaped(self, value: list[np.ndarray], changes: list[np.ndarray]) -> tuple[Any, Any]:
        """Values and derivatives in the structures of the results and arguments."""
        tree = self._result_tree
        if self.mode == "forward":
            blocks = [self._by_argument(np.moveaxis(x, 1, -1)) for x in changes]
            return jax.tree.unflatten(tree, value), jax.tree.unflatten(tree, blocks)
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.results)]).tolist()
        blocks = []
        for a, b, shape in zip(ends, ends[1:], self.results, strict=False):
            rows = [x[:, a:b].reshape(len(x), *shape, -1) for x in changes]
            blocks.append(self._by_argument(np.concatenate(rows, axis=-1)))
        return jax.tree.unflatten(tree, value), jax.tree.unflatten(tree, blocks)

    def _by_argument(self, block: np.ndarray) -> Any:
        """Derivatives (worlds, result, directions) in the structure of the arguments."""
        lead, leaves = block.shape[:-1], {}
        ends = np.cumsum(self.sizes).tolist()
        for k, size, end in zip(self.active, self.sizes, ends, strict=True):
            shape = self.flat.examples[k].shape
            leaves[k] = block[..., end - size : end].reshape(*lead, *shape)
        whole = [leaves.get(k) for k in range(len(self.flat.examples))]
        full = dict(zip(self.flat.traced, whole, strict=True))
        count = self.flat.tree.num_leaves
        tree = jax.tree.unflatten(self.flat.tree, [full.get(k) for k in range(count)])
        return (
            tree[self.argnums]
            if isinstance(self.argnums, int)
            else tuple(tree[k] for k in self.argnums)
        )

    @functools.cached_property
    def _result_tree(self) -> Any:
        with jax.enable_x64(self.flat.width == 64):
            return jax.tree.structure(jax.eval_shape(self.flat, *self.flat.examples))

    @property
    def stats(self) -> Stats:
        """What the code of one direction consists of."""
        return self.native.stats


class XlaJacobian:
    """The interface of `Jacobian`, run by XLA in the same precision: what `fallback="xla"` gives."""

    def __init__(self, fn: Callable, examples: tuple, argnums: Any, mode: str | None) -> None:
        self.mode = mode or "forward"
        slope = (jax.jacfwd if self.mode == "forward" else jax.jacrev)(fn, argnums)
        one = lambda *args: (fn(*args), slope(*args))
        self._single, self._many = jax.jit(one), jax.jit(jax.vmap(one))
        self.precise = width_of(jax.tree.leaves(examples)) == 64

    def __call__(self, *args: Any) -> tuple[Any, Any]:
        with jax.enable_x64(self.precise):
            return jax.tree.map(np.asarray, self._single(*args))

    def map(self, *args: Any, threads: int | None = None) -> tuple[Any, Any]:
        with jax.enable_x64(self.precise):
            return jax.tree.map(np.asarray, self._many(*args))

    @property
    def stats(self) -> Stats:
        """There is no native code."""
        return Stats(0, 0, 0, 0, 1, 0.0, 0.0, engine="xla")


def jacobian(
    fn: Callable,
    *examples: Any,
    argnums: int | Sequence[int] = 0,
    mode: str | None = None,
    fallback: str | None = None,
) -> Jacobian | XlaJacobian:
    """`fn`, with its Jacobian by the arguments `argnums`, as machine code for arguments like `examples`.

    Called with arguments (`.map`: with a leading axis of worlds on each), it returns the value and the Jacobian, laid
    out as `jax.jacfwd` has it: entries of a result first, then those of an argument. The size of the code does not
    depend on how many numbers there are: their directions run side by side. `mode`: "forward" or "reverse" instead of
    the cheaper one. `fallback="xla"`: where an operation cannot be translated, warn and run under XLA.
    """
    if fallback not in (None, "xla"):
        raise BadOption(f"fallback is {fallback!r}; it can be None or 'xla'.")
    try:
        return Jacobian(fn, examples, argnums, mode)
    except NotTranslatable as unknown:
        if fallback is None:
            raise
        warnings.warn(f"{unknown} Running under XLA.", FallbackWarning, stacklevel=2)
        return XlaJacobian(fn, examples, argnums, mode)
