"""A decorator for public functions of the dynamics: full precision on every device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import jax

from isthmus.model.model import Model
from isthmus.spatial.constants import fresh

P = ParamSpec("P")
R = TypeVar("R")


def exact(f: Callable[P, R]) -> Callable[P, R]:
    """`f` with matrix products at full precision (GPUs would round to ten bits) and fresh constants in its model."""

    @functools.wraps(f)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.default_matmul_precision("highest"):
            given: Any = [fresh(a) if isinstance(a, Model) else a for a in args]
            return f(*given, **kwargs)

    return wrapped
