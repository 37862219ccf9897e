"""`isthmus info`: links, joints, networks and signals of a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any

from tyro.conf import Positional, arg

import isthmus as ist
from isthmus.cli.models import Base, Contacts, Height, Packages, Pairs, Repair, load_model
from isthmus.cli.output import show, show_json


@dataclasses.dataclass(frozen=True)
class Info:
    """The tree of a model, its degrees of freedom, mass, networks, and every signal of a step."""

    file: Annotated[Positional[str], arg(metavar="FILE")]
    """URDF or MJCF file, a saved model, the folder of a fit, or library:NAME."""
    json: bool = False
    """Print all of it as JSON."""
    base: Base = "fixed"
    """Whether the root link of a URDF is welded to the world or moves freely."""
    ground: Height = None
    """Put a horizontal plane at this height [m], which the model touches."""
    contact: Contacts = ()
    """What touches the ground, and how, as in 'isthmus simulate'."""
    pair: Pairs = ()
    """Shapes that touch each other, as in 'isthmus simulate'."""
    repair: Repair = "none"
    """nearest: replace impossible inertias by the nearest possible ones."""
    packages: Packages = ()
    """Folders in which meshes of a URDF (package://…) are looked for."""

    def run(self) -> int:
        """Prints the description of the model."""
        model = load_model(
            self.file, self.base, self.repair, self.ground, self.packages, self.contact, self.pair
        )
        if self.json:
            show_json(as_data(model))
        else:
            _print(model)
        return 0


def as_data(model: ist.Model) -> dict[str, Any]:
    """All that `info` says of a model, as plain data."""
    import numpy as np

    links = [
        {"name": name, "parent": model.link_names[parent] if parent >= 0 else None, "mass": float(mass)}
        for name, parent, mass in zip(model.link_names, model.parents, model.link_mass, strict=True)
    ]  # fmt: skip
    return {
        "name": model.name,
        "dof": model.dof,
        "coordinates": model.nq,
        "mass": float(np.sum(model.link_mass)),
        "gravity": [float(x) for x in model.gravity],
        "links": links,
        "joints": [_joint(model, i) for i in range(len(model.joint_names))],
        "points": [
            {"name": name, "link": model.link_names[link] if link >= 0 else None}
            for name, link in zip(model.point_names, model.point_links, strict=True)
        ],
        "contacts": [_contact(model, name, rows) for name, rows in model.rows("contact").items()],
        "networks": [_network(wired) for wired in model.networks],
        "signals": _signals(model),
    }


def _joint(model: ist.Model, i: int) -> dict[str, Any]:
    source = dict(model.mimics).get(i)
    return {
        "name": model.joint_names[i],
        "kind": model.joint_kinds[i],
        "parent": model.link_names[model.parents[i]] if model.parents[i] >= 0 else None,
        "link": model.link_names[i],
        "q": list(model.layout.q_own[i]),
        "v": list(model.layout.v_own[i]),
        "mimics": None if source is None else model.joint_names[source],
        "prescribed": i in model.prescribed,
    }


def _contact(model: ist.Model, name: str, rows: Sequence[int]) -> dict[str, Any]:
    touched = dict.fromkeys(model.shape_names[model.contact_planes[r]] for r in rows)
    return {
        "name": name,
        "shape": model.shape_names[model.contact_shapes[rows[0]]],
        "touches": list(touched),
        "points": len(rows),
        "kind": model.contact_kinds[rows[0]],
    }


def _network(wired: Any) -> dict[str, Any]:
    return {
        "name": wired.name,
        "kind": wired.kind,
        "weights": wired.weights,
        "reads": [reading.text for reading in wired.plan.readings],
        "target": wired.recipe.target,
        "mode": wired.plan.mode,
        "rows": "all" if wired.plan.units is None else "each",
    }


def _signals(model: ist.Model) -> list[dict[str, Any]]:
    from isthmus.networks.names import shape_of, signals_of

    return [
        {"name": s.name, "shape": list(shape_of(model, s)), "unit": s.unit, "meaning": s.meaning}
        for s in signals_of(model)
    ]


def _print(model: ist.Model) -> None:
    from rich.table import Table
    from rich.text import Text

    head, *tree = str(model).splitlines()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("signal", no_wrap=True, style="cyan")
    table.add_column("shape", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("meaning")
    for signal in _signals(model):
        shape = "×".join(map(str, signal["shape"])) or "1"
        table.add_row(*map(Text, (signal["name"], shape, signal["unit"], signal["meaning"])))
    title = Text("signals, in the order of a step", style="bold")
    show(Text(head, style="bold"), *map(Text, tree), Text(""), title, table)
