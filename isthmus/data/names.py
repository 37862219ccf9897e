"""What a column's name may mean: every spelling of every coordinate that we understand, and addresses of signals.

Names are compared without case and with all separators alike, so `Elbow.Position` and `elbow_position` are one.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

from isthmus.errors import UnknownName
from isthmus.model import address
from isthmus.model.model import Model
from isthmus.motion.files import PARTS, names_of, velocity_columns
from isthmus.motion.match import BY_DOF
from isthmus.motion.spans import UNKNOWN, JointList
from isthmus.networks.names import QUANTITIES, select

WORDS: dict[str, str] = {
    "q": "q pos position positions angle theta qpos joint_position",
    "v": "v qd dq vel velocity velocities omega qvel speed joint_velocity",
    "joint/control": "tau u torque effort command cmd control tau_cmd tau_command tau_commanded tau_des torque_cmd "
    "torque_command torque_commanded effort_command motor_command",
    "joint/motor_torque": "motor_torque tau_measured tau_meas torque_measured measured_torque measured_tau",
    "joint/acceleration": "qdd ddq acc acceleration accelerations qacc",
}
"""Words for each quantity, before or behind the name of a joint."""
TIMES = """t time timestamp timestamps stamp time_s t_s sec secs seconds time_sec time_stamp elapsed
header_stamp rosbagtimestamp rosbag_timestamp""".split()
STAMPS = ("header_stamp", "stamp", "timestamp", "time")
"""Time stamps behind the name of a topic; they count where no column is the time by its whole name."""
TOPIC = re.compile(r"/?(?:[^/.\[]+[/.])*?(?:joint_states?|field)[/.]")
"""What ROS tools write before the fields of joint states: `/joint_states/`, `robot.joint_states.`, `field.`."""
WANTED = re.compile(r"command|cmd|desired|reference|target|setpoint|goal|error")
"""Topics with these words hold what was wanted, not what was measured."""
SYNONYMS: dict[str, str] = {
    "x": "x position_x pos_x translation_x", "y": "y position_y pos_y translation_y",
    "z": "z position_z pos_z translation_z", "angle": "angle yaw theta",
    "qw": "qw orientation_w quat_w rotation_w", "qx": "qx orientation_x quat_x rotation_x",
    "qy": "qy orientation_y quat_y rotation_y", "qz": "qz orientation_z quat_z rotation_z",
    "vx": "vx linear_x vel_x velocity_x linear_velocity_x", "vy": "vy linear_y vel_y velocity_y linear_velocity_y",
    "vz": "vz linear_z vel_z velocity_z linear_velocity_z", "w": "w omega yaw_rate angular_velocity",
    "wx": "wx angular_x omega_x angular_velocity_x", "wy": "wy angular_y omega_y angular_velocity_y",
    "wz": "wz angular_z omega_z angular_velocity_z",
}  # fmt: skip
"""Spellings of the parts of a joint with several coordinates."""
COMPONENTS: dict[str, int] = {name: i for i, name in enumerate("x y z qw qx qy qz".split())}
FAMILIES = ("joint", "link", "point", "extra")


@dataclasses.dataclass(frozen=True)
class Target:
    """Where the numbers of a column belong: `t`, `q`, `v` or a signal, and which entry of its rows."""

    key: str
    index: tuple[int, ...] = ()


def plain(name: str) -> str:
    """Without case; all separators alike."""
    return re.sub(r"[^0-9a-zµ°]+", "_", name.casefold()).strip("_")


def tails(column: str) -> Iterator[tuple[str, str]]:
    """`/joint_states/elbow/position` -> topic `/joint_states` and field `elbow/position`, and all other cuts."""
    for cut in re.finditer(r"[/.]", column.removeprefix("/")):
        start = cut.start() + column.startswith("/")
        yield column[:start], column[start + 1 :]


class Dictionary:
    """All spellings of the coordinates of some joints."""

    def __init__(self, joints: JointList, model: Model | None) -> None:
        self.joints, self.model = joints, model
        self.coordinates, self.dofs = names_of(joints, 0), names_of(joints, 1)
        self.spellings: dict[str, Target] = {}
        for name, target in self._all():
            self.spellings.setdefault(plain(name), target)

    def _all(self) -> Iterator[tuple[str, Target]]:
        """Each spelling with its target; the first to claim one has it."""
        yield from ((name, Target("t")) for name in TIMES)
        for names, key in ((self.coordinates, "q"), (velocity_columns(self.joints), "v")):
            yield from ((name, Target(key, (i,))) for i, name in enumerate(names))
        for key, words in WORDS.items():
            for i, name in enumerate(self.coordinates if key == "q" else self.dofs):
                for spelling in self._spelt(name, words.split(), key in ("q", "v")):
                    yield spelling, Target(key, (i,))

    def _spelt(self, name: str, words: Iterable[str], moving: bool) -> Iterator[str]:
        """`q_elbow`, `elbow_q`, `joint_elbow_q` …; `trunk_orientation_w` for parts of a moving body."""
        joint, _, part = name.rpartition(".") if name not in dict(self.joints) else (name, "", "")
        if part and moving:
            yield from (f"{joint}_{spelt}" for spelt in SYNONYMS[part].split())
        for each in (joint, *self._short(joint)):
            for word in words:
                forms = f"{word}_{each}", f"{each}_{word}", f"joint_{each}_{word}", f"{each}_joint_{word}"  # fmt: skip
                yield from (f"{form}_{part}" for form in forms)

    def _short(self, joint: str) -> Iterator[str]:
        """`elbow` for `elbow_joint`, where no other joint or link is called so."""
        short = re.sub(r"^joint_|_joint$", "", joint)
        if short != joint and not short.isdecimal() and short not in dict(self.joints):
            yield short

    def find(self, column: str) -> Target | None:
        """The target of a column; None if its name is unknown."""
        if column.split("/")[0] in FAMILIES and "/" in column:
            return self._address(column)
        return self.spellings.get(plain(column)) or self._behind_topic(column)

    def _behind_topic(self, column: str) -> Target | None:
        """`/joint_states/elbow/position`: a joint together with a quantity, behind the name of a topic."""
        alone = {"t", *map(plain, dict(self.joints))}
        for topic, field in tails(column):
            target = self.spellings.get(plain(field))
            if target is None or target.key == "t" or plain(field) in alone:
                continue
            wanted = WANTED.search(topic.casefold()) and target.key in ("q", "v")
            return None if wanted else target
        return None

    def _address(self, column: str) -> Target | None:
        """`joint/torque[elbow]`, `joint/elbow/torque`, `point/tip/position/x`, `link/pose[0,3]`, `extra/current`."""
        if column.startswith("extra/"):
            return Target(column)
        body, index = column, ()
        if found := re.fullmatch(r"(.+?)[/.](x|y|z|qw|qx|qy|qz)", column):
            body, index = found[1], (COMPONENTS[found[2]],)
        name, row = address.parse(body)
        if not index and row and re.fullmatch(r"[\d,]+", row) and f"[{row}]" in body:
            index, body, row = tuple(map(int, row.split(","))), name, address.parse(name)[1]
            name = address.parse(name)[0]
        if name.startswith("joint/"):
            return self._of_joint(column, name, row, index)
        return Target(body, index) if self._known(body) else None

    def _of_joint(self, column: str, name: str, row: str | None, index: tuple) -> Target | None:
        key = {"joint/position": "q", "joint/velocity": "v"}.get(name, name)
        if key not in ("q", "v", *BY_DOF):
            return Target(column.partition("[")[0], index) if self._known(name) else None
        names = self.coordinates if key == "q" else self.dofs
        if row is None:
            return Target(key, index) if index and index[0] < len(names) else None
        part = [] if not index else [f"{row}.{list(COMPONENTS)[index[0]]}"]
        for spelt in (row, *part):
            if spelt in names:
                return Target(key, (names.index(spelt),))
        return None

    def _known(self, name: str) -> bool:
        """Whether a step of this model publishes that; without a model, whether any could."""
        if self.model is None:
            return address.parse(name)[0] in [spec.name for spec in QUANTITIES]
        try:
            select(self.model, name)
        except UnknownName:
            return False
        return True

    def numbered(self, columns: Iterable[str]) -> dict[str, Target]:
        """`q1 q2`, `tau[0] tau[1]`: numbered columns, where there is one for every coordinate, in their order."""
        words = {word: key for key, text in WORDS.items() for word in text.split()}
        groups: dict[tuple[str, str], dict[int, str]] = {}
        for column in columns:
            topic = found[0] if (found := TOPIC.match(column)) else ""
            found = re.fullmatch(r"(.*?)_?(\d+)", plain(column.removeprefix(topic)))
            if found and found[1] in words:
                groups.setdefault((words[found[1]], topic), {})[int(found[2])] = column
        taken: dict[str, dict[str, Target]] = {}
        for (key, _), numbers in groups.items():
            want = len(self.coordinates if key == "q" else self.dofs)
            if len(numbers) == want and min(numbers) in (0, 1) and max(numbers) - min(numbers) == want - 1:  # fmt: skip
                own = {numbers[n]: Target(key, (i,)) for i, n in enumerate(sorted(numbers))}
                taken[key] = {} if key in taken else own  # of two topics, neither is taken
        return {column: target for own in taken.values() for column, target in own.items()}


# joints that the columns themselves reveal -----------------------------------------------------------------


def revealed(columns: Iterable[str]) -> JointList:
    """The joints of a log of which no model is known: owners of positions, or else of velocities."""
    columns = list(columns)
    for key in ("q", "v"):
        owners = list(dict.fromkeys(o for c in columns if (o := _owner(c, key, columns))))
        if owners:
            return _with_kinds(owners)
    return ()


def _owner(column: str, key: str, columns: list[str]) -> str | None:
    """The joint, or the joint and part, that a column of positions or velocities belongs to."""
    quantity = "position" if key == "q" else "velocity"
    column = TOPIC.sub("", column, count=1) if TOPIC.match(column) else column
    if found := re.fullmatch(rf"joint/{quantity}\[(.+)\]|joint/(.+)/{quantity}", column):
        return found[1] or found[2]
    if column.split("/")[0] in FAMILIES:
        return None
    words = "|".join(sorted(WORDS[key].split(), key=len, reverse=True))
    if found := re.fullmatch(rf"(?:{words})(?:[_./ \[]+([^\]]+)\]?|(\d+))", column, re.I):
        return found[1] or found[2]
    if found := re.fullmatch(rf"(.+?)[_./ ]+(?:{words})", column, re.I):
        return found[1]
    if key == "q" and (f"{column}.v" in columns or re.search(r"\.(x|y|z|q[wxyz]|angle)$", column)):
        return column
    return None


def _with_kinds(owners: list[str]) -> JointList:
    """Owners with the full parts of a free, spherical or planar joint are one joint; all others have one number."""
    joints: dict[str, str] = {}
    for owner in owners:
        joint = owner.rpartition(".")[0]
        have = {other.rpartition(".")[2] for other in owners if other.rpartition(".")[0] == joint}
        kinds = [kind for kind, parts in PARTS.items() if joint and set(parts[0].split()) == have]
        joints[joint if kinds else owner] = kinds[0] if kinds else UNKNOWN
    return tuple(joints.items())
