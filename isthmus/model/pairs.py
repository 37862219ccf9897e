"""Pairs of shapes that touch each other: how a pair is named, and which pairs a model then has."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import jax.numpy as jnp
import numpy as np

from isthmus.describe.meshes import farthest_corners
from isthmus.describe.notes import say
from isthmus.entry import check_arguments
from isthmus.errors import BadModel, BadOption, DescriptionWarning
from isthmus.model.arrays import is_traced
from isthmus.model.model import Model
from isthmus.types import Number

ContactKind = Literal["impulse", "penalty"]
Rule = Literal["max", "min", "mean"]
RULES: dict[str, Callable[[list[Any]], Any]] = {
    "max": lambda xs: jnp.max(jnp.stack(xs)) if is_traced(xs) else max(xs),
    "min": lambda xs: jnp.min(jnp.stack(xs)) if is_traced(xs) else min(xs),
    "mean": lambda xs: sum(xs[1:], start=xs[0]) / len(xs),
}
"""How a number of a pair comes from those of its two shapes."""
NUMBERS_OF_KIND = {
    "impulse": ("restitution", "restitution_speed", "softness", "erp"),
    "penalty": ("stiffness", "damping", "exponent", "friction_speed", "friction_load"),
}
"""Numbers that only impulses have, and only springs."""
MOST_CORNERS = 32
"""Hulls in pairs have at most so many corners; others are thinned."""


@check_arguments
@dataclasses.dataclass(frozen=True)
class Pair:
    """Two shapes that may touch each other, or all pairs that two patterns pick.

    Numbers that are not given come from the materials (`ist.Contact`) of the two shapes: friction and restitution by
    the rule of `ist.with_contact`, the others from the first shape. All are leaves: `contact/FIRST+SECOND/friction` …
    """

    first: str
    second: str
    kind: ContactKind | None = None
    """How it acts; None: as both shapes touch the ground, or by impulses if they differ."""
    friction: Number | None = None
    restitution: Number | None = None
    restitution_speed: Number | None = None
    """[m/s]"""
    stiffness: Number | None = None
    """[N/m^exponent]"""
    damping: Number | None = None
    """[s/m]"""
    exponent: Number | None = None
    friction_speed: Number | None = None
    """[m/s]"""
    friction_load: Number | None = None
    """[1/N]"""
    softness: Number | None = None
    """[1/kg]"""
    erp: Number | None = None
    radius: Number | None = None
    """Rounding of edges and corners of both shapes [m]."""
    points: Literal[1, 2, 4, 8] = 4
    """Most points of contact; a sphere has one, a capsule two."""


PairsLike = Annotated[
    bool | Pair | Sequence[str] | Sequence[Pair | Sequence[str]],
    "True, an ist.Pair, two names or patterns, or a list of these",
]
"""True: all that the model allows; a record; two names or patterns; or a list of records and of two names."""


def pair_list(model: Model, given: Any) -> tuple[Model, list[tuple[tuple[int, int], Pair]]]:
    """The model, hulls of its pairs thinned; and (shapes, record) of each pair. Of records that name a pair twice, the
    last one counts."""
    found: dict[frozenset[str], tuple[tuple[int, int], Pair]] = {}
    for pair in as_pairs(given):
        named = model.pairs(pair.first, pair.second)
        if not named:
            raise BadModel(
                f"of {model.name!r}, no shapes called {pair.first!r} and {pair.second!r} could touch: they are on one "
                "body or on neighbours, or the file keeps them apart."
            )
        for names in named:
            rows = model.shape_names.index(names[0]), model.shape_names.index(names[1])
            found[frozenset(names)] = (rows, pair)
    pairs = list(found.values())
    return _thinned(model, sorted({s for rows, _ in pairs for s in rows})), pairs


def as_pairs(given: Any) -> list[Pair]:
    """Records of what `pairs` of `ist.with_contact` may be: True, a record, two names, or a list of such."""
    if isinstance(given, bool):
        return [Pair("*", "*")] if given else []
    one = isinstance(given, Pair) or any(isinstance(x, str) for x in given)
    records = [given] if one else given
    return [record if isinstance(record, Pair) else _named(record) for record in records]


def slots(model: Model, first: int, second: int, pair: Pair) -> int:
    """How many contacts a pair has."""
    kinds = {model.shape_kinds[first], model.shape_kinds[second]}
    most = 1 if "sphere" in kinds else 2 if "capsule" in kinds else 8
    return min(most, pair.points)


def _named(names: Any) -> Pair:
    if len(names) != 2:
        raise BadOption(f"pairs: a pair is ist.Pair(first, second) or two names, not {names!r}.")
    return Pair(*names)


def _thinned(model: Model, shapes: list[int]) -> Model:
    """The model whose hulls of these shapes have few corners, with a warning that says so."""
    spans = model.shape_spans
    long = [s for s in shapes if spans[s][1] - spans[s][0] > MOST_CORNERS]
    if not long or is_traced(model.shape_points):
        return model
    parts = [np.asarray(model.shape_points)[slice(*span)] for span in spans]
    for s in long:
        parts[s] = farthest_corners(parts[s], MOST_CORNERS)
    names = ", ".join(repr(model.shape_names[s]) for s in long)
    warnings.warn(
        f"the convex hull of {names} was thinned to {MOST_CORNERS} corners, since it touches other bodies.",
        DescriptionWarning,
        stacklevel=4,
    )
    ends = np.cumsum([len(part) for part in parts]).tolist()
    return dataclasses.replace(
        model,
        shape_points=np.concatenate(parts),
        shape_spans=tuple((end - len(part), end) for end, part in zip(ends, parts, strict=True)),
    )


def warn_of_idle_numbers(pair: Pair, kinds: set[str]) -> None:
    """Names numbers of a pair that none of its contacts has; `kinds` are how these act."""
    if len(kinds) > 1:
        return
    (other,) = NUMBERS_OF_KIND.keys() - kinds
    if idle := [name for name in NUMBERS_OF_KIND[other] if getattr(pair, name) is not None]:
        acts = "springs" if other == "impulse" else "impulses"
        say(
            f"Pair({pair.first!r}, {pair.second!r}) acts by {acts}, which have no {' and no '.join(idle)}: leave this "
            f"out, or give kind={other!r}."
        )
