"""FILE -> ist.Model: a file, or `library:NAME`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

import isthmus as ist
from isthmus.errors import BadFile, BadOption

LARGEST = 256 * 2**20
"""Bytes of a description; meshes are files of their own."""

Base = Literal["fixed", "free"]
Repair = Literal["none", "nearest"]
Packages = Annotated[tuple[str, ...], arg(metavar="FOLDER …", help_behavior_hint="")]


def load_model(
    file: str,
    base: Base = "fixed",
    repair: Repair = "none",
    ground: float | None = None,
    packages: Sequence[str] = (),
) -> ist.Model:
    """The model that FILE names."""
    from isthmus.library.shipped import PREFIX, shipped  # loads the array libraries

    if file.startswith(PREFIX):
        if (base, repair, ground, tuple(packages)) != ("fixed", "none", None, ()):
            raise BadOption(
                "--base, --repair, --ground and --packages are for files; models of the library stay as they are."
            )
        return shipped(file.removeprefix(PREFIX))
    if not file.strip():
        raise BadOption("FILE is empty; it is a URDF or MJCF file, a saved model, or library:NAME.")
    _refuse_what_is_no_description(file)
    return ist.load(file, base, repair=repair, ground=ground, packages=packages)


def _refuse_what_is_no_description(file: str) -> None:
    """Refuses devices, pipes and huge files without reading them; the reader checks everything else."""
    path = Path(file)
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise BadFile(f"{file!r} is a device or a pipe, not a file.")
        if path.is_file() and (size := path.stat().st_size) > LARGEST:
            raise BadFile(
                f"{file!r} has {size / 2**20:.0f} MiB; a description has at most {LARGEST // 2**20}."
            )
    except (OSError, ValueError) as failed:
        if isinstance(failed, BadFile):
            raise
        raise BadFile(f"{file!r} cannot be read: {failed}.") from None
