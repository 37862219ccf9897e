"""Blueprints as TOML, read and written back without loss.

[[wire]]
target = "joint/passive_torque"
reads = ["joint/position", "joint/velocity"]
mode = "add"
net = { kind = "Dissipative", coupled = false, net = { kind = "MLP", width = 16, depth = 2, activation = "tanh" } }
"""

from __future__ import annotations

import json
import numbers
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from isthmus.blueprint.tables import as_table, from_table
from isthmus.blueprint.wire import Networks, Wire
from isthmus.errors import BadBlueprint, BadFile, BadWiring, did_you_mean


def to_toml(wires: Iterable[Wire], networks: Networks) -> str:
    """The wires as TOML text."""
    tables = [as_table(wire, networks) for wire in wires]
    lines = [[f"{key} = {toml_value(value)}" for key, value in table.items()] for table in tables]
    return (
        "\n\n".join("\n".join(["[[wire]]", *line]) for line in lines) + "\n"
        if lines
        else "wire = []\n"
    )


def from_toml(text: str, networks: Networks, source: str = "") -> list[Wire]:
    """The wires that the text describes."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as broken:
        why = "it is nested too deeply" if isinstance(broken, RecursionError) else str(broken)
        raise BadBlueprint(f"this is no TOML, or half of it: {why}.", source) from None
    faults = [
        f"a blueprint does not know {key!r}.{did_you_mean(key, ['wire'])}"
        for key in data
        if key != "wire"
    ]
    tables = data.get("wire")
    if not isinstance(tables, list):
        missing = "there is no wire in it" if tables is None else "wire must be a list of tables"
        raise BadBlueprint([*faults, f"{missing}; each begins with [[wire]]."], source)
    read = [from_table(table, networks, f"wire {n}") for n, table in enumerate(tables, 1)]
    faults += [fault for _, wrong in read for fault in wrong]
    if faults:
        raise BadBlueprint(faults, source)
    return [wire for wire, _ in read if wire is not None]


def decoded(data: bytes, source: str) -> str:
    """Bytes of a file as text."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadFile(f"{source!r} is no blueprint: it is not text.") from None


def toml_value(value: Any) -> str:
    """A value as TOML writes it; floats with as many digits as tell them apart."""
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {toml_value(x)}" for key, x in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    text = str(value)
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
        raise BadWiring(f"{text!r} cannot be written: half of a surrogate pair is no letter.")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    """A key as TOML writes it: bare where it may be."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_value(key)
