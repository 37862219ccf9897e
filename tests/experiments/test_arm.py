"""The arm study finds what a simulated arm was made with, and beats ridge around the URDF on the real one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import isthmus as ist
from isthmus.data.datasets_arms import COLUMNS
from isthmus.errors import BadFile, BadOption
from isthmus.experiments import arm
from isthmus.experiments.arm_peers import figaroh
from isthmus.experiments.run import Settings, reproduce
from isthmus.identify.torque.data import predicted_torque
from isthmus.identify.torque.start import torque_rows

STEP, TORQUE = 0.01, "joint/motor_torque"


def model(masses: tuple[float, float], friction: float = 0.0) -> ist.Model:
    """Two links with the joint names of the recordings."""
    robot = ist.Builder("arm")
    for k, mass in enumerate(masses):
        robot.add_link(f"link_{k}", mass=mass, com=(0.0, 0.0, -0.2), inertia=(0.02, 0.02, 0.01))
        robot.add_joint_revolute(
            f"lwr_{k}_joint", f"link_{k - 1}" if k else None, f"link_{k}", axis=(0.0, 1.0, 0.0),
            position=(0.0, 0.0, -0.4 if k else 0.0), friction=friction,
        )  # fmt: skip
    return robot.model()


def motion(seed: int, speed: float, rows: int = 400) -> ist.Motion:
    """Sums of sines."""
    draw = np.random.default_rng(seed)
    t = STEP * np.arange(rows)
    w, phase = speed * draw.uniform(1.0, 4.0, (2, 3)), draw.uniform(0.0, 6.0, (2, 3))
    at = t[:, None, None] * w + phase
    q, v, a = (0.4 * f.sum(axis=2) for f in (np.sin(at), w * np.cos(at), -w * w * np.sin(at)))
    joints = (("lwr_0_joint", "revolute"), ("lwr_1_joint", "revolute"))
    return ist.Motion(t, q, v, {"joint/acceleration": a}, joints)


def write(path, motions: list[ist.Motion], true: ist.Model) -> None:
    arrays = {}
    for k, m in enumerate(motions, 1):
        noise = 0.02 * np.random.default_rng(k).normal(size=m.q.shape)
        rows = torque_rows(true, dataclasses.replace(m, signals={**m.signals, TORQUE: 0.0 * m.q}))
        tau = predicted_torque(true, rows, true) + noise
        columns = m.q, m.v, m.signals["joint/acceleration"], tau
        arrays |= {f"times_{k}": m.t}
        arrays |= {f"{name}_{k}": x for name, x in zip(COLUMNS, columns, strict=True)}
    np.savez(path, **arrays)


@pytest.mark.compiles_much("a whole study")
def test_a_simulated_arm_is_predicted_on_a_faster_run_it_has_not_seen(tmp_path):
    true = model((1.3, 0.8), friction=0.3).set("joint/lwr_0_joint/torque_offset", 0.4)
    ist.export_urdf(model((1.0, 1.0)), tmp_path / "arm.urdf")
    write(tmp_path / "runs.npz", [motion(0, 0.5)] * 2, true)
    write(tmp_path / "fast.npz", [motion(1, 1.0)], true)
    settings = Settings(
        quick=True, data=str(tmp_path / "runs.npz"), judge=str(tmp_path / "fast.npz"),
        options=(("model", str(tmp_path / "arm.urdf")), ("lowpass", "40")),
    )  # fmt: skip
    result = reproduce("arm", settings, tmp_path / "out")
    judged = result.judged.numbers["errors"]
    assert np.sqrt(np.mean(np.square(judged["chosen"]))) < 0.04
    assert np.sqrt(np.mean(np.square(judged["network"]))) < 0.05
    assert "offset" in result.numbers["terms"]
    saved = ist.load(tmp_path / "out" / "chosen.safetensors")
    fast = ist.read_motion(tmp_path / "fast.npz", dataset="flobaroid_arm")[0]
    rows = torque_rows(saved, fast)
    np.testing.assert_allclose(
        predicted_torque(saved, rows, saved), ist.needed_torque(saved, fast), atol=1e-3
    )
    files = ["tables.txt", "numbers.json", "torques.png", "errors.png"]
    assert {*files, *(f"judged_{name}" for name in files), "chosen.safetensors"} <= {
        file.name for file in (tmp_path / "out").iterdir()
    }
    again = reproduce("arm", dataclasses.replace(settings, data=None), tmp_path / "out")
    for name, errors in again.judged.numbers["errors"].items():
        np.testing.assert_allclose(errors, judged[name], rtol=1e-5)


def test_figarohs_base_parameters_predict_the_torques_that_they_are_made_of(tmp_path):
    pytest.importorskip("figaroh", reason="figaroh is not installed")
    ist.export_urdf(model((1.0, 1.0)), tmp_path / "arm.urdf")
    still = lambda m: dataclasses.replace(m, signals={**m.signals, TORQUE: 0.0 * m.q})
    rows = torque_rows(model((1.0, 1.0)), still(motion(0, 1.0)))
    true = model((1.3, 0.8)).set("joint/torque_offset", [0.4, 0.0]).set("joint/damping", 0.2)
    tau = [predicted_torque(true, rows, true)]
    known = figaroh(str(tmp_path / "arm.urdf"), [rows])
    assert known is not None
    np.testing.assert_allclose(known.rows[0] @ known.fitted(tau), tau[0], atol=1e-8)


def test_without_recordings_or_with_other_ones_the_study_says_what_it_needs(tmp_path):
    with pytest.raises(BadOption, match="--data"):
        arm.study(Settings(quick=True))
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(BadOption, match="--set model=FILE"):
        arm.study(Settings(quick=True, data=str(tmp_path / "other.npz")))
    with pytest.raises(BadFile, match="lacks 'times'"):
        ist.read_motion(tmp_path / "other.npz", dataset="flobaroid_arm")
    with pytest.raises(BadOption, match="--judge"):
        reproduce("landscape", Settings(quick=True, judge="more.npz"))


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.compiles_much("a whole study")
def test_the_real_arm_beats_ridge_around_the_urdf_on_every_split(shared_data):
    result = reproduce("arm", Settings(data=str(shared_data / "kuka_lwr4.npz")))
    errors = result.numbers["errors"]
    total = lambda split, name: np.sqrt(np.mean(np.square(errors[split][name])))
    for split in ("blocks", "fast", "slow"):
        assert total(split, "filtered") < 0.6 * total(split, "ridge"), split
        assert np.all(np.array(errors[split]["filtered"]) < errors[split]["ridge"]), split
    ratio = np.array(errors["runs"]["filtered"]) / result.numbers["noise"]
    assert np.all(ratio[:4] < 1.3)
