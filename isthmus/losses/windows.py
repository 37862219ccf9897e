"""Losses: which windows of a log are simulated (single steps, stretches, whole runs), and what is compared in them.

`AbstractLoss` is what the rest of the library knows of a loss; the classes below it are final.
"""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar

import numpy as np

from isthmus.entry import check_arguments, described
from isthmus.errors import BadLog, BadOption, did_you_mean
from isthmus.motion.motion import CONTROL, EXTRA, FORCE, Motion
from isthmus.networks.names import INWARDS, OUTWARDS


@dataclasses.dataclass(frozen=True)
class Span:
    """A stretch of one run: it starts in the state of row `first` and takes `steps` steps."""

    run: int
    first: int
    steps: int


@dataclasses.dataclass(frozen=True)
class AbstractLoss(abc.ABC):
    """How a simulation is compared with logs; the fields of a loss are its options."""

    simulates: ClassVar[bool] = True
    """False: torques of the measured motion are computed, and nothing is simulated."""
    blind_to: ClassVar[tuple[str, ...]] = ()
    """Signals that the loss does not compute, so that it cannot see what a network makes of them."""
    lengthen_horizon: ClassVar[bool] = False
    """Whether windows are so long that a search should fit their beginnings first."""
    description: ClassVar[str] = (
        "As in the loss, the simulation starts anew from the measured state at the beginning of each window; "
        "where a curve breaks, a window ends."
    )
    """How windows are predicted, for readers of a report."""

    @abc.abstractmethod
    def spans(self, run: int, rows: int) -> list[Span]:
        """The windows of run number `run`, which has `rows` rows."""

    def doubt(self, rows: int) -> str:
        """What is wrong with this loss for logs of at most `rows` rows; "": nothing."""
        return ""

    @property
    def gap_weight(self) -> float | None:
        """Weight of the gap between the end of a window and the start of the next; None: windows are independent.

        Where it is a number, the starts of all windows are free.
        """
        return None

    def for_heldout(self) -> AbstractLoss:
        """The loss that logs are predicted with that are not fitted: all windows start as measured."""
        return self

    def default_signals(self, motion: Motion | None) -> tuple[str, ...]:
        """What is compared unless users say: positions, or else all measured signals that do not act."""
        if motion is None or (motion.q is not None and not np.all(np.isnan(motion.q))):
            return ("joint/position",)
        acts = lambda name: name in (CONTROL, FORCE) or name.startswith(EXTRA)
        return tuple(name for name in motion.signals if not acts(name))


@check_arguments
@dataclasses.dataclass(frozen=True)
class WholeRun(AbstractLoss):
    """Each run is simulated from its first row to its last."""

    lengthen_horizon: ClassVar[bool] = True
    description: ClassVar[str] = (
        "Each run is simulated from its measured start to its end, without a look at the measurement again."
    )

    def spans(self, run: int, rows: int) -> list[Span]:
        """One window, the whole run."""
        return [Span(run, 0, rows - 1)] if rows > 1 else []


@check_arguments
@dataclasses.dataclass(frozen=True)
class Windows(AbstractLoss):
    """Windows of `steps` steps, each from a measured state; one begins every `stride` rows (default: `steps`)."""

    steps: int = 50
    stride: int | None = None

    def __post_init__(self) -> None:
        whole_number("steps", self.steps)
        whole_number("stride", self.steps if self.stride is None else self.stride)

    def spans(self, run: int, rows: int) -> list[Span]:
        """Windows of equal length; what is left at the end makes a shorter one of at least two steps."""
        if rows <= self.steps:
            return [Span(run, 0, rows - 1)] if rows > 1 else []
        stride = self.steps if self.stride is None else self.stride
        spans = [Span(run, k, self.steps) for k in range(0, rows - self.steps, stride)]
        left = rows - 1 - (spans[-1].first + stride)
        rest = [Span(run, rows - 1 - left, left)] if left > 1 and stride == self.steps else []
        return [*spans, *rest]

    def doubt(self, rows: int) -> str:
        """Whether every window is shorter than asked for."""
        return _too_long(self, rows)


@check_arguments
@dataclasses.dataclass(frozen=True)
class OneStep(AbstractLoss):
    """From every measured state, one step."""

    def spans(self, run: int, rows: int) -> list[Span]:
        """A window of one step from each row."""
        return [Span(run, k, 1) for k in range(rows - 1)]


@check_arguments
@dataclasses.dataclass(frozen=True)
class MultipleShooting(AbstractLoss):
    """Segments of `steps` steps whose starts are free; each must end where the next one begins.

    `defect_weight` is the inverse of the gap [rad, m, rad/s, m/s] that counts as much as one standard deviation of
    the noise: large ones make the segments one motion, small ones let them drift apart.
    """

    description: ClassVar[str] = (
        "Fitted runs are simulated in segments with fitted starts, held-out runs in windows of the same length "
        "from measured ones."
    )

    steps: int = 50
    defect_weight: float = 1e3

    def __post_init__(self) -> None:
        whole_number("steps", self.steps)
        if not self.defect_weight > 0:
            raise BadOption(f"defect_weight must be positive, not {self.defect_weight!r}.")

    def spans(self, run: int, rows: int) -> list[Span]:
        """Segments, each of which begins where the last one ends; the last one may be shorter."""
        firsts = range(0, rows - 1, self.steps)
        return [Span(run, k, min(self.steps, rows - 1 - k)) for k in firsts]

    def doubt(self, rows: int) -> str:
        """Whether every segment is shorter than asked for."""
        return _too_long(self, rows)

    @property
    def gap_weight(self) -> float | None:
        return self.defect_weight

    def for_heldout(self) -> AbstractLoss:
        """Windows of the same length, from measured states."""
        return Windows(self.steps)


@check_arguments
@dataclasses.dataclass(frozen=True)
class TorqueLoss(AbstractLoss):
    """Nothing is simulated: the torques that the measured motion needs, by inverse dynamics, against measured ones.

    Compared is `joint/motor_torque`, or `joint/control` where only commands were logged. Accelerations are the signal
    `joint/acceleration` where the log has one, else slopes of the velocities (or of positions, twice), by cubics
    through as many rows as leave nothing but noise. Rows whose positions or velocities were not measured are not
    compared. `steps` rows at a time, which changes nothing but speed.
    """

    simulates: ClassVar[bool] = False
    description: ClassVar[str] = (
        "Nothing is simulated: predicted are the torques that the measured motion needs, by inverse dynamics."
    )
    blind_to: ClassVar[tuple[str, ...]] = (
        "joint/torque", "joint/acceleration", "joint/new_velocity", "joint/new_position", *INWARDS, *OUTWARDS,
    )  # fmt: skip

    steps: int = 100

    def __post_init__(self) -> None:
        whole_number("steps", self.steps)

    def spans(self, run: int, rows: int) -> list[Span]:
        """Windows that share no row."""
        firsts = range(0, rows - 1, self.steps + 1)
        return [Span(run, k, min(self.steps, rows - 1 - k)) for k in firsts if rows - 1 - k > 0]

    def default_signals(self, motion: Motion | None) -> tuple[str, ...]:
        """Measured torques, or at least commands."""
        there = {} if motion is None else motion.signals or {}
        for name in ("joint/motor_torque", CONTROL):
            if name in there:
                return (name,)
        raise BadLog(
            f"the log has no torques to compare with: neither 'joint/motor_torque' nor {CONTROL!r}."
        )


NAMES: dict[str, type[AbstractLoss]] = {
    "whole_run": WholeRun,
    "windows": Windows,
    "one_step": OneStep,
    "multiple_shooting": MultipleShooting,
    "torque": TorqueLoss,
}
"""What each loss is called in study files and in `Problem(loss=)`."""


def _too_long(loss: Windows | MultipleShooting, rows: int) -> str:
    if loss.steps < rows or loss.steps == type(loss).steps:  # the default is for logs of any length
        return ""
    return (
        f"a window of {loss.steps} steps is longer than every log, the longest of which has {rows - 1}: each log is "
        "one window, as for WholeRun(). Take fewer steps, or WholeRun()."
    )


def as_loss(loss: Any) -> AbstractLoss:
    """A loss from itself, from its class, or from its name (`"windows"`), with the default options."""
    if isinstance(loss, AbstractLoss):
        return loss
    if isinstance(loss, type) and issubclass(loss, AbstractLoss):
        return loss()
    if not isinstance(loss, str):
        raise BadOption(
            f"loss must be a loss, such as ist.Windows(50), or its name, not {described(loss)}."
        )
    if loss not in NAMES:
        raise BadOption(f"no loss is called {loss!r}.{did_you_mean(loss, NAMES)}")
    return NAMES[loss]()


def loss_called(name: str, **options: Any) -> AbstractLoss:
    """The loss of a class name, as fits that were saved have it."""
    known = {kind.__name__: kind for kind in NAMES.values()}
    if name not in known:
        raise BadOption(f"no loss is called {name!r}.{did_you_mean(name, known)}")
    return known[name](**options)


def whole_number(name: str, value: Any, least: int = 1) -> None:
    """Refuses what does not count something."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadOption(f"{name} must be a whole number from {least}, not {value!r}.")
