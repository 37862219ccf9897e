"""One step of the pendulum from few samples: a feed-forward network that learns everything, beside the hybrid.

A sample is a random state and the state one step later. The feed-forward network sees sines and cosines of the angles
and the velocities, all scaled, and gives the accelerations; the hybrid's networks see only what was discovered.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from isthmus.experiments.discover_truth import DT, Truth, question
from isthmus.experiments.quiet import quiet_fit
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.motion.motion import Motion
from isthmus.simulate.many import rollout_many

SPEED = 5.0
"""Velocities of samples are below this [rad/s]."""
WIDTH = 64
NOISE = 1e-6
"""Assumed of samples, which have none: only the size of the cost depends on it."""


def samples(truth: Truth, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random states (count, 4), and the states one step later."""
    rng = np.random.default_rng([seed, count, 22])
    q, v = rng.uniform(-np.pi, np.pi, (count, 2)), rng.uniform(-SPEED, SPEED, (count, 2))
    before = np.concatenate([q, v], axis=1)
    return before, after_one_step(truth.model, before, explicit=True)


def after_one_step(model: Model, states: np.ndarray, *, explicit: bool = False) -> np.ndarray:
    """The states (count, 4) one step later."""
    starts = State(states[:, :2], states[:, 2:])
    found = rollout_many(model, starts, None, DT, steps=1, explicit=explicit)
    return np.concatenate([np.asarray(found.q)[:, -1], np.asarray(found.v)[:, -1]], axis=1)


def hybrid_error(
    model: Model, truth: Truth, count: int, test: tuple[np.ndarray, np.ndarray], seed: int
) -> float:
    """Error of the hybrid with the discovered inputs, its weights fitted to `count` samples."""
    before, after = samples(truth, count, seed)
    t = np.array([0.0, DT])
    pairs = [
        Motion(t, np.stack([a[:2], b[:2]]), np.stack([a[2:], b[2:]]))
        for a, b in zip(before, after, strict=True)
    ]
    fitted = quiet_fit(question(model, pairs, NOISE, window=1), LevenbergMarquardt(steps=60))
    return velocity_error(after_one_step(fitted.model, test[0]), test[1])


def velocity_error(found: np.ndarray, target: np.ndarray) -> float:
    """Root mean square of the velocities after one step [rad/s]."""
    return float(np.sqrt(np.mean(np.square(found[:, 2:] - target[:, 2:]))))


def feed_forward_error(
    truth: Truth, count: int, test: tuple[np.ndarray, np.ndarray], seed: int, steps: int
) -> float:
    """Error of a feed-forward network that learned from `count` samples."""
    before, after = samples(truth, count, seed)
    rate = (after - before)[:, 2:] / DT
    size = np.sqrt(np.mean(np.square(rate), axis=0))
    net = _trained(_features(before), rate / size, seed, steps)
    found = np.asarray(jax.vmap(net)(_features(test[0]))) * size * DT + test[0][:, 2:]
    return velocity_error(np.concatenate([test[1][:, :2], found], axis=1), test[1])


def _features(states: np.ndarray) -> np.ndarray:
    q, v = states[:, :2], states[:, 2:]
    scaled = [np.sin(q), np.cos(q), v / SPEED]
    return np.concatenate(scaled, axis=1).astype(np.float32)


def _trained(x: np.ndarray, y: np.ndarray, seed: int, steps: int) -> Any:
    """Two hidden layers, trained by Adam on random batches with a falling rate."""
    import optax  # heavy

    key, first = jax.random.split(jax.random.key(seed))
    net = eqx.nn.MLP(
        x.shape[1], y.shape[1], WIDTH, 2, activation=jax.nn.tanh, dtype=np.float32, key=first
    )
    rule = optax.adam(optax.cosine_decay_schedule(3e-3, steps))
    inputs, targets = jnp.asarray(x), jnp.asarray(y.astype(np.float32))
    batch = min(256, len(x))

    def step(state: Any, key: Any) -> tuple[Any, None]:
        net, memory = state
        rows = jax.random.randint(key, (batch,), 0, len(x))
        loss = lambda net: jnp.mean(jnp.square(jax.vmap(net)(inputs[rows]) - targets[rows]))
        slope = eqx.filter_grad(loss)(net)
        move, memory = rule.update(slope, memory)
        return (eqx.apply_updates(net, move), memory), None

    arrays, rest = eqx.partition(net, eqx.is_array)

    def run(arrays: Any, keys: Any) -> Any:
        def one(state: Any, key: Any) -> tuple[Any, None]:
            (new, memory), _ = step((eqx.combine(state[0], rest), state[1]), key)
            return (eqx.filter(new, eqx.is_array), memory), None

        return jax.lax.scan(one, (arrays, rule.init(arrays)), keys)[0][0]

    with jax.numpy_dtype_promotion("standard"):  # optax mixes types
        return eqx.combine(jax.jit(run)(arrays, jax.random.split(key, steps)), rest)
