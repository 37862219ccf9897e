"""`isthmus demo`: the main job on data that it makes itself."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from tyro.conf import arg

from isthmus.cli.output import in_background, opened, say, working
from isthmus.disk import made_folder


@dataclasses.dataclass(frozen=True)
class Demo:
    """Makes noisy logs of a double pendulum, fits it, learns its friction, and opens the report: about a minute."""

    out: Annotated[str, arg(metavar="PATH")] = "out"
    """Where to write: the folder of the table, the picture, the report and the model."""
    quick: bool = False
    """Less data: some seconds less, and rougher numbers."""
    no_open: bool = False
    """Do not open the report in a browser."""

    def run(self) -> int:
        """Fits, prints the table, writes the folder."""
        import matplotlib

        from isthmus.experiments import demo

        matplotlib.use("Agg")  # files, no window
        folder = made_folder(self.out)
        with working("fitting a double pendulum"):
            in_background(lambda: demo.run(folder, self.quick, say), float64=False)
        print((folder / "identify.txt").read_text(encoding="utf-8"))
        print(f"wrote {folder}: identify.png, identify.txt, report.html, pendulum.safetensors")
        if not self.no_open:
            opened(folder / "report.html")
        return 0
