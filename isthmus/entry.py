"""`check_arguments`: a decorator for what users call; it refuses arguments that the annotations do not allow.

Annotations say what fits: a class, text, a number, one of some words (`Literal`), a list of such things. Only kinds are
compared, never values in arrays, so that the check takes microseconds and nothing is computed while JAX traces. What
one argument says of another (shapes, ranges) the function itself checks.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import jax
import numpy as np

from isthmus.errors import BadArgument, did_you_mean

T = TypeVar("T", bound=Callable[..., Any])

MADE_BY = {
    "Blueprint": "ist.Blueprint([ist.Wire(...)]) makes one",
    "Control": "ist.Control(torque=...) makes one",
    "Fit": "ist.fit(problem) gives one",
    "Model": "ist.load('robot.urdf') reads one",
    "Motion": "ist.read_motion('log.csv', model) reads one",
    "Problem": "ist.Problem(model, motions, free='link/*/mass') makes one",
    "State": "ist.State(q, v) makes one",
    "Study": "ist.Study.load('study.toml') reads one",
}
"""How users come by an object of a class."""
READ_BY = {
    "Blueprint": "ist.Blueprint.load",
    "Fit": "ist.Fit.load",
    "Model": "ist.load",
    "Motion": "ist.read_motion",
    "Study": "ist.Study.load",
}
"""What reads an object of a class from a file."""
LARGEST = 2**1023
"""Whole numbers beyond this are no floating-point numbers."""
MAX_SHOWN = 60
"""A message shows a value in at most this many characters."""


def check_arguments(target: T) -> T:
    """A function, or a class by its `__init__`, that refuses arguments which its annotations do not allow."""
    if isinstance(target, type):
        target.__init__ = _wrapped(target.__init__, target)
        return target
    return _wrapped(target, target)


def _wrapped(f: Any, annotated: Any) -> Any:
    """`f` behind its check; `annotated` has the annotations: `f`, or the class that `f` begins."""
    door = functools.cache(lambda: _door(f, annotated))  # annotations are read at the first call

    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        positional, named = door()
        for (name, kind), value in zip(positional, args, strict=False):
            if kind is not None and not kind.fits(value):
                raise BadArgument(refusal(f, name, value, kind))
        for name, value in kwargs.items():
            kind = named.get(name)
            if kind is not None and not kind.fits(value):
                raise BadArgument(refusal(f, name, value, kind))
        try:
            return f(*args, **kwargs)
        except TypeError:
            _refuse_binding(f, args, kwargs)
            raise

    return wrapped


def _door(f: Any, annotated: Any) -> tuple[list[tuple[str, Wanted | None]], dict[str, Wanted]]:
    """What each argument may be, in their order and by their names."""
    plain = isinstance(annotated, type) and not dataclasses.is_dataclass(annotated)
    hints = typing.get_type_hints(f if plain else annotated, include_extras=True)
    fields = dataclasses.fields(annotated) if dataclasses.is_dataclass(annotated) else ()
    for field in fields:
        if "converter" in field.metadata:  # which refuses what does not fit
            del hints[field.name]
    positional, named = [], {}
    for name, parameter in inspect.signature(f).parameters.items():
        kind = wanted(hints[name]) if name in hints else None
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.kind is not parameter.KEYWORD_ONLY:
            positional.append((name, kind))
        if kind is not None:
            named[name] = kind
    return positional, named


def _refuse_binding(f: Any, args: tuple, kwargs: Mapping[str, Any]) -> None:
    """Refuses unknown, missing and superfluous arguments, if that is what is wrong."""
    signature = inspect.signature(f)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as wrong:
        known = [name for name in signature.parameters if name != "self"]
        unknown = [name for name in kwargs if name not in known]
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
            text = f"there is no argument {unknown[0]!r}.{did_you_mean(unknown[0], known)}"
        else:
            text = f"{wrong}. It takes {', '.join(known)}."
        raise BadArgument(f"{_name(f)}: {text}") from None


# what fits -----------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What an argument may be: in words for each choice, as a test, and the names of its classes."""

    choices: tuple[str, ...]
    fits: Callable[[Any], bool]
    classes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """All choices."""
        left = [
            c
            for c in self.choices
            if c != WHOLE.choices[0] or NUMBER.choices[0] not in self.choices
        ]
        left.sort(key="None".__eq__)
        return " or ".join(filter(None, [", ".join(left[:-1]), left[-1]]))


def _is_number(x: Any) -> bool:
    if isinstance(x, float | np.number):
        return True
    if isinstance(x, int):
        return _is_whole(x)
    return isinstance(x, np.ndarray | jax.Array) and x.ndim == 0 and _is_array(x)


def _is_whole(x: Any) -> bool:
    whole = isinstance(x, int | np.integer) and not isinstance(x, bool)
    return whole and abs(int(x)) <= LARGEST


def _is_array(x: Any) -> bool:
    if isinstance(x, list | tuple):
        rows_fit = all(_is_number(row) or _is_array(row) for row in x)
        return rows_fit and len({np.shape(row) for row in x}) <= 1
    return isinstance(x, jax.Array) or (isinstance(x, np.ndarray) and x.dtype.kind in "fiubc")


NUMBER, WHOLE = Wanted(("a number",), _is_number), Wanted(("a whole number",), _is_whole)
ARRAY = Wanted(("an array of numbers",), _is_array)
KEY = Wanted(("a random key, jax.random.key(0)",), lambda x: isinstance(x, jax.Array))
PLAIN = {
    float: NUMBER,
    int: WHOLE,
    bool: Wanted(("True or False",), lambda x: isinstance(x, bool | np.bool_)),
    str: Wanted(("text",), lambda x: isinstance(x, str)),
    np.ndarray: ARRAY,
    jax.Array: ARRAY,
    types.NoneType: Wanted(("None",), lambda x: x is None),
    os.PathLike: Wanted(("a path",), lambda x: isinstance(x, os.PathLike)),
    Callable: Wanted(("a function",), callable),
}


def wanted(annotation: Any) -> Wanted | None:
    """What an annotation allows; None: anything."""
    origin, inside = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is Annotated:  # with the words for what is allowed
        kind, words = wanted(inside[0]), inside[1]
        return kind and dataclasses.replace(kind, choices=(words,))
    if origin in (types.UnionType, typing.Union):
        return _any_of([wanted(part) for part in inside])
    if origin is Literal:
        return Wanted(tuple(map(repr, inside)), lambda x: _is_among(x, inside))
    if hasattr(annotation, "dim_str"):
        return KEY if {*annotation.dtypes} <= {"prng_key", "uint32"} else ARRAY
    if origin is Any or origin is object or not isinstance(origin, type):
        return None
    if origin in PLAIN:
        return PLAIN[origin]
    if origin is type:
        return _subclass_of(inside)
    if issubclass(origin, Mapping):
        return _mapping(inside)
    if origin in (tuple, list, Sequence, Iterable) and inside:
        entry = wanted(inside[0])
        return LIST if entry is None else _list_of(entry)
    return Wanted((_article(origin.__name__),), lambda x: isinstance(x, origin), (origin.__name__,))


def _any_of(parts: Sequence[Wanted | None]) -> Wanted | None:
    """What fits one of several."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if ARRAY in known:
        # beside an array, a list of anything is a list of numbers; beside a number, an array alone is a traced one
        drop = LIST if LIST in known or NUMBER not in known else ARRAY
        known = [part for part in known if part != drop]
    choices = tuple(dict.fromkeys(choice for part in known for choice in part.choices))
    tests = tuple(dict.fromkeys(part.fits for part in known))
    classes = tuple(name for part in known for name in part.classes)
    return Wanted(choices, lambda x: any(fits(x) for fits in tests), classes)


def _is_among(x: Any, choices: tuple) -> bool:
    return any(type(x) is type(choice) and x == choice for choice in choices)


def _subclass_of(parents: tuple) -> Wanted:
    names = " or ".join(parent.__name__ for parent in parents)
    return Wanted(
        (f"a class of {names}",), lambda x: isinstance(x, type) and issubclass(x, parents)
    )


def _mapping(inside: tuple) -> Wanted:
    keys, values = (wanted(inside[0]), wanted(inside[1])) if len(inside) == 2 else (None, None)
    fits = lambda kind, entries: kind is None or all(map(kind.fits, entries))
    words = f"a dict of {keys.words}" if keys else "a dict"
    words += f" to {values.words}" if values else ""
    test = lambda x: isinstance(x, Mapping) and fits(keys, x) and fits(values, x.values())
    return Wanted((words,), test)


def _is_list(x: Any) -> bool:
    if isinstance(x, np.ndarray | jax.Array):
        return x.ndim > 0
    unordered = isinstance(x, set | frozenset)
    return isinstance(x, Iterable) and not unordered and not isinstance(x, str | bytes | Mapping)


LIST = Wanted(("a list",), _is_list)


def _list_of(entry: Wanted) -> Wanted:
    """A list or another collection; a generator's entries are not looked at."""

    def fits(x: Any) -> bool:
        rows = x.tolist() if isinstance(x, np.ndarray) and x.ndim else x
        return _is_list(x) and (not isinstance(rows, Sequence) or all(map(entry.fits, rows)))

    return Wanted((f"a list, each entry {entry.words}",), fits, entry.classes)


# messages ------------------------------------------------------------------------------------------------


def refusal(f: Any, name: str, value: Any, kind: Wanted) -> str:
    """One sentence: which argument of which function, what it must be, what came, what to do."""
    return f"{_name(f)}: {name} must be {kind.words}, not {described(value)}{_advice(value, kind)}"


def _name(f: Any) -> str:
    return f.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__").replace("._", ".")


def described(value: Any) -> str:
    """What a value is, in a few words."""
    if value is None or isinstance(value, bool | int | float | complex):
        return repr(value)
    if isinstance(value, str):
        return f"the text {_short(repr(value))}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"an array of shape {tuple(value.shape)} and type {value.dtype}"
    if isinstance(value, list | tuple | dict | set) and len(repr(value)) <= MAX_SHOWN:
        return repr(value)
    if inspect.isroutine(value):
        return f"the function {value.__name__}"
    if isinstance(value, os.PathLike):
        return f"the path {_short(os.fspath(value))!r}"
    return _article(type(value).__name__)


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOaeio' else 'a'} {noun}"


def _advice(value: Any, kind: Wanted) -> str:
    """What to do next, as the end of a sentence."""
    for name in kind.classes:
        if isinstance(value, str | os.PathLike) and name in READ_BY:
            return f": {READ_BY[name]}({os.fspath(value)!r}) reads one."
        if isinstance(value, type) and value.__name__ == name:
            return f": {name}(...) makes one."
        if name in MADE_BY:
            return f": {MADE_BY[name]}."
    return "."
