"""Frozen records that say what a mechanism is; every reader writes them, `model.compile` reads them.

Plain Python: numbers pass through untouched, so they may be traced. SI units and radians; quaternions `w x y z`;
a frame is given by position and quaternion in its parent's frame.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from isthmus.types import Number

Numbers = tuple[Number, ...]
JointKind = Literal["fixed", "revolute", "prismatic", "spherical", "planar", "free"]
ShapeKind = Literal["plane", "sphere", "capsule", "box", "cylinder", "points"]

DOF: dict[str, int] = {
    "fixed": 0, "revolute": 1, "prismatic": 1, "spherical": 3, "planar": 3, "free": 6
}  # fmt: skip
"""Degrees of freedom of each kind of joint."""


@dataclasses.dataclass(frozen=True)
class Frame:
    """Where a frame stands in another one."""

    position: Numbers | Number = (0.0, 0.0, 0.0)
    """Origin [m]."""
    orientation: Numbers | Number = (1.0, 0.0, 0.0, 0.0)
    """Quaternion `w x y z`; need not be of unit length."""


@dataclasses.dataclass(frozen=True)
class Surface:
    """What a file says about the friction of a shape, whatever it touches."""

    friction: float
    priority: int = 0
    """Of two shapes, the one of higher priority decides."""
    smooth: bool = False
    """Without friction on what is smooth too: MJCF's `condim="1"`."""

    def on(self, other: Surface) -> float:
        """The friction of two shapes, as MuJoCo combines it."""
        decide = [self, other]
        if self.priority != other.priority:
            decide = [max(decide, key=lambda surface: surface.priority)]
        return 0.0 if all(x.smooth for x in decide) else max(x.friction for x in decide)


@dataclasses.dataclass(frozen=True)
class Touch:
    """What a file says about how a shape touches others."""

    kind: str = ""
    """`impulse` or `penalty`, where the file says that the shape touches the ground; else empty."""
    numbers: tuple[tuple[str, Numbers], ...] = ()
    """Such as `("friction", (0.7,))`: the fields of `ist.Contact`, one number or one for each contact of the shape."""
    surface: Surface | None = None
    """Where the friction in `numbers` is that on a plane; None: that is its own."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """A collision shape, fixed to a link or, where `link` is None, to the world."""

    name: str
    kind: ShapeKind
    link: str | None
    frame: Frame = Frame()
    size: Numbers | Number = (0.0, 0.0, 0.0)
    """[m] sphere: radius, -, -; capsule, cylinder: radius, half-length along z, -; box: half-widths; else zeros."""
    points: tuple[Numbers, ...] = ()
    """Corners of the convex hull, in the shape's frame [m]; for kind `points` only."""
    touch: Touch = Touch()
    mask: tuple[int, int] = (1, 1)
    """Bits of what it is, and of what it touches: MuJoCo's contype and conaffinity."""


@dataclasses.dataclass(frozen=True)
class Link:
    """A rigid body. Its frame is the child frame of its joint."""

    name: str
    mass: Number = 0.0
    """[kg]"""
    com: Numbers | Number = (0.0, 0.0, 0.0)
    """Centre of mass in the link's frame [m]."""
    inertia: Numbers | Number = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """About the centre of mass, in the link's axes: xx, yy, zz, xy, xz, yz [kg·m²]."""
    line: int | None = None
    """Where the description stands in its file."""


@dataclasses.dataclass(frozen=True)
class Mimic:
    """`q = multiplier · q_of(joint) + offset`."""

    joint: str
    multiplier: Number = 1.0
    offset: Number = 0.0


@dataclasses.dataclass(frozen=True)
class Joint:
    """What joins `child` to `parent` (None: the world); each link is the child of one joint.

    Numbers of a degree of freedom are given once for all of the joint's, or one for each of them.
    """

    name: str
    kind: JointKind
    parent: str | None
    child: str
    frame: Frame = Frame()
    """The child's frame in the parent's, at `q = 0`."""
    axis: Numbers | Number = (0.0, 0.0, 1.0)
    """Direction of motion (revolute, prismatic) or normal of the plane (planar), in the child's frame at `q = 0`."""
    lower: Numbers | Number | None = None
    upper: Numbers | Number | None = None
    """Ends of travel [rad or m]; None: none."""
    limit_stiffness: Numbers | Number | None = None
    """Of the stops at these ends [N·m/rad or N/m]; None, here and for the next two: chosen from the masses."""
    limit_damping: Numbers | Number | None = None
    """[N·m·s/rad or N·s/m]"""
    limit_width: Numbers | Number | None = None
    """Distance over which a stop sets in [rad or m]."""
    effort: Numbers | Number | None = None
    """Largest motor torque or force [N·m or N]; None: no bound."""
    stiffness: Numbers | Number = 0.0
    """Of a spring towards `rest` [N·m/rad or N/m]."""
    rest: Numbers | Number | None = None
    """Position `q` at which the spring is slack; None: the neutral position."""
    damping: Numbers | Number = 0.0
    """Viscous [N·m·s/rad or N·s/m]."""
    friction: Numbers | Number = 0.0
    """Dry friction [N·m or N]."""
    friction_speed: Numbers | Number = 0.01
    """Speed within which dry friction is smoothed [rad/s or m/s]."""
    stiction: Numbers | Number = 0.0
    """By how much dry friction at rest exceeds that of sliding [N·m or N]."""
    stiction_speed: Numbers | Number = 0.1
    """Speed at which stiction has fallen by the factor e [rad/s or m/s]."""
    stiction_exponent: Numbers | Number = 2.0
    """Shape of this fall: 2 is a bell; 1 (Tustin) and less fall steeply from rest and end slowly."""
    load_friction: Numbers | Number = 0.0
    """Dry friction for each N·m (or N) of the motor torque."""
    bristle_deflection: Numbers | Number = 0.0
    """Sliding after a reversal over which dry friction builds up [rad or m]; 0: it depends on the velocity."""
    torque_offset: Numbers | Number = 0.0
    """Constant part of the motor torque that moves nothing [N·m or N]."""
    cogging_sin: Numbers | Number = 0.0
    cogging_cos: Numbers | Number = 0.0
    """Torques that follow sine and cosine of the position [N·m or N]."""
    cogging_periods: Numbers | Number = 1.0
    """Periods of that sine and cosine in a turn, or in a metre."""
    play: Numbers | Number = 0.0
    """Free travel within which spring and PD controller pull at nothing [rad or m]."""
    motor_constant: Numbers | Number = 1.0
    """Motor torque for one unit of the command [N·m or N]."""
    armature: Numbers | Number = 0.0
    """Reflected rotor inertia [kg·m² or kg]."""
    mimic: Mimic | None = None
    prescribed: bool = False
    """Its motion is given by the controls, whatever forces act on it."""
    line: int | None = None


EXTRAS = (
    "stiction", "stiction_speed", "stiction_exponent", "load_friction", "bristle_deflection", "torque_offset",
    "cogging_sin", "cogging_cos", "cogging_periods", "motor_constant",
    "play",
)  # fmt: skip
"""Fields of a joint that no file format but ours has a place for."""
PER_DOF = (
    "lower", "upper", "effort", "stiffness", "damping", "friction", "friction_speed", "armature",
    "limit_stiffness", "limit_damping", "limit_width", *EXTRAS,
)  # fmt: skip
"""Fields of a joint with one number for each degree of freedom."""


@dataclasses.dataclass(frozen=True)
class Actuator:
    """What turns a joint's command into torque; a joint without one takes its command as torque."""

    joint: str
    kind: Literal["torque", "pd"] = "torque"
    """`torque`: gear · command; `pd`: gear · (kp · (command − gear · q) − kd · gear · v)."""
    gear: Numbers | Number = 1.0
    kp: Numbers | Number = 0.0
    """[N·m/rad or N/m]"""
    kd: Numbers | Number = 0.0
    """[N·m·s/rad or N·s/m]"""
    delay: Numbers | Number = 0.0
    """Between command and motor [s]."""
    delay_steps: int = 32
    """Longest delay that can be kept, in steps, where there is one."""


@dataclasses.dataclass(frozen=True)
class Point:
    """A named frame on a link (None: on the world): marker, sensor, tool."""

    name: str
    link: str | None
    frame: Frame = Frame()


@dataclasses.dataclass(frozen=True)
class TouchingPair:
    """Two shapes that a file lets touch each other by their names, whatever their masks say."""

    first: str
    second: str
    touch: Touch = Touch()


@dataclasses.dataclass(frozen=True)
class Description:
    """A whole mechanism: a forest of links, each hanging by its joint."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    points: tuple[Point, ...] = ()
    shapes: tuple[Shape, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    excluded: tuple[tuple[str | None, str | None], ...] = ()
    """Pairs of links (None: the world) whose shapes do not touch."""
    pairs: tuple[TouchingPair, ...] = ()
    """Pairs of shapes that touch whatever masks and exclusions say."""
    gravity: Numbers | Number = (0.0, 0.0, -9.81)
    """[m/s²]"""
    timestep: float | None = None
    """What the file suggests [s]."""
    impulses: tuple[tuple[str, str | int], ...] = ()
    """Options of `ist.with_contact`: `order`, `sweeps`, `newton`."""
    source: str = ""
    """The file it came from, for messages."""
