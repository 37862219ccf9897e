"""One message that lists missing and unexpected columns of a log."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from isthmus.data.names import Target, plain
from isthmus.errors import did_you_mean
from isthmus.model.model import Model
from isthmus.motion.files import names_of
from isthmus.motion.match import BY_DOF
from isthmus.motion.spans import JointList, spans

ADDRESS = {"q": "joint/position", "v": "joint/velocity", "t": "t"}


@dataclasses.dataclass
class Match:
    """How the columns of a table were understood."""

    source: str
    joints: JointList
    targets: dict[str, Target]
    """Column -> where its numbers belong."""
    said: dict[str, str]
    """Column -> the unit that its name says."""
    extra: list[str]
    """Columns that match nothing."""
    notes: list[str]


def without_column(found: Match) -> list[Target]:
    """Coordinates that have no column, though the log measures others of their kind, or though it should."""
    have = set(found.targets.values())
    gone: list[Target] = []
    for key, width in (("q", 0), ("v", 1)):
        count = sum(len(span.q if width == 0 else span.v) for span in spans(found.joints))
        lost = [Target(key, (i,)) for i in range(count) if Target(key, (i,)) not in have]
        if len(lost) < count or (key == "q" and not any(_places(t) for t in have)):
            gone += lost
    return gone


def missing(found: Match, model: Model | None) -> Iterator[str]:
    """Yields one message if columns are missing; it also lists the unexpected ones."""
    have, gone = set(found.targets.values()), without_column(found)
    keys = {target.key for target in have}
    if "q" in keys and "v" not in keys and found.joints:
        found.notes.append("positions only: motion.velocities() derives velocities.")
    if not any(target.key != "t" for target in have):
        whom = "any joint" if model is None else f"{model.name!r}"
        yield (
            f"{found.source!r} has no column of {whom}: it has {listed(found.extra) or 'no columns'}"
            f"{_wanted(found)}. Say what they are: columns={{'their name': 'joint/position[NAME]'}}."
        )
    elif gone:
        lost = ", ".join(described(found.joints, target) for target in gone[:8])
        yield (
            f"{found.source!r} has no column for {lost}{' …' if len(gone) > 8 else ''}{_strangers(found, gone)}. "
            f"Name them with columns={{'their name': {address_of(found.joints, gone[0])!r}}}, or say missing='nan' "
            "if they were not measured."
        )


def _places(target: Target) -> bool:
    """Whether a column measures a point or a link, so that joint positions may be absent."""
    return target.key.startswith(("point/", "link/"))


def _wanted(found: Match) -> str:
    names = [name for name, _ in found.joints]
    return f", but the joints are {listed(names)}" if names else ""


def _strangers(found: Match, gone: list[Target]) -> str:
    """Unexpected columns, each with the coordinate that its name resembles."""
    if not found.extra:
        return ""
    wanted = {plain(_spelt(found.joints, target)): target for target in gone}
    shown = []
    for column in found.extra[:8]:
        near = re.search(r"Did you mean '(.+)'\?", did_you_mean(plain(column), wanted))
        hint = f" (meant as {described(found.joints, wanted[near[1]])}?)" if near else ""
        shown.append(f"{column!r}{hint}")
    return f"; unexpected columns: {', '.join(shown)}{' …' if len(found.extra) > 8 else ''}"


def _row_name(joints: JointList, target: Target) -> str:
    by_dof = target.key == "v" or target.key in BY_DOF
    return names_of(joints, int(by_dof))[target.index[0]] if target.index else ""


def _spelt(joints: JointList, target: Target) -> str:
    return f"{target.key}_{_row_name(joints, target)}"


def address_of(joints: JointList, target: Target) -> str:
    return f"{ADDRESS.get(target.key, target.key)}[{_row_name(joints, target)}]"


def described(joints: JointList, target: Target) -> str:
    if target.key in ("q", "v", *BY_DOF):
        return address_of(joints, target)
    return "the time" if target.key == "t" else f"{target.key}{list(target.index) or ''}"


def listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (" …" if len(names) > 8 else "")
