"""Identification beside a peer: the same problem on both sides, right answers counted."""

from __future__ import annotations

import numpy as np

from isthmus.bench import sysid


def test_both_sides_simulate_the_same_pendulum():
    import mujoco

    case = sysid.pendulum_case(40, 2)
    spec = mujoco.MjSpec.from_string(case.text)
    sysid.write_rods(spec, case.starts[0])
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = case.logs[0].q[0]
    found = []
    for _ in range(40):
        mujoco.mj_step(model, data)
        found.append(data.qpos.copy())
    evaluation, scale = case.problem.evaluation, case.problem.parameters.scale
    r, _ = evaluation.residuals(case.starts[:1] / scale)
    ours = sysid.NOISE * r[0, 0, 1:41] + case.logs[0].q[1:]
    np.testing.assert_allclose(ours, found, atol=1e-9)


def test_starts_that_end_at_the_truth_are_counted_beside_the_time_they_take(monkeypatch):
    monkeypatch.setattr(sysid, "is_here", lambda name: False)
    case = sysid.pendulum_case(100, 4)
    assert case.right(np.array([[1.0, 1.0, 1.0], [1.005, 1.0, 0.995], [1.0, 1.02, 1.0]])) == 2
    rows = sysid.rows_of(case)
    assert [row.work.split(", ")[3:5] for row in rows[:2]] == [
        ["1 start", "cold"],
        ["1 start", "warm"],
    ]
    assert "4 of 4 right" in rows[3].work
    assert all(row.ours > 0.0 for row in rows)
