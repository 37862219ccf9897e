"""`isthmus view`: a model, a motion or a fit in the browser, or as a page."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from isthmus.cli.models import Base, Contacts, Height, Packages, Pairs, Repair
from isthmus.cli.output import Refused

NEEDS = "'isthmus view' needs a FILE: a URDF or MJCF file, a saved model, library:NAME, or the folder of a fit."


@dataclasses.dataclass(frozen=True)
class View:
    """Shows a model in the browser: its motion, contacts and forces, signals, and sliders for every number."""

    files: Annotated[Positional[tuple[str, ...]], arg(metavar="FILE [MOTION|FIT]")] = ()
    """A model or the folder of a fit; then motions (.npz, .csv, logs), side by side, or the folder of a fit."""
    measured: Annotated[str, arg(metavar="PATH", help_behavior_hint="")] = ""
    """A motion that is drawn over the others as a ghost."""
    save: Annotated[str, arg(metavar="PATH", help_behavior_hint="")] = ""
    """Write one HTML page that needs nothing else, and serve nothing."""
    port: Annotated[int, arg(metavar="N")] = 8080
    """Port of the server; the next free one where it is taken."""
    host: Annotated[str, arg(metavar="ADDRESS")] = "127.0.0.1"
    """Address of the server; 0.0.0.0: other computers can see it too."""
    no_open: bool = False
    """Do not open a browser, as on a robot's computer: the address is printed."""
    base: Base = "fixed"
    """Whether the root link of a URDF is welded to the world or moves freely."""
    ground: Height = None
    """Put a horizontal plane at this height [m], which the model touches."""
    contact: Contacts = ()
    """What touches the ground, and how, as in 'isthmus simulate'."""
    pair: Pairs = ()
    """Shapes that touch each other, as in 'isthmus simulate'."""
    repair: Repair = "none"
    """nearest: replace impossible inertias by the nearest possible ones."""
    packages: Packages = ()
    """Folders in which meshes (package://…) are looked for."""

    def run(self) -> int:
        """Opens the viewer and waits for Ctrl-C, or writes the page."""
        if not self.files or not self.files[0].strip():
            raise Refused(NEEDS)
        from isthmus.cli.viewing import shown, view_files  # loads the array libraries

        model, motion = shown(self, Path(self.files[0]))
        return view_files(model, motion, self.options())

    def options(self) -> dict[str, Any]:
        """Options of `ist.view`."""
        return {
            "packages": self.packages, "save": self.save or None, "port": self.port,
            "host": self.host, "open_browser": not self.no_open, "measured": self.measured,
        }  # fmt: skip
