"""A tip on a prescribed path that pushes a slider on a table."""

from __future__ import annotations

from isthmus.entry import check_arguments
from isthmus.model.builder import Builder
from isthmus.model.model import Model
from isthmus.spatial import bodies
from isthmus.types import Number


@check_arguments
def pusher(
    mass: Number = 0.837,
    width: Number = 0.09,
    depth: Number = 0.09,
    *,
    height: Number = 0.013,
    tip_radius: Number = 0.00475,
) -> Model:
    """A box [kg, m] that slides on the plane z = 0, and a round tip whose planar motion comes with the controls.

    `Control(position=, velocity=, acceleration=)` take x, y and angle of the tip.
    """
    robot = Builder("pusher")
    robot.add_link("slider", mass=mass, inertia=bodies.box(mass, width, depth, height))
    robot.add_joint_planar("table", None, "slider", position=(0.0, 0.0, 0.5 * height))
    robot.add_shape_box("slider", (0.5 * width, 0.5 * depth, 0.5 * height))
    robot.add_link("tip", mass=0.1, inertia=bodies.cylinder(0.1, tip_radius, 4 * height))
    robot.add_joint_planar("hand", None, "tip", position=(0.0, 0.0, 0.5 * height), prescribed=True)
    robot.add_shape_cylinder("tip", tip_radius, 2 * height)
    robot.add_shape_plane(name="ground")
    return robot.model()
