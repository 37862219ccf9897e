"""`isthmus posterior`: what the logs of a study leave open, as samples of its free numbers."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from isthmus.cli.output import Refused

Method = Literal["laplace", "smc", "nuts", "mixture"]


@dataclasses.dataclass(frozen=True)
class Posterior:
    """Samples of the free numbers of a study that agree with its logs: means, intervals, modes.

    Writes posterior.json, posterior.npz, model.safetensors and posterior.html. Ctrl-C keeps the finished samples.
    """

    study: Annotated[Positional[str], arg(metavar="STUDY.toml")] = ""
    """A study file, as of 'isthmus fit'."""
    method: Method = "laplace"
    """Normals around minima with importance resampling, sequential Monte Carlo, the no-U-turn sampler, or a mixture."""
    out: Annotated[str, arg(metavar="FOLDER", help_behavior_hint="")] = "posterior"
    """Where to write."""
    resume: bool = False
    """Go on from what the folder holds."""
    replace: bool = False
    """Replace what the folder holds."""

    def run(self) -> int:
        """Samples, prints the table, and writes the files."""
        if Path(self.study).suffix.lower() != ".toml":
            raise Refused("'isthmus posterior' needs a study file: isthmus posterior study.toml.")
        from isthmus.cli.sampling import sample_study  # loads the array libraries

        return sample_study(
            Path(self.study), self.method, Path(self.out), resume=self.resume, replace=self.replace
        )
