"""The models that we ship: they move, and they are differentiable in what they are given."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption, MissingExtra
from tests.compiled import forward_dynamics, forward_kinematics

MODELS = {
    "pendulum": (lambda: ist.library.pendulum(3), 3),
    "spherical pendulum": (lambda: ist.library.pendulum(2, joints="spherical"), 6),
    "cart-pole": (ist.library.cart_pole, 2),
    "swimmer": (lambda: ist.library.swimmer(4, limits=True), 6),
    "pusher": (ist.library.pusher, 6),
    "cube": (ist.library.cube, 6),
    "arm": (ist.library.arm, 7),
    "quadruped": (ist.library.quadruped, 18),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_its_degrees_of_freedom_and_accelerates(name: str, key: jax.Array):
    make, dof = MODELS[name]
    model = make()
    state = ist.State.random(model, key)
    a = jax.jit(forward_dynamics)(model, state.q, state.v, np.zeros(model.dof))
    assert model.dof == dof
    assert np.all(np.isfinite(a))


def test_the_quadruped_weighs_what_the_real_one_does_and_stands_symmetrically():
    robot = ist.library.quadruped()
    assert 11.0 < robot.link_mass.sum() < 13.0
    feet = [n for n in robot.point_names if n.endswith("_foot")]
    k = forward_kinematics(robot, ist.State.neutral(robot).q)
    position = np.asarray(k.position)
    place = {n: position[robot.link(n.replace("foot", "calf"))] for n in feet}
    mirrored = place["FR_foot"] * np.array([1.0, -1.0, 1.0])
    np.testing.assert_allclose(place["FL_foot"], mirrored, atol=1e-12)


def test_a_pendulum_is_differentiable_in_lengths_and_masses():
    @jax.jit
    def swing(numbers: jax.Array) -> jax.Array:
        model = ist.library.pendulum(lengths=numbers[:2], masses=numbers[2:])
        zero = jnp.zeros(2)
        return forward_dynamics(model, jnp.array([0.8, 0.4]), zero, zero).sum()

    x, h = jnp.array([1.0, 0.7, 0.5, 2.0]), 1e-5
    steps = h * jnp.eye(4)
    differences = [(swing(x + d) - swing(x - d)) / (2 * h) for d in steps]
    np.testing.assert_allclose(
        jax.jit(jax.grad(swing))(x), jnp.stack(differences), rtol=1e-7, atol=1e-8
    )


def test_wrong_numbers_are_refused_in_words():
    with pytest.raises(BadOption, match="3 numbers for 2 rods"):
        ist.library.pendulum(2, lengths=(1.0, 1.0, 1.0))
    with pytest.raises(BadOption, match="1 to 1000 rods"):
        ist.library.pendulum(0)
    with pytest.raises(BadOption, match="whole number of links"):
        ist.library.swimmer(0)


def test_robots_by_name_come_from_an_installed_package_or_say_which(monkeypatch):
    import importlib.metadata

    def nothing(name: str):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", nothing)
    with pytest.raises(MissingExtra, match=r"isthmus\[models\]"):
        ist.library.find("panda")
