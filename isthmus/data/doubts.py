"""Warnings about a log: each rule yields a sentence that ends with the option that resolves it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from isthmus.data.lost import acts, lost_rows
from isthmus.data.options import Options
from isthmus.model.model import Model
from isthmus.motion import quaternions
from isthmus.motion.motion import Motion
from isthmus.motion.outliers import found_in
from isthmus.motion.rows import GAP, usual_step
from isthmus.motion.smooth import unwrap
from isthmus.motion.spans import UNKNOWN, Span, known_spans
from isthmus.phases import counted

MIN_ROWS = 20
"""Rows below which a log is too short to learn from."""
UNEVEN = 0.05
"""Steps that differ from the usual one by more than this share are uneven."""
DEGREES = 180.0 / np.pi
FAST = 20.0 * np.pi
"""Speeds of joints beyond this [rad/s] are rare, and usual for degrees a second."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A log, its robot if there is one, and the options that the caller chose."""

    motion: Motion
    model: Model | None
    options: Options

    @property
    def t(self) -> np.ndarray:
        return np.asarray(self.motion.t)

    @property
    def spans(self) -> list[Span]:
        return known_spans(self.motion.joints, self.motion.q, self.motion.v)

    def said(self, key: str) -> bool:
        """Whether the caller gave the unit of a quantity."""
        return any(name == key or name.startswith(f"{key}[") for name in self.options.units)


def doubts(motion: Motion, model: Model | None, options: Options) -> list[str]:
    """All warnings about a log for which the caller chose no option."""
    case = Case(motion, model, options)
    return [sentence for rule in RULES for sentence in rule(case)]


def few_rows(case: Case) -> Iterator[str]:
    if len(case.motion) < MIN_ROWS:
        yield f"only {len(case.motion)} rows: too short to learn much from."


def slow_clock(case: Case) -> Iterator[str]:
    step = usual_step(case.t)
    if step >= 1.0 and not (case.said("t") or case.said("time") or case.options.rate):
        yield f"the usual step is {step:.4g} s; are the stamps in milliseconds? Say units={{'t': 'ms'}}, or 's'."


def uneven_stamps(case: Case) -> Iterator[str]:
    steps, usual = np.diff(case.t), usual_step(case.t)
    steps = steps[steps <= GAP * usual]
    off = np.abs(steps / usual - 1.0) > UNEVEN
    if case.options.stamps is not None or not off.any():
        return
    if lost := lost_rows(case.t):
        yield (
            f"{counted(lost, 'row')} of an even clock, one every {usual:.4g} s, are lost. Say stamps='fill' to put "
            "them back as not measured, or 'keep'."
        )
    else:
        yield (
            f"uneven time stamps: {off.mean():.1%} of the steps differ by more than {UNEVEN:.0%} from the usual "
            f"{usual:.4g} s ({steps.min():.4g} to {steps.max():.4g} s). Say stamps='keep', or 'even' if only the clock "
            "is uneven; motion.resample(dt) interpolates."
        )


def gaps(case: Case) -> Iterator[str]:
    steps, usual = np.diff(case.t), usual_step(case.t)
    where = np.flatnonzero(steps > GAP * usual)
    if case.options.gaps is None and where.size:
        yield (
            f"{where.size} gaps, the first of {steps[where[0]]:.4g} s at t = {case.t[where[0]]:.6g} s where "
            f"{usual:.4g} s are usual. Say gaps='split' or 'keep'."
        )


def not_measured(case: Case) -> Iterator[str]:
    if case.options.holes is not None:
        return
    arrays, rows = dict(_arrays(case.motion)), slice(None)
    if case.options.stamps == "fill":  # rows that were put back are not measured by choice
        seen = [np.isfinite(x).reshape(len(x), -1) for n, x in arrays.items() if not acts(n)]
        rows = np.any(np.concatenate(seen, axis=1), axis=1) if seen else rows
    holes = {name: n for name, x in arrays.items() if (n := _holes(x[rows]))}
    if holes:
        shown = ", ".join(f"{name} {n}" for name, n in list(holes.items())[:6])
        yield f"entries without a number (NaN): {shown}. Say holes='keep' (not measured), 'fill' or 'drop'."


def never_measured(case: Case) -> Iterator[str]:
    """Columns without a number in any row."""
    if case.options.missing == "nan":
        return
    found = [
        f"{what} of {span.name!r}"
        for what, x, own in (("position", case.motion.q, "q"), ("velocity", case.motion.v, "v"))
        if x is not None
        for span in case.spans
        if getattr(span, own) and all(not _known(x, row).size for row in getattr(span, own))
    ]
    if found:
        yield f"no number in any row: {', '.join(found[:8])}. Say missing='nan' if it was not measured."


def _holes(x: np.ndarray) -> int:
    """Entries that are NaN in columns that were measured at all."""
    missing = ~np.isfinite(x.reshape(len(x), -1))
    return int(missing[:, ~missing.all(axis=0)].sum())


def _arrays(motion: Motion) -> Iterator[tuple[str, np.ndarray]]:
    for name, x in {"q": motion.q, "v": motion.v, **motion.signals}.items():
        if x is not None:
            yield name, np.asarray(x)


def stand_out(case: Case) -> Iterator[str]:
    if case.options.outliers is not None:
        return
    rows = lambda mask: int(mask.reshape(len(mask), -1).any(axis=1).sum())
    found = {name: rows(mask) for name, mask in found_in(case.motion).items()}
    if found:
        shown = ", ".join(f"{name} {n}" for name, n in found.items())
        yield f"rows that stand out from their neighbours: {shown}. Say outliers='nan', 'fill' or 'keep'."


def jumping_angles(case: Case) -> Iterator[str]:
    if case.options.angles is not None or case.motion.q is None:
        return
    for span in case.spans:
        for row in span.angles:
            x = _known(case.motion.q, row)
            jumps = int(np.sum(np.abs(np.abs(np.diff(x)) - 2 * np.pi) < 0.5 * np.pi))
            if jumps and not _in_degrees(x):
                yield f"the angle of {span.name!r} jumps by 2π {jumps} times. Say angles='unwrap', 'wrap' or 'keep'."


def turning_signs(case: Case) -> Iterator[str]:
    if case.options.signs is not None or case.motion.q is None:
        return
    for span in case.spans:
        if span.quaternion:
            flips = quaternions.flips(np.asarray(case.motion.q)[:, span.quaternion]).size
            if flips:
                yield f"the quaternion of {span.name!r} changes its sign {flips} times. Say signs='fix' or 'keep'."


def _known(x: object, row: int) -> np.ndarray:
    column = np.asarray(x)[:, row]
    return column[np.isfinite(column)]


def _in_degrees(x: np.ndarray) -> bool:
    """Whether an angle jumps by 360."""
    return bool(np.any(np.abs(np.abs(np.diff(x)) - 360.0) < 36.0))


def degrees(case: Case) -> Iterator[str]:
    """Degrees for radians: jumps of 360, limits passed by far, or speeds that do not go with positions."""
    if case.motion.q is None or case.said("joint/position"):
        return
    for span in case.spans:
        for row in [*span.angles, *(span.q if span.kind == UNKNOWN else ())]:
            x = _known(case.motion.q, row)
            if not x.size:
                continue
            why = _degrees_because(case, span, x)
            if why:
                yield f"{span.name!r} {why}: is it in degrees? Say units={{'joint/position': 'deg'}}, or 'rad'."


def _degrees_because(case: Case, span: Span, x: np.ndarray) -> str:
    furthest = float(np.max(np.abs(x)))
    if _in_degrees(x):
        return "jumps by 360"
    if case.model is not None and len(span.v) == 1:
        low = float(np.asarray(case.model.joint_lower)[span.v[0]])
        high = float(np.asarray(case.model.joint_upper)[span.v[0]])
        limit = max(abs(low), abs(high))
        if np.isfinite(limit) and furthest > 4.0 * limit and furthest / DEGREES <= 1.1 * limit:
            return f"reaches {furthest:.4g}, far beyond its limits {low:.4g} to {high:.4g} rad"
    far = span.kind != UNKNOWN and furthest > 4.0 * np.pi and np.ptp(x) <= 720.0
    if far and case.motion.v is not None and len(span.v) == 1:
        fastest = float(np.max(np.abs(_known(case.motion.v, span.v[0])), initial=0.0))
        if fastest > FAST and not case.said("joint/velocity"):
            return f"reaches {furthest:.4g} and a speed of {fastest:.4g}, {fastest / (2 * np.pi):.2g} turns a second"
    if far and case.motion.v is None:
        return f"reaches {furthest:.4g}, {furthest / (2 * np.pi):.2g} turns if in radians"
    return ""


def rates(case: Case) -> Iterator[str]:
    """Velocities that are positions' slopes times 57.3, or times 1000."""
    q, v = case.motion.q, case.motion.v
    if q is None or v is None or len(case.motion) < MIN_ROWS:
        return
    for span in case.spans:
        if len(span.q) != 1 or case.said("joint/velocity"):
            continue
        ratio = _slope_ratio(case.t, np.asarray(q)[:, span.q[0]], np.asarray(v)[:, span.v[0]])
        for factor, text in SUSPECTS.items():
            if ratio is not None and abs(np.log(ratio / factor)) < 0.15:
                yield f"the velocity of {span.name!r} is {ratio:.4g} times the slope of its position: {text}."


def strangers(case: Case) -> Iterator[str]:
    """Velocities that are slopes of positions with the other sign, or those of another joint."""
    q, v = case.motion.q, case.motion.v
    if q is None or v is None or len(case.motion) < MIN_ROWS:
        return
    own = [s for s in case.spans if len(s.q) == 1 and not case.said("joint/velocity")]
    alike = lambda a, b: _likeness(
        *_slopes(case.t, np.asarray(q)[:, a.q[0]], np.asarray(v)[:, b.v[0]])
    )
    doubtful = [s for s in own if alike(s, s) < UNLIKE]
    for span in doubtful:
        if alike(span, span) < -ALIKE:
            yield (
                f"the velocity of {span.name!r} is the slope of its position with the other sign. Say "
                f"units={{'joint/velocity[{span.name}]': -1.0}}, or 1.0."
            )
        for other in (s for s in doubtful if s is not span and alike(s, span) > ALIKE):
            yield (
                f"the velocity of {span.name!r} is the slope of the position of {other.name!r}: are columns exchanged? "
                "Say columns=, or units={'joint/velocity': 1.0} if that is so."
            )


ALIKE, UNLIKE = 0.9, 0.5
"""Correlations of two series that are the same but for noise, and of two that are not."""
SUSPECTS = {
    DEGREES: "in degrees a second beside radians? Say units={'joint/velocity': 'deg/s'}",
    1 / DEGREES: "positions in degrees beside rad/s? Say units={'joint/position': 'deg'}",
    1e3: "time stamps in milliseconds? Say units={'t': 'ms'}",
    1e6: "time stamps in microseconds? Say units={'t': 'us'}",
    1e9: "time stamps in nanoseconds? Say units={'t': 'ns'}",
    60 / (2 * np.pi): "in turns a minute? Say units={'joint/velocity': 'rpm'}",
}


def _slope_ratio(t: np.ndarray, x: np.ndarray, v: np.ndarray) -> float | None:
    """The ratio of the velocity to the slope of `x`; None where the two hardly correlate."""
    a, b = _slopes(t, x, v)
    return float(np.sqrt((b @ b) / (a @ a))) if _likeness(a, b) > ALIKE else None


def _slopes(t: np.ndarray, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slopes of `x` from row to row and the velocities `v` between them, where both are known."""
    x = unwrap(x) if np.nanmax(np.abs(x), initial=0.0) < 4.0 else x
    slope, middle = np.diff(x) / np.diff(t), 0.5 * (v[1:] + v[:-1])
    good = np.isfinite(slope) & np.isfinite(middle)
    good[good] = np.abs(slope[good]) <= 20 * np.median(np.abs(slope[good])) if good.any() else False
    return slope[good], middle[good]


def _likeness(a: np.ndarray, b: np.ndarray) -> float:
    """The cosine between two series; nan where one of them says nothing."""
    if a.size < MIN_ROWS or not np.any(a) or not np.any(b):
        return np.nan
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def constant(case: Case) -> Iterator[str]:
    if case.options.constant is not None:
        return
    found = []
    for key, x, rows in (("q", case.motion.q, "q"), ("v", case.motion.v, "v")):
        for span in case.spans if x is not None else ():
            columns = [_known(x, row) for row in getattr(span, rows)]
            if any(c.size for c in columns) and all(
                not c.size or np.ptp(c) == 0.0 for c in columns
            ):
                found.append(f"{key} of {span.name!r}")
    for name, x in case.motion.signals.items():
        known = np.asarray(x)[np.isfinite(x)]
        if (
            not name.startswith("extra/")
            and known.size
            and np.ptp(known) == 0.0
            and known[0] != 0.0
        ):
            found.append(name)
    if found:
        yield f"never changes: {', '.join(found[:8])}. Say constant='keep' if that is so."


RULES = (
    few_rows, slow_clock, uneven_stamps, gaps, not_measured, never_measured, stand_out, jumping_angles, turning_signs,
    degrees, rates, strangers, constant,
)  # fmt: skip
