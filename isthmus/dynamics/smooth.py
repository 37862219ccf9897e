"""Bounds and dead zones with rounded corners: `saturate`, and what it leaves over, `dead_zone`."""

from __future__ import annotations

import jax.numpy as jnp

from isthmus.types import AnyArray

SOFTNESS = 0.1
"""Share of a bound within which it sets in; below `1 − SOFTNESS` nothing changes."""
NO_ZONE = 1e-12
"""Added to the width of a dead zone, so that derivatives are finite, and right, where it is zero."""


def saturate(x: AnyArray, bound: AnyArray) -> AnyArray:
    """`x` limited to ±bound: unchanged up to 90 % of the bound, constant beyond 110 %, smooth between."""
    size, soft = jnp.abs(x), SOFTNESS * bound
    excess = jnp.maximum(size - (bound - soft), 0.0)
    bent = x - jnp.sign(x) * excess * excess / (4.0 * soft)
    return jnp.where(excess < 2.0 * soft, bent, jnp.sign(x) * bound)


def dead_zone(x: AnyArray, half: AnyArray) -> AnyArray:
    """By how much `x` is outside ±half: zero up to 90 % of `half`, `x ∓ half` beyond 110 %, smooth between."""
    return x - saturate(x, half + NO_ZONE)


def through_dead_zone(y: AnyArray, half: AnyArray) -> AnyArray:
    """The `x` whose `dead_zone` is `y`; zero, of many, for zero."""
    size, soft = jnp.abs(y), SOFTNESS * (half + NO_ZONE)
    safe = jnp.where(size > 0.0, size, soft)  # the slope of the root stays finite at zero
    bent = half - soft + 2.0 * jnp.sqrt(soft * safe)
    return jnp.sign(y) * jnp.where(size < soft, bent, size + half)


def dead_zone_work(x: AnyArray, half: AnyArray) -> AnyArray:
    """The integral of `dead_zone` from 0 to `x`."""
    size, soft = jnp.abs(x), SOFTNESS * (half + NO_ZONE)
    excess = jnp.maximum(size - (half - soft), 0.0)
    bent = excess * excess * excess / (12.0 * soft)
    return jnp.where(
        excess < 2.0 * soft, bent, 0.5 * jnp.square(size - half) + jnp.square(soft) / 6.0
    )
