"""A walking robot with twelve joints and a free trunk; figures of the Unitree A1's published description."""

from __future__ import annotations

from typing import Any

from isthmus.entry import check_arguments
from isthmus.model.builder import Builder
from isthmus.model.contacts import Contact, with_contact
from isthmus.model.model import Model
from isthmus.types import Number

LEGS = {"FR": (1, -1), "FL": (1, 1), "RR": (-1, -1), "RL": (-1, 1)}
"""Front and left are +1."""
HIP_X, HIP_Y, HIP_WIDTH, THIGH, CALF = 0.1805, 0.047, 0.0838, 0.2, 0.2
EFFORT = 33.5


@check_arguments
def quadruped(
    *,
    trunk_mass: Number = 4.713,
    thigh: Number = THIGH,
    calf: Number = CALF,
    damping: Number = 0.01,
    friction: Number = 0.2,
    armature: Number = 0.0,
    ground: bool = True,
    contact: Any = None,
) -> Model:
    """A trunk on a free joint and four legs of hip, thigh and calf [kg, m, N·m·s/rad, N·m, kg·m²].

    Legs `FR FL RR RL`, joints `FR_hip`, `FR_thigh`, `FR_calf` …, feet the points `FR_foot` …; at `q = 0` the legs
    are straight down and the trunk is at the world's origin. `contact`: how the feet touch the ground, "impulse" or
    "penalty", or records as in `ist.with_contact`; None: not at all.
    """
    robot = Builder("quadruped")
    robot.add_link(
        "trunk", mass=trunk_mass, com=(0.0, 0.0041, -0.0005),
        inertia=(0.01683993, 0.056579028, 0.064713601, 8.3902e-05, 0.000597679, 2.5134e-05),
    )  # fmt: skip
    robot.add_joint_free("trunk", None, "trunk")
    robot.add_shape_box("trunk", (0.1335, 0.097, 0.057))
    for leg, (front, left) in LEGS.items():
        _add_leg(robot, leg, front, left, thigh, calf,
                 {"damping": damping, "friction": friction, "armature": armature, "effort": EFFORT})  # fmt: skip
    if ground:
        robot.add_shape_plane(name="ground")
    model = robot.model()
    if contact is None:
        return model
    feet = [f"{leg}_foot" for leg in LEGS]
    return with_contact(model, Contact(contact, feet) if isinstance(contact, str) else contact)


def _add_leg(
    robot: Builder, leg: str, front: int, left: int, thigh: Number, calf: Number, numbers: dict
) -> None:
    """Hip about x, thigh and calf about y; a right leg mirrors a left one, a rear hip a front one."""
    robot.add_link(
        f"{leg}_hip", mass=0.696, com=(-0.003311 * front, 0.000635 * left, 3.1e-05),
        inertia=(0.000469246, 0.00080749, 0.000552929,
                 -9.409e-06 * front * left, -3.42e-07 * front, -4.66e-07 * left),
    )  # fmt: skip
    robot.add_joint_revolute(
        f"{leg}_hip", "trunk", f"{leg}_hip", position=(HIP_X * front, HIP_Y * left, 0.0),
        axis=(1.0, 0.0, 0.0), lower=-0.803, upper=0.803, **numbers,
    )  # fmt: skip
    robot.add_link(
        f"{leg}_thigh", mass=1.013, com=(-0.003237, -0.022327 * left, -0.027326 * thigh / THIGH),
        inertia=(0.005529065, 0.005139339, 0.001367788,
                 4.825e-06 * left, 0.000343869, 2.2448e-05 * left),
    )  # fmt: skip
    robot.add_joint_revolute(
        f"{leg}_thigh", f"{leg}_hip", f"{leg}_thigh", position=(0.0, HIP_WIDTH * left, 0.0),
        axis=(0.0, 1.0, 0.0), lower=-1.05, upper=4.19, **numbers,
    )  # fmt: skip
    robot.add_shape_box(
        f"{leg}_thigh", (0.017, 0.01225, 0.5 * thigh), position=(0.0, 0.0, -0.5 * thigh)
    )
    robot.add_link(
        f"{leg}_calf", mass=0.226, com=(0.004727, 0.0, -0.131975 * calf / CALF),
        inertia=(0.0033784, 0.0033945, 3.7e-05, 0.0, -0.000117, 0.0),
    )  # fmt: skip
    robot.add_joint_revolute(
        f"{leg}_calf", f"{leg}_thigh", f"{leg}_calf", position=(0.0, 0.0, -thigh),
        axis=(0.0, 1.0, 0.0), lower=-2.7, upper=0.0, **numbers,
    )  # fmt: skip
    robot.add_shape_sphere(f"{leg}_calf", 0.02, position=(0.0, 0.0, -calf), name=f"{leg}_foot")
    robot.add_point(f"{leg}_foot", f"{leg}_calf", (0.0, 0.0, -calf))
