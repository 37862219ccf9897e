"""Torques that a fitted model lacks in each step, correlated with every signal of the log.

From each measured state the model makes one step; what the velocity then lacks, times the inertia, is a torque that
something unmodelled exerts. If it follows the sign of a velocity there is dry friction, if a position, a spring.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.dynamics.crba import mass_matrix
from isthmus.identify.logs.log import Log
from isthmus.model.model import Model
from isthmus.model.state import Control, State, fresh_memory
from isthmus.simulate.engine import compiled
from isthmus.simulate.integrate import Integrator, advance

MIN_CORRELATION = 0.2
"""Correlation above which a missing torque is reported."""


@dataclasses.dataclass(frozen=True)
class Missing:
    """A missing torque that follows some signal."""

    number: str
    """The degree of freedom that lacks it."""
    follows: str
    correlation: float
    size: float
    """Root mean square of the part that follows [N·m or N]."""

    def __str__(self) -> str:
        return (
            f"{self.number} lacks a torque of {self.size:.2g} that follows {self.follows} "
            f"(correlation {self.correlation:+.2f})"
        )


def missing(logs: Sequence[Log], scheme: Integrator, model: Model) -> tuple[Missing, ...]:
    """Missing torques that clearly follow a signal, the strongest of each degree of freedom first."""
    parts = [_one(scheme, model, log) for log in logs if len(log) > 3 and _says_what_acted(log)]
    if not parts:
        return ()
    lacking = np.concatenate([torque for torque, _ in parts])
    signals = {name: np.concatenate([s[name] for _, s in parts]) for name in parts[0][1]}
    names = [
        name + (f"[{k}]" if len(rows) > 1 else "")
        for name, rows in model.rows("dof").items()
        for k, _ in enumerate(rows)
    ]
    found = [hit for j, name in enumerate(names) for hit in _followed(name, lacking[:, j], signals)]
    return tuple(found)


def _says_what_acted(log: Log) -> bool:
    """False where motors gave measured torques and no command is known, so that a step would be made without them."""
    return log.control.torque is not None or "joint/motor_torque" not in log.signals


def _followed(name: str, torque: np.ndarray, signals: dict[str, np.ndarray]) -> Iterator[Missing]:
    """The three signals that one missing torque follows most."""
    torque = torque - torque.mean()
    hits = []
    for signal, x in signals.items():
        x = x - x.mean()
        size = np.linalg.norm(x) * np.linalg.norm(torque)
        r = float(x @ torque / size) if size > 0 else 0.0
        if abs(r) > max(MIN_CORRELATION, 5.0 / np.sqrt(len(x))):
            hits.append(Missing(name, signal, r, float(abs(r) * np.std(torque))))
    yield from sorted(hits, key=lambda hit: -abs(hit.correlation))[:3]


def _one(scheme: Integrator, model: Model, log: Log) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Missing torques (rows, dof) of one log, and the signals they may follow."""
    known = np.all(np.isfinite(log.q), axis=1) & np.all(np.isfinite(log.v), axis=1)
    rows = np.flatnonzero(known[:-1] & known[1:])
    control = jax.tree.map(lambda x: np.asarray(x)[rows], log.control)
    row = (log.q[rows], log.v[rows], control, log.v[rows + 1])
    dt = np.float64(log.dt)
    torques = _lacking(scheme, (model, dt, *jax.tree.map(lambda x: x[0], row)))
    same, each = jax.tree.leaves((model, dt)), jax.tree.leaves(row)
    shared = [True] * len(same) + [False] * len(each)
    (found,) = torques.flat_map([*same, *each], shared=shared)
    return found, _signals(model, log, rows)


def _lacking(scheme: Integrator, example: tuple) -> Any:
    """`(model, dt, q, v, control, v one row later) -> torque that a step lacks`, as native code."""

    def run(model: Model, dt: Any, q: Any, v: Any, control: Control, after: Any) -> Any:
        state = State(q, v, fresh_memory(model), jnp.zeros((), q.dtype))
        made, _ = advance(model, state, control, dt, scheme)
        return mass_matrix(model, q) @ ((after - made.v) / dt)

    return compiled(run, example, ("lacking torque", scheme), "native", np.zeros(0))


def _signals(model: Model, log: Log, rows: np.ndarray) -> dict[str, np.ndarray]:
    """What a torque may follow: position, velocity, its sign and square, command, time."""
    found: dict[str, np.ndarray] = {}
    for name, own in model.rows("dof").items():
        for k in own:
            label = name if len(own) == 1 else f"{name}[{k - own[0]}]"
            v = log.v[rows, k]
            slow = 0.02 * max(float(np.std(v)), 1e-12)
            found[f"the velocity of {label}"] = v
            found[f"the sign of the velocity of {label}"] = np.tanh(v / slow)
            found[f"the squared velocity of {label}"] = v * np.abs(v)
            if log.control.torque is not None:
                found[f"the command of {label}"] = np.asarray(log.control.torque)[rows, k]
    for name, own in model.rows("coordinate").items():
        for k in own:
            label = name if len(own) == 1 else f"{name}[{k - own[0]}]"
            found[f"the position of {label}"] = log.q[rows, k]
            if len(own) == 1:
                found[f"the sine of the position of {label}"] = np.sin(log.q[rows, k])
                found[f"the cosine of the position of {label}"] = np.cos(log.q[rows, k])
    return found | {"time": log.dt * rows}
