"""Small URDF texts for tests."""

from __future__ import annotations

import pytest

from isthmus.describe.description import Description
from isthmus.describe.urdf import parse_urdf
from isthmus.errors import BadDescription

BODY = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"


def link(name: str, inside: str = BODY) -> str:
    return f"<link name='{name}'>{inside}</link>"


def joint(name: str, parent: str, child: str, inside: str = "", kind: str = "revolute") -> str:
    ends = f"<parent link='{parent}'/><child link='{child}'/>"
    return f"<joint name='{name}' type='{kind}'>{ends}{inside}</joint>"


def robot(*parts: str) -> str:
    return "\n".join(["<robot name='r'>", *parts, "</robot>"])


def pair(inside: str = "", kind: str = "revolute", child: str = BODY) -> Description:
    """Two links, `a` and `b`, with a joint `j` between them."""
    return parse_urdf(robot(link("a"), link("b", child), joint("j", "a", "b", inside, kind)))


def find(members: tuple, name: str):
    return next(member for member in members if member.name == name)


def faults(*parts: str) -> str:
    with pytest.raises(BadDescription) as caught:
        parse_urdf(robot(*parts))
    return str(caught.value)


def heavy(xx: float | str, yy: float | str, zz: float | str, mass: float | str = 1.0) -> str:
    inertia = f"<inertia ixx='{xx}' iyy='{yy}' izz='{zz}'/>"
    return f"<inertial><mass value='{mass}'/>{inertia}</inertial>"
