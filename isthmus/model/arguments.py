"""Checks of the arrays that users give: kind and shape always, values only where they are known.

Shapes are known while tracing, so these checks cost nothing in compiled code.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from isthmus.errors import BadOption, BadShape
from isthmus.model.model import Model, leaf_fields
from isthmus.types import AnyArray

MAX_NAMES = 8
"""A message lists at most this many joints or links."""


def check_shape(
    model: Model, name: str, x: AnyArray, dims: str, batch: tuple[int, ...] = (), many: str = ""
) -> None:
    """Refuses an array of another shape than `dims`, as annotations write it (`"nq"`, `"links 6"`), after `batch`.

    `many` says what to use for more than one such array.
    """
    sizes = tuple(_size(model, dim) for dim in dims.split())
    have, want = np.shape(x), (*batch, *sizes)
    if have == want:
        return
    is_batch = bool(many) and len(have) > len(want) and have[-len(sizes) :] == sizes
    hint = f"for a batch use {many}" if is_batch else _meaning(model, dims.split()[0])
    raise BadShape(f"{name} has shape {have}; {model.name!r} needs {want}: {hint}.")


def check_finite(name: str, x: AnyArray) -> None:
    """Refuses nan and infinity in an array whose values are known."""
    finite = np.isfinite(np.asarray(x))
    if not finite.all():
        index = tuple(map(int, np.argwhere(~finite)[0]))
        where = f"[{', '.join(map(str, index))}]" if index else ""
        raise BadOption(f"{name}{where} is {np.asarray(x)[index]}; every number must be finite.")


def check_single(model: Model, many: str) -> None:
    """Refuses a model whose leaves have a batch axis; `many` says what to use for it."""
    own = vars(model)
    for field, name, axes in _axes_of_leaves():
        if getattr(own[field], "ndim", 0) > axes:
            shape = np.shape(own[field])
            raise BadShape(
                f"{name!r} of {model.name!r} has shape {shape}, with a batch axis: for a batch use {many}."
            )


@functools.cache
def _axes_of_leaves() -> list[tuple[str, str, int]]:
    """Field, name and number of axes of each leaf of one model."""
    return [(f, spec.name, len(spec.shape) + (spec.rows is not None)) for f, spec in leaf_fields()]


def _size(model: Model, dim: str) -> int:
    """The size that a dimension has for this model."""
    if dim.isdecimal():
        return int(dim)
    if dim in ("pq", "pv"):
        spans = model.layout.q_own if dim == "pq" else model.layout.v_own
        return sum(spans[i][1] - spans[i][0] for i in model.prescribed)
    if dim == "links":
        return len(model.link_names)
    return {"nq": model.layout.nq, "n": model.layout.nv, "dof": model.layout.nv}[dim]


def _meaning(model: Model, dim: str) -> str:
    """What the numbers along a dimension are."""
    if dim.isdecimal():
        return "x, y, z"
    if dim == "links":
        return f"a row for each link, {_listed(model.link_names)}"
    of_positions = dim in ("nq", "pq")
    owned = list(model.rows("coordinate" if of_positions else "dof").items())
    owned = [owned[i] for i in model.prescribed] if dim in ("pq", "pv") else owned
    joints = _listed([name for name, rows in owned if rows])
    return f"one for each {'coordinate' if of_positions else 'degree of freedom'} of {joints}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + (", …" if len(names) > MAX_NAMES else "") or "(none)"
