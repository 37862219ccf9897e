"""Friction of springs that grows less than the load: `contact/friction_load`."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.contact.penalty import friction_slope
from isthmus.errors import BadModel
from isthmus.files.topology import with_extras
from tests.contact.bodies import at, block

LOAD = 0.05
SPRINGS = ist.Contact(
    "penalty", friction=0.3, friction_speed=0.05, friction_load=LOAD, stiffness=2e4, exponent=1.0
)
SLIDING = at((0.0, 0.0, 0.0495), v=(1.0, 0.4, 0.0, 0.0, 0.0, 0.5))


def slopes(sliding, normal, load):
    return friction_slope(sliding, normal, np.full(3, 0.3), np.full(3, 0.05), load)


@pytest.fixture(scope="module")
def points():
    """Sliding velocities (fast, slow, none), normal forces and loads."""
    sliding = np.array([[1.0, 0.4, 0.0], [0.01, 0.0, 0.0], [0.0, 0.0, 0.0]])
    return sliding, np.array([40.0, 2.0, 300.0]), np.array([0.05, 0.0, 0.002])


def test_friction_at_a_corner_is_mu_times_f_over_one_plus_load_times_f():
    record = ("contact/normal_force", "contact/friction_force", "contact/velocity")
    motion = ist.rollout(block(SPRINGS), SLIDING, None, 1e-3, 20, record)
    normal, rubbed, velocity = (np.asarray(motion.signals[name]) for name in record)
    speed = np.linalg.norm(velocity[..., :2], axis=-1)
    expected = 0.3 * normal / (1.0 + LOAD * normal) * np.tanh(4.0 * speed / 0.05)
    np.testing.assert_allclose(np.linalg.norm(rubbed, axis=-1), expected, rtol=1e-9, atol=1e-12)
    assert LOAD * normal.max() > 0.3  # the load matters


def test_friction_never_falls_with_the_load_and_is_bounded():
    normal = np.geomspace(1e-3, 1e6, 50)
    sliding = np.tile([1.0, 0.0, 0.0], (50, 1))
    force = np.asarray(
        friction_slope(sliding, normal, *(np.full(50, x) for x in (0.3, 0.05, LOAD)))
    )
    assert np.all(np.diff(force) > 0.0)
    np.testing.assert_allclose(force[-1], 0.3 / LOAD, rtol=1e-4)


def test_without_a_load_friction_is_coulombs(points):
    sliding, normal, _ = points
    found = np.asarray(slopes(sliding, normal, np.zeros(3)))
    unit = np.asarray(slopes(sliding, np.ones(3), np.zeros(3))) / 0.3
    np.testing.assert_allclose(found, 0.3 * normal * unit, rtol=1e-15)


def test_native_code_gives_the_same_friction_and_derivatives(points):
    f = lambda s, n, d: jax.jvp(slopes, (s, n, d), (s, n, np.ones(3)))
    for ours, theirs in zip(
        ist.native.compile(f, *points)(*points), jax.jit(f)(*points), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_the_gradient_of_a_sliding_block_by_the_load_agrees_with_differences():
    model = block(SPRINGS)

    def end(load):
        changed = model.set("contact/friction_load", load * np.ones(8))
        return ist.rollout(changed, SLIDING, None, 1e-3, 20).v[-1, :2]

    both = ist.native.compile(lambda x: jax.jvp(end, (x,), (np.ones(()),)), np.float64(LOAD))
    value = lambda load: both(np.float64(load))[0]
    numeric = (value(LOAD + 1e-6) - value(LOAD - 1e-6)) / 2e-6
    np.testing.assert_allclose(both(np.float64(LOAD))[1], numeric, rtol=1e-5)
    assert numeric[0] > 0.02  # less friction, more speed


def test_a_negative_load_is_refused_and_older_files_have_none():
    with pytest.raises(
        BadModel, match="'contact/friction_load' cannot be -1: it must not be negative"
    ):
        block(ist.Contact("penalty", friction_load=-1.0))
    fields = with_extras(
        {"joint_kinds": ("free",), "mimics": (), "contact_kinds": ("penalty",) * 8}
    )
    np.testing.assert_array_equal(fields["contact_friction_load"], np.zeros(8))
