"""Small networks: what a wire may carry.

A recipe (`MLP(width=16)`) says how; `make(inputs, outputs, key=)` gives the network itself, a pytree of float64
arrays that maps a vector to a vector. Its last layer starts at zero, so a fresh network answers zero to all. One with
memory maps `(x, memory, dt)` to `(y, memory)` and has `memory_start()`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from isthmus import draws
from isthmus.entry import check_arguments
from isthmus.errors import BadOption, BadWiring, did_you_mean
from isthmus.types import AnyArray

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": jnp.tanh,
    "elu": jax.nn.elu,
    "relu": jax.nn.relu,
    "softplus": jax.nn.softplus,
    "sine": jnp.sin,
}
MOST_WEIGHTS = 10**8
"""Of one network; more would fill the memory."""


class Layer(eqx.Module):
    """`W x + b`."""

    weight: Float[AnyArray, "out in"]
    bias: Float[AnyArray, " out"]

    def __call__(self, x: Float[AnyArray, " in"]) -> Float[AnyArray, " out"]:
        return jnp.asarray(self.weight) @ x + self.bias


class Perceptron(eqx.Module):
    """Layers with an activation between them."""

    layers: tuple[Layer, ...]
    activation: str = eqx.field(static=True)

    def __call__(self, x: Float[AnyArray, " in"]) -> Float[AnyArray, " out"]:
        *hidden, last = self.layers
        for layer in hidden:
            x = ACTIVATIONS[self.activation](layer(x))
        return last(x)


class BSpline(eqx.Module):
    """A cubic B-spline of one input for each output; straight beyond its ends."""

    coefficients: Float[AnyArray, "knots out"]
    low: float = eqx.field(static=True)
    high: float = eqx.field(static=True)

    def __call__(self, x: Float[AnyArray, "1"]) -> Float[AnyArray, " out"]:
        c = jnp.asarray(self.coefficients)
        step = (self.high - self.low) / (len(c) - 3)
        knots = self.low + step * (jnp.arange(len(c), dtype=c.dtype) - 1.0)
        value = lambda at: _bump((at - knots) / step) @ c
        inside = jnp.clip(x[0], self.low, self.high)
        there, slope = jax.jvp(value, (inside,), (jnp.ones_like(inside),))
        return there + slope * (x[0] - inside)


class Same(eqx.Module):
    """One number for each output, whatever the input."""

    value: Float[AnyArray, " out"]

    def __call__(self, x: Float[AnyArray, " in"]) -> Float[AnyArray, " out"]:
        return jnp.asarray(self.value)


class GatedUnit(eqx.Module):
    """A gated recurrent unit (Cho et al. 2014) and a linear layer on its memory; one update each step."""

    gates: Layer
    """Reset and update gate, from input and memory."""
    proposal: Layer
    output: Layer

    def memory_start(self) -> Float[AnyArray, " width"]:
        return np.zeros(self.output.weight.shape[-1])

    def __call__(self, x: AnyArray, h: AnyArray, dt: AnyArray) -> tuple[AnyArray, AnyArray]:
        reset, update = jnp.split(jax.nn.sigmoid(self.gates(jnp.concatenate([x, h]))), 2)
        new = jnp.tanh(self.proposal(jnp.concatenate([x, reset * h])))
        h = (1.0 - update) * h + update * new
        return self.output(h), h


class LowPass(eqx.Module):
    """First-order filters with learned time constants on mixtures of the inputs; exact for any step."""

    mix: Layer
    log_time: Float[AnyArray, " width"]
    """Logarithms of the time constants [log s]."""
    output: Layer

    def memory_start(self) -> Float[AnyArray, " width"]:
        return np.zeros(self.log_time.shape[-1])

    def __call__(self, x: AnyArray, h: AnyArray, dt: AnyArray) -> tuple[AnyArray, AnyArray]:
        share = -jnp.expm1(-dt * jnp.exp(-jnp.asarray(self.log_time)))
        h = h + share * (self.mix(x) - h)
        return self.output(h), h


class Foreign(eqx.Module):
    """A module of the user's: its arrays are leaves, all else is part of the program; `gain` starts at zero."""

    arrays: Any
    gain: Float[AnyArray, " out"]
    rest: Any = eqx.field(static=True)

    @property
    def module(self) -> Any:
        return eqx.combine(self.arrays, self.rest)

    def __call__(self, x: Float[AnyArray, " in"]) -> Float[AnyArray, " out"]:
        return self.gain * jnp.asarray(self.module(x))


@check_arguments
@dataclasses.dataclass(frozen=True)
class MLP:
    """A perceptron with `depth` hidden layers of `width`; activation: tanh, elu, relu, softplus or sine."""

    width: int = 16
    depth: int = 2
    activation: str = "tanh"

    def __post_init__(self) -> None:
        _whole("MLP", width=self.width, depth=self.depth)
        _refuse_size("MLP", self.width + self.width**2 * self.depth)
        if self.activation not in ACTIVATIONS:
            near = did_you_mean(self.activation, ACTIVATIONS)
            raise BadOption(f"MLP: no activation is called {self.activation!r}.{near}")

    def make(self, inputs: int, outputs: int, *, key: PRNGKeyArray) -> Perceptron:
        """The network; weights of variance 1/inputs of each layer, the last layer zero."""
        sizes = [inputs, *[self.width] * self.depth]
        keys = jax.random.split(key, max(self.depth, 1))
        hidden = [_layer(a, b, k) for a, b, k in zip(sizes, sizes[1:], keys, strict=False)]
        return Perceptron((*hidden, _nothing(sizes[-1], outputs)), self.activation)


@check_arguments
@dataclasses.dataclass(frozen=True)
class Linear:
    """A matrix and a constant."""

    def make(self, inputs: int, outputs: int, *, key: PRNGKeyArray) -> Perceptron:
        return Perceptron((_nothing(inputs, outputs),), "tanh")


@check_arguments
@dataclasses.dataclass(frozen=True)
class Spline:
    """A smooth curve of one input (an angle enters as it is), free between `low` and `high`, straight beyond."""

    knots: int = 12
    low: float = -3.0
    high: float = 3.0

    def __post_init__(self) -> None:
        _whole("Spline", knots=self.knots)
        _refuse_size("Spline", self.knots)
        if self.knots < 2 or not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise BadOption("Spline: it needs two knots or more, and low < high, both finite.")

    def make(self, inputs: int, outputs: int, *, key: PRNGKeyArray) -> BSpline:
        if inputs != 1:
            raise BadWiring(
                f"a Spline takes one input, but the wire brings {inputs}; use an MLP, or read one row."
            )
        return BSpline(np.zeros((self.knots + 2, outputs)), float(self.low), float(self.high))


@check_arguments
@dataclasses.dataclass(frozen=True)
class Constant:
    """One learned number for each output."""

    def make(self, inputs: int, outputs: int, *, key: PRNGKeyArray) -> Same:
        return Same(np.zeros(outputs))


@check_arguments
@dataclasses.dataclass(frozen=True)
class GRU:
    """A gated recurrent unit with `width` numbers of memory, updated once a step: train and use it at one dt."""

    width: int = 8
    remembers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _whole("GRU", width=self.width)
        _refuse_size("GRU", 3 * self.width**2)

    def make(self, inputs: int, outputs: int, *, key: PRNGKeyArray) -> GatedUnit:
        one, two = jax.random.split(key)
        both = inputs + self.width
        gates, proposal = _layer(both, 2 * self.width, one), _layer(both, self.width, two)
        return GatedUnit(gates, proposal, _nothing(self.width, outputs))


@check_arguments
@dataclasses.dataclass(frozen=True)
class Filter:
    """First-order low-pass filters of mixtures of the inputs; time constants start spread over `fast`…`slow` [s]."""

    width: int = 4
    fast: float = 0.01
    slow: float = 0.5
    remembers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _whole("Filter", width=self.width)
        _refuse_size("Filter", self.width)
        if not 0.0 < self.fast <= self.slow < math.inf:
            raise BadOption("Filter: time constants need 0 < fast <= slow, both finite.")

    def make(self, inputs: int, outputs: int, *, key: PRNGKeyArray) -> LowPass:
        times = np.geomspace(self.fast, self.slow, self.width)
        return LowPass(
            _layer(inputs, self.width, key), np.log(times), _nothing(self.width, outputs)
        )


RECIPES = (MLP, Linear, Spline, Constant, GRU, Filter)


def made(recipe: Any, inputs: int, outputs: int, *, key: PRNGKeyArray) -> Any:
    """The network of a recipe, or of any module that maps a vector to a vector; float64 leaves, no effect yet."""
    if hasattr(recipe, "make"):
        with jax.enable_x64(True):
            return _as_numpy(recipe.make(inputs, outputs, key=key))
    if not callable(recipe):
        raise BadWiring(f"net must be a network such as MLP() or a module, not {recipe!r}.")
    with jax.enable_x64(True):
        arrays, rest = eqx.partition(recipe, eqx.is_inexact_array)
        shape = jax.ShapeDtypeStruct((inputs,), np.float64)
        try:
            found = jax.eval_shape(lambda a, x: eqx.combine(a, rest)(x), _as_numpy(arrays), shape)
        except TypeError as wrong:
            raise BadWiring(
                f"{type(recipe).__name__} cannot take the wire's {inputs} inputs: {wrong}"
            ) from wrong
        if getattr(found, "shape", None) != (outputs,):
            got = getattr(found, "shape", type(found).__name__)
            raise BadWiring(f"{type(recipe).__name__} gives {got}; this wire needs ({outputs},).")
        return Foreign(_as_numpy(arrays), np.zeros(outputs), rest)


def _as_numpy(tree: Any) -> Any:
    return jax.tree.map(lambda x: np.asarray(x, np.float64) if eqx.is_array_like(x) else x, tree)


def _layer(inputs: int, outputs: int, key: PRNGKeyArray) -> Layer:
    weight = draws.normal(key, (outputs, inputs)) / math.sqrt(max(inputs, 1))
    return Layer(weight, np.zeros(outputs))


def _nothing(inputs: int, outputs: int) -> Layer:
    return Layer(np.zeros((outputs, inputs)), np.zeros(outputs))


def _bump(t: AnyArray) -> AnyArray:
    """The cubic B-spline around zero, of unit knot distance."""
    t = jnp.abs(t)
    near, far = 2.0 / 3.0 - t * t * (1.0 - 0.5 * t), jnp.maximum(2.0 - t, 0.0) ** 3 / 6.0
    return jnp.where(t < 1.0, near, far)


def _whole(who: str, **numbers: int) -> None:
    for name, value in numbers.items():
        least = 0 if name == "depth" else 1
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise BadOption(f"{who}: {name} must be a whole number from {least}, not {value!r}.")


def _refuse_size(who: str, weights: int) -> None:
    if weights > MOST_WEIGHTS:
        raise BadOption(
            f"{who}: it would have more than {MOST_WEIGHTS:g} weights; make it smaller."
        )
