"""The leaves of a model that belong to joints, and how leaves are declared."""

from __future__ import annotations

from typing import Any

import equinox as eqx
from jaxtyping import Float

from isthmus.model.arrays import as_leaf
from isthmus.model.leaves import LeafSpec
from isthmus.model.topology import Topology
from isthmus.types import AnyArray


def leaf(name: str, rows: str | None, shape: tuple[int, ...], unit: str, meaning: str) -> Any:
    spec = LeafSpec(name, rows, shape, unit, meaning)
    # no partial: Equinox reads the signature of each converter, and that of a function takes a quarter of the time
    return eqx.field(converter=lambda x: as_leaf(x, repr(name)), metadata={"leaf": spec})


def _dof_leaf(quantity: str, unit: str, meaning: str) -> Any:
    """A leaf of the joints with one number for each degree of freedom."""
    return leaf(f"joint/{quantity}", "dof", (), unit, meaning)


PerDof = Float[AnyArray, " dof"]


class JointFields(Topology):
    """Every number of the joints, beside the topology."""

    joint_origin: Float[AnyArray, "links 3"] = leaf(
        "joint/origin", "joint", (3,), "m", "origin of the joint in the parent's frame"
    )
    joint_orientation: Float[AnyArray, "links 4"] = leaf(
        "joint/orientation", "joint", (4,), "1", "quaternion of the joint in the parent's frame"
    )
    joint_axis: Float[AnyArray, "links 3"] = leaf(
        "joint/axis", "joint", (3,), "1", "direction of motion, or normal of the plane"
    )
    joint_armature: PerDof = _dof_leaf("armature", "kg·m²|kg", "reflected inertia of the rotor")
    joint_stiffness: PerDof = _dof_leaf(
        "stiffness", "N·m/rad|N/m", "of a spring towards the rest position"
    )
    joint_rest_position: Float[AnyArray, " nq"] = leaf(
        "joint/rest_position", "coordinate", (), "rad|m", "where that spring is slack, as `q`"
    )
    joint_damping: PerDof = _dof_leaf("damping", "N·m·s/rad|N·s/m", "viscous friction")
    joint_friction: PerDof = _dof_leaf("friction", "N·m|N", "dry friction")
    joint_friction_speed: PerDof = _dof_leaf(
        "friction_speed", "rad/s|m/s", "speed within which dry friction is smoothed"
    )
    joint_stiction: PerDof = _dof_leaf(
        "stiction", "N·m|N", "by how much dry friction at rest exceeds that of sliding"
    )
    joint_stiction_speed: PerDof = _dof_leaf(
        "stiction_speed", "rad/s|m/s", "speed at which stiction has fallen by the factor e"
    )
    joint_stiction_exponent: PerDof = _dof_leaf(
        "stiction_exponent", "1", "shape of this fall: 2 is a bell, less is steeper at rest"
    )
    joint_load_friction: PerDof = _dof_leaf(
        "load_friction", "1", "dry friction for each N·m of the motor torque"
    )
    joint_bristle_deflection: PerDof = _dof_leaf(
        "bristle_deflection", "rad|m", "sliding after a reversal over which dry friction builds up"
    )
    joint_torque_offset: PerDof = _dof_leaf(
        "torque_offset", "N·m|N", "constant part of the motor torque that moves nothing"
    )
    joint_cogging_sin: PerDof = _dof_leaf(
        "cogging_sin", "N·m|N", "torque that follows the sine of the position"
    )
    joint_cogging_cos: PerDof = _dof_leaf(
        "cogging_cos", "N·m|N", "torque that follows the cosine of the position"
    )
    joint_cogging_periods: PerDof = _dof_leaf(
        "cogging_periods", "1|1/m", "periods of that sine and cosine in a turn, or in a metre"
    )
    joint_play: PerDof = _dof_leaf(
        "play", "rad|m", "free travel within which spring and PD controller pull at nothing"
    )
    joint_lower: PerDof = _dof_leaf("lower", "rad|m", "lower end of travel")
    joint_upper: PerDof = _dof_leaf("upper", "rad|m", "upper end of travel")
    joint_limit_stiffness: PerDof = _dof_leaf(
        "limit_stiffness", "N·m/rad|N/m", "of the stop at an end of travel"
    )
    joint_limit_damping: PerDof = _dof_leaf(
        "limit_damping", "N·m·s/rad|N·s/m", "of the stop at an end of travel"
    )
    joint_limit_width: PerDof = _dof_leaf(
        "limit_width", "rad|m", "distance over which the stop sets in"
    )
    joint_effort: PerDof = _dof_leaf("effort", "N·m|N", "largest motor torque")
    joint_gear: PerDof = _dof_leaf("gear", "1", "motor's turns for each of the joint's")
    joint_motor_constant: PerDof = _dof_leaf(
        "motor_constant", "N·m|N", "motor torque for one unit of the command, as for one ampere"
    )
    joint_kp: PerDof = _dof_leaf("kp", "N·m/rad|N/m", "gain of a PD controller on position")
    joint_kd: PerDof = _dof_leaf("kd", "N·m·s/rad|N·s/m", "gain of a PD controller on velocity")
    joint_delay: PerDof = _dof_leaf("delay", "s", "between command and motor")
