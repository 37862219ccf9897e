"""A wire as plain data (tables, lists, text, numbers) and back; all faults of such data at once.

    {"target": "joint/torque", "reads": ["joint/velocity"], "mode": "add", "net": {"kind": "MLP", "width": 16, …}}

A network is a table with its `kind` and its options; a guarantee has another network in it, as `net`. What a kind
takes is read off its class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from isthmus.blueprint.wire import Named, Networks, Wire
from isthmus.errors import BadWiring, did_you_mean
from isthmus.networks.guarantees import GUARANTEES
from isthmus.networks.recipes import RECIPES
from isthmus.schema import ANY_TEXT, TABLE, Kind, faults_of, list_of, made, options_of, table_of

ALWAYS = ("target", "reads", "mode", "net")
"""Options that are written even where they have their default."""


OPTIONS = {
    "net": Kind('a table such as { kind = "MLP" }', TABLE.fits),
    "reads": Kind("a list of texts", lambda x: ANY_TEXT.fits(x) or list_of(ANY_TEXT).fits(x)),
}
"""What the annotations of wires and networks do not say."""


# writing -------------------------------------------------------------------------------------------------


def as_table(wire: Wire, networks: Networks) -> dict[str, Any]:
    """The wire as plain data; options with their default stay out."""
    table = table_of(wire) | {"net": _net_table(wire, wire.net, networks)}
    default = {field.name: field.default for field in dataclasses.fields(wire)}
    return {key: x for key, x in table.items() if key in ALWAYS or x != default[key]}


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
    table = {"kind": type(net).__name__, **table_of(net)}
    return table | ({"net": _net_table(wire, net.net, networks)} if "net" in table else {})


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
    faults = list(faults_of(table, options_of(Wire, OPTIONS), who))
    for name in ("target", "net"):
        if name not in table:
            faults.append(f"{who} has no {name}; say {name} = {_EXAMPLES[name]}.")
    options = dict(table)
    if isinstance(table.get("net"), Mapping):
        kinds = (*RECIPES, *GUARANTEES)
        options["net"] = _net(table["net"], networks, f"{who}, net", kinds, faults)
    return (None if faults else made(Wire, options, who, faults)), faults


_EXAMPLES = {"target": '"joint/passive_torque"', "net": '{ kind = "MLP" }'}


def _net(
    table: Mapping, networks: Networks, who: str, kinds: Sequence[type], faults: list[str]
) -> Any:
    """The network of a table, or None; what is wrong with it is added to `faults`."""
    known = {kind.__name__: kind for kind in kinds}
    kind = table.get("kind")
    rest = {key: value for key, value in table.items() if key != "kind"}
    if not isinstance(kind, str):
        faults.append(f'{who} has no kind; say kind = "MLP", for instance.')
    elif kind in networks:
        if rest:
            faults.append(f"{who}: {kind!r} is given by networks=, so it takes no options here.")
        return networks[kind]
    elif kind in known:
        return _known_net(known[kind], rest, networks, f"{who} {kind}", faults)
    else:
        near = did_you_mean(kind, [*known, *networks])
        own = f" A network of your own is named when reading: networks={{{kind!r}: ...}}."
        faults.append(f"{who}: there is no kind {kind!r}.{near}{own}")
    return None


def _known_net(
    cls: Any, options: dict[str, Any], networks: Networks, who: str, faults: list[str]
) -> Any:
    """A recipe or guarantee of isthmus with these options."""
    wrong = list(faults_of(options, options_of(cls, OPTIONS), who))
    if cls in GUARANTEES:
        if "net" not in options:
            wrong.append(f"{who} has no net; say net = {_EXAMPLES['net']}.")
        elif isinstance(options["net"], Mapping):
            options["net"] = _net(options["net"], networks, f"{who}, net", RECIPES, wrong)
    faults += wrong
    return None if wrong else made(cls, options, who, faults)
