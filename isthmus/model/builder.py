"""`Builder`: a mechanism described in Python, part by part. Numbers may be traced."""

from __future__ import annotations

import dataclasses
from typing import Any

from isthmus.describe.description import (
    Actuator,
    Description,
    Frame,
    Joint,
    JointKind,
    Link,
    Mimic,
    Point,
    Shape,
    ShapeKind,
)
from isthmus.describe.inertias import of_adrift
from isthmus.describe.notes import say
from isthmus.entry import check_arguments
from isthmus.errors import BadArgument, did_you_mean
from isthmus.model.compile import compile_model
from isthmus.model.contacts import Ground, with_contact
from isthmus.model.model import Model
from isthmus.types import Number, Numbers

HERE = (0.0, 0.0, 0.0)
LEVEL = (1.0, 0.0, 0.0, 0.0)
UP = (0.0, 0.0, 1.0)


JOINT_NUMBERS = tuple(
    field.name
    for field in dataclasses.fields(Joint)
    if field.name not in ("name", "kind", "parent", "child", "frame", "axis", "line")
)
"""What joints take by keyword, besides where they are."""


class Builder:
    """Collects links, joints, shapes, points and actuators; `model()` makes the model.

    Every `add_joint_…` takes by keyword: `position` [m] and `orientation` (quaternion, `w` first) of the child's frame
    in the parent's at `q = 0`; `axis` in the child's frame; and the numbers of `isthmus.describe.description.Joint`,
    which says what they mean and their units: `lower`, `upper` [rad or m], `effort` [N·m or N], `stiffness`, `rest`,
    `damping`, `friction`, `stiction`, `armature`, `mimic`, `prescribed` and others. A `parent` of None is the world.
    Every `add_shape_…` takes `name`, and `position` and `orientation` of the shape in its link.
    """

    @check_arguments
    def __init__(self, name: str = "mechanism", *, gravity: Numbers = (0.0, 0.0, -9.81)) -> None:
        self.name = name
        self.gravity = gravity
        self._links: list[Link] = []
        self._joints: list[Joint] = []
        self._shapes: list[Shape] = []
        self._points: list[Point] = []
        self._actuators: list[Actuator] = []
        self._contact: Any = None

    @check_arguments
    def add_link(
        self, name: str, *, mass: Number = 0.0, com: Numbers = HERE, inertia: Numbers = (0.0,) * 6
    ) -> Builder:
        """A rigid body: mass [kg], centre of mass [m], inertia about it [kg·m²].

        The inertia is three numbers (xx, yy, zz) or six (xx, yy, zz, xy, xz, yz); see `isthmus.spatial.bodies`.
        """
        if isinstance(inertia, list | tuple) and len(inertia) == 3:
            inertia = (*inertia, 0.0, 0.0, 0.0)
        self._links.append(Link(name, mass, com, inertia))
        return self

    @check_arguments
    def add_joint_fixed(self, name: str, parent: str | None, child: str, **numbers: Any) -> Builder:
        """Welds `child` to `parent`."""
        return self._add_joint(name, "fixed", parent, child, **numbers)

    @check_arguments
    def add_joint_revolute(
        self, name: str, parent: str | None, child: str, **numbers: Any
    ) -> Builder:
        """Turns about `axis`."""
        return self._add_joint(name, "revolute", parent, child, **numbers)

    @check_arguments
    def add_joint_prismatic(
        self, name: str, parent: str | None, child: str, **numbers: Any
    ) -> Builder:
        """Slides along `axis`."""
        return self._add_joint(name, "prismatic", parent, child, **numbers)

    @check_arguments
    def add_joint_spherical(
        self, name: str, parent: str | None, child: str, **numbers: Any
    ) -> Builder:
        """Turns about every axis."""
        return self._add_joint(name, "spherical", parent, child, **numbers)

    @check_arguments
    def add_joint_planar(
        self, name: str, parent: str | None, child: str, **numbers: Any
    ) -> Builder:
        """Slides and turns in the plane whose normal is `axis`."""
        return self._add_joint(name, "planar", parent, child, **numbers)

    @check_arguments
    def add_joint_free(self, name: str, parent: str | None, child: str, **numbers: Any) -> Builder:
        """Moves and turns freely."""
        return self._add_joint(name, "free", parent, child, **numbers)

    @check_arguments
    def add_shape_sphere(self, link: str | None, radius: Number, **where: Any) -> Builder:
        """A ball [m]."""
        return self._add_shape(link, "sphere", (radius, 0.0, 0.0), **where)

    @check_arguments
    def add_shape_capsule(
        self, link: str | None, radius: Number, half_length: Number, **where: Any
    ) -> Builder:
        """A cylinder along z with round ends; `half_length` is without them [m]."""
        return self._add_shape(link, "capsule", (radius, half_length, 0.0), **where)

    @check_arguments
    def add_shape_cylinder(
        self, link: str | None, radius: Number, half_length: Number, **where: Any
    ) -> Builder:
        """A cylinder along z [m]."""
        return self._add_shape(link, "cylinder", (radius, half_length, 0.0), **where)

    @check_arguments
    def add_shape_box(self, link: str | None, half_widths: Numbers, **where: Any) -> Builder:
        """A box [m]."""
        return self._add_shape(link, "box", half_widths, **where)

    @check_arguments
    def add_shape_points(self, link: str | None, points: Numbers, **where: Any) -> Builder:
        """The convex hull of points [m]."""
        if not hasattr(points, "__len__") or any(_length(point) != 3 for point in points):
            raise BadArgument("Builder.add_shape_points: points must be rows of x, y, z [m].")
        corners = tuple(tuple(point) for point in points)
        return self._add_shape(link, "points", HERE, points=corners, **where)

    @check_arguments
    def add_shape_plane(self, link: str | None = None, **where: Any) -> Builder:
        """A half-space below its own z = 0."""
        return self._add_shape(link, "plane", HERE, **where)

    @check_arguments
    def add_ground(
        self,
        height: Number = 0.0,
        tilt: Numbers = (0.0, 0.0),
        *,
        contact: Any = "impulse",
        name: str = "ground",
    ) -> Builder:
        """A plane of the world that all shapes touch: `Ground(height, tilt)` [m, rad].

        `contact`: how, as in `ist.with_contact`: "impulse", "penalty", or one or several `ist.Contact`.
        """
        self._shapes.append(Ground(height, tilt, name).shape())
        self._contact = contact
        return self

    @check_arguments
    def add_point(
        self, name: str, link: str | None, position: Numbers = HERE, orientation: Numbers = LEVEL
    ) -> Builder:
        """A named place on a link: marker, sensor, tool."""
        self._points.append(Point(name, link, Frame(position, orientation)))
        return self

    @check_arguments
    def add_actuator_torque(
        self, joint: str, *, gear: Numbers = 1.0, delay: Numbers = 0.0, delay_steps: int = 32
    ) -> Builder:
        """The command is a motor torque, `gear` times of which reaches the joint, `delay` [s] later.

        `delay_steps` bounds the delay that can be kept, in steps.
        """
        self._actuators.append(
            Actuator(joint, "torque", gear=gear, delay=delay, delay_steps=delay_steps)
        )
        return self

    @check_arguments
    def add_actuator_pd(
        self, joint: str, *, kp: Numbers, kd: Numbers = 0.0, gear: Numbers = 1.0,
        delay: Numbers = 0.0, delay_steps: int = 32,
    ) -> Builder:  # fmt: skip
        """The command is a position [rad or m], to which a PD controller drives the joint, `delay` [s] later."""
        motor = Actuator(joint, "pd", gear=gear, kp=kp, kd=kd, delay=delay, delay_steps=delay_steps)
        self._actuators.append(motor)
        return self

    def description(self) -> Description:
        """All that was added, as plain records."""
        return Description(
            name=self.name, links=tuple(self._links), joints=tuple(self._joints),
            points=tuple(self._points), shapes=tuple(self._shapes),
            actuators=tuple(self._actuators), gravity=self.gravity,
        )  # fmt: skip

    def model(self) -> Model:
        """The model; raises `BadDescription` with all faults, warns of links that nothing holds."""
        description = self.description()
        model = compile_model(description)
        for doubt in of_adrift(description):
            say(doubt, self.name)
        return model if self._contact is None else with_contact(model, self._contact)

    @check_arguments
    def _add_joint(
        self, name: str, kind: JointKind, parent: str | None, child: str, *,
        position: Any = HERE, orientation: Any = LEVEL, axis: Any = UP,
        mimic: Mimic | str | None = None, prescribed: bool = False, **numbers: Any,
    ) -> Builder:  # fmt: skip
        if unknown := [key for key in numbers if key not in JOINT_NUMBERS]:
            known = ["position", "orientation", "axis", *JOINT_NUMBERS]
            near = did_you_mean(unknown[0], known) or f" It takes {', '.join(known)}."
            raise BadArgument(f"Builder.add_joint_{kind}: a joint has no {unknown[0]!r}.{near}")
        mimic = Mimic(mimic) if isinstance(mimic, str) else mimic
        frame = Frame(position, orientation)
        given: dict[str, Any] = {"mimic": mimic, "prescribed": prescribed, **numbers}
        self._joints.append(Joint(name, kind, parent, child, frame, axis, **given))
        return self

    @check_arguments
    def _add_shape(
        self, link: str | None, kind: ShapeKind, size: Any, *,
        name: str | None = None, position: Any = HERE, orientation: Any = LEVEL, points: Any = (),
    ) -> Builder:  # fmt: skip
        owner = "world" if link is None else link
        count = sum(shape.link == link for shape in self._shapes)
        frame = Frame(position, orientation)
        self._shapes.append(
            Shape(name or f"{owner}_{kind}_{count}", kind, link, frame, size, points)
        )
        return self


def _length(x: Any) -> int:
    return len(x) if hasattr(x, "__len__") and getattr(x, "ndim", 1) else 0
