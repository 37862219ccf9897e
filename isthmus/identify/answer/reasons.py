"""Reasons not to trust the result of a fit, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from isthmus.identify.answer.abstract_fit import Estimate
from isthmus.identify.answer.motion_hint import poorly_known
from isthmus.identify.answer.sensitivity import Sensitivity
from isthmus.identify.search.search import Status
from isthmus.phases import counted

MAX_NAMED = 6
"""Number of doubtful estimates that a warning names; `Fit.doubtful` has all."""
MIN_RIVAL_CORRELATION = 0.7
"""Correlation from which on two estimates are hardly told apart."""


def warnings_of(
    known: Sensitivity, estimates: Mapping[str, Estimate], status: Status
) -> tuple[str, ...]:
    """Reasons not to trust the result."""
    found = [f"{name} is at its bound, {estimates[name].value:g}." for name in known.at_bound]
    found += list(known.undetermined)
    if known.doubtful:
        names = _first_of(known.doubtful)
        found.append(f"{names}: doubtful, as the model lacks something: {known.lacking}.")
    if known.by_prior:
        found.append(
            f"{_first_of(known.by_prior)}: the data tell hardly anything about them; values and errors are those of "
            "the prior. What may differ more from the file, such as a payload, needs a wider one."
        )
    if known.contradicted:
        found.append(
            f"{_first_of(known.contradicted)}: the data contradict the prior, which pulls estimates away from what was "
            "measured. Widen it (prior=), or leave it out."
        )
    # where the error is infinite, a sentence of known.undetermined says so
    said = {*known.by_prior, *(name for name, e in estimates.items() if np.isinf(e.error))}
    poor = [name for name in poorly_known(estimates) if name not in said]
    for name in poor[:MAX_NAMED]:
        e = estimates[name]
        found.append(
            f"{name} is poorly identifiable: its standard error {e.error:.2g} exceeds its value {e.value:.3g}. "
            f"{what_would_determine(name, known, list(estimates))}"
        )
    if (more := len(poor) - MAX_NAMED) > 0:
        found.append(f"{counted(more, 'more number')} with a standard error beyond the value.")
    told_elsewhere = (Status.CONVERGED, Status.INTERRUPTED, Status.NO_DERIVATIVES)
    if status not in told_elsewhere:
        found.append(f"the search did not converge: {status.value}.")
    return tuple(found)


def _first_of(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    more = len(every) - MAX_NAMED
    return ", ".join([*every[:MAX_NAMED], *([f"and {more} more"] if more > 0 else [])])


def what_would_determine(name: str, known: Sensitivity, names: Sequence[str]) -> str:
    """A sentence on what is needed to know a poorly identifiable number better."""
    row = np.abs(np.nan_to_num(known.correlations[names.index(name)]))
    row[names.index(name)] = 0.0
    other = int(np.argmax(row))
    if row[other] > MIN_RIVAL_CORRELATION:
        return f"Motion that separates it from {names[other]} would determine it, or hold one of the two."
    return "Motion in which it has more effect would determine it, or more of it."
