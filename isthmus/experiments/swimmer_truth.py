"""The unknown system of the swimmer study: MuJoCo's swimmer in a fluid, driven by random torques."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import Any

import numpy as np

from isthmus.describe.mujoco_log import collected_warnings
from isthmus.errors import MissingExtra
from isthmus.export.mjcf import to_mjcf
from isthmus.model.model import Model
from isthmus.motion.motion import Motion

ROW, INNER = 0.01, 0.005
"""Time between rows, and between MuJoCo's steps [s]."""
LIMIT = 5e-4
"""Largest torque of a motor [N·m]."""


@dataclasses.dataclass(frozen=True)
class Medium:
    """A fluid at rest."""

    name: str
    density: float
    """[kg/m³]"""
    viscosity: float
    """[Pa·s]"""


MEDIA = {
    "water5": Medium("water, 5 °C", 1000.0, 0.001518),
    "water25": Medium("water, 25 °C", 997.0, 0.00089),
    "air": Medium("air, 25 °C", 1.184, 0.00001849),
}


def torques(rows: int, motors: int, rng: np.random.Generator) -> np.ndarray:
    """Smooth random torques [N·m]: noise through a filter of a quarter of a second, within ±`LIMIT`."""
    share = np.exp(-ROW / 0.25)
    noise = rng.normal(size=(rows, motors)) * np.sqrt(1.0 - share**2)
    out = np.zeros((rows, motors))
    level = rng.normal(size=motors)
    for k in range(rows):
        level = share * level + noise[k]
        out[k] = level
    return LIMIT * np.tanh(out)


def swim(model: Model, medium: Medium, rows: int, *, seed: int) -> Motion:
    """A motion of `rows` rows from a random start at rest; `joint/control` of a row acts until the next."""
    mujoco = _mujoco()
    rng = np.random.default_rng(seed)
    spec = mujoco.MjSpec.from_string(to_mjcf(model)[0])
    spec.option.density, spec.option.viscosity = medium.density, medium.viscosity
    spec.option.timestep = INNER
    spec.option.gravity = np.zeros(3)
    body = spec.compile()
    body.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(body)
    data.qpos[2:] = rng.uniform(-1.0, 1.0, model.dof - 2)
    given = np.zeros((rows, model.dof))
    given[:, 3:] = torques(rows, model.dof - 3, rng)
    q, v = np.zeros((2, rows, model.dof))
    with collected_warnings(mujoco):
        for k in range(rows):
            q[k], v[k] = data.qpos, data.qvel
            for _ in range(round(ROW / INNER)):
                data.qfrc_applied[:] = given[k]
                mujoco.mj_step(body, data)
    return Motion(ROW * np.arange(rows), q, v, {"joint/control": given})


def _mujoco() -> Any:
    try:
        return import_module("mujoco")
    except ModuleNotFoundError as missing:
        raise MissingExtra("mujoco", "mjcf", "the swimmer's fluid") from missing
