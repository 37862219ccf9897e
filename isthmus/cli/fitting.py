"""The work of `isthmus fit`, behind its arguments: search, table, files. Loads the array libraries."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from isthmus.cli.output import in_background, say, show, working
from isthmus.disk import whole_file
from isthmus.errors import FitWarning
from isthmus.identify.fit import Fit, hint_of
from isthmus.identify.search.progress import progress
from isthmus.identify.search.search import Status
from isthmus.interrupts import postponed
from isthmus.library.shipped import PREFIX
from isthmus.study.begin import begin_study
from isthmus.study.results import make_folder, write_results
from isthmus.study.run import search
from isthmus.study.study import Study


def write_study(robot: str, logs: Sequence[str], path: Path, **options: Any) -> None:
    """Writes a commented study of this robot, read with `options`, and these logs."""
    with working("looking at robot and logs"):
        text = in_background(lambda: begin_study(robot, logs, path, **options))
    with whole_file(path) as file:
        file.write(text.encode())


def fit_study(
    given: Path | dict[str, Any], *, out: str, resume: bool, replace: bool, check: bool
) -> int:
    """Fits a study, in a file or as a table; prints what was found, writes its files, returns the exit status."""
    study = _study(given, out)
    study.refuse_nothing_free()
    with working("reading robot and logs"):
        problem = in_background(study.problem)
    make_folder(study, resume=resume, replace=replace)
    if check:
        with working("checking the problem"):
            found = in_background(problem.check)
        show(*map(_coloured, str(found).splitlines()), "")
    islands = getattr(study.search, "islands", 1)
    watched = progress(problem.parameters, True, islands=islands, say=say)
    with warnings.catch_warnings(), watched as listen:
        warnings.simplefilter("ignore", FitWarning)  # the table says the same
        fit = search(study, problem, resume=resume, replace=replace, listen=listen)
    hint = hint_of(problem, fit.estimates)
    with postponed("writing the results", say):
        lines = str(fit).splitlines()
        if hint:  # in Python's words; the command follows
            lines = [line for line in lines if not line.startswith(f"warning: {hint}")]
        show(*map(_coloured, lines))
        with working("writing results"):
            write = lambda: write_results(study, problem, fit)
            written = in_background(write, float64=False)
    if hint:
        print(f"to determine {hint.aim}: {hint.command(_robot(study))}")
    print(f"wrote {study.folder}: {', '.join(path.name for path in written.files)}")
    for text in written.failed:
        say(f"not written: {text}")
    return _status(fit, bool(written.failed))


def _study(given: Path | dict[str, Any], out: str) -> Study:
    study = (
        Study.load(given)
        if isinstance(given, Path)
        else Study.from_table(given, source="these arguments")
    )
    return dataclasses.replace(study, output=str(Path(out).resolve())) if out else study


def _robot(study: Study) -> str:
    """The robot of a study, for other commands."""
    return study.robot if study.robot.startswith(PREFIX) else str(study.here / study.robot)


def _status(fit: Fit, failed: bool) -> int:
    """130 where the user stopped it, 1 where it did not converge or a file is missing."""
    if fit.status == Status.INTERRUPTED.value:
        say("stopped by Ctrl-C; the best so far is written, --resume goes on.")
        return 130
    return 0 if fit.status == Status.CONVERGED.value and not failed else 1


def _coloured(line: str) -> Text:
    text = Text(line)
    text.highlight_regex(r"^(warning|correlated):", "yellow")
    text.highlight_regex(r"^(link|joint|stretch|point|gravity|offset|delay)\S*", "cyan")
    return text
