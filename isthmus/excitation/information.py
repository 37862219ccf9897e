"""What a sample of a motion tells of the numbers: its Fisher information, and native code for it and its derivative.

A sample has rows of sensitivities, each divided by the noise of what is measured; the information of a motion is the
sum of `rowsᵀ rows`. Without `free`, measured torques are linear in the base parameters, and the rows are those of the
regressor. For `free` numbers, the rows are sensitivities of a short rollout from the state of the sample, under the
torque that the motion needs there: what a fit by windows would see.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.errors import BadFree, BadOption
from isthmus.excitation.apart import Capsules
from isthmus.identify.evaluate.window import torque_at
from isthmus.identify.parameters.free import Free
from isthmus.identify.parameters.parameters import Parameters, parameters
from isthmus.identify.torque.base_parameters import base_parameters
from isthmus.identify.torque.regressor import parameter_names, parameter_vector, regressor
from isthmus.model.model import Model
from isthmus.model.state import Control, State, fresh_memory
from isthmus.native.runtime.call import Native
from isthmus.native.runtime.known import Known, digest
from isthmus.simulate.integrate import SemiImplicit, advance
from isthmus.types import AnyArray

STEPS, STEP = 5, 0.01
"""Steps of the rollouts from each sample, and their length [s]."""
MEASURED = (1e-3, 1e-2)
"""Noise of positions and velocities at their ends [rad, m; rad/s, m/s]."""
Rows = Callable[[AnyArray, AnyArray, AnyArray], AnyArray]


@dataclasses.dataclass(frozen=True)
class Information:
    """The numbers that a motion is to determine."""

    model: Model
    names: tuple[str, ...]
    values: np.ndarray
    """Of the model."""
    prior: np.ndarray
    """Information that is there before any motion, (p,)."""
    rows: Rows
    """Positions, velocities and accelerations of a sample -> sensitivities over noise, (rows, p)."""
    key: tuple
    """All that decides `rows`."""


def of_base(model: Model, joints: Sequence[str], noise: Any) -> Information:
    """Base parameters of measured torques."""
    sigma = np.asarray(noise, np.float64)
    if sigma.shape not in ((), (model.dof,)) or not np.all((sigma > 1e-100) & (sigma < 1e100)):
        raise BadOption(
            f"noise of torques must be positive and finite, one number or {model.dof}, not {noise!r}."
        )
    weight = np.broadcast_to(1.0 / sigma, (model.dof,))
    whole = lambda q, v, a: regressor(model, q, v, a, joints=joints)
    rng = np.random.default_rng(0)
    states = rng.standard_normal((3, 20 * model.dof, model.dof))
    with jax.enable_x64(True):
        found = _native(whole, ("regressor", model, tuple(joints)), model).map(*states)
    base = base_parameters(found, parameter_names(model, joints=joints))
    own = np.array(base.own, dtype=np.int32)
    values = base.of(parameter_vector(model, joints=joints))
    names = tuple(base.short(row) for row in range(len(base)))
    rows = lambda q, v, a: whole(q, v, a)[:, own] * weight[:, None]
    key = ("base", model, tuple(joints), base.own, weight)
    return Information(model, names, values, np.zeros(len(own)), rows, key)


def of_free(model: Model, free: Sequence[Free]) -> Information:
    """Numbers of the model, by what a short rollout shows of them."""
    for one in free:
        if one.name.startswith(("start/", "delay/", "offset/")) or one.name == "dt":
            raise BadFree(
                f"a motion cannot be designed for {one.name!r}, which is no number of the model."
            )
    found = parameters(model, None, free, lambda _: {})
    z0 = found.start
    weight = np.repeat(1.0 / np.array(MEASURED), model.dof)

    def rows(q: AnyArray, v: AnyArray, a: AnyArray) -> AnyArray:
        torque = torque_for(found.template, q, v, a)
        ends = lambda z: _rolled(found, z, q, v, torque)
        push = lambda unit: jax.jvp(ends, (jnp.asarray(z0),), (unit,))[1]
        return jax.vmap(push)(jnp.eye(len(z0))).T * weight[:, None] / found.scale[None]

    _, precision = found.prior
    names = found.names if len(found.names) == len(z0) else tuple(f"z{k}" for k in range(len(z0)))
    key = ("free", model, tuple(free))
    return Information(model, names, z0 * found.scale, precision / found.scale**2, rows, key)


def _rolled(found: Parameters, z: AnyArray, q: AnyArray, v: AnyArray, torque: AnyArray) -> AnyArray:
    """Positions and velocities after a short rollout under a constant torque."""
    model, scheme = found.setting(z).model, SemiImplicit()

    def one(carry: tuple, _: None) -> tuple[tuple, None]:
        state = State(*carry, fresh_memory(model))
        after = advance(model, state, Control(torque), jnp.asarray(STEP), scheme)[0]
        return (after.q, after.v), None

    (q, v), _ = jax.lax.scan(one, (q, v), None, length=STEPS)
    return jnp.concatenate([q, v])


def torque_for(model: Model, q: AnyArray, v: AnyArray, a: AnyArray) -> AnyArray:
    """Motor torques [N·m, N] of a motion that keeps off the ends of its travel."""
    off = dataclasses.replace(model, limited=())
    state = State(q, v, fresh_memory(model))
    return torque_at(off, jnp.asarray(STEP), state, a, Control())[1]


class Programs:
    """Native code for samples side by side: what they tell, their torques and distances; and the way back."""

    def __init__(self, information: Information, capsules: Capsules) -> None:
        self.capsules = capsules
        model, rows = information.model, information.rows
        n = model.dof

        def values(q: AnyArray, v: AnyArray, a: AnyArray) -> tuple:
            distances = capsules.distances(model, q)
            return rows(q, v, a), torque_for(model, q, v, a), distances

        def pull(q: AnyArray, v: AnyArray, a: AnyArray, *slopes: AnyArray) -> tuple:
            _, back = jax.vjp(values, q, v, a)
            return back(slopes)

        key = (information.key, capsules.pairs, capsules.centre, capsules.half, capsules.reach)
        self.values = _native(values, ("values", key), model, "the information of a motion")
        shapes = [np.zeros(shape) for shape, _ in self.values.facts.outputs]
        examples = (*np.zeros((3, n)), *shapes)
        self.pull = _native(pull, ("pull", key), model, "its derivative", examples)


def _native(
    f: Callable, key: tuple, model: Model, label: str | None = None, examples: tuple | None = None
) -> Native:
    """Native code of a function of a sample, found on disk where the key decides it."""
    given = tuple(np.zeros((3, model.dof))) if examples is None else examples
    with jax.enable_x64(True):
        name = digest(("excitation", *key), given)
        tree = jax.tree.structure(jax.eval_shape(f, *given))
        known = None if name is None else Known(name, tree)
        return Native(f, given, known=known, width=64, label=label)
