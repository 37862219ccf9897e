"""A model with its networks in one file, and back to the bit: `save(model, path)`, and `load(path)` reads it.

The file is a safetensors file. Its tensors are the numbers of the model and the weights, by name, in float64; its
header has the rest as JSON: topology, wires, what networks are made of, versions, and a checksum over all.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import os
import struct
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from isthmus.blueprint.plan import (
    inputs_of,
    kind_of,
    outputs_of,
    planned,
    previous_of,
    recipe_of,
    with_recipe,
)
from isthmus.blueprint.text import from_toml, to_toml
from isthmus.blueprint.wire import Named, Wire
from isthmus.describe.description import EXTRAS
from isthmus.disk import check_target, opened, whole_file
from isthmus.entry import check_arguments
from isthmus.errors import BadFile, BadOption, IsthmusError
from isthmus.files import SUFFIX
from isthmus.files.objects import Damaged, Reader, Writer
from isthmus.files.topology import from_topology, source_of, source_table, topology, with_extras
from isthmus.model.arrays import is_traced
from isthmus.model.model import Model, leaf_fields
from isthmus.networks.names import shape_of, signals_of
from isthmus.networks.recipes import RECIPES
from isthmus.networks.wired import Plan, Wired
from isthmus.types import AnyArray

FORMAT = 2
"""Raised where files change so that older versions could not read them; all older formats are read."""
KEY = "isthmus"
OWN = "own:"
"""Before the kind of a network that is none of ours, in the blueprint of a file."""
LIBRARIES = ("isthmus", "jax", "equinox", "numpy")
PARTS = ("shift", "scale", "gain", "offset")
"""Arrays of a wire beside its network."""


# writing -------------------------------------------------------------------------------------------------


@check_arguments
def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Writes the model with its networks to a `.safetensors` file; `ist.load` gives it back, the same to the bit.

    Classes of your own are saved by name: `load(path, networks={"MyNet": MyNet})`.
    """
    from safetensors.numpy import save as write_tensors  # few programs need it

    if not isinstance(model, Model):
        raise BadOption(f"save takes a Model, not {type(model).__name__}.")
    check_target(path, (SUFFIX,))
    if is_traced(model):
        raise BadOption("a model that is traced has no numbers to save.")
    writer = Writer()
    for field, spec in leaf_fields():
        value = writer.arrays[spec.name] = np.asarray(getattr(model, field), np.float64)
        if value.shape != shape_of(model, spec):
            raise BadOption("only a single model can be saved, not a batch of them.")
    blueprint, own = _blueprint(model)
    content = {
        "format": FORMAT,
        "versions": {name: _version(name) for name in LIBRARIES},
        "model": topology(model),
        "source": source_table(model.source),
        "blueprint": blueprint,
        "own": own,
        "networks": [_network(wired, writer) for wired in model.networks],
    }
    arrays = {name: np.asarray(array, order="C") for name, array in writer.arrays.items()}
    header = {"content": content, "checksum": _checksum(content, arrays)}
    data = write_tensors(arrays, {KEY: _text(header)})
    with whole_file(path) as file:
        file.write(data)


def _blueprint(model: Model) -> tuple[str, list[str]]:
    """The wires as TOML; networks that are none of ours by their kinds, which come apart."""
    own: dict[str, Named] = {}
    wires = []
    for wire in (wired.recipe for wired in model.networks):
        kind = kind_of(recipe_of(wire))
        is_ours = type(recipe_of(wire)) in RECIPES
        wires.append(wire if is_ours else with_recipe(wire, own.setdefault(kind, Named(kind))))
    return to_toml(wires, {OWN + kind: named for kind, named in own.items()}), list(own)


def _network(wired: Wired, writer: Writer) -> dict[str, Any]:
    """What is in place at a wire; its numbers go to the writer's arrays."""
    at = f"network/{wired.name}"
    for part in PARTS:
        writer.arrays[f"{at}/{part}"] = np.asarray(getattr(wired, part), np.float64)
    if wired.seen is not None:
        writer.arrays[f"{at}/seen"] = np.asarray(wired.seen, np.float64)
    for name, value in wired.previous.items():
        writer.arrays[f"{at}/previous/{name}"] = np.asarray(value, np.float64)
    return {
        "name": wired.name,
        "plan": dataclasses.asdict(wired.plan),
        "net": writer.data(wired.net, f"{at}/net"),
    }


# reading -------------------------------------------------------------------------------------------------


def read_bundle(data: bytes, networks: Mapping[str, Any], source: str) -> Model:
    """The model that `save` wrote; `networks` has the caller's own classes and functions, by name."""
    try:
        with opened(source, "saved model"):
            return _model(data, networks, source)
    except BadFile:
        raise
    except BadOption as bad:
        raise BadOption(f"{source!r}: {bad.message}") from None
    except IsthmusError as bad:
        raise BadFile(f"{source!r} is damaged: {bad.message.rstrip('.')}.") from None


def _model(data: bytes, networks: Mapping[str, Any], source: str) -> Model:
    header, arrays = _opened(data, source)
    content = header["content"]
    if header["checksum"] != _checksum(content, arrays):
        raise Damaged("its checksum does not fit")
    reader = Reader(arrays, networks)
    leaves = {
        field: reader.array(spec.name)
        for field, spec in leaf_fields()
        if spec.name in arrays or not (spec.quantity in EXTRAS or spec.rows == "contact")
    }
    origin = source_of(content.get("source"))
    model = Model(**with_extras(from_topology(content["model"]) | leaves), source=origin)
    wires = from_toml(content["blueprint"], {OWN + kind: Named(kind) for kind in content["own"]})
    pairs = zip(wires, content["networks"], strict=True)
    wired = tuple(_wired(model, wire, data, reader) for wire, data in pairs)
    return dataclasses.replace(model, networks=wired)


def _opened(data: bytes, source: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What the header says, and the tensors."""
    from safetensors.numpy import load as read_tensors  # few programs need it

    if not data:
        raise BadFile(f"{source!r} is empty.")
    arrays = {name: np.array(x) for name, x in read_tensors(data).items()}
    if any(array.dtype != np.float64 for array in arrays.values()):
        raise Damaged("its numbers are not float64")
    (length,) = struct.unpack("<Q", data[:8])
    about = json.loads(data[8 : 8 + length]).get("__metadata__") or {}
    if KEY not in about:
        raise BadFile(f"{source!r} is a safetensors file, but no model that isthmus saved.")
    header = json.loads(about[KEY], parse_constant=_refuse_constant)
    version = header["content"]["format"]
    if version not in range(1, FORMAT + 1):
        by = header["content"]["versions"]["isthmus"]
        raise BadFile(
            f"{source!r} was saved by isthmus {by} in format {version!r}, and this version reads up to {FORMAT}: "
            "update isthmus."
        )
    return header, arrays


def _wired(model: Model, wire: Wire, data: Mapping[str, Any], reader: Reader) -> Wired:
    """A network in its place; the plan must be the one that its wire gives in this model."""
    name, at = data["name"], f"network/{data['name']}"
    plan = planned(model, wire, name)
    if _plain(plan) != data["plan"]:
        raise Damaged(
            f"the network {name!r} was wired otherwise than this version of isthmus would wire it"
        )
    previous: dict[str, AnyArray] = {
        name: reader.array(f"{at}/previous/{name}") for name in previous_of(plan)
    }
    parts = [reader.array(f"{at}/{part}") for part in PARTS]
    seen = reader.arrays.get(f"{at}/seen")
    wired = Wired(plan, reader.object(data["net"]), *parts, previous, wire, seen)
    _check_shapes(model, wired)
    return wired


def _check_shapes(model: Model, wired: Wired) -> None:
    """Refuses arrays that do not fit the wire."""
    plan = wired.plan
    inputs, outputs = inputs_of(plan), outputs_of(plan)
    rows = () if plan.rows is None else (len(plan.rows),)
    shapes = [
        (inputs,),
        (inputs,),
        (outputs,),
        (*rows, *plan.shape) if plan.mode == "replace" else (0,),
    ]
    specs = {spec.name: spec for spec in signals_of(model)}
    found = [getattr(wired, part).shape for part in PARTS] + [
        x.shape for x in wired.previous.values()
    ]
    if found != shapes + [shape_of(model, specs[name]) for name in wired.previous]:
        raise Damaged(f"numbers of the network {wired.name!r} have the wrong shape")
    if wired.seen is not None and np.shape(wired.seen) != (2, inputs):
        raise Damaged(f"the range of the network {wired.name!r} has the wrong shape")
    if _answer(wired.net, inputs) != (outputs,):
        raise Damaged(f"the network {wired.name!r} does not fit its wire")


def _answer(net: Any, inputs: int) -> tuple[int, ...] | None:
    """Shape of what a network gives; None where it cannot be asked."""
    with jax.enable_x64(True):
        x = np.zeros(inputs)
        memory = (net.memory_start(), np.float64(1.0)) if hasattr(net, "memory_start") else ()
        try:
            found = jax.eval_shape(lambda *given: net(*given), x, *memory)
        except Exception:  # of whatever kind: a class of the caller's is at work
            return None
    return getattr(found[0] if memory else found, "shape", None)


# small parts ---------------------------------------------------------------------------------------------


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:  # run from a folder
        return "unknown"


def _text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False)


def _plain(plan: Plan) -> Any:
    """A plan as JSON gives it back."""
    return json.loads(_text(dataclasses.asdict(plan)))


def _checksum(content: Any, arrays: Mapping[str, np.ndarray]) -> str:
    """Of all that is in a file."""
    sum_ = hashlib.sha256(_text(content).encode())
    for name in sorted(arrays):
        array = arrays[name]
        sum_.update(f"\0{name} {array.dtype.str} {array.shape}\0".encode() + array.tobytes())
    return sum_.hexdigest()


def _refuse_constant(text: str) -> Any:
    raise Damaged(f"{text} is no JSON")
