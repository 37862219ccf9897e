"""A fit as a printed table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus.blueprint.inputs import live_inputs
from isthmus.identify.answer.abstract_fit import AbstractFit, Estimate
from isthmus.identify.answer.comparison import NOT_COMPARED
from isthmus.identify.answer.quality import Errors
from isthmus.identify.search.as_dict import in_words
from isthmus.phases import counted

MAX_ROWS_SHOWN = 40
"""Number of estimates that are listed; of the rest, and of weights of networks, only the count is given."""
MAX_DOUBTFUL_SHOWN = 6
"""Number of doubtful estimates that are listed."""
MAX_NOISE_RATIO = 1.5
"""Residuals above this many times the assumed noise are not explained by noise."""


def as_text(fit: AbstractFit) -> str:
    """Estimates with errors, differences before and after, warnings."""
    shown = {n: e for n, e in fit.estimates.items() if not n.startswith("network/")}
    listed = dict(list(shown.items())[:MAX_ROWS_SHOWN])
    rows = [("", "estimate", "± error", "start", "unit"), *(_row(n, e) for n, e in listed.items())]
    lines = [*network_lines(fit), *input_lines(fit), *columns(rows)]
    if left := len(fit.estimates) - len(listed):
        lines.append(
            f"and {counted(left, 'more parameter')}, {len(fit.estimates) - len(shown)} of them weights of networks"
        )
    lines += ["", *_differences(fit)]
    number, unit = effort(fit)
    how = in_words(fit.settings.get("search", {})) or "search"
    effort_text = f"loss {fit.loss:.6g} after {counted(number, unit)}, {fit.seconds:.2g} s"
    lines += [f"{how}: {fit.status}; {effort_text}"]
    lines += [f"residual / assumed noise: {fit.noise:.3g}"]
    lines += [f"warning: {text}"] if (text := noise_warning(fit)) else []
    lines += [f"model error: {fit.lacking}; the errors include that"] if fit.lacking else []
    lines += [f"nonlinear: {fit.bent}"] if fit.bent else []
    lines += [
        f"doubtful: {n}: {text}" for n, text in list(fit.doubtful.items())[:MAX_DOUBTFUL_SHOWN]
    ]
    if (left := len(fit.doubtful) - MAX_DOUBTFUL_SHOWN) > 0:
        lines.append(f"doubtful: {left} more (`Fit.doubtful` has all)")
    lines += [f"correlated: {a} with {b}, {c:+.3f}" for a, b, c in strong(fit)]
    lines += [f"warning: {text}" for text in fit.warnings]
    return "\n".join(lines)


def network_lines(fit: AbstractFit) -> list[str]:
    """How well the fit predicts with and without networks; empty where none were trained."""
    if fit.networks is not None:
        return fit.networks.lines()
    trained = any(name.startswith("network/") for name in fit.estimates)
    return [NOT_COMPARED] if trained and fit.heldout is None else []


def input_lines(fit: AbstractFit) -> list[str]:
    """What each network reads, after a search that leaves out inputs."""
    if not in_words(fit.settings.get("search", {})).startswith("Sparsify"):
        return []
    names = lambda wired: [number.name for number in live_inputs(fit.model, wired)]
    return [f"{w.name} reads {', '.join(names(w)) or 'nothing'}" for w in fit.model.networks]


def strong(fit: AbstractFit, most: float = 0.95) -> list[tuple[str, str, float]]:
    """Pairs of strongly correlated estimates."""
    names, C = list(fit.estimates), np.nan_to_num(fit.correlations)
    physical = [k for k, name in enumerate(names) if not name.startswith("network/")]
    found = [
        (names[i], names[j], float(C[i, j]))
        for i in physical
        for j in physical
        if i < j and abs(C[i, j]) > most
    ]
    return sorted(found, key=lambda pair: -abs(pair[2]))[:5]


def _row(name: str, e: Estimate) -> tuple[str, ...]:
    error = (
        "at bound" if np.isnan(e.error) else "unknown" if np.isinf(e.error) else f"{e.error:.2g}"
    )
    return name, f"{e.value:.6g}", error, f"{e.start:.4g}", e.unit


def _differences(fit: AbstractFit) -> list[str]:
    def rows(title: str, errors: Errors) -> list[tuple[str, ...]]:
        return [(f"{title} {name}", f"{a:.4g}", f"{b:.4g}") for name, (a, b) in errors.items()]

    table = [("rms difference", "before", "after"), *rows("fitted", fit.errors)]
    return columns([*table, *rows("held out", fit.heldout)] if fit.heldout else table)


def columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of cells, the first column to the left, the others to the right."""
    wide = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(w) if k in (0, 4) else cell.rjust(w)
            for k, (cell, w) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in rows
    ]


def effort(fit: AbstractFit) -> tuple[int, str]:
    """How long the search was: so many rounds, where it was one in rounds, or steps."""
    rounds = fit.settings.get("search", {}).get("rounds")
    return (max(len(fit.history) - 1, 0), "step") if rounds is None else (rounds, "round")


def noise_was_given(fit: AbstractFit) -> bool:
    """Whether users said how large the noise is; otherwise it is 1 everywhere."""
    return any(np.any(np.asarray(s) != 1.0) for s in fit.settings.get("noise", {}).values())


STEP, ALL = ", or the time step is too long", "what that does."
NOISY_STARTS = (
    ", the time step is too long, or windows start in noisy states",
    "what that does, but not that noisy starts bias estimates: compare with MultipleShooting "
    '(kind = "multiple_shooting" under [loss] of a study), whose starts are free.',
)
CAUSES = {
    "TorqueLoss": ("", ALL), "MultipleShooting": (STEP, ALL), "WholeRun": NOISY_STARTS,
    "Windows": NOISY_STARTS, "OneStep": NOISY_STARTS,
}  # fmt: skip
"""Loss -> why residuals may be larger than the noise, and what of that is in the standard errors."""


def noise_warning(fit: AbstractFit) -> str:
    """A sentence if the residuals are larger than the noise that was given; else empty."""
    if not noise_was_given(fit) or not fit.noise > MAX_NOISE_RATIO:
        return ""
    trained = any(name.startswith("network/") for name in fit.estimates)
    counted_in = "Beside networks, the errors do not" if trained else "The errors"
    why = CAUSES.get(fit.settings.get("loss", {}).get("kind", ""), (STEP, ALL))
    return (
        f"the residual is {fit.noise:.3g} times the noise that was assumed: the model lacks something"
        f"{why[0]}. {counted_in} include {ALL if trained else why[1]}"
    )
