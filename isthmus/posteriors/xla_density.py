"""The log density of a posterior and its gradient inside XLA, as calls of native code with no Python in between.

A program of JAX, such as a sampler, is compiled once for all data sets of a problem: windows, centre and scale of its
coordinates are arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float

from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.evaluate.window import Window
from isthmus.posteriors.density import Density

Vector = Float[jax.Array, " n"]


class Frame(NamedTuple):
    """What a sampler moves, `w`, with `u = centre + back w`, and the windows that are simulated."""

    centre: Float[Any, " n"]
    back: Float[Any, "n n"]
    windows: Window
    """Stacked: the first axis of every array are the windows."""


def log_density_of(density: Density) -> Callable[[Vector, Frame], jax.Array]:
    """`(w, frame) -> log density` as a function of JAX, whose derivative by `w` is that of native code."""
    likelihood, c = _likelihood(density.inner), density.coordinates

    def both(w: Vector, frame: Frame) -> tuple[jax.Array, Vector]:
        u = frame.centre + frame.back @ w
        x, slope, _ = (value[0] for value in c.to_x(u[None]))
        cost, by_x = likelihood(x, frame.windows)
        good = jnp.isfinite(cost) & jnp.all(jnp.isfinite(by_x))
        value = density.power * cost + c.potential(u[None])[0]
        gradient = (density.power * by_x * slope + c.slope(u[None])[0]) @ frame.back
        return jnp.where(good, -value, -jnp.inf), jnp.where(good, -gradient, 0.0)

    @jax.custom_vjp
    def log_density(w: Vector, frame: Frame) -> jax.Array:
        return both(w, frame)[0]

    log_density.defvjp(both, lambda gradient, seed: (seed * gradient, None))
    return log_density


def _likelihood(inner: Evaluation) -> Callable[[Vector, Window], tuple[jax.Array, Vector]]:
    """`(x, windows) -> cost of the data and its gradient`; one window after the other, each in one call."""
    plan, p, m = inner.plan, inner.plan.parameters.size, inner.own
    native, kept, theta = inner.compiled.gradient.as_jax(), inner.compiled.kept, _theta(inner)

    def run(x: Vector, windows: Window) -> tuple[jax.Array, Vector]:
        z, pull = jax.vjp(theta, x[:p])
        own = x[p:].reshape(inner.count, m)
        after = jnp.concatenate([own[1:], own[-1:]]) if plan.shooting else own[:, :0]

        def one(total: jax.Array, given: tuple) -> tuple[jax.Array, Vector]:
            window, *starts = given
            cost, slope = native(jnp.concatenate([z, *starts]), window)
            return total + cost, slope

        cost, slopes = jax.lax.scan(one, jnp.zeros(()), (windows, own, after))
        size = slopes.shape[1] - own.shape[1] - after.shape[1]
        by_z, rest = slopes[:, :size].sum(axis=0), slopes[:, size:]
        if plan.inputs is not None:
            by_z = jnp.zeros_like(z).at[kept[:size]].set(by_z)
        by_own = rest[:, :m]
        if plan.shooting:
            by_own = by_own.at[1:].add(rest[:-1, m:])
        return cost, jnp.concatenate([pull(by_z)[0], by_own.ravel()])

    return run


def _theta(inner: Evaluation) -> Callable[[Any], Any]:
    """From the free numbers to the numbers that the code of a window takes."""
    parameters, inputs = inner.plan.parameters, inner.plan.inputs
    if inputs is None:
        return lambda z: z
    if parameters.is_linear:
        first, A = inner.compiled.inputs.linear
        return lambda z: first + A @ z
    return lambda z: inputs.vector(parameters.setting(z))
