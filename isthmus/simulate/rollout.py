"""One step and many: `step`, `rollout`; scan, checkpoints, what to record."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from isthmus.contact.solve import FOUND
from isthmus.entry import check_arguments
from isthmus.errors import BadOption, BadShape
from isthmus.model.arguments import check_single
from isthmus.model.arrays import is_traced
from isthmus.model.model import Model
from isthmus.model.state import (
    Control,
    State,
    StateLike,
    as_control,
    check_control,
    check_prescribed,
    check_state,
    prescribed_rows,
    with_memory,
)
from isthmus.model.switches import refuse_idle_numbers
from isthmus.motion.motion import Motion
from isthmus.motion.spans import joints_of
from isthmus.networks.names import Selection, select
from isthmus.simulate.accelerate import impose
from isthmus.simulate.engine import Engine, compiled, wants_native
from isthmus.simulate.integrate import Integrator, IntegratorLike, advance, integrator_of
from isthmus.simulate.kept import as_signals, last_row_again, with_controls
from isthmus.simulate.law import check_law, commanded
from isthmus.simulate.stiffness import warn_if_stiff
from isthmus.simulate.touching import RESIDUAL, check_contact, warn_if_deep, warn_if_unsolved
from isthmus.types import AnyArray, Number

Controls = None | AnyArray | Sequence[Any] | Control | Callable[[Any, State], Any]
Checkpoint = None | int | Literal["auto", "sqrt"]


@check_arguments
def step(
    model: Model,
    state: StateLike,
    control: AnyArray | Sequence[Any] | Control | None,
    dt: Number,
    *,
    integrator: IntegratorLike = "semi_implicit",
    explicit: bool = False,
    substeps: int = 1,
    engine: Engine = None,
) -> State:
    """The state `dt` [s] later, under a constant `control`: torques [N·m, N] of shape (dof,), a `Control`, or None.

    `state`: a `State`, `(q, v)`, or an array with the positions, or with positions and velocities.

    `integrator`: `SemiImplicit()`, `Euler()`, `RK4()`, or their names `semi_implicit`, `explicit_euler`, `rk4` with
    the options `explicit` and `substeps` beside them. Semi-implicit Euler takes joint friction and stops implicitly
    unless `explicit=True`. `engine`: native code in float64 unless something is traced, then plain JAX (None), or as
    named.
    """
    scheme, given = integrator_of(integrator, explicit, substeps), as_control(control)
    check_single(model, "rollout_many")
    state = check_state(model, state)
    refuse_idle_numbers(model)
    state = with_memory(model, state)
    check_control(model, given)
    check_prescribed(model, given)
    check_dt(model, dt)
    warn_if_stiff(model, state, dt, scheme)
    check_contact(model, dt, scheme)
    if wants_native(engine, model, state, given, dt):
        fn = lambda m, s, c, h: _one_step(m, s, c, h, scheme)
        run_native = compiled(fn, (model, state, given, dt), ("step", scheme), engine, state)
        if run_native is not None:
            return run_native(model, state, given, dt)
    return _step(model, state, given, dt, scheme)


@check_arguments
def rollout(
    model: Model,
    state: StateLike,
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
) -> Motion:
    """The motion from `state` in steps of `dt` [s]: its first row is `state`, so it has one row more than steps.

    `controls`: torques [N·m, N] of shape (steps, dof); a `Control` with time as the first axis of every array; a
    function `(t, state) -> torques or Control`; or None. For the last two forms without arrays, `steps` says how
    many. `record` names signals (`link/pose`, `joint/elbow/torque`, `point/*/position` …): they come with as
    many rows as `t`; for the last row the last control acts on. What acted is recorded too, as a log has it:
    `joint/control`, `link/external_force`, `extra/NAME`, so that `Problem` can take the motion as it is.

    `checkpoint` chooses the memory of a reverse-mode gradient: None keeps what every step computed; a number `n`
    keeps the state every `n` steps and computes the rest again, but for impulses of contacts; `"sqrt"` does so for
    `n = √steps`. `"auto"` is 1 where contacts act by impulses, else None. Gradients of long rollouts of robots with
    many joints are the fastest with 1.

    `state`, `integrator` and `engine` as in `step`.
    """
    scheme = integrator_of(integrator, explicit, substeps)
    check_single(model, "rollout_many")
    state = check_state(model, state)
    refuse_idle_numbers(model)
    state = with_memory(model, state)
    controls, steps = prepare(model, controls, steps)
    check_dt(model, dt)
    chosen = tuple(select(model, name, extras(controls)) for name in names(record))
    warn_if_stiff(model, state, dt, scheme)
    check_contact(model, dt, scheme)
    warn_if_deep(model, state.q)
    settings = (steps, chosen, scheme, interval(model, checkpoint, steps))
    if wants_native(engine, model, state, None if callable(controls) else controls, dt):
        found = native_rollout((model, state, controls, dt), settings, engine)
        if found is not None:
            fn, arguments = found
            return with_acting(model, fn(*arguments), controls, record)
    found = _rollout(model, state, controls, dt, *settings)
    return with_acting(model, found, controls, record)


def with_acting(
    model: Model, motion: Motion, controls: Any, record: str | Sequence[str], *, deep: bool = False
) -> Motion:
    """What `run` gave, with its controls; those of a control law are in it already. Tells of unsolved contact."""
    motion = warn_if_unsolved(model, motion, names(record))
    given = Control() if callable(controls) else controls
    return with_controls(model, motion, given, deep=deep)


def native_rollout(given: tuple, settings: tuple, engine: Engine) -> tuple | None:
    """Native code for a rollout of one world, and the arguments it takes; a control law is part of the code."""
    model, state, controls, dt = given
    said: tuple[str, ...] = ()
    if callable(controls):
        if settings[0]:
            spoken = lambda s: as_signals(commanded(model, controls, s))
            said = tuple(jax.eval_shape(spoken, state))
        fn = lambda m, s, h: run(m, s, controls, h, *settings)
        arguments: tuple = (model, state, dt)
        key: tuple = ("rollout", settings, controls)
    else:
        fn = lambda m, s, c, h: run(m, s, c, h, *settings)
        arguments, key = (model, state, controls, dt), ("rollout", settings)
    if settings[0] and "impulse" in model.contact_kinds:
        said = (*said, RESIDUAL)
    found = compiled(fn, arguments, key, engine, _outline(model, settings[1], said))
    return None if found is None else (found, arguments)


def _outline(model: Model, chosen: tuple[Selection, ...], said: tuple[str, ...]) -> Motion:
    """A motion of the structure that `run` gives; `said` names the signals that were not asked for."""
    signals: dict[str, AnyArray] = {selection.text: np.zeros(1) for selection in chosen}
    signals = dict.fromkeys(said, np.zeros(1)) | signals
    q, v = np.zeros((1, model.nq)), np.zeros((1, model.dof))
    return Motion(np.zeros(1), q, v, signals, joints_of(model))


# one world ---------------------------------------------------------------------------------------------


def _one_step(
    model: Model, state: State, control: Control, dt: Number, scheme: Integrator
) -> State:
    state = _as_floats(state)
    return advance(model, state, control, jnp.asarray(dt, state.q.dtype), scheme)[0]


_step = eqx.filter_jit(_one_step)


def run(
    model: Model,
    state: State,
    controls: Any,
    dt: Number,
    steps: int,
    chosen: tuple[Selection, ...],
    scheme: Integrator,
    every: int | None,
) -> Motion:
    """The rollout itself, for checked arguments: what `rollout` compiles. Impulses always have their residual in it."""
    start = _as_floats(state)
    dt = jnp.asarray(dt, start.q.dtype)
    # recorded signals need an evaluation at the last state too
    rows = steps + 1 if chosen else steps
    times = start.time + dt * jnp.arange(steps + 1, dtype=dt.dtype)

    def one(carry: tuple, at: tuple) -> tuple[tuple, tuple]:
        (q, v, memory), (k, given) = carry, at
        here = State(q, v, memory, times[k])
        control = commanded(model, controls, here) if callable(controls) else given
        begin, control = _imposed_unless_last(model, here, control, k, steps)
        after, signal = advance(model, begin, control, dt, scheme)
        kept = tuple(selection.pick(signal[selection.name]) for selection in chosen)
        said = as_signals(control) if callable(controls) else {}
        if "impulse" in model.contact_kinds:
            said |= {RESIDUAL: signal[RESIDUAL]}
        return (after.q, after.v, after.memory), (begin.q, begin.v, kept, said)

    given = None if callable(controls) else _padded(controls, rows)
    carry = (start.q, start.v, start.memory)
    last, (q, v, kept, said) = _scan(one, carry, (jnp.arange(rows), given), rows, every)
    if not chosen:
        q, v = jnp.concatenate([q, last[0][None]]), jnp.concatenate([v, last[1][None]])
    signals = {name: last_row_again(x[:steps]) for name, x in said.items() if steps}
    signals |= {selection.text: value for selection, value in zip(chosen, kept, strict=True)}
    return Motion(times, q, v, signals, joints_of(model))


_rollout = eqx.filter_jit(run)


def _scan(one: Callable, carry: Any, xs: Any, length: int, interval: int | None) -> tuple[Any, Any]:
    """`jax.lax.scan`; with an `interval`, in stretches of which the gradient keeps the first state and impulses."""
    if interval is None or length == 0:
        return jax.lax.scan(one, carry, xs, length=length)

    again = functools.partial(
        jax.checkpoint, policy=jax.checkpoint_policies.save_only_these_names(FOUND)
    )
    if interval == 1:
        return jax.lax.scan(again(one), carry, xs, length=length)
    stretch = again(lambda carry, xs: jax.lax.scan(one, carry, xs))
    whole = length // interval
    cut = whole * interval
    parts = []
    if whole:
        folded = jax.tree.map(lambda x: x[:cut].reshape(whole, interval, *x.shape[1:]), xs)
        carry, out = jax.lax.scan(stretch, carry, folded)
        parts.append(jax.tree.map(lambda x: x.reshape(cut, *x.shape[2:]), out))
    if cut < length:
        carry, out = stretch(carry, jax.tree.map(lambda x: x[cut:], xs))
        parts.append(out)
    return carry, jax.tree.map(lambda *x: jnp.concatenate(x), *parts)


def _padded(controls: Control, rows: int) -> Control:
    """The controls with the last row repeated, where one more row is asked for."""

    def pad(x: AnyArray) -> AnyArray:
        x = jnp.asarray(x)
        return x if len(x) == rows else jnp.concatenate([x, x[-1:]])

    return jax.tree.map(pad, controls)


def _imposed_unless_last(
    model: Model, here: State, control: Control, k: AnyArray, steps: int
) -> tuple[State, Control]:
    """Prescribed joints where the control has them; after the last step, where the motion took them."""
    if not model.prescribed:
        return here, control
    rows_q, rows_v = prescribed_rows(model)
    imposed = impose(model, here, control)
    begin = jax.tree.map(lambda a, b: jnp.where(k < steps, a, b), imposed, here)
    motion = (begin.q[rows_q], begin.v[rows_v])
    return begin, eqx.tree_at(lambda c: (c.position, c.velocity), control, motion, is_leaf=_is_none)


def _is_none(x: Any) -> bool:
    return x is None


def _as_floats(state: State) -> State:
    """The state as arrays of the precision that JAX is set to."""
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.result_type(float)), state)


# what was asked for --------------------------------------------------------------------------------------


def prepare(
    model: Model, controls: Controls, steps: int | None, *, finite: bool = True
) -> tuple[Any, int]:
    """Controls as a `Control` with time first, or a function; and the number of steps. `finite`: refuses nan."""
    if callable(controls) or controls is None:
        if steps is None:
            raise BadOption(
                "steps= must say how many steps to take where the controls are no array."
            )
        if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 0:
            raise BadOption(f"steps must be a whole number from 0, not {steps!r}.")
        if controls is None:
            check_prescribed(model, Control())
        else:
            check_law(controls)
        return (Control() if controls is None else controls), int(steps)
    given = as_control(controls)
    lengths = {np.shape(x)[0] if np.ndim(x) else -1 for x in jax.tree.leaves(given)}
    if len(lengths) != 1 or -1 in lengths:
        raise BadShape(
            "every array of the controls needs time as its first axis, all of one length."
        )
    length = lengths.pop()
    if steps is not None and steps != length:
        raise BadShape(f"controls has {length} rows but steps={steps}; leave one of them out.")
    check_control(model, given, (length,), finite=finite)
    check_prescribed(model, given)
    return given, length


def names(record: str | Sequence[str]) -> tuple[str, ...]:
    return (record,) if isinstance(record, str) else tuple(record)


def extras(controls: Any) -> tuple[str, ...]:
    return tuple(controls.extra) if isinstance(controls, Control) else ()


def check_dt(model: Model, dt: Number) -> None:
    if not is_traced(dt) and not _is_positive_number(dt):
        raise BadOption(f"dt must be a positive number of seconds, not {dt!r}.")
    if model.delay_steps and not is_traced((model.joint_delay, dt)):
        longest = float(np.max(model.joint_delay)) / float(dt)
        if longest > model.delay_steps - 1:
            raise BadOption(
                f"a delay of {longest:.3g} steps is asked for, but this model keeps {model.delay_steps} commands: "
                f"raise delay_steps, of its actuators or by dataclasses.replace(model, delay_steps=...), or dt."
            )


def _is_positive_number(x: Any) -> bool:
    return np.ndim(x) == 0 and np.asarray(x).dtype.kind in "fiu" and bool(0 < x < np.inf)


def interval(model: Model, checkpoint: Checkpoint, steps: int) -> int | None:
    """After how many steps a reverse-mode gradient keeps the state; None: it keeps all that every step computed."""
    if checkpoint == "auto":
        # what the reverse pass of a step with impulses reads does not fit into the cache in lanes
        return 1 if "impulse" in model.contact_kinds else None
    if checkpoint is None:
        return None
    if checkpoint == "sqrt":
        return max(1, round(steps**0.5))
    if isinstance(checkpoint, bool) or not isinstance(checkpoint, int) or checkpoint < 1:
        raise BadOption(
            f"checkpoint must be None, 'auto', 'sqrt' or a number of steps, not {checkpoint!r}."
        )
    return checkpoint
