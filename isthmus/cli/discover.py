"""`isthmus discover`: where the model of a study lacks something that its logs show."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from isthmus.cli.output import Refused


@dataclasses.dataclass(frozen=True)
class Discover:
    """Names the places where the model of a study lacks something, and the signals that they depend on.

    Writes discovery.json, blueprint.toml, discovery.svg and discovery.html. Ctrl-C keeps the places found so far.
    """

    study: Annotated[Positional[str], arg(metavar="STUDY.toml")] = ""
    """A study file, as of 'isthmus fit'."""
    candidates: Annotated[tuple[str, ...], arg(metavar="TEXT …", help_behavior_hint="")] = ()
    """What is tried: 'joint/*/passive_torque by velocity', 'link/*/inertial' …; all kinds unless given."""
    most: int = 3
    """So many places are named at most."""
    out: Annotated[str, arg(metavar="FOLDER", help_behavior_hint="")] = "discovery"
    """Where to write."""
    resume: bool = False
    """Go on from what the folder holds."""
    replace: bool = False
    """Replace what the folder holds."""

    def run(self) -> int:
        """Searches, prints the table and the sentences, and writes the files."""
        if Path(self.study).suffix.lower() != ".toml":
            raise Refused("'isthmus discover' needs a study file: isthmus discover study.toml.")
        from isthmus.cli.discovering import discover_study  # loads the array libraries

        return discover_study(
            Path(self.study), list(self.candidates) or None, self.most, Path(self.out),
            resume=self.resume, replace=self.replace,
        )  # fmt: skip
