"""Actuators of a compiled MJCF -> torque or PD for each hinge or slide, and the largest efforts.

MuJoCo's actuator force is `gain · command + bias`, the joint's share of it `gear` times that; its
length is `gear · q`. With a fixed gain and no bias that is our `torque`, with the bias
`−gain · length − kv · velocity` our `pd`.
"""

from __future__ import annotations

import math
from typing import Any

from isthmus.describe.description import Actuator
from isthmus.describe.mjcf_bodies import JOINTS
from isthmus.describe.mjcf_left_out import LeftOut, name_at

ON_JOINT = (0, 1)
"""`mjtTrn`: joint, and joint in parent, which differ for balls only."""
FIXED, NO_BIAS, AFFINE = 0, 0, 1
"""Of `mjtGain` and `mjtBias`."""
CLAMP, ACTUATION = 1 << 8, 1 << 11
"""Bits of `mjtDisableBit`."""
LINEAR = 1
"""How MuJoCo interpolates between past commands."""


class Motors:
    """The actuators that can be represented, and the largest effort of each joint."""

    def __init__(self, m: Any, joint_names: list[str], left: LeftOut) -> None:
        self.m, self.left, self.joint_names = m, left, joint_names
        self.actuators: dict[str, Actuator] = {}
        self.efforts: dict[str, float] = {}
        for j, name in enumerate(joint_names):
            if m.jnt_actfrclimited[j]:
                self._bound(name, m.jnt_actfrcrange[j], "actuatorfrcrange of joint", name)
        for i in range(0 if m.opt.disableflags & ACTUATION else m.nactuator):
            if not _is_switched_off(m, i):
                self._add(i)

    def _add(self, i: int) -> None:
        m, name = self.m, name_at(self.m, self.m.name_actuatoradr[i]) or f"number {i}"
        found = _actuator(m, i, self.joint_names)
        if found is None or found.joint in self.actuators:
            second = found is not None
            self.left.add("second actuator of a joint:" if second else "actuator", name)
            return
        self.actuators[found.joint] = found
        gear = abs(float(m.actuator_gear[m.actuator_outadr[i], 0]))
        if m.actuator_forcelimited[i]:
            self._bound(found.joint, gear * m.actuator_forcerange[i], "forcerange of", name)
        if m.actuator_ctrllimited[m.actuator_ctrladr[i]] and not m.opt.disableflags & CLAMP:
            self.left.add("ctrlrange (commands are taken as they are) of actuator", name)

    def _bound(self, joint: str, ends: Any, what: str, owner: str) -> None:
        """The joint's effort stays within these ends too; one-sided bounds become two-sided."""
        low, high = map(float, ends)
        bound = max(abs(low), abs(high))
        if low != -high:
            self.left.add(f"lack of symmetry (the farther end holds for both) of the {what}", owner)
        self.efforts[joint] = min(bound, self.efforts.get(joint, math.inf))


def _is_switched_off(m: Any, i: int) -> bool:
    """Whether the file disables the actuator's group."""
    group = int(m.actuator_group[i])
    return 0 <= group < 31 and bool(m.opt.disableactuator >> group & 1)


def _actuator(m: Any, i: int, joint_names: list[str]) -> Actuator | None:
    """The actuator, if it is one of ours."""
    if m.actuator_trntype[i] not in ON_JOINT or m.actuator_plugin[i] >= 0:
        return None
    joint = int(m.actuator_trnid[i, 0])
    plain = m.actuator_gaintype[i] == FIXED and m.actuator_dyntype[i] == 0
    if not plain or m.actuator_ctrlnum[i] != 1 or JOINTS[m.jnt_type[joint]][2] > 1:
        return None
    delay, gear = float(m.actuator_delay[i]), float(m.actuator_gear[m.actuator_outadr[i], 0])
    if not _delays_as_ours(m, i):
        return None
    steps = max(32, math.ceil(delay / m.opt.timestep) + 2)
    name, gain = joint_names[joint], float(m.actuator_gainprm[i, 0])
    constant, kp, kd = (-float(x) for x in m.actuator_biasprm[i, :3])
    bias = int(m.actuator_biastype[i])
    if bias == NO_BIAS or (bias == AFFINE and not any((constant, kp, kd))):
        return Actuator(name, "torque", gear=gear * gain, delay=delay, delay_steps=steps)
    if bias == AFFINE and constant == 0.0 and kp == gain:
        kd += 0.0  # no minus before a zero
        return Actuator(name, "pd", gear=gear, kp=kp, kd=kd, delay=delay, delay_steps=steps)
    return None


def _delays_as_ours(m: Any, i: int) -> bool:
    """Whether a delay lies between past commands as ours does, or on one of them."""
    delay = float(m.actuator_delay[i]) / m.opt.timestep
    return int(m.actuator_history[i, 1]) == LINEAR or abs(delay - round(delay)) < 1e-9
