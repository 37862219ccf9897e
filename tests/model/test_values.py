"""What the numbers of a model may be: one table for descriptions, `Model.set` and the bounds of a fit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.describe.values import MUST, WORDS, fault_in
from isthmus.errors import BadModel
from isthmus.model.leaves import faults_of_leaf
from isthmus.model.model import leaf_fields

BAD = {
    "not negative": -1.0,
    "less than one": 1.0,
    "positive": 0.0,
    "not zero": 0.0,
    "a share": 2.0,
    "at least one": 0.5,
    "possible inertia": -1.0,
}
RULED = [(spec, MUST[spec.quantity]) for _, spec in leaf_fields() if spec.quantity in MUST]
ROBOT = (
    ist.Builder()
    .add_link("rod", mass=1.0, com=(0.0, 0.0, -0.5), inertia=(0.1, 0.1, 0.01))
    .add_joint_revolute("hinge", None, "rod", axis=(0.0, 1.0, 0.0))
    .add_point("tip", "rod")
    .add_shape_sphere("rod", 0.1)
    .add_ground(-2.0)
    .model()
)


@pytest.mark.parametrize(("spec", "must"), RULED, ids=lambda x: getattr(x, "name", x))
def test_a_value_that_no_mechanism_has_is_refused_by_name(spec, must):
    with pytest.raises(BadModel, match=f"'{spec.name}' cannot be .*: it {WORDS[must]}"):
        ROBOT.set(spec.name, BAD[must])
    assert faults_of_leaf(spec, BAD[must])
    assert not faults_of_leaf(spec, ROBOT.get(spec.name))


def test_every_rule_is_that_of_a_leaf():
    assert {spec.quantity for spec, _ in RULED} == set(MUST)


def test_a_traced_value_is_not_judged():
    heavier = jax.jit(lambda m: ROBOT.set("link/mass", m).link_mass)
    np.testing.assert_array_equal(heavier(jnp.array(-1.0)), [-1.0])


def test_numbers_at_the_edge_of_what_is_possible_pass():
    for name in ("link/mass", "link/inertia", "joint/damping", "joint/effort", "shape/size"):
        ROBOT.set(name, 0.0)
    for thin in ((1.0, 1.0, 0.0), (0.5, 0.5, 1.0), (1.0, 2.0, 3.0)):
        ROBOT.set("link/inertia", (*thin, 0.0, 0.0, 0.0))
    assert fault_in("inertia", np.array([1.0, 2.0, 3.1, 0.0, 0.0, 0.0]))


def test_a_row_that_stays_as_it_was_is_not_judged():
    odd = ist.compile_model(_with_an_impossible_link())
    np.testing.assert_array_equal(
        odd.set("link/inertia", odd.link_inertia).link_inertia, odd.link_inertia
    )
    with pytest.raises(BadModel, match="principal inertia"):
        odd.set("link/inertia", 2.0 * odd.link_inertia)


def test_ends_of_travel_do_not_cross():
    with pytest.raises(BadModel, match=r"'hinge'.* lower limit 1 above its upper limit 0"):
        ROBOT.set("joint/upper", 0.0).set("joint/lower", 1.0)
    with pytest.raises(BadModel, match=r"'hinge'.* lower limit inf"):
        ROBOT.set("joint/lower", np.inf)


def _with_an_impossible_link() -> ist.Description:
    robot = ist.Builder().add_link("rod", mass=1.0, inertia=(1.0, 1.0, 9.0))
    return robot.add_joint_revolute("hinge", None, "rod").description()
