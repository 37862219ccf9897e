"""`Posterior`: samples of the numbers that agree with the logs, as a table, as models, as predictions, on disk."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.identify.answer.table import columns
from isthmus.losses.windows import whole_number
from isthmus.model.model import Model
from isthmus.model.state import StateLike
from isthmus.posteriors import exported, files
from isthmus.posteriors.bands import Bands, bands_of
from isthmus.posteriors.stacking import Stack
from isthmus.shown import Shown, behind
from isthmus.simulate.rollout import Controls
from isthmus.types import Number

MAX_ROWS_SHOWN = 40
"""Number of rows that are listed."""
STOPPED = "Stopped before the end."


@dataclasses.dataclass(frozen=True, eq=False)
class Posterior(Shown):
    """What the logs say about the free numbers: samples, not one answer. Prints as a table."""

    samples: Float[np.ndarray, "samples numbers"]
    """Equally weighted, in SI units, in the order of `names`."""
    points: Float[np.ndarray, "samples coordinates"] = dataclasses.field(repr=False)
    """The same as points of a search: scaled, bodies by log-Cholesky numbers."""
    names: tuple[str, ...]
    units: tuple[str, ...]
    modes: Float[np.ndarray, "modes numbers"]
    """The peaks of the density, the heaviest first."""
    weights: Float[np.ndarray, " modes"]
    """The share of the posterior that each mode has."""
    khat: float
    """Pareto shape of the importance ratios; nan: there was no resampling, above 0.5: the normals were not enough."""
    effective: float
    """How many independent samples these are worth."""
    model: Model
    """The model at the heaviest mode."""
    stack: Stack = dataclasses.field(repr=False)
    """The models of the samples."""
    noise: dict[str, float] = dataclasses.field(default_factory=dict)
    """Standard deviation of the noise of each signal, given or estimated."""
    notes: tuple[str, ...] = ()
    """What users should know: estimated noise, numbers at their bounds, why a method went on with another."""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    """The method and what decided the result."""
    complete: bool = True
    """False: stopped before the end."""
    state: dict[str, np.ndarray] = dataclasses.field(default_factory=dict, repr=False)
    """What `posterior(resume=)` goes on from."""

    @property
    def mean(self) -> Float[np.ndarray, " numbers"]:
        """Of the samples, in the order of `names`."""
        return self.samples.mean(axis=0)

    @property
    def deviation(self) -> Float[np.ndarray, " numbers"]:
        """Standard deviation of the samples."""
        return self.samples.std(axis=0)

    @check_arguments
    def interval(self, share: float = 0.9) -> Float[np.ndarray, "numbers 2"]:
        """The central interval that holds so large a share of each number's samples: its two ends."""
        if not 0.0 < share < 1.0:
            raise BadOption(f"an interval holds a share between 0 and 1, not {share!r}.")
        ends = [0.5 - 0.5 * share, 0.5 + 0.5 * share]
        return np.quantile(self.samples, ends, axis=0).T

    @check_arguments
    def __getitem__(self, name: str) -> Float[np.ndarray, " samples"]:
        """The samples of one number."""
        if name not in self.names:
            raise BadOption(
                f"the posterior has no number {name!r}; it has {', '.join(self.names[:6])} …."
            )
        return self.samples[:, self.names.index(name)]

    # models and predictions ----------------------------------------------------------------------------------------

    @check_arguments
    def models(self, n: int | None = None) -> Model:
        """`n` models (all unless given) side by side, for `rollout_many`: the first axis of the leaves that differ."""
        return self.stack.model(self.model, self._rows(n))

    def _rows(self, n: int | None) -> np.ndarray:
        """Which samples stand for all: evenly among them, in an order that does not matter."""
        count = len(self.samples)
        whole_number("n", count if n is None else n)
        if n is not None and n > count:
            raise BadOption(f"the posterior has {count} samples; {n} models cannot be drawn.")
        order = np.random.default_rng(0).permutation(count)
        return np.sort(order[: count if n is None else n])

    @check_arguments
    def predict(
        self,
        start: StateLike,
        controls: Controls,
        dt: Number,
        *,
        n: int = 200,
        share: float = 0.9,
        **options: Any,
    ) -> Bands:
        """How `n` of the models move from `start` under `controls`: bands that hold so large a share of them.

        `options`: as of `rollout_many`.
        """
        n = min(n, len(self.samples))
        return bands_of(self.models(n), start, controls, dt, share, options)

    @check_arguments
    def export(
        self,
        folder: str | os.PathLike[str],
        n: int = 100,
        to: Literal["urdf", "mjcf"] = "urdf",
    ) -> Path:
        """Writes `n` models as URDF or MJCF into a folder, with `index.csv`: each file and its numbers."""
        rows = self._rows(n)
        one = lambda k: self.stack.model(self.model, k)
        return exported.write(map(one, rows), self.samples[rows], self.names, Path(folder), to)

    # on disk ---------------------------------------------------------------------------------------------------------

    def plot(self) -> Any:
        """A matplotlib figure with a histogram of each number's samples, and the modes as lines."""
        return behind("figures.histograms").plot_posterior(self)

    @check_arguments
    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Writes `posterior.json`, `posterior.npz` and `model.safetensors` into a folder."""
        return files.save(self, Path(folder))

    @staticmethod
    @check_arguments
    def load(folder: str | os.PathLike[str]) -> Posterior:
        """Reads what `save` wrote."""
        return Posterior(**files.load(Path(folder)))

    def __str__(self) -> str:
        low, high = (
            self.interval(0.9).T if len(self.samples) else np.full((2, len(self.names)), np.nan)
        )
        rows = [("", "mean", "± deviation", "5 %", "95 %", "unit")]
        if len(self.samples):
            shown = zip(self.names, self.mean, self.deviation, low, high, self.units, strict=True)
            text = lambda x: f"{x:.5g}"
            rows += [(n, text(m), f"{d:.2g}", text(a), text(b), u) for n, m, d, a, b, u in shown]
        more = len(rows) - 1 - MAX_ROWS_SHOWN
        lines = columns(rows[: MAX_ROWS_SHOWN + 1]) + ([f"and {more} more"] if more > 0 else [])
        known = [f"{len(self.samples)} samples"]
        if len(self.samples):
            known[0] += f", worth {self.effective:.0f} independent ones"
        known += [] if np.isnan(self.khat) else [f"k̂ {self.khat:.2f}"]
        lines += ["", "; ".join(known)]
        if len(self.weights) > 1:
            parts = ", ".join(f"{w:.2g}" for w in self.weights)
            lines.append(f"{len(self.weights)} modes with the shares {parts}")
        return "\n".join([*lines, *self.notes, *([] if self.complete else [STOPPED])])
