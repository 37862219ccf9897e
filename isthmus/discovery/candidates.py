"""Candidates: what a model may lack, each as a few series of forces or as changes of leaves of the model.

A force that depends on a velocity, say, is spanned by a few functions of it: `v`, `tanh(v / small)`, `v|v|`. Inputs are
those of the measured motion, so that the effect of a candidate is linear in its coefficients.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from isthmus.discovery.linearise import Look
from isthmus.discovery.record import Record
from isthmus.errors import BadOption, did_you_mean
from isthmus.model.model import Model

INERTIAL = ("link_mass", "link_com", "link_inertia")
HARDLY = 3.0
"""A joint whose position or velocity varies by less than so many times the noise is not judged."""
NEAR_REST = (0.3, 0.05, 0.005)
"""Shares of the usual speed within which dry friction changes its sign smoothly."""
BETWEEN = (0.125, 0.375, 0.625, 0.875)
"""Where, between a row and the next, the functions of a candidate are evaluated; their mean acts."""


@dataclasses.dataclass(frozen=True, eq=False)
class Candidate:
    """One thing that the model may lack."""

    target: str
    reads: tuple[str, ...] = ()
    forces: np.ndarray | None = None
    """Generalised forces for coefficients of one, (rows, dof, terms); None: it is made of leaves."""
    leaves: tuple[tuple[str, int, float], ...] = ()
    """Field of the model, place in its flat numbers, and a change of usual size."""
    slopes: tuple[int, np.ndarray] | None = None
    """The number of the state (positions, then velocities) that it depends on, and the derivatives of the forces by
    it, (rows, dof, terms); None: not needed, as they are small."""
    inputs: tuple[np.ndarray, ...] = ()
    """What it reads, each (rows,), for a formula; empty where one is not looked for."""
    rows: tuple[int, ...] = ()
    """The degrees of freedom that it acts on, for a formula."""
    precision: np.ndarray | float = 1.0
    """Of the prior of its coefficients, one over their usual size squared: a number, or (terms,)."""

    def __str__(self) -> str:
        return f"{self.target} by {', '.join(self.reads)}" if self.reads else self.target

    @property
    def terms(self) -> int:
        """How many coefficients it has."""
        return len(self.leaves) if self.forces is None else self.forces.shape[2]


@dataclasses.dataclass(frozen=True)
class Motion:
    """What candidates are made of: the recorded rows and what acted in them."""

    model: Model
    record: Record
    seen: Look

    @property
    def velocity(self) -> np.ndarray:
        """(rows, dof)"""
        return np.asarray(self.record.rows.v)

    @property
    def command(self) -> np.ndarray | None:
        """(rows, dof); None: there are no commands."""
        given = self.record.rows.control.torque
        return None if given is None else np.asarray(given)

    @functools.cached_property
    def usual(self) -> np.ndarray:
        """The generalised force that usually acts, (dof,): what accelerates the links, their weight, the motors."""
        mass, c = np.asarray(self.model.link_mass), np.asarray(self.model.link_com)
        J, turn = self.seen.jacobian, np.asarray(self.model.link_inertia)[:, :3]
        at_com = J[:, :, 3:] - np.cross(c[:, None], np.swapaxes(J[:, :, :3], 2, 3)).swapaxes(2, 3)
        rows = self.record.rows
        a = (rows.next_v - rows.v) / rows.dt[:, None]
        pushed = np.einsum("l,rlin,rlim,rm->rn", mass, at_com, at_com, a, optimize=True)
        turned = np.einsum("li,rlin,rlim,rm->rn", turn, J[:, :, :3], J[:, :, :3], a, optimize=True)
        g = np.linalg.norm(self.model.gravity)
        weight = g * np.einsum("l,rln->rn", mass, np.linalg.norm(at_com, axis=2))
        parts = np.square(pushed + turned) + np.square(weight) + np.square(self.seen.motor)
        return np.maximum(np.sqrt(np.nanmean(parts, axis=0)), 1e-12)

    def with_prior(self, candidate: Candidate) -> Candidate:
        """The candidate with the prior that none of its terms is larger than the forces that usually act.

        It matters where a free number has almost the same effect: then huge coefficients could cancel each other.
        """
        if candidate.forces is None:
            return candidate
        share = np.sqrt(np.mean(np.square(candidate.forces), axis=0)) / self.usual[:, None]
        return dataclasses.replace(candidate, precision=np.square(share.max(axis=0)))

    @functools.cached_property
    def ahead(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities at the end of the step from each row, (rows, dof), as the model predicts them.

        The next measured row would do almost as well, but a force that knows it can pull the model towards it.
        """
        end = np.asarray(self.record.rows.next_v) + self.seen.defect[:, self.model.dof :]
        dt = self.record.rows.dt[:, None]
        return self.record.position + 0.5 * dt * (self.velocity + end), end

    def between(self, x: np.ndarray, end: np.ndarray | None = None) -> np.ndarray:
        """A series (rows, …) at a few times between each row and `end`, or the next row, (times, rows, …)."""
        if end is None:
            time = self.record.rows.time
            following = np.minimum(np.arange(len(x)) + 1, len(x) - 1)
            end = x[np.where(time[following] > time, following, np.arange(len(x)))]
        return np.stack([(1.0 - s) * x + s * end for s in BETWEEN])

    def still(self) -> list[str]:
        """Joints that hardly move, so that nothing can be said about them."""
        n = self.model.dof
        spread = np.concatenate(
            [np.std(self.record.position, axis=0), np.std(self.velocity, axis=0)]
        )
        moves = spread > HARDLY * self.record.start
        return [
            name
            for name, rows in self.model.rows("dof").items()
            if rows and not np.any(moves[list(rows)] & moves[[n + row for row in rows]])
        ]


# functions of one input, each scaled to about one ------------------------------------------------------------


def by_velocity(v: np.ndarray, shift: float) -> list[np.ndarray]:
    """Viscous, dry and quadratic friction; the dry one with soft and with sharp changes of sign."""
    x = (v + shift) / _size(v)
    return [x, *(np.tanh(x / w) for w in NEAR_REST), x * np.abs(x)]


def by_position(q: np.ndarray, shift: float) -> list[np.ndarray]:
    """Offset, spring, cubic spring, sine and cosine."""
    x = (q + shift - np.mean(q)) / _size(q - np.mean(q))
    q = q + shift
    return [np.ones_like(q), x, x**3, np.sin(q), np.cos(q)]


def by_load(load: np.ndarray, v: np.ndarray, shift: float) -> list[np.ndarray]:
    """Friction that grows with the torque that is transmitted."""
    x = (v + shift) / _size(v)
    return [np.abs(load) / _size(load) * np.tanh(x / w) for w in NEAR_REST]


def by_command(command: np.ndarray, shift: float) -> list[np.ndarray]:
    """Gain and saturation of a motor."""
    x = (command + shift) / _size(command)
    return [x, x * np.abs(x)]


def _size(x: np.ndarray) -> float:
    return max(float(np.sqrt(np.mean(np.square(x)))), 1e-12)


# kinds -------------------------------------------------------------------------------------------------------


def _joint_candidate(
    given: Motion, target: str, rows: Sequence[int], reads: Mapping[str, np.ndarray], terms: Callable,
    state: int | None = None, end: np.ndarray | None = None,
) -> Candidate:  # fmt: skip
    """A torque on the rows of one joint; each input (rows, numbers of the joint), or one for all of them.

    `state`: the number of the state that the last input is, and `end` its values at the ends of the steps.
    """
    ends = [*[None] * (len(reads) - 1), end]
    *others, last = (given.between(x, e) for x, e in zip(reads.values(), ends, strict=True))
    wide = 1e-4 * _size(last)

    def forces(shift: float) -> np.ndarray:
        found = None
        for k, row in enumerate(rows):
            x = [x[:, :, min(k, x.shape[2] - 1)] for x in (*others, last)]
            part = np.stack([y.mean(axis=0) for y in terms(*x, shift * wide)], axis=1)
            found = (
                np.zeros((len(part), given.model.dof, part.shape[1])) if found is None else found
            )
            found[:, row] = part
        assert found is not None
        return found

    single = len(rows) == 1
    slopes = None
    if single and state is not None:
        slopes = state, (forces(1.0) - forces(-1.0)) / (2.0 * wide)
    inputs = tuple(x[:, 0] for x in reads.values()) if single else ()
    return Candidate(target, tuple(reads), forces(0.0), (), slopes, inputs, tuple(rows))


def passive(given: Motion, quantity: str) -> Iterator[Candidate]:
    """`joint/*/passive_torque` of each joint by its own velocity, position or load."""
    for name, rows in given.model.rows("dof").items():
        if rows:
            yield from _passive_of(given, name, rows, name, rows, quantity)


def _passive_of(
    given: Motion, name: str, rows: Sequence[int], other: str, own: Sequence[int], quantity: str
) -> Iterator[Candidate]:
    target, read = f"joint/{name}/passive_torque", f"joint/{other}/{quantity}"
    match quantity:
        case "velocity":
            reads, terms = {read: given.velocity[:, list(own)]}, by_velocity
            state, end = given.model.dof + own[0], given.ahead[1]
        case "position":
            reads, terms = {read: given.record.position[:, list(own)]}, by_position
            state, end = own[0], given.ahead[0]
        case _:
            load = given.seen.motor[:, list(own)]
            if not np.any(load):
                return
            reads = {
                f"joint/{other}/motor_torque": load,
                f"joint/{other}/velocity": given.velocity[:, list(own)],
            }
            terms, state, end = by_load, given.model.dof + own[0], given.ahead[1]
    if len(rows) == len(own) or len(own) == 1:
        yield _joint_candidate(given, target, rows, reads, terms, state, end[:, list(own)])


def motors(given: Motion) -> Iterator[Candidate]:
    """`joint/*/motor_torque` of each joint by its command."""
    if given.command is None:
        return
    for name, rows in given.model.rows("dof").items():
        command = given.command[:, list(rows)]
        if rows and np.any(command):
            reads = {f"joint/{name}/control": command}
            yield _joint_candidate(given, f"joint/{name}/motor_torque", rows, reads, by_command)


def drag(given: Motion) -> Iterator[Candidate]:
    """`link/*/external_force` by the velocity of the link: at its centre of mass, linear and quadratic."""
    for i, name in enumerate(given.model.link_names):
        if not _has_own_joint(given.model, i):
            continue
        c = np.asarray(given.model.link_com)[i]
        turn, shift = given.seen.twist[:, i, :3], given.seen.twist[:, i, 3:]
        v = shift + np.cross(turn, c)
        J = given.seen.jacobian[:, i]
        at_com = J[:, 3:] - np.cross(c, J[:, :3], axisb=1, axisc=1)
        push = np.einsum("rin,ri->rn", at_com, v) / _size(v)
        speed = np.linalg.norm(v, axis=1, keepdims=True)
        terms = [push, push * speed / _size(speed)]
        yield Candidate(
            f"link/{name}/external_force", (f"link/{name}/velocity",), np.stack(terms, axis=2)
        )


def inertials(given: Motion) -> Iterator[Candidate]:
    """`link/*/inertial`: mass, centre of mass and inertia, changes as large as the link itself."""
    model = given.model
    mass, com, inertia = (np.asarray(getattr(model, field)) for field in INERTIAL)
    usual = max(float(np.mean(mass)), 1e-12)
    for i, name in enumerate(model.link_names):
        if not _has_own_joint(model, i):
            continue
        m = float(mass[i]) or usual
        length = np.sqrt(np.sum(inertia[i, :3]) / m + np.sum(np.square(com[i]))) or 1.0
        leaves = [("link_mass", i, m)]
        leaves += [("link_com", 3 * i + k, float(length)) for k in range(3)]
        leaves += [("link_inertia", 6 * i + k, float(m * length**2)) for k in range(6)]
        yield Candidate(f"link/{name}/inertial", leaves=tuple(leaves))


def gravity(given: Motion) -> Iterator[Candidate]:
    """`gravity`: its direction and size."""
    size = float(np.linalg.norm(given.model.gravity)) or 9.81
    yield Candidate("gravity", leaves=tuple(("gravity", k, size) for k in range(3)))


def delay(given: Motion) -> Iterator[Candidate]:
    """`delay`: motor torques that come a row too late."""
    motor = given.seen.motor
    if not np.any(motor):
        return
    late = np.zeros_like(motor)
    late[1:] = motor[:-1] - motor[1:]
    first = np.flatnonzero(np.diff(given.record.rows.time) < 0) + 1  # where another run begins
    late[first] = 0.0
    yield Candidate("delay", forces=late[:, :, None])


def contacts(given: Motion) -> Iterator[Candidate]:
    """Friction and normal force of contacts, through the numbers that they are computed from."""
    if not given.model.contact_kinds:
        return
    soft = "penalty" in given.model.contact_kinds
    pressing = ("contact_stiffness", "contact_damping") if soft else ("contact_restitution",)
    for target, reads, fields in (
        ("contact/friction_force", ("contact/velocity", "contact/normal_force"), ("contact_friction",)),
        ("contact/normal_force", ("contact/depth", "contact/velocity"), pressing),
    ):  # fmt: skip
        leaves = tuple(
            (field, k, max(abs(float(x)), 1e-3))
            for field in fields
            for k, x in enumerate(np.ravel(getattr(given.model, field)))
        )
        yield Candidate(target, reads, leaves=leaves)


def _has_own_joint(model: Model, i: int) -> bool:
    """Whether link `i` moves against its parent; if not, the two are one body."""
    a, b = model.layout.v_own[i]
    return b > a


KINDS: dict[str, Callable[[Motion], Iterator[Candidate]]] = {
    "joint/*/passive_torque by velocity": lambda given: passive(given, "velocity"),
    "joint/*/passive_torque by position": lambda given: passive(given, "position"),
    "joint/*/passive_torque by load": lambda given: passive(given, "load"),
    "joint/*/motor_torque by command": motors,
    "link/*/external_force by velocity": drag,
    "link/*/inertial": inertials,
    "gravity": gravity,
    "delay": delay,
    "contact/*": contacts,
}
"""The candidates that are tried unless users say; each text is also one that users may give."""


def candidates_of(given: Motion, wanted: Sequence[str] | None) -> list[Candidate]:
    """All candidates, or those that users named."""
    if wanted is None:
        return [given.with_prior(c) for make in KINDS.values() for c in make(given)]
    found: dict[str, Candidate] = {}
    for text in wanted:
        matching = list(_named(given, text))
        if not matching:
            known = [*KINDS, "joint/*/passive_torque by joint/*/velocity"]
            raise BadOption(
                f"no candidate of {given.model.name!r} is called {text!r}.{did_you_mean(text, known)} "
                f"There are {', '.join(map(repr, KINDS))}, with names for the stars."
            )
        found |= {str(candidate): given.with_prior(candidate) for candidate in matching}
    return list(found.values())


def _named(given: Motion, text: str) -> Iterator[Candidate]:
    """The candidates that a text means, such as `joint/elbow/passive_torque by velocity`."""
    target, _, by = text.partition(" by ")
    if by.startswith("joint/") and target.endswith("/passive_torque"):
        yield from _crossed(given, target, by)
        return
    for kind, make in KINDS.items():
        if by in ("", kind.partition(" by ")[2]):
            yield from (c for c in make(given) if fnmatch.fnmatchcase(c.target, target))


def _crossed(given: Motion, target: str, by: str) -> Iterator[Candidate]:
    """Torques of some joints by the positions or velocities of some joints, every pair."""
    quantity = by.rsplit("/", 1)[-1]
    if quantity not in ("velocity", "position"):
        return
    joints = {name: rows for name, rows in given.model.rows("dof").items() if rows}
    for name, rows in joints.items():
        for other, own in joints.items():
            if fnmatch.fnmatchcase(f"joint/{name}/passive_torque", target) and fnmatch.fnmatchcase(
                f"joint/{other}/{quantity}", by
            ):
                yield from _passive_of(given, name, rows, other, own, quantity)


def changed(model: Model, candidate: Candidate, coefficients: np.ndarray) -> Model:
    """The model with the leaves of a candidate changed."""
    fields: dict[str, Any] = {}
    for (field, place, size), c in zip(candidate.leaves, coefficients, strict=True):
        value = fields.setdefault(field, np.array(getattr(model, field), dtype=np.float64))
        value.reshape(-1)[place] += c * size
    return dataclasses.replace(model, **fields)
