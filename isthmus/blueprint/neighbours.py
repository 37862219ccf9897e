"""Refuses wires that void the guarantee of another wire of the same model.

The step must move the joints by forces alone, and use the force of a law as it is. Free wires may add forces of their
own beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.errors import BadWiring
from isthmus.networks.wired import Plan

POSITION = ("joint/position", "joint/new_position")
VELOCITY = ("joint/velocity", "joint/new_velocity")
MOVED_BY_FORCES = {
    "dissipative": (*POSITION, *VELOCITY),
    "conservative": POSITION,
    "internal": POSITION,
    "lagrangian": (*POSITION, *VELOCITY),
}
"""Law -> signals of the state that must change by forces only: a wire that moves joints changes their energy."""

COMPUTED_FROM = {
    "dissipative": ("joint/transform", "link/velocity"),
    "internal": ("joint/transform",),
}
"""Law -> signals from which a force on links is computed, beside the state."""

PASSED_ON = {"joint/passive_torque": "joint/torque", "link/external_force": "link/bias_force"}
"""Force -> the sum that it enters."""

FROM_FORCE_TO_MOTION = (
    "link/articulated_inertia", "link/articulated_bias_force", "joint/articulated_inertia",
    "joint/articulated_torque", "link/acceleration", "joint/acceleration", "joint/new_velocity",
)  # fmt: skip
"""Signals between the forces and the velocity at the end of the step."""


def neighbours(plans: Sequence[Plan]) -> None:
    """Refuses wires that change what a guarantee is computed from, or what becomes of its force."""
    for n, sure in enumerate(plans):
        for k, other in enumerate(plans):
            if sure.law == "free" or k == n:
                continue
            if advice := _advice(sure, other, later=k > n):
                does = {"add": "adds to", "scale": "scales", "replace": "replaces"}[other.mode]
                raise BadWiring(
                    f"the wire {other.name!r} {does} {other.target!r}, which voids the guarantee of the wire "
                    f"{sure.name!r} ({sure.law.capitalize()} on {sure.target!r}): {advice}"
                )


def _advice(sure: Plan, other: Plan, later: bool) -> str | None:
    """What to do where `other` voids the guarantee of `sure`; None: it does not."""
    on_links = sure.target == "link/external_force"
    if other.target in MOVED_BY_FORCES[sure.law] and (on_links or _meet(sure, other)):
        return "joints would move by something else than forces; correct a force instead."
    if on_links and other.target in COMPUTED_FROM[sure.law]:
        return "this law is computed from it; leave one of the two out."
    if other.target in FROM_FORCE_TO_MOTION and (sure.law == "dissipative" or other.mode != "add"):
        return "the motion would not follow from the force of this law; correct a force instead."
    if other.mode == "add" or not _meet(sure, other):
        return None
    if other.target in _forces(sure) and later:
        return "let it add, or attach it before, so that it does not change the force of this law."
    if other.target in [PASSED_ON.get(force) for force in _forces(sure)]:
        return "let it add, so that it does not change the force of this law."
    return None


def _forces(sure: Plan) -> list[str]:
    """Signals that carry the effect of a law; a coupled inertia is beside the armature, not in it."""
    return [name for name in sure.targets if not (sure.couples_joints and name == "joint/armature")]


def _meet(sure: Plan, other: Plan) -> bool:
    """Whether two wires act on common rows; positions count as common, and so do all joints for learned inertia."""
    if sure.rows is None or other.rows is None or other.target in POSITION:
        return True
    return sure.law == "lagrangian" or not set(sure.rows).isdisjoint(other.rows)
