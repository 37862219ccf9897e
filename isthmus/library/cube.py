"""A cube on a free joint."""

from __future__ import annotations

from typing import Any

from isthmus.entry import check_arguments
from isthmus.model.builder import Builder
from isthmus.model.contacts import with_contact
from isthmus.model.model import Model
from isthmus.spatial import bodies
from isthmus.types import Number


@check_arguments
def cube(
    mass: Number = 0.37, width: Number = 0.1048, *, ground: bool = True, contact: Any = None
) -> Model:
    """A solid cube of full `width` [m] over a plane at z = 0; its defaults are those of a cube often thrown.

    `contact`: how its corners touch the plane, as in `ist.with_contact`; None: not at all.
    """
    half = 0.5 * width
    robot = Builder("cube")
    robot.add_link("cube", mass=mass, inertia=bodies.box(mass, width, width, width))
    robot.add_joint_free("flight", None, "cube")
    robot.add_shape_box("cube", (half, half, half))
    signs = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    for k, (x, y, z) in enumerate(signs):
        robot.add_point(f"corner_{k}", "cube", (x * half, y * half, z * half))
    if ground:
        robot.add_shape_plane(name="ground")
    model = robot.model()
    return model if contact is None else with_contact(model, contact)
