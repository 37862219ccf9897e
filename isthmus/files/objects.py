"""Networks as plain data and named arrays, and back: no code comes out of a file.

Numbers and text stay as they are; an array becomes its name among the tensors; a module becomes its class and its
fields. Classes come from isthmus, from `equinox.nn`, or from the caller, by name; functions from a list of
elementwise ones, or from the caller. Nothing is imported, called or evaluated because a file says so.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from isthmus.errors import BadOption, IsthmusError, did_you_mean
from isthmus.networks.recipes import (
    BSpline,
    Foreign,
    GatedUnit,
    Layer,
    LowPass,
    Perceptron,
    Same,
)

OURS = {f"isthmus.{c.__name__}": c for c in (Layer, Perceptron, BSpline, Same, GatedUnit, LowPass)}
FOREIGN = "isthmus.Foreign"
OF_NN = """celu elu gelu hard_sigmoid hard_silu hard_tanh identity leaky_relu log_sigmoid log_softmax mish relu relu6
selu sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus""".split()
OF_NUMPY = """abs arctan arctanh arcsinh cos cosh exp expm1 log1p negative sign sin sinc sinh sqrt square tan
tanh""".split()


class Damaged(IsthmusError):
    """Data that make no object; says why. `read_bundle` turns it into a `BadFile`."""


@functools.cache
def functions() -> dict[str, Callable]:
    """Functions that a file may name."""
    of_nn = {f"jax.nn.{name}": getattr(jax.nn, name) for name in OF_NN if hasattr(jax.nn, name)}
    of_numpy = {f"jax.numpy.{name}": getattr(jax.numpy, name) for name in OF_NUMPY}
    last = inspect.signature(eqx.nn.MLP.__init__).parameters["final_activation"].default
    return {**of_nn, **of_numpy, "equinox.nn.MLP.final_activation": last}


# writing -------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Writer:
    """Turns objects into plain data; their arrays gather in `arrays`, the caller's classes in `own`."""

    arrays: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    own: dict[str, Any] = dataclasses.field(default_factory=dict)

    def data(self, x: Any, where: str) -> Any:
        """`x` as plain data; `where` names it, and its arrays."""
        match x:
            case np.generic() if x.dtype.kind in "biuf":
                return self.data(x.item(), where)
            case None | bool() | int() | str():
                return x
            case float():
                return x if math.isfinite(x) else {"float": repr(x)}
            case np.ndarray() | jax.Array() if np.dtype(x.dtype).kind == "f":
                self.arrays[where] = np.asarray(x, np.float64)
                return {"array": where}
            case list() | tuple() if type(x) in (list, tuple):
                return {type(x).__name__: [self.data(y, f"{where}/{k}") for k, y in enumerate(x)]}
            case dict() if type(x) is dict and all(isinstance(key, str) for key in x):
                return {"dict": {key: self.data(y, f"{where}/{key}") for key, y in x.items()}}
            case Foreign():
                module = self.data(x.module, f"{where}/module")
                return {
                    "class": FOREIGN,
                    "module": module,
                    "gain": self.data(x.gain, f"{where}/gain"),
                }
            case eqx.Module():
                fields = [field.name for field in dataclasses.fields(x)]
                inside = {name: self.data(getattr(x, name), f"{where}/{name}") for name in fields}
                return {"class": self._class_name(type(x), where), "fields": inside}
            case _ if callable(x):
                return {"function": self._function_name(x, where)}
        raise BadOption(
            f"{where!r} is {_article(type(x).__name__)}, which cannot be saved; a network can hold modules, "
            "floating-point arrays, numbers, text, lists and functions with names."
        )

    def _class_name(self, cls: type, where: str) -> str:
        for name, ours in OURS.items():
            if ours is cls:
                return name
        if getattr(eqx.nn, cls.__name__, None) is cls:
            return f"equinox.nn.{cls.__name__}"
        return self._named(cls.__name__, cls, where)

    def _function_name(self, function: Any, where: str) -> str:
        for name, known in functions().items():
            if known is function:
                return name
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise BadOption(
                f"{where!r} is a function without a name, which cannot be saved: define it with def."
            )
        return self._named(name, function, where)

    def _named(self, name: str, thing: Any, where: str) -> str:
        if self.own.setdefault(name, thing) is not thing:
            raise BadOption(
                f"two things are called {name!r}, one of them at {where!r}; rename one, to save them."
            )
        return name


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


# reading -------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Reader:
    """Turns plain data into objects; `arrays` by name, the caller's own classes and functions in `own`."""

    arrays: Mapping[str, np.ndarray]
    own: Mapping[str, Any]

    def array(self, name: Any) -> np.ndarray:
        """The array called `name`."""
        if not isinstance(name, str) or name not in self.arrays:
            raise Damaged(f"it lacks the numbers {name!r}")
        return self.arrays[name]

    def object(self, data: Any) -> Any:
        """What `Writer.data` made the data from."""
        match data:
            case None | bool() | int() | str() | float():
                return data
            case {"float": "inf" | "-inf" | "nan" as text}:
                return float(text)
            case {"array": name}:
                return self.array(name)
            case {"list": list(items)}:
                return [self.object(item) for item in items]
            case {"tuple": list(items)}:
                return tuple(self.object(item) for item in items)
            case {"dict": dict(items)}:
                return {key: self.object(item) for key, item in items.items()}
            case {"function": str(name)}:
                return self._function(name)
            case {"class": "isthmus.Foreign", "module": module, "gain": gain}:
                arrays, rest = eqx.partition(self.object(module), eqx.is_inexact_array)
                return Foreign(arrays, self.object(gain), rest)
            case {"class": str(name), "fields": dict(fields)}:
                return self._module(name, {key: self.object(x) for key, x in fields.items()})
        raise Damaged(f"{str(data)[:40]!r} says nothing")

    def _module(self, name: str, fields: dict[str, Any]) -> Any:
        """A module with these fields; its constructor is not called."""
        cls = self._class(name)
        known = [field.name for field in dataclasses.fields(cls)]
        if odd := set(fields) ^ set(known):
            raise Damaged(
                f"the class {name!r} has changed since: of its fields, {sorted(odd)} do not fit"
            )
        made = object.__new__(cls)
        for field in known:
            object.__setattr__(made, field, fields[field])
        return made

    def _class(self, name: str) -> Any:
        head, _, last = name.rpartition(".")
        found = OURS.get(name) or (getattr(eqx.nn, last, None) if head == "equinox.nn" else None)
        if not head:
            found = self._own(name, "class")
        if not (isinstance(found, type) and issubclass(found, eqx.Module)):
            if not head:
                raise BadOption(f"networks[{name!r}] must be the class itself, an equinox.Module.")
            raise Damaged(f"there is no class {name!r}")
        return found

    def _function(self, name: str) -> Any:
        if name in functions():
            return functions()[name]
        if "." in name:
            raise Damaged(f"there is no function {name!r}")
        found = self._own(name, "function")
        if not callable(found):
            raise BadOption(f"networks[{name!r}] must be a function.")
        return found

    def _own(self, name: str, what: str) -> Any:
        if name not in self.own:
            near = did_you_mean(name, self.own) if self.own else ""
            raise BadOption(
                f"it needs your {what} {name!r}: load it with networks={{{name!r}: {name}}}.{near}"
            )
        return self.own[name]
