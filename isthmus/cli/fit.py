"""`isthmus fit`: recorded motion -> parameters, from a study file or from a robot and its logs."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from isthmus.cli.live import watching
from isthmus.cli.models import Base, Repair
from isthmus.cli.numbers import number
from isthmus.cli.output import Refused, in_background, say, show, working
from isthmus.errors import BadFile, BadOption, FitWarning

if TYPE_CHECKING:
    from isthmus.identify.fit import Fit as Found
    from isthmus.identify.problem import Problem
    from isthmus.study.study import Study

OF_STUDIES = ("files", "out", "resume", "force", "unchecked", "init")
"""What may be said beside a study file; the rest stands in it."""
NEEDS = (
    "'isthmus fit' needs a study file, or a robot and its logs: isthmus fit study.toml, or isthmus fit arm.urdf "
    "logs/*.csv --free 'link/*/mass'."
)


@dataclasses.dataclass(frozen=True)
class Fit:
    """Finds the numbers of a robot that make it move as recorded, as a study file says, or --free.

    --init writes a commented study file to start from. Ctrl-C ends the search and keeps the best.
    """

    files: Annotated[Positional[tuple[str, ...]], arg(metavar="STUDY.toml | ROBOT LOG …")] = ()
    """A study file; or a robot (as FILE of the other commands) and its logs: files or folders."""
    free: Annotated[tuple[str, ...], arg(metavar="NAME[=LOW:HIGH] …", help_behavior_hint="")] = ()
    """What may change: link/*/mass, joint/elbow/damping=0:2 …"""
    heldout: Annotated[str, arg(metavar="N | SHARE", help_behavior_hint="")] = ""
    """So many of the logs, or the last share of each (0.2), are predicted and not fitted."""
    loss: Annotated[str, arg(metavar="KIND[:STEPS]")] = "windows:50"
    """windows:50, multiple_shooting:50, one_step, whole_run or torque."""
    signals: Annotated[tuple[str, ...], arg(metavar="SIGNAL …", help_behavior_hint="")] = ()
    """What is compared; joint/position unless given."""
    noise: Annotated[float | None, arg(metavar="X", help_behavior_hint="")] = None
    """Standard deviation of what is compared."""
    search: Annotated[str, arg(metavar="KIND", help_behavior_hint="")] = ""
    """levenberg_marquardt (the default; for whole_run inside lengthening_horizon), lbfgs, adam, lengthening_horizon,
    basin_hopping, population or cmaes."""
    base: Base = "fixed"
    """Whether the root link of a URDF is welded to the world or moves freely."""
    repair: Repair = "none"
    """nearest: replace impossible inertias by the nearest possible ones."""
    out: Annotated[str, arg(metavar="PATH", help_behavior_hint="")] = ""
    """The folder for results instead of the study's; with --init the study file, study.toml unless given."""
    init: bool = False
    """Look at robot and logs and write a study file with comments."""
    resume: bool = False
    """Go on from what the folder of results holds."""
    force: bool = False
    """Replace what is there: results, or with --init the study file."""
    unchecked: bool = False
    """Leave out the look at the problem before the search."""

    def run(self) -> int:
        """Looks, searches, prints, writes."""
        if not self.files:
            raise Refused(NEEDS)
        if self.init:
            return self._begin()
        study = self._study()
        with working("reading robot and logs"):
            problem = in_background(study.problem)
        return fitted(study, problem, self)

    def _begin(self) -> int:
        from isthmus.study.begin import begin_study

        if self.files[0].endswith(".toml"):
            raise BadOption("--init takes a robot and its logs, and writes the study itself.")
        path = Path(self.out or "study.toml")
        if path.exists() and not self.force:
            raise BadFile(f"{str(path)!r} is there already; --force replaces it.")
        from isthmus.motion.files import check_target, whole_file

        check_target(path, (".toml",))
        with working("looking at robot and logs"):
            text = in_background(lambda: begin_study(self.files[0], self.files[1:], path))
        with whole_file(path) as file:
            file.write(text.encode())
        print(f"wrote {path}\nlook at it, then: isthmus fit {path}")
        return 0

    def _study(self) -> Study:
        from isthmus.study.study import Study

        if Path(self.files[0]).suffix.lower() == ".toml":
            self._refuse_what_stands_in_the_file()
            study = Study.read(self.files[0])
        else:
            study = Study.from_table(self._table(), source="these arguments")
        return (
            dataclasses.replace(study, output=str(Path(self.out).resolve())) if self.out else study
        )

    def _refuse_what_stands_in_the_file(self) -> None:
        if len(self.files) > 1:
            raise BadOption(f"a study names its logs itself; {self.files[1]!r} belongs into it.")
        for field in dataclasses.fields(self):
            if field.name not in OF_STUDIES and getattr(self, field.name) != field.default:
                raise BadOption(f"--{field.name} belongs into the study file {self.files[0]!r}.")

    def _table(self) -> dict[str, Any]:
        """The arguments as a study would have them."""
        robot, *logs = self.files
        if not logs:
            raise Refused(f"{NEEDS} There are no logs after {robot!r}.")
        if not self.free:
            raise Refused("nothing is free: say what may change, as in --free 'link/*/mass=0.1:5'.")
        kind, _, steps = self.loss.partition(":")
        loss: dict[str, Any] = {"kind": kind} | (
            {"steps": _whole(steps, "--loss")} if steps else {}
        )
        loss |= {"signals": list(self.signals)} if self.signals else {}
        loss |= {} if self.noise is None else {"noise": self.noise}
        table = {
            "robot": robot, "logs": logs, "free": [_free(text) for text in self.free], "loss": loss,
            "base": self.base, "repair": self.repair,
        }  # fmt: skip
        table |= {"search": {"kind": self.search}} if self.search else {}
        return table | ({"heldout": _heldout(self.heldout)} if self.heldout else {})


def _whole(text: str, where: str) -> int:
    if not text.isdecimal():
        raise BadOption(f"{where}: {text!r} is no whole number.")
    return int(text)


def _heldout(text: str) -> int | float:
    return int(text) if text.isdecimal() else number(text, "--heldout")


def _free(text: str) -> dict[str, Any]:
    """`NAME=LOW:HIGH`; either bound may be left out."""
    name, equals, bounds = text.partition("=")
    low, colon, high = bounds.partition(":")
    if equals and not colon:
        raise BadOption(f"--free: {text!r} is not of the form NAME=LOW:HIGH.")
    pairs = (("low", low), ("high", high))
    return {"name": name} | {key: number(x, f"--free {name}") for key, x in pairs if x.strip()}


def fitted(study: Study, problem: Problem, asked: Fit) -> int:
    """The search, what it found, and the files of it."""
    from isthmus.study.results import make_folder, write_results
    from isthmus.study.run import search

    make_folder(study, resume=asked.resume, replace=asked.force)
    if not asked.unchecked:
        with working("looking at the problem"):
            found = in_background(problem.check)
        show(*map(_coloured, str(found).splitlines()), "")
    with warnings.catch_warnings(), watching(problem.parameters, islands(study)) as listen:
        warnings.simplefilter("ignore", FitWarning)  # the table says the same
        fit = search(study, problem, resume=asked.resume, listen=listen)
    show(*map(_coloured, str(fit).splitlines()))
    with working("writing results"):
        written = write_results(study, problem, fit)
    print(f"wrote {study.folder}: {', '.join(path.name for path in written.files)}")
    for text in written.failed:
        say(f"not written: {text}")
    return status_of(fit, bool(written.failed))


def islands(study: Study) -> int:
    """How many points the search moves at once."""
    return getattr(study.search, "islands", 1)


def status_of(fit: Found, failed: bool) -> int:
    """130 where the user stopped it, 1 where it did not converge or a file is missing."""
    from isthmus.identify.search.search import Status

    if fit.status == Status.INTERRUPTED.value:
        say("stopped by Ctrl-C; the best so far is written, --resume goes on.")
        return 130
    return 0 if fit.status == Status.CONVERGED.value and not failed else 1


def _coloured(line: str) -> Any:
    from rich.text import Text

    text = Text(line)
    text.highlight_regex(r"^(warning|correlated):", "yellow")
    text.highlight_regex(r"^(link|joint|stretch|point|gravity|offset|delay)\S*", "cyan")
    return text
