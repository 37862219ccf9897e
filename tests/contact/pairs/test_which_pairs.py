"""Which shapes touch each other, with which numbers; what makes no pair is refused in one sentence."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.contact.pairs.collect import pair_manifolds
from isthmus.contact.pairs.manifold import FAR
from isthmus.errors import (
    BadArgument,
    BadModel,
    BadOption,
    DescriptionWarning,
    IsthmusError,
    UnknownName,
)

BALL = (1e-3,) * 3 + (0.0,) * 3


def arm():
    """upper - lower - hand (welded) with a tool, a free ball, and a table of the world."""
    robot = ist.Builder("arm")
    for name, parent in (("upper", None), ("lower", "upper")):
        robot.add_link(name, mass=1.0, inertia=BALL)
        robot.add_joint_revolute(f"{name}_joint", parent, name, position=(0.3, 0.0, 0.0))
        robot.add_shape_capsule(name, 0.02, 0.1, name=name)
    robot.add_link("hand", mass=0.1, inertia=BALL)
    robot.add_joint_fixed("wrist", "lower", "hand")
    robot.add_shape_box("hand", (0.02, 0.02, 0.02), name="finger1")
    robot.add_shape_box("hand", (0.02, 0.02, 0.02), name="finger2")
    robot.add_link("ball", mass=1.0, inertia=BALL)
    robot.add_joint_free("flight", None, "ball")
    robot.add_shape_sphere("ball", 0.05, name="ball")
    robot.add_shape_box(None, (1.0, 1.0, 0.1), name="table")
    return robot.model()


MODEL = arm()


def test_patterns_leave_out_neighbours_and_what_is_welded_together():
    found = {frozenset(pair) for pair in MODEL.pairs()}
    assert frozenset(("upper", "lower")) not in found  # neighbours
    assert frozenset(("upper", "finger1")) not in found  # the hand is part of the lower arm
    assert frozenset(("finger1", "finger2")) not in found
    assert frozenset(("ball", "table")) in found
    assert frozenset(("upper", "table")) in found  # what hangs on the world may touch it
    assert MODEL.pairs("finger*", "ball") == (("finger1", "ball"), ("finger2", "ball"))
    assert MODEL.pairs("upper", "lower") == (("upper", "lower"),)  # by name: as asked for


def test_the_base_of_an_arm_is_a_neighbour_of_its_first_link_and_what_stands_beside_is_not():
    robot = ist.Builder("cell")
    for name, kind, parent in (
        ("room", "fixed", None), ("base", "fixed", "room"), ("mount", "fixed", "base"),
        ("upper", "revolute", "mount"), ("lower", "revolute", "upper"),
        ("table", "fixed", "room"), ("cube", "free", "table"), ("lamp", "revolute", "room"),
    ):  # fmt: skip
        robot.add_link(name, mass=1.0, inertia=BALL)
        getattr(robot, f"add_joint_{kind}")(f"to_{name}", parent, name)
        if name not in ("room", "mount"):
            robot.add_shape_sphere(name, 0.1, name=name)
    found = {frozenset(pair) for pair in robot.model().pairs()}
    assert not found & {frozenset(("base", "upper")), frozenset(("base", "table"))}
    for pair in ("base lower", "upper table", "table cube", "table lamp", "base lamp"):
        assert frozenset(pair.split()) in found


def test_a_link_stands_for_all_of_its_shapes():
    assert MODEL.pairs("hand", "ball") == MODEL.pairs("finger*", "ball")
    assert MODEL.pairs("b*", "han*") == (("ball", "finger1"), ("ball", "finger2"))
    assert MODEL.pairs("upper", "hand") == ()  # of two shapes: no single pair is asked for


def test_masks_and_exclusions_of_a_file_are_obeyed(tmp_path):
    body = lambda name, more="": (
        f"""<body name="{name}"><freejoint/><geom name="{name}" size="0.1" {more}/></body>"""
    )
    text = f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>{body("a")}{body("b")}
      {body("c", 'contype="2" conaffinity="2"')}{body("d", 'contype="2" conaffinity="3"')}</worldbody>
      <contact><exclude body1="a" body2="b"/></contact></mujoco>"""
    (tmp_path / "four.xml").write_text(text)
    model = ist.load(tmp_path / "four.xml")
    assert model.pairs() == (("a", "d"), ("b", "d"), ("c", "d"))
    touching = ist.with_contact(model, pairs=True)
    assert [name for name in touching.rows("contact") if "+" not in name] == [
        "a",
        "b",
        "d",
    ]  # the floor
    ist.save(touching, tmp_path / "model.safetensors")
    again = ist.load(tmp_path / "model.safetensors")
    assert again.rows("contact") == touching.rows("contact")
    assert again.pairs() == model.pairs()


def test_numbers_of_a_pair_come_from_its_materials_or_are_its_own():
    materials = [
        ist.Contact(shapes="finger*", friction=0.4, restitution=0.1, erp=0.3),
        ist.Contact(shapes="ball", friction=0.9, restitution=0.0),
    ]
    pairs = [("finger*", "ball"), ist.Pair("finger2", "ball", "penalty", friction=0.2)]
    touching = lambda rule: ist.with_contact(MODEL, materials, pairs=pairs, rule=rule)
    for rule, friction in (("max", 0.9), ("min", 0.4), ("mean", 0.65)):
        model = touching(rule)
        assert model.get("contact/finger1+ball/friction") == pytest.approx(friction)
        assert model.get("contact/finger2+ball/friction") == 0.2
        assert model.get("contact/finger1+ball/erp") == 0.3  # of the first shape
    assert touching("max").contact_kinds == ("impulse", "penalty")
    assert "pair finger1 and ball: 1 point, impulse" in str(touching("max"))
    assert touching("max").set("contact/finger*+ball/friction", 0.1).contact_friction.tolist() == [
        0.1,
        0.1,
    ]


@pytest.mark.parametrize(
    ("contact", "pairs", "says"),
    [
        ([], ist.Pair("hand", "ball", stiffness=1e5), r"Pair\('hand', 'ball'\) acts by impulses, which have no stif"),
        ([], ist.Pair("hand", "ball", "penalty", erp=0.1), "springs, which have no erp: leave this out, or give kind="),
        ("ball", ist.Pair("hand", "ball", damping=1.0), "which have no damping"),
    ],
)  # fmt: skip
def test_a_number_that_a_pair_does_not_have_is_told(contact, pairs, says):
    with pytest.warns(DescriptionWarning, match=says) as told:
        ist.with_contact(MODEL, contact, pairs=pairs, ground=ist.Ground())
    assert len(told) == 1  # though both fingers touch the ball


@pytest.mark.parametrize(
    "pairs",
    [ist.Pair("hand", "ball", "penalty", stiffness=1e5), ist.Pair("hand", "ball", "penalty")],
)
def test_numbers_of_springs_count_in_pairs_where_the_ground_is_rigid(pairs):
    contact = ist.Contact(shapes=["hand", "ball"], stiffness=2e5, restitution=0.1)
    model = ist.with_contact(MODEL, contact, pairs=pairs, ground=ist.Ground())
    assert float(model.get("contact/finger1+ball/stiffness")) == (pairs.stiffness or 2e5)


def test_points_of_a_pair_follow_its_shapes():
    robot = ist.Builder("two")
    for name in ("a", "b"):
        robot.add_link(name, mass=1.0, inertia=BALL)
        robot.add_joint_free(f"{name}_flight", None, name)
        robot.add_shape_box(name, (0.1, 0.1, 0.1), name=name)
    count = lambda pair: len(ist.with_contact(robot.model(), pairs=pair).contact_kinds)
    assert [count(ist.Pair("a", "b", points=n)) for n in (1, 2, 4, 8)] == [1, 2, 4, 8]


def test_a_hull_with_many_corners_is_thinned_and_that_is_said():
    x = np.random.default_rng(0).normal(size=(200, 3))
    robot = ist.Builder("stone")
    robot.add_link("stone", mass=1.0, inertia=BALL)
    robot.add_joint_free("flight", None, "stone")
    robot.add_shape_points("stone", 0.1 * x / np.linalg.norm(x, axis=1)[:, None], name="stone")
    robot.add_shape_box(None, (1.0, 1.0, 0.1), name="table")
    with pytest.warns(DescriptionWarning, match="hull of 'stone' was thinned to 32 corners"):
        model = ist.with_contact(robot.model(), pairs=[("stone", "table")])
    assert len(model.shape_points) == 32


@pytest.mark.parametrize(
    ("pairs", "error", "words"),
    [
        ([("ball", "ball")], BadModel, "'ball' and 'ball' is one shape: a pair needs two"),
        ([("finger1", "finger2")], BadModel, "are both on the link 'hand': they cannot touch"),
        ([("lower", "finger1")], BadModel, "are on links that are welded together"),
        ([("finger*", "lower")], BadModel, "no shapes called 'finger*' and 'lower' could touch"),
        ([("fingre*", "ball")], UnknownName, "no shape or link is called 'fingre*'"),
        ([("finger3", "ball")], UnknownName, "Did you mean 'finger"),
        ([("finger1",)], IsthmusError, "pairs"),
        (
            "ball",
            BadArgument,
            "pairs must be True, an ist.Pair, two names or patterns, or a list of these",
        ),
        (
            ["finger1", "ball", "hand"],
            BadOption,
            "pairs: a pair is ist.Pair(first, second) or two names",
        ),
        (
            ("ground", "ball"),
            BadModel,
            "'ground' is a plane: shapes touch it by `contact` (--contact)",
        ),
        ([ist.Pair("finger1", "ball", friction=-1.0)], BadModel, "'contact/friction' cannot be -1"),
    ],
)
def test_what_makes_no_pair_is_refused_in_one_sentence(pairs, error, words):
    with pytest.raises(error) as caught:
        ist.with_contact(MODEL, [], pairs=pairs, ground=ist.Ground())
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_names_alone_are_one_pair():
    rows = ist.with_contact(MODEL, [], pairs=("finger*", "ball")).rows("contact")
    assert [*rows] == ["finger1+ball", "finger2+ball"]


def test_a_link_without_a_shape_is_called_so():
    robot = ist.Builder("two")
    for name in ("bare", "ball"):
        robot.add_link(name, mass=1.0, inertia=BALL)
        robot.add_joint_free(f"{name}_flight", None, name)
    robot.add_shape_sphere("ball", 0.1)
    with pytest.raises(UnknownName, match="link 'bare' has no shape that could touch anything"):
        robot.model().pairs("bare", "ball")


def test_a_pair_with_other_options_or_without_size_is_refused():
    with pytest.raises(BadArgument, match="points"):
        ist.Pair("a", "b", points=3)
    with pytest.raises(BadArgument, match="rule"):
        ist.with_contact(MODEL, pairs=True, rule="product")
    empty = MODEL.set("shape/ball/size", 0.0)
    with pytest.raises(BadModel, match=r"'ball' \(sphere\) has no size"):
        ist.with_contact(empty, [], pairs=[("finger1", "ball")])


def test_a_start_in_another_body_is_named():
    robot = ist.Builder("two")
    for name in ("a", "b"):
        robot.add_link(name, mass=1.0, inertia=BALL)
        robot.add_joint_free(f"{name}_flight", None, name)
        robot.add_shape_sphere(name, 0.1, name=name)
    model = ist.with_contact(robot.model(), pairs=True)
    q = np.r_[np.zeros(3), 1, np.zeros(3), 0.15, np.zeros(2), 1, np.zeros(3)]
    with pytest.warns(ist.errors.StepWarning, match=r"'a' 0.05 m deep in 'b'.*away from it"):
        ist.rollout(model, ist.State(q, np.zeros(12)), None, 1e-3, 1)


@pytest.mark.parametrize("away", [0.2, 1.0])
def test_boxes_that_are_far_apart_are_skipped(away):
    pile = ist.Builder("pair")
    for name in ("a", "b"):
        pile.add_link(name, mass=1.0, inertia=(0.01, 0.01, 0.01))
        pile.add_joint_free(f"{name}_flight", None, name)
        pile.add_shape_box(name, (0.05, 0.05, 0.05), name=name)
    model = ist.with_contact(pile.model(), [], pairs=True)
    R, p = np.tile(np.eye(3), (3, 1, 1)), np.array([[0.0, 0.0, 0.0], [away, 0.0, 0.0], [0.0] * 3])
    _, _, depth = jax.jit(lambda R, p: pair_manifolds(model, R, p, R[:2]))(R, p)
    np.testing.assert_allclose(depth, FAR if away > 0.5 else 0.1 - away)
