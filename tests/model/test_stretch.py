"""Stretching a link is the same as having built it longer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.dynamics import forward_dynamics
from isthmus.errors import BadOption, UnknownName
from isthmus.spatial import bodies


def rods(lengths: tuple | jax.Array = (1.0, 1.0), masses: tuple = (1.0, 1.0)) -> ist.Model:
    """A double pendulum of ideally thin rods."""
    robot = ist.Builder("rods")
    for i in range(2):
        half = 0.5 * lengths[i]
        moment = bodies.rod(masses[i], lengths[i])
        robot.add_link(f"rod_{i + 1}", mass=masses[i], com=(0.0, 0.0, -half), inertia=moment)
    robot.add_joint_revolute("joint_1", None, "rod_1", axis=(0.0, 1.0, 0.0))
    below = (0.0, 0.0, -lengths[0])
    robot.add_joint_revolute("joint_2", "rod_1", "rod_2", axis=(0.0, 1.0, 0.0), position=below)
    robot.add_shape_capsule("rod_2", 0.05, 0.5 * lengths[1])
    robot.add_point("tip", "rod_2", (0.0, 0.0, -lengths[1]))
    return robot.model()


SHORT = rods()
Q, V = jnp.array([0.8, 0.4]), jnp.array([0.3, -0.2])


@jax.jit
def swing(model: ist.Model) -> jax.Array:
    return forward_dynamics(model, Q, V, jnp.zeros(2))


@pytest.mark.compiles_much("a model is stretched number by number")
@pytest.mark.parametrize("factor", [0.5, 1.0, 1.7])
def test_a_stretched_rod_swings_as_a_longer_one(factor: float):
    stretched = ist.stretch(SHORT, "rod_1", factor)
    longer = rods((factor, 1.0))
    np.testing.assert_allclose(swing(stretched), swing(longer), rtol=1e-12)


def test_at_constant_density_the_mass_grows_with_the_length():
    stretched = ist.stretch(SHORT, "rod_2", 2.0, constant="density")
    longer = rods((1.0, 2.0), (1.0, 2.0))
    np.testing.assert_allclose(swing(stretched), swing(longer), rtol=1e-12)


def test_its_derivative_is_that_of_the_length():
    stretched = lambda f: swing(ist.stretch(SHORT, "rod_1", f))
    longer = lambda f: swing(rods(jnp.stack([f, jnp.array(1.0)])))
    by_factor, by_length = (jax.jit(jax.jacfwd(f))(1.0) for f in (stretched, longer))
    np.testing.assert_allclose(by_factor, by_length, rtol=1e-10)


def test_points_and_shapes_follow():
    stretched = ist.stretch(SHORT, "rod_2", 1.5)
    np.testing.assert_allclose(stretched.get("point/tip/origin"), [0.0, 0.0, -1.5])
    np.testing.assert_allclose(stretched.shape_size[0][1], 1.5 * SHORT.shape_size[0][1])
    np.testing.assert_allclose(stretched.shape_size[0][0], SHORT.shape_size[0][0])


def test_what_cannot_be_stretched_is_said():
    with pytest.raises(UnknownName, match="rod_1"):
        ist.stretch(SHORT, "rod1", 2.0)
    with pytest.raises(BadOption, match="positive factor"):
        ist.stretch(SHORT, "rod_1", -1.0)
    with pytest.raises(BadOption, match="no length"):
        ist.stretch(ist.library.cube(), "cube", 2.0)


def test_its_numbers_keep_64_bits_whatever_jax_is_set_to():
    wide = ist.stretch(SHORT, "rod_2", 1.7)
    with jax.enable_x64(False):
        found = ist.stretch(SHORT, "rod_2", 1.7)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wide), strict=True):
        np.testing.assert_array_equal(x, y)
