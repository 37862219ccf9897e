"""`Tracker`: state and numbers of a model, estimated anew with every sample that is measured."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from isthmus.entry import check_arguments, described
from isthmus.errors import BadArgument, BadShape, BadStart
from isthmus.identify.logs.log import as_runs
from isthmus.identify.parameters.free import Free, as_frees
from isthmus.model.model import Model
from isthmus.model.state import (
    Control,
    State,
    StateLike,
    as_control,
    check_control,
    check_prescribed,
    check_state,
    with_memory,
)
from isthmus.motion.motion import Motion
from isthmus.phases import counted
from isthmus.simulate.integrate import IntegratorLike, integrator_of
from isthmus.simulate.rollout import check_dt
from isthmus.simulate.stiffness import warn_if_stiff
from isthmus.simulate.touching import check_contact
from isthmus.tracking.lacking import lacking
from isthmus.tracking.layout import Layout, beginning
from isthmus.tracking.logs import tracked
from isthmus.tracking.result import LASTING, Alarm, errors_of, raised, values_of
from isthmus.tracking.setup import POSITION, VELOCITY, setup_of
from isthmus.tracking.step import Belief
from isthmus.types import AnyArray, Number, Numbers


@check_arguments
class Tracker:
    """Estimates the state of a robot and `free` numbers of its model from every sample, and watches for changes.

    `free`: names or `ist.Free`; their priors, else their sizes, say how far they may be off. `noise`: standard
    deviation of each measured signal, `{"joint/position": 1e-3, "joint/velocity": 1e-2}`, which also says what is
    measured and in which order; a number is that of positions [rad, m]. `drift`: how far each number usually changes
    in a second [its unit/√s], one for all or by name; `joint/velocity` among them stands for what the model lacks.
    `dt` [s] is the time between two samples. If an averaged innovation leaves `alarm` standard deviations, the
    numbers count as unknown again, so that they follow a sudden change; the more numbers are measured, the higher the
    level of each, so that false alarms are as rare as with one. `integrator` … as in `ist.step`.
    """

    def __init__(
        self,
        model: Model,
        free: str | Free | Sequence[str | Free],
        noise: Number | Mapping[str, Numbers],
        drift: Number | Mapping[str, Numbers],
        dt: Number,
        alarm: Number = 4.5,
        *,
        integrator: IntegratorLike = "semi_implicit",
        explicit: bool = False,
        substeps: int = 1,
    ) -> None:
        scheme = integrator_of(integrator, explicit, substeps)
        check_dt(model, dt)
        warn_if_stiff(model, State.neutral(model), dt, scheme)
        check_contact(model, dt, scheme)
        self.setup = setup_of(model, as_frees(free), noise, drift, float(dt), float(alarm), scheme)
        self.layout = Layout.of(self.setup)
        self._sizes = self.setup.model.dof, self.setup.measured
        self._numbers = self.layout.numbers
        self._codes: dict[Any, Any] = {}
        self.reset()

    def __repr__(self) -> str:
        rows = zip(self.names, self.values, self.errors, strict=True)
        told = ", ".join(f"{name} = {value:.4g} ± {error:.2g}" for name, value, error in rows)
        return f"<Tracker at {self.time:g} s: {told}; {counted(len(self.alarms), 'alarm')}>"

    # what is known ---------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Of the numbers that are followed."""
        return self.setup.parameters.names

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """From when to when innovations were too large, and of which measured number first."""
        return tuple(self._alarms)

    @property
    def belief(self) -> Belief:
        """All that is known now."""
        return self.layout.unpack(self._now)

    @property
    def time(self) -> float:
        """Of the last sample [s]."""
        return float(self._now[-1])

    @property
    def state(self) -> State:
        """The estimated state."""
        now = self.belief
        return State(now.q, now.v, now.memory, now.time)

    @property
    def values(self) -> np.ndarray:
        """The estimated numbers, in the order of `names`."""
        return values_of(self.setup, self.belief.numbers[None])[0]

    @property
    def errors(self) -> np.ndarray:
        """Their standard deviations."""
        now, n = self.belief, 2 * self.setup.model.dof
        return errors_of(self.setup, now.numbers[None], now.covariance[None, n:, n:])[0]

    @property
    def model(self) -> Model:
        """The model with the estimated numbers."""
        parameters = self.setup.parameters
        return parameters.model(self.belief.numbers / parameters.scale)

    # samples -----------------------------------------------------------------------------------------------------

    @check_arguments
    def reset(self, state: StateLike | None = None) -> None:
        """Forgets all that was measured; `state` is where the robot is now (None: where the next sample says)."""
        model = self.setup.model
        here = State.neutral(model) if state is None else check_state(model, state)
        self._begin(beginning(self.setup, with_memory(model, here)), state is not None)

    def _begin(self, belief: Belief, started: bool) -> None:
        self._now, self._started = np.asarray(self.layout.pack(belief)), started
        self._alarms: list[Alarm] = []

    def update(
        self,
        control: AnyArray | Sequence[Any] | Control | None,
        measured: AnyArray | Sequence[Any] | Mapping[str, Any] | None,
    ) -> np.ndarray:
        """Takes in one sample and returns the estimated numbers, in the order of `names`.

        `control` acted since the sample before: torques [N·m, N] of shape (dof,), a `Control`, or None. `measured` was
        seen at its end: the signals of `noise` one behind the other, or by name; what is nan, or None, was not
        measured. The first sample, unless `reset` said where the robot is, only says that.
        """
        row = self._row(measured)
        if not self._started:
            self.reset(self._seen(row))
            return self.values
        if isinstance(control, Control) or self.setup.model.prescribed:
            given = as_control(control)
            check_control(self.setup.model, given)
            check_prescribed(self.setup.model, given)
            leaves = jax.tree.leaves(given)
        else:
            leaves = [self._torque(control)]
            given = None
        now, alarm = self._code(given).run([self._now, row, *leaves])
        self._now = now.copy()
        if alarm:
            self._alarms = raised(self.setup, self._alarms, self.time, float(alarm))
        return self._reported(self._now[self._numbers])

    def _code(self, given: Control | None) -> Any:
        """Native code for controls of this structure; None: torques alone."""
        key = None if given is None else jax.tree.structure(given)
        if key not in self._codes:
            control = Control(np.zeros(self.setup.model.dof)) if given is None else given
            self._codes[key] = self.layout.compiled(control)
        return self._codes[key]

    @functools.cached_property
    def _reported(self) -> Any:
        """From the numbers of the filter to a copy of those that are reported."""
        if all(group.report is None for group in self.setup.parameters.groups):
            return np.copy
        return lambda numbers: values_of(self.setup, numbers[None])[0]

    def _row(self, measured: Any) -> np.ndarray:
        """What was measured as one row."""
        size = self._sizes[1]
        if measured is None:
            return np.full(size, np.nan)
        channels = self.setup.channels
        if isinstance(measured, Mapping):
            texts = [c.text for c in channels]
            if unknown := [name for name in measured if name not in texts]:
                raise BadArgument(
                    f"Tracker.update: noise does not have {unknown[0]!r}; it has {', '.join(texts)}."
                )
            parts = [measured.get(c.text, np.full(c.size, np.nan)) for c in channels]
            measured = np.concatenate([np.ravel(part) for part in parts])
        row = _as_floats("measured", measured)
        if row.shape != (size,):
            names = ", ".join(f"{c.text} ({c.size})" for c in channels)
            raise BadShape(
                f"Tracker.update: measured has shape {row.shape}; needed are {counted(size, 'number')}: {names}."
            )
        return row

    def _torque(self, control: Any) -> np.ndarray:
        dof = self._sizes[0]
        if control is None:
            return np.zeros(dof)
        torque = _as_floats("control", control)
        if torque.shape != (dof,):
            raise BadShape(
                f"Tracker.update: control has shape {torque.shape}; needed are {counted(dof, 'torque')} [N·m, N]."
            )
        if not np.isfinite(torque).all():
            raise BadArgument(
                "Tracker.update: control has nan; what acted must be known, only measured may be nan."
            )
        return torque

    def _seen(self, row: np.ndarray) -> State:
        """The state that a row shows."""
        model, place, found = self.setup.model, 0, {}
        for c in self.setup.channels:
            found[c.name] = (c, row[place : place + c.size])
            place += c.size
        c, q = found.get(POSITION, (None, np.zeros(0)))
        if c is None or len(q) != model.nq or not np.isfinite(q).all():
            raise BadStart(
                "Tracker.update: the first sample must have all positions (joint/position), or "
                "tracker.reset(state) must say where the robot is."
            )
        _, v = found.get(VELOCITY, (None, np.zeros(0)))
        v = v if len(v) == model.dof else np.zeros(model.dof)
        return State(q, np.nan_to_num(v))

    # logs --------------------------------------------------------------------------------------------------------

    @check_arguments
    def run(self, log: Motion | Sequence[Motion]) -> Any:
        """A `Track`: the estimates along a log, from its first row; rows that are nan are predicted over.

        The tracker ends at the last row, so that `update` can go on. Where alarms last, `Track.lacking` names numbers
        of the model that might explain the motion. Several logs run side by side, in lanes, and leave the tracker as it
        is; they give a list of `Track`.
        """
        if not isinstance(log, Motion) or np.ndim(log.t) > 1:
            return tracked(self.layout, self._code, as_runs(log))[0]
        (track,), last = tracked(self.layout, self._code, [log])
        self._begin(self.layout.unpack(last[0]), True)
        self._alarms = list(track.alarms)
        if track.lasting > LASTING:
            track = dataclasses.replace(track, lacking=lacking(self.setup, log))
        return track


def _as_floats(name: str, given: Any) -> np.ndarray:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadArgument(
            f"Tracker.update: {name} must be an array of numbers, not {described(given)}."
        ) from None
