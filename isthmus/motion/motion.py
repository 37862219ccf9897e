"""`Motion`: what a rollout gives and a log holds: time, positions, velocities, signals."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from isthmus.errors import BadMotion, BadOption
from isthmus.model.arrays import as_leaf
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.motion.spans import JointList
from isthmus.types import AnyArray

CONTROL, FORCE, EXTRA = "joint/control", "link/external_force", "extra/"
"""Signals that act on the mechanism: commands, forces, channels that networks read."""

# to type checkers `Any`: only logs can lack them, and who reads a rollout should not have to ask
Positions: Any = Float[AnyArray, "*batch time nq"] | None
Velocities: Any = Float[AnyArray, "*batch time dof"] | None


@dataclasses.dataclass(frozen=True, eq=False)
class About:
    """What is said about a motion and decides nothing: any two compare equal, so that motions stay alike as pytrees."""

    name: str = ""
    """The file or run it came from."""
    notes: tuple[str, ...] = ()
    """What was found and what was done when it was read, one sentence each."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, About)

    def __hash__(self) -> int:
        return hash(About)


class Motion(eqx.Module):
    """A motion sampled in time; time is the first axis of every array (after a batch axis, if there is one).

    In a log, NaN means "not measured"; what was not measured at all is None. Methods give new motions and work on
    concrete numbers.
    """

    t: Float[AnyArray, "*batch time"]
    """[s]"""
    q: Positions
    """Positions, as `State.q`; None where none were measured."""
    v: Velocities = None
    """Velocities, as `State.v`; None where none were measured."""
    signals: dict[str, AnyArray] = eqx.field(default_factory=dict)
    """What acted and what was recorded, by name; the same rows as `t`."""
    joints: JointList = eqx.field(static=True, default=())
    """Name and kind of each joint that has coordinates; empty where they are not known."""
    about: About = eqx.field(static=True, default=About())

    def __len__(self) -> int:
        return self.t.shape[-1]

    def __str__(self) -> str:
        from isthmus.motion.text import as_text

        return as_text(self)

    @property
    def name(self) -> str:
        """The file or run it came from."""
        return self.about.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found and what was done when it was read."""
        return self.about.notes

    @property
    def controls(self) -> AnyArray | None:
        """The commands, `signals["joint/control"]` [N·m or N]; None where there are none."""
        return self.signals.get(CONTROL)

    def state(self, row: int) -> State:
        """The state at one row; `state(-1)` is the last one."""
        if self.q is None or self.v is None:
            raise BadMotion(
                f"this motion has no {'positions' if self.q is None else 'velocities'}, so there is no state; "
                "motion.velocities() derives velocities from positions."
            )
        return State(self.q[..., row, :], self.v[..., row, :], time=as_leaf(self.t[..., row]))

    # rows ----------------------------------------------------------------------------------------------

    def __getitem__(self, rows: Any) -> Motion:
        """Some of the rows: `motion[100:200]`, `motion[::2]`, `motion[mask]`."""
        from isthmus.motion.rows import take

        if isinstance(rows, int | np.integer):
            raise BadOption(
                "a motion is cut by a slice, motion[a:b]; motion.state(row) is one row."
            )
        return take(self, rows)

    def between(self, start: float, stop: float) -> Motion:
        """The rows with `start ≤ t ≤ stop` [s]."""
        from isthmus.motion.rows import between

        return between(self, start, stop)

    def split(
        self,
        *,
        at: Sequence[float] | None = None,
        parts: int | None = None,
        share: float | None = None,
        gap: float | None = None,
    ) -> list[Motion]:
        """Pieces, one after the other; say one of:

        `at`, times [s] at which a new piece begins; `parts`, how many pieces of equal length; `share`, the first
        piece's share of the rows (0.8: the rest is held out); `gap`, the longest step [s] that is no gap.
        """
        from isthmus.motion.rows import split

        return split(self, at=at, parts=parts, share=share, gap=gap)

    def resample(
        self,
        dt: float | None = None,
        *,
        t: Any = None,
        method: str = "linear",
        across: float | None = None,
    ) -> Motion:
        """The same motion at other times: every `dt` [s] from its first row, or at the times `t`.

        Angles and quaternions move on their manifolds (for these, `cubic` means the shortest arc too). `method`:
        `linear`, `cubic`, `nearest`, `previous` (held, as a command is). What was not measured is bridged up to
        `across` [s] (None: three of a signal's usual steps) and stays NaN beyond. Filter before thinning out.
        """
        from isthmus.motion.resample import resample

        return resample(self, dt, t, method, across)

    def filled(self, across: float | None = None, method: str = "linear") -> Motion:
        """The same rows; what was not measured is interpolated over at most `across` [s], as in `resample`."""
        return self.resample(t=self.t, method=method, across=across)

    # values --------------------------------------------------------------------------------------------

    def filter(self, cutoff: float, *, order: int = 4, only: Sequence[str] | None = None) -> Motion:
        """Without what is faster than `cutoff` [Hz]: a Butterworth filter forwards and backwards, without delay.

        `only` names what to filter (`"q"`, `"v"`, signals); None: everything. Needs even time stamps, no NaN.
        """
        from isthmus.motion.smooth import low_pass

        return low_pass(self, cutoff, order, only)

    def velocities(self, *, window: int = 9, order: int = 3, smooth: bool = False) -> Motion:
        """With velocities from positions: the slope of a polynomial through `window` rows (Savitzky-Golay).

        Works on each joint's manifold, with uneven stamps and with rows not measured; no window reaches over a gap.
        `smooth`: the positions are replaced by the polynomial's too.
        """
        from isthmus.motion.smooth import differentiate

        return differentiate(self, window, order, smooth)

    def without_outliers(self, threshold: float = 8.0) -> Motion:
        """Single rows that stand out from their neighbours by `threshold` times the usual are NaN, not measured."""
        from isthmus.motion.outliers import without_outliers

        return without_outliers(self, threshold)

    def continuous(self) -> Motion:
        """Angles without jumps by 2π, quaternions without changes of sign."""
        from isthmus.motion.smooth import continuous

        return continuous(self)

    # names ---------------------------------------------------------------------------------------------

    def matched(self, model: Model) -> Motion:
        """With the joints in the order of `model`, by name; refuses the motion of another robot."""
        from isthmus.motion.match import matched

        return matched(self, model)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `.npz` or `.csv`, which `isthmus.read_motion` reads without loss."""
        from isthmus.motion.files import save_motion

        save_motion(self, path)

    def noted(self, *notes: str, name: str | None = None) -> Motion:
        """With further notes, or another name."""
        about = About(self.name if name is None else name, (*self.notes, *notes))
        return dataclasses.replace(self, about=about)
