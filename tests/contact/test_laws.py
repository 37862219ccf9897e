"""What any contact must do: lose energy, hold on slopes, bounce, slide to a stop, roll, carry the weight."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.contact.penalty import advised_substeps
from tests.contact.bodies import G, at, ball, block, kinetic, moved

FLAT = (1.0, 0.0, 0.0, 0.0)
CUBE = (0.05, 0.05, 0.05)
PARTS = {"impulse": 1, "penalty": 2}


def lowest(half, turn):
    """How far below its centre a box reaches [m]."""
    w, *u = np.asarray(turn) / np.linalg.norm(turn)
    z = 2.0 * np.array([u[0] * u[2] - w * u[1], u[1] * u[2] + w * u[0], 0.0])
    z[2] = 1.0 - 2.0 * (u[0] ** 2 + u[1] ** 2)
    return float(np.abs(z) @ np.asarray(half))


def one_step(start, **numbers):
    """A single step of a cube without gravity, so that all that changes velocities is the solve."""
    contact = ist.Contact(friction=0.7, softness=0.0, restitution_speed=0.0, **numbers)
    model = block(contact, half=CUBE).set("gravity", np.zeros(3))
    return model, start.v, ist.step(model, start, None, 1e-3).v


def thrown(rng, deep):
    """A cube that touches with one corner, `deep` [m] in the ground, and moves at random."""
    turn = rng.normal(size=4)
    height = lowest(CUBE, turn) - deep
    return at((0.0, 0.0, height), turn, rng.normal(size=6) * np.array([1, 1, 1, 5, 5, 5]))


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_kinetic_energy_never_grows_in_one_solve(restitution):
    rng = np.random.default_rng(3)
    for n in range(30):
        flat = at((0.0, 0.0, 0.05), FLAT, rng.normal(size=6) * np.array([1, 1, 1, 5, 5, 5]))
        start = flat if n % 2 else thrown(rng, 1e-9)
        model, before, after = one_step(start, erp=0.0, restitution=restitution)
        assert kinetic(model, after) <= kinetic(model, before) * (1.0 + 1e-12)


def test_lifting_out_adds_at_most_the_energy_of_its_own_speed():
    """A block at rest in the ground leaves it at `erp · depth / dt` along the normal, not faster."""
    for deep in (1e-4, 9e-4):
        model, _, after = one_step(at((0.0, 0.0, 0.05 - deep)), erp=0.2)
        lift = 0.2 * deep / 1e-3
        assert kinetic(model, after) <= 0.5 * 2.0 * lift**2 * (1.0 + 1e-9)
        np.testing.assert_allclose(after[2], lift, rtol=1e-9)


def test_springs_without_damping_return_the_energy():
    """At √(k/m)·dt = 0.1 a ball comes up again to where it was, within 10⁻³."""
    stiffness, dt = 1e4, 1e-3
    model = ball(
        ist.Contact("penalty", friction=0.0, stiffness=stiffness, damping=0.0, exponent=1.0)
    )
    motion = moved(model, at((0.0, 0.0, 0.3)), dt, 500)
    assert np.any(motion.signals["contact/depth"] > 0.0)
    assert motion.signals["contact/depth"][-1] < 0.0
    top = motion.q[250:, 2].max() - 0.1
    assert 0.2 * (1.0 - 1e-2) < top < 0.2 * (1.0 + 1e-3)


@pytest.mark.parametrize("kind", ["impulse", "penalty"])
def test_a_block_holds_on_a_slope_below_the_friction_angle_and_slides_above(kind):
    friction = 0.5
    for angle, slides in ((np.arctan(friction) - 0.02, False), (np.arctan(friction) + 0.02, True)):
        model = block(ist.Contact(kind, friction=friction), ground=ist.Ground(tilt=(0.0, angle)))
        normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
        start = at(0.05 * normal, (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0))
        motion = moved(model, start, 1e-3, 500, substeps=PARTS[kind])
        down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
        gained = float((motion.v[-1, :3] - motion.v[250, :3]) @ down)
        wanted = 0.25 * G * (np.sin(angle) - friction * np.cos(angle)) if slides else 0.0
        assert abs(gained - wanted) < max(0.05 * wanted, 3e-3), (kind, angle)


def test_a_ball_bounces_to_the_square_of_its_restitution():
    for e in (0.3, 0.8, 1.0):
        motion = moved(ball(ist.Contact(restitution=e)), at((0.0, 0.0, 0.6)), 1e-3, 1000)
        z = motion.q[:, 2] - 0.1
        first = int(np.argmin(z[:400]))
        np.testing.assert_allclose(z[first:][: int(0.75 * 1000 * e)].max(), 0.5 * e**2, rtol=5e-3)


def test_a_block_slides_as_far_as_its_friction_lets_it():
    speed, friction = 1.0, 0.4
    motion = moved(
        block(ist.Contact(friction=friction)),
        at((0, 0, 0.05), FLAT, (speed, 0, 0, 0, 0, 0)),
        1e-3,
        500,
    )
    np.testing.assert_allclose(motion.q[-1, 0], speed**2 / (2 * friction * G), rtol=6e-3)
    assert np.abs(motion.v[-1]).max() < 1e-8


def test_a_ball_that_slides_ends_up_rolling_with_five_sevenths_of_its_speed():
    model = ball(ist.Contact(friction=0.3))
    motion = moved(model, at((0, 0, 0.1), FLAT, (1.0, 0, 0, 0, 0, 0)), 1e-3, 500)
    v, turning = motion.v[-1, 0], np.linalg.norm(motion.v[-1, 3:])
    np.testing.assert_allclose([v, 0.1 * turning], 5.0 / 7.0, rtol=1e-6)


@pytest.mark.parametrize("kind", ["impulse", "penalty"])
def test_normal_forces_add_up_to_the_weight_after_settling(kind):
    motion = moved(
        block(ist.Contact(kind, damping=100.0)),
        at((0.0, 0.0, 0.052)),
        1e-3,
        500,
        substeps=PARTS[kind],
    )
    np.testing.assert_allclose(motion.signals["contact/normal_force"][-1].sum(), 2.0 * G, rtol=1e-6)


@pytest.mark.parametrize("kind", ["impulse", "penalty"])
def test_a_turned_world_gives_the_turned_motion(kind):
    """Ground, gravity, start and motion, all turned about the y axis and moved along the slope."""
    angle = 0.3
    R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    turn = np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])
    v = np.array([0.4, 0.1, -0.5, 1.0, 2.0, 0.5])
    contact = ist.Contact(kind, friction=0.5)
    level = moved(block(contact), at((0, 0, 0.1), FLAT, v), 1e-3, 150, substeps=PARTS[kind])
    model = block(contact, ground=ist.Ground(tilt=(0.0, angle))).set("gravity", R @ [0.0, 0.0, -G])
    there = moved(
        model, at(R @ [0, 0, 0.1], turn, np.r_[R @ v[:3], v[3:]]), 1e-3, 150, substeps=PARTS[kind]
    )
    np.testing.assert_allclose(there.q[:, :3], level.q[:, :3] @ R.T, atol=1e-7)
    np.testing.assert_allclose(there.v[:, 3:], level.v[:, 3:], atol=1e-5)


def test_a_block_that_lands_flat_bounces_flat():
    """Four impacts at once share one time and one load: no turn comes of it."""
    model = block(ist.Contact(friction=0.5, restitution=0.5))
    motion = moved(model, at((0.0, 0.0, 0.15)), 1e-3, 250)
    assert np.abs(motion.v[:, 3:]).max() < 1e-9
    impact = int(np.argmax(motion.v[:, 2]))
    np.testing.assert_allclose(motion.v[impact, 2], 0.5 * np.sqrt(2 * G * 0.1), rtol=0.01)
    assert motion.q[:, 2].min() > 0.05 - 1e-6


def test_springs_that_follow_the_advice_give_no_energy():
    """Cubes on corners and edges, thrown: where the advice says one step is enough, no toss gains energy."""
    model = ist.library.cube(contact="penalty")
    dt = 1.0 / 148.0 / advised_substeps(model, 1.0 / 148.0)
    assert advised_substeps(model, dt) == 1
    rng = np.random.default_rng(0)
    q, v = np.zeros((64, 7)), rng.normal(size=(64, 6)) * ([1.0] * 3 + [5.0] * 3)
    q[:, 2], q[:, 3:] = 0.2, rng.normal(size=(64, 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    motion = ist.rollout_many(model, ist.State(q, v), None, dt, 600)
    mass, inertia = float(model.link_mass[0]), 0.37 * 0.1048**2 / 6.0
    kinetic = mass * np.sum(motion.v[..., :3] ** 2, -1) + inertia * np.sum(
        motion.v[..., 3:] ** 2, -1
    )
    energy = mass * G * motion.q[..., 2] + 0.5 * kinetic
    assert np.all(energy <= (1.0 + 1e-3) * energy[:, :1])


def stiff_block(friction, speed, angle=0.0):
    """A block that rests on a slope, on springs, with friction that a step of 1 ms cannot follow, and its state."""
    contact = ist.Contact(
        "penalty",
        friction=friction,
        friction_speed=speed,
        stiffness=2e4,
        damping=100.0,
        exponent=1.0,
    )
    model = block(contact, ground=ist.Ground(tilt=(0.0, angle)))
    deep = 2.0 * G * np.cos(angle) / 4.0 / 2e4
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    return model, at((0.05 - deep) * normal, (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0))


def test_stiff_friction_of_springs_stops_a_block_and_brings_in_no_energy():
    model, start = stiff_block(friction=0.8, speed=1e-4)
    start = ist.State(start.q, np.array([0.3, 0.1, 0.0, 0.0, 0.0, 2.0]))
    motion = moved(model, start, 1e-3, 100)
    depth = np.maximum(motion.signals["contact/depth"], 0.0)
    moving = kinetic(model, motion.v)
    energy = moving + 2.0 * G * motion.q[:, 2] + 1e4 * np.sum(depth**2, axis=1)
    assert np.all(np.diff(energy) <= 1e-3 * moving[0])
    assert moving[-1] < 1e-5 * moving[0]


def test_a_block_creeps_down_a_slope_as_its_friction_law_says_however_long_the_step():
    friction, speed, angle = 0.8, 2e-3, 0.3
    motion = moved(*stiff_block(friction, speed, angle), 1e-3, 250)
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    creep = speed / 4.0 * np.arctanh(np.tan(angle) / friction)
    np.testing.assert_allclose(motion.v[-1, :3] @ down, creep, rtol=1e-3)


def test_friction_of_springs_that_is_not_stiff_is_explicit():
    model, start = stiff_block(friction=0.1, speed=1.0)
    start = ist.State(start.q, np.array([0.3, 0.1, 0.0, 0.0, 0.0, 2.0]))
    implicit, explicit = (ist.step(model, start, None, 1e-3, explicit=e).v for e in (False, True))
    np.testing.assert_allclose(implicit, explicit, rtol=1e-12, atol=1e-14)
