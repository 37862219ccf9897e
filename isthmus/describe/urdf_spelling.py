"""What stands in a URDF and nobody reads: misspelt elements and attributes, and elements that occur twice.

URDF allows elements of other programs, so an unknown element is told only where it looks like one that we know. The
elements below hold numbers of the robot: any attribute that they should not have is told.
"""

from __future__ import annotations

import difflib

from isthmus.describe.description import EXTRAS
from isthmus.describe.notes import Notes, where
from isthmus.describe.urdf_shapes import TOUCH
from isthmus.describe.xml_lines import Element

CHILDREN = {
    "robot": ("link", "joint"),
    "link": ("inertial", "visual", "collision"),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
    "collision": ("origin", "geometry"),
    "geometry": ("box", "sphere", "cylinder", "capsule", "mesh", "plane"),
}
"""The elements that we read, by the element that they stand in."""
FRIENDS = (
    "calibration", "safety_controller", "material", "transmission", "gazebo", "sensor", "contact", "plugin",
    "self_collision_checking", "verbose", "ros2_control", "hardwareInterface", "acceleration", "jerk",
)  # fmt: skip
"""Elements of other programs whose names look like ours."""
ATTRIBUTES = {
    "origin": ("xyz", "rpy", "quat_xyzw"),
    "axis": ("xyz",),
    "mass": ("value",),
    "inertia": ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"),
    "parent": ("link",),
    "child": ("link",),
    "mimic": ("joint", "multiplier", "offset"),
    "dynamics": ("damping", "friction", "armature", "stiffness", "rest", "friction_speed", *EXTRAS),
    "limit": (
        "lower", "upper", "effort", "velocity", "acceleration", "jerk",
        "limit_stiffness", "limit_damping", "limit_width",
    ),
}  # fmt: skip
"""Attributes of the elements that hold numbers."""
ALIEN = {
    "origin": ("wxyz", "rpy_offset"),
    "dynamics": ("spring_stiffness", "spring_reference", "reflected_inertia"),
}
"""Attributes of other programs that have no effect here and need no word."""
ONCE = frozenset((*CHILDREN["inertial"], *CHILDREN["joint"], "inertial"))
"""Elements that occur once in what they describe."""
ALMOST = 0.75
"""Likeness (0 to 1) from which on an element is taken for a misspelt one."""

UNREAD = "no such element is known here, so it was ignored: {}."
UNKNOWN = "no such attribute is known here, so it was ignored: {}."
CONTACT = (
    "contact numbers of other programs that have no meaning here, ist.Contact has its own: {}."
)
GAZEBO = frozenset(
    "mu mu1 mu2 fdir1 slip1 slip2 kp kd min_depth minDepth max_vel maxVel maxContacts soft_cfm soft_erp".split()
)
"""Elements in <gazebo> that are numbers of a contact; they stand in text, as no number of URDF itself does."""
TWICE = "an element may stand there once, so only the first one was read: {}."


def check_spelling(root: Element, notes: Notes) -> None:
    """Collects a doubt for each element and attribute that looks like a mistake."""
    _inside(root, "the robot", notes)
    for alien in root.all("gazebo"):
        if found := dict.fromkeys(e.tag for e in reversed([*alien.walk()]) if e.tag in GAZEBO):
            of = alien.attributes.get("reference", "").strip()
            notes.doubt(CONTACT, f"{', '.join(found)} in <gazebo> of {of!r}{where(alien.line)}")
    for top in (*root.all("link"), *root.all("joint")):
        _within(top, f"{top.tag} {top.attributes.get('name', '').strip()!r}", notes)


def _within(element: Element, owner: str, notes: Notes) -> None:
    """An element and those below it that we read."""
    _inside(element, owner, notes)
    _attributes(element, owner, notes)
    for child in element.children:
        if child.tag in CHILDREN.get(element.tag, ()):
            _within(child, owner, notes)


def _inside(element: Element, owner: str, notes: Notes) -> None:
    known = CHILDREN.get(element.tag)
    if known is None:
        return
    seen: set[str] = set()
    for child in element.children:
        if child.tag in known:
            if child.tag in ONCE and child.tag in seen:
                notes.doubt(TWICE, f"<{child.tag}> of {owner}{where(child.line)}")
            seen.add(child.tag)
        elif child.tag == "contact" and element.tag == "link":
            if found := [e.tag for e in child.children if e.tag not in TOUCH]:
                notes.doubt(CONTACT, f"{', '.join(found)} of {owner}{where(child.line)}")
        elif child.tag not in FRIENDS and (close := _closest(child.tag, known)):
            notes.doubt(
                UNREAD, f"<{child.tag}> of {owner}{where(child.line)}, perhaps <{close}> was meant"
            )


def _attributes(element: Element, owner: str, notes: Notes) -> None:
    known = ATTRIBUTES.get(element.tag)
    if known is None:
        return
    for name in element.attributes:
        if name in known or name in ALIEN.get(element.tag, ()) or ":" in name:
            continue
        close = _closest(name, known, 0.5)
        meant = f", perhaps {close!r} was meant" if close else ""
        place = f"{name!r} in <{element.tag}> of {owner}{where(element.line)}"
        notes.doubt(UNKNOWN, f"{place}{meant}")


def _closest(name: str, known: tuple[str, ...], likeness: float = ALMOST) -> str | None:
    """The known name that `name` is most like, if it is alike at all; capital letters do not count."""
    found = difflib.get_close_matches(name.lower(), known, n=1, cutoff=likeness)
    return found[0] if found else None
