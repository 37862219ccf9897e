"""`Problem`: a model, recorded motion, what is free, and how the two are compared."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from isthmus.blas import on_one_thread
from isthmus.blueprint.blueprint import detach
from isthmus.blueprint.ranges import with_ranges
from isthmus.entry import check_arguments
from isthmus.errors import BadFree, BadLog, BadOption, FitWarning, did_you_mean
from isthmus.identify.evaluate.compiled import Compiled, compiled_for
from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.identify.evaluate.window import Plan, Window
from isthmus.identify.evaluate.windows_from_logs import cut_windows
from isthmus.identify.logs import log as reading
from isthmus.identify.logs.faults import check_heldout, check_logs, warn_without_commands
from isthmus.identify.logs.log import Log, compared_rows, states_of
from isthmus.identify.parameters.free import Free, as_frees
from isthmus.identify.parameters.parameters import Make, Parameters, parameters
from isthmus.identify.preflight import Check, check
from isthmus.losses.penalties import Quadratic
from isthmus.losses.residuals import Channel, channel
from isthmus.losses.windows import AbstractLoss, Span, as_loss
from isthmus.model import address
from isthmus.model.model import Model
from isthmus.phases import counted
from isthmus.simulate.integrate import Integrator, IntegratorLike, integrator_of
from isthmus.simulate.touching import check_contact, warn_if_deep

CROSS = "cross"
"""The weight penalty that is chosen by cross-validation inside the fitted motions."""


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """Which numbers of a simulation make it move as recorded.

    `motions`: one `Motion`, several, or a batch. `free`: what may change, `Free("link/*/mass")`, a name alone, or
    a list of these. `make`: a function from a mapping of
    named numbers to a `Model`, instead of `model`, for what is no leaf (a length). `loss`: `Windows(50)`,
    `WholeRun()`, `OneStep()`, `MultipleShooting(50)`, `TorqueLoss()` or their names. `signals`: what is compared;
    default `joint/position` where it was measured. `noise`: standard deviation of each signal; where it is not
    given, one for a single signal, else the signal's own spread. `huber`: beyond so many standard deviations a
    difference counts linearly. `dt`: the time step [s]; the log's own unless given. `heldout`: motions, or how many
    of `motions`, to be predicted, not fitted. `weight_penalty`: R of `R‖θ‖²` on network weights; "cross": the R whose
    fit of a part of the rows best predicts the rest of them. `keep_networks`: networks stay in the result even if
    held-out motion is predicted as well without them. `wrap`: angles of hinges are compared on a circle.
    """

    model: Model | None = None
    motions: Any = ()
    make: Make | None = dataclasses.field(default=None, kw_only=True)
    free: Any = dataclasses.field(default=(), kw_only=True)
    loss: Any = dataclasses.field(default="windows", kw_only=True)
    signals: str | Sequence[str] | None = dataclasses.field(default=None, kw_only=True)
    noise: Mapping[str, Any] | float | None = dataclasses.field(default=None, kw_only=True)
    huber: float | None = dataclasses.field(default=None, kw_only=True)
    dt: float | None = dataclasses.field(default=None, kw_only=True)
    substeps: int = dataclasses.field(default=1, kw_only=True)
    integrator: IntegratorLike = dataclasses.field(default="semi_implicit", kw_only=True)
    explicit: bool = dataclasses.field(default=False, kw_only=True)
    heldout: Any = dataclasses.field(default=None, kw_only=True)
    weight_penalty: float | str = dataclasses.field(default=0.0, kw_only=True)
    keep_networks: bool = dataclasses.field(default=False, kw_only=True)
    wrap: bool = dataclasses.field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if (self.model is None) == (self.make is None):
            raise BadOption(
                "a Problem needs a model or make=, a function that makes one; one of the two."
            )
        object.__setattr__(self, "free", as_frees(self.free))
        _ = self.kind  # refuses what is no loss
        if self.huber is not None and not self.huber > 0:
            raise BadOption(
                f"huber must be a positive number of standard deviations, not {self.huber!r}."
            )
        known = self.weight_penalty == CROSS or not isinstance(self.weight_penalty, str)
        if not known or not 0 <= self.fixed_penalty < np.inf:
            raise BadOption(
                f'weight_penalty must be a number from 0 or "{CROSS}", not {self.weight_penalty!r}: below 0 it would '
                "reward weights."
            )
        scheme = integrator_of(self.integrator, self.explicit, self.substeps)
        if not self.runs[0]:
            raise BadLog("there is no motion to fit: give motions=.")
        check_heldout(*self.runs)
        check_logs(self.logs, self.channels, self.parameters, simulated=self.kind.simulates)
        self._check_noise_and_dt()
        if self.weight_penalty == CROSS and not self.trained:
            raise BadOption(
                f'weight_penalty="{CROSS}" is for weights of networks, and none are free: leave it out, or add '
                "ist.Free('network/*')."
            )
        for wired in self.template.networks:
            if wired.plan.target in self.kind.blind_to:
                raise BadOption(
                    f"the loss of torques does not see the wire {wired.name!r}: it corrects {wired.plan.target!r}, "
                    "which is not computed from a measured motion. Correct 'joint/passive_torque', or simulate."
                )
        if not self.kind.simulates and "impulse" in self.template.contact_kinds:
            raise BadOption(
                f"the loss of torques cannot see the impulses of the contacts of {self.template.name!r}: take contacts "
                "of kind 'penalty', ist.without_contact(model), or a loss that simulates."
            )
        if self.kind.simulates:
            warn_without_commands(self.template, self.logs)
            check_contact(self.template, self.dt or max(log.dt for log in self.logs), scheme)
            starts = np.stack([log.start_q[0] for log in self.logs])
            leaves = len(jax.tree.leaves(self.template))
            warn_if_deep(self.template, starts, [*[False] * leaves, True], "log")
        if doubt := self.kind.doubt(max(map(len, self.logs))):
            warnings.warn(doubt, FitWarning, stacklevel=3)

    def _check_noise_and_dt(self) -> None:
        known = [c.text for c in self.channels]
        if isinstance(self.noise, Mapping) and (unknown := [*{*self.noise} - {*known}]):
            raise BadOption(
                f"noise has {unknown[0]!r}, which is not compared.{did_you_mean(str(unknown[0]), known)}"
            )
        if self.dt is not None and not 0 < self.dt < np.inf:
            raise BadOption(f"dt must be a positive number of seconds, not {self.dt!r}.")
        _ = self.sigma, self.scheme  # both refuse what does not fit the logs

    def __getstate__(self) -> dict[str, Any]:
        """What was given, without what was made of it: a copy in another process makes that itself."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    # what it is made of, each part once ------------------------------------------------------------------------

    @functools.cached_property
    def kind(self) -> AbstractLoss:
        """The loss, as an object."""
        return as_loss(self.loss)

    @functools.cached_property
    def template(self) -> Model:
        """The model at the start."""
        return self.parameters.template

    @functools.cached_property
    def runs(self) -> tuple[list, list]:
        """Motions to fit, and motions to predict."""
        given = reading.as_runs(self.motions)
        if isinstance(self.heldout, int) and not isinstance(self.heldout, bool):
            if not 0 <= self.heldout < len(given):
                raise BadOption(
                    f"heldout={self.heldout} leaves nothing to fit of {counted(len(given), 'motion')}."
                )
            cutoff = len(given) - self.heldout
            return given[:cutoff], given[cutoff:]
        return given, [] if self.heldout is None else reading.as_runs(self.heldout)

    @functools.cached_property
    def logs(self) -> list[Log]:
        """Runs that are fitted."""
        names = reading.names_of(self.runs[0], "run")
        model = self._free_numbers.template
        return [reading.read(model, m, n) for m, n in zip(self.runs[0], names, strict=True)]

    @functools.cached_property
    def heldout_logs(self) -> list[Log]:
        """Runs that are predicted."""
        names = reading.names_of(self.runs[1], "held-out run")
        return [reading.read(self.template, m, n) for m, n in zip(self.runs[1], names, strict=True)]

    @functools.cached_property
    def trained(self) -> tuple[str, ...]:
        """Names of the networks that have free weights."""
        labels = (name.split("/") for name in self._free_numbers.names)
        return tuple(dict.fromkeys(parts[1] for parts in labels if parts[0] == "network"))

    @functools.cached_property
    def parameters(self) -> Parameters:
        """What is free, but for the starts of windows; the range of trained networks is that of the fitted motions."""
        found = self._free_numbers
        if not self.trained or self.make is not None:
            return found
        model = found.template
        channels = () if self.kind.simulates else self._channels(model)
        states = [states_of(log, compared_rows(model, log, channels)) for log in self.logs]
        return dataclasses.replace(found, template=with_ranges(model, states, self.trained))

    @functools.cached_property
    def _free_numbers(self) -> Parameters:
        free = [f for f in self.free if not f.name.startswith("start/")]
        times = [np.asarray(m.t) for m in self.runs[0] if np.size(m.t) > 1]
        spacing = [float(np.median(np.diff(t))) for t in times]
        free = [
            dataclasses.replace(f, start=spacing[0])
            if f.name == "dt" and f.start is None and spacing
            else f
            for f in free
        ]
        labels = lambda model: {c.text: c.labels for c in self._channels(model)}
        runs = reading.names_of(self.runs[0], "run")
        return parameters(self.model, self.make, free, labels, runs)

    def _channels(self, model: Model) -> tuple[Channel, ...]:
        return tuple(channel(model, text, wrap=self.wrap) for text in self._texts(model))

    def _texts(self, model: Model) -> tuple[str, ...]:
        if self.signals is not None:
            return (self.signals,) if isinstance(self.signals, str) else tuple(self.signals)
        first = self.runs[0][0] if self.runs[0] else None
        return self.kind.default_signals(first)

    @functools.cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The signals that are compared."""
        return self._channels(self.template)

    @functools.cached_property
    def scheme(self) -> Integrator:
        """How time is stepped; a `dt` shorter than the log's makes substeps."""
        given = integrator_of(self.integrator, self.explicit, self.substeps)
        return given if self.dt is None else given.in_parts_of(self.dt, self.logs[0].dt)

    @functools.cached_property
    def sigma(self) -> dict[str, np.ndarray]:
        """Standard deviation of the noise of each signal, as weights use it."""
        return {c.text: self._noise(c) for c in self.channels}

    def _noise(self, c: Channel) -> np.ndarray:
        given = self.noise.get(c.text) if isinstance(self.noise, Mapping) else self.noise
        if given is None and len(self.channels) > 1:
            rows = np.concatenate([reading.target(self.template, log, c) for log in self.logs])
            given = max(float(np.nanmean(np.nanstd(rows, axis=0))), 1e-9)
        sigma = np.asarray(1.0 if given is None else given, dtype=np.float64)
        if (
            not np.all((sigma > 0) & (sigma < np.inf))
            or sigma.ndim > 1
            or sigma.size not in (1, c.width)
        ):
            raise BadOption(
                f"noise of {c.text!r} must be positive and finite, one number or {c.width}, not {given!r}."
            )
        return sigma

    @functools.cached_property
    def plan(self) -> Plan:
        """What does not change from window to window."""
        return self.compiled.plan

    @functools.cached_property
    def compiled(self) -> Compiled:
        """Native code of the windows."""
        windows = self.windows[0]
        example = jax.tree.map(lambda x: x[0], windows)
        return compiled_for(self._plan, example, int(windows.steps.sum()))

    @functools.cached_property
    def _plan(self) -> Plan:
        return Plan(
            self.parameters, self.channels, self.scheme, self.kind, self.huber, self._start_rows(),
            self._margin(),
        )  # fmt: skip

    def _start_rows(self) -> tuple[int, ...]:
        model, rows = self.template, set()
        if self.kind.gap_weight is not None:
            return tuple(range(2 * model.dof))
        for free in self._starts():
            base, pattern = address.parse(free.name)
            if base not in ("start/position", "start/velocity"):
                raise BadFree(
                    f"{free.name!r} is not known; there are start/position and start/velocity."
                )
            own = address.rows_of(free.name, pattern or "*", model.rows("dof"))
            rows |= {row + model.dof * (base == "start/velocity") for row in own}
        return tuple(sorted(rows))

    def _starts(self) -> list[Free]:
        return [f for f in self.free if f.name.startswith("start/")]

    def _margin(self) -> int:
        longest = max(
            (max(abs(f.low), abs(f.high)) for f in self.free if f.name.startswith("delay/")),
            default=None,
        )
        return 0 if longest is None else math.ceil(longest / min(log.dt for log in self.logs)) + 3

    # windows -----------------------------------------------------------------------------------------------------

    @functools.cached_property
    def windows(self) -> tuple[Window, tuple[Span, ...]]:
        """What is fitted, cut up."""
        return cut_windows(self.template, self.logs, self._plan, self.sigma)

    @functools.cached_property
    def heldout_windows(self) -> tuple[Window, tuple[Span, ...]]:
        """What is predicted, cut up."""
        rows = self.windows[0].weight.shape[1]
        plan, logs = self._heldout_plan, self.heldout_logs
        return cut_windows(self.template, logs, plan, self.sigma, rows, len(self.logs))

    @property
    def _heldout_plan(self) -> Plan:
        return dataclasses.replace(self.plan, start_rows=(), loss=self.kind.for_heldout())

    @functools.cached_property
    def evaluation(self) -> Evaluation:
        """The loss, as native code."""
        prior = self.prior(len(self.windows[1]))
        return Evaluation(self.plan, self.windows[0], prior, compiled=self.compiled, origin=self)

    @functools.cached_property
    def heldout_evaluation(self) -> Evaluation | None:
        """The loss of what is predicted: from the starts that were measured."""
        if not self.heldout_logs:
            return None
        plan, windows = self._heldout_plan, self.heldout_windows[0]
        mean, precision = self.parameters.prior
        alike = not self.plan.start_rows and same_structure(windows, self.windows[0])
        code = self.compiled if alike else None
        return Evaluation(plan, windows, Quadratic(mean, np.zeros_like(precision)), compiled=code)

    @property
    def fixed_penalty(self) -> float:
        """R of `R‖θ‖²`; 0 as long as it is to be chosen by cross-validation."""
        return 0.0 if isinstance(self.weight_penalty, str) else self.weight_penalty

    def prior(self, windows: int) -> Quadratic:
        """Priors on all that a search moves."""
        mean, precision = self.parameters.prior
        precision = precision + 2.0 * self.fixed_penalty * self.parameters.is_weight()
        mean = np.where(self.parameters.is_weight() & (self.fixed_penalty > 0), 0.0, mean)
        own = self._start_precision()
        return Quadratic(
            np.concatenate([mean, np.zeros(windows * len(own))]),
            np.concatenate([precision, np.tile(own, windows)]),
        )

    def _start_precision(self) -> np.ndarray:
        """How well each free number of a start is known beforehand."""
        rows, dof = self.plan.start_rows, self.template.dof
        precision = dict.fromkeys(rows, 0.0)
        for free in self._starts():
            base, pattern = address.parse(free.name)
            shift = dof * (base == "start/velocity")
            for row in address.rows_of(free.name, pattern or "*", self.template.rows("dof")):
                precision[row + shift] = float(1.0 / free.spread() ** 2)
        return np.array([precision[row] for row in rows])

    def check(self) -> Check:
        """A look before the search: derivatives, effects, time alignment, time step. `print` it."""
        with on_one_thread():
            return check(self.evaluation, self.windows[1])

    # problems that differ in one thing -----------------------------------------------------------------------------

    def with_penalty(self, penalty: float) -> Problem:
        """The same with another weight penalty; what was read and compiled is shared."""
        shared = {name: x for name, x in vars(self).items() if name != "evaluation"}
        return self._copied(shared | {"weight_penalty": penalty})

    def without_networks(self) -> Problem:
        """The same without the networks that are trained, and without their weights."""
        free = tuple(f for f in self.free if not f.name.startswith("network/"))
        model = None if self.model is None else detach(self.model, *self.trained)
        make = None if self.make is None else functools.partial(_detached, self.make, self.trained)
        changed = {"model": model, "make": make, "free": free, "weight_penalty": 0.0}
        return self._copied(self.__getstate__() | changed)

    def _copied(self, contents: dict[str, Any]) -> Problem:
        """A problem with these fields; they were checked before, and what they warn of was said."""
        made = object.__new__(Problem)
        vars(made).update(contents)
        return made


def _detached(make: Make, names: Sequence[str], named: Mapping[str, Any]) -> Model:
    """What `make` makes, without some networks."""
    return detach(make(named), *names)


def same_structure(a: Window, b: Window) -> bool:
    """Whether two batches of windows run through the same native code."""
    shapes = lambda w: [np.shape(x)[1:] for x in jax.tree.leaves(w)]
    return jax.tree.structure(a) == jax.tree.structure(b) and shapes(a) == shapes(b)
