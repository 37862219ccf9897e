"""`load`: a file -> Model, by what the file is: a description, or a model that `save` wrote."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from isthmus import describe
from isthmus.describe.files import MJCF_ROOTS, read_bytes, root_tag
from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.files import SUFFIX
from isthmus.files.touching import ContactLike, GroundLike, with_contact_of_file
from isthmus.model.compile import model_of
from isthmus.model.contacts import Ground
from isthmus.model.model import Model
from isthmus.model.pairs import PairsLike
from isthmus.model.source import SourceFile


@check_arguments
def load(
    path: str | os.PathLike[str],
    base: Literal["fixed", "free"] = "fixed",
    *,
    ground: GroundLike = None,
    contact: ContactLike = None,
    pairs: PairsLike = (),
    repair: Literal["none", "nearest"] = "none",
    packages: Sequence[str | os.PathLike[str]] = (),
    networks: Mapping[str, Any] | None = None,
) -> Model:
    """The model in a file: URDF, MJCF, or what `ist.save` wrote; its content, not its name, says which.

    `base`: whether the root link of a URDF is welded to the world or moves freely in it. An MJCF
    file says that itself: there `free` is refused where nothing hangs by a free joint. `ground`:
    True for a plane at z = 0, its height [m], or an `ist.Ground`. `contact`: how shapes touch planes
    of the world: as in `ist.with_contact`; True: by impulses, the shapes of links that carry no other
    link with shapes; None: so where `ground` is given, as the file says where `ist.export_mjcf` wrote
    contact into it, else not at all; False: not at all. `pairs`: shapes that touch each other, as in
    `ist.with_contact`, besides the pairs of an MJCF file. `repair="nearest"` replaces impossible
    inertias by the nearest possible ones. `packages`: folders in which `package://` paths of a URDF
    are looked for, besides those around the file. MJCF needs MuJoCo (extra `mjcf`), which compiles it.

    `networks`: classes and functions of your own that the networks of a saved model are made of, by
    their names: `networks={"MyNet": MyNet}`. No code comes from the file.
    """
    data = read_bytes(path)
    if not _is_saved(path, data):
        flat = None if isinstance(ground, Ground) else ground
        folder = os.path.abspath(Path(path).parent)
        if root_tag(data) in MJCF_ROOTS:
            found = describe.read_mjcf(path, data=data, base=base, ground=flat, repair=repair)
            source = SourceFile(data, "mjcf", base, folder)
        else:
            place = {"source": os.fspath(path), "folder": Path(path).parent}
            found = describe.parse_urdf(
                data, **place, base=base, ground=flat, repair=repair, packages=packages
            )
            homes = tuple(os.path.abspath(home) for home in packages)
            source = SourceFile(data, "urdf", base, folder, homes)
        model = dataclasses.replace(model_of(found), source=source)
        return with_contact_of_file(model, found, ground, contact, pairs)
    given = base, ground, contact, bool(pairs), repair, tuple(packages)
    if given != ("fixed", None, None, False, "none", ()):
        raise BadOption(
            f"{str(path)!r} is a saved model, which stays as it is: base, ground, contact, pairs, repair and packages "
            "are for URDF and MJCF."
        )
    from isthmus.files.save import read_bundle  # most files are no saved models

    return read_bundle(data, networks or {}, str(path))


def _is_saved(path: str | os.PathLike[str], data: bytes) -> bool:
    """Whether the file is called so, or begins as safetensors do: the length of a header, and the header."""
    if Path(path).suffix.lower() == SUFFIX:
        return True
    return data[8:9] == b"{" and int.from_bytes(data[:8], "little") < 2**32
