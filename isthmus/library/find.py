"""Robots of an installed `example-robot-data` (extra `models`): found by name, never downloaded."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from isthmus.entry import check_arguments
from isthmus.errors import MissingExtra, UnknownName, did_you_mean


@check_arguments
def find(name: str) -> Path:
    """The URDF file of a robot in `example-robot-data`: `ist.load(ist.library.find("panda"))`."""
    files = _files()
    if name not in files:
        raise UnknownName(
            f"example-robot-data has no robot called {name!r}.{did_you_mean(name, files)}"
        )
    return files[name]


def names() -> list[str]:
    """The names that `find` knows."""
    return sorted(_files())


def _files() -> dict[str, Path]:
    """Every URDF by its name without ending; the folder's name is put before where two share one."""
    found: dict[str, Path] = {}
    robots = _robots()
    for path in sorted(robots.rglob("*.urdf")):
        folder = path.relative_to(robots).parts[0].removesuffix("_description")
        found[f"{folder}/{path.stem}" if path.stem in found else path.stem] = path
    return found


def _robots() -> Path:
    """The folder that holds the robots: the package is files only, no module."""
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        raise MissingExtra("example-robot-data", "models", "Finding a robot by name") from None
    for file in package.files or []:
        if "robots" in file.parts:
            depth = file.parts.index("robots") + 1
            return Path(str(package.locate_file("/".join(file.parts[:depth]))))
    raise UnknownName("the installed example-robot-data holds no robots.")
