"""`Shown`: objects that a notebook shows, by code that stands behind them in the data flow."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Shown:
    """For classes whose objects a notebook shows: their text, and the figure of their method `plot` or `draw`.

    `isthmus.notebook` makes the HTML; a class that wants more than that has its own function there.
    """

    def _repr_html_(self) -> str:
        return behind("notebook.html").html_of(self)


def behind(module: str) -> Any:
    """A module of isthmus that uses the caller's, for methods such as `Fit.report` that users expect on an object."""
    return import_module(f"isthmus.{module}")
