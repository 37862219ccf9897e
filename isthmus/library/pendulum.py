"""A chain of uniform rods hanging from the world."""

from __future__ import annotations

from typing import Any, Literal

from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.library.each import is_row, one_for_each
from isthmus.model.builder import Builder
from isthmus.model.model import Model
from isthmus.spatial import bodies
from isthmus.types import Numbers

SLENDERNESS = 0.025
"""Radius of a rod for each metre of its length: what it turns about its own axis with."""

MOST = 1000
"""Rods of a pendulum."""


@check_arguments
def pendulum(
    n: int | None = None,
    lengths: Numbers | None = None,
    masses: Numbers | None = None,
    joints: Literal["revolute", "spherical"] = "revolute",
    *,
    damping: Numbers = 0.0,
    gravity: Numbers = (0.0, 0.0, -9.81),
) -> Model:
    """`n` rods (two, if nothing says otherwise) of `lengths` [m] and `masses` [kg], one of each by default.

    At `q = 0` they hang down. Hinges turn about y; `damping` [N·m·s/rad] is one number or one for each rod. The
    free end is the point `tip`.
    """
    n = _count(n, lengths=lengths, masses=masses)
    given = {"lengths": lengths, "masses": masses, "damping": damping}
    lengths, masses, damping = (
        one_for_each(name, 1.0 if x is None else x, n, "rods") for name, x in given.items()
    )
    robot = Builder(f"pendulum_{n}", gravity=gravity)
    for i in range(n):
        length, mass = lengths[i], masses[i]
        parent = f"rod_{i}" if i else None
        below = (0.0, 0.0, -lengths[i - 1]) if i else (0.0, 0.0, 0.0)
        moment = bodies.rod(mass, length, SLENDERNESS * length)
        robot.add_link(f"rod_{i + 1}", mass=mass, com=(0.0, 0.0, -0.5 * length), inertia=moment)
        add = robot.add_joint_revolute if joints == "revolute" else robot.add_joint_spherical
        add(
            f"joint_{i + 1}", parent, f"rod_{i + 1}",
            position=below, axis=(0.0, 1.0, 0.0), damping=damping[i],
        )  # fmt: skip
        robot.add_shape_capsule(
            f"rod_{i + 1}", SLENDERNESS * length, 0.5 * length, position=(0.0, 0.0, -0.5 * length)
        )
    robot.add_point("tip", f"rod_{n}", (0.0, 0.0, -lengths[n - 1]))
    return robot.model()


def _count(n: int | None, **given: Any) -> int:
    """How many rods: what `n` says, or as many as lengths or masses are given."""
    sizes = {name: len(x) for name, x in given.items() if x is not None and is_row(x)}
    if n is None:
        n = next(iter(sizes.values()), 2)
    if not 1 <= n <= MOST:
        raise BadOption(f"a pendulum has 1 to {MOST} rods, not {n!r}.")
    return int(n)
