"""`isthmus predict`: a saved fit judged by other logs; a table, a picture and a JSON file."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from isthmus.cli.output import Refused
from isthmus.errors import BadFile, BadOption

NEEDS = "'isthmus predict' needs a folder that 'isthmus fit' wrote, and logs: isthmus predict fit logs/*.csv."
NUMBERS, PICTURE = "predict.json", "predict.png"


@dataclasses.dataclass(frozen=True)
class Predict:
    """Predicts logs with a saved fit: errors beside those of the unfitted model and of "nothing moves"."""

    files: Annotated[Positional[tuple[str, ...]], arg(metavar="FIT LOG …")] = ()
    """The folder of a fit, then logs: files or folders. They are read as the study of the fit says."""
    start: Annotated[int, arg(metavar="N")] = 4
    """Rows at the beginning of each window from which its start is estimated, with the model; 0: as measured."""
    json: bool = False
    """Print all numbers as JSON instead of the table."""
    out: Annotated[str, arg(metavar="PATH", help_behavior_hint="")] = ""
    """Where to write: the folder of picture and numbers; predict unless given."""
    replace: bool = False
    """Replace what is there."""

    def run(self) -> int:
        """Judges, prints the table, writes the folder."""
        if len(self.files) < 2:
            raise Refused(NEEDS)
        if self.start < 0:
            raise BadOption(f"--start must be a whole number from 0, not {self.start}.")
        folder = Path(self.out or "predict")
        old = [folder / name for name in (NUMBERS, PICTURE) if (folder / name).exists()]
        if old and not self.replace:
            raise BadFile(
                f"{str(old[0])!r} exists: --replace overwrites it, --out FOLDER puts the new one elsewhere."
            )
        from isthmus.cli.predicting import predict_logs  # loads the array libraries

        return predict_logs(self.files[0], self.files[1:], self.start, folder, as_json=self.json)
