"""The work of `isthmus view`, behind its arguments. Loads the array libraries."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

import isthmus as ist
from isthmus.cli.models import load_model
from isthmus.cli.output import in_background, say, working
from isthmus.cli.view import View
from isthmus.errors import BadFile, BadOption, IsthmusError
from isthmus.identify.answer.files import TEXT
from isthmus.identify.fit import Fit
from isthmus.study.study import Study
from isthmus.viewer.viewer import Viewer


def shown(command: View, first: Path) -> tuple[ist.Model, Any]:
    """The model, and what is shown of it: a fit, motions, or None."""
    rest = command.files[1:]
    if _is_fit(first):
        if rest:
            raise BadOption("after the folder of a fit, 'isthmus view' takes no other files.")
        fit = load_fit(first)
        return fit.model, fit
    if first.is_dir():
        raise BadFile(
            f"{command.files[0]!r} is a folder without {TEXT}: name one that 'isthmus fit' wrote, or a robot file."
        )
    model = load_model(
        command.files[0], command.base, command.repair, command.ground, command.packages, command.contact,
        command.pair,
    )  # fmt: skip
    if len(rest) == 1 and _is_fit(Path(rest[0])):
        fit = load_fit(Path(rest[0]))
        if fit.model.link_names != model.link_names:
            raise BadOption(
                f"the fit in {rest[0]!r} is of {fit.model.name!r}, whose links are not those of {command.files[0]!r}."
            )
        fit = dataclasses.replace(fit, model=dataclasses.replace(fit.model, source=model.source))
        return fit.model, fit
    return model, [_as_it_is(path, model) for path in rest] or None


def _as_it_is(path: str, model: ist.Model) -> ist.Motion:
    """A motion to look at: impacts, which stand out from their neighbours, and joints that rest are shown."""
    return ist.read_motion(path, model, outliers="keep", constant="keep")


def _is_fit(path: Path) -> bool:
    return path.name == TEXT or (path / TEXT).is_file()


def load_fit(path: Path) -> Fit:
    """A fit with its logs, if the study beside it still finds them, and with the file of its robot, for its meshes."""
    folder = path.parent if path.name == TEXT else path
    fit = Fit.load(folder)
    study = folder / "study.toml"
    if not study.is_file():
        return fit
    try:
        problem = in_background(Study.load(study).problem)
    except IsthmusError as failed:
        say(f"the logs of the fit are not shown: {failed.message}")
        return fit
    model = dataclasses.replace(fit.model, source=problem.template.source)
    return dataclasses.replace(fit, model=model, problem=problem)


def view_files(model: ist.Model, motion: Any, options: dict[str, Any]) -> int:
    """Shows them until Ctrl-C, or writes the page."""
    if isinstance(motion, Fit) and motion.problem is None:
        motion = None
    ghost = options["measured"]
    options["measured"] = _as_it_is(ghost, model) if ghost else None
    with working(f"preparing {model.name}"):
        found = in_background(lambda: ist.view(model, motion, **options))
    if not isinstance(found, Viewer):
        print(f"wrote {found}")
        return 0
    print("Ctrl-C ends it.", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        found.wait()
    return 0
