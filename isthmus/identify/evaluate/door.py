"""Gauss-Newton matrices by the weights of networks, through the signals that the networks correct.

A network acts on a window only by its answers. One program gives, for every window, how the differences depend on the
answer in each step: the products of the Jacobians of the steps, of which there are few columns. Another one gives the
Jacobian of the answers by the weights, and BLAS multiplies the two. What is free beside weights is a further column.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from isthmus.blas import on_one_thread
from isthmus.identify.evaluate.lanes import by_points, in_lanes, windows_in_lanes
from isthmus.identify.evaluate.programs import compares_states, last
from isthmus.identify.evaluate.window import Plan, Window, begin, part_of_row
from isthmus.identify.parameters.groups import Setting
from isthmus.losses.penalties import huber
from isthmus.model.state import decides
from isthmus.native.tracing.linearize import linearize
from isthmus.types import AnyArray

MOST_COLUMNS = 14
"""Columns of the Jacobian of a step that are written out: of the state, of the answers, of other free numbers."""
LEAST_RATIO = 3.0
"""So many times more free numbers than columns make the way through the answers the cheaper one."""
LAWS = ("free", "dissipative")
"""Laws under which a network is called once, and not differentiated."""


class Probe(eqx.Module):
    """A network with something added to its answer, that remembers what it was asked."""

    net: Any
    more: AnyArray
    asked: Any = eqx.field(static=True)
    """A function that is told of each input."""

    def __call__(self, x: AnyArray) -> AnyArray:
        self.asked(x)
        return self.net(x) + self.more


@dataclasses.dataclass(frozen=True)
class Doors:
    """The trained networks of a plan, and which free numbers are their weights."""

    networks: tuple[int, ...]
    inputs: tuple[int, ...]
    """How many numbers each network takes."""
    outputs: tuple[int, ...]
    """How many numbers each network gives."""
    weights: tuple[np.ndarray, ...]
    """The free numbers that are weights of each."""
    others: np.ndarray
    """All other free numbers."""

    @property
    def width(self) -> int:
        """How many numbers all networks together give."""
        return sum(self.outputs)


def doors_of(plan: Plan, example: Window) -> Doors | None:
    """The networks whose weights are free, if the matrix is cheaper through their answers; else None."""
    model, p = plan.parameters.template, plan.parameters
    if (
        plan.inputs is None
        or plan.torque
        or not compares_states(plan)
        or plan.delayed
        or plan.starts
    ):
        return None
    if (
        plan.scheme.stages * plan.scheme.substeps > 1
        or decides(example.memory)
        or p.make is not None
    ):
        return None
    names = np.array(
        [name.split("/")[1] if name.startswith("network/") else "" for name in p.names]
    )
    if len(names) != p.size:
        return None
    found = [i for i, wired in enumerate(model.networks) if wired.name in names]
    wires = [model.networks[i] for i in found]
    if any(w.plan.units is not None or w.plan.law not in LAWS for w in wires):
        return None
    weights = tuple(np.flatnonzero(names == w.name) for w in wires)
    inputs = tuple(len(np.asarray(w.shift)) for w in wires)
    doors = Doors(
        tuple(found), inputs, tuple(len(np.asarray(w.gain)) for w in wires), weights, np.flatnonzero(names == "")
    )  # fmt: skip
    state = len(model.joint_rest_position) + model.dof
    columns = state + doors.width + len(doors.others)
    return doors if found and columns <= MOST_COLUMNS and p.size >= LEAST_RATIO * columns else None


def probed(setting: Setting, doors: Doors, more: AnyArray, asked: list[Any]) -> Setting:
    """The simulation with `more` added to the answers of its networks; `asked` collects their inputs."""
    networks = list(setting.model.networks)
    ends = np.cumsum(doors.outputs).tolist()
    for i, end, size in zip(doors.networks, ends, doors.outputs, strict=True):
        probe = Probe(networks[i].net, more[end - size : end], asked.append)
        networks[i] = dataclasses.replace(networks[i], net=probe)
    model = dataclasses.replace(setting.model, networks=tuple(networks))
    return dataclasses.replace(setting, model=model)


def columns_by_answers(plan: Plan, doors: Doors) -> Callable[..., tuple]:
    """`(u, window, directions) -> differences, their derivatives, inputs of the networks`.

    Differences: (rows, width). Derivatives: (numbers, rows, width), by the other free numbers, `directions` (others,
    length of `u`), and then by the answers of one network after the other, step by step. Inputs: (steps, inputs).
    """
    p, m = len(doors.others), doors.width

    def run(u: AnyArray, window: Window, directions: AnyArray) -> tuple:
        window = dataclasses.replace(window, memory=None)  # it decides nothing: see `doors_of`
        rows, steps = window.target.shape[0], window.target.shape[0] - 1
        unravel = ravel_pytree(begin(plan, u, window))[1]
        s, push = linearize(lambda u: ravel_pytree(begin(plan, u, window))[0], u)
        n = s.shape[0]
        G = jnp.zeros((p + steps * m, n), u.dtype)
        if p:
            G = G.at[:p].set(jnp.stack([push(directions[i]) for i in range(p)]))

        def step(k: AnyArray, u: AnyArray, s: jax.Array, more: AnyArray) -> tuple:
            asked: list[Any] = []
            here = dataclasses.replace(
                plan, probe=lambda setting: probed(setting, doors, more, asked)
            )
            after, r = part_of_row(here, u, unravel(s), k, jnp.ones_like(k), window)
            flat = jnp.where(k < window.steps, ravel_pytree(after)[0], s)
            return jnp.concatenate([flat, r]), jnp.concatenate(asked)

        def body(k: AnyArray, state: tuple) -> tuple:
            s, G, found, slopes, asked = state
            zero = (jnp.zeros_like(u), jnp.zeros_like(s), jnp.zeros(m, u.dtype))
            (after, x), push = linearize(functools.partial(step, k), u, s, zero[2])
            by_state = jnp.stack([push(zero[0], e, zero[2])[0] for e in jnp.eye(n, dtype=u.dtype)])
            moved = G @ by_state
            if p:
                other = jnp.stack([push(directions[i], *zero[1:])[0] for i in range(p)])
                moved = moved.at[:p].add(other)
            found, slopes = found.at[k].set(after[n:]), slopes.at[:, k].set(moved[:, n:])
            by_answer = [push(*zero[:2], e)[0][:n] for e in jnp.eye(m, dtype=u.dtype)]
            new, first, at = moved[:, :n], p, 0
            for size in doors.outputs:
                own = jnp.stack(by_answer[at : at + size])
                new = jax.lax.dynamic_update_slice_in_dim(new, own, first + k * size, 0)
                first, at = first + steps * size, at + size
            return after[:n], new, found, slopes, asked.at[k].set(x)

        found = jnp.zeros((rows, plan.width), u.dtype)
        slopes = jnp.zeros((p + steps * m, rows, plan.width), u.dtype)
        asked = jnp.zeros((steps, sum(doors.inputs)), u.dtype)
        state = (s, G, found, slopes, asked)
        s, G, found, slopes, asked = jax.lax.fori_loop(0, steps, body, state)
        at_end = dataclasses.replace(window, steps=jnp.asarray(steps, window.steps.dtype))
        r, push = linearize(lambda u, s: last(plan, u, s, at_end, unravel), u, s)
        zero = (jnp.zeros_like(u), jnp.zeros_like(s))
        moved = G @ jnp.stack([push(zero[0], e) for e in jnp.eye(n, dtype=u.dtype)])
        if p:
            other = jnp.stack([push(directions[i], zero[1]) for i in range(p)])
            moved = moved.at[:p].add(other)
        return found.at[steps].set(r), slopes.at[:, steps].set(moved), asked

    return run


def answers_by_weights(plan: Plan, doors: Doors) -> Callable[..., tuple]:
    """`(u, inputs) -> Jacobians of the answers by the numbers of each network in u`, (outputs, numbers) each."""
    places = places_of(plan, doors)

    inputs = plan.inputs
    assert inputs is not None

    def run(u: jax.Array, x: AnyArray) -> tuple:
        found, at = [], 0
        for i, own, size in zip(doors.networks, places, doors.inputs, strict=True):
            given = x[at : at + size]

            def answer(
                w: AnyArray, i: int = i, own: np.ndarray = own, given: AnyArray = given
            ) -> AnyArray:
                theta = u[: plan.inner].at[own].set(w)
                return inputs.setting(theta).model.networks[i].net(given)

            found.append(jax.jacrev(answer)(u[own]))
            at += size
        return tuple(found)

    return run


def places_of(plan: Plan, doors: Doors) -> list[np.ndarray]:
    """Where the numbers of each network stand in `u`."""
    assert plan.inputs is not None
    ends = plan.inputs.ends.tolist()
    found: dict[int, list[np.ndarray]] = {i: [] for i in doors.networks}
    for (key, shape), end in zip(plan.inputs.parts, ends, strict=True):
        if key[0] == "network" and key[1] in found:
            found[key[1]].append(np.arange(end - int(np.prod(shape)), end, dtype=np.int32))
    return [np.concatenate(found[i]) for i in doors.networks]


class ByAnswers:
    """Cost, gradient and Gauss-Newton matrix of all windows together."""

    def __init__(self, batch: Any, doors: Doors) -> None:
        self.batch, self.plan, self.doors = batch, batch.plan, doors

    def normal(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cost (islands), gradient (islands, 1, n) and matrix (islands, 1, n, n)."""
        with on_one_thread():
            parts = [self._one(x) for x in X]
        cost, gradient, H = (np.stack(x) for x in zip(*parts, strict=True))
        return cost, gradient[:, None], H[:, None]

    def _one(self, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Of one point: `Σ Nᵀ F Fᵀ N` over the windows, with `F` by the answers and `N` from there to weights."""
        U, V = self.batch.of_window(x[None]), self.batch.directions(x[None])[0]
        doors = self.doors
        given = [V[doors.others]]
        r, F, asked = (y[0] for y in self.batch.map(self.batch.compiled.by_answers, U, given))
        used = int(self.batch.windows.steps.max())
        if used < asked.shape[1]:  # the rest is padding
            r, asked = r[:, : used + 1], asked[:, :used]
            F = F[:, self._used(used, F.shape[1]), : used + 1]
        rho, weight = huber(r, self.plan.huber)
        flat = F.reshape(*F.shape[:2], -1)
        heavy = flat if self.plan.huber is None else flat * weight.reshape(len(F), 1, -1)
        M, slope = heavy @ np.swapaxes(flat, 1, 2), (heavy @ r.reshape(len(F), -1, 1))[..., 0]
        gradient, H = self._by_weights(M, slope, self._slopes(U, V, asked))
        return float(rho.sum()), gradient, H

    def _used(self, steps: int, size: int) -> np.ndarray:
        """Columns of the first steps."""
        p = len(self.doors.others)
        each = (size - p) // self.doors.width
        firsts = np.cumsum((0, *self.doors.outputs[:-1])) * each
        own = [
            p + f + np.arange(steps * k) for f, k in zip(firsts, self.doors.outputs, strict=True)
        ]
        return np.concatenate([np.arange(p), *own]).astype(np.int64)

    def _by_weights(
        self, M: np.ndarray, slope: np.ndarray, N: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and matrix by all free numbers, from those by other numbers and answers."""
        doors, p, n = self.doors, len(self.doors.others), self.plan.parameters.size
        gradient, H = np.zeros(n), np.zeros((n, n))
        gradient[doors.others] = slope[:, :p].sum(axis=0)
        H[np.ix_(doors.others, doors.others)] = M[:, :p, :p].sum(axis=0)
        ends = p + np.cumsum([x.shape[1] for x in N])
        spans = [slice(end - x.shape[1], end) for x, end in zip(N, ends, strict=True)]
        for i, (own, here) in enumerate(zip(doors.weights, spans, strict=True)):
            wide = N[i].reshape(-1, len(own))
            gradient[own] = slope[:, here].reshape(-1) @ wide
            mixed = M[:, here, :p].reshape(len(wide), p).T @ wide
            H[np.ix_(doors.others, own)], H[np.ix_(own, doors.others)] = mixed, mixed.T
            for j in range(i + 1):
                other = doors.weights[j]
                block = wide.T @ (M[:, here, spans[j]] @ N[j]).reshape(-1, len(other))
                H[np.ix_(own, other)], H[np.ix_(other, own)] = block, block.T
        return gradient, H

    def _slopes(self, U: np.ndarray, V: np.ndarray, asked: np.ndarray) -> list[np.ndarray]:
        """Jacobians of the answers by the free weights of each network: (windows, steps · outputs, weights)."""
        fn, (count, steps, _) = self.batch.compiled.answers, asked.shape
        flat = asked.reshape(count * steps, -1)
        given, rows = windows_in_lanes(
            U[:, :1], len(flat), in_lanes([flat], fn.lanes), (), fn.lanes
        )
        found = fn.flat_blocks(given, rows, 1)
        slopes = []
        for J, places, own in zip(found, self.places, self.doors.weights, strict=True):
            A = V[np.ix_(own, places)]
            here = by_points(J, 1, len(flat))[0]
            column, scale = self._selection(A)
            chosen = here if column is None else here[..., column]
            chosen = chosen if np.all(scale == 1.0) else chosen * scale
            slopes.append(chosen.reshape(count, steps * here.shape[1], len(own)))
        return slopes

    @functools.cached_property
    def places(self) -> list[np.ndarray]:
        return places_of(self.plan, self.doors)

    @staticmethod
    def _selection(A: np.ndarray) -> tuple[np.ndarray | None, Any]:
        """Which number each free weight is, and by which factor; None: in their order."""
        column = np.argmax(np.abs(A), axis=1)
        scale = A[np.arange(len(A)), column]
        same = A.shape[0] == A.shape[1] and np.array_equal(column, np.arange(len(A)))
        return (None if same else column), scale
