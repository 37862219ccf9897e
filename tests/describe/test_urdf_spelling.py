"""What a URDF holds and nobody reads is told, with its line and what was probably meant."""

from __future__ import annotations

import warnings

import pytest

import isthmus as ist
from isthmus.describe.urdf import parse_urdf
from isthmus.errors import BadDescription, BadFile, DescriptionWarning
from isthmus.export.urdf import export_urdf
from tests.describe.urdf_texts import BODY, joint, link, pair, robot


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ("<dynamics dampng='1'/>", r"'dampng' in <dynamics> of joint 'j' \(line 4\), perhaps 'damping'"),
        ("<axis xyx='0 0 1'/>", r"'xyx' in <axis> of joint 'j' \(line 4\), perhaps 'xyz'"),
        ("<origin xzy='0 0 1'/>", r"'xzy' in <origin> of joint 'j' .*'xyz'"),
        ("<limit lowr='-1' upper='1'/>", r"'lowr' in <limit> of joint 'j' .*'lower'"),
        ("<dynamic damping='1'/>", r"<dynamic> of joint 'j' \(line 4\), perhaps <dynamics>"),
        ("<Axis xyz='0 0 1'/>", r"<Axis> of joint 'j' .*perhaps <axis>"),
        ("<axis xyz='0 0 1'/><axis xyz='0 1 0'/>", r"only the first .*<axis> of joint 'j' \(line 4\)"),
        ("<origin xyz='1 0 0'/><origin/>", r"only the first .*<origin> of joint 'j'"),
    ],
)  # fmt: skip
def test_a_misspelt_or_second_part_of_a_joint_is_told(inside, words):
    with pytest.warns(DescriptionWarning, match=words):
        pair(inside)


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (BODY + BODY, r"<inertial> of link 'b' \(line 3\)"),
        (BODY.replace("<inertia", "<mass value='2'/><inertia"), r"<mass> of link 'b' \(line 3\)"),
        (BODY + "<colision/>", r"<colision> of link 'b' .*<collision>"),
        (BODY.replace("value='1'", "value='1' unit='g'"), r"'unit' in <mass> of link 'b'"),
    ],
)
def test_a_misspelt_or_second_part_of_a_link_is_told(inside, words):
    with pytest.warns(DescriptionWarning, match=words):
        pair(child=inside)


def test_a_misspelt_joint_is_told():
    text = robot(link("a"), "<jonit name='j'/>")
    with pytest.warns(
        DescriptionWarning, match=r"<jonit> of the robot \(line 3\), perhaps <joint>"
    ):
        parse_urdf(text)


def test_elements_of_other_programs_pass(tmp_path):
    """Also all that we write ourselves."""
    others = "<gazebo reference='a'/><transmission/><ros2_control/><material name='red'/>"
    inside = "<calibration rising='0'/><safety_controller k_velocity='1'/><limit velocity='1' effort='0'/>"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*massless")
        parse_urdf(robot(link("a"), link("b"), joint("j", "a", "b", inside), others))
        export_urdf(ist.library.arm(), tmp_path / "q.urdf")
        ist.load(tmp_path / "q.urdf")


@pytest.mark.parametrize("field", ["damping", "friction", "stiffness", "armature"])
def test_what_resists_motion_is_not_negative(field):
    with pytest.raises(
        BadDescription, match=rf"{field} of joint 'j' is -0.1; it must not be negative \(line 4\)"
    ):
        pair(f"<dynamics {field}='-0.1'/>")


def test_an_undefined_entity_is_refused():
    """Without a DOCTYPE the parser says so; with one it would leave the value empty."""
    text = robot(link("a", BODY.replace("value='1'", "value='1&nothing;'")))
    with pytest.raises(BadFile, match="undefined entity"):
        parse_urdf(text)
    with pytest.raises(BadFile, match="undefined entity &nothing;"):
        parse_urdf("<!DOCTYPE robot SYSTEM 'robot.dtd'>" + text)
    defined = "<!DOCTYPE robot [<!ENTITY nothing ''>]>" + text
    assert parse_urdf(defined).links[0].mass == 1.0
