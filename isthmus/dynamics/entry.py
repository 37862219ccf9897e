"""A decorator for functions that users call with arrays: it checks these by what the signature says."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from isthmus.dynamics.exact import exact
from isthmus.entry import check_arguments
from isthmus.model.arguments import check_finite, check_shape
from isthmus.model.arrays import as_floats, is_traced
from isthmus.model.state import State, check_state

P = ParamSpec("P")
R = TypeVar("R")


def entry(f: Callable[P, R]) -> Callable[P, R]:
    """`f`, made `exact`, for arrays of the annotated shapes only; finite ones, where their values are known."""
    kinds = {n: typing.get_args(t) for n, t in inspect.get_annotations(f, eval_str=True).items()}
    dims = _dimensions(kinds)
    signature = inspect.signature(f)
    inner = exact(f)

    @functools.wraps(f)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(*args, **kwargs)
        model, given = bound.arguments["model"], bound.arguments
        known = not is_traced(given)
        for name, shape in dims.items():
            if (value := given.get(name)) is None:
                continue
            if isinstance(value, State) and State in kinds[name]:
                check_state(model, value)
                continue
            given[name] = array = as_floats(name, value)
            check_shape(model, name, array, shape, many="jax.vmap")
            if known:
                check_finite(name, array)
        return inner(*bound.args, **bound.kwargs)

    return check_arguments(wrapped)


def _dimensions(kinds: dict[str, tuple[Any, ...]]) -> dict[str, str]:
    """For each parameter that is an array, its dimensions as annotated: `nq`, `links 6`."""
    found = {n: [k.dim_str for k in kind if hasattr(k, "dim_str")] for n, kind in kinds.items()}
    return {name: dims[0] for name, dims in found.items() if dims and name != "return"}
