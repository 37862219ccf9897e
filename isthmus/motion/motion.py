"""`Motion`: what a rollout gives and a log holds: time, positions, velocities, signals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.model.model import Model
from isthmus.motion import files, match, outliers, rows, text
from isthmus.motion import resample as resampling
from isthmus.motion import smooth as smoothing
from isthmus.motion.fields import CONTROL, EXTRA, FORCE, About, AbstractMotion, noted
from isthmus.shown import Shown, behind
from isthmus.types import Numbers

__all__ = ["CONTROL", "EXTRA", "FORCE", "About", "Motion"]


@check_arguments
class Motion(AbstractMotion, Shown):
    """A motion sampled in time; time is the first axis of every array (after a batch axis, if there is one).

    In a log, NaN means "not measured"; what was not measured at all is None. Methods give new motions and work on
    concrete numbers.
    """

    def __str__(self) -> str:
        return text.as_text(self)

    # rows ----------------------------------------------------------------------------------------------

    def __getitem__(self, picked: Any) -> Motion:
        """Some of the rows: `motion[100:200]`, `motion[::2]`, `motion[mask]`."""
        if isinstance(picked, int | np.integer):
            raise BadOption(
                "a motion is cut by a slice, motion[a:b]; motion.state(row) is one row."
            )
        return rows.take(self, picked)

    @check_arguments
    def between(self, start: float, stop: float) -> Motion:
        """The rows with `start ≤ t ≤ stop` [s]."""
        return rows.between(self, start, stop)

    @check_arguments
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
        return rows.split(self, at=at, parts=parts, share=share, gap=gap)

    @check_arguments
    def resample(
        self,
        dt: float | None = None,
        *,
        t: Numbers | None = None,
        method: str = "linear",
        across: float | None = None,
    ) -> Motion:
        """The same motion at other times: every `dt` [s] from its first row, or at the times `t`.

        Angles and quaternions move on their manifolds (for these, `cubic` means the shortest arc too). `method`:
        `linear`, `cubic`, `nearest`, `previous` (held, as a command is). What was not measured is bridged up to
        `across` [s] (None: three of a signal's usual steps) and stays NaN beyond. Filter before thinning out.
        """
        return resampling.resample(self, dt, t, method, across)

    @check_arguments
    def filled(self, across: float | None = None, method: str = "linear") -> Motion:
        """The same rows; what was not measured is interpolated over at most `across` [s], as in `resample`."""
        return self.resample(t=self.t, method=method, across=across)

    # values --------------------------------------------------------------------------------------------

    @check_arguments
    def filter(self, cutoff: float, *, order: int = 4, only: Sequence[str] | None = None) -> Motion:
        """Without what is faster than `cutoff` [Hz]: a Butterworth filter forwards and backwards, without delay.

        `only` names what to filter (`"q"`, `"v"`, signals); None: everything. Needs even time stamps, no NaN.
        """
        return smoothing.low_pass(self, cutoff, order, only)

    @check_arguments
    def velocities(self, *, window: int = 9, order: int = 3, smooth: bool = False) -> Motion:
        """With velocities from positions: the slope of a polynomial through `window` rows (Savitzky-Golay).

        Works on each joint's manifold, with uneven stamps and with rows not measured; no window reaches over a gap.
        `smooth`: the positions are replaced by the polynomial's too.
        """
        return smoothing.differentiate(self, window, order, smooth)

    @check_arguments
    def without_outliers(self, threshold: float = 8.0) -> Motion:
        """Single rows that stand out from their neighbours by `threshold` times the usual are NaN, not measured."""
        return outliers.without_outliers(self, threshold)

    def continuous(self) -> Motion:
        """Angles without jumps by 2π, quaternions without changes of sign."""
        return smoothing.continuous(self)

    # names ---------------------------------------------------------------------------------------------

    @check_arguments
    def matched(self, model: Model) -> Motion:
        """With the joints in the order of `model`, by name; refuses the motion of another robot."""
        return match.matched(self, model)

    @check_arguments
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `.npz` or `.csv`, which `isthmus.read_motion` reads without loss."""
        files.save_motion(self, path)

    def plot(self) -> Any:
        """A matplotlib figure of positions and velocities over time; of a batch, its first motion."""
        return behind("figures.plot").plot_of_motion(self)

    @check_arguments
    def noted(self, *notes: str, name: str | None = None) -> Motion:
        """With further notes, or another name."""
        return noted(self, *notes, name=name)
