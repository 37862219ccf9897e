"""Dry friction that builds up over some way after a reversal: Dahl's law, stable in long steps, in fits and files."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.test_util import check_grads

import isthmus as ist
from isthmus.dynamics.passive import bristles_after
from isthmus.errors import ExportWarning
from isthmus.identify.evaluate.windows_from_logs import bristles_along

FRICTION, WAY, MASS = 0.5, 0.01, 2.0


def slider(way: float = WAY, **more):
    """A mass on a rail with dry friction."""
    robot = ist.Builder("slider")
    robot.add_link("mass", mass=MASS, inertia=(0.01,) * 3)
    robot.add_joint_prismatic(
        "rail",
        None,
        "mass",
        axis=(1.0, 0.0, 0.0),
        friction=FRICTION,
        bristle_deflection=way,
        **more,
    )
    return robot.model()


def test_friction_builds_up_exponentially_with_the_way_after_a_reversal():
    model, dt = slider(), 1e-5
    way = np.concatenate([np.full(400, 5e-5), np.full(300, -5e-5)])
    state, found = np.zeros(1), []
    for step in way:
        state = bristles_after(model, state, np.array([step / dt]), dt)
        found.append(float(state[0]))
    there = 1.0 - np.exp(-0.02 / WAY)
    assert found[399] == pytest.approx(there, abs=5e-3)
    assert found[-1] == pytest.approx(-1.0 + (there + 1.0) * np.exp(-0.015 / WAY), abs=5e-3)


def test_a_cycle_loses_the_energy_of_the_closed_form():
    """Between turning points ±A, z runs from −z₀ to z₀ = tanh(A/d); ∮ F z dx = 4 F (A − d z₀)."""
    model, dt, far = slider(), 1e-3, 0.015
    path = far * np.sin(np.linspace(0.0, 4.0 * np.pi, 1601))
    state, force = np.zeros(1), []
    for step in np.diff(path):
        state = bristles_after(model, state, np.array([step / dt]), dt)
        force.append(FRICTION * float(state[0]))
    last = slice(800, None)
    loss = float(np.sum(np.array(force)[last] * np.diff(path)[last]))
    closed = 4.0 * FRICTION * (far - WAY * np.tanh(far / WAY))
    assert loss == pytest.approx(closed, rel=1e-2)


@pytest.mark.parametrize("way", [1e-2, 1e-9])
def test_a_push_below_the_friction_is_held_for_good_in_long_steps(way):
    push = 0.8 * FRICTION
    motion = ist.rollout(slider(way, damping=5.0), [0.0], np.full((2000, 1), push), 0.01)
    q = np.asarray(motion.q)[:, 0]
    assert np.all(np.abs(q) < 10.0 * way + 1e-6)
    assert abs(q[-1] - q[-100]) < 1e-3 * way + 1e-9
    smooth = ist.rollout(slider(0.0, damping=5.0), [0.0], np.full((2000, 1), push), 0.01)
    assert np.asarray(smooth.q)[-1, 0] > 0.02  # friction by velocity creeps


def test_sliding_has_the_whole_friction():
    motion = ist.rollout(slider(), ist.State([0.0], [1.0]), np.zeros((100, 1)), 1e-3)
    v = np.asarray(motion.v)[:, 0]
    assert (v[-1] - v[50]) / 0.05 == pytest.approx(-FRICTION / MASS, rel=2e-3)


def test_gradients_of_a_motion_with_a_reversal():
    def end(way):
        model = slider().set("joint/rail/bristle_deflection", way)
        pull = 3.0 * np.sin(np.linspace(0.0, 6.0, 60))[:, None]
        return ist.rollout(model, [0.0], pull, 0.01, engine="xla").q[-1]

    check_grads(jax.jit(end), (WAY,), order=1, modes=("fwd", "rev"), eps=1e-6, rtol=1e-4)


def test_needed_torques_undo_the_simulation():
    model, dt = slider(load_friction=0.2), 1e-3
    pull = 2.0 * np.sin(np.linspace(0.0, 12.0, 800))[:, None]
    motion = ist.rollout(model, [0.0], pull, dt)
    rate = np.gradient(np.asarray(motion.v), dt, axis=0)
    found = ist.needed_torque(
        model, ist.Motion(motion.t, motion.q, motion.v, {"joint/acceleration": rate})
    )
    np.testing.assert_allclose(np.asarray(found)[5:-5, 0], pull[5:-4, 0], atol=0.03)


def test_a_fit_finds_the_deflection_from_windows_that_begin_anywhere():
    pull = 2.0 * np.sin(np.linspace(0.0, 8.0, 1200))[:, None]
    motion = ist.rollout(slider(), [0.0], pull, 2e-3)
    log = ist.Motion(
        motion.t, motion.q, motion.v, {"joint/control": np.append(pull, pull[-1:], axis=0)}
    )
    problem = ist.Problem(
        slider(0.008), log, free=[ist.Free("joint/bristle_deflection"), ist.Free("joint/friction")], noise=1e-4,
        loss=ist.Windows(100),
    )  # fmt: skip
    found = ist.fit(problem, verbose=False)
    assert found["joint/rail/bristle_deflection"].value == pytest.approx(WAY, rel=0.1)
    assert found["joint/rail/friction"].value == pytest.approx(FRICTION, rel=0.01)


def test_bristles_follow_a_measured_motion():
    v = np.concatenate([np.full((50, 1), 1.0), np.full((3, 1), -1.0)])
    state = bristles_along(slider(), v, 1e-3)
    assert -1.0 < float(state[0]) < 1.0
    assert bristles_along(slider(), v[:50], 1e-3) == pytest.approx(1.0, abs=0.02)


def test_files_keep_the_deflection(tmp_path):
    model = slider()
    ist.save(model, tmp_path / "slider.safetensors")
    assert ist.load(tmp_path / "slider.safetensors").bristling == (0,)
    with pytest.warns(ExportWarning, match="bristle_deflection"):
        ist.export_urdf(model, tmp_path / "slider.urdf")
    again = ist.load(tmp_path / "slider.urdf")
    np.testing.assert_allclose(again.joint_bristle_deflection, [WAY])


def test_c_code_carries_the_bristles_from_step_to_step():
    assert "memory_bristles" in str(ist.export_c(slider(), dt=1e-3))
