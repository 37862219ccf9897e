"""URDF to description: what is read, and what is only doubted."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from isthmus.describe.description import Frame, Joint, Link
from isthmus.describe.inertias import nearest_inertia
from isthmus.describe.notes import PACKAGE
from isthmus.describe.poses import compose
from isthmus.describe.urdf import parse_urdf, read_urdf
from isthmus.errors import (
    DescriptionWarning,
)
from isthmus.spatial import rotations
from isthmus.spatial.inertia import symmetric
from tests.describe.urdf_texts import BODY, find, heavy, joint, link, pair, robot

ANGLES = st.tuples(*[st.floats(-7, 7)] * 3)


# what is read


def test_the_root_hangs_from_the_world_and_other_links_by_their_joints():
    for base in ("fixed", "free"):
        found = parse_urdf(robot(link("b"), link("a"), joint("j", "a", "b")), base=base)
        assert [(j.name, j.kind, j.parent, j.child) for j in found.joints] == [
            ("root_joint", base, None, "a"),
            ("j", "revolute", "a", "b"),
        ]
        assert [link.name for link in found.links] == ["a", "b"]


def test_the_root_joint_takes_another_name_if_its_own_is_taken():
    found = parse_urdf(robot(link("a"), link("b"), joint("root_joint", "a", "b")))
    assert [j.name for j in found.joints] == ["root_joint_2", "root_joint"]


@given(st.permutations([link(name) for name in "abcd"]), st.permutations(range(3)))
def test_any_order_of_links_and_joints_gives_parents_before_children(links, order):
    joints = [joint("1", "a", "b"), joint("2", "b", "c"), joint("3", "a", "d")]
    found = parse_urdf(robot(*(joints[i] for i in order), *links))
    seen: set[str | None] = {None}
    for hung in found.joints:
        assert hung.parent in seen
        seen.add(hung.child)
    assert [hung.child for hung in found.joints] == [link.name for link in found.links]


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("fixed", "fixed"),
        ("revolute", "revolute"),
        ("continuous", "revolute"),
        ("prismatic", "prismatic"),
        ("planar", "planar"),
        ("floating", "free"),
        ("spherical", "spherical"),
        ("ball", "spherical"),
    ],
)
def test_every_joint_type_has_its_kind(word: str, kind: str):
    assert pair(kind=word).joints[1].kind == kind


@given(ANGLES)
def test_roll_pitch_yaw_are_turns_about_fixed_axes(rpy):
    text = " ".join(map(repr, rpy))
    found = pair(f"<origin xyz='1 -2 3.5' rpy='{text}'/>").joints[1]
    assert found.frame.position == (1.0, -2.0, 3.5)
    expected = Rotation.from_euler("xyz", rpy).as_matrix()
    np.testing.assert_allclose(
        rotations.matrix(np.array(found.frame.orientation)), expected, atol=1e-14
    )


def test_an_origin_may_be_given_as_a_quaternion():
    found = pair("<origin quat_xyzw='0 0 1 0'/>").joints[1]
    assert found.frame.orientation == (0.0, 0.0, 0.0, 1.0)


@given(ANGLES, st.tuples(*[st.floats(-1, 1)] * 6))
def test_an_inertia_in_turned_axes_is_turned_into_the_links(rpy, numbers):
    xx, yy, zz, xy, xz, yz = numbers[0] + 4, numbers[1] + 4, numbers[2] + 4, *numbers[3:]
    inertial = (
        f"<inertial><origin xyz='1 2 3' rpy='{' '.join(map(repr, rpy))}'/><mass value='2'/>"
        f"<inertia ixx='{xx}' iyy='{yy}' izz='{zz}' ixy='{xy}' ixz='{xz}' iyz='{yz}'/></inertial>"
    )
    found = parse_urdf(robot(link("a", inertial))).links[0]
    R = Rotation.from_euler("xyz", rpy).as_matrix()
    assert (found.mass, found.com) == (2.0, (1.0, 2.0, 3.0))
    expected = R @ symmetric(np.array((xx, yy, zz, xy, xz, yz))) @ R.T
    np.testing.assert_allclose(symmetric(np.array(found.inertia)), expected, atol=1e-13)


def test_an_inertia_in_the_links_axes_is_not_touched():
    inertia = "ixx='0.1' iyy='0.2' izz='0.25' ixy='0.01' ixz='0.02' iyz='0.03'"
    found = parse_urdf(
        robot(link("a", f"<inertial><mass value='1'/><inertia {inertia}/></inertial>"))
    )
    assert found.links[0].inertia == (0.1, 0.2, 0.25, 0.01, 0.02, 0.03)


def test_limits_damping_friction_and_axis_are_read():
    found = pair(
        "<axis xyz='0 2 0'/><limit lower='-1' upper='2' effort='30' velocity='4'/>"
        "<dynamics damping='0.5' friction='0.25'/>"
    ).joints[1]
    assert (found.lower, found.upper, found.effort) == (-1.0, 2.0, 30.0)
    assert (found.damping, found.friction, found.axis) == (0.5, 0.25, (0.0, 2.0, 0.0))


@pytest.mark.parametrize(
    ("inside", "kind", "expected"),
    [
        ("", "revolute", (None, None, None)),
        ("<limit effort='0' velocity='0'/>", "revolute", (None, None, None)),
        ("<limit lower='-1' effort='1'/>", "prismatic", (-1.0, 0.0, 1.0)),
        ("<limit lower='-inf' upper='inf' effort='inf'/>", "revolute", (None, None, None)),
        ("<limit lower='-1' upper='1' effort='2'/>", "continuous", (None, None, 2.0)),
        ("<limit lower='-1' upper='1' effort='2'/>", "planar", (None, None, 2.0)),
    ],
)
def test_what_is_not_limited_has_no_limit(inside: str, kind: str, expected: tuple):
    found = pair(inside, kind).joints[1]
    assert (found.lower, found.upper, found.effort) == expected


def test_the_axis_is_x_if_none_is_given():
    assert pair().joints[1].axis == (1.0, 0.0, 0.0)


def test_a_mimic_keeps_its_leader_and_numbers():
    mimic = "<mimic joint='j' multiplier='-2' offset='0.5'/>"
    found = parse_urdf(robot(*map(link, "abc"), joint("j", "a", "b"), joint("k", "a", "c", mimic)))
    follower = find(found.joints, "k").mimic
    assert (follower.joint, follower.multiplier, follower.offset) == ("j", -2.0, 0.5)


def test_a_mimic_of_a_welded_joint_is_ignored_with_a_warning():
    parts = [*map(link, "abc"), joint("j", "a", "b")]
    welded = joint("k", "a", "c", "<mimic joint='j'/>", "fixed")
    with pytest.warns(DescriptionWarning, match="<mimic> was ignored: joint 'k'"):
        found = parse_urdf(robot(*parts, welded))
    assert find(found.joints, "k").mimic is None


@pytest.mark.parametrize(
    ("geometry", "kind", "size"),
    [
        ("<box size='2 4 6'/>", "box", (1.0, 2.0, 3.0)),
        ("<sphere radius='2'/>", "sphere", (2.0, 0.0, 0.0)),
        ("<cylinder radius='2' length='6'/>", "cylinder", (2.0, 3.0, 0.0)),
        ("<capsule radius='2' length='6'/>", "capsule", (2.0, 3.0, 0.0)),
    ],
)
def test_collision_shapes_have_half_sizes_and_their_frame(geometry, kind, size):
    inside = f"<collision><origin xyz='1 2 3'/><geometry>{geometry}</geometry></collision>"
    (shape,) = parse_urdf(robot(link("a", BODY + inside))).shapes
    assert (shape.kind, shape.size, shape.link, shape.name) == (kind, size, "a", "a_shape")
    assert shape.frame.position == (1.0, 2.0, 3.0)


def test_shapes_are_told_apart_by_name():
    ball = "<geometry><sphere radius='1'/></geometry></collision>"
    twice = (
        f"<collision name='x'>{ball}<collision name='x'>{ball}<collision>{ball}<collision>{ball}"
    )
    found = parse_urdf(robot(link("a", BODY + twice)))
    assert [shape.name for shape in found.shapes] == ["x", "x_2", "a_shape", "a_shape_2"]


def test_shapes_without_size_are_left_out_and_named():
    inside = "<collision><geometry><sphere radius='0'/></geometry></collision>"
    with pytest.warns(DescriptionWarning, match="without size were left out: a sphere of link 'a'"):
        assert parse_urdf(robot(link("a", BODY + inside))).shapes == ()


def test_shapes_of_unknown_kind_are_left_out_and_named():
    inside = "<collision><geometry><torus radius='1'/></geometry></collision>"
    with pytest.warns(DescriptionWarning, match="were left out: of link 'a', line 2"):
        assert parse_urdf(robot(link("a", BODY + inside))).shapes == ()


def test_the_ground_is_a_plane_of_the_world():
    text = robot(link("a"))
    for ground, height in ((True, 0.0), (0, 0.0), (0.0, 0.0), (1, 1.0), (-0.25, -0.25)):
        (plane,) = parse_urdf(text, ground=ground).shapes
        assert (plane.name, plane.kind, plane.link) == ("ground", "plane", None)
        assert plane.frame.position == (0.0, 0.0, height)
    for ground in (None, False):
        assert parse_urdf(text, ground=ground).shapes == ()


def test_what_is_not_ours_is_passed_over():
    others = "<transmission name='t'/><gazebo><sensor/></gazebo><sensor/><material name='m'/>"
    comment = "<!-- <link name='no'/> -->"
    found = parse_urdf(
        robot(others, comment, link("a"), "<gazebo reference='a'>$(find x)</gazebo>")
    )
    assert [link.name for link in found.links] == ["a"]


@pytest.mark.parametrize(
    "before", [b"", b"\n\n  ", b"\xef\xbb\xbf", b"\n\xef\xbb\xbf", b"\r\n\r\n"]
)
def test_blank_lines_and_marks_before_the_declaration_do_no_harm(before: bytes):
    text = b"<?xml version='1.0' encoding='utf-8'?>\n" + robot(link("a")).encode()
    found = parse_urdf(before + text)
    assert found.links[0].line == 3 + before.replace(b"\r\n", b"\n").count(b"\n")


def test_other_encodings_are_read():
    text = f"<?xml version='1.0' encoding='utf-16'?>{robot(link('bräzo'))}"
    assert parse_urdf(text.encode("utf-16")).links[0].name == "bräzo"
    assert parse_urdf(text).links[0].name == "bräzo"


def test_the_name_is_the_robots_or_the_files(tmp_path: Path):
    file = tmp_path / "arm.urdf"
    file.write_text(f"<robot>{link('a')}</robot>")
    assert read_urdf(file).name == "arm"
    assert read_urdf(str(file)).source == str(file)
    assert parse_urdf(robot(link("a"))).name == "r"


# frames without mass


def test_welded_frames_without_mass_become_points_where_they_stand():
    turn = "<origin xyz='1 0 0' rpy='0 0 1.5707963267948966'/>"
    text = robot(
        link("a"),
        link("wrist", ""),
        link("tool", ""),
        joint("1", "a", "wrist", turn, "fixed"),
        joint("2", "wrist", "tool", turn, "fixed"),
    )
    with pytest.warns(DescriptionWarning, match="'wrist', 'tool', became named points"):
        found = parse_urdf(text)
    assert [link.name for link in found.links] == ["a"]
    assert [j.name for j in found.joints] == ["root_joint"]
    tool = find(found.points, "tool")
    assert tool.link == "a"
    np.testing.assert_allclose(tool.frame.position, (1.0, 1.0, 0.0), atol=1e-15)
    np.testing.assert_allclose(tool.frame.orientation, (0.0, 0.0, 0.0, 1.0), atol=1e-15)


@pytest.mark.filterwarnings("ignore::isthmus.errors.DescriptionWarning")
def test_what_carries_moves_or_touches_stays_a_link():
    ball = "<collision><geometry><sphere radius='1'/></geometry></collision>"
    missing = "<collision><geometry><mesh filename='no.stl'/></geometry></collision>"
    text = robot(
        link("root", ""),
        link("carrier", ""),
        link("arm"),
        link("ball", ball),
        link("mesh", missing),
        joint("1", "root", "carrier", kind="fixed"),
        joint("2", "carrier", "arm"),
        joint("3", "arm", "ball", kind="fixed"),
        joint("4", "arm", "mesh", kind="fixed"),
    )
    found = parse_urdf(text)
    assert [link.name for link in found.links] == ["root", "carrier", "arm", "ball", "mesh"]
    assert found.points == ()


@given(ANGLES, ANGLES)
def test_composed_frames_are_composed_rotations(first, second):
    A, B = Rotation.from_euler("xyz", first), Rotation.from_euler("xyz", second)
    outer, inner = (Frame(r.apply((1, 2, 3)), r.as_quat(scalar_first=True)) for r in (A, B))
    both = compose(outer, inner)
    np.testing.assert_allclose(
        rotations.matrix(np.array(both.orientation)), (A * B).as_matrix(), atol=1e-13
    )
    np.testing.assert_allclose(both.position, outer.position + A.apply(inner.position), atol=1e-12)


# doubts


def test_links_without_mass_are_named_and_stay_massless():
    parts = [link("a", ""), link("b", heavy(0, 0, 0, 0)), link("c")]
    told = "links 'b': they stay massless"  # a base that never moves needs no mass
    with pytest.warns(DescriptionWarning, match=told) as caught:
        found = parse_urdf(robot(*parts, joint("1", "a", "b"), joint("2", "b", "c")))
    assert [link.mass for link in found.links] == [0.0, 0.0, 1.0]
    assert len(caught) == 1
    assert not caught[0].filename.startswith(PACKAGE)


@pytest.mark.parametrize(
    ("inertia", "words"),
    [
        ((1.0, 1.0, 3.0), "violate the triangle inequality, of links 'a', 'b'"),
        ((1.0, 1.0, 0.0), "not positive definite, of links 'a', 'b'"),
        ((1.0, 1.0, -1.0), "not positive definite, of links 'a', 'b'"),
        ((0.0, 0.0, 0.0), "not positive definite, of links 'a', 'b'"),
    ],
)
def test_impossible_inertias_are_named_once_and_kept_or_mended(inertia, words):
    text = robot(link("a", heavy(*inertia)), link("b", heavy(*inertia)), joint("j", "a", "b"))
    with pytest.warns(DescriptionWarning, match=words + ".*loaded as they are") as caught:
        assert parse_urdf(text).links[0].inertia[:3] == inertia
    assert len(caught) == 1
    with pytest.warns(DescriptionWarning, match=words + ".*nearest possible ones were taken"):
        found = parse_urdf(text, repair="nearest").links[0]
    a, b, c = np.linalg.eigvalsh(symmetric(np.array(found.inertia)))
    assert a > 0
    assert c < a + b
    assert (found.mass, found.com) == (1.0, (0.0, 0.0, 0.0))


def test_rounded_inertias_do_not_raise_doubts():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_urdf(robot(link("a", heavy(0.00333, 0.00334, 0.0066701))))


def test_nothing_is_invented_for_massless_links():
    text = robot(link("a", heavy(1, 1, 3, 0)), link("b"), joint("j", "a", "b"))
    with pytest.warns(DescriptionWarning):
        assert parse_urdf(text, repair="nearest").links[0].inertia[:3] == (1.0, 1.0, 3.0)


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6), st.integers(0, 2**32 - 1))
def test_no_possible_inertia_is_nearer_than_the_mended_one(numbers, seed):
    def second_moment(inertia: object) -> np.ndarray:
        matrix = symmetric(np.array(inertia))
        return np.trace(matrix) / 2 * np.eye(3) - matrix

    given_moment = second_moment(numbers)
    mended = second_moment(nearest_inertia(numbers, 1.0))
    assert np.linalg.eigvalsh(mended)[0] > -1e-15
    root = np.random.default_rng(seed).normal(size=(3, 3))
    other = mended + 0.01 * (root @ root.T - 0.5 * mended)  # possible too, and close
    slack = 1e-5 * np.linalg.norm(given_moment) + 1e-7
    distance = np.linalg.norm(mended - given_moment)
    assert distance <= np.linalg.norm(other - given_moment) + slack


def test_lines_point_at_their_elements():
    found = pair()
    assert [link.line for link in found.links] == [2, 3]
    assert find(found.joints, "j").line == 4
    assert isinstance(found.links[0], Link)
    assert isinstance(found.joints[0], Joint)


# the world, bodies without mass, bounds


def test_a_root_called_world_is_the_world_itself():
    text = robot(
        link("world", ""),
        link("a"),
        link("mark", ""),
        joint("1", "world", "a"),
        joint("2", "world", "mark", "<origin xyz='1 2 3'/>", "fixed"),
    )
    with pytest.warns(DescriptionWarning, match="'mark', became named points"):
        found = parse_urdf(text)
    assert [(j.name, j.parent, j.child) for j in found.joints] == [("1", None, "a")]
    assert [(p.name, p.link, p.frame.position) for p in found.points] == [("mark", None, (1, 2, 3))]


@pytest.mark.filterwarnings("ignore::isthmus.errors.DescriptionWarning")
def test_a_world_that_shall_fly_is_a_link_unless_the_file_has_a_floating_base():
    for kind, names in (("fixed", ["world", "a"]), ("floating", ["a"])):
        text = robot(link("world", ""), link("a"), joint("1", "world", "a", kind=kind))
        found = parse_urdf(text, base="free")
        assert [link.name for link in found.links] == names
        assert found.joints[0].kind == "free"


@pytest.mark.filterwarnings("ignore::isthmus.errors.DescriptionWarning")
def test_a_welded_link_whose_inertia_the_file_gives_stays_a_link_even_if_that_is_zero():
    text = robot(link("a"), link("b", heavy(0, 0, 0, 0)), joint("1", "a", "b", kind="fixed"))
    assert [link.name for link in parse_urdf(text).links] == ["a", "b"]


def test_bounds_from_1e16_on_are_none():
    limit = "<limit lower='-1e16' upper='2' effort='1e16' velocity='1'/>"
    found = find(parse_urdf(robot(link("a"), link("b"), joint("1", "a", "b", limit))).joints, "1")
    assert (found.lower, found.upper, found.effort) == (None, 2.0, None)
