"""A robot and its logs -> the text of a commented study: what the logs hold, suggested settings, warnings."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.data.guess import Guess, guess
from isthmus.data.lost import lost_rows
from isthmus.data.names import plain
from isthmus.data.read import read_motion
from isthmus.data.tables import found_files
from isthmus.errors import BadMotion, BadStudy, DataWarning, IsthmusError
from isthmus.files import SUFFIX
from isthmus.library.shipped import PREFIX
from isthmus.model.contacts import last_shapes
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.motion.rows import GAP, usual_step
from isthmus.phases import counted, sort_of
from isthmus.study.begin_free import free_text, quoted
from isthmus.study.begin_loss import TORQUE, loss_text
from isthmus.study.build import Trials, files_in, load_robot
from isthmus.study.results import usual_formats

MAX_DESCRIBED = 20
"""Logs that are described one by one; of more, only those with a note that no other has."""
GLOBAL_DOFS = 3
"""Up to so many degrees of freedom, a search from many starts is suggested."""
UNEVEN = 0.02
"""Share by which the steps of a log that can be fitted may differ from the usual one."""
DEFAULTS = {"base": "fixed", "repair": "none"}
"""Options of the robot that need not be written."""


def begin_study(
    robot: str,
    logs: Sequence[str],
    target: str | os.PathLike[str] = "study.toml",
    *,
    base: str = "fixed",
    repair: str = "none",
    packages: Sequence[str] = (),
) -> str:
    """The text of a study of this robot and these logs, with paths as seen from `target`.

    Columns that are not understood are marked in the text, and a `DataWarning` says which logs cannot be read yet.
    """
    tried = Trials()
    options: dict[str, Any] = {"base": base, "repair": repair, "packages": tuple(packages)}
    model = tried("robot", lambda: load_robot(Path(), robot, **options))
    files = tried("logs", lambda: [file for log in logs for file in _files(log)])
    motions, unread = _read(tried, files or [], model)
    if not logs:
        tried.faults.append("logs are missing; say which: isthmus fit --init arm.urdf logs/")
    columns = tried("logs", lambda: guess(files, model)) if not tried.faults and model else None
    if columns is None or model is None:
        raise BadStudy(tried.faults, "this study cannot be begun")
    for file, why in unread.items():
        text = f"{str(file)!r} cannot be read yet; complete [read] in the study: {why}"
        warnings.warn(text, DataWarning, stacklevel=2)
    place = Path(target).resolve().parent
    parts = [
        _head(robot, model, place, options), _logs(logs, motions, unread, place), _reading(model, columns, motions),
        *free_text(model, motions), _wires(), loss_text(model, motions), _search(model), _output(model),
    ]  # fmt: skip
    return "\n".join(f"{part}\n" for part in parts)


def _files(log: str) -> list[Path]:
    return found_files(files_in(Path(log)))[0]


def _read(
    tried: Trials, files: Sequence[Path], model: Model | None
) -> tuple[list[Motion], dict[Path, str]]:
    """The motions of the files, and why others are none yet."""
    motions: list[Motion] = []
    unread: dict[Path, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # written into the file instead
        for file in files:
            try:
                motions.append(read_motion(file, model))
            except BadMotion as bad:
                unread[file] = bad.message
            except IsthmusError as bad:
                tried.faults.append(f"logs: {bad.message}")
    return motions, unread


def _seen(path: str, place: Path) -> str:
    """A path as seen from the folder of the study."""
    if path.startswith(PREFIX):
        return path
    return Path(os.path.relpath(Path(path).resolve(), place)).as_posix()


def _head(robot: str, model: Model, place: Path, options: Mapping[str, Any]) -> str:
    joints = [f"{n} ({k})" for n, k in zip(model.joint_names, model.joint_kinds, strict=True)]
    mass = float(np.sum(model.link_mass))
    lines = [
        "# A study of isthmus. Run it with: isthmus fit study.toml",
        "# Paths start at the folder of this file. docs/study.md explains every key.",
        "",
        f"# {model.name}: {len(model.link_names)} links, {model.dof} degrees of freedom, {mass:.4g} kg",
        f"# joints: {', '.join(joints)}",
        f"robot = {quoted(_seen(robot, place))}",
    ]
    lines += [
        f'{key} = "{options[key]}"' for key in ("base", "repair") if options[key] != DEFAULTS[key]
    ]
    if options["packages"]:
        folders = ", ".join(quoted(_seen(folder, place)) for folder in options["packages"])
        lines.append(f"packages = [{folders}]")
    if Path(robot).suffix.lower() != SUFFIX:  # a saved model stays as it is
        lines += _ground(model)
    return "\n".join(lines)


def _ground(model: Model) -> list[str]:
    """What a robot with shapes may touch, as comments."""
    last, _ = last_shapes(model)
    if not last:
        return []
    some = ", ".join(map(quoted, last[:2]))
    return [
        "# ground = 0.0  # height of a plane that it touches [m], or { height = 0.0, tilt = [0.0, 0.0] }",
        f'# contact = [{{ shapes = [{some}], friction = 0.8 }}]  # or kind = "penalty", stiffness, damping …',
        *(
            f"# pair = [{{ first = {quoted(a)}, second = {quoted(b)}, friction = 0.8 }}]  # that touch each other"
            for a, b in model.pairs("*", "*")[-1:]
        ),
    ]


def _logs(
    logs: Sequence[str], motions: Sequence[Motion], unread: Mapping[Path, str], place: Path
) -> str:
    total = sum(float(m.t[-1] - m.t[0]) for m in motions)
    lines = [f"# {counted(len(motions), 'log')}, {total:.4g} s in all"]
    seen, left = set(), 0
    for k, motion in enumerate(motions):
        described = list(_described(motion))
        kind = sort_of("".join(described[1:]))
        if k < MAX_DESCRIBED or kind not in seen:
            lines += [f"#   {line}" for line in described]
        else:
            left += 1
        seen.add(kind)
    if left:
        lines.append(f"#   … and {counted(left, 'more log')} of which nothing else is to be said")
    for file, why in unread.items():
        lines.append(f"#   {file.name}: cannot be read yet: {' '.join(why.split())}")
    names = ", ".join(quoted(_pattern(path, place)) for path in logs)
    lines.append(f"logs = [{names}]")
    if len(motions) + len(unread) > 2:
        lines.append(
            "heldout = 1  # the last log is predicted, not fitted; or files, or 0.2: the last fifth of each"
        )
    else:
        lines.append(
            "heldout = 0.2  # the last fifth of each log is predicted, not fitted; or files, or how many logs"
        )
    return "\n".join(lines)


def _pattern(path: str, place: Path) -> str:
    """A folder of logs stays a folder."""
    seen = _seen(path, place)
    return f"{seen}/" if isinstance(files_in(Path(path)), list) else seen


def _described(motion: Motion) -> Iterator[str]:
    steps = np.diff(np.asarray(motion.t))
    rate = 1.0 / float(np.median(steps)) if len(steps) else 0.0
    found = [
        "positions" if motion.q is not None else "no positions",
        "velocities" if motion.v is not None else "no velocities",
        *(name for name in (motion.signals or {})),
    ]
    yield f"{Path(motion.name).name}: {len(motion.t)} rows, {rate:.4g} a second; {', '.join(found)}"
    for note in motion.notes:
        yield f"  note: {' '.join(note.split())}"
    if not {"joint/control", TORQUE} & {*(motion.signals or {})}:
        yield "  no commands (tau_…): its joints are taken as undriven, and only ratios of masses can be identified"


def _settled(motions: Sequence[Motion]) -> list[str]:
    """Options without which the logs cannot be fitted: their rows must be evenly spaced."""
    steps = [np.diff(np.asarray(m.t)) / usual_step(np.asarray(m.t)) for m in motions]
    lines = []
    if any(np.any(s > GAP) for s in steps):
        lines.append('gaps = "split"  # rows before and after a gap are logs of their own')
    if not any(np.any(np.abs(s[s <= GAP] - 1.0) > UNEVEN) for s in steps):
        return lines
    if any(lost_rows(np.asarray(m.t, dtype=np.float64)) for m in motions):
        lines.append(
            'stamps = "fill"  # rows were lost from an even clock; they are put back as not measured'
        )
    else:
        lines.append(
            'stamps = "even"  # a fit needs even rows: the robot kept its rate, and only the clock of the log did not. '
            "If it did not, resample in Python: motion.resample(dt)"
        )
    return lines


def _reading(model: Model, found: Guess, motions: Sequence[Motion]) -> str:
    """Options for the logs, and what each column is."""
    lines = [
        "# How the files are read: names of columns, units, doubts (docs/data.md)",
        "[read]",
        '# units = { "joint/position" = "deg" }',
        '# outliers = "nan"',
        *_settled(motions),
        '[read.columns]  # what each column is; "" leaves one out',
    ]
    lines += [f"{quoted(k)} = {quoted(v)}" for k, v in found.columns.items() if k != v]
    following = {c: pair for c in found.unknown if (pair := _followed(model, c))}
    lines += [f'{quoted(c)} = ""  # {a!r} mimics {b!r}' for c, (a, b) in following.items()]
    if unknown := [column for column in found.unknown if column not in following]:
        lines.append("# not understood, and kept as extra/NAME; say what they are:")
        lines += [f'# {quoted(column)} = ""' for column in unknown]
    if found.missing:
        lines.append("# found in no column; put the name of their column for the question mark:")
        lines += [f'# "?" = {quoted(address)}' for address in found.missing]
    return "\n".join(lines)


def _followed(model: Model, column: str) -> tuple[str, str] | None:
    """The mimic joint that a column names, which has no coordinate of its own, and the joint that it follows."""
    for joint, source in model.mimics:
        if f"_{plain(model.joint_names[joint])}_" in f"_{plain(column)}_":
            return model.joint_names[joint], model.joint_names[source]
    return None


def _wires() -> str:
    return """# A network for what the physics misses (docs/networks.md); its weights are free too:
# [[wire]]
# target = "joint/passive_torque"
# reads = ["joint/velocity"]
# net = { kind = "MLP", width = 8, depth = 1 }
# [[free]]
# name = "network/*\""""


def _search(model: Model) -> str:
    if model.dof > GLOBAL_DOFS:
        return """# Levenberg-Marquardt unless said otherwise; for whole runs, over a lengthening horizon.
# [search]
# kind = "levenberg_marquardt"  # or lbfgs, adam, lengthening_horizon, basin_hopping … (docs/identify.md)
# steps = 100"""
    return """# From many places, so that a false minimum is left again; levenberg_marquardt alone is quicker.
[search]
kind = "basin_hopping"  # or levenberg_marquardt, lbfgs, adam, lengthening_horizon … (docs/identify.md)
local = "levenberg_marquardt"
islands = 8
rounds = 5  # or seconds = 60"""


def _output(model: Model) -> str:
    chosen = usual_formats(model)
    other = "mjcf" if chosen[0] == "urdf" else "urdf"
    return f"""[output]
folder = "fit"
formats = {json.dumps(chosen)}  # or {other}, and model: all of it, networks too"""
