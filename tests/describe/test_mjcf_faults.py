"""What an MJCF is refused for, what is left out of it, and in which words."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import mujoco
import pytest

import isthmus as ist
from isthmus.describe import mjcf_actuators, mjcf_bodies, mjcf_left_out, mjcf_shapes
from isthmus.describe.mjcf import NO_GRAVITY, parse_mjcf, read_mjcf
from isthmus.errors import BadDescription, BadFile, BadOption, DescriptionWarning, MissingExtra

GEOM = "<geom name='g' size='0.1'/>"


def text(
    inside: str = "<joint name='j'/>", *, geom: str = GEOM, before: str = "", after: str = ""
) -> str:
    """A text with one body, `b`."""
    bodies = f"<worldbody><body name='b'>{inside}{geom}</body></worldbody>"
    return f"<mujoco>{before}{bodies}{after}</mujoco>"


def said(mjcf: str) -> str:
    """The one warning about a text."""
    with pytest.warns(DescriptionWarning) as caught:
        parse_mjcf(mjcf)
    assert len(caught) == 1
    return str(caught[0].message)


def actuator(element: str, joint: str = "<joint name='j'/>") -> str:
    return text(joint, after=f"<actuator>{element}</actuator>")


# refused


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ("", BadFile, "is empty"),
        ("hello", BadFile, "is not XML: it starts with 'hello'"),
        ("\0\1\2", BadFile, "is binary"),
        ("<mujoco><worldbody>", BadFile, "is broken XML: .* line 1"),
        ("<mujocoinclude/>", BadFile, "is a fragment that other files <include>"),
        ("<mujoco/>", BadFile, "describes no bodies"),
        (
            text("<jiont/>"),
            BadDescription,
            r"MuJoCo does not compile it: unrecognized .*'jiont', line",
        ),
        (
            text("<joint type='hing'/>"),
            BadDescription,
            "MuJoCo does not compile it: invalid keyword: 'hing'",
        ),
        (text(geom=""), BadDescription, "mass and inertia of moving bodies must be larger"),
        (text(before="<include file='nowhere.xml'/>"), BadDescription, "'nowhere.xml'"),
        (text(geom="<geom type='mesh' mesh='m'/>"), BadDescription, "mesh 'm' not found"),
    ],
)
def test_a_broken_file_ends_in_one_sentence(tmp_path: Path, content: str, error: type, words: str):
    file = tmp_path / "model.xml"
    file.write_text(content)
    for read in (read_mjcf, ist.load):
        with pytest.raises(error, match=words) as caught:
            read(file)
        assert str(file) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_missing_file_is_named_with_its_neighbour(tmp_path: Path):
    (tmp_path / "swimmer.xml").write_text(text())
    with pytest.raises(
        BadFile, match=r"there is no file .*swimer.xml.* Did you mean 'swimmer.xml'"
    ):
        ist.load(tmp_path / "swimer.xml")


def test_a_urdf_is_no_mjcf_and_text_is_no_path():
    with pytest.raises(BadFile, match="is no MJCF: its root is <robot>"):
        parse_mjcf("<robot name='r'/>")
    with pytest.raises(BadOption, match="`parse_mjcf"):
        read_mjcf(text())


def test_the_file_says_whether_its_base_is_free(tmp_path: Path):
    file = tmp_path / "model.xml"
    file.write_text(text())
    with pytest.raises(BadOption, match=r"base='free' .* nothing hangs by a free joint"):
        ist.load(file, base="free")
    with pytest.raises(BadOption, match="base is 'flying'"):
        read_mjcf(file, base="flying")
    file.write_text(text("<freejoint/>"))
    assert ist.load(file, base="free").joint_kinds == ("free",)
    assert ist.load(file).joint_kinds == ("free",)


def test_other_options_are_checked():
    with pytest.raises(BadOption, match="ground is nan"):
        parse_mjcf(text(), ground=float("nan"))
    with pytest.raises(BadOption, match=r"repair is 'neerest'.*Did you mean 'nearest'"):
        parse_mjcf(text(), repair="neerest")


def test_without_mujoco_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtra, match=r"mujoco-core: pip install 'isthmus\[mjcf\]'"):
        parse_mjcf(text())


# left out, and named


@pytest.mark.parametrize(
    ("mjcf", "words"),
    [
        (actuator("<velocity name='a' joint='j' kv='1'/>"), "actuator 'a'"),
        (actuator("<muscle name='a' joint='j' lengthrange='0 1'/>"), "actuator 'a'"),
        (actuator("<position name='a' joint='j' timeconst='1'/>"), "actuator 'a'"),
        (actuator("<motor name='a' joint='j'/>", "<joint name='j' type='ball'/>"), "actuator 'a'"),
        (actuator("<general name='a' joint='j' biastype='affine' biasprm='1'/>"), "actuator 'a'"),
        (actuator("<motor joint='j'/>" * 2), "second actuator of a joint: 'number 1'"),
        (
            actuator("<motor name='a' joint='j' ctrlrange='-1 1'/>"),
            "ctrlrange (commands are taken as they are) of actuator 'a'",
        ),
        (
            actuator("<motor name='a' joint='j' forcerange='-1 2'/>"),
            "lack of symmetry (the farther end holds for both) of the forcerange of 'a'",
        ),
        (text("<joint name='j' type='ball' range='0 45'/>"), "limits of ball joint 'j'"),
        (text("<joint name='j' damping='0 1'/>"), "nonlinear damping of joint 'j'"),
        (text("<joint name='j' stiffness='1 1'/>"), "nonlinear stiffness of joint 'j'"),
        (
            text(after="<tendon><fixed name='t'><joint joint='j' coef='1'/></fixed></tendon>"),
            "tendon 't'",
        ),
        (
            text(after="<equality><joint name='e' joint1='j'/></equality>"),
            "equality constraint 'e'",
        ),
        (text(after="<contact><exclude body1='b' body2='world'/></contact>"), "exclude 'number 0'"),
        (text(before="<option density='1.2'/>"), "the fluid around (density, viscosity, wind)"),
        (text(before="<option viscosity='1'/>"), "the fluid around"),
        (text(before="<option><flag actuation='disable'/></option>"), "disabled flag 'actuation'"),
        (text(geom="<geom name='g' type='ellipsoid' size='1 2 3'/>"), "(ellipsoid) of geom 'g'"),
        (text(geom="<geom name='g' size='1' condim='4'/>"), "condim of geom 'g'"),
        (text(geom="<geom name='g' size='1' contype='2'/>"), "collision mask .* of geom 'g'"),
        (text().replace("name='b'", "name='b' gravcomp='1'"), "gravity compensation of body 'b'"),
        (
            text().replace("<worldbody>", "<worldbody><body name='x' mocap='true'/>"),
            "motion of mocap body (it is welded to the world) 'x'",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_represented_is_named(mjcf: str, words: str):
    sentence = said(mjcf)
    assert "what MuJoCo has and isthmus has not was left out: " in sentence
    for part in words.split(" .* "):
        assert part in sentence


def test_one_warning_lists_each_element_once():
    inside = "<joint name='j'/><joint name='k' axis='1 0 0' damping='0 1'/>"
    motors = "<velocity name='v' joint='j'/><velocity name='w' joint='k'/>"
    sentence = said(
        text(inside, before="<option density='1'/>", after=f"<actuator>{motors}</actuator>")
    )
    assert "actuator 'v', 'w'; " in sentence
    assert "nonlinear damping of joint 'k'" in sentence
    assert "the fluid" in sentence
    assert sentence.count("'k'") == 1


def test_what_changes_no_motion_is_not_mentioned():
    extras = (
        "<sensor><jointpos joint='j'/></sensor><keyframe><key qpos='1'/></keyframe>"
        "<custom><numeric name='n' data='1'/></custom>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_mjcf(text("<joint name='j'/><camera/><light/>", after=extras))


def test_disabled_actuators_are_not_there():
    mjcf = actuator("<velocity joint='j' group='2'/>").replace(
        "<mujoco>", "<mujoco><option actuatorgroupdisable='2'/>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_mjcf(mjcf).actuators == ()


def test_mujocos_warnings_become_ours_and_leave_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "MuJoCo warns: XML contains a 'NaN'" in said(text(geom=f"{GEOM}<camera pos='0 0 nan'/>"))
    with pytest.raises(BadDescription, match="nan"):
        parse_mjcf(text(geom="<geom name='g' size='0.1' pos='nan 0 0'/>"))
    assert list(tmp_path.iterdir()) == []
    assert mujoco.get_mju_user_warning() is None


def test_the_bits_of_mujocos_flags_are_as_we_read_them():
    bit = lambda name: int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    bodies = "CONSTRAINT FRICTIONLOSS LIMIT SPRING DAMPER".split()
    assert all(getattr(mjcf_bodies, name) == bit(name) for name in bodies)
    assert bit("CONTACT") == mjcf_shapes.CONTACT
    assert bit("GRAVITY") == NO_GRAVITY
    assert (bit("CLAMPCTRL"), bit("ACTUATION")) == (mjcf_actuators.CLAMP, mjcf_actuators.ACTUATION)
    assert {name: bit(name.upper()) for name in mjcf_left_out.DISABLED} == mjcf_left_out.DISABLED
    assert int(mujoco.mjtEnableBit.mjENBL_OVERRIDE) == mjcf_left_out.OVERRIDE
