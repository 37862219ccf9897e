"""One line of a table of speeds, and how times are written."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Row:
    """Our time for some work, and the time of a peer for the same work."""

    work: str
    ours: float
    """[s]"""
    peer: str = ""
    theirs: float | None = None
    """[s]; None where the peer is not here."""
    wanted: float | None = None
    """The least ratio theirs/ours that we aim at; negative: the most ratio ours/theirs."""
    compile: float | None = None
    """[s] for tracing and compiling ours, which `ours` leaves out."""
    peer_compile: float | None = None
    """[s] for the peer's."""
    missing: str = ""
    """Why the peer is not here, or how to get it."""
    own: bool = False
    """Compared with other work of our own, not with a peer."""

    @property
    def ratio(self) -> float | None:
        """How many times faster we are."""
        return None if self.theirs is None else self.theirs / self.ours

    @property
    def reached(self) -> bool | None:
        """Whether the ratio is what we aim at; None where there is no aim or no peer."""
        if self.ratio is None or self.wanted is None:
            return None
        return 1.0 / self.ratio <= -self.wanted if self.wanted < 0 else self.ratio >= self.wanted

    def as_data(self) -> dict[str, Any]:
        """All of it, as plain data."""
        return dataclasses.asdict(self) | {"ratio": self.ratio, "reached": self.reached}


def shown(seconds: float | None) -> str:
    """A time in a unit that suits it."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def times(ratio: float) -> str:
    """A ratio: `21×`, `3.5×`, `0.96×`."""
    return f"{ratio:.0f}×" if ratio >= 10 else f"{ratio:.2g}×"
