"""How stiff the stops at the ends of travel are, where a description does not say.

A stop behaves as a critically damped spring on the inertia that hangs from the joint (at the neutral position),
and gives way by no more than `GIVE` under the joint's largest motor torque.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from isthmus.describe.description import Joint, Link
from isthmus.model.arrays import is_traced, stack
from isthmus.model.joints import JOINTS
from isthmus.spatial.products import mv
from isthmus.spatial.rotations import matrix
from isthmus.types import AnyArray

FREQUENCY = 100.0
"""Of the spring on that inertia [rad/s]."""
GIVE = {"rad": 0.01, "m": 0.001}
"""Distance over which a stop sets in, by the unit of the coordinate."""


def stop_defaults(
    joints: list[Joint],
    links: list[Link],
    parents: tuple[int, ...],
    own: list[Joint],
    effort: AnyArray,
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Stiffness, damping and width of the stop of each degree of freedom."""
    names = {joint.name: i for i, joint in enumerate(joints)}
    units = [unit for joint in own for unit in JOINTS[joint.kind].units]
    rows = [names[joint.name] for joint in own for _ in JOINTS[joint.kind].units]
    carried = _carried_inertia(joints, links, parents)
    xp = jnp if is_traced(carried) else np
    inertia = xp.stack(
        [carried[i][0 if u == "rad" else 1] for i, u in zip(rows, units, strict=True)]
        or [xp.zeros(())]
    )
    inertia = inertia[: len(units)]
    width = np.array([GIVE[unit] for unit in units])
    strength = xp.where(xp.isfinite(effort), effort, 0.0)
    stiffness = FREQUENCY**2 * inertia + strength / width
    return stiffness, 2.0 * xp.sqrt(stiffness * inertia), width


def _carried_inertia(
    joints: list[Joint], links: list[Link], parents: tuple[int, ...]
) -> list[tuple[Any, Any]]:
    """For each joint the moment of inertia [kg·m²], averaged over axes, and the mass [kg] beyond it."""
    numbers = (
        [(j.frame.position, j.frame.orientation) for j in joints],
        [(k.mass, k.com, k.inertia) for k in links],
    )
    xp = jnp if is_traced(numbers) else np
    masses = [xp.asarray(link.mass) for link in links]
    moment = [xp.sum(xp.asarray(_array(link.inertia))[:3]) / 3.0 for link in links]
    first = [m * xp.asarray(_array(link.com)) for m, link in zip(masses, links, strict=True)]
    second = [
        m * xp.sum(xp.asarray(_array(k.com)) ** 2) for m, k in zip(masses, links, strict=True)
    ]
    total = [[masses[i], first[i], second[i] + moment[i]] for i in range(len(links))]
    for i in reversed(range(len(links))):
        if parents[i] >= 0:
            _add(total[parents[i]], total[i], joints[i], xp)
    return [(t[2], t[0]) for t in total]


def _add(parent: list[Any], child: list[Any], joint: Joint, xp: Any) -> None:
    """Moves mass, first and second moment of a subtree into the parent's frame."""
    offset = xp.asarray(_array(joint.frame.position))
    mass, first, second = child
    turned = mv(matrix(xp.asarray(_array(joint.frame.orientation))), first)
    parent[0] = parent[0] + mass
    parent[1] = parent[1] + turned + mass * offset
    parent[2] = parent[2] + second + 2.0 * xp.dot(turned, offset) + mass * xp.dot(offset, offset)


def _array(value: Any) -> AnyArray:
    return stack(value) if isinstance(value, list | tuple) else value
