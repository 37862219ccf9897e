"""Models of the library by name, as text asks for them: `library:arm`."""

from __future__ import annotations

from isthmus import library
from isthmus.entry import check_arguments
from isthmus.errors import UnknownName, did_you_mean
from isthmus.model.model import Model

PREFIX = "library:"


@check_arguments
def shipped(name: str) -> Model:
    """The model that the library calls `name`, with its usual numbers."""
    known = [entry for entry in library.__all__ if entry not in ("find", "names")]
    if name not in known:
        raise UnknownName(f"the library has no model {name!r}.{did_you_mean(name, known)}")
    return getattr(library, name)()
