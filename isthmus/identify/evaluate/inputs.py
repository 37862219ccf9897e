"""`θ`, the vector of numbers that the native code of a simulation takes as its input.

The code that simulates a window then does not depend on what is free. Inertias and the usual numbers of joints are
always part of `θ`, so that another choice of free ones needs no new code; whatever else is free is added; the rest
(frames, axes, networks that are not trained) is constant. The map from the free numbers `z` to `θ`, with its
derivative, stands outside of that code.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.identify.parameters.groups import Setting
from isthmus.identify.parameters.parameters import Parameters
from isthmus.model.arrays import is_traced
from isthmus.model.model import Model, leaf_fields
from isthmus.types import AnyArray

ALWAYS = (
    "link_mass", "link_com", "link_inertia", "joint_armature", "joint_stiffness", "joint_damping",
    "joint_friction",
)  # fmt: skip
"""Fields of the model that are inputs whether they are free or not."""
STOPS = "joint_limit_stiffness"
"""The same for models whose joints have ends of travel."""

Key = tuple[Any, ...]
"""Where an array stands: ("leaf", field), ("network", wire, array), ("dt",), ("offset", signal), ("delay", signal)."""


def arrays_of(setting: Setting) -> Iterator[tuple[Key, Any]]:
    """Every number of a simulation that can be free, array by array."""
    for field, _ in leaf_fields():
        yield ("leaf", field), getattr(setting.model, field)
    for i, wired in enumerate(setting.model.networks):
        for k, leaf in enumerate(jax.tree.leaves(wired.net)):
            yield ("network", i, k), leaf
    if setting.dt is not None:
        yield ("dt",), setting.dt
    for signal in setting.offsets:
        yield ("offset", signal), setting.offsets[signal]
    for signal in setting.delays:
        yield ("delay", signal), setting.delays[signal]


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The layout of `θ`: which arrays it consists of, one behind the other."""

    template: Model
    """Where all other numbers come from."""
    parts: tuple[tuple[Key, tuple[int, ...]], ...]
    """Key and shape of each array."""
    moving: tuple[bool, ...]
    """Whether what is free reaches the array."""

    @functools.cached_property
    def ends(self) -> np.ndarray:
        """Where each array ends in `θ`."""
        return np.cumsum([int(np.prod(shape)) for _, shape in self.parts], dtype=np.int64)

    @property
    def size(self) -> int:
        """Length of `θ`."""
        return int(self.ends[-1]) if len(self.parts) else 0

    def moved(self) -> np.ndarray:
        """The entries of `θ` that what is free can reach."""
        sizes = [int(np.prod(shape)) for _, shape in self.parts]
        return np.flatnonzero(np.repeat(self.moving, sizes)).astype(np.int32)

    def vector(self, setting: Setting) -> Float[AnyArray, " size"]:
        """`θ` of a simulation."""
        found = dict(arrays_of(setting))
        arrays = [found[key] for key, _ in self.parts]
        if is_traced(arrays):
            return jnp.concatenate([jnp.ravel(jnp.asarray(x, jnp.float64)) for x in arrays])
        return np.concatenate([np.ravel(np.asarray(x, np.float64)) for x in arrays])

    def setting(self, theta: Float[AnyArray, " size"]) -> Setting:
        """The simulation that `θ` stands for."""
        fields, networks, offsets, delays, dt = {}, {}, {}, {}, None
        for (key, shape), end in zip(self.parts, self.ends.tolist(), strict=True):
            x = theta[end - int(np.prod(shape)) : end].reshape(shape)
            match key:
                case ("leaf", field):
                    fields[field] = x
                case ("network", i, k):
                    networks.setdefault(i, {})[k] = x
                case ("dt",):
                    dt = x
                case ("offset", signal):
                    offsets[signal] = x
                case ("delay", signal):
                    delays[signal] = x
        wires = tuple(
            _with_arrays(wired, networks.get(i, {}))
            for i, wired in enumerate(self.template.networks)
        )
        model = dataclasses.replace(self.template, networks=wires, **fields)
        return Setting(model, dt=dt, offsets=offsets, delays=delays)

    def constants(self) -> Any:
        """All that native code is made of beside `θ`: the template, without the numbers that are inputs."""
        blank = jax.tree.map(np.asarray, self.setting(np.zeros(self.size)).model)
        return blank, self.parts


def _with_arrays(wired: Any, arrays: dict[int, Any]) -> Any:
    if not arrays:
        return wired
    leaves, tree = jax.tree.flatten(wired.net)
    leaves = [arrays.get(k, leaf) for k, leaf in enumerate(leaves)]
    return dataclasses.replace(wired, net=jax.tree.unflatten(tree, leaves))


def inputs_of(parameters: Parameters) -> Inputs:
    """The inputs of a problem: what is always one, and what its free numbers reach."""
    parts: list[tuple[Key, tuple[int, ...]]] = []
    moving: list[bool] = []
    fields = (*ALWAYS, STOPS) if parameters.template.limited else ALWAYS

    def look(z: AnyArray) -> AnyArray:
        for key, x in arrays_of(parameters.setting(z)):
            always = key[0] == "leaf" and key[1] in fields
            if (always or is_traced(x)) and np.size(x):
                parts.append((key, tuple(np.shape(x))))
                moving.append(is_traced(x))
        return z

    with jax.enable_x64(True):
        jax.eval_shape(look, jax.ShapeDtypeStruct((parameters.size,), np.float64))
    return Inputs(parameters.template, tuple(parts), tuple(moving))


class Map:
    """`θ(z)` and its derivative, for batches of points."""

    def __init__(self, parameters: Parameters, inputs: Inputs) -> None:
        self.parameters, self.inputs = parameters, inputs
        self._last: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]] | None = None

    def __call__(
        self, Z: Float[np.ndarray, "islands p"]
    ) -> tuple[Float[np.ndarray, "islands m"], Float[np.ndarray, "islands m p"]]:
        """`θ` of each point, and its Jacobian; asked again for the same points, as they were found before."""
        if self.parameters.is_linear:
            theta, A = self.linear
            return theta[None] + Z @ A.T, np.broadcast_to(A[None], (len(Z), *A.shape))
        if self._last is None or not np.array_equal(self._last[0], Z):
            self._last = Z.copy(), self._curved.map(Z)
        return self._last[1]

    @functools.cached_property
    def linear(self) -> tuple[np.ndarray, np.ndarray]:
        """`θ` at zero, and the matrix of the map: column by column, without compiling anything."""
        zero = np.zeros(self.parameters.size)
        value = lambda z: np.asarray(self.inputs.vector(self.parameters.setting(z)))
        first = value(zero)
        columns = [value(unit) - first for unit in np.eye(len(zero))]
        return first, np.stack(columns, axis=1) if columns else np.zeros((len(first), 0))

    @functools.cached_property
    def _curved(self) -> Any:
        from isthmus import native  # loads LLVM, which only a search needs

        value = lambda z: self.inputs.vector(self.parameters.setting(z))
        return native.jacobian(value, self.parameters.start, fallback="xla")
