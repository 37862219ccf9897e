"""Where the stops of joints give way more than those of the model, the result says so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import isthmus as ist

SOFTER = 0.6
"""Stiffness of the true stop, as a share of the model's: far softer ones are not linear in their stiffness."""


def bar() -> ist.Model:
    """A link on a vertical axis that a motor turns against its stops."""
    robot = ist.Builder("bar")
    robot.add_link("bar", mass=1.0, com=(0.2, 0.0, 0.0), inertia=(0.02, 0.02, 0.02))
    robot.add_joint_revolute(
        "hinge", None, "bar", axis=(0, 0, 1), damping=0.2, lower=-0.5, upper=0.5, effort=10.0,
        limit_stiffness=60.0, limit_damping=1.0, limit_width=0.01,
    )  # fmt: skip
    return robot.model()


def pushed(model: ist.Model, torque: float, until: float = 10.0) -> ist.Motion:
    """Ten seconds back and forth with this torque [N·m], weak after `until` [s], measured with noise."""
    t = 0.01 * np.arange(1001)
    u = (torque * np.sin(2.0 * t) + 0.1 * torque * np.sin(7.0 * t))[:, None]
    u[t > until] *= 0.01
    motion = ist.rollout(model, ist.State(np.zeros(1), np.zeros(1)), u[:-1], 0.01)
    q = motion.q + 1e-4 * np.random.default_rng(0).standard_normal(motion.q.shape)
    signals = {"joint/control": u, "joint/motor_torque": u}
    return ist.Motion(motion.t, q, motion.v, signals, motion.joints)


def lacking(torque: float, softer: float, loss: object, until: float = 10.0) -> str:
    model = bar()
    log = pushed(model.set("joint/limit_stiffness", 60.0 * softer), torque, until)
    with warnings.catch_warnings(action="ignore"):
        free = [ist.Free("joint/*/damping"), ist.Free("joint/*/armature", high=1.0)]
        noise = None if loss == ist.TorqueLoss() else 1e-4
        return ist.fit(ist.Problem(model, log, free=free, loss=loss, noise=noise)).lacking


@pytest.mark.parametrize("loss", [ist.Windows(20), ist.WholeRun(), ist.TorqueLoss()])
def test_a_stop_that_gives_way_more_is_what_the_model_lacks(loss):
    assert lacking(4.0, SOFTER, loss).startswith("joint/hinge/limit_stiffness")


def test_stops_that_are_right_or_never_touched_are_not_lacking():
    assert "limit" not in lacking(4.0, 1.0, ist.Windows(20))
    assert "limit" not in lacking(0.05, SOFTER, ist.Windows(20))


def test_a_stop_that_few_windows_touch_is_no_candidate():
    """Three of fifty: its column may explain their noise."""
    assert "limit" not in lacking(4.0, SOFTER, ist.Windows(20), until=0.55)
