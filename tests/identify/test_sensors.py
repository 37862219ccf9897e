"""What stands between motion and log: unknown starts, offsets, delays below one row, a wrong clock."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from tests.identify.motions import DT, SINGLE

MODEL = ist.library.pendulum(1).set("joint/damping", 0.2)
FINE = 10


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


def test_a_delay_below_one_row_is_found():
    """A sensor that is 2.7 rows late; a push tells when things really happened."""
    late = 27  # fine steps
    start = ist.State(np.array([1.2]), np.zeros(1))
    before = ist.rollout(MODEL, start, None, DT / FINE, 200)
    push = np.zeros((70, 1))
    push[20:30] = 4.0
    driven = ist.rollout(MODEL, before.state(-1), np.repeat(push, FINE, axis=0), DT / FINE)
    shown = lambda a, b: np.concatenate([np.asarray(a)[-1 - late : -1], b])[: 70 * FINE : FINE]
    q, v = shown(before.q, driven.q), shown(before.v, driven.v)
    log = ist.Motion(DT * np.arange(70), q, v, {"joint/control": push})
    free = [ist.Free("delay/joint/position", low=0.0, high=0.04)]
    fit = ist.fit(ist.Problem(MODEL, log, free=free, loss="whole_run", substeps=FINE))
    assert fit["delay/joint/position"].value == pytest.approx(late * DT / FINE, abs=2e-4)


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
