"""What a study that is begun may change: its tables `[[free]]`, with comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

import numpy as np

from isthmus.model.address import matching
from isthmus.model.contacts import last_shapes
from isthmus.model.model import Model
from isthmus.motion.motion import CONTROL, Motion
from isthmus.networks.names import unit_for
from isthmus.study.begin_loss import TORQUE, compares_torques

MASS_SPAN = 5.0
"""Masses are searched from a fifth to five times what the robot's file says."""
MAX_NAMED = 3
"""Number of bases that a comment names."""
SEPARATORS = re.compile(r"[_\-.]")
"""What separates the words of a joint's name."""


def free_text(model: Model, motions: Sequence[Motion]) -> Iterator[str]:
    """What exists and may be looked for; the rest as comments."""
    yield "# What may change, by name or pattern; low and high bound it, prior = [mean, deviation] ties it."
    moving = _moving(model)
    heavy = [k for k in moving if model.link_mass[k] > 0]
    names = ["link/*/mass"]
    if len(heavy) < len(model.link_names):
        names = [f"link/{model.link_names[k]}/mass" for k in heavy]
    masses = [float(model.link_mass[k]) for k in heavy]
    whole = compares_torques(model, motions)
    for k, name in enumerate(names):
        own = masses if len(names) == 1 else masses[k : k + 1]
        if own:
            low, high = min(own) / MASS_SPAN, max(own) * MASS_SPAN
            words = f"in the file: {', '.join(f'{m:.4g}' for m in own)} kg"
            yield _entry(name, low, high, words, used=not whole)
    yield from _of_joints(model, motions, whole)
    words = "mass, centre of mass and inertia of every body"
    held = "prior = 0.3  # what the motion does not determine stays near the file; wider for a payload that may not"
    yield _entry("link/*/inertial", None, None, words, held, used=whole)
    for k in moving[:1]:
        yield _entry(
            f"stretch/{model.link_names[k]}", 0.5, 2.0, "a length, as a factor", used=False
        )
    yield _entry("delay/joint/position", -0.02, 0.02, "of the sensors [s]", used=False)
    if last_shapes(model)[0]:
        what = "of all points that touch, if ground, contact or pair is given"
        yield _entry("contact/*/friction", 0.0, None, what, "shared = true", used=False)
    if any(m.v is None for m in motions):
        yield _entry("start/velocity", None, None, "velocities were not measured", used=False)


def _of_joints(model: Model, motions: Sequence[Motion], whole: bool) -> Iterator[str]:
    """Damping and the like of the joints of the mechanism. `whole`: torques are compared."""
    used = joints_of_mechanism(model, motions)
    bases = [name for name, rows in model.rows("dof").items() if rows and name not in used]
    if not used:
        return
    if bases:
        them = ", ".join(map(repr, bases[:MAX_NAMED])) + (" …" if len(bases) > MAX_NAMED else "")
        yield f"# Nothing drives or brakes {them}: what follows is of the other joints."
    rows = [row for name in used for row in model.rows("dof")[name]]
    kinds = [model.joint_kinds[model.joint(name)] for name in used]
    values = ", ".join(f"{x:.4g}" for x in np.ravel(model.get("joint/damping"))[rows])
    patterns = patterns_of(used, bases)
    for name in patterns:
        unit = unit_for("N·m·s/rad|N·s/m", kinds)
        words = f"in the file: {values} {unit}" if name == patterns[0] else "the same"
        yield _entry(f"joint/{name}/damping", 0.0, None, words)
    for name in patterns:
        yield _entry(f"joint/{name}/friction", 0.0, None, "dry friction", used=whole)
        if whole:
            yield _entry(f"joint/{name}/torque_offset", None, None, "of the measured torques")
            rotors = "of rotors behind gears, if torques are those of motors, not of sensors at the joints"
            yield _entry(f"joint/{name}/armature", 0.0, None, rotors, used=False)


def joints_of_mechanism(model: Model, motions: Sequence[Motion]) -> list[str]:
    """The joints with coordinates, without those by which bodies merely move in space.

    These are free and planar joints at the world that no command drives, and spherical ones that carry other joints: a
    pendulum on a ball joint alone is a mechanism.
    """
    rows = {name: list(own) for name, own in model.rows("dof").items() if own}
    driven = np.zeros(model.dof, dtype=bool)
    for motion in motions:
        for name in (CONTROL, TORQUE):
            u = np.asarray((motion.signals or {}).get(name, np.zeros((1, model.dof))))
            if u.shape[1:] == (model.dof,):
                driven |= np.any(np.nan_to_num(u) != 0.0, axis=0)
    carrying = {parent for parent in model.parents if parent >= 0}

    def is_base(name: str) -> bool:
        i = model.joint(name)
        kind = model.joint_kinds[i]
        moves = kind in ("free", "planar") or (kind == "spherical" and i in carrying)
        return model.parents[i] < 0 and moves and not driven[rows[name]].any()

    return [name for name in rows if not is_base(name)]


def patterns_of(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """Few patterns that match all of the names and none of the others."""
    if not names or not others:
        return ["*"] if names else []
    parts = {part for name in names for part in SEPARATORS.findall(name)}
    ends = [
        (name[: m.end()], name[m.start() :]) for name in names for m in SEPARATORS.finditer(name)
    ]
    tried = [f"*{part}*" for part in sorted(parts)]
    tried += sorted({f"{start}*" for start, _ in ends}) + sorted({f"*{end}" for _, end in ends})
    found, left = [], list(names)
    while left:
        able = [p for p in tried if not matching(p, others) and len(matching(p, left)) > 1]
        best = max(able, key=lambda p: len(matching(p, left)), default=left[0])
        found.append(best)
        left = [name for name in left if name not in matching(best, left)]
    return found


def _moving(model: Model) -> list[int]:
    """Links that are not welded to the world."""
    moves: list[bool] = []
    for i, parent in enumerate(model.parents):
        moves.append(model.joint_kinds[i] != "fixed" or (parent >= 0 and moves[parent]))
    return [i for i, does in enumerate(moves) if does]


def _entry(
    name: str,
    low: float | None,
    high: float | None,
    words: str,
    *more: str,
    used: bool = True,
) -> str:
    mark = "" if used else "# "
    lines = ["[[free]]", f"name = {quoted(name)}  # {words}"]
    lines += [f"low = {low:.4g}"] if low is not None else []
    lines += [f"high = {high:.4g}"] if high is not None else []
    lines += more
    return "\n".join(f"{mark}{line}" for line in lines)


def quoted(text: object) -> str:
    return json.dumps(str(text), ensure_ascii=False)
