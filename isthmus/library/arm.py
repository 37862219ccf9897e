"""An arm with seven joints, of the proportions and weights of a common collaborative robot."""

from __future__ import annotations

from isthmus.entry import check_arguments
from isthmus.library.each import one_for_each
from isthmus.model.builder import Builder
from isthmus.model.model import Model
from isthmus.spatial import bodies
from isthmus.types import Number, Numbers

MASSES = (2.9, 3.1, 2.7, 2.6, 2.3, 1.6, 0.9)
"""Of the seven links [kg]."""
RISES = (0.333, 0.0, 0.316, 0.0, 0.384, 0.0, 0.107)
"""Distance of each joint from the one before it, along the stretched arm [m]."""
AXES = ((0, 0, 1), (0, 1, 0), (0, 0, 1), (0, -1, 0), (0, 0, 1), (0, -1, 0), (0, 0, 1))
TRAVEL = ((-2.9, 2.9), (-1.8, 1.8), (-2.9, 2.9), (-3.0, 0.1), (-2.9, 2.9), (-0.1, 3.7), (-2.9, 2.9))
EFFORTS = (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0)
HALF_LENGTHS = (0.10, 0.12, 0.11, 0.12, 0.12, 0.05, 0.04)
"""Of the tubes that the links are made of [m]."""


@check_arguments
def arm(
    masses: Numbers = MASSES,
    *,
    payload: Number = 0.0,
    damping: Numbers = 0.0,
    friction: Numbers = 0.0,
    radius: Number = 0.06,
) -> Model:
    """Seven hinges from the shoulder to the flange, stretched upwards at `q = 0`; masses and `payload` [kg].

    `damping` [N·m·s/rad] and `friction` [N·m] are one number or seven. The flange is the point `flange`.
    """
    given = {"masses": masses, "damping": damping, "friction": friction}
    masses, damping, friction = (one_for_each(name, x, 7, "links") for name, x in given.items())
    robot = Builder("arm")
    for i in range(7):
        half, name = HALF_LENGTHS[i], f"link_{i + 1}"
        middle = (0.0, 0.03 if i in (1, 3) else 0.0, -half if i in (0, 2, 4) else 0.5 * half)
        moment = bodies.cylinder(masses[i], radius, 2.0 * half)
        robot.add_link(name, mass=masses[i], com=middle, inertia=moment)
        robot.add_joint_revolute(
            f"joint_{i + 1}", f"link_{i}" if i else None, name,
            position=(0.0, 0.0, RISES[i]), axis=tuple(float(x) for x in AXES[i]),
            lower=TRAVEL[i][0], upper=TRAVEL[i][1], effort=EFFORTS[i],
            damping=damping[i], friction=friction[i],
        )  # fmt: skip
        robot.add_shape_cylinder(name, radius, half, position=middle)
    robot.add_link("payload", mass=payload, inertia=bodies.sphere(payload, 0.03))
    robot.add_joint_fixed("grip", "link_7", "payload", position=(0.0, 0.0, 0.1))
    robot.add_point("flange", "link_7", (0.0, 0.0, 0.1))
    return robot.model()
