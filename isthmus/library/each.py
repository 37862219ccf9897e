"""Options of the library's models that are one number for all parts, or one for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.errors import BadOption


def is_row(x: Any) -> bool:
    """A list (of numbers that may be traced) or an array, not one number."""
    return isinstance(x, list | tuple) or np.ndim(x) > 0


def one_for_each(name: str, x: Any, count: int, parts: str) -> Any:
    """`x` where it is one number for each of `count` parts, or `count` times the one number."""
    if not is_row(x):
        return [x] * count
    if len(x) != count:
        raise BadOption(f"{name} has {len(x)} numbers for {count} {parts}.")
    return x
