"""Logs that cannot be fitted are refused at once, each in one clear sentence."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadFree, BadLog, BadOption
from tests.identify.motions import DOUBLE, SINGLE, recorded

GOOD = recorded(SINGLE, 41)
FREE = [ist.Free("joint/*/damping")]


def changed(q=None, v=None, t=None, signals=None) -> ist.Motion:
    pick = lambda new, old: old if new is None else new
    return ist.Motion(
        pick(t, GOOD.t), pick(q, GOOD.q), pick(v, GOOD.v), pick(signals, GOOD.signals)
    )


@pytest.mark.parametrize(
    ("motion", "words"),
    [
        ([], "no motion to fit"),
        (recorded(DOUBLE, 41), "does not match the robot"),
        (changed(v=np.zeros((41, 3))), "velocities of shape .41, 3."),
        (changed(q=np.full((41, 1), 0.3), v=np.zeros((41, 1))), "constant in every run"),
        (changed(t=1000.0 * GOOD.t), "time in milliseconds"),
        (changed(v=GOOD.v * 180.0 / np.pi), "degrees a second"),
        (changed(q=GOOD.q * 180.0 / np.pi), "positions seem to be in degrees"),
        (changed(t=GOOD.t**1.5), "not evenly sampled"),
        (changed(t=GOOD.t[::-1]), "time must increase"),
        (changed(signals={"joint/control": np.zeros((40, 1))}), "'joint/control' has 40 rows"),
        (changed(signals={"joint/control": np.full((41, 1), np.nan)}), "missing at row 0"),
        (ist.Motion(GOOD.t[:1], GOOD.q[:1], GOOD.v[:1]), "needs at least two"),
        ("log.csv", "read files with ist.read_motion"),
    ],
)
def test_a_log_that_cannot_be_fitted_is_refused_in_one_sentence(motion, words):
    with pytest.raises(BadLog, match=words):
        ist.Problem(SINGLE, motion, free=FREE)


def test_degrees_show_by_the_ends_of_travel():
    limited = SINGLE.set("joint/lower", -0.5).set("joint/upper", 0.5)
    far = ist.Motion(GOOD.t, 60.0 * GOOD.q / np.abs(GOOD.q).max())
    with pytest.raises(BadLog, match="are positions in degrees"):
        ist.Problem(limited, far, free=FREE)


def test_more_free_numbers_than_data_are_refused():
    short = ist.Motion(GOOD.t[:4], GOOD.q[:4], GOOD.v[:4])
    with pytest.raises(BadLog, match="3 measured numbers for 10 free ones"):
        ist.Problem(SINGLE, short, free=[ist.Free("link/*/inertial")])


def test_a_signal_that_the_log_lacks_is_named():
    with pytest.raises(
        BadLog,
        match=r"no 'point/tip/position' to compare with; it has joint/position, joint/control",
    ):
        ist.Problem(SINGLE, GOOD, free=FREE, signals=["point/tip/position"])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"free": []}, BadFree, "nothing is free"),
        ({"loss": "window"}, BadOption, "Did you mean 'windows'"),
        ({"noise": -1.0}, BadOption, "noise of 'joint/position' must be positive"),
        ({"huber": 0.0}, BadOption, "huber must be a positive"),
        ({"heldout": 1}, BadOption, "leaves nothing to fit"),
        ({"dt": 0.004}, BadOption, "does not divide"),
        ({"make": dict}, BadOption, "one of the two"),
    ],
)
def test_options_that_cannot_work_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        ist.Problem(SINGLE, GOOD, **({"free": FREE} | options)).evaluation  # noqa: B018
