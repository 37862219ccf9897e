"""Models of one structure side by side: only the leaves that differ are kept for each of them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from isthmus.identify.parameters.parameters import Parameters
from isthmus.model.model import Model

WORTH_COMPILING = 100
"""Models from which on compiling a function of the user's own costs less than calling it for each."""


class Stack:
    """The models of samples. They are made when they are first asked for."""

    def __init__(
        self,
        leaves: Mapping[str, np.ndarray] | None = None,
        make: Callable[[], Sequence[Model]] | None = None,
    ) -> None:
        """`leaves`: those that differ; or `make`: a function that returns the models."""
        self._leaves, self._make = leaves, make

    @staticmethod
    def of(parameters: Parameters, Z: np.ndarray) -> Stack:
        """The models of points (samples, p) of a search."""
        return Stack(make=lambda: models_of(parameters, Z))

    @functools.cached_property
    def leaves(self) -> dict[str, np.ndarray]:
        """Leaves that differ from sample to sample, (samples, …), by their place among all leaves of a model."""
        if self._leaves is not None:
            return dict(self._leaves)
        assert self._make is not None
        columns = zip(*(jax.tree.leaves(model) for model in self._make()), strict=True)
        stacks = {str(place): np.stack(column) for place, column in enumerate(columns)}
        return {place: x for place, x in stacks.items() if not (x == x[:1]).all()}

    def model(self, template: Model, rows: Any) -> Model:
        """The template with the leaves of one sample, or of several side by side."""
        leaves, structure = jax.tree.flatten(template)
        for place, x in self.leaves.items():
            leaves[int(place)] = x[rows]
        model = jax.tree.unflatten(structure, leaves)
        if not np.ndim(rows):
            return model
        pairs = zip(model.networks, template.networks, strict=True)
        return dataclasses.replace(model, networks=tuple(_whole(*p, len(rows)) for p in pairs))


def _whole(wired: Any, single: Any, count: int) -> Any:
    """A network with all of its leaves side by side where some are, as `rollout_many` takes it."""
    leaves, structure = jax.tree.flatten(wired)
    apart = [
        np.ndim(x) > np.ndim(one) for x, one in zip(leaves, jax.tree.leaves(single), strict=True)
    ]
    if not any(apart):
        return wired
    full = [
        x if own else np.broadcast_to(x, (count, *np.shape(x)))
        for x, own in zip(leaves, apart, strict=True)
    ]
    return jax.tree.unflatten(structure, full)


def models_of(parameters: Parameters, Z: np.ndarray) -> Sequence[Model]:
    """The model of each point; a function of the user's own, `make`, is compiled for all of them."""
    if parameters.make is None or len(Z) < WORTH_COMPILING:
        return [parameters.model(z) for z in Z]
    with jax.enable_x64(True):
        many = jax.jit(jax.vmap(lambda z: parameters.setting(z).model))(np.asarray(Z, np.float64))
    leaves, structure = jax.tree.flatten(many)
    arrays = [np.asarray(x, np.float64) for x in leaves]
    return [jax.tree.unflatten(structure, [x[k] for x in arrays]) for k in range(len(Z))]
