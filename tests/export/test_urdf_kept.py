"""A model that came from a URDF keeps the file: only numbers that differ are written, all else byte for byte."""

from __future__ import annotations

import copy
import dataclasses
import difflib
import pickle
import re
import warnings
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import DescriptionWarning, ExportWarning
from isthmus.export.description import STOPS
from isthmus.identify.parameters.parameters import parameters
from isthmus.model.source import SourceFile
from isthmus.native.runtime.known import value
from tests.export.round_trip import differences, loaded

TEXT = """<?xml version="1.0" encoding="utf-8"?>
<!-- a comment before the robot: <link name="no link"/> -->
<robot  name='arm "7"' xmlns:gz="http://gazebosim.org">
  <material name="grün"><color rgba="0.1 0.20 0.3 1"/></material>
\t<link name="base"/>
  <link name="upper">
    <inertial>
      <origin rpy="0 0.3 0" xyz="0.10  0 -0.250"/>   <mass value="1.50"/>
      <inertia ixx="0.02" iyy="0.03" izz="1e-2" ixy="0" ixz="0.0" iyz="0"/>
    </inertial>
    <visual><geometry><mesh filename="package://arm/upper.dae"/></geometry></visual>
    <collision name="bone"><origin xyz="0 0 -0.2"/>
      <geometry><cylinder length="0.40" radius='0.05'/></geometry></collision>
    <collision><geometry><mesh filename="package://arm/upper.stl" scale="1 1 1"/></geometry></collision>
  </link>
  <link name="lower"><inertial><mass value="0.8"/><inertia ixx=".01" iyy=".01" izz=".002"/></inertial></link>
  <link name="finger"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4"/></inertial></link>
  <link name="flange"/><link name="tool"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/>
    <origin xyz="0 0 1.0" rpy="0.1 0 0"/>
    <axis xyz="0 2 0"/>
    <limit lower="-1.570" upper="1.570" effort="10." velocity="3"/>
    <dynamics damping="0.10" friction="0.0"/>
    <safety_controller k_velocity="10"/>
  </joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 -.5"/><axis xyz="0 1 0"/></joint>
  <joint name="grip" type="prismatic"><parent link="lower"/><child link="finger"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.1" effort="0" velocity="1"/><dynamics damping="2"/>
    <mimic joint="elbow" multiplier="0.1"/></joint>
  <joint name="weld" type="fixed"><parent link="lower"/><child link="flange"/><origin xyz="0 0 -0.3"/></joint>
  <joint name="weld2" type="fixed"><parent link="flange"/><child link="tool"/><origin xyz="0 0 -0.1"/></joint>
  <transmission name="t"><joint name="shoulder"/></transmission>
  <gazebo reference="upper"><mu1>0.2</mu1></gazebo>
</robot>
<!-- and after it -->
"""


@pytest.fixture
def robot(tmp_path: Path) -> ist.Model:
    return read(TEXT.encode(), tmp_path)


def read(data: bytes, folder: Path) -> ist.Model:
    (folder / "arm.urdf").write_bytes(data)
    return loaded(folder / "arm.urdf")


def with_source(model: ist.Model, source: SourceFile) -> ist.Model:
    return dataclasses.replace(model, source=source)


def written(model: ist.Model, folder: Path) -> str:
    ist.export_urdf(model, folder / "out.urdf")
    return (folder / "out.urdf").read_bytes().decode()


def changes(model: ist.Model, folder: Path, text: str = TEXT) -> list[str]:
    """What a diff shows, change by change, `1.50 -> 2`, once it is sure that the numbers come back.

    Stops that the file leaves to its reader are chosen anew, from the masses that it has now.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExportWarning)
        new = written(model, folder)
    stops = {f"joint/{name}" for name in STOPS}
    assert differences(model, loaded(folder / "out.urdf")) - stops == set()
    split = lambda s: re.split(r"([\s\"'=<>/])", s)
    a, b = split(text), split(new)
    steps = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [f"{''.join(a[i:j])} -> {''.join(b[k:m])}" for op, i, j, k, m in steps if op != "equal"]


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("utf-8", "iso-8859-1").encode("latin-1"),
        b"\xff\xfe" + TEXT.replace("utf-8", "utf-16").encode("utf-16-le"),
        TEXT.replace(" name='arm \"7\"'", "").encode(),
    ],
    ids=["utf-8", "mark", "dos", "latin", "utf-16", "nameless"],
)
def test_an_unchanged_model_gives_its_file_back_byte_for_byte(data, tmp_path):
    ist.export_urdf(read(data, tmp_path), tmp_path / "out.urdf")
    assert (tmp_path / "out.urdf").read_bytes() == data


def test_a_number_that_is_set_is_all_that_a_diff_shows(robot, tmp_path):
    assert changes(robot.set("link/upper/mass", 2.0), tmp_path) == ["1.50 -> 2"]
    assert changes(robot.set("joint/shoulder/damping", 0.25), tmp_path) == ["0.10 -> 0.25"]
    com = robot.set("link/upper/com", [0.1, 0.0, -0.3])
    assert changes(com, tmp_path) == ["-0.250 -> -0.3"]
    assert changes(robot.set("joint/elbow/origin", [0.0, 0.1, -0.5]), tmp_path) == ["0 -> 0.1"]
    assert changes(robot.set("joint/shoulder/upper", 1.0), tmp_path) == ["1.570 -> 1"]
    assert changes(robot.set("joint/shoulder/effort", 20.0), tmp_path) == ["10. -> 20"]
    assert changes(robot.set("shape/bone/size", [0.05, 0.3, 0.0]), tmp_path) == ["0.40 -> 0.6"]
    assert changes(robot.set("mimic/grip/multiplier", 0.1), tmp_path) == []


def test_a_number_that_the_file_lacks_is_added(robot, tmp_path):
    stiff = robot.set("joint/elbow/damping", 0.5)  # the follower's share is in it
    added, taken = changes(stiff, tmp_path)
    assert '<dynamics damping="0.5"/>' in added
    assert taken == "2 -> 0"
    sticky = robot.set("joint/shoulder/stiction", 0.5)
    assert changes(sticky, tmp_path) == [' ->  stiction="0.5"']
    bounded = robot.set("joint/elbow/upper", 1.0)
    assert "continuous -> revolute" in changes(bounded, tmp_path)


def test_all_other_numbers_come_back_too(robot, tmp_path):
    turned = robot.set("link/upper/inertia", [0.05, 0.06, 0.07, 0.001, 0.0, 0.0])
    turned = turned.set("joint/shoulder/orientation", [0.9, 0.1, 0.2, 0.3])
    turned = turned.set("joint/shoulder/axis", [0.0, 0.6, 0.8]).set("joint/elbow/armature", 0.1)
    turned = turned.set("mimic/grip/multiplier", 0.2).set("joint/shoulder/stiffness", 3.0)
    turned = turned.set("joint/rest_position", [0.2, 0.0]).set("shape/bone/origin", [0.1, 0.0, 0.0])
    turned = turned.set("joint/shoulder/limit_stiffness", 55.0)
    turned = turned.set("point/flange/origin", [0.0, 0.1, -0.3])
    changes(turned, tmp_path)
    text = (tmp_path / "out.urdf").read_text(encoding="utf-8")
    assert 'limit_stiffness="55"' in text
    for part in ("<!-- and after it -->", "package://arm/upper.dae", "<transmission", "<gazebo"):
        assert part in text


def test_links_and_joints_that_were_added_or_removed_are_told(tmp_path, robot):
    bare = re.sub(r'  <link name="finger">.*\n', "", TEXT)
    bare = re.sub(r'  <joint name="grip".*\n.*\n.*\n', "", bare)
    small = read(bare.encode(), tmp_path)
    grown = with_source(robot, small.source)
    with pytest.warns(ExportWarning, match="differs.*added link 'finger'; added joint 'grip'"):
        ist.export_urdf(grown, tmp_path / "grown.urdf")
    assert differences(grown, loaded(tmp_path / "grown.urdf")) == set()
    with pytest.warns(ExportWarning, match="removed link 'finger'; removed joint 'grip'"):
        ist.export_urdf(with_source(small, robot.source), tmp_path / "small.urdf")
    assert differences(small, loaded(tmp_path / "small.urdf")) == set()


def test_a_file_whose_elements_stand_in_entities_is_written_anew(tmp_path):
    inside = '<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    text = f"<!DOCTYPE robot [<!ENTITY a '{inside}'>]>\n<robot name='r'>&a;</robot>"
    model = read(text.encode(), tmp_path)
    with pytest.warns(ExportWarning, match="was not kept, since its elements stand in entities"):
        ist.export_urdf(model, tmp_path / "out.urdf")
    assert differences(model, loaded(tmp_path / "out.urdf")) == set()


def test_the_text_travels_with_the_model(robot, tmp_path):
    ist.save(robot, tmp_path / "arm.safetensors")
    with jax.enable_x64(True):
        jitted = jax.jit(lambda m: m.set("link/upper/mass", 3.0))(robot)
    stacked = jax.tree.map(lambda a, b: np.stack([a, b]), robot, robot.set("gravity", 0.0))
    others = {
        "saved": ist.load(tmp_path / "arm.safetensors"), "copied": copy.deepcopy(robot),
        "pickled": pickle.loads(pickle.dumps(robot)), "jitted": jitted,
        "replaced": eqx.tree_at(lambda m: m.gravity, robot, np.zeros(3)),
        "one of many": jax.tree.map(lambda x: x[0], stacked),
    }  # fmt: skip
    for way, model in others.items():
        assert model.source.text == TEXT.encode(), way
        assert model.source.format == "urdf", way
    assert written(others["saved"], tmp_path) == TEXT


def test_the_text_is_no_part_of_what_is_traced_compared_or_kept(robot):
    bare = with_source(robot, SourceFile())
    traced = []
    run = jax.jit(lambda m: traced.append(1) or m.link_mass.sum())
    run(robot)
    run(bare)
    assert len(traced) == 1
    assert jax.tree.structure(robot) == jax.tree.structure(bare)
    assert repr(jax.tree.structure(robot)) == repr(jax.tree.structure(bare))
    assert value(robot.source) == value(bare.source)
    assert bool(eqx.tree_equal(robot, bare))


def test_a_repaired_inertia_is_written(tmp_path):
    text = TEXT.replace('ixx="0.02"', 'ixx="0.2"')
    (tmp_path / "bad.urdf").write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        mended = ist.load(tmp_path / "bad.urdf", repair="nearest")
    assert changes(mended, tmp_path, text)


def test_a_floating_base_keeps_the_file(tmp_path, robot):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        flying = ist.load(tmp_path / "arm.urdf", base="free")
    assert written(flying, tmp_path) == TEXT


def test_a_fitted_model_keeps_the_file(robot, tmp_path):
    found = parameters(robot, None, [ist.Free("link/lower/mass")], lambda model: {})
    assert changes(found.model(found.start), tmp_path) == []
    assert [c.split(" ")[0] for c in changes(found.model(1.1 * found.start), tmp_path)] == ["0.8"]
