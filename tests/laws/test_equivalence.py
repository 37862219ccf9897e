"""Descriptions that say the same in different words give the same motion."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from isthmus import Control, State, compile_model, rollout
from isthmus.describe.description import Description, Frame, Joint, Link
from isthmus.model.leaves import SWITCHES
from isthmus.model.model import leaf_fields
from isthmus.spatial import rotations
from tests import trees
from tests.compiled import forward_kinematics

SEEN = {"steps": 100, "record": ["link/pose", "link/velocity"]}
HINGE = {"damping": 0.3, "stiffness": 2.0, "armature": 0.1}


def inverse(frame: Frame) -> Frame:
    """Where the parent stands in the child."""
    turn = np.asarray(rotations.normalise(np.asarray(frame.orientation)))
    R = np.asarray(rotations.matrix(turn))
    position = -R.T @ np.asarray(frame.position)
    return Frame(tuple(position), tuple(np.asarray(rotations.conjugate(turn))))


def held_by_the_first_and_by_the_last() -> tuple[Description, Description]:
    """Two floating links `a b`, the same hinge; rooted at `a`, and at `b`."""
    draw = np.random.default_rng(3)
    links = tuple(trees.random_link(draw, name) for name in "ab")
    at_b, axis = trees.random_frame(draw), np.array([0.0, 0.6, 0.8])
    first = (
        Joint("base", "free", None, "a"),
        Joint("ab", "revolute", "a", "b", at_b, tuple(axis), **HINGE),
    )
    last = (
        Joint("base", "free", None, "b"),
        Joint("ab", "revolute", "b", "hinge", Frame(), tuple(-axis), **HINGE),
        Joint("weld", "fixed", "hinge", "a", inverse(at_b)),
    )
    return Description("first", links, first), Description("last", (*links, Link("hinge")), last)


def same_motion(one, model_one, two, model_two, names) -> None:
    """Links of these names have the same poses and velocities."""
    a, b = (np.array([m.link(name) for name in names]) for m in (model_one, model_two))
    twists, others = one.signals["link/velocity"][:, a], two.signals["link/velocity"][:, b]
    np.testing.assert_allclose(twists, others, atol=1e-9)
    poses, others = one.signals["link/pose"][:, a], two.signals["link/pose"][:, b]
    np.testing.assert_allclose(poses[..., :3], others[..., :3], atol=1e-9)
    along = jnp.abs(jnp.sum(poses[..., 3:] * others[..., 3:], axis=-1))
    np.testing.assert_allclose(along, 1.0, atol=1e-12)


def test_it_does_not_matter_by_which_link_a_floating_mechanism_is_held(key):
    first, last = map(compile_model, held_by_the_first_and_by_the_last())
    start = State.random(first, key)
    k, b = forward_kinematics(first, start.q, start.v), first.link("b")
    linear = rotations.matrix(k.quaternion[b]) @ k.velocity[b, 3:]
    again = State(
        jnp.concatenate([k.position[b], k.quaternion[b], start.q[7:]]),
        jnp.concatenate([linear, k.velocity[b, :3], start.v[6:]]),
    )
    one = rollout(first, start, None, 1e-3, **SEEN, integrator="rk4")
    two = rollout(last, again, None, 1e-3, **SEEN, integrator="rk4")
    same_motion(one, first, two, last, "ab")
    np.testing.assert_allclose(one.q[:, 7:], two.q[:, 7:], atol=1e-9)


def test_a_weld_in_the_middle_changes_nothing(key):
    """A link cut in two, both halves with their share of the mass, moves as the whole one."""
    whole = trees.pendulum(3, kind="spherical")
    cut = whole.links[1]
    half = dataclasses.replace(
        cut, mass=0.5 * cut.mass, inertia=tuple(0.5 * x for x in cut.inertia)
    )
    frame = trees.random_frame(np.random.default_rng(1))
    turned = in_frame(half, frame)
    links = tuple(half if link is cut else link for link in whole.links)
    parted = dataclasses.replace(
        whole,
        links=(*links, dataclasses.replace(turned, name="other half")),
        joints=(*whole.joints, Joint("weld", "fixed", cut.name, "other half", frame)),
    )
    one, two = compile_model(whole), compile_model(parted)
    start = State.random(one, key)
    same_motion(
        rollout(one, start, None, 1e-3, **SEEN),
        one,
        rollout(two, start, None, 1e-3, **SEEN),
        two,
        one.link_names,
    )


def in_frame(link: Link, frame: Frame) -> Link:
    """The same body, its numbers given in another frame."""
    R = np.asarray(rotations.matrix(np.asarray(frame.orientation)))
    xx, yy, zz, xy, xz, yz = link.inertia
    I = R.T @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R
    com = R.T @ (np.asarray(link.com) - np.asarray(frame.position))
    six = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    return dataclasses.replace(link, com=tuple(com), inertia=six)


def test_the_order_of_a_description_changes_nothing_but_the_order(key):
    description = trees.random_tree(8, 5, kinds=("revolute", "prismatic", "fixed"))
    shuffled = dataclasses.replace(
        description, links=description.links[::-1], joints=description.joints[::-1]
    )
    one, two = compile_model(description), compile_model(shuffled)
    numbers = dict(zip(one.joint_names, range(5), strict=True))
    q, v = jax.random.normal(key, (2, one.dof))

    def reordered(x):
        rows = [r for name in two.joint_names for r in range(*one.layout.v_own[numbers[name]])]
        return x[np.array(rows)]

    same_motion(
        rollout(one, State(q, v), None, 1e-3, **SEEN), one,
        rollout(two, State(reordered(q), reordered(v)), None, 1e-3, **SEEN), two, one.link_names,
    )  # fmt: skip


UNIT = ("joint_orientation", "joint_axis", "point_orientation", "shape_orientation")


def test_lengths_of_quaternions_and_axes_do_not_matter(key):
    model = compile_model(trees.random_tree(2, 5))
    start = State.random(model, key)
    scaled = model
    for field, spec in leaf_fields():
        if field in UNIT and getattr(model, field).size:
            scaled = scaled.set(spec.name, 3.0 * getattr(model, field))
    record = ["link/pose", "point/position"]
    one, two = (rollout(m, start, None, 1e-3, steps=30, record=record) for m in (model, scaled))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_the_length_of_a_rest_quaternion_does_not_matter(key):
    model = compile_model(
        trees.pendulum(2, kind="spherical", stiffness=2.0, rest=(0.8, 0.1, 0.2, -0.3))
    )
    scaled = model.set("joint/rest_position", 3.0 * model.joint_rest_position)
    start = State.random(model, key)
    one, two = (rollout(m, start, None, 1e-3, steps=30).q for m in (model, scaled))
    np.testing.assert_allclose(one, two, atol=1e-12)


def test_moving_every_leaf_a_little_leaves_a_valid_model(key):
    model = compile_model(trees.menagerie())
    draw = np.random.default_rng(0)
    moved = jax.tree.map(lambda x: x + 1e-3 * draw.normal(size=x.shape), model)
    for name in SWITCHES:  # numbers that no joint uses here, and that are refused for it
        field = name.replace("/", "_")
        moved = dataclasses.replace(moved, **{field: getattr(model, field)})
    zeros = np.zeros((30, 1))
    motion = rollout(moved, State.random(moved, key), Control(position=zeros, velocity=zeros), 1e-3)
    assert bool(jnp.all(jnp.isfinite(motion.q)))
