"""Searches by name: `ist.fit(problem, "lbfgs")`, `search = "basin_hopping"` in a study file."""

from __future__ import annotations

from typing import Any

from isthmus.errors import BadOption, did_you_mean
from isthmus.identify.search.adam import Adam
from isthmus.identify.search.basin_hopping import BasinHopping
from isthmus.identify.search.cma import CMAES
from isthmus.identify.search.horizon import LengtheningHorizon
from isthmus.identify.search.lbfgs import LBFGS
from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt
from isthmus.identify.search.population import Population
from isthmus.identify.search.search import AbstractSearch
from isthmus.identify.search.sparsify import Sparsify

SEARCHES: dict[str, Any] = {
    "levenberg_marquardt": LevenbergMarquardt,
    "lbfgs": LBFGS,
    "adam": Adam,
    "lengthening_horizon": LengtheningHorizon,
    "basin_hopping": BasinHopping,
    "population": Population,
    "cmaes": CMAES,
    "sparsify": Sparsify,
}
WRAPS = (LengtheningHorizon, BasinHopping, Population)
"""Searches that need another one inside."""


def as_search(given: Any) -> AbstractSearch:
    """A search from itself, from its class or from its name, with the default options."""
    if isinstance(given, str):
        name = given.strip().lower().replace("-", "_").replace(" ", "_")
        if name not in SEARCHES:
            raise BadOption(f"there is no search {given!r}.{did_you_mean(name, SEARCHES)}")
        given = SEARCHES[name]
    if isinstance(given, type) and issubclass(given, AbstractSearch):
        return given(LevenbergMarquardt()) if given in WRAPS else given()
    if not isinstance(given, AbstractSearch):
        raise BadOption(
            f"search must be a search, such as ist.LevenbergMarquardt(), or its name, not {given!r}."
        )
    return given
