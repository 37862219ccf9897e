"""`isthmus randomise`: models drawn from a saved fit or posterior, as URDF or MJCF files with an index."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from isthmus.cli.output import Refused


@dataclasses.dataclass(frozen=True)
class Randomise:
    """Robots that all agree with the data, drawn from a saved posterior or from the errors of a saved fit."""

    file: Annotated[Positional[str], arg(metavar="FOLDER")] = ""
    """Of 'isthmus posterior' or 'isthmus fit'."""
    count: Annotated[int, arg(metavar="N")] = 100
    """How many."""
    to: Literal["urdf", "mjcf"] = "urdf"
    """Format of the files."""
    out: Annotated[str, arg(metavar="FOLDER", help_behavior_hint="")] = "models"
    """Where to write the files and index.csv."""
    seed: Annotated[int, arg(metavar="N")] = 0
    """Of what is drawn from a fit."""

    def run(self) -> int:
        """Draws and writes."""
        if not self.file:
            raise Refused(
                "'isthmus randomise' needs the folder of a fit or posterior: isthmus randomise fit."
            )
        from isthmus.cli.sampling import write_models  # loads the array libraries

        return write_models(Path(self.file), self.count, self.to, Path(self.out), self.seed)
