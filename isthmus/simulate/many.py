"""Rollouts side by side: `rollout_many`, over batches of models, states and controls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from isthmus.entry import check_arguments
from isthmus.errors import BadShape
from isthmus.model.model import Model, leaf_fields
from isthmus.model.state import Control, State, StateLike, as_control, check_state, with_memory
from isthmus.model.switches import refuse_idle_numbers
from isthmus.motion.motion import Motion
from isthmus.networks.names import select
from isthmus.simulate.engine import Engine, wants_native
from isthmus.simulate.integrate import IntegratorLike, integrator_of
from isthmus.simulate.rollout import (
    Checkpoint,
    Controls,
    check_dt,
    extras,
    interval,
    names,
    native_rollout,
    prepare,
    run,
    with_acting,
)
from isthmus.simulate.touching import check_contact, warn_if_deep
from isthmus.types import Number

CHUNK = 8
"""Worlds that a CPU takes at a time: what they need then stays in its cache."""
PLAIN = {"torque": 2, "position": 2, "velocity": 2, "acceleration": 2, "force": 3}
"""How many axes the controls of a single rollout have."""


@check_arguments
def rollout_many(
    models: Model,
    states: StateLike,
    controls: Controls,
    dt: Number,
    steps: int | None = None,
    record: str | Sequence[str] = (),
    *,
    integrator: IntegratorLike = "semi_implicit",
    explicit: bool = False,
    substeps: int = 1,
    checkpoint: Checkpoint = "auto",
    engine: Engine = None,
    threads: int | None = None,
) -> Motion:
    """Rollouts side by side: whichever of model, state and controls has a leading batch axis is taken row by row.

    A model is batched by its leaves: those with one axis more than a single model's have the batch as their
    first. The motion has the batch as its first axis, time as its second. Options as in `rollout`; `threads` for
    native code (None: as many as pay).
    """
    scheme = integrator_of(integrator, explicit, substeps)
    states = check_state(models, states, batched=True)
    refuse_idle_numbers(models)
    states = with_memory(models, states)
    given = controls if callable(controls) or controls is None else as_control(controls)
    axes, sizes = _axes(models, states, given)
    if not sizes:
        raise BadShape(
            "rollout_many needs a leading axis of worlds in the model, the states or the controls, and none has "
            "one; rollout takes a single world."
        )
    if len(set(sizes.values())) != 1:
        found = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise BadShape(
            f"rollout_many needs as many worlds everywhere, but the leading axes are {found}."
        )
    first, count = _first(given, axes[2]), steps
    _, steps = prepare(models, first, count, finite=not axes[2])
    given = Control() if given is None else given
    check_dt(models, dt)
    check_contact(models, dt, scheme)
    flags = [*jax.tree.leaves(_spread(axes[0], models)), np.ndim(states.q) == 2]
    warn_if_deep(models, states.q, flags if any(flags) else None)
    chosen = tuple(select(models, name, extras(first)) for name in names(record))
    settings = (steps, chosen, scheme, interval(models, checkpoint, steps))
    if wants_native(engine, models, states, None if callable(given) else given, dt):
        done = _many_native((models, states, given, dt), axes, settings, engine, threads)
        if done is not None:
            return with_acting(models, done, given, record, deep=axes[2])
    found = _many(models, states, given, axes, dt, settings)
    return with_acting(models, found, given, record, deep=axes[2])


def _many_native(
    given: tuple, axes: tuple, settings: tuple, engine: Engine, threads: int | None
) -> Motion | None:
    """Worlds in lanes and threads; what they share is given once."""
    models, states, controls, dt = given
    flags = jax.tree.leaves(
        [_spread(flag, tree) for flag, tree in zip(axes[:2], (models, states), strict=True)]
    )
    rest = 0 if callable(controls) else len(jax.tree.leaves(controls))
    flags = [*flags, *[bool(axes[2])] * rest, False]
    arrays = [
        np.asarray(x)
        for x in jax.tree.leaves((models, states, None if callable(controls) else controls, dt))
    ]
    single = [x[0] if batched else x for x, batched in zip(arrays, flags, strict=True)]
    tree = jax.tree.structure((models, states, None if callable(controls) else controls, dt))
    model, state, control, dt = jax.tree.unflatten(tree, single)
    one = (model, state, controls if callable(controls) else control, dt)
    found = native_rollout(one, settings, engine)
    if found is None:
        return None
    run_native, _ = found
    results = run_native.flat_map(arrays, threads, shared=[not batched for batched in flags])
    return jax.tree.unflatten(run_native.out_tree, results)


def _spread(flags: Any, tree: Any) -> Any:
    """One flag for each leaf of `tree`."""
    return jax.tree.map(lambda _, flag: bool(flag), tree, flags)


@eqx.filter_jit
def _many(
    models: Model, states: State, controls: Any, axes: tuple, dt: Number, settings: tuple
) -> Motion:
    worlds, shared = eqx.partition((models, states, controls), axes)

    def one(world: Any) -> Motion:
        model, state, control = eqx.combine(world, shared)
        return run(model, state, control, dt, *settings)

    if jax.default_backend() == "cpu":
        return jax.lax.map(one, worlds, batch_size=CHUNK)
    return jax.vmap(one)(worlds)


def _axes(models: Model, states: State, controls: Any) -> tuple[tuple, dict[str, int]]:
    """For each argument a tree that says which leaves are batched; and the batch sizes that were found."""
    sizes: dict[str, int] = {}
    fields = {}
    for field, spec in leaf_fields():
        value = getattr(models, field)
        fields[field] = np.ndim(value) > len(spec.shape) + (spec.rows is not None)
        if fields[field]:
            sizes[f"{spec.name!r} of the model"] = np.shape(value)[0]
    flags = eqx.tree_at(lambda m: [getattr(m, f) for f in fields], models, list(fields.values()))
    networks = tuple(_whole(wired, np.ndim(wired.shift) > 1) for wired in models.networks)
    if any(jax.tree.leaves(networks)):
        sizes["networks"] = max(np.shape(wired.shift)[0] for wired in models.networks)
    flags = eqx.tree_at(lambda m: m.networks, flags, networks) if networks else flags
    batched = np.ndim(states.q) == 2
    if batched:
        sizes["states"] = np.shape(states.q)[0]
    state_flags = jax.tree.map(lambda x: batched and np.ndim(x) > 0, states)
    deep = isinstance(controls, Control) and _is_deep(controls)
    if deep:
        arrays = {**{name: getattr(controls, name) for name in PLAIN}, **controls.extra}
        sizes |= {
            f"{name!r} of the controls": np.shape(x)[0] for name, x in arrays.items() if np.ndim(x)
        }
    control_flags = deep if isinstance(controls, Control) else False
    return (flags, state_flags, control_flags), sizes


def _whole(tree: Any, flag: bool) -> Any:
    """The same flag for each leaf."""
    return jax.tree.map(lambda _: flag, tree)


def _is_deep(controls: Control) -> bool:
    """Whether the controls have a batch axis before time."""
    given = {name: getattr(controls, name) for name in PLAIN}
    known = [np.ndim(value) > PLAIN[name] for name, value in given.items() if value is not None]
    return any(known or [np.ndim(value) > 1 for value in controls.extra.values()])


def _first(controls: Any, deep: bool) -> Any:
    """Controls of the first world, for checks."""
    return jax.tree.map(lambda x: x[0], controls) if deep else controls
