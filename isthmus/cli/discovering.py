"""The work of `isthmus discover`, behind its arguments: search, table, files. Loads the array libraries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from isthmus.cli.output import in_background, say, show, working
from isthmus.discovery.discover import discover
from isthmus.discovery.result import RECORD, Discovery
from isthmus.disk import made_folder
from isthmus.errors import BadFile
from isthmus.interrupts import postponed
from isthmus.report.discovery_page import export_discovery
from isthmus.study.study import Study


def discover_study(
    path: Path,
    candidates: Sequence[str] | None,
    most: int,
    out: Path,
    *,
    resume: bool,
    replace: bool,
) -> int:
    """Discovers what the model of a study lacks; prints it, writes its files, returns the exit status."""
    study = Study.load(path)
    with working("reading robot and logs"):
        problem = in_background(study.problem)
    earlier = _earlier(out, resume=resume, replace=replace)
    folder = made_folder(str(out))
    with working("discovering"):
        found = discover(
            problem, candidates, most, resume=earlier, listen=lambda so_far: so_far.save(folder)
        )
    with postponed("writing the results", say):
        table, _, said = str(found).partition("\n\n")
        show(*map(Text, table.splitlines()), "", *said.splitlines())
        files = [
            found.save(folder), found.write(folder / "blueprint.toml"),
            export_discovery(found, folder / "discovery.html", title=problem.template.name),
        ]  # fmt: skip
        if found.scores:
            found.draw(folder / "discovery.svg")
            files.append(folder / "discovery.svg")
    print(f"wrote {folder}: {', '.join(file.name for file in files)}")
    if not found.complete:
        say("stopped by Ctrl-C; the places so far are written, --resume goes on.")
        return 130
    return 0


def _earlier(folder: Path, *, resume: bool, replace: bool) -> Discovery | None:
    """The discovery to go on with; one that is neither resumed nor replaced is refused."""
    there = (folder / RECORD).exists()
    if resume and not there:
        raise BadFile(f"{str(folder)!r} holds no discovery to resume.")
    if there and not (resume or replace):
        raise BadFile(
            f"{str(folder)!r} holds a discovery already; --resume goes on, --replace overwrites it."
        )
    return Discovery.load(folder) if resume else None
