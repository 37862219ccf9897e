"""The files that a study writes into its folder: fit, study, table, report, the robot in other formats."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from isthmus.disk import is_folder, made_folder, safe_stem, whole_file
from isthmus.errors import BadFile, BadOption, IsthmusError
from isthmus.export.mjcf import export_mjcf
from isthmus.export.urdf import export_urdf
from isthmus.files.save import save
from isthmus.identify.answer.files import ARRAYS, MODEL, TEXT
from isthmus.identify.fit import Fit
from isthmus.identify.problem import Problem
from isthmus.model.model import Model
from isthmus.report.write import export_report
from isthmus.study.study import Study

RECORDS = "records.jsonl"
"""Where searches of many rounds keep what they found, so that a stopped one goes on."""


@dataclasses.dataclass(frozen=True)
class Written:
    """The files that were written, and messages about those that could not be."""

    files: tuple[Path, ...]
    failed: tuple[str, ...]


def as_urdf(study: Study, problem: Problem, fit: Fit) -> Path:
    """The identified mechanism as URDF."""
    return _exported(export_urdf, fit.model, study.folder / f"{safe_stem(fit.model.name)}.urdf")


def as_mjcf(study: Study, problem: Problem, fit: Fit) -> Path:
    """The identified mechanism as MJCF."""
    return _exported(export_mjcf, fit.model, study.folder / f"{safe_stem(fit.model.name)}.xml")


def as_model(study: Study, problem: Problem, fit: Fit) -> Path:
    """Everything, networks too, as `ist.load` reads it."""
    return _exported(save, fit.model, study.folder / f"{safe_stem(fit.model.name)}.safetensors")


def as_report(study: Study, problem: Problem, fit: Fit) -> Path:
    """One HTML page about all of it."""
    again = f"isthmus fit study.toml\n\n# study.toml\n{study.text}"
    return export_report(fit, study.folder / "report.html", problem=problem, command=again)


def _exported(export: Callable[..., Any], model: Model, path: Path) -> Path:
    export(model, path)
    return path


WRITERS: dict[str, Callable[[Study, Problem, Fit], Path]] = {
    "urdf": as_urdf, "mjcf": as_mjcf, "model": as_model, "report": as_report
}  # fmt: skip


def write_results(study: Study, problem: Problem, fit: Fit) -> Written:
    """Writes everything that the study asks for; one that fails does not prevent the others."""
    folder = study.folder
    fit.save(folder)
    files, failed = [folder / name for name in (TEXT, ARRAYS, MODEL)], []
    for name, text in (("study.toml", text_for_folder(study)), ("table.txt", f"{fit}\n")):
        with whole_file(folder / name) as file:
            file.write(text.encode())
        files.append(folder / name)
    chosen = usual_formats(fit.model) if study.formats is None else study.formats
    formats = dict.fromkeys([*chosen, *(["model"] if fit.model.networks else [])])
    for kind in formats:
        try:
            files.append(WRITERS[kind](study, problem, fit))
        except IsthmusError as error:
            failed.append(f"{kind}: {error.message}")
    return Written(tuple(files), tuple(failed))


def usual_formats(model: Model) -> tuple[str, ...]:
    """What is written where a study does not say: the format of the robot's file, and a report.

    A robot that came from no file is written as URDF, unless URDF has no such joints.
    """
    kind = model.source.format or ("mjcf" if "spherical" in model.joint_kinds else "urdf")
    return kind, "report"


def text_for_folder(study: Study) -> str:
    """The text of the study, changed so that it runs from the folder of results as it ran from its own."""
    here, folder = _seen(study.here, study.folder), _seen(study.folder, study.here)
    first_table = re.search(r"^\[|\Z", study.text, re.M)
    place = first_table.start() if first_table else 0
    top = re.sub(r"^paths_from *=.*\n+", "", study.text[:place], flags=re.M)
    tables = study.text[place:]
    written = tomllib.loads(study.text).get("output", {}).get("folder", "fit")
    if "output" not in tomllib.loads(top) and json.dumps(written) != folder:
        tables = _with_folder(tables, folder)
    return f"paths_from = {here}  # paths below start at this folder\n\n{top}{tables}"


def _with_folder(tables: str, folder: str) -> str:
    """The tables of a study with that folder of results."""
    if not re.search(r"^\[output\]", tables, re.M):
        tables += "\n[output]\n"
    tables = re.sub(r"^folder *=.*\n", "", tables, flags=re.M)
    put = lambda found: f"{found[0]}folder = {folder}\n"
    return re.sub(r"^\[output\].*\n", put, tables, flags=re.M)


def _seen(path: Path, place: Path) -> str:
    """A folder as seen from another one, in quotation marks."""
    text = Path(os.path.relpath(path.resolve(), place.resolve())).as_posix()
    return json.dumps(text, ensure_ascii=False)


def make_folder(study: Study, *, resume: bool, replace: bool) -> Path:
    """The folder for results; one that holds a fit is refused unless `resume` or `replace` is set."""
    folder = study.folder
    is_folder(folder)  # refuses a name that no folder can have
    old = [name for name in ("fit.json", RECORDS) if (folder / name).exists()]
    if resume and not old:
        raise BadOption(f"there is nothing to resume in {str(folder)!r}; leave --resume out.")
    if old and not (resume or replace):
        raise BadFile(
            f"{str(folder)!r} holds an earlier fit: --resume goes on from it, --replace overwrites it, --out FOLDER "
            "puts the new one elsewhere."
        )
    return made_folder(folder)
