"""A motion as a printed table: rows, rate, what was measured and how far it ranges, notes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isthmus.model.arrays import is_traced
from isthmus.motion.fields import AbstractMotion
from isthmus.motion.rows import usual_step
from isthmus.motion.spans import known_spans


def as_text(motion: AbstractMotion) -> str:
    """What `print(motion)` shows."""
    if is_traced(motion) or np.ndim(motion.t) != 1:
        return repr(motion)
    return "\n".join([_title(motion), *_rows(motion), *(f"  - {note}" for note in motion.notes)])


def _title(motion: AbstractMotion) -> str:
    t = np.asarray(motion.t, dtype=np.float64)
    name = f"motion {motion.name!r}" if motion.name else "motion"
    if t.size < 2:
        return f"{name}: {t.size} rows"
    step = usual_step(t)
    rate = f", {1 / step:.4g} Hz" if step > 0 else ""
    return f"{name}: {t.size} rows, {t[0]:.4g} to {t[-1]:.4g} s{rate}"


def _rows(motion: AbstractMotion) -> Iterator[str]:
    table: list[tuple[str, str]] = []
    spans = (
        []
        if motion.q is None and not motion.joints
        else known_spans(motion.joints, motion.q, motion.v)
    )
    for label, x, rows_of in (("q", motion.q, lambda s: s.q), ("v", motion.v, lambda s: s.v)):
        if x is None:
            table.append((label, "not measured"))
        else:
            table += [(f"{label} {s.name}", _range(np.asarray(x)[:, rows_of(s)])) for s in spans]
    table += [(name, _range(np.asarray(value))) for name, value in motion.signals.items()]
    wide = max((len(name) for name, _ in table), default=0)
    return (f"  {name:<{wide}}  {text}" for name, text in table)


def _range(x: np.ndarray) -> str:
    known = np.isfinite(x)
    if not x.size or not known.any():
        return "not measured"
    holes = "" if known.all() else f", {1 - known.mean():.1%} not measured"
    return f"{np.min(x[known]):.4g} to {np.max(x[known]):.4g}{holes}"
