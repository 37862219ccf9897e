"""Inverse dynamics is linear in the parameters, and the matrix is Pinocchio's too."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings

import isthmus as ist
from isthmus.dynamics import inverse_dynamics, passive_torque
from isthmus.errors import BadOption
from isthmus.identify.torque.regressor import (
    OF_JOINT,
    link_of,
    parameter_names,
    parameter_vector,
    regressor,
    ten_of,
)
from tests import trees
from tests.oracles.by_pinocchio import pinocchio_of
from tests.oracles.quantities import sample


@settings(max_examples=4)
@given(trees.random_trees)
def test_torques_are_linear_in_the_parameters(tree):
    model = ist.compile_model(trees.random_tree(**tree | {"size": min(tree["size"], 4)}))
    x, pi = sample(model, tree["seed"]), parameter_vector(model, joints=["armature"])
    both = lambda q, v, a: (
        regressor(model, q, v, a, joints=["armature"]) @ pi,
        inverse_dynamics(model, q, v, a),
    )
    ours, known = jax.jit(both)(x["q"], x["v"], x["a"])
    np.testing.assert_allclose(ours, known, rtol=1e-9, atol=1e-9)


@pytest.mark.loose
def test_friction_armature_and_offset_are_columns_beside_the_links():
    model = ist.compile_model(trees.menagerie())
    stiff = model.set("joint/stiffness", 0.0)
    x = sample(model)
    pi = parameter_vector(stiff, joints=OF_JOINT)
    pi[-model.dof :] = np.arange(model.dof)

    @jax.jit
    def both(q, v, a):
        motors = inverse_dynamics(stiff, q, v, a) - passive_torque(stiff, q, v)
        return regressor(stiff, q, v, a, joints=OF_JOINT), motors + jnp.arange(1.0 * model.dof)

    Y, motors = both(x["q"], x["v"], x["a"])
    np.testing.assert_allclose(Y @ pi, motors, rtol=1e-9, atol=1e-9)
    names = parameter_names(model, joints=OF_JOINT)
    assert len(names) == len(pi) == Y.shape[1]
    assert (names[1], names[-1]) == ("m·cx of 'cart'", "offset of 'drive'")


def test_the_matrix_is_pinocchios_in_another_order():
    description = trees.arm()
    model, theirs = ist.compile_model(description), pinocchio_of(description)
    x = sample(model)
    ours = jax.jit(lambda q, v, a: regressor(model, q, v, a))(x["q"], x["v"], x["a"])
    Y = pin.computeJointTorqueRegressor(theirs.pin, theirs.data, x["q"], x["v"], x["a"])
    order = [0, 1, 2, 3, 4, 6, 9, 5, 7, 8]  # theirs: Ixx, Ixy, Iyy, Ixz, Iyz, Izz
    Y = np.array(Y).reshape(model.dof, -1, 10)[:, :, order]
    np.testing.assert_allclose(ours, Y.reshape(model.dof, -1), rtol=1e-10, atol=1e-10)


def test_ten_numbers_and_a_link_are_the_same():
    link = trees.random_link(np.random.default_rng(0), "a")
    ten = ten_of(link.mass, np.array(link.com), np.array(link.inertia))
    mass, com, inertia = link_of(ten)
    np.testing.assert_allclose([mass, *com, *inertia], [link.mass, *link.com, *link.inertia])


def test_the_matrix_is_differentiable_and_an_unknown_column_is_named():
    model = ist.library.pendulum(1)
    matrix = lambda q: regressor(model, q, jnp.ones(1), jnp.ones(1))
    slope = jax.jit(jax.jacfwd(matrix))(jnp.zeros(1))
    assert np.isfinite(slope).all()
    with pytest.raises(BadOption, match=r"joints is 'dampng'.*Did you mean 'damping'"):
        regressor(model, np.zeros(1), np.zeros(1), np.zeros(1), joints=["dampng"])
