"""Searches by name: `ist.fit(problem, "lbfgs")`, `search = "basin_hopping"` in a study file."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from isthmus.errors import BadOption, did_you_mean
from isthmus.identify.search.horizon import LengtheningHorizon
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.identify.search.search import AbstractSearch

SEARCHES = {
    "levenberg_marquardt": "LevenbergMarquardt",
    "lbfgs": "LBFGS",
    "adam": "Adam",
    "lengthening_horizon": "LengtheningHorizon",
    "basin_hopping": "BasinHopping",
    "population": "Population",
    "cmaes": "CMAES",
    "sparsify": "Sparsify",
}
"""The class of each search; its module is loaded when the search is wanted."""
HOMES = {"lengthening_horizon": "horizon", "cmaes": "cma"}
"""The modules of searches that are called otherwise."""


def search_class(name: str) -> type[AbstractSearch]:
    """The class of the search `name`, a key of `SEARCHES`."""
    return getattr(
        import_module(f"isthmus.identify.search.{HOMES.get(name, name)}"), SEARCHES[name]
    )


def as_search(given: Any) -> AbstractSearch:
    """A search from itself, from its class or from its name, with the default options."""
    if isinstance(given, str):
        name = given.strip().lower().replace("-", "_").replace(" ", "_")
        if name not in SEARCHES:
            raise BadOption(f"there is no search {given!r}.{did_you_mean(name, SEARCHES)}")
        given = search_class(name)
    if isinstance(given, type) and issubclass(given, AbstractSearch):
        return given(LevenbergMarquardt()) if given is LengtheningHorizon else given()
    if not isinstance(given, AbstractSearch):
        raise BadOption(
            f"search must be a search, such as ist.LevenbergMarquardt(), or its name, not {given!r}."
        )
    return given
