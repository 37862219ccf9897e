"""What the arguments of a C function are called: after the function's own and the paths of their leaves."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from isthmus.errors import BadOption, did_you_mean
from isthmus.native.targets.c.dialect import TYPES
from isthmus.native.targets.c.operations import OPERATIONS
from isthmus.native.tracing.flat import is_array
from isthmus.native.tracing.trace import kind_of

KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "bool true false NAN INFINITY signbit fabs work main int32_t uint32_t int64_t uint64_t "
    # of C++, which may include the header
    "and asm catch class delete explicit export friend mutable namespace new not operator or private protected "
    "public template this throw try typename using virtual xor".split()
)
"""Words that cannot be the name of an argument."""
RESERVED = re.compile(r"[ti][0-9]+|ist_.*|[kw][0-9]+")
"""Names that the generated text uses itself."""


@dataclasses.dataclass(frozen=True)
class Argument:
    """One array or number that goes in or comes out."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    out: bool
    width: int = 64
    """Bits of the numbers in C: those of the program."""
    used: bool = True
    note: str = ""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def kind(self) -> str:
        return kind_of(self.dtype) or "f"

    @property
    def type(self) -> str:
        """Of its numbers in C."""
        return TYPES[self.width][self.kind]


def is_identifier(name: str) -> bool:
    """`name` can be that of a function or variable in C."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None and not is_taken(name)


def is_taken(name: str) -> bool:
    return (
        name in KEYWORDS
        or name.removesuffix("f") in OPERATIONS
        or name in OPERATIONS
        or RESERVED.fullmatch(name) is not None
    )


def identifier(text: str) -> str:
    """`text` as a name in C: other characters become `_`, words of C get one at their end."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "x"
    name = f"x{name}" if name[0].isdigit() else name
    return f"{name}_" if is_taken(name) else name


def path_name(path: Sequence[Any]) -> str:
    """The keys, attributes and indices of a path, joined: `layers[0].weight` -> `layers_0_weight`."""
    parts = (getattr(k, "name", getattr(k, "key", getattr(k, "idx", ""))) for k in path)
    return "_".join(map(str, parts))


def parameter_names(fn: Callable, count: int) -> list[str]:
    """What `fn` calls its positional arguments; x0, x1 … where it does not say."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return [f"x{k}" for k in range(count)]
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in signature.parameters.values() if p.kind in named]
    return [names[k] if k < len(names) else f"x{k}" for k in range(count)]


def input_names(fn: Callable, examples: tuple, static: frozenset[int]) -> list[tuple[str, bool]]:
    """(name, whether it is an argument of its own) for each leaf of the arguments that a caller gives."""
    found = []
    for k, (name, example) in enumerate(
        zip(parameter_names(fn, len(examples)), examples, strict=True)
    ):
        if k not in static:
            for path, leaf in jax.tree_util.tree_leaves_with_path(example):
                if is_array(leaf):
                    found.append(("_".join(filter(None, (name, path_name(path)))), not path))
    return found


def output_names(tree: Any) -> list[str]:
    """Names of the results: after keys and attributes, else `out`, `out0`, `out1` …"""
    marks = jax.tree.unflatten(tree, range(tree.num_leaves))
    names = []
    for path, _ in jax.tree_util.tree_leaves_with_path(marks):
        name = path_name(path)
        names.append(name if name and not name[0].isdigit() else f"out{name}")
    return names


def distinct(names: Sequence[str], taken: Sequence[str] = (), ending: str = "") -> list[str]:
    """C names that differ from each other and from those taken."""
    found: list[str] = []
    for text in names:
        name = identifier(text)
        if name in taken and ending:
            name = identifier(f"{name}{ending}")
        tries = (name if k == 0 else f"{name}_{k}" for k in itertools.count())
        found.append(next(t for t in tries if t not in taken and t not in found))
    return found


def renamed(names: list[str], new: Mapping[str, str]) -> list[str]:
    """`names` with those replaced that `new` has others for."""
    for old, name in new.items():
        if old not in names:
            raise BadOption(
                f"names has {old!r}, but no argument is called so.{did_you_mean(old, names)}"
            )
        if not is_identifier(name):
            raise BadOption(f"names: {name!r} cannot be the name of an argument in C.")
    changed = [new.get(name, name) for name in names]
    if twice := sorted({name for name in changed if changed.count(name) > 1}):
        raise BadOption(f"two arguments would be called {twice[0]!r}.")
    return changed
