"""The joints of a motion in the order of a model, by name."""

from __future__ import annotations

import dataclasses

import numpy as np

from isthmus.errors import BadMotion, did_you_mean
from isthmus.model.model import Model
from isthmus.motion.fields import M
from isthmus.motion.spans import UNKNOWN, Span, joints_of, spans
from isthmus.networks.names import QUANTITIES
from isthmus.types import AnyArray

BY_DOF = tuple(spec.name for spec in QUANTITIES if spec.rows == "dof")
"""Signals with one number for each degree of freedom."""


def matched(motion: M, model: Model) -> M:
    """As `Motion.matched` describes."""
    wanted = joints_of(model)
    for name, x, want in (("q", motion.q, model.nq), ("v", motion.v, model.dof)):
        if x is not None and not motion.joints and np.shape(x)[-1] != want:
            raise BadMotion(
                f"{name} has {np.shape(x)[-1]} columns, but {model.name!r} needs {want}."
            )
    if not motion.joints or motion.joints == wanted:
        return dataclasses.replace(motion, joints=wanted)
    ours = spans(wanted)
    names = [name for name, _ in motion.joints]
    if len(names) == len(ours) and all(name.isdecimal() for name in names):
        names = [name for name, _ in wanted]  # numbered joints stand in their order
    have = dict(zip(names, spans(motion.joints), strict=True))
    if faults := [*_faults(have, {span.name: span for span in ours})]:
        title = f"motion {motion.name!r}" if motion.name else "the motion"
        raise BadMotion(f"{title} is not one of {model.name!r}: {'; '.join(faults)}.")
    rows_q = [row for span in ours for row in have[span.name].q]
    rows_v = [row for span in ours for row in have[span.name].v]
    pick = lambda x, rows: None if x is None else x[..., np.array(rows, dtype=int)]
    signals: dict[str, AnyArray] = {
        name: value[..., np.array(rows_v, dtype=int)] if name in BY_DOF else value
        for name, value in motion.signals.items()
    }
    return dataclasses.replace(
        motion, q=pick(motion.q, rows_q), v=pick(motion.v, rows_v), signals=signals, joints=wanted
    )


def _faults(have: dict[str, Span], want: dict[str, Span]):
    for name in want:
        if name not in have:
            yield f"it has no joint {name!r}.{did_you_mean(name, have)}".rstrip(".")
        elif have[name].kind not in (UNKNOWN, want[name].kind):
            yield f"its joint {name!r} is {have[name].kind}, not {want[name].kind}"
        elif len(have[name].q) != len(want[name].q):
            yield f"its joint {name!r} has one number, but a {want[name].kind} one needs {len(want[name].q)}"
    if extra := [name for name in have if name not in want]:
        yield f"it has joints the model has not: {', '.join(map(repr, extra))}"
