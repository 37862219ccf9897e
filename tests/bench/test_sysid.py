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
    ours = sysid.NOISE * r[0, 0, 1:] + case.logs[0].q[1:]
    np.testing.assert_allclose(ours, found, atol=1e-9)


def test_starts_that_end_at_the_truth_are_counted_beside_the_time_they_take():
    case = sysid.pendulum_case(100, 4)
    assert case.right(np.array([[1.0, 1.0, 1.0], [1.005, 1.0, 0.995], [1.0, 1.02, 1.0]])) == 2
    row = sysid.rows_of(case)[1]
    assert "4 of 4 right" in row.work
    assert 0.0 < row.ours < row.compile
