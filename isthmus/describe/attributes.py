"""Numbers out of XML attributes: text that is none is a fault, named with its owner and line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from isthmus.describe.description import Frame
from isthmus.describe.notes import Notes
from isthmus.describe.poses import quaternion_of_rpy
from isthmus.describe.xml_lines import Element

ZERO3 = (0.0, 0.0, 0.0)


class Attributes:
    """Reads the numbers of one named thing; faulty ones come back as a harmless stand-in."""

    def __init__(self, owner: str, notes: Notes) -> None:
        self.owner = owner
        self.notes = notes

    def number(
        self,
        element: Element | None,
        name: str,
        default: float | None = None,
        *,
        called: str = "",
        infinite: bool = False,
        stand_in: float = 1.0,
    ) -> float:
        """One number, finite unless `infinite` is allowed; without a `default` it must be there."""
        text = element.attributes.get(name) if element is not None else None
        called = called or name
        if text is None and default is not None:
            return default
        if text is None:
            self._fault(f"{called} of {self.owner} is missing", element)
            return stand_in
        value = parsed(text)
        if value is None or not (math.isfinite(value) or (infinite and not math.isnan(value))):
            self._fault(
                f"{called} of {self.owner} is {text!r}; it must be a finite number", element
            )
            return stand_in
        return value

    def vector(
        self, element: Element | None, name: str, default: Sequence[float], *, called: str = ""
    ) -> tuple[float, ...]:
        """As many finite numbers as `default` has."""
        text = element.attributes.get(name) if element is not None else None
        if text is None:
            return tuple(default)
        values = [parsed(word) for word in text.split()]
        finite = [value for value in values if value is not None and math.isfinite(value)]
        if len(finite) == len(values) == len(default):
            return tuple(finite)
        count = f"it must be {len(default)} finite numbers"
        self._fault(f"{called or name} of {self.owner} is {text!r}; {count}", element)
        return tuple(default)

    def frame(self, element: Element | None) -> Frame:
        """The `<origin>` of a joint, inertia or shape."""
        origin = element.first("origin") if element is not None else None
        position = self.vector(origin, "xyz", ZERO3, called="origin xyz")
        if origin is not None and "quat_xyzw" in origin.attributes:
            x, y, z, w = self.vector(origin, "quat_xyzw", (*ZERO3, 1.0), called="origin quat_xyzw")
            return Frame(position, (w, x, y, z))
        rpy = self.vector(origin, "rpy", ZERO3, called="origin rpy")
        return Frame(position, quaternion_of_rpy(*rpy))

    def _fault(self, sentence: str, element: Element | None) -> None:
        self.notes.fault(sentence, element.line if element is not None else None)


def parsed(text: str) -> float | None:
    """The number that `text` spells, or None."""
    if "_" in text:  # Python alone reads 1_000 as a number
        return None
    try:
        return float(text)
    except ValueError:
        return None
