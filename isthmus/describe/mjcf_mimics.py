"""Joints that follow another one in a compiled MJCF: linear `<equality><joint>` -> `Mimic`.

MuJoCo pulls such joints together by a constraint; here they are one coordinate.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from isthmus.describe.description import Mimic
from isthmus.describe.mjcf_bodies import CONSTRAINT, JOINTS

JOINT = 2
"""Of `mjtEq`."""
EQUALITY = 1 << 1
"""Of `mjtDisableBit`."""


def mimics_of(
    m: Any, joint_names: list[str], driven: Collection[str]
) -> tuple[dict[str, Mimic], set[int]]:
    """Who follows whom, by name; and the numbers of the constraints that say so.

    A joint that is `driven` by an actuator of its own, follows two others, or would follow itself in a
    circle stays as it is.
    """
    found: dict[str, Mimic] = {}
    used: set[int] = set()
    for i in range(0 if m.opt.disableflags & (EQUALITY | CONSTRAINT) else m.neq):
        if not _is_linear(m, i):
            continue
        a, b = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        name, leader = joint_names[a], joint_names[b]
        if name in driven or name in found or name in _leaders(leader, found):
            continue
        offset, ratio = map(float, m.eq_data[i, :2])
        start = [float(m.qpos0[m.jnt_qposadr[j]]) for j in (a, b)]
        found[name] = Mimic(leader, ratio, start[0] + offset - ratio * start[1])
        used.add(i)
    return found, used


def _is_linear(m: Any, i: int) -> bool:
    """Whether the constraint is in force and makes one hinge or slide a multiple of another."""
    if m.eq_type[i] != JOINT or not m.eq_active0[i] or m.eq_obj2id[i] < 0:
        return False
    ends = (int(m.eq_obj1id[i]), int(m.eq_obj2id[i]))
    single = all(JOINTS[m.jnt_type[j]][2] == 1 for j in ends)
    return single and ends[0] != ends[1] and not np.any(m.eq_data[i, 2:5])


def _leaders(name: str, found: dict[str, Mimic]) -> list[str]:
    """`name`, whom it follows, and so on."""
    path = [name]
    while path[-1] in found:
        path.append(found[path[-1]].joint)
    return path
