"""MJCF to Description, through MuJoCo's own compiler: a file means here what it means there.

Defaults, includes and compiler options are MuJoCo's business; what it compiled is read. What has no
counterpart is named in one warning.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from isthmus.describe import inertias
from isthmus.describe.checks import check
from isthmus.describe.description import Description, Joint, Mimic
from isthmus.describe.files import PathLike, read_bytes, root_tag
from isthmus.describe.mjcf_actuators import Motors
from isthmus.describe.mjcf_bodies import Tree, floats
from isthmus.describe.mjcf_left_out import LeftOut, name_at, note_the_rest
from isthmus.describe.mjcf_mimics import mimics_of
from isthmus.describe.mjcf_shapes import excluded_of, points_of, shapes_of
from isthmus.describe.mjcf_touch import Touches
from isthmus.describe.mujoco_log import collected_warnings
from isthmus.describe.notes import say
from isthmus.describe.options import ground_height, must_be_one_of, with_ground
from isthmus.describe.poses import Floats
from isthmus.describe.tree import weighs_nothing
from isthmus.describe.urdf import BASES
from isthmus.describe.xml_lines import parse_xml
from isthmus.errors import BadDescription, BadFile, BadOption, MissingExtra

NO_GRAVITY = 1 << 7
"""Of `mjtDisableBit`."""
UNNAMED = "MuJoCo Model"
"""What MuJoCo calls a model without a name."""
FRAGMENT = "is a fragment that other files <include>; load the one that includes it"
WELDED = (
    "base='free' was asked for, but in {} nothing hangs by a free joint:"
    " an MJCF file says itself what moves."
)


def read_mjcf(
    path: PathLike,
    *,
    base: str | None = None,
    ground: bool | float | int | None = None,
    repair: str = "none",
    data: bytes | None = None,
) -> Description:
    """The mechanism in an MJCF file, as MuJoCo compiles it.

    Positions `q` and velocities `v` are MuJoCo's `qpos` and `qvel`, number by number, without those
    of joints that follow another one by a linear `<equality><joint>`. A body is a link with the
    same axes, whose origin is the anchor of its last hinge or ball; where that is not the body's
    own origin, the point `NAME_frame` is. Of several joints in a body, all but the last carry a
    massless link `BODY_JOINT`. Sites are points; geoms that may collide are shapes, unless the file
    disables contacts; their sliding friction is read. Ends of travel, dry friction and bounds on
    motor torque obey our smooth laws, not MuJoCo's constraints. A command belongs to a degree of
    freedom, not to an actuator, and a joint without actuator takes its command as torque.

    Args:
        base: the file says what moves; `free` is refused where nothing hangs by a free joint.
        ground: True adds a horizontal plane at height 0, a number one at that height [m].
        repair: `nearest` replaces impossible inertias by the nearest possible ones; or `none`.
        data: the content of the file, if it was read already.

    Raises:
        BadFile: it is missing, empty, no XML, or no MJCF.
        BadDescription: MuJoCo does not compile it, or it describes what cannot move.
        MissingExtra: MuJoCo is not installed.
    """
    if isinstance(path, str) and path.lstrip().startswith("<"):
        raise BadOption("this is XML, not a path: `parse_mjcf(text)` reads it.")
    source = os.fspath(path)
    return _parse(
        read_bytes(path) if data is None else data,
        lambda mujoco: mujoco.MjModel.from_xml_path(str(source)),
        str(source), base, ground, repair,
    )  # fmt: skip


def parse_mjcf(
    text: str,
    *,
    source: str = "",
    base: str | None = None,
    ground: bool | float | int | None = None,
    repair: str = "none",
) -> Description:
    """The mechanism in MJCF text; messages name `source`.

    Files that it includes are found from the working folder.
    """
    compiled = lambda mujoco: mujoco.MjModel.from_xml_string(text)
    return _parse(text.encode(), compiled, source, base, ground, repair)


def read_again(text: str, folder: str) -> tuple[Description, dict[str, Floats]]:
    """The mechanism in MJCF text whose files stand around `folder`, without a word; and the origin of each body in its
    link [m]."""
    m = compiled_in(text, folder)
    places = Tree(m, LeftOut()).places
    return _description(m, "", LeftOut()), {p.link: p.origin for p in places if p.link is not None}


def compiled_in(text: str, folder: str) -> Any:
    """The `MjModel` of MJCF text whose files stand around `folder`."""

    def compiled(mujoco: Any) -> Any:
        spec = mujoco.MjSpec.from_string(text)
        spec.modelfiledir = folder
        return spec.compile()

    return _compiled(text.encode(), compiled, "")[0]


def _parse(
    data: bytes,
    compile_with: Callable[[Any], Any],
    source: str,
    base: str | None,
    ground: bool | float | int | None,
    repair: str,
) -> Description:
    height = ground_height(ground)
    must_be_one_of("repair", repair, tuple(inertias.DONE))
    if base is not None:
        must_be_one_of("base", base, tuple(BASES))
    m, doubts = _compiled(data, compile_with, source)
    left = LeftOut()
    found = _description(m, source, left)
    check(found)
    if base == "free" and not any(joint.kind == "free" for joint in found.joints):
        raise BadOption(WELDED.format(_it(source)))
    if sentence := left.sentence():
        say(sentence, source)
    for doubt in dict.fromkeys(doubts):
        say(f"MuJoCo warns: {doubt}", source)
    return with_ground(_mended(found, repair), height)


def _description(m: Any, source: str, left: LeftOut) -> Description:
    tree = Tree(m, left)
    motors = Motors(m, tree.joint_names, left)
    mimics, used = mimics_of(m, tree.joint_names, motors.actuators)
    touches = Touches(m)
    shapes = shapes_of(m, tree, touches, left)
    name = name_at(m, 0)
    found = Description(
        name if name != UNNAMED else Path(source).stem or "mechanism",
        tuple(tree.links),
        tuple(_completed(joint, motors.efforts, mimics) for joint in tree.joints),
        points=points_of(m, tree),
        shapes=shapes,
        excluded=excluded_of(m, tree),
        pairs=touches.between([shape.name for shape in shapes], left) if shapes else (),
        actuators=tuple(motors.actuators.values()),
        gravity=(0.0, 0.0, 0.0) if m.opt.disableflags & NO_GRAVITY else floats(m.opt.gravity),
        timestep=float(m.opt.timestep),
        impulses=touches.impulses,
        source=source,
    )
    note_the_rest(m, left, used)
    return found


def _completed(joint: Joint, efforts: dict[str, float], mimics: dict[str, Mimic]) -> Joint:
    """The joint with its largest effort, and whom it follows."""
    return dataclasses.replace(joint, effort=efforts.get(joint.name), mimic=mimics.get(joint.name))


def _mended(found: Description, repair: str) -> Description:
    """Doubts about inertias as for other files, save that links without mass are usual here."""
    heavy = tuple(link for link in found.links if not weighs_nothing(link))
    for doubt in inertias.doubts(dataclasses.replace(found, links=heavy), repair):
        say(doubt, found.source)
    return inertias.mended(found) if repair == "nearest" else found


def _compiled(
    data: bytes, compile_with: Callable[[Any], Any], source: str
) -> tuple[Any, list[str]]:
    """The `MjModel` and what MuJoCo warns of, or a sentence that says why there is none."""
    root = root_tag(data)
    if root is None:
        parse_xml(data, source)  # empty, binary, or no XML
    if root == "mujocoinclude":
        raise BadFile(f"{_it(source)} {FRAGMENT}.")
    if root != "mujoco":
        raise BadFile(f"{_it(source)} is no MJCF: its root is <{root}>, not <mujoco>.")
    try:
        mujoco: Any = import_module("mujoco")
    except ImportError:
        raise MissingExtra("mujoco-core", "mjcf", f"reading MJCF ({_it(source)})") from None
    try:
        with collected_warnings(mujoco) as doubts:
            m = compile_with(mujoco)
    except (ValueError, mujoco.FatalError) as refused:
        parse_xml(data, source)  # says better where an XML is broken
        raise BadDescription(_shortened(str(refused)), source) from None
    if m.nbody < 2:
        raise BadFile(f"{_it(source)} describes no bodies.")
    return m, doubts


def _shortened(message: str) -> str:
    """MuJoCo's words in a sentence of ours."""
    first, *more = message.strip().splitlines()
    what = re.sub(
        r"^(XML |XML parse )?Error( \d+)?: |Error: |Schema violation: ", "", first
    ).strip()
    place = re.sub(r"^[Ee]lement name '', id -?\d+, ?", "", " ".join(more).strip())
    at = f" ({place[0].lower()}{place[1:]})" if place else ""
    return f"MuJoCo does not compile it: {what.rstrip('.:')}{at}."


def _it(source: str) -> str:
    return f"the file {source!r}" if source else "the text"
