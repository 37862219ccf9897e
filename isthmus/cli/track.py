"""`isthmus track`: numbers of a robot followed along a log; a table, a picture and a csv file."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from isthmus.cli.models import Base
from isthmus.cli.output import Refused
from isthmus.cli.simulate import Integrator
from isthmus.errors import BadFile

NEEDS = "'isthmus track' needs a robot, a log and numbers: isthmus track robot.urdf log.csv --free link/payload/mass."
TABLE, PICTURE = "track.csv", "track.png"


@dataclasses.dataclass(frozen=True)
class Track:
    """Follows numbers of a robot along a log, sample by sample, and tells where they changed suddenly."""

    files: Annotated[Positional[tuple[str, ...]], arg(metavar="ROBOT LOG")] = ()
    """The robot (a file or library:NAME), and a log with positions and commands."""
    free: Annotated[tuple[str, ...], arg(metavar="NAME …", help_behavior_hint="")] = ()
    """What is followed: link/payload/mass, joint/*/damping …"""
    noise: Annotated[str, arg(metavar="NUMBERS", help_behavior_hint="")] = ""
    """Standard deviations of what is measured: joint/position=1e-3,joint/velocity=1e-2; unless given, estimated from
    the log."""
    drift: Annotated[str, arg(metavar="NUMBERS", help_behavior_hint="")] = ""
    """How far numbers usually change in a second: a number, or link/payload/mass=0.01; unless given, by a hundredth of
    their size."""
    alarm: Annotated[float, arg(metavar="NUMBER")] = 4.5
    """Averaged innovations beyond so many standard deviations raise an alarm; more, where many numbers are measured."""
    integrator: Integrator = "semi_implicit"
    """How time is stepped."""
    base: Base = "fixed"
    """Whether the root link of a URDF is welded to the world or moves freely."""
    out: Annotated[str, arg(metavar="FOLDER", help_behavior_hint="")] = "track"
    """Where to write."""
    replace: bool = False
    """Replace what is there."""

    def run(self) -> int:
        """Follows, prints the table, writes the files."""
        if len(self.files) != 2 or not self.free:
            raise Refused(NEEDS)
        folder = Path(self.out)
        old = [folder / name for name in (TABLE, PICTURE) if (folder / name).exists()]
        if old and not self.replace:
            raise BadFile(
                f"{str(old[0])!r} exists: --replace overwrites it, --out FOLDER puts the new one elsewhere."
            )
        from isthmus.cli.tracking import track_log  # loads the array libraries

        return track_log(self, folder)
