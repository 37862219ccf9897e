"""The motion that would determine what a fit could not: how to have it designed, in Python and on the command line."""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isthmus.model.model import Model

DESIGNABLE = ("link/", "joint/", "gravity")
"""Beginnings of the names of numbers that a motion can be designed for."""


@dataclasses.dataclass(frozen=True)
class MotionHint:
    """What to ask `ist.design` for."""

    free: tuple[str, ...]
    """Numbers; none: all that torques determine of the inertias."""
    position: float | None
    """Ends of travel [rad, m], where the model has none: as far as the logs go."""
    certain: bool = True
    """Whether some motion determines the numbers: the logs do, though poorly."""

    @property
    def aim(self) -> str:
        """What the motion determines, in words."""
        if not self.free:
            return "all that torques can show of the inertias"
        return ", ".join(self.free) + ("" if self.certain else ", if any motion can")

    def __str__(self) -> str:
        free = f", free={list(self.free)}" if self.free else ""
        room = "" if self.position is None else f", limits={{'position': {self.position:g}}}"
        return f"ist.design(fit.model{free}{room})"

    def command(self, robot: str) -> str:
        """The same for the shell."""
        room = [] if self.position is None else ["--position", f"{self.position:g}"]
        free = ["--free", *self.free] if self.free else []
        return shlex.join(["isthmus", "design", robot, *room, *free])


def poorly_known(estimates: Mapping[str, Any]) -> list[str]:
    """Names of the numbers whose standard errors exceed their values; weights of networks do not count."""
    large = lambda e: e.error > max(abs(e.value), 1e-12)
    return [n for n, e in estimates.items() if large(e) and not n.startswith("network/")]


def motion_hint(
    model: Model,
    names: Sequence[str],
    positions: Sequence[np.ndarray],
    *,
    certain: bool = True,
    whole_bodies: bool = False,
) -> MotionHint | None:
    """How to design a motion for these numbers, given the positions of logs; None where there is none to design.

    `certain`: whether the logs determine all of them, though poorly. `whole_bodies`: whether `link/*/inertial` is free,
    of which no motion determines all numbers.
    """
    free = dict.fromkeys(n.partition("[")[0] for n in names if n.startswith(DESIGNABLE))
    single = all(stop - start < 2 for start, stop in model.layout.v_own)
    if not free or not single or model.prescribed or not model.dof:
        return None
    wanted = () if whole_bodies and any(n.startswith("link/") for n in free) else tuple(free)
    ends = np.concatenate([model.joint_lower, model.joint_upper])
    if np.isfinite(ends).all():
        return MotionHint(wanted, None, certain)
    reach = max(
        (float(np.nanmax(np.abs(q))) for q in positions if np.isfinite(q).any()), default=1.0
    )
    return MotionHint(wanted, math.ceil(10.0 * max(reach, 0.1)) / 10.0, certain)
