"""The functions of one window that native code compiles, made of the pieces in `window.py`.

`residuals` and `columns` (residuals with directional derivatives) serve all problems; their code depends neither on
how many numbers are free nor on how many directions, windows or substeps there are, and on the length of a window only
rounded up (`windows_from_logs.py`). `normal` sums up the Gauss-Newton matrix inside the loop over time, all directions
written out: faster where that is little code. `gradient` and `rows` use reverse mode, for many numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from isthmus.identify.evaluate.window import (
    Carry,
    Plan,
    Window,
    begin,
    compare,
    gap,
    last_row,
    row,
    setting_of,
)
from isthmus.losses.penalties import huber
from isthmus.native.tracing.linearize import linearize
from isthmus.networks.signals import Signals
from isthmus.types import AnyArray

BLOCKS = 4
"""Directions that one lane pushes through a window side by side, sharing the simulation itself. Of 7 joints, with 8
lanes, a direction took 31, 17, 17 µs with 2, 4, 8; alone 25."""


def residuals(plan: Plan) -> Callable[[AnyArray, Window, AnyArray], tuple]:
    """`(u, window, substeps) -> differences (rows, width), gap, positions (rows, nq)`.

    Rows after the end of a window are zero. Without a simulation (`plan.torque`) there are no positions.
    """

    def run(u: AnyArray, window: Window, substeps: AnyArray) -> tuple:
        carry, unravel = ravel_pytree(begin(plan, u, window))
        rows = window.target.shape[0]
        substeps = substeps if plan.splits_steps else jnp.ones_like(substeps)
        q_of = lambda s: unravel(s).q[: 0 if plan.torque else None]

        def body(i: AnyArray, state: tuple) -> tuple:
            s, found, q = state
            q = stored(q, q_of(s), i, substeps)
            s, r = advance(plan, u, s, i, substeps, window, unravel)
            return s, stored(found, r, i, substeps), q

        found = jnp.zeros((rows, plan.width), u.dtype)
        q = jnp.zeros((rows, len(q_of(carry))), u.dtype)
        count = parts_of(plan, window, substeps)
        s, found, q = jax.lax.fori_loop(0, count, body, (carry, found, q))
        if compares_states(plan):
            found = found.at[window.steps].set(last(plan, u, s, window, unravel))
            q = q.at[window.steps].set(q_of(s))
        end = gap(plan, u, unravel(s), window) if plan.shooting else jnp.zeros(0, u.dtype)
        return found, end, q

    return run


def parts_of(plan: Plan, window: Window, substeps: AnyArray) -> AnyArray:
    """How many substeps are made; one more, without moving, where its signals are compared at the last row."""
    return window.steps * substeps + (0 if compares_states(plan) else 1)


def compares_states(plan: Plan) -> bool:
    """Whether all that is compared is known before a step is made."""
    return not plan.torque and all(c.of_state for c in plan.channels)


def advance(
    plan: Plan,
    u: AnyArray,
    s: jax.Array,
    i: AnyArray,
    substeps: AnyArray,
    window: Window,
    unravel: Callable[[jax.Array], Carry],
) -> tuple[jax.Array, AnyArray]:
    """The carried numbers one substep later, and the differences at its row."""
    after, r = plan.substep(u, unravel(s), i, substeps, window)
    flat = ravel_pytree(after)[0]
    if not compares_states(plan):
        flat = jnp.where(i < window.steps * substeps, flat, s)
    return flat, r


def last(
    plan: Plan, u: AnyArray, s: jax.Array, window: Window, unravel: Callable[[jax.Array], Carry]
) -> AnyArray:
    """The differences at the last row of states, where no step follows."""
    setting = setting_of(plan, u, window)
    return compare(plan, setting, Signals(), unravel(s), window.steps, window)[1]


def stored(found: jax.Array, r: AnyArray, i: AnyArray, substeps: AnyArray) -> jax.Array:
    """The differences with those of substep `i`, which count where a row begins."""
    k = i // substeps
    old = jax.lax.dynamic_index_in_dim(found, k, keepdims=False)
    return found.at[k].set(jnp.where(i % substeps == 0, r, old))


def columns(plan: Plan) -> Callable[..., tuple]:
    """`(u, window, substeps, directions, blocks) -> differences, gap, their derivatives along the directions`.

    `directions` (BLOCKS, length of `u`), of which the first `blocks` count. Derivatives: (BLOCKS, rows, width) and
    (BLOCKS, gaps). Each step of the simulation is made once, and linearised; all directions then pass through it.
    """

    def run(
        u: AnyArray, window: Window, substeps: AnyArray, directions: AnyArray, blocks: AnyArray
    ) -> tuple:
        rows = window.target.shape[0]
        substeps = substeps if plan.splits_steps else jnp.ones_like(substeps)

        def pushed(value: Any, push: Callable, *tangents: AnyArray) -> Any:
            """The tangent of a value along each of the blocks that count; zeros for the others."""
            nothing = jax.tree.map(jnp.zeros_like, value)

            def one(_: None, given: tuple) -> tuple[None, Any]:
                b, *t = given
                return None, jax.lax.cond(b < blocks, lambda: push(*t), lambda: nothing)

            return jax.lax.scan(one, None, (jnp.arange(BLOCKS), *tangents))[1]

        unravel = ravel_pytree(begin(plan, u, window))[1]
        s, push = linearize(lambda u: ravel_pytree(begin(plan, u, window))[0], u)
        moves = pushed(s, push, directions)

        def body(i: AnyArray, state: tuple) -> tuple:
            s, moves, found, slopes = state
            step = lambda u, s: advance(plan, u, s, i, substeps, window, unravel)
            (after, r), push = linearize(step, u, s)
            moves, turned = pushed((after, r), push, directions, moves)
            each = jax.vmap(stored, in_axes=(0, 0, None, None))
            return after, moves, stored(found, r, i, substeps), each(slopes, turned, i, substeps)

        found = jnp.zeros((rows, plan.width), u.dtype)
        slopes = jnp.zeros((BLOCKS, rows, plan.width), u.dtype)
        count = parts_of(plan, window, substeps)
        s, moves, found, slopes = jax.lax.fori_loop(0, count, body, (s, moves, found, slopes))
        if compares_states(plan):
            r, push = linearize(lambda u, s: last(plan, u, s, window, unravel), u, s)
            found = found.at[window.steps].set(r)
            slopes = slopes.at[:, window.steps].set(pushed(r, push, directions, moves))
        if not plan.shooting:
            return found, jnp.zeros(0, u.dtype), slopes, jnp.zeros((BLOCKS, 0), u.dtype)
        end, push = linearize(lambda u, s: gap(plan, u, unravel(s), window), u, s)
        return found, end, slopes, pushed(end, push, directions, moves)

    return run


def normal(plan: Plan, *, matrix: bool = True) -> Callable[[AnyArray, Window], tuple]:
    """`(u, window) -> cost, gradient, upper triangle of JᵀWJ`, by forward mode inside the loop over time."""
    n = plan.size
    upper = np.triu_indices(n)

    def tangents(f: Callable, u: AnyArray, carry: Any, moves: Any) -> tuple[Any, Any]:
        push = lambda seed, move: jax.jvp(f, (u, carry), (seed, move))
        return jax.vmap(push, out_axes=(None, 0))(jnp.eye(n, dtype=u.dtype), moves)

    def add(sums: tuple, r: AnyArray, J: AnyArray) -> tuple:
        cost, weight = huber(r, plan.huber)
        gradient = jnp.sum(J * (weight * r)[None], axis=1)
        sums = (sums[0] + jnp.sum(cost), sums[1] + gradient, *sums[2:])
        if not matrix:
            return sums
        heavy = J * weight[None] if plan.huber is not None else J
        rows, columns = (x.astype(np.int32) for x in upper)
        return (*sums[:2], sums[2] + jnp.sum(heavy[rows] * J[columns], axis=1))

    def run(u: AnyArray, window: Window) -> tuple:
        def body(k: AnyArray, state: tuple) -> tuple:
            carry, moves, sums = state
            (after, r), (moves, J) = tangents(
                lambda u, c: row(plan, u, c, k, window), u, carry, moves
            )
            return after, moves, add(sums, r, J)

        start, moves = tangents(lambda u, _: begin(plan, u, window), u, (), ())
        sums = (jnp.zeros((), u.dtype), jnp.zeros(n, u.dtype))
        if matrix:
            sums = (*sums, jnp.zeros(len(upper[0]), u.dtype))
        state = jax.lax.fori_loop(0, window.steps, body, (start, moves, sums))
        carry, moves, sums = state
        r, J = tangents(lambda u, c: ending(plan, u, c, window), u, carry, moves)
        return add(sums, r, J)

    return run


def ending(plan: Plan, u: AnyArray, carry: Carry, window: Window) -> AnyArray:
    """Differences at the last row, and the gap to the next window."""
    r = last_row(plan, u, carry, window.steps, window)
    return jnp.concatenate([r, gap(plan, u, carry, window)]) if plan.shooting else r


def differences(plan: Plan) -> Callable[[AnyArray, Window], AnyArray]:
    """`(u, window) -> all differences and gaps in one vector`, by a loop of fixed length: for reverse mode."""

    def run(u: AnyArray, window: Window) -> AnyArray:
        def body(carry: Carry, k: AnyArray) -> tuple[Carry, AnyArray]:
            after, r = row(plan, u, carry, k, window)
            on = k < window.steps
            return jax.tree.map(lambda a, b: jnp.where(on, a, b), after, carry), r

        carry = begin(plan, u, window)
        rows = window.target.shape[0]
        carry, r = jax.lax.scan(body, carry, jnp.arange(rows - 1, dtype=window.steps.dtype))
        end = last_row(plan, u, carry, jnp.asarray(rows - 1, window.steps.dtype), window)
        gaps = [gap(plan, u, carry, window)] if plan.shooting else []
        return jnp.concatenate([jnp.ravel(r), end, *gaps])

    return run


def gradient(plan: Plan, kept: np.ndarray) -> Callable[[AnyArray, Window], tuple]:
    """`(u, window) -> cost, its gradient` by the entries `kept` of `u`, by reverse mode."""
    compare = differences(plan)

    def cost(u: AnyArray, window: Window) -> AnyArray:
        return jnp.sum(huber(compare(u, window), plan.huber)[0])

    def run(u: AnyArray, window: Window) -> tuple:
        value, slope = jax.value_and_grad(cost)(u, window)
        return value, slope[kept]

    return run


def rows(plan: Plan, kept: np.ndarray) -> Callable[[AnyArray, Window, AnyArray], tuple]:
    """`(u, window, weights) -> all differences, the gradient of their weighted sum` by the entries `kept` of `u`."""
    compare = differences(plan)

    def run(u: AnyArray, window: Window, weights: AnyArray) -> tuple:
        r, back = jax.vjp(lambda u: compare(u, window), u)
        return r, back(weights)[0][kept]

    return run
