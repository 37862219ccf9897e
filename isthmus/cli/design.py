"""`isthmus design`: a motion that determines numbers of a robot well, as a csv file."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from isthmus.cli.models import Base, load_model
from isthmus.cli.numbers import named_or_number
from isthmus.cli.output import in_background, show, target, working
from isthmus.errors import BadFile

KINDS = ("position", "velocity", "acceleration", "torque")


@dataclasses.dataclass(frozen=True)
class Design:
    """Designs a motion within limits that determines masses and inertias, or the numbers --free, best."""

    file: Annotated[Positional[str], arg(metavar="FILE")]
    """URDF or MJCF file, a saved model, the folder of a fit, or library:NAME."""
    free: Annotated[tuple[str, ...], arg(metavar="NAME …", help_behavior_hint="")] = ()
    """What is to be determined: link/1/mass, joint/*/damping …; unless given, all that torques determine."""
    seconds: Annotated[float, arg(metavar="S")] = 10.0
    """How long the motion is [s]."""
    harmonics: Annotated[int, arg(metavar="N")] = 5
    """Of the Fourier series of each joint."""
    aim: Literal["D", "E"] = "D"
    """D: small errors; E: a small condition number."""
    starts: Annotated[int, arg(metavar="N")] = 8
    """Searches, of which the best counts."""
    position: Annotated[str, arg(metavar="NUMBERS", help_behavior_hint="")] = ""
    """Ends of travel [rad, m], both ways: 1.5, or elbow=1.5,wrist=2; unless given, those of the file."""
    velocity: Annotated[str, arg(metavar="NUMBERS", help_behavior_hint="")] = ""
    """Largest velocities [rad/s, m/s]; unless given, the whole travel in a second, at most 2."""
    acceleration: Annotated[str, arg(metavar="NUMBERS", help_behavior_hint="")] = ""
    """Largest accelerations; unless given, four times the velocities in a second."""
    torque: Annotated[str, arg(metavar="NUMBERS", help_behavior_hint="")] = ""
    """Largest torques [N·m, N]; unless given, those of the file."""
    base: Base = "fixed"
    """Whether the root link of a URDF is welded to the world or moves freely."""
    out: Annotated[str, arg(metavar="PATH", help_behavior_hint="")] = "exciting.csv"
    """Where to write: a .csv or .npz file, or a folder for exciting.csv."""
    plot: Annotated[str, arg(metavar="PATH", help_behavior_hint="")] = ""
    """A figure too: a file (.png, .svg, .pdf), or a folder for exciting.png."""
    replace: bool = False
    """Replace what is there."""

    def run(self) -> int:
        """Searches, prints the table, writes the motion."""
        from isthmus.disk import check_target
        from isthmus.excitation.design import design  # loads the array libraries
        from isthmus.figures import plot
        from isthmus.motion.files import KINDS as FILES

        data = target(self.out, "exciting.csv")
        picture = target(self.plot, "exciting.png") if self.plot else None
        for path, kinds in ((data, FILES), (picture, plot.KINDS)):
            if path:
                check_target(path, kinds)
                if path.exists() and not self.replace:
                    raise BadFile(
                        f"{str(path)!r} exists: --replace overwrites it, --out PATH puts the new one elsewhere."
                    )
        model = load_model(self.file, self.base)
        given = {kind: named_or_number(f"--{kind}", getattr(self, kind)) for kind in KINDS}
        limits = {kind: value for kind, value in given.items() if value is not None}
        work = lambda: design(
            model,
            list(self.free) or None,
            self.seconds,
            self.harmonics,
            limits,
            self.aim,
            self.starts,
        )
        with working("designing"):
            found = in_background(work)
        show(*str(found).splitlines())
        found.write(data)
        if picture:
            plot.save_figure(found.plot(), picture)
        print(f"wrote {data}" + (f" and {picture}" if picture else ""))
        return 0
