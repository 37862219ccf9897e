"""FILE -> ist.Model: a file, the folder of a fit, or `library:NAME`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

import isthmus as ist
from isthmus.errors import BadFile, BadOption

LARGEST = 256 * 2**20
"""Bytes of a description; meshes are files of their own."""

FITTED = "model.safetensors"
"""The model in the folder of a fit."""

Base = Literal["fixed", "free"]
Repair = Literal["none", "nearest"]
Packages = Annotated[tuple[str, ...], arg(metavar="FOLDER …", help_behavior_hint="")]
Height = Annotated[float | None, arg(metavar="HEIGHT", help_behavior_hint="")]
Contacts = Annotated[tuple[str, ...], arg(metavar="WHAT …", help_behavior_hint="")]
Pairs = Annotated[tuple[str, ...], arg(metavar="FIRST+SECOND …", help_behavior_hint="")]


def load_model(
    file: str,
    base: Base = "fixed",
    repair: Repair = "none",
    ground: float | None = None,
    packages: Sequence[str] = (),
    contact: Sequence[str] = (),
    pair: Sequence[str] = (),
) -> ist.Model:
    """The model that FILE names."""
    from isthmus.files.touching import with_contact_of_library  # loads the array libraries
    from isthmus.library.shipped import PREFIX, shipped

    touching, pairs = _contact(contact), _pairs(pair)
    if file.startswith(PREFIX):
        if (base, repair, tuple(packages)) != ("fixed", "none", ()):
            raise BadOption(
                "--base, --repair and --packages are for files; models of the library stay as they are."
            )
        return with_contact_of_library(shipped(file.removeprefix(PREFIX)), ground, touching, pairs)
    if not file.strip():
        raise BadOption("FILE is empty; it is a URDF or MJCF file, a saved model, or library:NAME.")
    _refuse_what_is_no_description(file)
    if (fitted := Path(file) / FITTED).is_file():
        file = str(fitted)
    return ist.load(
        file, base, repair=repair, ground=ground, packages=packages, contact=touching, pairs=pairs
    )


def _contact(texts: Sequence[str]) -> Any:
    """One word as it is; texts such as `shapes=*_foot,friction=0.9` as records, checked as those of a study."""
    if not texts or (len(texts) == 1 and "=" not in texts[0]):
        return texts[0] if texts else None
    from isthmus.study.contacts import contact_in  # loads the array libraries

    faults: list[str] = []
    found = contact_in([_table(text) for text in texts], faults, "--contact")
    if faults:
        raise BadOption(" ".join(faults))
    return found


def _pairs(texts: Sequence[str]) -> Any:
    """Texts such as `finger*+cube,friction=0.9` as records, checked as those of a study."""
    if not texts:
        return ()
    from isthmus.study.contacts import pairs_in  # loads the array libraries

    faults: list[str] = []
    tables = []
    for text in texts:
        names, _, numbers = text.partition(",")
        first, plus, second = names.partition("+")
        if not plus and "=" not in names:
            raise BadOption(
                f"--pair {text!r} names no two shapes: write FIRST+SECOND, names or patterns such as 'finger*+cube'."
            )
        named = {"first": first.strip(), "second": second.strip()}
        given = {key: name for key, name in named.items() if name}
        tables.append(given | _table(numbers) if plus else _table(text))
    found = pairs_in(tables, faults, "--pair")
    if faults:
        raise BadOption(" ".join(faults))
    return found


def _table(text: str) -> dict[str, Any]:
    """`shapes=*_foot,friction=0.9` as a table."""
    parts = [part.partition("=") for part in text.split(",")] if text else []
    return {name.strip(): _value(value.strip()) for name, _, value in parts}


def _value(text: str) -> str | int | float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


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
