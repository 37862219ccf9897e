"""Our engine in plain XLA beside MJX and Brax: rollouts, forward dynamics, and their gradients; float64.

Many worlds run by `jax.vmap` and by `jax.lax.map` in chunks; for every engine the faster of the two counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import isthmus as ist
from isthmus.bench.machine import hint, is_here
from isthmus.bench.peers import ENGINES, Work, double_pendulum_text, quadruped_text
from isthmus.bench.rows import Row
from isthmus.bench.timing import stopwatch
from isthmus.dynamics import forward_dynamics
from isthmus.model.model import Model
from isthmus.simulate.rollout import step as our_step

STEPS = 500
CHUNK = 8


def pendulum(quick: bool) -> list[Row]:
    """A double pendulum for some hundred steps, and its gradient by the initial state."""
    name = f"double pendulum, {STEPS} steps"
    return rows_of(name, _rollout, ist.library.pendulum(2), double_pendulum_text(), quick)


def quadruped(quick: bool) -> list[Row]:
    """Forward dynamics of a quadruped, and its gradient by the state."""
    model = ist.library.quadruped(friction=0.0)
    return rows_of("quadruped, forward dynamics", _forward, model, quadruped_text(), quick)


def rows_of(
    name: str, job: Callable[[Work], Callable], model: Model, text: str, quick: bool
) -> list[Row]:
    """One row for each variant of the work and each peer."""
    rows = []
    with jax.enable_x64(True):
        works = {peer: make(text) for peer, make in ENGINES.items() if is_here(peer)}
        for label, ways, args in _variants(job, model, 64 if quick else 1024):
            timed = lambda work, w=ways, a=args: min(
                (stopwatch(way, *a) for way in w(job(work))), key=lambda found: found[1]
            )
            compiling, ours = timed(_ours(model))
            for peer in ENGINES:
                slow, theirs = timed(works[peer]) if peer in works else (None, None)
                rows.append(
                    Row(f"{name}{label}", ours, peer, theirs,
                        compile=compiling, peer_compile=slow, missing=hint(peer))
                )  # fmt: skip
    return rows


def _ours(model: Model) -> Work:
    def forward(q: Any, v: Any) -> Any:
        return forward_dynamics(model, q, v, jnp.zeros_like(v))

    def step(q: Any, v: Any) -> tuple[Any, Any]:
        after = our_step(model, ist.State(q, v), None, 0.01)
        return after.q, after.v

    return {"forward": forward, "step": step}


def _rollout(work: Work) -> Callable[..., Any]:
    """Sum of squares of the state at the end."""

    def loss(q: Any, v: Any) -> Any:
        (q, v), _ = jax.lax.scan(lambda s, _: (work["step"](*s), None), (q, v), length=STEPS)
        return jnp.sum(q**2) + jnp.sum(v**2)

    return loss


def _forward(work: Work) -> Callable[..., Any]:
    """Sum of squares of the acceleration."""
    return lambda q, v: jnp.sum(work["forward"](q, v) ** 2)


def _variants(
    job: Callable[[Work], Callable], model: Model, worlds: int
) -> list[tuple[str, Callable[[Callable], list], tuple]]:
    """The work, and its gradient by the state; one world, and many; each with the ways to run it."""
    start = ist.State.neutral(model)
    q, v = jnp.asarray(start.q).at[0].add(0.3), jnp.full(model.dof, 0.1)
    many = jnp.tile(q, (worlds, 1)), jnp.tile(v, (worlds, 1))
    gradient = lambda f: jax.grad(f, argnums=(0, 1))
    return [
        ("", lambda f: [f], (q, v)),
        (", gradient", lambda f: [gradient(f)], (q, v)),
        (f", {worlds:,} worlds", _ways, many),
        (f", gradient, {worlds:,} worlds", lambda f: _ways(gradient(f)), many),
    ]


def _ways(f: Callable[..., Any]) -> list[Callable[..., Any]]:
    """All worlds side by side, or in chunks that fit a CPU's cache."""
    chunks = lambda q, v: jax.lax.map(lambda at: f(*at), (q, v), batch_size=CHUNK)
    return [jax.vmap(f), chunks]
