"""`State` and `Control`: what a step starts from, and what acts during it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from isthmus import draws
from isthmus.entry import check_arguments, described
from isthmus.errors import BadArgument, BadShape
from isthmus.model.arguments import check_finite, check_shape
from isthmus.model.arrays import as_floats, as_leaf, is_traced
from isthmus.model.model import Model
from isthmus.record import Record
from isthmus.types import AnyArray

CONTROL_SHAPES = {
    "torque": "dof", "position": "pq", "velocity": "pv", "acceleration": "pv", "force": "links 6",
}  # fmt: skip
"""The dimensions of controls of a single step."""


def _leaf(name: str) -> Callable[[Any], Any]:
    return lambda x: as_leaf(x, name)


@check_arguments
class State(Record):
    """Positions and velocities of all joints at one time."""

    q: Float[AnyArray, "*batch nq"] = eqx.field(converter=_leaf("State.q"))
    """Positions [rad, m, quaternions], laid out as `docs/conventions.md` has it."""
    v: Float[AnyArray, "*batch dof"] = eqx.field(converter=_leaf("State.v"))
    """Velocities [rad/s, m/s]."""
    memory: Any = None
    """What motors with a delay, bristles, networks and contacts remember from the last step; None: nothing."""
    time: Float[AnyArray, "*batch"] = eqx.field(converter=_leaf("State.time"), default=0.0)
    """[s]"""

    @staticmethod
    @check_arguments
    def neutral(model: Model) -> State:
        """Every joint at its neutral position, at rest, at time 0.

        A free joint is where its spring is slack (`joint/rest_position`): in MJCF, at the body's `pos` and `quat`.
        """
        owners = [i for i in range(len(model.joint_names)) if _owns(model, i)]
        q = np.array([x for i in owners for x in model.kind(i).neutral], dtype=np.float64)
        return State(_with_free_at_rest(model, q), np.zeros(model.dof), fresh_memory(model))

    @staticmethod
    @check_arguments
    def random(model: Model, key: PRNGKeyArray | int, *, speed: float = 1.0) -> State:
        """Positions within ±1 rad or m of neutral (turned evenly), velocities of standard deviation `speed`."""
        key = jax.random.key(key) if isinstance(key, int | np.integer) else key
        key_q, key_v = jax.random.split(key)
        neutral = State.neutral(model).q
        q = np.asarray(neutral) + draws.uniform(key_q, model.nq, -1.0, 1.0)
        for i, (start, stop) in enumerate(model.layout.q_own):
            if stop > start:
                q[start:stop] = model.kind(i).normalise(q[start:stop])
        v = speed * draws.normal(key_v, (model.dof,))
        return State(q, v, fresh_memory(model))


StateLike = State | AnyArray | Sequence[Any] | Mapping[str, Any]
"""What is accepted for a state, see `as_state`."""


@check_arguments
class Control(Record):
    """What acts during a step; what is None is zero. With time as a first axis: during a rollout."""

    torque: Float[AnyArray, "*time dof"] | None = eqx.field(
        converter=_leaf("Control.torque"), default=None
    )
    """Command of each degree of freedom [N·m or N]; those of prescribed joints are ignored."""
    position: Float[AnyArray, "*time pq"] | None = eqx.field(
        converter=_leaf("Control.position"), default=None
    )
    """`q` of the prescribed joints, in their order."""
    velocity: Float[AnyArray, "*time pv"] | None = eqx.field(
        converter=_leaf("Control.velocity"), default=None
    )
    """`v` of the prescribed joints."""
    acceleration: Float[AnyArray, "*time pv"] | None = eqx.field(
        converter=_leaf("Control.acceleration"), default=None
    )
    """`dv/dt` of the prescribed joints."""
    force: Float[AnyArray, "*time links 6"] | None = eqx.field(
        converter=_leaf("Control.force"), default=None
    )
    """External force on each link: moment about its origin [N·m], then force [N], in its own frame."""
    extra: dict[str, AnyArray] = eqx.field(default_factory=dict)
    """Channels of a log that networks may read as `extra/NAME`."""


def as_state(model: Model, state: Any) -> State:
    """A `State` from itself, an array of `q` (at rest) or of `q` and `v` along its last axis, `(q, v)`, or a dict."""
    if isinstance(state, State):
        return state
    if isinstance(state, Mapping) and "q" in state and {*state} <= {"q", "v", "memory", "time"}:
        return State(**{"v": _at_rest(model, state["q"]), **state})
    if isinstance(state, tuple | list) and len(state) == 2 and np.ndim(state[0]) == 1:
        return State(*state)
    numbers = np.zeros(0) if isinstance(state, Mapping) else as_floats("state", state)
    if np.shape(numbers)[-1:] == (model.nq + model.dof,):
        return State(numbers[..., : model.nq], numbers[..., model.nq :])
    if np.shape(numbers)[-1:] == (model.nq,):
        return State(numbers, _at_rest(model, numbers))
    raise BadArgument(
        f"a State is needed, not {described(state)}: ist.State(q, v), or an array with the {model.nq} positions, or "
        f"the {model.nq} positions and {model.dof} velocities, of {model.name!r}."
    )


def _at_rest(model: Model, q: Any) -> np.ndarray:
    return np.zeros((*np.shape(q)[:-1], model.dof))


def as_control(control: Any) -> Control:
    """None, an array of torques or a `Control`, as a `Control`."""
    return control if isinstance(control, Control) else Control(torque=control)


def fresh_memory(model: Model) -> dict[str, Any] | None:
    """What a state remembers before the first step: no past commands, slack bristles, fresh networks, no impulses."""
    memory: dict[str, Any] = {}
    if model.delay_steps:
        memory["commands"] = np.zeros((model.delay_steps, model.dof))
    if model.bristling:
        memory["bristles"] = np.zeros(model.dof)
    hidden = {wired.name: wired.fresh_memory() for wired in model.networks}
    if any(value is not None for value in hidden.values()):
        memory["networks"] = {name: value for name, value in hidden.items() if value is not None}
    if previous := {name: x for wired in model.networks for name, x in wired.previous.items()}:
        memory["previous"] = previous
    if "impulse" in model.contact_kinds and model.contact_order != "b":
        memory["impulses"] = np.zeros((model.contact_kinds.count("impulse"), 3))
    return memory or None


def decides(memory: Mapping[str, Any] | None) -> bool:
    """Whether the next step depends on this memory: impulses are only where the search for the next ones starts."""
    return bool({*(memory or {})} - {"impulses"})


def with_memory(model: Model, state: State) -> State:
    """The state, with the memory that the model needs where it has none."""
    fresh, had = fresh_memory(model) or {}, dict(state.memory or {})
    rows = lambda memory: np.shape(memory.get("impulses", ()))[-2:]
    if rows(had) != rows(fresh):
        had.pop("impulses", None)  # they belong to another model
    elif fresh.keys() <= had.keys():
        return state
    batch = np.shape(state.q)[:-1]

    def spread(x: AnyArray) -> AnyArray:
        return (
            jnp.broadcast_to(x, (*batch, *x.shape))
            if is_traced(x)
            else np.broadcast_to(x, (*batch, *x.shape))
        )

    missing = {
        name: jax.tree.map(spread, value) for name, value in fresh.items() if name not in had
    }
    return State(state.q, state.v, {**had, **missing} or None, state.time)


def check_state(model: Model, given: StateLike, *, batched: bool = False) -> State:
    """The state that was given; refuses shapes that do not fit, and nan. `batched`: all may have one batch axis.

    Among batched states, nan is a value: a batch survives its worst member.
    """
    state = as_state(model, given)
    own = vars(state)  # an attribute of a module takes microseconds
    parts = {name: as_floats(f"state.{name}", own[name]) for name in ("q", "v", "time")}
    batch = parts["q"].shape[:-1] if batched and parts["q"].ndim == 2 else ()
    check_shape(model, "state.q", parts["q"], "nq", batch, many="rollout_many")
    check_shape(model, "state.v", parts["v"], "dof", batch, many="rollout_many")
    if parts["time"].shape not in ((), batch):
        raise BadShape(f"state.time has shape {parts['time'].shape}; needed is {batch}.")
    for name, value in parts.items():
        if not batch and not is_traced(value):
            check_finite(f"state.{name}", value)
    return state


def prescribed_rows(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Rows of `q` and of `v` that belong to prescribed joints."""
    rows_q = [n for i in model.prescribed for n in range(*model.layout.q_own[i])]
    rows_v = [n for i in model.prescribed for n in range(*model.layout.v_own[i])]
    return np.array(rows_q, dtype=int), np.array(rows_v, dtype=int)


def check_control(
    model: Model, control: Control, time: tuple[int, ...] = (), *, finite: bool = True
) -> None:
    """Refuses controls whose shapes do not fit the model, or with nan (`finite`), where values are known."""
    own = vars(control)  # as in check_state
    for name, dims in CONTROL_SHAPES.items():
        if (value := own[name]) is None:
            continue
        value = as_floats(f"control {name}", value)
        check_shape(model, f"control {name}", value, dims, time, many="rollout_many")
        if finite and not is_traced(value):
            check_finite(f"control {name}", value)


def check_prescribed(model: Model, control: Control) -> None:
    """Refuses controls that leave a prescribed joint without motion."""
    if model.prescribed and control.position is None:
        names = ", ".join(repr(model.joint_names[i]) for i in model.prescribed)
        raise BadShape(
            f"{names} is prescribed: give its motion as Control(position=, velocity=, acceleration=)."
        )


def _with_free_at_rest(model: Model, q: np.ndarray) -> AnyArray:
    """Coordinates in which every free joint has those at which its spring is slack; of many worlds, the first's."""
    spans = zip(model.joint_kinds, model.layout.q_own, strict=True)
    rows = np.array([n for kind, span in spans if kind == "free" for n in range(*span)], dtype=int)
    rest = model.joint_rest_position
    if not len(rows):
        return q
    if is_traced(rest):
        return jnp.asarray(q).at[rows].set(rest[rows])
    q[rows] = np.asarray(rest).reshape(-1, len(q))[0, rows]
    return q


def _owns(model: Model, i: int) -> bool:
    start, stop = model.layout.q_own[i]
    return stop > start
