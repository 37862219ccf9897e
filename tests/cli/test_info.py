"""`isthmus info`: the tree and the signals, as text and as JSON; files that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import isthmus as ist
from isthmus.cli import models
from isthmus.cli.main import main
from isthmus.networks.names import shape_of, signals_of
from tests.cli.test_main import one_sentence

ARM = """<robot name="arm"><link name="world"/>
<link name="upper"><inertial><mass value="{mass}"/>
<inertia ixx="{moment}" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="continuous"><parent link="world"/><child link="{child}"/><axis xyz="0 1 0"/></joint>
</robot>"""


def write_arm(folder: Path, *, mass: str = "1", moment: str = "1", child: str = "upper") -> str:
    path = folder / "arm.urdf"
    path.write_text(ARM.format(mass=mass, moment=moment, child=child), encoding="utf-8")
    return str(path)


@pytest.mark.smoke
def test_info_shows_the_tree_and_every_signal_within_80_columns(capsys):
    assert main(["info", "library:quadruped"]) == 0
    shown = capsys.readouterr().out
    model = ist.library.quadruped()
    assert shown.startswith(str(model))
    assert "\x1b" not in shown  # no colours in a pipe
    assert max(map(len, shown.splitlines())) <= 80
    listed = shown.split("meaning")[1]
    rows = [line.split()[0] for line in listed.splitlines() if line[:1].strip()]
    assert rows == [spec.name for spec in signals_of(model)]


def test_json_holds_all_of_it(capsys):
    assert main(["info", "library:quadruped", "--json"]) == 0
    data = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    model = ist.library.quadruped()
    assert (data["name"], data["dof"], data["coordinates"]) == (model.name, 18, 19)
    assert data["mass"] == pytest.approx(model.link_mass.sum())
    assert [link["name"] for link in data["links"]] == list(model.link_names)
    assert [joint["name"] for joint in data["joints"]] == list(model.joint_names)
    assert data["joints"][0] == {
        "name": "trunk", "kind": "free", "parent": None, "link": "trunk", "q": [0, 7], "v": [0, 6],
        "mimics": None, "prescribed": False,
    }  # fmt: skip
    assert [point["name"] for point in data["points"]] == list(model.point_names)
    for signal, spec in zip(data["signals"], signals_of(model), strict=True):
        assert signal["name"] == spec.name
        assert signal["shape"] == list(shape_of(model, spec))
        assert (signal["unit"], signal["meaning"]) == (spec.unit, spec.meaning)


def test_contacts_that_are_asked_for_are_listed(capsys):
    feet = ["--ground", "0", "--contact", "shapes=*_foot,friction=0.7"]
    words = ["info", "library:quadruped", *feet, "--pair", "FR_thigh+FL_thigh"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "contact RL_foot on ground: 1 point, impulse" in shown
    assert "pair FR_thigh_box_0 and FL_thigh_box_0: 4 points, impulse" in shown
    assert main([*words, "--json"]) == 0
    *feet, thighs = json.loads(capsys.readouterr().out)["contacts"]
    assert [foot["shape"] for foot in feet] == ["FR_foot", "FL_foot", "RR_foot", "RL_foot"]
    assert (thighs["shape"], thighs["touches"]) == ("FR_thigh_box_0", ["FL_thigh_box_0"])
    assert (feet[0]["touches"], thighs["points"]) == (["ground"], 4)


@pytest.fixture
def saved(key, tmp_path) -> str:
    """A file with a pendulum that has two networks."""
    friction = ist.Wire("joint/passive_torque", "joint/velocity", ist.Dissipative(ist.MLP(8, 1)))
    mass = ist.Wire("link/rod_1/mass", (), ist.Constant(), mode="scale", name="payload")
    hybrid = ist.Blueprint([friction, mass]).attach(ist.library.pendulum(2), key=key)
    ist.save(hybrid, tmp_path / "hybrid.safetensors")
    return str(tmp_path / "hybrid.safetensors")


def test_a_saved_model_is_shown_with_its_networks(saved, capsys):
    assert main(["info", saved]) == 0
    shown = capsys.readouterr().out.splitlines()
    line = "network passive_torque: joint/velocity → joint/passive_torque  (Dissipative MLP, 42 weights, add)"
    assert line in shown
    assert "network payload:  → link/rod_1/mass  (Constant, 1 weight, scale)" in shown
    assert str(ist.load(saved)).splitlines() == shown[: shown.index("")]
    assert main(["info", saved, "--json"]) == 0
    friction, payload = json.loads(capsys.readouterr().out)["networks"]
    assert (friction["name"], friction["kind"]) == ("passive_torque", "Dissipative MLP")
    assert (friction["reads"], friction["target"]) == (["joint/velocity"], "joint/passive_torque")
    assert (payload["weights"], payload["mode"]) == (1, "scale")


def test_every_command_takes_a_saved_model_or_refuses_it_in_one_sentence(saved, tmp_path, capsys):
    assert main(["simulate", saved, "--seconds", "0.01"]) == 0
    assert (
        "change +0 J" in capsys.readouterr().out
    )  # not a drift: a network may give or take energy
    half = tmp_path / "half.safetensors"
    half.write_bytes(Path(saved).read_bytes()[:-9])
    for command in ("info", "simulate", "check"):
        assert main([command, str(half)]) == 2
        assert "not written to its end" in one_sentence(capsys)
        assert main([command, saved, "--base", "free"]) == 2
        assert "stays as it is" in one_sentence(capsys)


@pytest.mark.parametrize("name", ["arm", "cart_pole", "cube", "pendulum", "pusher", "swimmer"])
def test_every_model_of_the_library_has_valid_json(name, capsys):
    assert main(["info", f"library:{name}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["name"].startswith(name)


def test_a_file_is_shown_with_the_base_that_is_asked_for(tmp_path, capsys):
    path = write_arm(tmp_path)
    degrees = {}
    for base in ("fixed", "free"):
        main(["info", path, "--json", "--base", base])
        degrees[base] = json.loads(capsys.readouterr().out)["dof"]
    assert degrees == {"fixed": 1, "free": 7}


def test_warnings_of_the_reader_are_one_line_each_on_stderr(tmp_path, capsys):
    assert main(["info", write_arm(tmp_path, moment="9"), "--json"]) == 0
    said = capsys.readouterr()
    json.loads(said.out)
    lines = said.err.splitlines()
    assert lines
    assert all(line.startswith("isthmus: warning: ") for line in lines)
    assert "triangle inequality" in said.err
    assert ".py" not in said.err
    assert main(["info", write_arm(tmp_path, moment="9"), "--repair", "nearest"]) == 0
    assert "nearest possible ones were taken" in capsys.readouterr().err


def test_names_are_shown_as_they_are(tmp_path, capsys):
    text = ARM.format(mass="1", moment="1", child="upper").replace("elbow", "[red]el:smile:bow[/]")
    (tmp_path / "odd.urdf").write_text(text, encoding="utf-8")
    assert main(["info", str(tmp_path / "odd.urdf")]) == 0
    assert "([red]el:smile:bow[/]: revolute" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b"\x00\x01\xff" * 100, "binary"),
        (b"hello", "not XML"),
        (b"<robot name='a'><link", "broken XML"),
        (ARM.format(mass="nan", moment="1", child="upper").encode(), "must be a finite number"),
        (ARM.format(mass="-1", moment="1", child="foot").encode(), "faults: (1) "),
    ],
)
def test_a_wrong_file_ends_in_one_sentence(content, what, tmp_path, capsys):
    path = tmp_path / "broken.urdf"
    path.write_bytes(content)
    for command in ("info", "simulate", "check"):
        assert main([command, str(path)]) == 2
        assert what in one_sentence(capsys)


def test_a_file_that_cannot_be_is_refused_in_one_sentence(tmp_path, capsys, monkeypatch):
    write_arm(tmp_path)
    monkeypatch.setattr(models, "LARGEST", 100)
    for path, what in (
        (tmp_path / "amr.urdf", "Did you mean 'arm.urdf'?"),
        (tmp_path / "no" / "arm.urdf", "There is no folder"),
        (tmp_path, "is a folder"),
        (tmp_path / "arm.urdf", "MiB; a description has at most"),
        ("/dev/null", "is a device or a pipe"),
        ("", "FILE is empty"),
        ("a\0b", "cannot be read"),
        ("x" * 5000, "cannot be read"),
        ("library:pendul", "Did you mean 'pendulum'?"),
        ("library:find", "the library has no model 'find'"),
    ):
        assert main(["info", str(path)]) == 2
        assert what in one_sentence(capsys)


def test_a_model_of_the_library_has_its_own_base(capsys):
    assert main(["info", "library:pendulum", "--base", "free"]) == 2
    assert "are for files" in one_sentence(capsys)


def test_many_faults_are_one_sentence_that_ends(tmp_path, capsys):
    joints = "".join(f"<joint name='j{k}' type='wobbly'/>" for k in range(100))
    path = tmp_path / "many.urdf"
    path.write_text(f"<robot name='a'><link name='l'/>{joints}</robot>", encoding="utf-8")
    assert main(["info", str(path)]) == 2
    said = one_sentence(capsys)
    assert "more. [IST101]" in said
    assert len(said) < 5000
