"""Which stretches of a log are simulated: single steps, short windows, shooting segments, whole runs."""

from __future__ import annotations

import dataclasses
from typing import Any

from isthmus.errors import BadOption, did_you_mean


@dataclasses.dataclass(frozen=True)
class Span:
    """A stretch of one run: it starts in the state of row `first` and takes `steps` steps."""

    run: int
    first: int
    steps: int


@dataclasses.dataclass(frozen=True)
class WholeRun:
    """Each run is simulated from its first row to its last."""

    def spans(self, run: int, rows: int) -> list[Span]:
        """The stretches of a run of so many rows."""
        return [Span(run, 0, rows - 1)] if rows > 1 else []


@dataclasses.dataclass(frozen=True)
class Windows:
    """Windows of `steps` steps, each from a measured state; one begins every `stride` rows (default: `steps`)."""

    steps: int = 50
    stride: int | None = None

    def __post_init__(self) -> None:
        whole_number("steps", self.steps)
        whole_number("stride", self.steps if self.stride is None else self.stride)

    def spans(self, run: int, rows: int) -> list[Span]:
        """The stretches of a run; what is left at its end makes a shorter one of at least two steps."""
        if rows <= self.steps:
            return [Span(run, 0, rows - 1)] if rows > 1 else []
        stride = self.steps if self.stride is None else self.stride
        spans = [Span(run, k, self.steps) for k in range(0, rows - self.steps, stride)]
        left = rows - 1 - (spans[-1].first + stride)
        rest = [Span(run, rows - 1 - left, left)] if left > 1 and stride == self.steps else []
        return [*spans, *rest]


@dataclasses.dataclass(frozen=True)
class OneStep:
    """From every measured state, one step."""

    def spans(self, run: int, rows: int) -> list[Span]:
        """A stretch of one step from each row."""
        return [Span(run, k, 1) for k in range(rows - 1)]


@dataclasses.dataclass(frozen=True)
class MultipleShooting:
    """Segments of `steps` steps whose starts are free; each must end where the next one begins.

    `defect_weight` is the inverse of the gap [rad, m, rad/s, m/s] that counts as much as one standard deviation of
    the noise: large ones make the segments one motion, small ones let them drift apart.
    """

    steps: int = 50
    defect_weight: float = 1e3

    def __post_init__(self) -> None:
        whole_number("steps", self.steps)
        if not self.defect_weight > 0:
            raise BadOption(f"defect_weight must be positive, not {self.defect_weight!r}.")

    def spans(self, run: int, rows: int) -> list[Span]:
        """The segments of a run: each begins where the last one ends, the last one may be shorter."""
        firsts = range(0, rows - 1, self.steps)
        return [Span(run, k, min(self.steps, rows - 1 - k)) for k in firsts]


@dataclasses.dataclass(frozen=True)
class Torque:
    """Nothing is simulated: the torques that the measured motion needs, by inverse dynamics, against measured ones.

    Compared is `joint/motor_torque`, or `joint/control` where only commands were logged. Accelerations are differences
    of the velocities: filter noisy logs first. `steps` rows at a time, which changes nothing but speed.
    """

    steps: int = 100

    def __post_init__(self) -> None:
        whole_number("steps", self.steps)

    def spans(self, run: int, rows: int) -> list[Span]:
        """Stretches that share no row."""
        firsts = range(0, rows - 1, self.steps + 1)
        return [Span(run, k, min(self.steps, rows - 1 - k)) for k in firsts if rows - 1 - k > 0]


Loss = WholeRun | Windows | OneStep | MultipleShooting | Torque
NAMES: dict[str, type] = {
    "whole_run": WholeRun,
    "windows": Windows,
    "one_step": OneStep,
    "multiple_shooting": MultipleShooting,
    "torque": Torque,
}


def as_loss(loss: Any) -> Loss:
    """A kind of loss, or its name (`"windows"`)."""
    if isinstance(loss, Loss):
        return loss
    if loss not in NAMES:
        raise BadOption(f"no loss is called {loss!r}.{did_you_mean(str(loss), NAMES)}")
    return NAMES[loss]()


def whole_number(name: str, value: Any) -> None:
    """Refuses what does not count something."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadOption(f"{name} must be a whole number from 1, not {value!r}.")
