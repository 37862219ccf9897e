"""What the swimmer study is compared with: networks that learn the whole dynamics, and one beside the simulator.

They see joint angles (as sine and cosine), all velocities in the head's frame and the torques, and give the change of
the velocities over a row; angles follow from velocities. Trained by Adam on windows, as the hybrid is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.motion.motion import Motion
from isthmus.simulate.many import rollout_many
from isthmus.simulate.rollout import step

ROOT = 3
"""Coordinates of the head: x, y, angle."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """Motions as the learners see them: joint angles, velocities in the head's frame, torques of the motors."""

    q: np.ndarray
    w: np.ndarray
    u: np.ndarray

    @staticmethod
    def of(motions: Sequence[Motion]) -> Rows:
        turned = [in_head(np.asarray(m.q), np.asarray(m.v)) for m in motions]
        torque = [np.asarray(m.signals["joint/control"])[:, ROOT:] for m in motions]
        return Rows(
            np.stack([np.asarray(m.q)[:, ROOT:] for m in motions]),
            np.stack(turned),
            np.stack(torque),
        )


def in_head(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Velocities with those of the head in its own axes."""
    c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
    along = np.stack([c * v[..., 0] + s * v[..., 1], -s * v[..., 0] + c * v[..., 1]], axis=-1)
    return np.concatenate([along, v[..., 2:]], axis=-1)


class Perceptron(eqx.Module):
    """A state, nothing remembered -> change of velocities."""

    net: eqx.nn.MLP

    def start(self) -> Any:
        return jnp.zeros(0)

    def __call__(self, memory: Any, x: Any) -> tuple[Any, Any]:
        return memory, self.net(x)


class Lstm(eqx.Module):
    """A long short-term memory and a linear layer."""

    cell: eqx.nn.LSTMCell
    out: eqx.nn.Linear

    def start(self) -> Any:
        return (jnp.zeros(self.cell.hidden_size), jnp.zeros(self.cell.hidden_size))

    def __call__(self, memory: Any, x: Any) -> tuple[Any, Any]:
        memory = self.cell(x, memory)
        return memory, self.out(memory[0])


def lstm(joints: int, weights: int, key: Any) -> Lstm:
    """An `Lstm` with at least `weights` weights."""
    inputs, outputs = _sizes(joints)
    one, two = jax.random.split(key)
    hidden = next(
        h for h in range(4, 200) if 4 * h * (inputs + h + 1) + outputs * (h + 1) >= weights
    )
    return Lstm(eqx.nn.LSTMCell(inputs, hidden, key=one), eqx.nn.Linear(hidden, outputs, key=two))


def perceptron(joints: int, weights: int, key: Any) -> Perceptron:
    """With two hidden layers and at least so many weights."""
    inputs, outputs = _sizes(joints)
    size = lambda h: h * (inputs + 1) + h * (h + 1) + outputs * (h + 1)
    width = next(h for h in range(4, 400) if size(h) >= weights)
    return Perceptron(eqx.nn.MLP(inputs, outputs, width, 2, activation=jax.nn.tanh, key=key))


def _sizes(joints: int) -> tuple[int, int]:
    return 2 * joints + (joints + ROOT) + joints, joints + ROOT


class Learner(eqx.Module):
    """A trained network with its scales: `predict(motion)` rolls it out under the motion's torques."""

    net: Any
    deviation: Any
    change: Any
    torque: float
    row: float

    def predict(self, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
        """Joint angles and joint velocities from the motion's first row on."""
        rows = Rows.of([motion])
        q, w = _unrolled(self.net, self, rows.q[0, 0], rows.w[0, 0], rows.u[0, :-1])
        return np.concatenate([rows.q[0, :1], np.asarray(q)]), np.concatenate(
            [rows.w[0, :1, ROOT:], np.asarray(w)[:, ROOT:]]
        )


def _inputs(scales: Learner, q: Any, w: Any, u: Any) -> Any:
    return jnp.concatenate([jnp.sin(q), jnp.cos(q), w / scales.deviation, u / scales.torque])


@eqx.filter_jit
def _unrolled(net: Any, scales: Learner, q: Any, w: Any, torques: Any) -> tuple[Any, Any]:
    """Closed loop: each row from the predicted one before."""

    def one(carry: tuple, u: Any) -> tuple[tuple, tuple]:
        q, w, memory = carry
        memory, y = net(memory, _inputs(scales, q, w, u))
        w = w + scales.change * y
        q = q + scales.row * w[ROOT:]
        return (q, w, memory), (q, w)

    _, out = jax.lax.scan(one, (q, w, net.start()), torques)
    return out


def train(
    net: Any, motions: Sequence[Motion], row: float, *, steps: int, window: int = 20
) -> Learner:
    """Closed-loop windows of the motions, Adam with a falling rate, all windows at once."""
    with (
        jax.enable_x64(False),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
        rows = Rows.of(motions)
        deviation, change = (
            rows.w.std(axis=(0, 1)) + 1e-9,
            np.diff(rows.w, axis=1).std(axis=(0, 1)) + 1e-9,
        )
        scales = Learner(
            None, np.float32(deviation), np.float32(change), float(rows.u.std() + 1e-12), row
        )
        cut = (rows.q.shape[1] - 1) // window * window
        pieces = lambda x: x.reshape(-1, window, x.shape[-1]).astype(np.float32)
        q, w, u = (pieces(x[:, :cut]) for x in (rows.q, rows.w, rows.u))
        q_next, w_next = (pieces(x[:, 1 : cut + 1]) for x in (rows.q, rows.w))

        def loss(net: Any) -> Any:
            found_q, found_w = jax.vmap(lambda *x: _unrolled(net, scales, *x))(q[:, 0], w[:, 0], u)
            turn = (found_q - q_next) / (0.2 * scales.deviation[ROOT:])
            return jnp.mean(((found_w - w_next) / scales.deviation) ** 2) + jnp.mean(turn**2)

        net = _descended(net, loss, steps)
    return dataclasses.replace(scales, net=net)


def _descended(net: Any, loss: Callable[[Any], Any], steps: int) -> Any:
    """The network after so many steps of Adam with a falling rate."""
    import optax

    rule = optax.adam(optax.cosine_decay_schedule(5e-3, steps, 0.02))

    @eqx.filter_jit
    def improve(net: Any, memory: Any) -> tuple[Any, Any]:
        move, memory = rule.update(eqx.filter_grad(loss)(net), memory)
        return eqx.apply_updates(net, move), memory

    memory = rule.init(eqx.filter(net, eqx.is_inexact_array))
    for _ in range(steps):
        net, memory = improve(net, memory)
    return net


def residual(
    model: Model,
    motions: Sequence[Motion],
    row: float,
    substeps: int,
    *,
    weights: int,
    steps: int,
    key: Any,
) -> Callable[[Motion], tuple[np.ndarray, np.ndarray]]:
    """A network beside the simulator: it learns what a plain step misses of the next velocities, and adds it."""
    rows = Rows.of(motions)
    missed = np.stack([_missed(model, m, row, substeps) for m in motions])
    with (
        jax.enable_x64(False),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
        deviation, size = (
            np.float32(rows.w.std(axis=(0, 1)) + 1e-9),
            np.float32(missed.std(axis=(0, 1)) + 1e-9),
        )
        torque = float(rows.u.std() + 1e-12)
        scales = Learner(None, deviation, size, torque, row)
        net = perceptron(rows.q.shape[-1], weights, key)
        flat = lambda x: x[:, :-1].reshape(-1, x.shape[-1]).astype(np.float32)
        x = jax.vmap(lambda *s: _inputs(scales, *s))(flat(rows.q), flat(rows.w), flat(rows.u))
        y = np.float32(missed.reshape(-1, missed.shape[-1])) / size
        net = _descended(net, lambda n: jnp.mean((jax.vmap(n.net)(x) - y) ** 2), steps)
        answer = eqx.filter_jit(lambda q, w, u: size * net.net(_inputs(scales, q, w, u)))

    def predict(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
        state, rows = motion.state(0), Rows.of([motion])
        q, v = [np.asarray(state.q)], [np.asarray(state.v)]
        for u, full in zip(
            rows.u[0, :-1], np.asarray(motion.signals["joint/control"])[:-1], strict=True
        ):
            with np.errstate(all="ignore"), jax.enable_x64(False):
                w = in_head(q[-1], v[-1])
                more = np.asarray(
                    answer(np.float32(q[-1][ROOT:]), np.float32(w), np.float32(u)), np.float64
                )
            state = step(model, State(q[-1], v[-1]), full, row, substeps=substeps)
            v.append(np.asarray(state.v) + out_of_head(q[-1], more))
            q.append(np.asarray(state.q) + row * out_of_head(q[-1], more))
        return np.stack(q)[:, ROOT:], np.stack(v)[:, ROOT:]

    return predict


def _missed(model: Model, motion: Motion, row: float, substeps: int) -> np.ndarray:
    """What a plain step misses of the next velocities, in the head's frame before it."""
    q, v = np.asarray(motion.q)[:-1], np.asarray(motion.v)[:-1]
    torque = np.asarray(motion.signals["joint/control"])[:-1, None]
    plain = rollout_many(model, State(q, v), torque, row, substeps=substeps)
    return in_head(q, np.asarray(motion.v)[1:] - np.asarray(plain.v)[:, -1])


def out_of_head(q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The opposite of `in_head`."""
    c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
    along = np.stack([c * w[..., 0] - s * w[..., 1], s * w[..., 0] + c * w[..., 1]], axis=-1)
    return np.concatenate([along, w[..., 2:]], axis=-1)
