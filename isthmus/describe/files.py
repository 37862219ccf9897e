"""Finding and reading the files of a description; what is missing is named with its neighbour."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from isthmus.errors import BadFile, BadOption, MissingFile, did_you_mean

PathLike = str | os.PathLike[str]
MJCF_ROOTS = ("mujoco", "mujocoinclude")
"""The first elements of MJCF files."""


def read_bytes(path: PathLike) -> bytes:
    """What stands in the file."""
    if not isinstance(path, (str, os.PathLike)):
        raise BadOption(f"a path is text or a pathlib.Path, but this is {type(path).__name__}.")
    try:
        file = Path(path)
        if file.is_dir():
            raise BadFile(f"{str(path)!r} is a folder, not a file.")
        return file.read_bytes()
    except FileNotFoundError:
        raise MissingFile(f"there is no file {str(path)!r}.{_neighbour(Path(path))}") from None
    except (OSError, ValueError) as failed:
        if isinstance(failed, BadFile):
            raise
        reason = failed.strerror if isinstance(failed, OSError) else str(failed)
        raise BadFile(f"{str(path)!r} cannot be read: {reason}.") from None


def root_tag(data: bytes) -> str | None:
    """The first element of an XML text, sound or not; None where it has none."""
    text = re.sub(rb"<!--.*?-->|<\?.*?\?>|<![^>]*>", b"", data, flags=re.DOTALL)
    found = re.search(rb"<([A-Za-z_][\w.:-]*)", text)
    return found[1].decode() if found else None


def _neighbour(path: Path) -> str:
    """The nearest name in the same folder, or that there is no such folder."""
    if not path.parent.is_dir():
        return f" There is no folder {str(path.parent)!r} either."
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())
    except OSError:  # a folder that we may not look into
        return ""
    alike = [name for name in names if Path(name).suffix == path.suffix] or names
    return did_you_mean(path.name, alike)


def find_file(name: str, folder: PathLike, packages: Sequence[PathLike] = ()) -> Path | None:
    """The file that a description in `folder` calls `name`; None if it is nowhere.

    `package://NAME/…` and `model://NAME/…` are looked for in `packages`, in the folders above the
    description, in ROS_PACKAGE_PATH and in AMENT_PREFIX_PATH; `file://…` and plain paths are taken
    as they are.
    """
    try:
        found = (path for path in _candidates(name, Path(folder), packages) if path.is_file())
        return next(found, None)
    except (OSError, ValueError):  # a name that the system cannot even look up
        return None


def _candidates(name: str, folder: Path, packages: Sequence[PathLike]) -> Iterator[Path]:
    scheme, _, rest = name.replace("\\", "/").rpartition("://")
    if scheme in ("package", "model"):
        package, _, inner = rest.partition("/")
        above = [folder.absolute(), *folder.absolute().parents]
        for home in [*map(Path, packages), *above, *_listed("ROS_PACKAGE_PATH")]:
            if home.name == package:
                yield home / inner
            yield home / package / inner
        yield from (home / "share" / package / inner for home in _listed("AMENT_PREFIX_PATH"))
        yield from (home / inner for home in above[:-1])  # the package's folder was renamed
    else:
        yield folder / rest
        yield folder / unquote(rest)


def _listed(variable: str) -> Iterable[Path]:
    return map(Path, filter(None, os.environ.get(variable, "").split(os.pathsep)))
