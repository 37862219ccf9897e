"""Columns to `t`, `q`, `v` and signals: by name, in SI units, with one message for what is missing or extra."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np

from isthmus.data import stamps
from isthmus.data.missing import ADDRESS, Match, address_of, described, listed, missing
from isthmus.data.names import COMPONENTS, STAMPS, TOPIC, Dictionary, Target, plain, revealed, tails
from isthmus.data.options import Options
from isthmus.data.tables import Table
from isthmus.data.units import IN_NAMES, Unit, factor, is_unit
from isthmus.errors import BadMotion, BadOption, did_you_mean
from isthmus.model.model import Model
from isthmus.motion.match import BY_DOF
from isthmus.motion.motion import About, Motion
from isthmus.motion.spans import UNKNOWN, JointList, joints_of, spans
from isthmus.types import AnyArray

SLIDING = {"prismatic": 1, "planar": 2, "free": 3}
"""How many of a joint's coordinates, its first, are ways."""
MEASURES = {"point/position": "length", "point/velocity": "length"}


def match(tables: list[Table], model: Model | None, options: Options) -> list[Motion]:
    """The motion that each table of a file holds; time stamps and numbers as they are, in SI units."""
    _check_names(tables, options)
    columns = [renamed(table, options) for table in tables]
    names = dict.fromkeys(name for each in columns for name in each)
    joints = revealed(names) if model is None else joints_of(model)
    words = Dictionary(joints, model)
    found = [
        matching(each, words, t.source, options) for each, t in zip(columns, tables, strict=True)
    ]
    for each in found:
        _refuse_doubles(each)
    _check_whole(found, model, options)
    values = [in_si(*each, options) for each in zip(columns, found, strict=True)]
    begin = None if options.runs else stamps.earliest(each.get(Target("t")) for each in values)
    return [assembled(*each, begin, options) for each in zip(values, found, tables, strict=True)]


def _check_names(tables: list[Table], options: Options) -> None:
    """Names of columns in the options must be names of columns in the file."""
    known = dict.fromkeys(name for table in tables for name in table.columns)
    for name in [*options.columns, *(name for name in (options.runs, options.time) if name)]:
        if name not in known and name not in options.columns.values():
            raise BadOption(
                f"{tables[0].source!r} has no column {name!r}.{did_you_mean(name, known)}"
            )


def _check_whole(found: list[Match], model: Model | None, options: Options) -> None:
    """Refuses columns that no table of a file has, and units that apply to none of them."""
    first = found[0]
    targets = {f"{i} {c}": t for i, each in enumerate(found) for c, t in each.targets.items()}
    extra = list(dict.fromkeys(column for each in found for column in each.extra))
    whole = Match(first.source, first.joints, targets, {}, extra, first.notes)
    for text in missing(whole, model):
        if options.missing == "refuse":
            raise BadMotion(text)
        first.notes.append(text)
    used = {
        key for each in found for column, target in each.targets.items()
        for key in _unit_keys(each.joints, column, target)
    } | {key for column in extra for key in (column, f"extra/{column}")}  # fmt: skip
    if idle := [key for key in options.units if key not in used]:
        have = sorted({ADDRESS.get(target.key, target.key) for target in targets.values()})
        raise BadOption(
            f"units has {idle[0]!r}, but {first.source!r} has nothing of that name; it has {listed(have)}."
        )


def renamed(table: Table, options: Options) -> dict[str, np.ndarray]:
    """The columns under the names that the caller gave them; those given None are left out."""
    named: dict[str, np.ndarray] = {}
    for column, values in table.columns.items():
        name = options.columns.get(column, column)
        if name is None or column == options.runs:
            continue
        if name in named:
            raise BadMotion(
                f"{table.source!r} has two columns called {name!r}; say which with columns=."
            )
        named[name] = values
    return named


def matching(
    columns: dict[str, np.ndarray], words: Dictionary, source: str, options: Options
) -> Match:
    """Each column's target, by its name."""
    found, numbered = Match(source, words.joints, {}, {}, [], []), words.numbered(columns)
    for column in columns:
        target, unit = Target("t") if column == options.time else words.find(column), None
        if target is None:
            name, unit = without_unit(column)
            target = words.find(name) if unit else None
        if options.time and target == Target("t") and column != options.time:
            target = None
        if target is None and column in options.columns.values() and column not in numbered:
            raise BadOption(
                f"columns says that something is {column!r}, but that is nothing of these joints: "
                f"{listed([name for name, _ in words.joints])}; extra/NAME keeps it as a channel."
            )
        if target is None:
            found.extra.append(column)
        else:
            found.targets[column] = target
            if unit:
                found.said[column] = unit
    _take_numbered(found, words, options)
    _find_time(found, columns, options)
    return found


def _find_time(found: Match, columns: dict[str, np.ndarray], options: Options) -> None:
    """Stamps behind the name of a topic, where nothing else is the time; and units that the size of stamps says."""
    if options.rate is None and Target("t") not in found.targets.values():
        behind = [c for c in found.extra if any(plain(f) in STAMPS for _, f in tails(c))]
        behind = [c for c in behind if TOPIC.match(c)] or behind
        if len(behind) == 1:
            found.targets[behind[0]] = Target("t")
            found.extra.remove(behind[0])
    for column, target in found.targets.items():
        unit = stamps.unit_of(plain(column), columns[column]) if target == Target("t") else None
        if unit and column not in found.said:
            found.said[column] = unit
            if options.units.keys().isdisjoint(_unit_keys(found.joints, column, target)):
                found.notes.append(f"the time stamps of {column!r} are taken as {unit}.")


def _take_numbered(found: Match, words: Dictionary, options: Options) -> None:
    claimed = {target.key for target in found.targets.values()}
    taken = {c: t for c, t in words.numbered(found.extra).items() if t.key not in claimed}
    if not taken:
        return
    if options.quaternions == "xyzw":
        order = {
            row: span.quaternion[(place + 1) % 4]
            for span in spans(found.joints)
            for place, row in enumerate(span.quaternion)
        }
        taken = {
            c: Target("q", (order.get(t.index[0], t.index[0]),)) if t.key == "q" else t
            for c, t in taken.items()
        }
    found.targets |= taken
    found.extra = [column for column in found.extra if column not in taken]
    found.notes.append(
        f"numbered columns are taken in the order of the joints: {listed([*taken])}."
    )


def _refuse_doubles(found: Match) -> None:
    seen: dict[Target, str] = {}
    for column, target in found.targets.items():
        if target in seen:
            what = described(found.joints, target)
            raise BadMotion(
                f"{found.source!r}: both {seen[target]!r} and {column!r} are {what}; leave one out with "
                f"columns={{{column!r}: None}}, or say what it is."
            )
        seen[target] = column


def without_unit(column: str) -> tuple[str, str | None]:
    """`elbow [deg]`, `t (ms)`, `elbow_deg`: the name and the unit it says."""
    found = re.fullmatch(r"(.+?)\s*[\[(]\s*([^\])]+?)\s*[\])]", column)
    if found and is_unit(found[2]):
        return found[1], found[2]
    found = re.fullmatch(rf"(.+?)[_. ]({'|'.join(IN_NAMES)})", column, re.I)
    return (found[1], found[2].lower()) if found else (column, None)


# numbers -----------------------------------------------------------------------------------------------------


def in_si(
    columns: dict[str, np.ndarray], found: Match, options: Options
) -> dict[Target, np.ndarray]:
    """The values of each target in SI units, channels among them."""
    kinds, values = _kinds(found.joints), {}
    for column, target in found.targets.items():
        measures = kinds.get(target, _measured(target))
        unit: Unit | None = found.said.get(column)
        for key in reversed(_unit_keys(found.joints, column, target)):
            unit = options.units.get(key, unit)
        scale = None if unit is None or measures == "number" else factor(unit, measures)
        if unit is not None and scale is None and column in found.said:
            what = described(found.joints, target)
            found.notes.append(f"the unit that {column!r} says is no unit of {what}.")
        factor_to_si = 1.0 if scale is None else scale
        if target.key == "t":
            values[target] = stamps.in_seconds(columns[column], factor_to_si)
        else:
            values[target] = stamps.as_float(columns[column]) * factor_to_si
    for column in found.extra:
        unit = options.units.get(column, options.units.get(f"extra/{column}", 1.0))
        values[Target(f"extra/{column}")] = stamps.as_float(columns[column]) * factor(unit, "")
    return values


def _unit_keys(joints: JointList, column: str, target: Target) -> tuple[str, ...]:
    """The keys by which `units` may name a column, the most specific first."""
    whole = ADDRESS.get(target.key, target.key)
    if target.key == "t":
        return column, "t", "time"
    by_joint = target.key in ("q", "v", *BY_DOF)
    return (column, address_of(joints, target), whole) if by_joint else (column, whole)


def _kinds(joints: JointList) -> dict[Target, str]:
    """What each coordinate measures; "" where that is not known."""
    kinds: dict[Target, str] = {}
    for span in spans(joints):
        name = lambda i, kind=span.kind: (
            "" if kind == UNKNOWN else "length" if i < SLIDING.get(kind, 0) else "angle"
        )
        for i, row in enumerate(span.q):
            kinds[Target("q", (row,))] = "number" if row in span.quaternion else name(i)
        for i, row in enumerate(span.v):
            kinds[Target("v", (row,))] = kinds[Target("joint/acceleration", (row,))] = name(i)
            force = {"length": "force", "angle": "torque", "": ""}[name(i)]
            for key in BY_DOF:
                kinds.setdefault(Target(key, (row,)), force)
    return kinds


def _measured(target: Target) -> str:
    if target.key == "t":
        return "time"
    first, *_, last = target.key.split("/") if "/" in target.key else (target.key, "")
    return MEASURES.get(f"{first}/{last}", "")


def assembled(
    values: dict[Target, np.ndarray],
    found: Match,
    table: Table,
    begin: Decimal | None,
    options: Options,
) -> Motion:
    """Arrays of the columns; what no column has is NaN. Exact time stamps are counted from `begin`."""
    rows = table.rows
    time = _time(values.pop(Target("t"), None), rows, begin, found, options)
    each = spans(found.joints)
    wide = dict.fromkeys(("v", *BY_DOF), sum(len(s.v) for s in each)) | {
        "q": sum(len(s.q) for s in each)
    }
    groups: dict[str, dict[tuple[int, ...], np.ndarray]] = {}
    for target, x in values.items():
        groups.setdefault(target.key, {})[target.index] = x
    arrays: dict[str, AnyArray] = {}
    for key, entries in groups.items():
        shape = (wide[key],) if key in wide else _shape(key, entries, found)
        arrays[key] = array = np.full((rows, *shape), np.nan)
        for index, x in entries.items():
            array[(slice(None), *index)] = x
    q, v = arrays.pop("q", None), arrays.pop("v", None)
    if found.extra:
        found.notes.append(f"kept as extra/NAME: {listed(found.extra)}.")
    about = About(table.source, (*table.notes, *found.notes))
    return Motion(time, q, v, arrays, found.joints, about)


def _time(
    given: np.ndarray | None, rows: int, begin: Decimal | None, found: Match, options: Options
) -> np.ndarray:
    """Time stamps [s]; from the rate where there are none."""
    if given is None and options.rate is None:
        raise BadMotion(
            f"{found.source!r} has no column of time stamps{_hint_of_time(found)}; name it with time='…', or say "
            "rate=… [rows a second] if there is none."
        )
    if given is None:
        return np.arange(rows) / float(options.rate or 1.0)
    if options.rate is not None:
        raise BadOption(
            f"{found.source!r} has time stamps, so rate= is one too many; leave them out with columns={{'…': None}}."
        )
    if given.dtype.kind == "O":
        first = given[0] if begin is None else begin
        found.notes.append(f"time is counted from the first row, which was at {first:.3f} s.")
    return stamps.since(given, begin)


def _hint_of_time(found: Match) -> str:
    return f" among {listed(found.extra)}" if found.extra else ""


def _shape(key: str, entries: dict[tuple[int, ...], np.ndarray], found: Match) -> tuple[int, ...]:
    if len({len(index) for index in entries}) > 1:
        raise BadMotion(
            f"{found.source!r}: the columns of {key!r} have different numbers of indices."
        )
    shape = tuple(1 + max(axis) for axis in zip(*entries, strict=True))
    family, _, last = key.partition("/")[0], *key.rpartition("/")[1:]
    whole = {("point", "position"): 3, ("point", "velocity"): 3, ("link", "pose"): len(COMPONENTS)}
    return (whole[family, last],) if len(shape) == 1 and (family, last) in whole else shape
