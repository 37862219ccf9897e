"""Mechanisms for tests: random trees of every kind of joint, and a few that everybody knows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from isthmus import Model
from isthmus.describe.description import Description, Frame, Joint, Link, Mimic, Point

KINDS = ("fixed", "revolute", "prismatic", "spherical", "planar", "free")

random_trees = st.fixed_dictionaries(
    {"seed": st.integers(0, 2**32 - 1), "size": st.integers(1, 12), "free_inside": st.booleans()}
)
"""Arguments of `random_tree`: up to twelve links; free joints hang from links too, or from the world only."""


def random_tree(
    seed: int,
    size: int,
    *,
    kinds: Sequence[str] = KINDS,
    free_inside: bool = True,
    numbers: int | None = None,
) -> Description:
    """`size` links on one or several roots, in random order, with random numbers; two points.

    Trees that differ in the seed `numbers` alone have one structure: what is compiled for one serves the others.
    """
    tree = np.random.default_rng(seed)
    draw = tree if numbers is None else np.random.default_rng(numbers)
    links = tuple(random_link(draw, f"link{i}") for i in range(size))
    joints = []
    for i in range(size):
        parent = None if i == 0 or tree.random() < 0.1 else links[tree.integers(i)].name
        may = [k for k in kinds if k != "free" or free_inside or parent is None]
        joints.append(random_joint(draw, f"joint{i}", str(tree.choice(may)), parent, f"link{i}"))
    points = (
        Point("tip", links[tree.integers(size)].name, random_frame(draw)),
        Point("mark", None, random_frame(draw)),
    )
    shuffled = tuple(joints[i] for i in tree.permutation(size))
    gravity = tuple(draw.normal(size=3) * 5.0)
    return Description(f"tree {seed}", links, shuffled, points, gravity=gravity)


def random_link(draw: np.random.Generator, name: str) -> Link:
    """A body that could exist: its second moments of mass are positive."""
    turn = np.linalg.qr(draw.normal(size=(3, 3)))[0]
    mass = float(np.exp(draw.normal()))
    second = mass * turn @ np.diag(draw.uniform(0.02, 0.5, 3) ** 2) @ turn.T
    I = np.trace(second) * np.eye(3) - second
    six = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    return Link(name, mass, tuple(draw.normal(size=3) * 0.2), six)


def random_frame(draw: np.random.Generator) -> Frame:
    """Anywhere within half a metre; the quaternion is not of unit length."""
    return Frame(tuple(draw.normal(size=3) * 0.5), tuple(draw.normal(size=4)))


def random_joint(
    draw: np.random.Generator, name: str, kind: str, parent: str | None, child: str
) -> Joint:
    """Rotors sit where all engines agree on them: not on translations of planar and free joints."""
    rotor = float(draw.uniform(0.0, 0.3))
    armature = {"planar": (0.0, 0.0, rotor), "free": 0.0, "fixed": 0.0}.get(kind, rotor)
    axis = tuple(draw.normal(size=3)) if draw.random() < 0.7 else AXES[draw.integers(len(AXES))]
    return Joint(name, kind, parent, child, random_frame(draw), axis, armature=armature)


AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (-1.0, 0.0, 0.0))


# mechanisms that everybody knows ------------------------------------------------------------------------


def pendulum(n: int = 2, *, mass=1.0, length=1.0, kind: str = "revolute", **numbers) -> Description:
    """`n` thin rods that hang in a row, hinged about y; masses and lengths one for all or for each."""
    masses, lengths = np.broadcast_to(mass, n), np.broadcast_to(length, n)
    return rods([*masses], [*lengths], kind=kind, **numbers)


def rods(masses, lengths, *, kind: str = "revolute", **numbers) -> Description:
    """Thin rods of these masses [kg] and lengths [m]; both may be traced."""
    links, joints = [], []
    for i, (m, l) in enumerate(zip(masses, lengths, strict=True)):
        across = m * l**2 / 12.0
        I = (across, across, 0.1 * across, 0.0, 0.0, 0.0)  # no hinge about y feels the third
        links.append(Link(f"rod{i + 1}", m, (0.0, 0.0, -0.5 * l), I))
        hinge = Frame((0.0, 0.0, -lengths[i - 1] if i else 0.0))
        parent = f"rod{i}" if i else None
        axis = (0.0, 1.0, 0.0)
        joints.append(Joint(f"hinge{i + 1}", kind, parent, f"rod{i + 1}", hinge, axis, **numbers))
    tip = Point("tip", f"rod{len(links)}", Frame((0.0, 0.0, -lengths[-1])))
    return Description(f"{len(links)} rods", tuple(links), tuple(joints), (tip,))


def arm() -> Description:
    """Seven hinges, alternately along and across the arm, with rotors."""
    draw = np.random.default_rng(7)
    links, joints = [], []
    for i in range(7):
        size = 0.8**i
        link = random_link(draw, f"arm{i + 1}")
        links.append(dataclasses.replace(link, com=(0.0, 0.01 * i, 0.12 * size)))
        across, along = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
        parent = f"arm{i}" if i else None
        frame = Frame((0.0, 0.0, 0.3 * size), (1.0, 0.02 * i, 0.0, 0.1))
        axis = across if i % 2 else along
        joints.append(
            Joint(
                f"axis{i + 1}", "revolute", parent, f"arm{i + 1}", frame, axis, armature=0.1 * size
            )
        )
    hand = Point("hand", "arm7", Frame((0.0, 0.02, 0.1)))
    return Description("arm", tuple(links), tuple(joints), (hand,))


def quadruped() -> Description:
    """A trunk that floats, and four legs of three joints."""
    draw = np.random.default_rng(4)
    links = [dataclasses.replace(random_link(draw, "trunk"), mass=8.0, com=(0.02, 0.0, 0.01))]
    joints = [Joint("base", "free", None, "trunk")]
    points = []
    for x, side, name in ((1, 1, "fl"), (1, -1, "fr"), (-1, 1, "hl"), (-1, -1, "hr")):
        parent, place = "trunk", (0.25 * x, 0.1 * side, 0.0)
        for part, axis, length in (("hip", 0, 0.08), ("thigh", 1, 0.25), ("shin", 1, 0.25)):
            link = dataclasses.replace(random_link(draw, f"{name}_{part}"), mass=0.8)
            links.append(link)
            unit = tuple(np.eye(3)[axis])
            joints.append(
                Joint(
                    f"{name}_{part}_joint",
                    "revolute",
                    parent,
                    link.name,
                    Frame(place),
                    unit,
                    armature=0.01,
                )
            )
            parent = link.name
            place = (0.0, length * side, 0.0) if part == "hip" else (0.0, 0.0, -length)
        points.append(Point(f"{name}_foot", parent, Frame(place)))
    return Description("quadruped", tuple(links), tuple(joints), tuple(points))


def floating(gravity=(0.0, 0.0, -9.81)) -> Description:
    """A body that floats, with an arm of a hinge and a ball joint."""
    draw = np.random.default_rng(6)
    links = tuple(random_link(draw, name) for name in ("body", "upper", "lower"))
    joints = (
        Joint("base", "free", None, "body"),
        Joint("shoulder", "revolute", "body", "upper", random_frame(draw), (0.0, 1.0, 0.3)),
        Joint("wrist", "spherical", "upper", "lower", random_frame(draw)),
    )
    return Description("floating", links, joints, gravity=gravity)


def menagerie() -> Description:
    """Small, with every kind of joint, both ends of travel, springs, friction, a mimic, a driven joint."""
    draw = np.random.default_rng(12)
    names = ("cart", "arm", "finger", "ball", "plate", "drone", "lid", "motor")
    links = tuple(random_link(draw, name) for name in names)

    def frame() -> Frame:
        return dataclasses.replace(random_frame(draw), position=tuple(0.2 * draw.normal(size=3)))

    friction = {"damping": 0.2, "friction": 0.3, "friction_speed": 0.05}
    joints = (
        Joint("rail", "prismatic", None, "cart", frame(), (1.0, 0.2, 0.0), lower=-0.02, upper=0.02,
              armature=0.1, stiffness=3.0, rest=0.1, **friction),
        Joint("elbow", "revolute", "cart", "arm", frame(), (0.3, 1.0, 0.2), lower=-0.3, upper=0.1,
              armature=0.05, stiffness=1.0, rest=0.2, **friction),
        Joint("knuckle", "revolute", "arm", "finger", frame(), (0.0, 1.0, 0.5), armature=0.02,
              damping=0.1, mimic=Mimic("elbow", 0.7, 0.1)),
        Joint("socket", "spherical", "cart", "ball", frame(), armature=0.03, stiffness=(1.0, 2.0, 3.0),
              rest=(0.9, 0.2, -0.1, 0.3), **friction),
        Joint("table", "planar", None, "plate", frame(), (0.1, -0.2, 1.0), lower=-0.1, upper=(0.05, 0.2, 0.3),
              armature=(0.1, 0.2, 0.05), stiffness=1.0, rest=(0.1, 0.0, 0.2), **friction),
        Joint("flight", "free", None, "drone", frame(), armature=0.05, damping=0.1, stiffness=0.5),
        Joint("weld", "fixed", "drone", "lid", frame()),
        Joint("drive", "revolute", "drone", "motor", frame(), (1.0, 0.0, 1.0), prescribed=True),
    )  # fmt: skip
    points = (
        Point("tip", "finger", frame()),
        Point("lamp", "lid", frame()),
        Point("mark", None, frame()),
    )
    return Description("menagerie", links, joints, points)


def with_joint(description: Description, name: str, **changes) -> Description:
    """The description with one joint changed."""
    joints = tuple(
        dataclasses.replace(j, **changes) if j.name == name else j for j in description.joints
    )
    return dataclasses.replace(description, joints=joints)


def description_of(model: Model) -> Description:
    """The description that would give this model, without shapes, ends of travel, passive forces, mimics."""
    links = tuple(
        Link(name, float(m), tuple(c), tuple(I))
        for name, m, c, I in zip(
            model.link_names, model.link_mass, model.link_com, model.link_inertia, strict=True
        )
    )
    joints = []
    for i, (name, kind, parent) in enumerate(
        zip(model.joint_names, model.joint_kinds, model.parents, strict=True)
    ):
        joints.append(Joint(
            name, kind, None if parent < 0 else links[parent].name, links[i].name,
            Frame(tuple(model.joint_origin[i]), tuple(model.joint_orientation[i])), tuple(model.joint_axis[i]),
            armature=0.0 if kind == "fixed" else tuple(model.joint_armature[slice(*model.layout.v_own[i])]),
        ))  # fmt: skip
    points = tuple(
        Point(name, None if k < 0 else links[k].name, Frame(tuple(x), tuple(turn)))
        for name, k, x, turn in zip(
            model.point_names,
            model.point_links,
            model.point_origin,
            model.point_orientation,
            strict=True,
        )
    )
    return Description(model.name, links, tuple(joints), points, gravity=tuple(model.gravity))
