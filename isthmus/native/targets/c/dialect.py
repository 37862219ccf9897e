"""What tells C-like languages apart. Statements and formulas are the same in all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

from isthmus.native.targets.c.expressions import Expression


class Place(NamedTuple):
    """Where the numbers of a buffer are."""

    name: str
    form: str = "array"
    """`array`, `pointer` (to one number) or `value` (one number itself)."""


TYPES = {
    64: {"f": "double", "i": "int64_t", "b": "bool"},
    32: {"f": "float", "i": "int32_t", "b": "bool"},
}
"""Width of the program -> kind of a number -> its type."""


@dataclasses.dataclass(frozen=True)
class Dialect:
    """A C-like language: one instance for each. `C99` is below; another needs nothing but its own record."""

    name: str
    includes: tuple[str, ...] = ("<math.h>",)
    helper: str = "static"
    """What stands before the functions that the text defines for itself."""
    table: str = "static const"
    """What stands before constant arrays."""
    result: str = "void"
    """What stands before the name of the function itself."""
    parameters: tuple[str, ...] = ()
    """Parameters of every function, behind its arrays."""
    opening: tuple[str, ...] = ()
    """The first statements of every function."""
    index: Callable[[Expression], str] | None = None
    """Where entry `k` of one world lies in an array that holds many worlds; None: a call is for one world.

    With many worlds, every argument is an array, scratch included; with one, numbers go by value and scratch
    arrays are members of a struct.
    """

    def place(self, name: str, shape: tuple[int, ...], out: bool) -> Place:
        """Where an argument is."""
        if self.index is not None or shape:
            return Place(name)
        return Place(name, "pointer" if out else "value")

    def declaration(self, place: Place, kind: str, size: int, out: bool) -> str:
        """An argument as a parameter of the function, its numbers of the type `kind`."""
        if place.form == "value":
            return f"{kind} {place.name}"
        if place.form == "pointer":
            return f"{kind} *{place.name}"
        constant = "" if out else "const "
        if self.index is not None:
            return f"{constant}{kind} *{place.name}"
        return f"{constant}{kind} {place.name}[{size}]"

    def scratch(self, name: str) -> Place:
        """Where a scratch array is."""
        return Place(name if self.index is not None else f"work->{name}")

    def entry(self, array: str, at: Expression) -> str:
        """Entry `at` of an array of this world."""
        return f"{array}[{at.text if self.index is None else self.index(at)}]"


C99 = Dialect("C99")
