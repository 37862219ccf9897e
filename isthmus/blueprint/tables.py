"""A wire as plain data (tables, lists, text, numbers) and back; all faults of such data at once.

    {"target": "joint/torque", "reads": ["joint/velocity"], "mode": "add", "net": {"kind": "MLP", "width": 16, …}}

A network is a table with its `kind` and its options; a guarantee has another network in it, as `net`. What a kind
takes is read off its class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from isthmus.blueprint.wire import Named, Wire
from isthmus.errors import BadOption, BadWiring, did_you_mean
from isthmus.networks.guarantees import GUARANTEES
from isthmus.networks.recipes import RECIPES

Networks = Mapping[str, Any]
"""Networks of the user's, by the name that stands for them in text: a module, or a recipe."""

ALWAYS = ("target", "reads", "mode", "net")
"""What is written even where it is as it always is."""


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)


def _is_texts(x: Any) -> bool:
    return isinstance(x, list) and all(isinstance(text, str) for text in x)


WANTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("text in quotes", lambda x: isinstance(x, str)),
    "str | None": ("text in quotes", lambda x: isinstance(x, str)),
    "int": ("a whole number", lambda x: isinstance(x, int) and not isinstance(x, bool)),
    "float": ("a number", _is_number),
    "float | None": ("a number", _is_number),
    "bool": ("true or false", lambda x: isinstance(x, bool)),
    "tuple[str, ...]": ("a list of texts", lambda x: isinstance(x, str) or _is_texts(x)),
    "tuple[str, str]": ("a list of two texts", lambda x: _is_texts(x) and len(x) == 2),
    "Any": ("a table such as { kind = \"MLP\" }", lambda x: isinstance(x, Mapping)),
}  # fmt: skip
"""How a field of a class is declared -> what it is called, and what may stand there."""


# writing -------------------------------------------------------------------------------------------------


def as_table(wire: Wire, networks: Networks) -> dict[str, Any]:
    """The wire as plain data; what is as it always is stays out."""
    table: dict[str, Any] = {}
    for field in dataclasses.fields(wire):
        value = getattr(wire, field.name)
        if field.name == "net":
            value = _net_table(wire, value, networks)
        if field.name in ALWAYS or value != field.default:
            table[field.name] = list(value) if isinstance(value, tuple) else value
    return table


def _net_table(wire: Wire, net: Any, networks: Networks) -> dict[str, Any]:
    if names := [name for name, own in networks.items() if own is net]:
        return {"kind": names[0]}
    if isinstance(net, Named):
        return _own_table(wire, net)
    if type(net) not in (*RECIPES, *GUARANTEES):
        kind = type(net).__name__
        raise BadWiring(
            f"the wire to {wire.target!r} has a network of your own, {kind}, which has no form in text: "
            f"give it a name, networks={{{kind!r}: net}}, when writing and when reading."
        )
    table: dict[str, Any] = {"kind": type(net).__name__}
    for field in dataclasses.fields(net):
        value = getattr(net, field.name)
        value = _net_table(wire, value, networks) if field.name == "net" else value
        table[field.name] = list(value) if isinstance(value, tuple) else value
    return table


def _own_table(wire: Wire, net: Named) -> dict[str, Any]:
    if net.kind in {kind.__name__ for kind in (*RECIPES, *GUARANTEES)}:
        raise BadWiring(
            f"the wire to {wire.target!r} has a network of your own that is called {net.kind} as one of isthmus is: "
            "give it another name, networks={'Mine': wire.net}."
        )
    return {"kind": net.kind}


# reading -------------------------------------------------------------------------------------------------


def from_table(table: Any, networks: Networks, who: str) -> tuple[Wire | None, list[str]]:
    """The wire that the data describe, or None and what is wrong with it; `who` begins each sentence."""
    if not isinstance(table, Mapping):
        return None, [f"{who} must be a table, [[wire]], not {table!r}."]
    options, faults = _options(Wire, table, who)
    for name in ("target", "net"):
        if name not in table:
            faults.append(f"{who} has no {name}; say {name} = {_EXAMPLES[name]}.")
    if isinstance(table.get("net"), Mapping):
        options["net"], more = _net(table["net"], networks, f"{who}, net", (*RECIPES, *GUARANTEES))
        faults += more
    if faults:
        return None, faults
    return _made(Wire, options, who)


_EXAMPLES = {"target": '"joint/passive_torque"', "net": '{ kind = "MLP" }'}


def _net(table: Mapping, networks: Networks, who: str, kinds: Sequence[type]) -> tuple:
    """The network of a table, and what is wrong with it."""
    known = {kind.__name__: kind for kind in kinds}
    kind = table.get("kind")
    if not isinstance(kind, str):
        return None, [f'{who} has no kind; say kind = "MLP", for instance.']
    rest = {key: value for key, value in table.items() if key != "kind"}
    if kind in networks:
        more = f"{who}: {kind!r} is given by networks=, so nothing but its kind can stand here."
        return networks[kind], [more] if rest else []
    if kind not in known:
        near = did_you_mean(kind, [*known, *networks])
        own = f" A network of your own is named when reading: networks={{{kind!r}: ...}}."
        return None, [f"{who}: there is no kind {kind!r}.{near}{own}"]
    options, faults = _options(known[kind], rest, f"{who} {kind}")
    if kind in {guarantee.__name__ for guarantee in GUARANTEES}:
        if "net" not in rest:
            faults.append(f"{who} {kind} has no net; say net = {_EXAMPLES['net']}.")
        elif isinstance(rest["net"], Mapping):
            options["net"], more = _net(rest["net"], networks, f"{who} {kind}, net", RECIPES)
            faults += more
    if faults:
        return None, faults
    return _made(known[kind], options, f"{who} {kind}")


def _options(cls: Any, table: Mapping, who: str) -> tuple[dict[str, Any], list[str]]:
    """What the table says, as far as the class takes it; and what it does not take."""
    fields = {field.name: str(field.type) for field in dataclasses.fields(cls)}
    options, faults = {}, []
    for key, value in table.items():
        if key not in fields:
            faults.append(f"{who} does not know {key!r}.{did_you_mean(key, fields)}")
            continue
        wanted, fits = WANTED[fields[key]]
        if not fits(value):
            faults.append(f"{who}: {key} must be {wanted}, not {value!r}.")
        options[key] = tuple(value) if isinstance(value, list) else value
    return options, faults


def _made(cls: Any, options: dict[str, Any], who: str) -> tuple[Any, list[str]]:
    try:
        return cls(**options), []
    except BadOption as bad:
        return None, [f"{who}: {bad.message}"]
