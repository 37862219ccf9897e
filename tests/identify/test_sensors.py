"""What stands between motion and log: unknown starts, offsets, delays below one row, a wrong clock."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from tests.identify.motions import DT, SINGLE

MODEL = ist.library.pendulum(1).set("joint/damping", 0.2)
FINE = 10


def swing(seconds: float = 1.0, speed: float = 0.0) -> ist.Motion:
    """A free swing, in steps ten times as fine as the log's rows."""
    start = ist.State(np.array([1.2]), np.array([speed]))
    return ist.rollout(MODEL, start, None, DT / FINE, round(seconds / DT * FINE))


def test_unknown_initial_velocities_are_found():
    clean = ist.rollout(
        MODEL.set("link/mass", 1.4), ist.State(np.array([0.5]), np.array([0.7])), None, DT, 60
    )
    log = ist.Motion(clean.t, clean.q)
    free = [ist.Free("joint/*/damping"), ist.Free("start/velocity")]
    problem = ist.Problem(MODEL.set("link/mass", 1.4), log, free=free, loss="whole_run")
    fit = ist.fit(problem)
    assert fit["joint/joint_1/damping"].value == pytest.approx(0.2, abs=1e-6)
    v = problem.windows[0]["v"][0, 0] + fit.x[-1]
    assert v == pytest.approx(0.7, abs=1e-6)


def test_an_offset_of_an_encoder_is_found_and_taken_off_the_start():
    clean = ist.rollout(MODEL, ist.State(np.array([1.0]), np.zeros(1)), None, DT, 80)
    log = ist.Motion(clean.t, clean.q + 0.05, clean.v)
    free = [ist.Free("offset/joint/position"), ist.Free("joint/*/damping")]
    fit = ist.fit(ist.Problem(MODEL.set("joint/damping", 0.1), log, free=free, loss="whole_run"))
    assert fit["offset/joint/joint_1/position"].value == pytest.approx(0.05, abs=1e-8)
    assert fit["joint/joint_1/damping"].value == pytest.approx(0.2, abs=1e-7)


@pytest.mark.parametrize("late", [0.013, 0.027])
def test_a_delay_below_one_row_is_found(late):
    fine = swing()
    rows = 200 + np.arange(0, 700, FINE) - round(late / (DT / FINE))
    log = ist.Motion(DT * np.arange(len(rows)), np.asarray(fine.q)[rows], np.asarray(fine.v)[rows])
    free = [ist.Free("delay/joint/position", low=0.0, high=0.04)]
    u = {"joint/control": np.zeros((len(rows), 1))}
    # a push that the log shows late tells the delay
    push = np.where((np.arange(len(rows)) > 20) & (np.arange(len(rows)) < 30), 4.0, 0.0)[:, None]
    driven = ist.rollout(
        MODEL,
        ist.State(np.asarray(fine.q)[200], np.asarray(fine.v)[200]),
        np.repeat(push, FINE, axis=0),
        DT / FINE,
    )
    before = np.asarray(fine.q)[200 - round(late / (DT / FINE)) : 200]
    speeds = np.asarray(fine.v)[200 - round(late / (DT / FINE)) : 200]
    q, v = (
        np.concatenate(x)[: len(rows) * FINE : FINE]
        for x in ((before, driven.q), (speeds, driven.v))
    )
    log = ist.Motion(log.t, q, v, u | {"joint/control": push})
    problem = ist.Problem(MODEL, log, free=free, loss="whole_run", substeps=FINE)
    fit = ist.fit(problem)
    assert fit["delay/joint/position"].value == pytest.approx(late, abs=2e-4)


def test_a_wrong_clock_is_found():
    clean = ist.rollout(SINGLE, ist.State(np.array([1.0]), np.zeros(1)), None, 0.0105, 80)
    log = ist.Motion(DT * np.arange(81), clean.q, clean.v)
    fit = ist.fit(
        ist.Problem(SINGLE, log, free=[ist.Free("dt", low=0.005, high=0.02)], loss="whole_run")
    )
    assert fit["dt"].value == pytest.approx(0.0105, abs=1e-8)


def test_missing_rows_are_not_compared():
    clean = ist.rollout(MODEL, ist.State(np.array([1.0]), np.zeros(1)), None, DT, 80)
    q = np.array(clean.q)
    q[10:40] = np.nan
    log = ist.Motion(clean.t, q, clean.v)
    problem = ist.Problem(
        MODEL.set("joint/damping", 0.1), log, free=[ist.Free("joint/*/damping")], loss="whole_run"
    )
    assert problem.evaluation.data == 50
    assert ist.fit(problem)["joint/joint_1/damping"].value == pytest.approx(0.2, abs=1e-7)
