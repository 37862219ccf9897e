"""`isthmus simulate`: the motion is that of `ist.rollout`, it is written whole, and it says what it did."""

from __future__ import annotations

import types

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.cli import parts, simulate
from isthmus.cli.controls import read_commands
from isthmus.cli.main import main
from isthmus.cli.simulate import Integrator
from isthmus.errors import UnknownName
from isthmus.motion.reading import read_motion_file
from isthmus.simulate.integrate import INTEGRATORS
from tests.cli.test_main import one_sentence

PENDULUM = ist.library.pendulum(2)
SHORT = ["simulate", "library:pendulum", "--seconds", "0.05"]
"""50 steps, everywhere, so that they are compiled once."""


@pytest.mark.smoke
def test_simulate_gives_the_motion_of_a_rollout_in_64_bits(as_the_user, capsys):
    words = ["--q", "joint_1=0.5,joint_2=-0.2", "--v", "joint_2=1", "--control", "1.5,-0.5"]
    assert main([*SHORT, *words, "--out", "motion.npz"]) == 0
    motion = read_motion_file("motion.npz", PENDULUM)
    assert not jax.config.jax_enable_x64, "the user's setting was changed"
    with jax.enable_x64(True):
        start = ist.State([0.5, -0.2], [0.0, 1.0])
        expected = ist.rollout(PENDULUM, start, np.tile([1.5, -0.5], (50, 1)), 1e-3)
    np.testing.assert_allclose(motion.q, expected.q, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(motion.v, expected.v, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(motion.t, expected.t, atol=1e-15)
    said = capsys.readouterr()
    assert said.err == ""
    first, second, third = said.out.splitlines()
    assert first.startswith("simulated pendulum_2: 50 steps of 0.001 s in ")
    assert second.startswith(f"at t = 0.05 s: joint_1 = {motion.q[-1, 0]:.4g}, ")
    assert "J, change" in second
    assert third == "wrote motion.npz"


def test_both_kinds_of_file_hold_the_same_motion(as_the_user, capsys):
    recorded = ["--record", "link/pose,joint/torque", "joint/joint_1/velocity"]
    for name in ("motion.npz", "motion.csv"):
        assert main([*SHORT, "--q", "joint_1=1", *recorded, "--out", name]) == 0
    assert "J, drift" in capsys.readouterr().out
    a, b = (read_motion_file(name, PENDULUM) for name in ("motion.npz", "motion.csv"))
    np.testing.assert_array_equal(a.q, b.q)
    np.testing.assert_array_equal(a.v, b.v)
    assert (
        list(a.signals)
        == list(b.signals)
        == ["link/pose", "joint/torque", "joint/joint_1/velocity", "joint/control"]
    )
    for name, value in a.signals.items():
        np.testing.assert_array_equal(value, b.signals[name])
    assert a.signals["link/pose"].shape == (51, 2, 7)


def test_a_long_motion_in_parts_is_the_same_as_in_one(monkeypatch):
    commands = read_commands("sine:1,2", PENDULUM)
    start = ist.State([0.5, 0.0], [0.0, 0.0])
    record = ("joint/control",)
    whole = parts.simulate_in_parts(PENDULUM, start, commands, 1e-3, 50, record, lambda done: None)
    heard: list[int] = []
    monkeypatch.setattr(parts, "PART", 20)
    cut = parts.simulate_in_parts(PENDULUM, start, commands, 1e-3, 50, record, heard.append)
    assert heard == [20, 40, 50]
    np.testing.assert_allclose(cut.t, whole.t, atol=1e-15)
    np.testing.assert_allclose(cut.q, whole.q, atol=1e-14)
    np.testing.assert_allclose(cut.v, whole.v, atol=1e-13)
    np.testing.assert_array_equal(cut.signals["joint/control"], whole.signals["joint/control"])


def test_a_control_file_says_how_long(as_the_user, capsys):
    rows = "\n".join(["joint_1,joint_2", *["0.1,0.2"] * 50])
    (as_the_user / "control.csv").write_text(rows, encoding="utf-8")
    words = ["simulate", "library:pendulum", "--control", "control.csv"]
    assert main(words) == 0
    assert "50 steps" in capsys.readouterr().out
    assert main([*words, "--seconds", "1"]) == 2
    assert "is longer than 'control.csv', which ends after 0.05 s" in one_sentence(capsys)


def test_positions_of_a_free_joint_have_names_and_quaternions_are_made_unit():
    state = simulate._start(
        ist.library.cube(), "flight.z=0.4,flight.qw=0,flight.qx=2", "flight.wz=3"
    )
    np.testing.assert_array_equal(state.q, [0, 0, 0.4, 0, 1, 0, 0])
    np.testing.assert_array_equal(state.v, [0, 0, 0, 0, 0, 3])


def test_prescribed_joints_stay_where_they_start(as_the_user):
    words = [
        "simulate",
        "library:pusher",
        "--seconds",
        "0.005",
        "--q",
        "hand.x=0.3",
        "--out",
        "m.npz",
    ]
    assert main(words) == 0
    motion = read_motion_file("m.npz", ist.library.pusher())
    np.testing.assert_array_equal(motion.q[:, 3], 0.3)


def test_a_motion_that_blows_up_is_said_and_drawn_and_status_1(as_the_user, capsys):
    words = ["simulate", "library:pendulum", "--dt", "0.5", "--seconds", "1000", "--q", "joint_1=1"]
    assert main([*words, "--integrator", "explicit_euler", "--plot", "motion.png"]) == 1
    said = capsys.readouterr()
    assert "the motion is not finite from t = " in said.err
    assert said.err.count("\n") == 1
    assert (as_the_user / "motion.png").read_bytes().startswith(b"\x89PNG")


def test_a_motion_in_parts_may_blow_up_in_one_of_them(monkeypatch):
    commands = read_commands("sine:1,2", PENDULUM)
    monkeypatch.setattr(parts, "PART", 20)
    start = ist.State([0.5, 0.0], [0.0, 1e200])
    motion = parts.simulate_in_parts(PENDULUM, start, commands, 1e-3, 50, (), lambda done: None)
    assert motion.q.shape == (51, 2)
    assert np.isnan(motion.q[-1]).all()


def test_every_integrator_can_be_chosen():
    assert set(Integrator.__args__) == set(INTEGRATORS)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--dt", "0"], "--dt must be a positive number, not 0"),
        (["--dt", "nan"], "--dt must be a positive number, not nan"),
        (["--dt", "-1"], "--dt must be a positive number, not -1"),
        (["--seconds", "0"], "--seconds must be a positive number"),
        (["--seconds", "inf"], "--seconds must be a positive number"),
        (["--seconds", "1e9"], "are 1e+12 steps; at most 1e+08 can be simulated"),
        (["--seconds", "1e300", "--dt", "1e-300"], "at most 1e+08"),
        (["--seconds", "1e-9"], "shorter than one step"),
        (["--substeps", "0"], "--substeps must be from 1 to 1000"),
        (
            ["--q", "elbow=1"],
            "nothing that moves is called 'elbow'. There are 'joint_1', 'joint_2'",
        ),
        (["--q", "joint1=1"], "Did you mean 'joint_1'?"),
        (["--q", "joint_1"], "'joint_1' is not of the form NAME=NUMBER"),
        (["--q", "joint_1=x"], "'x' is no number"),
        (["--v", "joint_1=nan"], "'nan' is not finite"),
        (["--out", "motion.txt"], "must end in .npz or .csv"),
        (["--out", "motion"], "must end in .npz or .csv"),
        (["--out", "no/motion.csv"], "there is no folder 'no'"),
        (["--plot", "motion.bmp"], "must end in .png or .svg or .pdf"),
        (["--record", "link/pos"], "Did you mean 'link/pose'?"),
        (["--control", "wobble"], "--control does not understand 'wobble'"),
        (["--control", "nowhere.csv"], "there is no file 'nowhere.csv'"),
        (["--base", "free"], "are for files"),
        (["--contact", "penalty"], "has no ground to touch"),
        (["--pair", "finger"], "--pair 'finger' names no two shapes: write FIRST+SECOND"),
        (["--pair", "finger+"], "--pair 1 has no second; name two shapes"),
        (["--pair", "finger+cube,glue=1"], "--pair 1 does not know 'glue'"),
        (["--pair", "finger+cube"], "no shape or link is called 'finger'"),
        (["--contact", "friction=0.3,glue=1"], "--contact 1 does not know 'glue'"),
        (["--contact", "friction=much"], "--contact 1: friction must be a number, not 'much'"),
    ],
)
def test_wrong_options_end_in_one_sentence(words, what, capsys, as_the_user):
    assert main(["simulate", "library:pendulum", *words]) == 2
    assert what in one_sentence(capsys)
    assert list(as_the_user.iterdir()) == []


def test_a_change_of_energy_is_no_drift_where_bodies_may_touch():
    block, still = ist.library.cube(), types.SimpleNamespace(zero=True)
    assert simulate._conserves(block, still)
    assert not simulate._conserves(ist.with_contact(block, ground=ist.Ground()), still)


def test_a_joint_with_several_coordinates_names_its_parts(capsys):
    assert main(["simulate", "library:cube", "--q", "flight=1"]) == 2
    assert "'flight' has several numbers: 'flight.x'" in one_sentence(capsys)
    assert main(["simulate", "library:cube", "--q", "flight.qw=0"]) == 2
    assert "a quaternion cannot be zero" in one_sentence(capsys)


def test_a_free_body_starts_on_the_ground_unless_options_say_where():
    block = ist.library.cube(width=0.2, contact="impulse")
    assert simulate._start(block, "", "").q[2] == pytest.approx(0.1)
    assert simulate._start(block, "cube.x=1", "").q[2] == pytest.approx(0.1)
    assert simulate._start(block, "cube.z=0.05", "").q[2] == 0.05


def test_contacts_that_the_viewer_draws_are_simulated_once_and_not_written(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(
        "isthmus.cli.viewing.view_files", lambda *given: shown.append(given[1]) or 0
    )
    words = ["library:cube", "--contact", "penalty", "--seconds", "0.01"]
    assert main(["simulate", *words, "--out", str(tmp_path / "m.npz"), "--view"]) == 0
    assert {"contact/point", "contact/normal_force"} <= {*shown[0].signals}
    assert not any("contact/" in name for name in np.load(tmp_path / "m.npz"))


def test_a_motion_larger_than_the_memory_is_refused(capsys, monkeypatch):
    monkeypatch.setattr(simulate.os, "sysconf", lambda name: 4096)
    assert main([*SHORT[:2], "--seconds", "1000"]) == 2
    assert "GiB of memory" in one_sentence(capsys)


def test_ground_and_repair_reach_the_reader(tmp_path, monkeypatch):
    heard = {}

    def load(path: str, base: str, **options: object) -> ist.Model:
        heard.update(options, base=base)
        return PENDULUM

    monkeypatch.setattr(ist, "load", load)
    (tmp_path / "arm.urdf").write_text("<robot/>", encoding="utf-8")
    options = {"base": "free", "repair": "nearest", "ground": 0.5, "packages": ("ws",)}
    given = {(): None, ("*_foot",): "*_foot"} | {
        ("shapes=*_foot,friction=0.5", "kind=penalty,shapes=trunk"): (
            ist.Contact(shapes="*_foot", friction=0.5), ist.Contact("penalty", "trunk"),
        ),
    }  # fmt: skip
    for texts, contact in given.items():
        simulate.load_model(str(tmp_path / "arm.urdf"), **options, contact=texts)
        assert heard == {**options, "contact": contact, "pairs": ()}


def test_out_and_plot_may_be_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*SHORT, "--out", "new/", "--plot", "."]) == 0
    assert (tmp_path / "new" / "motion.npz").exists()
    assert (tmp_path / "motion.png").exists()


def test_the_base_may_be_named_by_its_link(tmp_path):
    text = (
        "<robot name='box'><link name='trunk'><inertial><mass value='1'/>"
        "<inertia ixx='1' iyy='1' izz='1'/></inertial></link></robot>"
    )
    (tmp_path / "box.urdf").write_text(text, encoding="utf-8")
    model = simulate.load_model(str(tmp_path / "box.urdf"), "free")
    by_link = simulate._start(model, "trunk.z=0.4", "trunk.vx=1")
    by_joint = simulate._start(model, "root_joint.z=0.4", "root_joint.vx=1")
    np.testing.assert_array_equal(by_link.q, by_joint.q)
    np.testing.assert_array_equal(by_link.v, by_joint.v)
    assert by_link.q[2] == 0.4
    with pytest.raises(UnknownName, match=r"'root_joint' has several numbers: 'root_joint\.x'"):
        simulate._start(model, "root_joint=1", "")
