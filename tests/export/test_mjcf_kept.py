"""A model that came from an MJCF keeps the file as far as its numbers have a place there; else that is told."""

from __future__ import annotations

import difflib
import re
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import DescriptionWarning, ExportWarning
from isthmus.export.description import STOPS
from tests.export.round_trip import differences, loaded

TEXT = """<!-- a robot -->
<mujoco model="arm">
  <compiler meshdir="meshes"/>
  <default><joint damping="0.50"/></default>
  <asset><mesh name="skin" file="skin.stl"/><material name="red" rgba="1 0 0 1"/></asset>
  <option gravity="0 0 -9.810" timestep="0.002"/>
  <worldbody>
    <light pos="0 0 3"/>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" range="-90 90" armature=".01"/>
      <inertial pos="0 0 -0.20" mass="1.5" diaginertia="0.02 0.02 0.01" euler="0 0 30"/>
      <geom type="mesh" mesh="skin" contype="0" conaffinity="0" material="red"/>
      <body name="lower" pos="0 0 -0.5">
        <joint name="elbow" axis="0 1 0" pos="0 0 0.05"/>
        <geom name="bone" type="capsule" size="0.03 0.2" density="800"/>
        <site name="tip" pos="0 0 -0.2"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="m" joint="shoulder" gear="50"/><position joint="elbow" kp="30." kv="2"/></actuator>
  <sensor><jointpos joint="elbow"/></sensor>
</mujoco>
"""
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 0.1
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


@pytest.fixture
def robot(tmp_path: Path) -> ist.Model:
    (tmp_path / "meshes").mkdir()
    faces = [np.float32([[0, 0, 1], *CORNERS[list(f)]]).tobytes() + b"\0\0" for f in FACES]
    (tmp_path / "meshes/skin.stl").write_bytes(b"\0" * 80 + struct.pack("<I", 4) + b"".join(faces))
    (tmp_path / "arm.xml").write_text(TEXT, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        return ist.load(tmp_path / "arm.xml")


def changes(model: ist.Model, folder: Path) -> list[str]:
    """What a diff shows, change by change, once it is sure that the numbers come back."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ExportWarning)
        ist.export_mjcf(model, folder / "out.xml")
    assert not [w for w in caught if "not kept" in str(w.message)]
    stops = {f"joint/{name}" for name in STOPS}
    assert differences(model, loaded(folder / "out.xml"), 1e-9) - stops == set()
    new = (folder / "out.xml").read_text(encoding="utf-8")
    split = lambda s: re.split(r"([\s\"'=<>/])", s)
    a, b = split(TEXT), split(new)
    steps = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [f"{''.join(a[i:j])} -> {''.join(b[k:m])}" for op, i, j, k, m in steps if op != "equal"]


def test_an_unchanged_model_gives_its_file_back_byte_for_byte(robot, tmp_path):
    ist.export_mjcf(robot, tmp_path / "out.xml")
    assert (tmp_path / "out.xml").read_bytes() == TEXT.encode()


def test_a_number_that_is_set_is_all_that_a_diff_shows(robot, tmp_path):
    assert changes(robot.set("link/upper/mass", 2.0), tmp_path) == ["1.5 -> 2"]
    assert changes(robot.set("joint/shoulder/armature", 0.02), tmp_path) == [".01 -> 0.02"]
    assert changes(robot.set("gravity", [0.0, 0.0, -3.7]), tmp_path) == ["-9.810 -> -3.7"]
    assert changes(robot.set("joint/shoulder/gear", 60.0), tmp_path) == ["50 -> 60"]
    assert changes(robot.set("joint/elbow/kp", 40.0), tmp_path) == ["30. -> 40"]
    assert changes(robot.set("joint/shoulder/upper", np.radians(45.0)), tmp_path) == ["90 -> 45"]


def test_a_number_that_the_file_lacks_is_added(robot, tmp_path):
    assert changes(robot.set("joint/elbow/damping", 0.7), tmp_path) == [' ->  damping="0.7"']
    rubbing = robot.set("joint/elbow/stiction", 0.3).set("joint/shoulder/limit_stiffness", 9.0)
    (added,) = changes(rubbing, tmp_path)
    assert '<numeric name="stiction of elbow" data="0.3"/>' in added
    assert '<numeric name="limit_stiffness of shoulder" data="9"/>' in added
    turned = robot.set("link/upper/inertia", [0.03, 0.03, 0.01, 0.001, 0.0, 0.0])
    assert any("fullinertia" in change for change in changes(turned, tmp_path))
    (added,) = changes(robot.set("link/lower/mass", 1.0), tmp_path)  # it had that of its geom
    assert "<inertial" in added


def test_numbers_that_differ_within_a_joint_are_averaged_in_the_kept_file(tmp_path):
    """A fit of joint/*/damping has three of a ball; the whole file was written anew for them."""
    text = """<mujoco><worldbody><body name="bob"><joint name="ball" type="ball" damping="0.5"/>
    <inertial pos="0 0 -1" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>"""
    (tmp_path / "ball.xml").write_text(text, encoding="utf-8")
    robot = ist.load(tmp_path / "ball.xml").set("joint/ball/damping", [0.1, 0.2, 0.6])
    with pytest.warns(ExportWarning, match="mean was written.* within joint 'ball'") as caught:
        ist.export_mjcf(robot, tmp_path / "out.xml")
    assert "not kept" not in " ".join(str(w.message) for w in caught)
    assert (tmp_path / "out.xml").read_text() == text.replace('"0.5"', '"0.3"')


def test_what_has_no_place_in_the_file_is_told_and_a_new_file_written(robot, tmp_path):
    moved = robot.set("joint/elbow/origin", [0.0, 0.1, -0.4])
    with pytest.warns(ExportWarning, match="was not kept, since it would not give joint 'elbow'"):
        ist.export_mjcf(moved, tmp_path / "out.xml")
    assert not differences(moved, loaded(tmp_path / "out.xml"), 1e-9) & {"joint/origin"}


def test_a_saved_model_whose_meshes_are_gone_is_told(robot, tmp_path):
    ist.save(robot, tmp_path / "arm.safetensors")
    with pytest.warns(ExportWarning, match="was not kept, since it cannot be read again"):
        ist.export_mjcf(ist.load(tmp_path / "arm.safetensors"), tmp_path / "out.xml")
