"""Public names of later packages, for methods that hand over to them, such as `Fit.discover`.

A package imports only from those before it. The roof, `isthmus/__init__.py`, knows all public names and how each is
loaded; it says so here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_loaders: list[Callable[[str], Any]] = []


def load_by(loader: Callable[[str], Any]) -> None:
    """Says how public names are loaded."""
    _loaders[:] = [loader]


def public(name: str) -> Any:
    """The public name of isthmus, loaded now."""
    return _loaders[0](name)
