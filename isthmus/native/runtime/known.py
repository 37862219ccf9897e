"""Functions that are recognised without tracing them: by what they are called and what they are applied to.

Tracing takes longer than loading machine code. Where a function's name, its settings and the structure of its
arguments decide the code, their digest finds it on disk. What may behave differently under the same name (a function
of the user's, an object of a class outside the libraries whose versions are in the digest) has no digest.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from isthmus.native.ir.origins import PACKAGE
from isthmus.native.runtime import store
from isthmus.native.targets import here

LIBRARIES = ("jax", "jaxlib", "equinox", "numpy")
TRUSTED = frozenset(("isthmus", "builtins", *LIBRARIES))
"""Packages whose classes and functions mean the same wherever their versions are the same."""


class Unrecognisable(Exception):
    """A value whose text does not decide what it does."""


def surroundings() -> str:
    """This version of our own sources, of Python, of the libraries, and what code is made for."""
    return "\n".join([*sources_and_versions(), *here().toolchain()])


@functools.cache
def sources_and_versions() -> tuple[str, ...]:
    """This version of our own sources, of Python and of the libraries."""
    sources = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        sources.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    versions = [f"{name} {version(name)}" for name in LIBRARIES]
    return sources.hexdigest(), sys.version, *versions


def digest(settings: Any, arguments: tuple) -> str | None:
    """The digest of `settings`, by value, and `arguments`, by structure; None where their meaning is not certain."""
    try:
        leaves, tree = jax.tree.flatten(arguments)
        words = [surroundings(), value(settings), *structure(tree), *map(leaf, leaves)]
    except (Unrecognisable, OSError):
        return None
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def structure(tree: Any) -> Iterator[str]:
    """Every node of a tree, from the root."""
    node = tree.node_data()
    if node is None:
        yield "*"
        return
    kind, about = node
    yield f"{named(kind)} {value(about)} {len(tree.children())}"
    for child in tree.children():
        yield from structure(child)


def leaf(x: Any) -> str:
    """A number or array by its shape and kind; other leaves are part of the program."""
    if isinstance(x, (np.ndarray, np.generic, jax.Array, float, int, bool)):
        array = np.asarray(x)
        return f"{array.shape} {array.dtype.kind}"
    return value(x)


def named(thing: Any) -> str:
    """A class or function of a library, by its name; it must be found there under that name."""
    if thing is type(None):
        return "None"
    module, name = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", "")
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not thing or str(module).partition(".")[0] not in TRUSTED:
        raise Unrecognisable(repr(thing))
    return f"{module}:{name}"


def value(x: Any) -> str:
    """`x` as text: equal texts are equal values."""
    match x:
        case None | bool() | int() | float() | complex() | str() | bytes():
            return f"{type(x).__name__} {x!r}"
        case tuple() | list():
            return f"{named(type(x))}({', '.join(map(value, x))})"
        case frozenset() | set():
            return f"{named(type(x))}({', '.join(sorted(map(value, x)))})"
        case dict():
            return f"dict({', '.join(f'{value(k)}: {value(v)}' for k, v in x.items())})"
        case np.ndarray() | np.generic() if x.dtype.kind in "biufc":
            return f"array {x.dtype.str} {x.shape} {hashlib.sha256(x.tobytes()).hexdigest()}"
        case np.dtype():
            return f"dtype {x.str}"
        case _ if dataclasses.is_dataclass(x) and not isinstance(x, type):
            fields = [f.name for f in dataclasses.fields(x) if f.compare]
            inside = ((name, value(getattr(x, name))) for name in fields)
            return f"{named(type(x))}({', '.join(f'{k}={v}' for k, v in inside)})"
        case _ if isinstance(x, type) or callable(x):
            return named(x)
        case _ if type(x).__mro__ == (type(x), object) and getattr(x, "__dict__", None) == {}:
            return f"{named(type(x))} alone"  # a sign without content, such as equinox's "missing"
    raise Unrecognisable(repr(x))


@dataclasses.dataclass
class Facts:
    """What calls need to know of a compiled function without its program."""

    outputs: list[tuple[tuple[int, ...], str]]
    """Shape and dtype of each result."""
    before: int
    operations: int
    flops: int
    codes: dict[str, str] = dataclasses.field(default_factory=dict)
    """Variant (lanes, and which inputs they share) -> the name of the machine code in the store."""


@dataclasses.dataclass(frozen=True)
class Known:
    """A function with a name of its own on disk, and the structure of its result."""

    name: str
    result: Any
    """The result's tree, `jax.tree.structure(...)`."""

    def read(self) -> Facts | None:
        """What was found out when it was compiled before."""
        found = store.read(self.name)
        try:
            return None if found is None else facts_of(found[0])
        except (KeyError, TypeError, ValueError):
            return None

    def write(self, facts: Facts) -> None:
        """Keeps `facts`, and codes that another process has found meanwhile."""
        before = self.read()
        codes = facts.codes if before is None else before.codes | facts.codes
        store.write(self.name, dataclasses.asdict(dataclasses.replace(facts, codes=codes)))


def facts_of(header: dict[str, Any]) -> Facts:
    """Facts as JSON brings them back."""
    outputs = [(tuple(shape), str(np.dtype(dtype))) for shape, dtype in header["outputs"]]
    numbers = header["before"], header["operations"], header["flops"]
    return Facts(outputs, *numbers, dict(header["codes"]))
