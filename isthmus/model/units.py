"""Units that depend on the joint: `rad|m` stands for rad where a joint turns and for m where it slides."""

from __future__ import annotations

from isthmus.model.model import Model


def unit_for(unit: str, *, sliding: bool) -> str:
    """One of the two units of `rad|m`; a unit without alternative stays."""
    turning, _, along = unit.partition("|")
    return along if sliding and along else turning


def unit_of_joint(model: Model, name: str, unit: str) -> str:
    """The unit of `joint/NAME/…`, decided by the kind of that joint; other names keep both units."""
    part = name.split("/")
    if len(part) < 3 or part[1] not in model.joint_names:
        return unit
    return unit_for(unit, sliding=model.joint_kinds[model.joint(part[1])] == "prismatic")
