"""A description (URDF, MJCF) -> Model, by what the file is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from isthmus.describe.files import read_bytes
from isthmus.describe.mjcf import ROOTS, read_mjcf, root_tag
from isthmus.describe.urdf import read_urdf
from isthmus.model.compile import compile_model
from isthmus.model.model import Model


def load_description(
    path: str | os.PathLike[str],
    base: Literal["fixed", "free"] = "fixed",
    *,
    ground: bool | float | int | None = None,
    repair: Literal["none", "nearest"] = "none",
    packages: Sequence[str | os.PathLike[str]] = (),
) -> Model:
    """The mechanism that a URDF or MJCF file describes; its root element, not its name, says which.

    `base`: whether the root link of a URDF is welded to the world or moves freely in it. An MJCF
    file says that itself: there `free` is refused where nothing hangs by a free joint. `ground`:
    True for a plane at z = 0, or its height [m]. `repair="nearest"` replaces impossible inertias by
    the nearest possible ones. `packages`: folders in which `package://` paths of a URDF are looked
    for, besides those around the file. MJCF needs MuJoCo (extra `mjcf`), which compiles it.
    """
    if root_tag(read_bytes(path)) in ROOTS:
        found = read_mjcf(path, base=base, ground=ground, repair=repair)
    else:
        found = read_urdf(path, base=base, ground=ground, repair=repair, packages=packages)
    return compile_model(found)
