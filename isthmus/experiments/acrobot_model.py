"""The driven double pendulum: three designs as their lab identified them, and the model that is fitted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus.model.builder import Builder
from isthmus.model.model import Model

ROW = 0.002
"""Time between rows [s]."""
LEAD = 3
"""Rows by which torques are brought forward, so that a delay of the motors can be negative, too."""
GEAR, SLOW = 6.0, 0.05
"""Gear ratio; speed [rad/s] below which dry friction is not full."""
STICKING, FALLING = 0.5, 1.0
"""Speed [rad/s] at which stiction has fallen by the factor e, and the exponent of this fall, where a fit with stiction
begins."""
TERMS = {
    "load_friction": (0.0, 0.9), "bristle_deflection": (2e-4, 0.05), "stiction": (0.0, 0.5),
}  # fmt: skip
"""Terms of both joints that training runs may choose, and their bounds."""
STARTS = {
    "load_friction": 0.02, "bristle_deflection": 0.002, "stiction": 0.03,
}  # fmt: skip
"""Where fits of these terms begin [1, rad, N·m]."""


@dataclasses.dataclass(frozen=True)
class Lab:
    """A design as the lab identified it, and what its model was found to miss."""

    mass: tuple[float, float]
    """[kg]"""
    inertia: tuple[float, float]
    """About the joint [kg·m²]."""
    centre: tuple[float, float]
    """Of mass, from the joint [m]."""
    length: float
    """Of the first link [m]."""
    rotor: float
    """Inertia before the gear [kg·m²]."""
    dry: tuple[float, float]
    """Of `dry · atan(100 v)` [N·m]."""
    peers: tuple[float, float]
    """Errors over 0.5 s and 1 s of all runs [rad], as published with the recordings."""

    def numbers(self) -> dict[str, Any]:
        """As numbers of `made`."""
        moments = [m * r for m, r in zip(self.mass, self.centre, strict=True)]
        return {
            "moment": moments, "inertia": list(self.inertia), "damping": [0.001, 0.001],
            "friction": [0.5 * np.pi * x for x in self.dry], "armature": GEAR**2 * self.rotor, "lag": LEAD * ROW,
        }  # fmt: skip


LABS = {
    "A0": Lab((0.559, 0.604), (0.0535, 0.0239), (0.3, 0.184), 0.3, 7.66e-5, (0.093, 0.078), (0.103, 0.305)),
    "C0": Lab((0.642, 0.564), (0.0267, 0.0539), (0.2, 0.321), 0.2, 9.94e-5, (0.093, 0.078), (0.120, 0.579)),
    "C1": Lab((0.523, 0.626), (0.0319, 0.0509), (0.2, 0.256), 0.2, 6.29e-5, (0.16, 0.12), (0.076, 0.303)),
}  # fmt: skip


def made(lab: Lab, p: Mapping[str, Any]) -> Model:
    """Two links that hang at zero, with rotors behind gears, viscous and dry friction; torques come `lag` [s] late."""
    masses = (2.0 * lab.mass[0], lab.mass[1])  # enough for any moment and inertia to be possible
    rotors = (GEAR**2 * lab.rotor, p["armature"])
    robot = Builder("acrobot")
    for k, link in enumerate(("upper", "lower")):
        com = p["moment"][k] / masses[k]
        turn = p["inertia"][k] - p["moment"][k] * com
        robot.add_link(link, mass=masses[k], com=(0.0, 0.0, -com), inertia=(turn,) * 3)
        robot.add_joint_revolute(
            f"joint_{k + 1}", "upper" if k else None, link, position=(0.0, 0.0, -k * lab.length), axis=(0.0, 1.0, 0.0),
            damping=p["damping"][k], friction=p["friction"][k], friction_speed=SLOW, armature=rotors[k],
            stiction_speed=p.get("stiction_speed", STICKING), stiction_exponent=p.get("stiction_exponent", FALLING),
            **{term: p[term][k] for term in TERMS if term in p},
        )  # fmt: skip
        robot.add_actuator_torque(f"joint_{k + 1}", delay=p["lag"], delay_steps=2 * LEAD + 2)
    return robot.model()
