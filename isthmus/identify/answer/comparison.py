"""How well held-out motion is predicted with the networks of a fit and without them, in numbers and in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from isthmus.blueprint.ranges import Rows, rows_outside
from isthmus.identify.answer.quality import Errors
from isthmus.model.model import Model
from isthmus.phases import counted

Outside = dict[str, tuple[int, int]]
"""For each network, how many rows of some logs lie outside of the range that it has seen, and how many there are."""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A fit with networks beside the same fit without them."""

    errors: Errors
    """Root mean square differences of each signal in held-out motion [its unit]: without the networks, with them."""
    helps: bool
    """Whether the networks lower the held-out error."""
    kept: bool
    """Whether they are in the fitted model."""
    outside: Outside
    """Of the held-out motion."""

    def lines(self) -> list[str]:
        """Errors with and without the networks, what became of them, and how far they were asked to extrapolate."""
        pairs = [f"{name} {a:.4g} without, {b:.4g} with" for name, (a, b) in self.errors.items()]
        fate = "" if self.kept else "; the networks are left out"
        return [
            f"Held out, without the networks and with them: {'; '.join(pairs)}{fate}",
            *(f"Held out: {line}" for line in outside_lines(self.outside)),
        ]

    @property
    def warning(self) -> str:
        """What became of networks that do not help; empty if they do."""
        if self.helps:
            return ""
        fate = (
            "they were kept, as keep_networks=True asks for."
            if self.kept
            else "they were left out, and this is the fit without them. Problem(keep_networks=True) keeps them."
        )
        return f"the networks do not lower the error of held-out motion: {fate}"


def outside_of(model: Model, motions: Sequence[Rows]) -> Outside:
    """Of all networks of the model whose range is known."""
    found = [rows_outside(model, rows) for rows in motions]
    rows = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    return {name: (int(out.sum()), len(out)) for name, out in rows.items()}


def outside_lines(outside: Outside) -> list[str]:
    """One line for each network that must extrapolate."""
    return [
        f"{some} of {counted(rows, 'row')} outside of the range that the network {name!r} has seen"
        for name, (some, rows) in outside.items()
        if some
    ]


NOT_COMPARED = "No motion was held out: whether the networks help is not known (Problem(heldout=1))"
"""Said of a fit with networks that nothing judges."""
