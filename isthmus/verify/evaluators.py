"""A scalar function of a vector, its values beside a point, and its derivatives in both modes: what `compare` asks for.

Native code does it with two programs: one directional derivative, whose lanes are directions and shifted points, and
one gradient. Where a function cannot be translated, XLA does the same.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.errors import NotTranslatable

BATCH = 64
"""Evaluations side by side under XLA: bounds the memory."""
MEMORY = 64 * 2**20
"""Bytes of points that are in memory at a time."""

Vector = Float[np.ndarray, " n"]


class Evaluator(abc.ABC):
    """Values and derivatives of a function around points."""

    has_forward: bool
    """False where a part of the function defines reverse mode only."""

    @abc.abstractmethod
    def reverse(self, x: Vector) -> tuple[float, Vector]:
        """Value and gradient, by reverse mode."""

    @abc.abstractmethod
    def forward(self, x: Vector, rows: np.ndarray) -> Float[np.ndarray, " rows"]:
        """The derivative by each of some numbers, by forward mode."""

    @abc.abstractmethod
    def shifted(
        self, x: Vector, rows: np.ndarray, steps: Float[np.ndarray, " rows"]
    ) -> Float[np.ndarray, " rows"]:
        """Values where one number at a time is moved by its step."""


def evaluator(f: Callable, x: Vector) -> Evaluator:
    """Native code for `f`; XLA where it cannot be translated."""
    try:
        return _Native(f, x)
    except NotTranslatable:
        return _Xla(f, x)


def _is_reverse_only(refused: TypeError) -> bool:
    return "custom_vjp" in str(refused)


class _Native(Evaluator):
    def __init__(self, f: Callable, x: Vector) -> None:
        from isthmus.native.runtime.call import Native

        make = functools.partial(Native, width=64, brief=True)  # they run a few times only
        self.gradient = make(jax.value_and_grad(f), (x,), label="reverse mode")
        try:
            push = lambda x, d: jax.jvp(f, (x,), (d,))
            self.push, self.has_forward = make(push, (x, x), label="forward mode"), True
        except TypeError as refused:
            if not _is_reverse_only(refused):
                raise
            self.push, self.has_forward = make(lambda x: (f(x),), (x,), label="values"), False

    def reverse(self, x: Vector) -> tuple[float, Vector]:
        lanes = self.gradient.lanes  # code for lanes is compiled faster than code for one world
        point = np.tile(x, (1, lanes, 1))
        value, slope = self.gradient.flat_blocks([point], [np.zeros(1, np.int64)])
        return float(value[0, 0]), slope[0, 0]

    def forward(self, x: Vector, rows: np.ndarray) -> np.ndarray:
        return self._many(x, rows, np.zeros(len(rows)))[1]

    def shifted(self, x: Vector, rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
        return self._many(x, rows, steps)[0]

    def _many(self, x: Vector, rows: np.ndarray, steps: np.ndarray) -> list[np.ndarray]:
        """Values, and derivatives by the numbers `rows` where there is a forward mode, at the moved points."""
        size = max(1, MEMORY // (16 * len(x)))
        parts = []
        for first in range(0, len(rows), size):
            chosen = rows[first : first + size]
            place = np.arange(len(chosen)), chosen
            points, moves = np.tile(x, (len(chosen), 1)), np.zeros((len(chosen), len(x)))
            points[place] += steps[first : first + size]
            moves[place] = 1.0
            given = [points, moves] if self.has_forward else [points]
            parts.append(self.push.flat_map(given))
        return [np.concatenate(x) for x in zip(*parts, strict=True)]


class _Xla(Evaluator):
    def __init__(self, f: Callable, x: Vector) -> None:
        self.f = f
        self.gradient = jax.jit(jax.value_and_grad(f))
        self.has_forward = True
        try:
            self.forward(x, np.arange(1))
        except TypeError as refused:
            if not _is_reverse_only(refused):
                raise
            self.has_forward = False

    def reverse(self, x: Vector) -> tuple[float, Vector]:
        value, slope = self.gradient(x)
        return float(value), np.asarray(slope)

    def forward(self, x: Vector, rows: np.ndarray) -> np.ndarray:
        return self._in_batches(self._slope, x, rows)

    def shifted(self, x: Vector, rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
        return self._in_batches(self._value, x, rows, steps)

    @functools.cached_property
    def _slope(self) -> Callable:
        move = lambda x, i: jnp.zeros_like(x).at[i].set(1.0)
        return jax.jit(
            jax.vmap(lambda x, i: jax.jvp(self.f, (x,), (move(x, i),))[1], in_axes=(None, 0))
        )

    @functools.cached_property
    def _value(self) -> Callable:
        return jax.jit(jax.vmap(lambda x, i, s: self.f(x.at[i].add(s)), in_axes=(None, 0, 0)))

    def _in_batches(self, f: Callable, x: Vector, *arguments: np.ndarray) -> np.ndarray:
        """`f` for many arguments, `BATCH` of them side by side; the last ones are repeated to fill a batch."""
        size, parts = len(arguments[0]), []
        for first in range(0, size, BATCH):
            index = np.minimum(np.arange(first, first + BATCH), size - 1)
            parts.append(np.asarray(f(jnp.asarray(x), *(a[index] for a in arguments))))
        return np.concatenate(parts)[:size]
