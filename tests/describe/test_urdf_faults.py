"""What a URDF is refused for, and in which words."""

from __future__ import annotations

import contextlib
import math
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.describe.urdf import parse_urdf, read_urdf
from isthmus.errors import (
    BadDescription,
    BadFile,
    BadOption,
    DescriptionWarning,
    IsthmusError,
)
from tests.describe.urdf_texts import BODY, faults, heavy, joint, link, pair, robot

# faults


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (heavy(1, 1, 1, -1), r"mass of link 'a' is -1; it must not be negative \(line 2\)"),
        (heavy("1", "nan", "1"), r"iyy of link 'a' is 'nan'; .* finite number \(line 2\)"),
        (heavy(1, 1, 1, "abc"), r"mass of link 'a' is 'abc'"),
        (heavy(1, 1, 1, "1_0"), r"mass of link 'a' is '1_0'"),
        (heavy(1, 1, 1, "inf"), r"mass of link 'a' is 'inf'"),
        ("<inertial><mass/></inertial>", r"mass of link 'a' is missing"),
        ("<inertial><mass value='1'/><inertia/></inertial>", r"ixx of link 'a' is missing"),
        (
            "<inertial><origin xyz='1 2'/></inertial>",
            r"origin xyz of link 'a' is '1 2'; .* 3 finite",
        ),
        ("<inertial><origin rpy='0 x 0'/></inertial>", r"origin rpy of link 'a' is '0 x 0'"),
        (
            BODY + "<collision><geometry><sphere radius='-1'/></geometry></collision>",
            r"size of shape 'a_shape' is .*-1.*; it must not be negative",
        ),
        (
            BODY + "<collision><geometry><box size='1 nan 1'/></geometry></collision>",
            r"size of a box of link 'a' is '1 nan 1'",
        ),
    ],
)
def test_faulty_numbers_of_links_are_named(inside: str, words: str):
    with pytest.raises(BadDescription, match=words) as caught:
        parse_urdf(robot(link("a", inside)))
    assert len(caught.value.faults) <= 3


@pytest.mark.parametrize(
    ("inside", "kind", "words"),
    [
        (
            "<axis xyz='0 0 0'/>",
            "revolute",
            r"axis of joint 'j' is \(0, 0, 0\); it must not be zero \(line 4\)",
        ),
        (
            "<axis xyz='0 0 0'/>",
            "prismatic",
            r"axis of joint 'j' is \(0, 0, 0\); it must not be zero",
        ),
        ("<axis xyz='0 0 0'/>", "planar", r"axis of joint 'j' is \(0, 0, 0\); it must not be zero"),
        ("<axis xyz='0 nan 0'/>", "planar", r"axis of joint 'j' is '0 nan 0'"),
        ("<origin xyz='inf 0 0'/>", "fixed", r"origin xyz of joint 'j' is 'inf 0 0'"),
        ("<limit lower='nan' upper='1'/>", "revolute", r"lower of joint 'j' is 'nan'"),
        ("<limit effort='-1'/>", "revolute", r"effort of joint 'j' is -1; it must not be negative"),
        ("<limit velocity='x'/>", "revolute", r"velocity of joint 'j' is 'x'"),
        ("<dynamics damping='x'/>", "revolute", r"damping of joint 'j' is 'x'"),
        ("<mimic joint='j'/>", "revolute", r"joint 'j' mimics itself"),
        ("<mimic joint='jj'/>", "revolute", r"mimics the unknown joint 'jj' \(line 4\)\."),
        ("<mimic joint='root_joint'/>", "revolute", r"they are revolute and fixed; both need one"),
        ("<mimic joint='j' offset='x'/>", "revolute", r"offset of joint 'j' is 'x'"),
        ("", "hinge", r"joint 'j' has the unknown type 'hinge' \(line 4\)"),
        ("", "revolut", r"unknown type 'revolut' \(line 4\)\. Did you mean 'revolute'\?"),
        ("", "", r"joint 'j' has no type"),
    ],
)
def test_faults_of_joints_are_named(inside: str, kind: str, words: str):
    with pytest.raises(BadDescription, match=words):
        pair(inside, kind)


def test_an_axis_that_is_not_used_may_be_zero():
    assert pair("<axis xyz='0 0 0'/>", "fixed").joints[1].kind == "fixed"


def test_a_moving_joint_that_carries_nothing_is_a_fault():
    words = r"joint 'j' \(revolute\) carries no inertia at all \(line 4\); give link 'b'"
    with pytest.raises(BadDescription, match=words):
        pair(child="")
    with pytest.raises(BadDescription, match=r"joint 'root_joint' \(free\) carries no mass"):
        parse_urdf(robot(link("a", "")), base="free")
    with pytest.raises(BadDescription, match=r"joint 'j' \(prismatic\) carries no mass"):
        pair(child=heavy(1, 1, 1, 0), kind="prismatic")


def test_faults_of_the_tree_are_named():
    a, b, c = map(link, "abc")
    assert "links form a loop: 'a' -> 'b' -> 'a'" in faults(
        a, b, joint("1", "a", "b"), joint("2", "b", "a")
    )
    assert "there are 2 roots, links 'a', 'b'" in faults(a, b)
    assert "joint '1' has the unknown parent 'x' (line 3)" in faults(a, joint("1", "x", "a"))
    assert "joint '1' has the unknown child 'bb'" in faults(a, link("bbb"), joint("1", "a", "bb"))
    assert "Did you mean 'bbb'?" in faults(a, link("bbb"), joint("1", "a", "bb"))
    twice = faults(a, b, c, joint("1", "a", "c"), joint("2", "b", "c"), joint("3", "a", "b"))
    assert "link 'c' is the child of 2 joints: '1', '2' (line 6)" in twice
    assert "link names must differ, but 'a' occurs 2 times (lines 2, 3)" in faults(a, a)
    same = faults(a, b, c, joint("1", "a", "b"), joint("1", "a", "c"))
    assert "joint names must differ, but '1' occurs 2 times (lines 5, 6)" in same
    assert "a link has no name (line 2)" in faults("<link/>")
    assert "joint '1' names no parent link" in faults(a, "<joint name='1' type='fixed'/>")


def test_mimics_in_a_circle_are_a_fault():
    parts = [link(name) for name in "abc"]
    first = joint("1", "a", "b", "<mimic joint='2'/>")
    second = joint("2", "a", "c", "<mimic joint='1'/>")
    assert "in a circle: '1' -> '2' -> '1'" in faults(*parts, first, second)


def test_all_faults_come_at_once():
    text = faults(
        link("a", heavy(1, 1, 1, -1)),
        link("b", heavy("x", 1, 1)),
        link("c"),
        joint("1", "a", "b", "<axis xyz='0 0 0'/>"),
    )
    assert "4 faults:" in text
    for words in (
        "mass of link 'a' is -1",
        "ixx of link 'b' is 'x'",
        "2 roots, links 'a', 'c'",
        "not be zero",
    ):
        assert words in text


# files


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\x7fELF\x00\x00", "is binary, not XML"),
        (b"hello there", "is not XML: it starts with 'hello there'"),
        (b"\n<robot>\n<link name='a'>\n</robot>", "is broken XML: mismatched tag, line 4"),
        (b"<robot", "is broken XML: unclosed token"),
        (b"<mujoco/>", "its root is <mujoco>, not <robot>"),
        (b"<robot/>", "describes no links"),
        (b"<?xml version='1.0' encoding='klingon'?><robot/>", "is broken XML"),
        (b"<robot><xacro:arm/></robot>", "is a xacro template.*Expand it first"),
        (b"<robot><link name='${n}'/></robot>", "is a xacro template"),
        (b"<robot><link name='$(arg n)'/></robot>", "is a xacro template"),
    ],
)
def test_what_is_no_urdf_is_refused_in_words(tmp_path: Path, content: bytes, words: str):
    file = tmp_path / "robot.urdf"
    file.write_bytes(content)
    with pytest.raises(BadFile, match=rf"robot\.urdf' .*{words}"):
        read_urdf(file)
    with pytest.raises(BadFile, match=rf"the text .*{words}"):
        parse_urdf(content)


@pytest.mark.parametrize(("name", "command"), [
    ("arm.urdf.xacro", "xacro robots/arm.urdf.xacro > arm.urdf"),
    ("arm.xacro", "xacro robots/arm.xacro > arm.urdf"),
    ("arm.urdf", "xacro robots/arm.urdf > expanded_arm.urdf"),
])  # fmt: skip
def test_a_xacro_file_is_answered_with_the_command_that_expands_it(name, command):
    with pytest.raises(BadFile, match="is a xacro template") as refused:
        parse_urdf("<robot><xacro:arm/></robot>", source=f"robots/{name}")
    assert f"`{command}`" in str(refused.value)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_lower_limit_above_the_upper_one_means_no_limits_and_is_said(kind):
    with pytest.warns(DescriptionWarning, match=r"Bullet means no limits.*joint 'j' \(line 4\)"):
        found = pair("<limit lower='1' upper='-1' effort='30'/>", kind)
    joint = found.joints[-1]
    assert (joint.lower, joint.upper, joint.effort) == (None, None, 30.0)


def test_an_expanded_xacro_that_still_names_its_namespace_is_read():
    text = robot(link("a")).replace("<robot", "<robot xmlns:xacro='http://ros.org/wiki/xacro'")
    assert parse_urdf(text).links[0].name == "a"


def test_a_missing_file_is_named_with_its_neighbour(tmp_path: Path):
    (tmp_path / "laikago.urdf").write_text("")
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'laikago\.urdf'") as caught:
        read_urdf(tmp_path / "laikgo.urdf")
    assert isinstance(caught.value, BadFile)
    with pytest.raises(BadFile, match=r"There is no folder '.*nowhere' either"):
        read_urdf(tmp_path / "nowhere" / "a.urdf")
    with pytest.raises(BadFile, match="is a folder, not a file"):
        read_urdf(tmp_path)
    with pytest.raises(BadFile, match="cannot be read"):
        read_urdf("a\0b")
    with pytest.raises(BadOption, match="parse_urdf"):
        read_urdf("<robot/>")


def test_wrong_options_are_named():
    text = robot(link("a"))
    with pytest.raises(BadOption, match=r"base is 'fre'; .* Did you mean 'free'\?"):
        parse_urdf(text, base="fre")
    with pytest.raises(BadOption, match="repair is 'all'; it must be one of 'none', 'nearest'"):
        parse_urdf(text, repair="all")
    for ground in (math.nan, math.inf):
        with pytest.raises(
            BadOption, match=r"ground is (nan|inf); it must be True, False, None or"
        ):
            parse_urdf(text, ground=ground)


def quietly(text: str | bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        with contextlib.suppress(IsthmusError):
            parse_urdf(text)


@given(st.binary() | st.text() | st.binary().map(lambda b: b"<?xml version='1.0'?><robot>" + b))
def test_garbage_is_never_met_with_anything_but_our_own_words(content):
    quietly(content)


SOUND = robot(
    *map(link, "ab"),
    link(
        "c",
        BODY + "<collision><geometry><mesh filename='x.stl' scale='1 1 1'/></geometry></collision>",
    ),
    joint("j", "a", "b", "<origin xyz='0 0 1'/><limit lower='0' upper='1'/><mimic joint='k'/>"),
    joint("k", "a", "c", "<axis xyz='0 0 1'/>", "prismatic"),
).encode()


@given(st.integers(0, len(SOUND)), st.integers(0, 20), st.binary(max_size=8))
def test_neither_are_files_with_a_damaged_place(start, length, new):
    quietly(SOUND[:start] + new + SOUND[start + length :])


def test_a_chain_of_thousands_of_links_is_no_problem():
    names = [f"l{i}" for i in range(1500)]
    joints = [joint(f"j{i}", names[i], names[i + 1]) for i in range(1499)]
    assert len(parse_urdf(robot(*map(link, names), *joints)).links) == 1500
