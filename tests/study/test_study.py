"""Study files: what they say, and every fault of one at once."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

import isthmus as ist
from isthmus.describe import checks
from isthmus.errors import BadStudy, MissingFile
from isthmus.study.build import Trials, divided, load_robot
from tests.fuzz.examples import motion
from tests.study.logs import write_logs

WHOLE = """
robot = "library:pendulum"
logs = ["logs/*.csv"]
heldout = 1
seed = 3

[read]
outliers = "keep"

[[free]]
name = "link/*/mass"
low = 0.2
high = [3.0, 4.0]
prior = [1.0, 0.5]

[[free]]
name = "network/*"

[[wire]]
target = "joint/passive_torque"
reads = ["joint/velocity"]
net = { kind = "MLP", width = 4, depth = 1 }

[loss]
kind = "multiple_shooting"
steps = 30
signals = ["joint/position", "joint/velocity"]
noise = { "joint/position" = 0.001, "joint/velocity" = 0.01 }
huber = 3.0
weight_penalty = "cross"
keep_networks = true

[time]
substeps = 2

[search]
kind = "lengthening_horizon"
inner = { kind = "lbfgs", steps = 20 }
shares = [0.5, 1.0]

[output]
folder = "results"
formats = ["urdf", "model"]
"""


def test_a_study_says_what_its_file_says(tmp_path):
    (tmp_path / "study.toml").write_text(WHOLE, encoding="utf-8")
    study = ist.Study.load(tmp_path / "study.toml")
    assert study.search == ist.LengtheningHorizon(ist.LBFGS(steps=20), (0.5, 1.0))
    assert study.loss == ist.MultipleShooting(30)
    assert [free.name for free in study.free] == ["link/*/mass", "network/*"]
    assert study.free[0].prior == (1.0, 0.5)
    assert study.folder == tmp_path / "results"
    assert study.text == WHOLE


def test_a_search_may_stand_inside_another_by_name_or_as_a_table():
    data = tomllib.loads(WHOLE)
    table = {"kind": "basin_hopping", "local": "adam", "islands": 4, "seconds": 60}
    found = ist.Study.from_table(data | {"search": table}).search
    assert found == ist.BasinHopping(ist.Adam(), islands=4, seconds=60.0)
    table["local"] = {"kind": "lbfgs", "stps": 3}
    with pytest.raises(
        BadStudy, match=r"\[search\], local \(lbfgs\) does not know 'stps'. Did you mean 'steps'"
    ):
        ist.Study.from_table(data | {"search": table})
    with pytest.raises(BadStudy, match="does not know 'store'"):
        ist.Study.from_table(data | {"search": {"kind": "basin_hopping", "store": "x"}})


def test_paths_start_at_the_folder_of_the_file(tmp_path):
    write_logs(tmp_path / "deep" / "logs", 3)
    (tmp_path / "deep" / "study.toml").write_text(WHOLE, encoding="utf-8")
    problem = ist.Study.load(tmp_path / "deep" / "study.toml").problem()
    assert (len(problem.logs), len(problem.heldout_logs)) == (2, 1)
    assert problem.scheme.substeps == 2
    assert len(problem.template.networks) == 1
    assert (problem.weight_penalty, problem.keep_networks) == ("cross", True)


def test_ground_and_contact_of_a_study_are_those_of_the_robot(tmp_path):
    t = 1e-2 * np.arange(30)
    q, v = np.tile([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], (30, 1)), np.zeros((30, 6))
    q[:, 2] -= 0.5 * 9.81 * t**2
    v[:, 2] -= 9.81 * t
    motion = ist.Motion(t, q, v, {})
    motion.matched(ist.library.cube()).save(tmp_path / "toss.csv")
    table = tomllib.loads("""
robot = "library:cube"
logs = "toss.csv"
ground = { height = -0.5, tilt = [0.0, 0.1] }
free = [{ name = "contact/*/friction", shared = true }]
read = { constant = "keep" }
[[contact]]
friction = 0.3
restitution = 0.2
[impulses]
order = "plain"
sweeps = 12
""")
    model = ist.Study.from_table(table, here=tmp_path).problem().template
    np.testing.assert_array_equal(model.contact_friction, np.full(8, 0.3))
    np.testing.assert_array_equal(model.contact_restitution, np.full(8, 0.2))
    np.testing.assert_array_equal(model.get("shape/ground/origin"), [0.0, 0.0, -0.5])
    assert (model.contact_order, model.contact_sweeps, model.contact_newton) == ("plain", 12, 4)


def test_faults_of_ground_and_contact_are_said_at_once():
    table = {
        "robot": "library:cube", "logs": "x.csv", "free": [{"name": "gravity"}], "ground": {"hight": 1.0},
        "contact": [{"kind": "glue"}, {"friction": "much", "frictoin": 1.0}], "impulses": {"order": "late"},
        "pair": [{"first": "a", "frictoin": 1.0}, {"first": "a", "second": "b", "points": 3}],
    }  # fmt: skip
    with pytest.raises(BadStudy) as caught:
        ist.Study.from_table(table)
    said = "\n".join(caught.value.faults)
    for words in (
        "[ground] does not know 'hight'. Did you mean 'height'?", "contact 1: kind must be one of 'impulse', 'penalty'",
        "contact 2: friction must be a number", "contact 2 does not know 'frictoin'", "[impulses]: order must be",
        "pair 1 does not know 'frictoin'", "pair 1 has no second; name two shapes", "points must be 1, 2, 4 or 8",
    ):  # fmt: skip
        assert words in said


@pytest.mark.filterwarnings("ignore::isthmus.errors.DescriptionWarning")
def test_the_robot_is_read_and_checked_once_and_names_are_looked_up_once(tmp_path, monkeypatch):
    write_logs(tmp_path / "logs", 1)
    ist.export_urdf(ist.library.pendulum(), tmp_path / "robot.urdf")
    read, checked, read_bytes, rules = [], [], Path.read_bytes, checks.faults_of
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or read_bytes(path))
    monkeypatch.setattr(checks, "faults_of", lambda found: checked.append(found) or rules(found))
    monkeypatch.setattr("isthmus.study.study.try_names", None)
    table = {"robot": "robot.urdf", "logs": "logs/", "free": [{"name": "link/*/mass"}]}
    problem = ist.Study.from_table(table, here=tmp_path).problem()
    assert problem.parameters.size == 2
    assert [path.name for path in read].count("robot.urdf") == 1
    assert len(checked) == 1


def test_every_fault_of_a_study_is_said_at_once_with_the_nearest_name():
    data = tomllib.loads("""
robt = "arm.urdf"
logs = 3
heldout = 1.5
[[free]]
nme = "link/*/mass"
[[free]]
name = "gravity"
low = "a"
[loss]
kind = "windws"
noise = "loud"
weight_penalty = "auto"
[search]
kind = "levenberg_marquard"
[output]
formats = ["pdf"]
[time]
integrator = "euler"
[[wire]]
target = "joint/torque"
""")
    with pytest.raises(BadStudy) as caught:
        ist.Study.from_table(data)
    said = "\n".join(caught.value.faults)
    for words in [
        "does not know 'robt'. Did you mean 'robot'?",
        "logs must be text in quotes, or a list of texts, not 3",
        "a study needs robot",
        "free 1 does not know 'nme'. Did you mean 'name'?",
        "free 1 has no name",
        "free 2: low must be a number or a list of numbers, not 'a'",
        "heldout must be",
        "[loss]: there is no kind 'windws'. Did you mean 'windows'?",
        "[loss]: noise must be",
        "[loss]: weight_penalty must be a number or one of 'cross', not 'auto'",
        "[search]: there is no kind 'levenberg_marquard'. Did you mean 'levenberg_marquardt'?",
        "[output]: formats has 'pdf'",
        "[time]: integrator must be one of",
        "wire 1 has no net",
        "the wires have weights, but none is free",
    ]:
        assert words in said, f"{words}\n---\n{said}"


def test_what_robot_and_logs_do_not_have_is_said_at_once(tmp_path):
    write_logs(tmp_path / "logs", 1)
    free = [
        {"name": "link/*/mas"},
        {"name": "joint/elbow/damping"},
        {"name": "link/rod_1/mass", "low": 2.0},
    ]
    data = {
        "robot": "library:pendulum", "logs": ["logs/run_0.csv", "logs/run_7.csv"], "free": free,
        "loss": {"signals": ["joint/positon"], "noise": {"joint/velocity": 1.0}},
    }  # fmt: skip
    with pytest.raises(BadStudy) as caught:
        ist.Study.from_table(data, here=tmp_path).problem()
    said = "\n".join(caught.value.faults)
    for words in [
        "run_7.csv",
        "joint/positon",
        "link/*/mas",
        "elbow",
        "outside its bounds",
        "not compared",
    ]:
        assert words in said, f"{words}\n---\n{said}"


def test_a_share_of_every_log_may_be_held_out(tmp_path):
    write_logs(tmp_path / "logs", 2)
    data = {
        "robot": "library:pendulum",
        "logs": "logs",
        "heldout": 0.25,
        "free": [{"name": "link/*/mass"}],
    }
    problem = ist.Study.from_table(data, here=tmp_path).problem()
    assert [len(log) for log in problem.logs] == [46, 46]
    assert [len(log) for log in problem.heldout_logs] == [15, 15]


def test_a_log_that_is_held_out_by_name_is_not_fitted(tmp_path):
    write_logs(tmp_path / "logs", 3)
    data = {
        "robot": "library:pendulum", "logs": ["logs/*.csv"], "heldout": ["logs/run_1.csv"],
        "free": [{"name": "link/*/mass"}],
    }  # fmt: skip
    problem = ist.Study.from_table(data, here=tmp_path).problem()
    assert (len(problem.logs), len(problem.heldout_logs)) == (2, 1)


@pytest.mark.parametrize(("text", "words"), [("robot = ", "no TOML"), ("\x00\xff", "no TOML")])
def test_what_is_no_toml_is_refused(text, words, tmp_path):
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    with pytest.raises(BadStudy, match=words):
        ist.Study.load(tmp_path / "study.toml")


def test_a_missing_study_is_named_with_its_neighbour(tmp_path):
    (tmp_path / "study.toml").write_text("", encoding="utf-8")
    with pytest.raises(MissingFile, match=r"study\.toml"):
        ist.Study.load(tmp_path / "stdy.toml")


def test_a_study_made_of_a_table_is_written_as_the_same_study():
    data = tomllib.loads(WHOLE)
    study = ist.Study.from_table(data)
    again = tomllib.loads(study.text)
    assert again == data


def test_columns_may_be_left_out_and_units_be_pairs():
    data = tomllib.loads(WHOLE) | {"read": {"columns": {"junk": ""}, "units": {"q": ["deg", "mm"]}}}
    assert ist.Study.from_table(data).reading == {
        "columns": {"junk": None},
        "units": {"q": ("deg", "mm")},
    }


def test_a_robot_and_a_report_are_written_unless_something_else_is_asked_for():
    table = {"robot": "library:pendulum", "logs": ["a.csv"], "free": [{"name": "link/*/mass"}]}
    assert ist.Study.from_table(table).formats is None
    assert ist.Study.from_table(table | {"output": {"formats": "mjcf"}}).formats == ("mjcf",)


def test_a_count_or_a_time_that_makes_no_search_is_named_with_its_value():
    table = {"robot": "library:pendulum", "logs": ["a.csv"], "free": [{"name": "link/*/mass"}]}
    for key, value, words in (("islands", 0, "islands must be 1 or more, not 0"),
                              ("seconds", -5, "seconds must be above zero, not -5"),
                              ("step", 0, "step must be above zero, not 0")):  # fmt: skip
        with pytest.raises(BadStudy, match=words):
            ist.Study.from_table(table | {"search": {"kind": "basin_hopping", key: value}})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"search": {"kind": ["x"]}}, "kind must be text"),
        ({"search": {"kind": "basin_hopping", "islands": 10**9}}, "islands must be at most 100000"),
        ({"loss": {"signals": 3}}, "signals must be text"),
        ({"time": {"dt": float("nan")}}, "dt must be a positive number, not nan"),
        ({"time": {"substeps": 10**9}}, "substeps must be a whole number from 1 to 1000"),
        ({"read": {"units": {"t": {}}}}, "a unit is a text"),
        ({"a" * 10_000: 1}, "a study does not know 'a"),
    ],
)
def test_a_value_of_another_kind_is_refused_in_one_short_sentence(change, words):
    table = {"robot": "library:pendulum", "logs": ["a.csv"], "free": [{"name": "link/*/mass"}]}
    with pytest.raises(BadStudy, match=words) as caught:
        ist.Study.from_table(table | change)
    assert len(caught.value.faults) == 1
    assert len(str(caught.value)) < 500


def test_a_share_that_leaves_no_row_to_fit_is_refused():
    tried = Trials()
    assert divided([motion().noted(name="run.csv")], 0.999, tried)[1] == []
    assert tried.faults == ["heldout = 0.999 cannot divide 'run.csv', which has 60 rows."]


def test_the_old_name_of_load_works_and_says_so(tmp_path):
    with (
        pytest.warns(DeprecationWarning, match=r"Study\.read is now Study\.load"),
        pytest.raises(MissingFile),
    ):
        ist.Study.read(tmp_path / "stdy.toml")


def test_meshes_are_found_in_the_packages_of_a_study_and_missing_ones_are_said_once(tmp_path):
    mesh = "<collision><geometry><mesh filename='package://bot/a.obj'/></geometry></collision>"
    body = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
    text = f"<robot name='r'><link name='a'>{body}{mesh}{mesh}</link></robot>"
    (tmp_path / "r.urdf").write_text(text, encoding="utf-8")
    with pytest.warns(UserWarning, match="--packages") as caught:
        load_robot(tmp_path, "r.urdf")
    assert len(caught) == 1
    (tmp_path / "ws" / "bot").mkdir(parents=True)
    (tmp_path / "ws" / "bot" / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n", encoding="utf-8")
    assert len(load_robot(tmp_path, "r.urdf", packages=("ws",)).shape_names) == 2
