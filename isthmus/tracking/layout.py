"""All that a tracker knows as one row of numbers, which native code takes and returns."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.model.arrays import is_traced
from isthmus.model.state import Control, State, fresh_memory
from isthmus.tracking.step import Belief, Setup, step
from isthmus.types import AnyArray

UNKNOWN = 1.0
"""[rad, m, rad/s, m/s] Standard deviation at the beginning of what is not measured."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where each part of a `Belief` stands in its row; one row, or many along leading axes."""

    setup: Setup
    tree: Any
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, setup: Setup) -> Layout:
        """The layout of what a filter knows."""
        leaves, tree = jax.tree.flatten(beginning(setup, State.neutral(setup.model)))
        return cls(setup, tree, tuple(np.shape(x) for x in leaves))

    def pack(self, belief: Belief) -> AnyArray:
        """The row of one belief."""
        leaves = jax.tree.leaves(belief)
        xp = jnp if is_traced(leaves) else np
        return xp.concatenate([xp.ravel(xp.asarray(x)) for x in leaves])

    def unpack(self, row: AnyArray) -> Belief:
        """The belief of a row, or of many."""
        leaves, place = [], 0
        for shape in self.shapes:
            size = math.prod(shape)
            leaves.append(row[..., place : place + size].reshape((*row.shape[:-1], *shape)))
            place += size
        return jax.tree.unflatten(self.tree, leaves)

    @property
    def numbers(self) -> slice:
        """Where the free numbers stand in a row."""
        place = self.setup.model.nq + self.setup.model.dof
        return slice(place, place + len(self.setup.spread))

    @property
    def told(self) -> np.ndarray:
        """Which entries of a row are kept along a log: state, numbers, their covariance."""
        p, n = len(self.setup.spread), self.setup.size
        first = self.numbers.stop
        own = first + (np.arange(n - p, n)[:, None] * n + np.arange(n - p, n)[None]).ravel()
        return np.concatenate([np.arange(first), own])

    def compiled(self, control: Control) -> Any:
        """Native code of the step: row, leaves of the control, what was measured -> the next row and the alarm."""
        # loads LLVM, which only those who track need
        from isthmus.native.runtime.call import Native
        from isthmus.native.runtime.known import Known, digest

        leaves, tree = jax.tree.flatten(control)
        setup = self.setup

        def advance(row: AnyArray, measured: AnyArray, *given: AnyArray) -> tuple:
            acting = jax.tree.unflatten(tree, given)
            after, alarm = step(setup, self.unpack(row), acting, measured)
            return self.pack(after), alarm

        size = sum(map(math.prod, self.shapes))
        arrays = [np.asarray(x, np.float64) for x in leaves]
        arguments = (np.zeros(size), np.zeros(setup.measured), *arrays)
        name = digest(("tracker", setup.recognised, str(tree)), arguments)
        known = None if name is None else Known(name, jax.tree.structure((0.0, 0.0)))
        return Native(advance, arguments, known=known, width=64, label="the tracker")


def beginning(setup: Setup, state: State) -> Belief:
    """What is known at first: where the robot is, about as well as it is measured, and the numbers of the model."""
    dof, parameters = setup.model.dof, setup.parameters
    sigma = np.full(2 * dof, UNKNOWN)
    place = 0
    for c in setup.channels:
        if c.rows is not None and c.width == dof:  # all positions, or all velocities
            first = dof * (c.name == "joint/velocity")
            sigma[first : first + dof] = setup.noise[place : place + dof]
        place += c.width
    covariance = np.diag(np.concatenate([sigma, setup.spread]) ** 2)
    numbers = parameters.start * parameters.scale
    memory = fresh_memory(setup.model) if state.memory is None else state.memory
    average = np.zeros(len(setup.noise))
    time = np.asarray(state.time, np.float64)
    q, v = (np.asarray(x, np.float64) for x in (state.q, state.v))
    return Belief(q, v, numbers, covariance, average, memory, time)
