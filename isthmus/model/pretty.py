"""A model as a printed tree."""

from __future__ import annotations

import numpy as np

from isthmus.model.arrays import is_traced
from isthmus.model.contacts import describe_contacts
from isthmus.model.model import Model


def as_text(model: Model) -> str:
    """Name, counts, one line for each link (children under parents), and one for each network."""
    head = f"{model.name}: {len(model.link_names)} links, {model.dof} degrees of freedom"
    mass = model.link_mass
    if not is_traced(mass) and np.ndim(mass) == 1:
        head += f", {float(np.sum(mass)):.4g} kg"
    lines = [head, *_branch(model, -1, "")]
    if model.point_names:
        lines.append(f"points: {', '.join(model.point_names)}")
    lines += describe_contacts(model)
    lines += [f"network {wired}" for wired in model.networks]
    return "\n".join(lines)


def _branch(model: Model, root: int, indent: str) -> list[str]:
    children = [i for i, parent in model.outwards() if parent == root]
    rows = []
    for i in children:
        last = i == children[-1]
        rows.append(f"{indent}{'└─ ' if last else '├─ '}{_row(model, i)}")
        rows.extend(_branch(model, i, indent + ("   " if last else "│  ")))
    return rows


def _row(model: Model, i: int) -> str:
    mass = (
        ""
        if is_traced(model.link_mass) or np.ndim(model.link_mass) > 1
        else f"  {model.link_mass[i]:.4g} kg"
    )
    kind = model.joint_kinds[i]
    source = dict(model.mimics).get(i)
    if source is not None:
        kind = f"{kind}, mimics {model.joint_names[source]}"
    elif i in model.prescribed:
        kind = f"{kind}, prescribed"
    start, stop = model.layout.v_own[i]
    where = "" if start == stop else f" v[{start}]" if stop == start + 1 else f" v[{start}:{stop}]"
    return f"{model.link_names[i]}{mass}  ({model.joint_names[i]}: {kind}{where})"
