"""Tables with clocks of their own, brought to common time stamps by an explicit choice."""

from __future__ import annotations

import dataclasses

import numpy as np

from isthmus.data.options import Options
from isthmus.errors import BadMotion
from isthmus.motion.motion import Motion
from isthmus.motion.rows import usual_step
from isthmus.types import AnyArray


def aligned(motions: list[Motion], options: Options) -> Motion:
    """One motion of several that were recorded side by side."""
    if len(motions) == 1:
        return motions[0]
    if options.align is None:
        clocks = ", ".join(f"{m.name!r} every {usual_step(np.asarray(m.t)):.4g} s" for m in motions)
        raise BadMotion(
            f"these have clocks of their own: {clocks}. Say align='union' to keep all stamps (NaN where nothing was "
            "measured) or align=0.01 to interpolate at that step [s]."
        )
    if options.align == "union":
        t = np.unique(np.concatenate([m.t for m in motions]))
        return _joined([_spread(m, t) for m in motions], t)
    begin, end = max(float(m.t[0]) for m in motions), min(float(m.t[-1]) for m in motions)
    if end <= begin:
        raise BadMotion("these recordings have no time in common; are their clocks the same?")
    step = float(options.align)
    t = begin + step * np.arange(int((end - begin) / step + 1e-6) + 1)
    return _joined([m.resample(t=t) for m in motions], t)


def _spread(motion: Motion, t: np.ndarray) -> Motion:
    """The motion at the time stamps `t`, NaN where it was not measured."""
    rows = np.searchsorted(t, np.asarray(motion.t))

    def put(x: AnyArray) -> np.ndarray:
        spread = np.full((t.size, *np.shape(x)[1:]), np.nan)
        spread[rows] = x
        return spread

    signals: dict[str, AnyArray] = {name: put(x) for name, x in motion.signals.items()}
    q, v = (None if x is None else put(x) for x in (motion.q, motion.v))
    return dataclasses.replace(motion, t=t, q=q, v=v, signals=signals)


def _joined(motions: list[Motion], t: np.ndarray) -> Motion:
    """All measured quantities in one motion; a quantity that two tables hold is refused."""
    first, *rest = motions
    arrays: dict[str, AnyArray] = {}
    for motion in motions:
        for name, x in {"q": motion.q, "v": motion.v, **motion.signals}.items():
            if x is None:
                continue
            old = arrays.get(name)
            if old is not None and np.any(
                np.isfinite(old).any(axis=0) & np.isfinite(x).any(axis=0)
            ):
                raise BadMotion(
                    f"{name!r} was measured twice, in {first.name!r} and {motion.name!r}; leave one out."
                )
            arrays[name] = x if old is None else np.where(np.isfinite(old), old, x)
    notes = [note for motion in rest for note in motion.notes]
    q, v = arrays.pop("q", None), arrays.pop("v", None)
    return dataclasses.replace(first, t=t, q=q, v=v, signals=arrays).noted(*notes)
