"""Windows or multiple shooting: the one whose estimates are right for the velocities that were measured."""

from __future__ import annotations

import dataclasses
import tomllib
import warnings

import numpy as np
import pytest

import isthmus as ist
from isthmus.study.begin_loss import loss_text

ROBOT = ist.library.pendulum(1).set("joint/damping", 0.3)
TRUTH = ROBOT.set("link/mass", [1.4])
NOISE = 1e-3


@pytest.fixture(scope="module")
def swing():
    """Ten driven seconds, positions measured with noise, velocities exactly."""
    t = 0.01 * np.arange(1001)
    torque = (3.0 * np.sin(2.1 * t) + np.sin(5.3 * t))[:, None]
    clean = ist.rollout(TRUTH, ist.State(np.zeros(1), np.zeros(1)), torque[:-1], 0.01)
    q = clean.q + NOISE * np.random.default_rng(0).standard_normal(clean.q.shape)
    return ist.Motion(clean.t, q, clean.v, {"joint/control": torque}, clean.joints)


def with_speeds(motion, noise):
    """The same motion with velocities that are measured with noise [rad/s]."""
    error = noise * np.random.default_rng(1).standard_normal(motion.v.shape)
    return dataclasses.replace(motion, v=motion.v + error)


@pytest.mark.parametrize(
    ("noise", "kind"), [(0.0, "windows"), (1e-3, "windows"), (4e-3, "multiple_shooting")]
)
def test_starts_are_free_where_the_noise_of_velocities_moves_a_window_by_more_than_that_of_positions(
    swing, noise, kind
):
    """Over half a second, 2 mrad/s move the end by 1 mrad."""
    text = loss_text(ROBOT, [with_speeds(swing, noise)])
    assert tomllib.loads(text)["loss"]["kind"] == kind
    word = "more" if kind == "multiple_shooting" else "less"
    assert f"# rad: {word} than the noise of the positions, 0.001 rad" in text


def test_with_noisy_velocities_the_chosen_loss_is_right_where_windows_are_not(swing):
    log = with_speeds(swing, 0.2)
    loss = tomllib.loads(loss_text(ROBOT, [log]))["loss"]
    assert loss["kind"] == "multiple_shooting"
    free = [ist.Free("link/*/mass", low=0.3, high=5.0), ist.Free("joint/*/damping")]
    ask = {"free": free, "noise": loss["noise"]}

    def off(kind):
        with warnings.catch_warnings(action="ignore"):
            found = ist.fit(ist.Problem(ROBOT, log, loss=kind, **ask))
        return abs(found["link/rod_1/mass"].value - 1.4), found["link/rod_1/mass"].error

    chosen, error = off(ist.MultipleShooting(loss["steps"]))
    assert chosen < 3.0 * error
    assert chosen < 0.2 * off(ist.Windows(loss["steps"]))[0]
