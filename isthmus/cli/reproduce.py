"""`isthmus reproduce`: one of the papers' experiments, numbers and figures in a folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from isthmus.cli.output import in_background, say, working
from isthmus.disk import made_folder


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Repeats an experiment of the papers and sets its numbers beside theirs; without a name, lists them."""

    study: Annotated[Positional[str], arg(metavar="NAME")] = ""
    """swimmer, landscape, spherical …; without it, all are listed."""
    quick: bool = False
    """A small version within seconds; its numbers mean nothing."""
    data: Annotated[str, arg(metavar="FILE", help_behavior_hint="")] = ""
    """A recorded data set, for studies that use one."""
    judge: Annotated[str, arg(metavar="FILE", help_behavior_hint="")] = ""
    """Further recordings to judge models on: those fitted to --data, or without --data those that --out has saved."""
    out: Annotated[str, arg(metavar="PATH", help_behavior_hint="")] = ""
    """Where to write: the folder of tables, figures and numbers; out/NAME unless given."""
    seed: Annotated[int, arg(metavar="N")] = 0
    """Of all that is random."""
    set: Annotated[tuple[str, ...], arg(metavar="NAME=VALUE …")] = ()
    """Options of the study itself, such as media=water5."""

    def run(self) -> int:
        """Runs the study, prints its tables, writes its folder."""
        import matplotlib

        from isthmus.experiments.run import STUDIES, Settings, run, write

        if not self.study:
            for name, text in STUDIES.items():
                print(f"{name:<10} {text}")
            return 0
        matplotlib.use("Agg")  # files, no window
        folder = Path(self.out or Path("out") / self.study)
        settings = Settings(
            self.seed, self.quick, self.data or None, _options(self.set), say, self.judge or None
        )
        with working(f"reproducing {self.study}"):
            result = in_background(lambda: run(self.study, settings, folder), float64=False)
        write(self.study, settings, result, made_folder(str(folder)))
        for part in filter(None, (result, result.judged)):
            for table in part.tables:
                print(f"{table}\n")
            for note in part.notes:
                print(note)
        print(f"wrote {folder}")
        return 0


def _options(pairs: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    from isthmus.errors import BadOption

    if wrong := [pair for pair in pairs if "=" not in pair]:
        raise BadOption(f"--set takes NAME=VALUE, not {wrong[0]!r}.")
    return tuple((name, value) for name, _, value in (pair.partition("=") for pair in pairs))
