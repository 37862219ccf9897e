"""What a step publishes at given states: signals along a motion without simulating it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from isthmus.entry import check_arguments
from isthmus.model.model import Model
from isthmus.model.state import (
    Control,
    State,
    StateLike,
    as_control,
    check_control,
    check_state,
    with_memory,
)
from isthmus.networks.names import Selection, select
from isthmus.networks.signals import Signals
from isthmus.simulate.integrate import SemiImplicit
from isthmus.types import AnyArray


@check_arguments
def observe(
    model: Model,
    states: StateLike,
    control: AnyArray | Sequence[Any] | Control | None = None,
    *,
    names: str | Sequence[str],
) -> dict[str, AnyArray]:
    """The signals `names` at one state, or at each of a batch (leading axis of q, v and controls)."""
    given = as_control(control)
    states = check_state(model, states, batched=True)
    batch = np.shape(states.q)[:-1]
    check_control(model, given, batch, finite=not batch)
    chosen = tuple(
        select(model, name, tuple(given.extra))
        for name in ([names] if isinstance(names, str) else names)
    )
    states = with_memory(model, states)
    with jax.enable_x64(True):
        found = _observe(model, states, given, chosen, bool(batch))
        return {c.text: np.asarray(x) for c, x in zip(chosen, found, strict=True)}


@eqx.filter_jit
def _observe(
    model: Model, states: State, control: Control, chosen: tuple[Selection, ...], many: bool
) -> tuple:
    no_time = jax.numpy.zeros(())  # filters answer by what they hold

    def one(state: State, control: Control) -> tuple:
        signal = Signals(model, state.memory, no_time)
        SemiImplicit(explicit=True).move(model, state, control, no_time, signal)
        return tuple(c.pick(signal[c.name]) for c in chosen)

    if not many:
        return one(states, control)
    timed = eqx.tree_at(
        lambda s: s.time, states, jax.numpy.broadcast_to(states.time, states.q.shape[:1])
    )
    return jax.vmap(one)(timed, control)
