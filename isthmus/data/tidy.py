"""Repairs that the caller chose: sorts or evens time stamps, unwraps angles, fixes signs, removes outliers and gaps."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from isthmus.data.lost import completed
from isthmus.data.options import Options
from isthmus.errors import BadMotion
from isthmus.motion import quaternions
from isthmus.motion.motion import Motion
from isthmus.motion.outliers import found_in
from isthmus.motion.rows import GAP, take, usual_step
from isthmus.motion.smooth import unwrap
from isthmus.motion.spans import known_spans

CATCH_UP = 20
"""Rows after which a clock that was late is right again."""


def tidied(motion: Motion, options: Options) -> list[Motion]:
    """The motion as the options want it; in pieces if it is to be split at its gaps."""
    motion = _even(_sorted(_checked(motion), options), options)
    motion = _rotations(motion, options)
    motion = _holes(_outliers(motion, options), options)
    return _pieces(motion, options)


def _checked(motion: Motion) -> Motion:
    t = np.asarray(motion.t)
    if len(motion) < 2:
        raise BadMotion(f"{motion.name!r} has {len(motion)} rows: too short for a motion.")
    if not np.all(np.isfinite(t)):
        row = int(np.flatnonzero(~np.isfinite(t))[0])
        raise BadMotion(f"{motion.name!r}: row {row} has no time stamp; take such rows out.")
    arrays = [x for x in (motion.q, motion.v, *motion.signals.values()) if x is not None]
    if not any(np.any(np.isfinite(x)) for x in arrays):
        raise BadMotion(f"{motion.name!r} holds no number besides its time stamps: all are NaN.")
    return motion


def _sorted(motion: Motion, options: Options) -> Motion:
    """Time stamps that increase; refused where they do not, unless `stamps="sort"`."""
    t = np.asarray(motion.t)
    back, same = np.flatnonzero(np.diff(t) < 0), np.flatnonzero(np.diff(t) == 0)
    if not back.size and not same.size:
        return motion
    if options.stamps != "sort":
        row = int(min([*back[:1], *same[:1]])) + 1
        what = "decrease" if back.size else "repeat"
        raise BadMotion(
            f"{motion.name!r}: the time stamps {what}, first at row {row} ({t[row - 1]:.9g} s, then {t[row]:.9g} s). "
            "Say stamps='sort' (repeated ones are dropped), or runs='…' if a column numbers the runs."
        )
    _, first = np.unique(t, return_index=True)
    note = f"rows sorted by time; {len(t) - first.size} with repeated stamps dropped."
    return take(motion, first).noted(note)


def _even(motion: Motion, options: Options) -> Motion:
    """Even time stamps, before and after a gap each for themselves, so that the gap stays as it is; lost rows too."""
    if options.stamps == "fill":
        return completed(motion)
    if options.stamps != "even":
        return motion
    t = np.array(motion.t, dtype=np.float64)
    edges = [0, *(k + 1 for k in _lost_rows(t)), t.size]
    pieces = [np.linspace(t[a], t[b - 1], b - a) for a, b in itertools.pairwise(edges)]
    even = np.concatenate(pieces)
    note = f"time stamps replaced by even ones, {usual_step(even):.6g} s apart."
    return dataclasses.replace(motion, t=even).noted(note)


def _lost_rows(t: np.ndarray) -> list[int]:
    """Rows before gaps that the clock does not make up for: one that was late for a moment lost no row."""
    usual, found = usual_step(t), []
    for k in np.flatnonzero(np.diff(t) > GAP * usual):
        after = t[k + 1 : k + 1 + CATCH_UP]
        if np.min(after - t[k] - usual * np.arange(1, len(after) + 1)) > usual:
            found.append(int(k))
    return found


def _rotations(motion: Motion, options: Options) -> Motion:
    """Quaternions at unit length, with or without their changes of sign; angles unwrapped or wrapped."""
    if motion.q is None:
        return motion
    q, notes = np.array(motion.q), []
    for span in known_spans(motion.joints, motion.q, motion.v):
        for row in span.angles:
            if options.angles == "unwrap":
                q[:, row] = unwrap(q[:, row])
            elif options.angles == "wrap":
                q[:, row] = np.pi - np.mod(np.pi - q[:, row], 2 * np.pi)
        if not span.quaternion:
            continue
        rows, lengths = q[:, span.quaternion], np.linalg.norm(q[:, span.quaternion], axis=1)
        if np.any(lengths < 1e-6) or np.nanmax(np.abs(lengths - 1.0), initial=0.0) > 0.1:
            worst = float(lengths[np.nanargmax(np.abs(lengths - 1.0))])
            raise BadMotion(
                f"{motion.name!r}: the quaternion of {span.name!r} has length {worst:.4g}, so it is none; are its "
                "columns in another order or unit?"
            )
        flips = quaternions.flips(rows).size
        if options.signs == "fix" and flips:
            rows = quaternions.continuous(rows)
            notes.append(f"{flips} changes of sign of the quaternion of {span.name!r} undone.")
        q[:, span.quaternion] = quaternions.normalise(rows)
    return dataclasses.replace(motion, q=q).noted(*notes)


def _outliers(motion: Motion, options: Options) -> Motion:
    if options.outliers not in ("nan", "fill"):
        return motion
    found = found_in(motion)
    count = sum(int(mask.sum()) for mask in found.values())
    if not count:
        return motion
    clean = motion.without_outliers()
    if options.outliers == "nan":
        return clean.noted(f"{count} entries that stood out are not measured (NaN).")
    filled = clean.filled()
    put = lambda name, old, new: np.where(found[name], new, old) if name in found else old
    signals = {n: put(n, x, filled.signals[n]) for n, x in motion.signals.items()}
    q = None if motion.q is None else put("q", motion.q, filled.q)
    v = None if motion.v is None else put("v", motion.v, filled.v)
    note = f"{count} entries that stood out are interpolated."
    return dataclasses.replace(motion, q=q, v=v, signals=signals).noted(note)


def _holes(motion: Motion, options: Options) -> Motion:
    if options.holes == "fill":
        return motion.filled().noted("entries without a number are interpolated over short holes.")
    if options.holes == "drop":
        whole = np.ones(len(motion), dtype=bool)
        for x in (motion.q, motion.v, *motion.signals.values()):
            if x is not None:
                flat = np.isfinite(np.asarray(x)).reshape(len(motion), -1)
                whole &= flat[:, flat.any(axis=0)].all(axis=1)
        if whole.sum() < 2:
            raise BadMotion(
                f"{motion.name!r}: hardly a row is complete; say holes='keep' or 'fill'."
            )
        if not whole.all():
            return take(motion, whole).noted(f"{int((~whole).sum())} incomplete rows dropped.")
    return motion


def _pieces(motion: Motion, options: Options) -> list[Motion]:
    if options.gaps != "split":
        return [motion]
    return [p for p in motion.split(gap=GAP * usual_step(np.asarray(motion.t))) if len(p) > 1]
