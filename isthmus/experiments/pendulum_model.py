"""The filmed double pendulum as a model, on a rigid support or on one that yields sideways.

A free motion tells inertias only up to a common factor: masses and the second centre of mass are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus.experiments.pendulum_judge import FRAME
from isthmus.model.builder import Builder
from isthmus.model.model import Model

LENGTHS = (0.091, 0.070)
"""Of the links, as published [m]."""
MASS, CENTRE = (1.0, 0.2), 0.03
"""Masses [kg] and the second centre of mass [m]: fixed, because free motion cannot tell them."""
MOMENT = MASS[1] * CENTRE
"""First moment of the second link about the elbow [kg·m]: the unit of all that is reported."""
GRAVITY = 9.81
"""[m/s²]"""


def made(p: Mapping[str, Any]) -> Model:
    """The pendulum in units of published frame times: what one frame really lasts slows or hastens gravity.

    With `support_mass` [kg], it hangs from a mass on a spring that slides sideways, of this `frequency` [Hz] and
    `damping_ratio` where the pendulum is welded to it.
    """
    ratio = p["frame_time"] / FRAME
    centre = (p["weight"] * MOMENT - MASS[1] * LENGTHS[0]) / MASS[0]
    turn = (
        p["inertia_1"] * MOMENT - MASS[0] * centre**2 - MASS[1] * LENGTHS[0] ** 2,
        p["inertia_2"] * MOMENT - MASS[1] * CENTRE**2,
    )
    robot = Builder("double_pendulum", gravity=(0.0, 0.0, -GRAVITY * ratio**2))
    below, base = (0.0, LENGTHS[0]), None
    if "support_mass" in p:
        mass = p["support_mass"] + sum(MASS)
        rate, base = 2.0 * np.pi * p["frequency"] * ratio, "support"
        robot.add_link(base, mass=p["support_mass"], inertia=(1.0, 1.0, 1.0))
        robot.add_joint_prismatic(
            "sideways", None, base, axis=(1.0, 0.0, 0.0), stiffness=mass * rate**2,
            damping=2.0 * p["damping_ratio"] * mass * rate,
        )  # fmt: skip
    for k, (com, link) in enumerate(zip((centre, CENTRE), ("upper", "lower"), strict=True)):
        robot.add_link(link, mass=MASS[k], com=(0.0, 0.0, -com), inertia=(turn[k],) * 3)
        robot.add_joint_revolute(
            f"joint_{k + 1}", "upper" if k else base, link, position=(0.0, 0.0, -below[k]), axis=(0.0, 1.0, 0.0),
            damping=MOMENT * p["damping"][k] * ratio, friction=MOMENT * p["friction"][k] * ratio**2,
        )  # fmt: skip
    return robot.model()
