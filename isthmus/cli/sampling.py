"""The work of `isthmus posterior` and `isthmus randomise`, behind their arguments. Loads the array libraries."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Literal

from rich.text import Text

from isthmus.cli.output import in_background, say, show, working
from isthmus.disk import made_folder
from isthmus.errors import BadFile, BadOption, FitWarning
from isthmus.identify.answer.files import TEXT as FIT
from isthmus.identify.fit import Fit
from isthmus.interrupts import postponed
from isthmus.posteriors.exported import INDEX
from isthmus.posteriors.files import TEXT
from isthmus.posteriors.from_fit import posterior_of
from isthmus.posteriors.infer import posterior
from isthmus.posteriors.posterior import Posterior
from isthmus.report.posterior_page import export_posterior
from isthmus.study.study import Study


def sample_study(path: Path, method: str, out: Path, *, resume: bool, replace: bool) -> int:
    """Samples the posterior of a study; prints it, writes its files, returns the exit status."""
    study = Study.load(path)
    with working("reading robot and logs"):
        problem = in_background(study.problem)
    earlier = _earlier(out, method, resume=resume, replace=replace)
    folder = made_folder(str(out))
    with working("sampling"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # the table says the same
        found = posterior(
            problem, method, resume=earlier, listen=lambda so_far: so_far.save(folder)
        )
    with postponed("writing the results", say):
        table, _, said = str(found).partition("\n\n")
        show(*map(Text, table.splitlines()), "", *said.splitlines())
        found.save(folder)
        drawn = export_posterior(found, folder / "posterior.html", problem=problem)
    print(f"wrote {folder}: {TEXT}, posterior.npz, model.safetensors, {drawn.name}")
    if not found.complete:
        say("stopped by Ctrl-C; the finished samples are written, --resume goes on.")
        return 130
    return 0


def _earlier(folder: Path, method: str, *, resume: bool, replace: bool) -> Posterior | None:
    """The posterior to go on with; one that is neither resumed nor replaced is refused."""
    there = (folder / TEXT).exists()
    if resume and not there:
        raise BadFile(f"{str(folder)!r} holds no posterior to resume.")
    if there and not (resume or replace):
        raise BadFile(
            f"{str(folder)!r} holds a posterior already; --resume goes on, --replace overwrites it."
        )
    if not resume:
        return None
    found = Posterior.load(folder)
    by = str(found.settings.get("method", {}).get("search", "")).rpartition(":")[2]
    if by.lower() != method:
        raise BadOption(
            f"the posterior in {str(folder)!r} is by {by}: resume it with --method {by.lower()}."
        )
    return found


def write_models(
    folder: Path, count: int, to: Literal["urdf", "mjcf"], out: Path, seed: int
) -> int:
    """Writes models drawn from what a folder holds; returns the exit status."""
    if count < 1:
        raise BadOption(f"--count must be a whole number from 1, not {count}.")
    found = in_background(lambda: _found(folder, count, seed))
    for note in found.notes:
        say(f"warning: {note}")
    with working(f"writing {out}"):
        found.export(out, count, to)
    print(f"wrote {out}: {count} models and {INDEX}")
    return 0


def _found(folder: Path, count: int, seed: int) -> Posterior:
    if (folder / TEXT).exists():
        return Posterior.load(folder)
    if (folder / FIT).exists():
        return posterior_of(Fit.load(folder), count, seed)
    raise BadFile(f"{str(folder)!r} holds neither a fit nor a posterior.")
