"""Fits inside an experiment, which reports what matters of them itself."""

from __future__ import annotations

import warnings
from typing import Any

from isthmus.errors import FitWarning
from isthmus.identify.fit import Fit, fit
from isthmus.identify.problem import Problem


def quiet_fit(problem: Problem, search: Any = None) -> Fit:
    """A fit without progress and `FitWarning`: damping may end at zero, single weights are never determined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return fit(problem, search, verbose=False)
