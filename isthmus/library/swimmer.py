"""A planar swimmer: a chain of flat links, as in the DeepMind control suite's swimmer."""

from __future__ import annotations

import numpy as np

from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.model.builder import Builder
from isthmus.model.model import Model
from isthmus.spatial import bodies
from isthmus.types import Number

HALF = 0.05
"""Half the length of a link [m]."""
TRAVEL = np.deg2rad(120.0)


@check_arguments
def swimmer(
    n: int = 3,
    *,
    mass: Number = 0.01,
    length: Number = 2 * HALF,
    armature: Number = 1e-6,
    limits: bool = False,
) -> Model:
    """`n` links of `mass` [kg] and `length` [m] along y, in vacuum; `n − 1` motors turn about z.

    The head moves in the plane (joint `root`: x, y, angle of its front end); gravity acts across it and does
    nothing. `limits` puts stops at ±120°. The middle of link `k` is the point `middle_k`.
    """
    if n < 1:
        raise BadOption(f"a swimmer needs a whole number of links from 1, not {n!r}.")
    robot = Builder(f"swimmer_{n}")
    stops = {"lower": -TRAVEL, "upper": TRAVEL} if limits else {}
    for k in range(n):
        name = "head" if k == 0 else f"segment_{k - 1}"
        middle = (0.0, 0.5 * length, 0.0)
        robot.add_link(name, mass=mass, com=middle, inertia=bodies.box(mass, 0.002, length, 0.02))
        if k == 0:
            robot.add_joint_planar("root", None, name, position=(0.0, -HALF, 0.05))
        else:
            parent = "head" if k == 1 else f"segment_{k - 2}"
            robot.add_joint_revolute(
                f"joint_{k - 1}", parent, name,
                position=(0.0, length, 0.0), armature=armature, **stops,
            )  # fmt: skip
        turned = (2**-0.5, 2**-0.5, 0.0, 0.0)
        robot.add_shape_capsule(name, 0.01, 0.5 * length, position=middle, orientation=turned)
        robot.add_point(f"middle_{k}", name, middle)
    return robot.model()
