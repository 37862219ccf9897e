"""What a fit holds: estimates with errors, the fitted model, how well it predicts."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from isthmus.identify.answer.comparison import Comparison
from isthmus.identify.answer.quality import Errors
from isthmus.model.model import Model


@dataclasses.dataclass(frozen=True)
class Estimate:
    """One fitted number."""

    value: float
    error: float
    """Standard error; nan: at a bound, infinite: the data does not determine it."""
    unit: str
    start: float

    def __str__(self) -> str:
        return f"{self.value:.6g} ± {self.error:.2g} {self.unit}".rstrip()


@dataclasses.dataclass(frozen=True, eq=False)
class AbstractFit:
    """The numbers of a fit; `Fit` adds what can be done with them."""

    model: Model
    estimates: dict[str, Estimate]
    covariance: np.ndarray
    """Of the estimates, in their order."""
    correlations: np.ndarray
    noise: float
    """Standard deviation of the residuals, in units of the noise that was assumed."""
    errors: Errors
    """Root mean square of the differences of each signal in fitted motion, before and after."""
    heldout: Errors | None
    """The same in held-out motion; None: there is none."""
    status: str
    """How the search ended."""
    loss: float
    history: tuple[float, ...]
    """The loss after each step."""
    evaluations: int
    seconds: float
    warnings: tuple[str, ...]
    undetermined: tuple[str, ...]
    """Combinations of parameters that the data does not determine, in words."""
    settings: dict[str, Any]
    """What decided the result."""
    x: np.ndarray
    """The point that the search found, in its own coordinates."""
    lacking: str = ""
    """What the model lacks, by its residuals, in words; empty: nothing significant, or nobody looked."""
    doubtful: dict[str, str] = dataclasses.field(default_factory=dict)
    """Estimates that would move far if the model had what it lacks, or whose prior the data contradict, with a sentence
    about each."""
    bent: str = ""
    """Where the problem is far from linear within the errors, in words; empty: it is not, or nobody looked."""
    islands: tuple[tuple[float, ...], ...] = ()
    """The best loss of each start after each step; empty where there was one."""
    networks: Comparison | None = None
    """Held-out motion with the networks that were trained and without them; None: nothing to compare."""
