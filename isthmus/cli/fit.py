"""`isthmus fit`: recorded motion -> parameters, from a study file or from a robot and its logs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from isthmus.cli.models import Base, Packages, Repair
from isthmus.cli.numbers import number
from isthmus.cli.output import Refused, target
from isthmus.errors import BadFile, BadOption

OF_STUDIES = ("files", "out", "resume", "replace", "no_check", "init")
"""What may be said beside a study file; the rest stands in it."""
OF_INIT = ("files", "out", "replace", "no_check", "init", "base", "repair", "packages")
"""What may be said with --init; the rest is written into the study."""
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
    packages: Packages = ()
    """Folders in which meshes of a URDF (package://…) are looked for."""
    out: Annotated[str, arg(metavar="PATH", help_behavior_hint="")] = ""
    """Where to write: the folder of results instead of the study's; with --init the study file, or a folder for it."""
    init: bool = False
    """Look at robot and logs and write a study file with comments."""
    resume: bool = False
    """Go on from what the folder of results holds."""
    replace: bool = False
    """Replace what is there: results, or with --init the study file."""
    no_check: bool = False
    """Do not check the problem before the search."""

    def run(self) -> int:
        """Checks the problem, searches, prints the result and writes it."""
        if not self.files:
            raise Refused(NEEDS)
        if self.init:
            return self._begin()
        given = self._given()
        from isthmus.cli.fitting import fit_study  # loads the array libraries

        return fit_study(
            given, out=self.out, resume=self.resume, replace=self.replace, check=not self.no_check
        )

    def _begin(self) -> int:
        if self.files[0].endswith(".toml"):
            raise BadOption("--init takes a robot and its logs, and writes the study itself.")
        for field in dataclasses.fields(self):
            if field.name not in OF_INIT and getattr(self, field.name) != field.default:
                option = field.name.replace("_", "-")
                raise BadOption(f"--init does not take --{option}: write it into the study file.")
        path = target(self.out, "study.toml")
        if path.exists() and not self.replace:
            raise BadFile(f"{str(path)!r} exists; --replace overwrites it.")
        from isthmus.cli.fitting import write_study  # loads the array libraries
        from isthmus.disk import check_target

        check_target(path, (".toml",))
        options = {"base": self.base, "repair": self.repair, "packages": self.packages}
        write_study(self.files[0], self.files[1:], path, **options)
        print(f"wrote {path}\nlook at it, then: isthmus fit {path}")
        return 0

    def _given(self) -> Path | dict[str, Any]:
        """The study file, or the arguments as a table."""
        if Path(self.files[0]).suffix.lower() != ".toml":
            return self._table()
        self._refuse_what_stands_in_the_file()
        return Path(self.files[0])

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
        table |= {"packages": list(self.packages)} if self.packages else {}
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
