"""Our engine in plain XLA beside MJX and Brax: rollouts, forward dynamics, and their gradients; float64.

Many worlds run by `jax.vmap` and by `jax.lax.map` in chunks; for every engine the faster of the two counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import isthmus as ist
from benchmarks.peers import Work, double_pendulum_text, peers, quadruped_text
from benchmarks.timing import Timing, stopwatch, table
from isthmus.dynamics import forward_dynamics
from isthmus.model.model import Model
from isthmus.simulate.rollout import step as our_step

STEPS = 500
CHUNK = 8


def main(quick: bool = False) -> dict[str, dict[str, Timing]]:
    """Measures, prints the table, returns it."""
    worlds = 64 if quick else 1024
    with jax.enable_x64(True):
        rows: dict[str, dict[str, Timing]] = {}
        engines = {"isthmus": None, **peers()}
        pendulum, robot = ist.library.pendulum(2), ist.library.quadruped(friction=0.0)
        jobs = {
            f"double pendulum, {STEPS} steps": (_rollout, pendulum, double_pendulum_text()),
            "quadruped, forward dynamics": (_forward, robot, quadruped_text()),
        }
        for name, (job, model, text) in jobs.items():
            for engine, make in engines.items():
                work = _ours(model) if make is None else make(text)
                for label, ways, args in _variants(job(work), model, worlds):
                    timings = [stopwatch(way, *args) for way in ways]
                    best = min(timings, key=lambda timing: timing.run)
                    rows.setdefault(f"{name}{label}", {})[engine] = best
                    print(".", end="", flush=True)
    print()
    print(
        table(
            "plain XLA, float64, one process; the better of vmap and chunks for many worlds", rows
        )
    )
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


def _variants(loss: Callable[..., Any], model: Model, worlds: int) -> list[tuple[str, list, tuple]]:
    """The work, and its gradient by the state; one world, and many; each with the ways to run it."""
    start = ist.State.neutral(model)
    q, v = jnp.asarray(start.q).at[0].add(0.3), jnp.full(model.dof, 0.1)
    many = jnp.tile(q, (worlds, 1)), jnp.tile(v, (worlds, 1))
    gradient = jax.grad(loss, argnums=(0, 1))
    return [
        ("", [loss], (q, v)),
        (", gradient", [gradient], (q, v)),
        (f", {worlds} worlds", _ways(loss), many),
        (f", gradient, {worlds} worlds", _ways(gradient), many),
    ]


def _ways(f: Callable[..., Any]) -> list[Callable[..., Any]]:
    """All worlds side by side, or in chunks that fit a CPU's cache."""
    chunks = lambda q, v: jax.lax.map(lambda at: f(*at), (q, v), batch_size=CHUNK)
    return [jax.vmap(f), chunks]
