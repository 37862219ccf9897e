"""A pole on a cart."""

from __future__ import annotations

from isthmus.entry import check_arguments
from isthmus.model.builder import Builder
from isthmus.model.model import Model
from isthmus.spatial import bodies
from isthmus.types import Number


@check_arguments
def cart_pole(
    cart_mass: Number = 1.0,
    pole_mass: Number = 0.1,
    pole_length: Number = 1.0,
    *,
    damping: Number = 0.0,
) -> Model:
    """The cart slides along x, the pole (a uniform rod) turns about y; at `q = 0` it stands upright."""
    robot = Builder("cart_pole")
    robot.add_link("cart", mass=cart_mass, inertia=bodies.box(cart_mass, 0.4, 0.2, 0.15))
    robot.add_joint_prismatic("rail", None, "cart", axis=(1.0, 0.0, 0.0), damping=damping)
    robot.add_shape_box("cart", (0.2, 0.1, 0.075))
    moment = bodies.rod(pole_mass, pole_length, 0.02)
    robot.add_link("pole", mass=pole_mass, com=(0.0, 0.0, 0.5 * pole_length), inertia=moment)
    robot.add_joint_revolute("pivot", "cart", "pole", axis=(0.0, 1.0, 0.0), damping=damping)
    robot.add_shape_capsule("pole", 0.02, 0.5 * pole_length, position=(0.0, 0.0, 0.5 * pole_length))
    robot.add_point("tip", "pole", (0.0, 0.0, pole_length))
    return robot.model()
