"""What stands between motion and log: unknown starts, offsets, delays below one row, a wrong clock."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadFree
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
    v = problem.windows[0].v[0, 0] + fit.x[-1]
    assert v == pytest.approx(0.7, abs=1e-6)


def test_an_offset_of_an_encoder_is_found_and_taken_off_the_start():
    clean = ist.rollout(MODEL, ist.State(np.array([1.0]), np.zeros(1)), None, DT, 80)
    log = ist.Motion(clean.t, clean.q + 0.05, clean.v)
    free = [ist.Free("offset/joint/position"), ist.Free("joint/*/damping")]
    fit = ist.fit(ist.Problem(MODEL.set("joint/damping", 0.1), log, free=free, loss="whole_run"))
    assert fit["offset/joint/joint_1/position"].value == pytest.approx(0.05, abs=1e-8)
    assert fit["joint/joint_1/damping"].value == pytest.approx(0.2, abs=1e-7)


def test_an_encoder_that_is_set_to_zero_anew_each_time_is_found_in_each_run():
    """Other runs are predicted with the mean; runs of one name are told apart."""
    zeros = (0.05, -0.03, 0.04)
    logs = []
    for k, zero in enumerate(zeros):
        clean = ist.rollout(MODEL, ist.State(np.array([1.0 - 0.2 * k]), np.zeros(1)), None, DT, 60)
        logs.append(ist.Motion(clean.t, clean.q + zero, clean.v))
    free = [ist.Free("offset/joint/position", each_run=True), ist.Free("joint/*/damping")]
    guess = MODEL.set("joint/damping", 0.1)
    problem = ist.Problem(guess, logs, free=free, loss=ist.Windows(30), heldout=1)
    fit = ist.fit(problem)
    found = [fit[f"offset/joint/joint_1/position in run {k + 1}"].value for k in (0, 1)]
    np.testing.assert_allclose(found, zeros[:2], atol=1e-8)
    assert fit["joint/joint_1/damping"].value == pytest.approx(0.2, abs=1e-7)

    other = ist.Motion(logs[2].t, logs[2].q - zeros[2] + np.mean(zeros[:2]), logs[2].v)
    pair = ist.Problem(guess, [*logs[:2], other], free=free, loss=ist.Windows(30), heldout=1)
    after = [found.heldout["joint/position"][1] for found in (ist.fit(pair), fit)]
    assert after[0] < 1e-7 < after[1]


def test_only_a_sensor_differs_from_run_to_run():
    with pytest.raises(BadFree, match="cannot differ from run to run"):
        ist.Free("joint/damping", each_run=True)


def test_delay_may_be_a_name_of_your_own():
    make = lambda p: MODEL.set("joint/damping", p["delay"])
    log = ist.rollout(MODEL, ist.State(np.array([1.0]), np.zeros(1)), None, DT, 40)
    fit = ist.fit(ist.Problem(make=make, motions=log, free=[ist.Free("delay", start=0.1)]))
    assert fit["delay"].value == pytest.approx(0.2, abs=1e-6)


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
