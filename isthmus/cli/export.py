"""`isthmus export`: a robot as C, URDF or MJCF."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

import isthmus as ist
from isthmus.cli.models import Base, Contacts, Height, Packages, Pairs, Repair, load_model
from isthmus.cli.numbers import positive
from isthmus.cli.output import in_background, target, working
from isthmus.cli.simulate import MAX_SUBSTEPS, Integrator
from isthmus.disk import safe_stem
from isthmus.errors import BadFile, BadOption

To = Literal["c", "urdf", "mjcf"]


@dataclasses.dataclass(frozen=True)
class Export:
    """A robot as C for its controller (--to c: its step, header and a test program), as URDF or as MJCF."""

    file: Annotated[Positional[str], arg(metavar="FILE")]
    """URDF or MJCF file, a saved model, the folder of a fit, or library:NAME."""
    to: To
    """What to write."""
    out: Annotated[str, arg(metavar="PATH", help_behavior_hint="")] = ""
    """Where to write: a file, or a folder for a file with the robot's name; the current folder unless given."""
    name: Annotated[str, arg(metavar="NAME", help_behavior_hint="")] = ""
    """Of the C function; without it, that of the robot and _step."""
    dt: Annotated[float, arg(metavar="S")] = 1e-3
    """Length of the step [s]."""
    parameters: Literal["baked", "arguments"] = "baked"
    """Whether dt, masses, lengths … are constants of the C code, or arguments."""
    integrator: Integrator = "semi_implicit"
    """How time is stepped."""
    explicit: bool = False
    """Take joint friction and stops explicitly too."""
    substeps: Annotated[int, arg(metavar="N")] = 1
    """Parts of each step."""
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
    """Folders in which meshes of a URDF (package://…) are looked for."""

    def run(self) -> int:
        """Writes it, and says what was written."""
        self._refuse_what_is_for_c()
        model = load_model(
            self.file, self.base, self.repair, self.ground, self.packages, self.contact, self.pair
        )
        for line in WRITERS[self.to](self, model):
            print(line)
        return 0

    def _refuse_what_is_for_c(self) -> None:
        for field in dataclasses.fields(self):
            if self.to != "c" and field.name in OF_C and getattr(self, field.name) != field.default:
                raise BadOption(f"--{field.name} says how to step, which is for --to c only.")


OF_C = ("name", "dt", "parameters", "integrator", "explicit", "substeps")
"""Options that say how the C function steps."""


def write_c(asked: Export, model: ist.Model) -> list[str]:
    """Writes the step as C; returns lines that say what was written and how to try it."""
    from isthmus.native.runtime.to_c import check_path
    from isthmus.native.targets.c.names import identifier

    positive(asked.dt, "--dt")
    if not 1 <= asked.substeps <= MAX_SUBSTEPS:
        raise BadOption(f"--substeps must be from 1 to {MAX_SUBSTEPS}, not {asked.substeps}.")
    file = check_path(target(asked.out, f"{asked.name or identifier(f'{model.name}_step')}.c"))
    options: dict[str, Any] = {
        "dt": asked.dt, "name": asked.name or None, "parameters": asked.parameters,
        "integrator": asked.integrator, "explicit": asked.explicit, "substeps": asked.substeps,
    }  # fmt: skip
    with working(f"writing {file}"):
        code = in_background(lambda: ist.export_c(model, file, **options))
    test = file.with_name(f"{file.stem}_main.c")
    lines = len(code.source.splitlines())
    return [
        f"wrote {file} ({code.name}: {lines} lines), {file.with_suffix('.h')} and {test}",
        f"try it: cc -std=c99 -O2 -o {file.stem} {file} {test} -lm && ./{file.stem}",
    ]


def write_urdf(asked: Export, model: ist.Model) -> list[str]:
    """Writes the mechanism as URDF."""
    return _write(ist.export_urdf, ".urdf", asked, model)


def write_mjcf(asked: Export, model: ist.Model) -> list[str]:
    """Writes the mechanism as MJCF."""
    return _write(ist.export_mjcf, ".xml", asked, model)


def _write(export: Callable[..., None], ending: str, asked: Export, model: ist.Model) -> list[str]:
    path = target(asked.out, f"{safe_stem(model.name)}{ending}")
    if path.exists() and Path(asked.file).exists() and path.samefile(asked.file):
        raise BadFile(
            f"{str(path)!r} would overwrite the file it is made from: --out says where else."
        )
    export(model, path, repair=asked.repair)
    return [f"wrote {path}", f"look at it: isthmus info {path}"]


WRITERS: dict[str, Callable[[Export, ist.Model], list[str]]] = {
    "c": write_c, "urdf": write_urdf, "mjcf": write_mjcf
}  # fmt: skip
"""What can be written, and by whom."""
