"""One step of the simulation from every measured row, and its derivatives, by native code in lanes.

`x` is a state, as a displacement of `q` and a `v`. Around a recorded motion `x̄` the deviation `ξ = x − x̄` obeys
`ξ' = A ξ + d + B f + L δ`: `d` is by how much a step of the model misses the next row, `f` a generalised force and `δ`
a change of leaves of the model. All is computed by reverse mode, one lane for each number of `ξ'`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.dynamics.jacobians import link_jacobians
from isthmus.model import coordinates
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.networks.recipes import Constant
from isthmus.networks.signals import Signals
from isthmus.simulate.engine import compiled
from isthmus.simulate.forces import forces
from isthmus.simulate.integrate import Integrator, advance
from isthmus.types import AnyArray

DOOR = "discovered_force"
"""Name of the network through which a force enters the model."""


class Rows(eqx.Module):
    """Rows of logs and the rows after them; every array has a leading axis of rows."""

    q: AnyArray
    v: AnyArray
    memory: Any
    """Of motors with a delay; None: there are none."""
    time: AnyArray
    dt: AnyArray
    control: Control
    next_q: AnyArray
    next_v: AnyArray


@dataclasses.dataclass(frozen=True)
class Look:
    """What happens at each row."""

    defect: np.ndarray
    """`d`, (rows, 2 dof): the step from a row less the row after it."""
    motor: np.ndarray
    """Torque of the motors, (rows, dof)."""
    twist: np.ndarray
    """Velocity of each link in its own frame, (rows, links, 6)."""
    jacobian: np.ndarray
    """From joint velocities to these, (rows, links, 6, dof)."""


@dataclasses.dataclass(frozen=True)
class Slopes:
    """The step from each row, linearised."""

    defect: np.ndarray
    """`d`, (rows, 2 dof)."""
    state: np.ndarray
    """`A`, (rows, 2 dof, 2 dof)."""
    leaves: dict[str, np.ndarray]
    """`L` of each field of the model, (rows, 2 dof, size of the field)."""
    force: np.ndarray
    """`B`, (rows, 2 dof, dof)."""

    def with_feedback(self, k: int, b: np.ndarray) -> Slopes:
        """The steps where the number `k` of the deviation acts back by `b`, (rows, 2 dof).

        What resists, such as friction, acts as it will at the end of the step: it may be stiff.
        """
        ahead = np.minimum(b[:, k], 0.0)
        gain = np.where(b[:, k, None] < 0.0, b, 0.0) / (1.0 - ahead)[:, None]
        A = self.state.copy()
        A[:, :, k] += np.where(b[:, k, None] < 0.0, 0.0, b)
        late = lambda x: x + gain[:, :, None] * x[:, None, k]
        leaves = {field: late(x) for field, x in self.leaves.items()}
        return Slopes(late(self.defect[..., None])[..., 0], late(A), leaves, late(self.force))


def with_door(model: Model) -> Model:
    """The model with a constant torque, zero, on each degree of freedom, which `slopes` differentiates by."""
    wire = Wire("joint/torque", net=Constant(), name=DOOR)
    return Blueprint([wire]).attach(model, key=0)


def look(model: Model, rows: Rows, scheme: Integrator, substeps: int) -> Look:
    """One step from each row, made in `substeps` parts."""
    scheme = scheme if model.delay_steps else dataclasses.replace(scheme, substeps=1)
    run = _looking(scheme)
    given = (model, rows, np.int64(substeps))
    example = (model, jax.tree.map(lambda x: x[0], rows), np.int64(1))
    native = compiled(run, example, ("discovery look", scheme), "native", (0, 0, 0, 0))
    shared = [x is not rows for x in given for _ in jax.tree.leaves(x)]
    return Look(*native.flat_map(jax.tree.leaves(given), shared=shared))


def _looking(scheme: Integrator) -> Any:
    def run(model: Model, row: Rows, substeps: AnyArray) -> tuple:
        signal = Signals(model, row.memory, row.dt)
        state = State(row.q, row.v, row.memory, row.time)
        acting = forces(model, state, row.control, signal, row.dt)
        J = link_jacobians(acting.model, acting.kinematics)
        if model.delay_steps:
            after = advance(model, state, row.control, row.dt, scheme)[0]
        else:
            h = row.dt / substeps.astype(row.q.dtype)
            part = lambda _, s: advance(model, s, row.control, h, scheme)[0]
            after = jax.lax.fori_loop(0, substeps, part, _floating(state))
        return _missed(model, after, row), acting.motor, acting.kinematics.velocity, J

    return run


def slopes(model: Model, rows: Rows, scheme: Integrator, fields: Sequence[str]) -> Slopes:
    """The step from each row by the state, by a force at the door and by the leaves called `fields`."""
    run = _sloping(scheme, tuple(fields))
    n = 2 * model.dof
    example = (model, jax.tree.map(lambda x: x[0], rows), np.zeros(n))
    settings = ("discovery slopes", scheme, tuple(fields))
    native = compiled(run, example, settings, "native", (0,) * (3 + len(fields)))
    count, lanes = len(rows.dt), native.lanes
    chunks = -(-n // lanes)
    seeds = np.zeros((chunks * lanes, n))
    np.fill_diagonal(seeds, 1.0)
    row, chunk = (x.ravel() for x in np.indices((count, chunks)))
    still = [np.asarray(x)[None] for x in jax.tree.leaves(model)]
    each = jax.tree.leaves(rows)
    given = [*still, *each, seeds.reshape(chunks, lanes, n)]
    index = [*(0 * row for _ in still), *(row for _ in each), chunk]
    found = native.flat_blocks(given, index)
    defect, *parts = (x.reshape(count, chunks * lanes, -1) for x in found)
    by_state, by_force, *by_leaf = (x[:, :n] for x in parts)
    return Slopes(defect[:, 0], by_state, dict(zip(fields, by_leaf, strict=True)), by_force)


def _sloping(scheme: Integrator, fields: tuple[str, ...]) -> Any:
    once = dataclasses.replace(scheme, substeps=1)

    def moved(model: Model, row: Rows, move: AnyArray, force: AnyArray, leaves: tuple) -> AnyArray:
        n = row.v.shape[0]
        model = dataclasses.replace(model, **dict(zip(fields, leaves, strict=True)))
        door = model.networks[-1]
        door = eqx.tree_at(lambda wired: wired.net, door, type(door.net)(force))
        model = dataclasses.replace(model, networks=(*model.networks[:-1], door))
        q = coordinates.plus(model, row.q, move[:n])
        state = State(q, row.v + move[n:], row.memory, row.time)
        if model.delay_steps or scheme.substeps == 1:
            after = advance(model, state, row.control, row.dt, scheme)[0]
        else:
            h = row.dt / scheme.substeps
            part = lambda s, _: (advance(model, s, row.control, h, once)[0], None)
            after = jax.lax.scan(part, _floating(state), None, length=scheme.substeps)[0]
        return _missed(model, after, row)

    def run(model: Model, row: Rows, seed: AnyArray) -> tuple:
        move, force = jnp.zeros(2 * row.v.shape[0], row.v.dtype), jnp.zeros_like(row.v)
        leaves = tuple(getattr(model, field) for field in fields)
        d, back = jax.vjp(lambda *x: moved(model, row, *x), move, force, leaves)
        by_move, by_force, by_leaves = back(seed)
        return d, by_move, by_force, *by_leaves

    return run


def _floating(state: State) -> State:
    return State(state.q, state.v, state.memory, jnp.asarray(state.time, state.q.dtype))


def _missed(model: Model, after: State, row: Rows) -> AnyArray:
    """By how much a step misses the next row, (2 dof,)."""
    return jnp.concatenate([coordinates.minus(model, after.q, row.next_q), after.v - row.next_v])
