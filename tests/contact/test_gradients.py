"""Derivatives through contact are right: of impacts beside the truth, at rest and in sliding beside differences."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from tests.contact.bodies import G, at, ball, block

RADIUS, DT = 0.1, 1e-3


def height_at(h, e, time):
    """The height [m] of a ball dropped from `h`, from one impact to the next."""
    z, v, t = h - RADIUS, 0.0, 0.0
    for _ in range(100):
        flight = (v + np.sqrt(v * v + 2.0 * G * z)) / G
        if t + flight > time:
            break
        t, v, z = t + flight, -e * (v - G * flight), 0.0
    rest = time - t
    return RADIUS + z + v * rest - 0.5 * G * rest * rest


def true_slope(h, e, time):
    return (height_at(h + 1e-7, e, time) - height_at(h - 1e-7, e, time)) / 2e-7


def slopes_of(order, steps):
    """`dz/dh` of a dropped ball after each step, as native code in forward mode, by height and restitution."""
    model = ball(ist.Contact(restitution=0.5), order=order)

    def heights(h, e):
        start = ist.State(jnp.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]).at[2].set(h), jnp.zeros(6))
        return ist.rollout(model.set("contact/restitution", e[None]), start, None, DT, steps).q[
            :, 2
        ]

    slope = lambda h, e: jax.jvp(lambda h: heights(h, e), (h,), (jnp.ones_like(h),))[1]
    return ist.native.compile(slope, np.float64(0.6), np.float64(0.5))


@pytest.fixture(scope="module")
def slopes():
    return slopes_of("impact", 800)


@pytest.mark.parametrize(("e", "h"), [(0.5, 0.6), (0.5, 1.0), (0.8, 0.3), (0.8, 0.6), (0.8, 1.0)])
def test_the_derivative_of_a_bouncing_ball_is_that_of_the_events(slopes, e, h):
    found = slopes(np.float64(h), np.float64(e))
    for steps in (300, 400, 500, 600, 700, 800):
        np.testing.assert_allclose(found[steps], true_slope(h, e, steps * DT), atol=0.01)


def test_the_known_case_is_0_82_and_1_where_impacts_wait_for_the_end_of_the_step(slopes):
    """A ball of radius 0.1 from 0.6 m, e = 0.5, 600 steps of 1 ms: the truth is 0.8189."""
    case = np.float64(0.6), np.float64(0.5)
    np.testing.assert_allclose(true_slope(*case, 0.6), 0.8189, atol=1e-4)
    np.testing.assert_allclose(slopes(*case)[600], 0.8189, atol=0.01)
    np.testing.assert_allclose(slopes_of("plain", 600)(*case)[600], 1.0, atol=1e-12)


CASES = {
    "resting": (0.8, (0.0,) * 6),
    "sliding": (0.3, (1.0, 0.4, 0.0, 0.0, 0.0, 0.5)),
}
NUMBERS = ("friction", "mass", "height", "speed")


@pytest.mark.parametrize("kind", ["impulse", "penalty"])
def test_gradients_of_fifty_steps_agree_with_differences(kind):
    model = block(ist.Contact(kind, stiffness=2e4, friction_speed=0.05))

    def end(x, v):
        """Where a block is after 50 steps, by friction, mass, height of the ground and speed."""
        changed = model.set("contact/friction", jnp.full(8, 1.0) * x[0]).set("link/mass", x[1:2])
        changed = changed.set("shape/ground/origin", jnp.zeros(3).at[2].set(x[2]))
        start = ist.State(jnp.asarray(at((0, 0, 0.0499)).q), v + x[3] * jnp.eye(6)[0])
        motion = ist.rollout(changed, start, None, DT, 50)
        return jnp.concatenate([motion.q[-1, :3], motion.v[-1]])

    x, v = np.zeros(4), np.zeros(6)
    forward = ist.native.compile(lambda x, v, d: jax.jvp(lambda x: end(x, v), (x,), (d,)), x, v, x)
    reverse = ist.native.compile(jax.grad(lambda x, v, w: w @ end(x, v)), x, v, np.zeros(9))
    w = np.random.default_rng(0).normal(size=9)
    for friction, velocity in CASES.values():
        x, v = np.array([friction, 2.0, 0.0, 0.0]), np.array(velocity)
        gradient = reverse(x, v, w)
        for n, step in enumerate((1e-6, 1e-6, 1e-8, 1e-7)):
            d = np.eye(4)[n]
            above, below = (forward(x + h * d, v, d)[0] for h in (step, -step))
            numeric, slope = (above - below) / (2.0 * step), forward(x, v, d)[1]
            scale = max(1.0, np.abs(numeric).max())
            np.testing.assert_allclose(slope, numeric, atol=2e-4 * scale, err_msg=NUMBERS[n])
            np.testing.assert_allclose(gradient[n], w @ slope, rtol=1e-7, atol=1e-9 * scale)


def test_a_cube_that_comes_to_rest_on_a_face_has_the_derivative_of_differences():
    """Four corners share its load, and their impacts contradict each other; gradients of a fit grew to 1e19 there."""
    cube = lambda x: ist.library.cube(contact=ist.Contact(friction=x[0], restitution=x[1]))
    truth, dt = np.array([0.25, 0.3]), 1 / 240
    thrown = ist.State([0, 0, 0.25, 1, 0, 0, 0], [0.4, 0.2, 0.0, 1.0, 8.0, 0.5])
    motion = ist.rollout(cube(truth), thrown, None, dt, 100, record="contact/residual")
    assert motion.signals["contact/residual"].max() < 1e-6
    end = lambda x, q, v: ist.rollout(cube(x), ist.State(q, v), None, dt, 10).q[-1]
    args = truth, motion.q[0], motion.v[0]
    both = lambda x, q, v, d: jax.jvp(lambda x: end(x, q, v), (x,), (d,))
    f = ist.native.compile(both, *args, truth)
    for k in (76, 84, 88):
        for d in np.eye(2):
            above, below = (f(truth + h * d, motion.q[k], motion.v[k], d)[0] for h in (1e-6, -1e-6))
            slope = f(truth, motion.q[k], motion.v[k], d)[1]
            np.testing.assert_allclose(slope, (above - below) / 2e-6, atol=2e-3)


def test_steps_that_are_computed_again_give_the_same_gradient():
    model = ball(ist.Contact(restitution=0.5, friction=0.4))
    start = at((0.0, 0.0, 0.101), v=(0.5, 0.0, -1.0, 0.0, 0.0, 1.0))

    def gradient(checkpoint):
        end = lambda q, v: ist.rollout(
            model, ist.State(q, v), None, DT, 5, checkpoint=checkpoint
        ).v[-1]
        slope = jax.grad(lambda q, v: jnp.sum(end(q, v) ** 2), argnums=(0, 1))
        return np.concatenate(ist.native.compile(slope, start.q, start.v)(start.q, start.v))

    plain = gradient(None)
    assert np.abs(plain).max() > 0.1
    for checkpoint in (2, "auto"):
        np.testing.assert_allclose(gradient(checkpoint), plain, rtol=1e-10, atol=1e-12)


def test_native_code_xla_and_many_worlds_give_one_motion():
    model = ball(ist.Contact(restitution=0.5, friction=0.4))
    start = at((0.0, 0.0, 0.13), v=(0.5, 0.0, -1.0, 0.0, 0.0, 1.0))
    one = ist.rollout(model, start, None, DT, 50)
    xla = ist.rollout(model, start, None, DT, 50, engine="xla")
    np.testing.assert_allclose(one.q, xla.q, atol=1e-12)
    q = np.tile(start.q, (9, 1))
    q[:, 2] += 0.01 * np.arange(9)
    many = ist.rollout_many(model, ist.State(q, np.tile(start.v, (9, 1))), None, DT, 50)
    np.testing.assert_allclose(many.q[0], one.q, atol=1e-12)
    fourth = ist.rollout(model, ist.State(q[4], start.v), None, DT, 50)
    np.testing.assert_allclose(many.q[4], fourth.q, atol=1e-12)


def test_check_gradients_tells_of_impacts():
    model = ball(ist.Contact(restitution=0.5))
    report = ist.check_gradients(
        model, at((0.0, 0.0, 0.11), v=(0.5, 0.0, -1.0, 0.0, 0.0, 0.0)), None, DT, steps=20
    )
    assert report.ok
    assert "1 impact in these steps" in str(report)


def test_springs_under_a_body_along_its_main_axes_have_one_derivative_by_products_of_inertia():
    """Most descriptions have zeros there; whether friction is taken implicitly must not turn on their signs."""
    model = block(ist.Contact("penalty", friction=0.4))
    start = at((0.0, 0.0, 0.07), (0.9, 0.3, 0.2, 0.1), v=(0.5, 0.3, -0.5, 1.0, 2.0, 3.0))

    def end(products):
        inertia = jnp.asarray(model.link_inertia)[0].at[3:].set(products)
        moved = model.set("link/block/inertia", inertia)
        return ist.rollout(moved, start, None, DT, 40, substeps=2).v[-1].sum()

    f, slope = (ist.native.compile(g, np.zeros(3)) for g in (end, jax.grad(end)))
    for n, d in enumerate(1e-7 * np.eye(3)):
        sides = f(d) - f(np.zeros(3)), f(np.zeros(3)) - f(-d)
        np.testing.assert_allclose(sides, 1e-7 * slope(np.zeros(3))[n], rtol=1e-4, atol=1e-11)
