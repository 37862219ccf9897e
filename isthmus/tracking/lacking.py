"""Which further numbers of a model would explain a log that the followed numbers do not explain."""

from __future__ import annotations

import warnings

from isthmus.errors import IsthmusError
from isthmus.identify.fit import fit
from isthmus.identify.problem import Problem
from isthmus.motion.motion import Motion
from isthmus.phases import phase
from isthmus.tracking.step import Setup


def lacking(setup: Setup, log: Motion) -> str:
    """Held numbers that the torques of a log call for, in words; empty: none, or torques cannot be compared.

    The followed numbers are fitted to the torques, without any simulation; see `Fit.lacking`.
    """
    free = list(dict.fromkeys(group.free for group in setup.parameters.groups))
    with warnings.catch_warnings(), phase("looking for what the model lacks"):
        warnings.simplefilter("ignore")
        try:
            return fit(
                Problem(setup.model, log, free=free, loss="torque"), check=False, verbose=False
            ).lacking
        except IsthmusError:
            return ""
