"""The rules of a sound description, for numbers that are known and for those that are traced."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus.describe.checks import RULES, check, faults_of
from isthmus.describe.description import Description, Frame, Joint, Link, Mimic, Point, Shape
from isthmus.describe.inertias import doubts, mended
from isthmus.errors import BadDescription

BODY = Link("body", 1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
HINGE = Joint("hinge", "revolute", None, "body")
SOUND = Description("sound", (BODY,), (HINGE,))


def sentence(**changes: object) -> str:
    """What is said of a sound description with these changes: one fault only."""
    (fault,) = faults_of(dataclasses.replace(SOUND, **changes))
    return fault


def with_joint(**changes: object) -> str:
    return sentence(joints=(dataclasses.replace(HINGE, **changes),))


def with_link(**changes: object) -> str:
    return sentence(links=(dataclasses.replace(BODY, **changes),))


def test_a_sound_description_has_no_faults():
    assert faults_of(SOUND) == []
    check(SOUND)


def test_every_rule_opens_with_a_sentence_about_itself():
    assert all(rule.__doc__ for rule in RULES)
    assert len({rule.__name__ for rule in RULES}) == len(RULES)


def test_numbers_are_checked_for_count_and_value():
    assert with_link(com=(0.0, 0.0)) == "com of link 'body' has 2 numbers; it must have 3."
    assert with_link(mass=float("nan")) == "mass of link 'body' is nan; it must be a finite number."
    assert with_link(inertia=np.full(6, np.inf)).startswith("inertia of link 'body' is (inf, inf")
    assert with_joint(damping=np.zeros(3)).endswith("has 3 numbers; it must have 1.")
    assert with_joint(frame=Frame((0.0, 0.0, np.nan))).startswith("position of joint 'hinge' is")
    assert with_joint(frame=Frame(orientation=(0.0,) * 4)).endswith("it must not be zero.")
    assert "gravity of the description" in sentence(gravity=(0.0, 0.0, np.nan))
    assert "a point of shape 's'" in sentence(
        shapes=(Shape("s", "points", "body", points=((0.0, 0.0, np.nan),)),)
    )


def test_bounds_may_be_infinite():
    joint = dataclasses.replace(HINGE, lower=-np.inf, upper=np.inf, effort=np.inf)
    assert faults_of(dataclasses.replace(SOUND, joints=(joint,))) == []


def test_signs_are_checked():
    assert "is -2; it must not be negative (line 7)" in with_link(mass=-2.0, line=7)
    assert with_joint(armature=-1.0) == "armature of joint 'hinge' is -1; it must not be negative."
    assert "friction_speed of joint 'hinge' is 0; it must be positive" in with_joint(
        friction_speed=0.0
    )


def test_numbers_for_each_degree_of_freedom_are_fine():
    ball = dataclasses.replace(HINGE, kind="spherical", damping=(1.0, 2.0, 3.0), armature=0.1)
    assert faults_of(dataclasses.replace(SOUND, joints=(ball,))) == []


def test_unknown_kinds_are_named_with_their_neighbour():
    joint = dataclasses.replace(HINGE)
    object.__setattr__(joint, "kind", "revolut")
    assert sentence(joints=(joint,)).endswith("unknown kind 'revolut'. Did you mean 'revolute'?")
    shape = Shape("s", "box", "body", size=(1.0, 1.0, 1.0))
    object.__setattr__(shape, "kind", "sphare")
    assert sentence(shapes=(shape,)).endswith("unknown kind 'sphare'. Did you mean 'sphere'?")


def test_points_and_shapes_are_on_links_that_exist():
    assert "point 'p' is on the unknown link 'bodi'" in sentence(points=(Point("p", "bodi"),))
    assert "shape 's' is on the unknown link 'x'" in sentence(shapes=(Shape("s", "plane", "x"),))
    assert "point names must differ, but 'p' occurs 2 times" in sentence(
        points=(Point("p", None), Point("p", "body"))
    )


def test_a_link_without_joint_is_a_fault():
    lonely = dataclasses.replace(BODY, name="lonely")
    assert sentence(links=(BODY, lonely)) == "link 'lonely' hangs by no joint."


def test_a_loop_is_named_once_and_apart_from_the_tree():
    links = tuple(dataclasses.replace(BODY, name=name) for name in ("body", "a", "b", "c"))
    ends = (("a", "b"), ("b", "c"), ("c", "a"))
    loop = tuple(Joint(p + c, "revolute", p, c) for p, c in ends)
    text = sentence(links=links, joints=(HINGE, *loop))
    assert text == "links form a loop: 'a' -> 'b' -> 'c' -> 'a'."


def test_what_does_not_resist_is_a_fault_unless_it_has_a_motor_or_is_driven():
    massless = Link("body")
    assert "carries no inertia at all" in sentence(links=(massless,))
    for change in ({"armature": 0.1}, {"prescribed": True}, {"kind": "fixed"}):
        joint = dataclasses.replace(HINGE, **change)
        assert faults_of(Description("d", (massless,), (joint,))) == []


def test_one_exception_lists_the_readers_faults_and_ours():
    bad = dataclasses.replace(SOUND, links=(dataclasses.replace(BODY, mass=-1.0),), source="a.urdf")
    with pytest.raises(
        BadDescription, match=r"a\.urdf: 2 faults:\n  - first\.\n  - mass of link 'body'"
    ):
        check(bad, ["first."])


def test_traced_numbers_pass_every_rule():
    def total(mass: jax.Array, vector: jax.Array) -> jax.Array:
        link = Link("body", mass, com=vector, inertia=(mass, mass, mass, 0.0, 0.0, 0.0))
        joint = dataclasses.replace(
            HINGE, axis=vector, lower=mass, upper=-1.0, armature=mass, frame=Frame(vector)
        )
        leader = Joint("lead", "revolute", "body", "top")
        follower = dataclasses.replace(joint, mimic=Mimic("lead", mass, mass))
        top = dataclasses.replace(link, name="top")
        traced = Description("t", (link, top), (follower, leader), gravity=vector)
        check(traced)
        assert list(doubts(traced, "none")) == []
        assert mended(traced) == traced
        return mass + vector.sum()

    jax.jit(total)(jnp.array(-1.0), jnp.zeros(3))


def test_traced_numbers_are_still_counted():
    def count(vector: jax.Array) -> jax.Array:
        assert "com of link 'body' has 2 numbers" in with_link(com=vector)
        return vector

    jax.jit(count)(jnp.zeros(2))
