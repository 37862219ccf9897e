"""Bodies that touch each other: momentum, energy, stacks, pushing, and a gripper beside MuJoCo's."""

from __future__ import annotations

import jax
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import isthmus as ist
from isthmus.spatial import bodies
from tests.contact.bodies import moved

STILL = (1.0, 0.0, 0.0, 0.0)


def free_box(robot, name, half, mass):
    robot.add_link(name, mass=mass, inertia=bodies.box(mass, *(2.0 * h for h in half)))
    robot.add_joint_free(f"{name}_flight", None, name)
    robot.add_shape_box(name, half, name=name)


def two_balls(**numbers):
    robot = ist.Builder("balls", gravity=(0.0, 0.0, 0.0))
    for name, mass in (("a", 1.0), ("b", 2.0)):
        robot.add_link(name, mass=mass, inertia=bodies.sphere(mass, 0.1))
        robot.add_joint_free(f"{name}_flight", None, name)
        robot.add_shape_sphere(name, 0.1, name=name)
    return ist.with_contact(robot.model(), ist.Contact(**numbers), pairs=[("a", "b")])


def two_boxes(**numbers):
    robot = ist.Builder("boxes", gravity=(0.0, 0.0, 0.0))
    free_box(robot, "a", (0.1, 0.07, 0.04), 1.0)
    free_box(robot, "b", (0.06, 0.06, 0.09), 2.0)
    return ist.with_contact(robot.model(), ist.Contact(**numbers), pairs=[("a", "b")])


def stack(count, masses, heights, side=0.003):
    """Cubes on top of each other, of which the lowest touches the ground; each is a bit to the side of the next."""
    robot = ist.Builder("stack")
    for i in range(count):
        free_box(robot, f"box{i}", (0.05, 0.05, 0.05), masses[i])
    model = ist.with_contact(
        robot.model(),
        ist.Contact(shapes="box0", friction=0.5),
        ground=ist.Ground(),
        pairs=[(f"box{i}", f"box{i + 1}") for i in range(count - 1)],
    )
    q = np.concatenate([[side * (-1) ** i, 0.0, heights[i], *STILL] for i in range(count)])
    return model, ist.State(q, np.zeros(6 * count))


def momenta(model, motion):
    """Momentum [N·s], angular momentum about the origin [N·m·s] (of balls) and kinetic energy [J] of free bodies."""
    q, v = np.asarray(motion.q), np.asarray(motion.v)
    p, L, E = 0.0, 0.0, 0.0
    for i, mass in enumerate(np.asarray(model.link_mass)):
        linear, turning = v[:, 6 * i : 6 * i + 3], v[:, 6 * i + 3 : 6 * i + 6]
        moments = np.asarray(model.link_inertia)[i, :3]
        p = p + mass * linear
        L = L + mass * np.cross(q[:, 7 * i : 7 * i + 3], linear) + moments * turning
        E = E + 0.5 * mass * np.sum(linear**2, 1) + 0.5 * np.sum(moments * turning**2, 1)
    return p, L, E


def collision(model):
    """One ball meets another, off the centre and spinning."""
    q = np.r_[-0.3, 0.02, 0.0, STILL, 0.1, 0.0, 0.0, STILL]
    v = np.r_[1.0, 0.0, 0.0, 0.0, 0.0, 3.0, np.zeros(6)]
    return moved(model, ist.State(q, v), 1e-3, 400)


def test_a_collision_of_two_free_bodies_keeps_momentum_and_turning():
    model = two_balls(restitution=0.5, friction=0.3)
    p, L, E = momenta(model, collision(model))
    np.testing.assert_allclose(p, np.broadcast_to(p[:1], p.shape), atol=1e-12)
    np.testing.assert_allclose(L, np.broadcast_to(L[:1], L.shape), atol=1e-6)
    assert E[-1] < 0.9 * E[0]


def test_smooth_elastic_balls_part_as_they_came():
    model = two_balls(restitution=1.0, friction=0.0)
    motion = collision(model)
    _, _, E = momenta(model, motion)
    assert abs(E[-1] / E[0] - 1.0) < 1e-5  # softness takes the rest
    relative = lambda row: motion.v[row, :3] - motion.v[row, 6:9]
    assert abs(np.linalg.norm(relative(-1)) - np.linalg.norm(relative(0))) < 1e-5


def test_springs_between_two_bodies_push_both_alike():
    model = two_balls(kind="penalty", stiffness=1e5, damping=0.2, friction=0.0)
    p, _, E = momenta(model, collision(model))
    np.testing.assert_allclose(p, np.broadcast_to(p[:1], p.shape), atol=1e-12)
    assert 0.5 * E[0] < E[-1] < E[0]


def test_boxes_that_hit_each_other_never_gain_energy():
    model = two_boxes(restitution=0.7, friction=0.4)
    rng = np.random.default_rng(0)
    for _ in range(4):
        turns = [x / np.linalg.norm(x) for x in rng.normal(size=(2, 4))]
        q = np.r_[-0.25, rng.normal(size=2) * 0.03, turns[0], np.zeros(3), turns[1]]
        v = np.r_[2.0, 0.0, 0.0, 3.0 * rng.normal(size=3), np.zeros(3), 3.0 * rng.normal(size=3)]
        p, _, E = momenta(model, moved(model, ist.State(q, v), 1e-3, 200))
        np.testing.assert_allclose(p, np.broadcast_to(p[:1], p.shape), atol=1e-12)
        assert E[-1] < 0.9 * E[0]
        assert np.max(np.diff(E)) < 1e-5 * E[0]  # free turning by steps of a millisecond


@pytest.mark.slow
def test_native_code_and_xla_move_two_boxes_alike():
    model = two_boxes(restitution=0.3, friction=0.4)
    q = np.r_[-0.161, 0.01, 0.02, STILL, np.zeros(3), 1.0, 0.05, 0.02, 0.1]
    v = np.r_[2.0, 0.0, 0.0, 0.1, 0.5, 0.0, np.zeros(6)]

    def after(q, v):
        motion = ist.rollout(model, ist.State(q, v), None, 1e-3, steps=5)
        return motion.q[-1], motion.v[-1]

    for ours, xla in zip(ist.native.compile(after, q, v)(q, v), jax.jit(after)(q, v), strict=True):
        np.testing.assert_allclose(ours, xla, atol=1e-10)
    assert abs(ours[6]) > 0.1  # they met


def test_the_derivative_of_a_collision_is_that_of_differences():
    model = two_balls(restitution=0.5, friction=0.3)

    def after(x):
        q = jax.numpy.concatenate([x[:3], np.array([*STILL, 0.1, 0.0, 0.0, *STILL])])
        v = jax.numpy.concatenate([x[3:6], np.r_[0.0, 0.0, 3.0, np.zeros(6)]])
        motion = ist.rollout(model, ist.State(q, v), None, 1e-3, steps=60)
        return jax.numpy.concatenate([motion.q[-1], motion.v[-1]])

    x, h = np.array([-0.13, 0.02, 0.0, 1.0, 0.0, 0.0]), 1e-6
    steps = h * np.concatenate([np.eye(6), -np.eye(6)])
    f = ist.native.compile(after, x).map(x[None] + steps)
    differences = (f[:6] - f[6:]).T / (2.0 * h)
    _, slope = ist.native.jacobian(after, x)(x)
    np.testing.assert_allclose(slope, differences, atol=1e-4)
    assert np.abs(differences).max() > 1.0


def test_a_prescribed_tip_pushes_and_is_not_pushed_while_springs_carry_the_block():
    robot = ist.Builder("pushing")
    robot.add_link("tip", mass=0.01)
    robot.add_joint_prismatic("rail", None, "tip", axis=(1.0, 0.0, 0.0), prescribed=True)
    robot.add_shape_sphere("tip", 0.01, name="tip", position=(0.0, 0.0, 0.03))
    free_box(robot, "block", (0.05, 0.05, 0.03), 1.0)
    springs = ist.Contact("penalty", shapes="block", friction=0.3, friction_speed=0.05)
    model = ist.with_contact(
        robot.model(), springs, ground=ist.Ground(), pairs=[ist.Pair("tip", "block", "impulse")]
    )
    assert set(model.contact_kinds) == {"impulse", "penalty"}
    t, speed = 5e-4 * np.arange(401), 0.2
    control = ist.Control(
        position=(-0.08 + speed * t[:-1])[:, None], velocity=np.full((400, 1), speed)
    )
    start = ist.State(np.r_[-0.08, 0.0, 0.0, 0.029, STILL], np.zeros(7))
    motion = ist.rollout(model, start, control, 5e-4, record=["contact/normal_force"])
    np.testing.assert_allclose(motion.q[:, 0], -0.08 + speed * t, atol=1e-9)
    gap = motion.q[:, 1] - 0.05 - (motion.q[:, 0] + 0.01)
    assert gap.min() > -1e-4
    assert np.abs(gap[300:]).max() < 1e-4  # it stays at the block
    push = motion.signals["contact/normal_force"][300:, -1].mean()
    assert abs(push / (0.3 * 9.81) - 1.0) < 0.03  # the friction of the ground


def test_the_derivative_of_a_push_by_a_cylinder_is_that_of_differences():
    """Of where a hull ends, by its centre of mass, by the radius of the tip and by its place."""
    robot = ist.Builder("pushing")
    robot.add_link("tip", mass=0.01)
    robot.add_joint_prismatic("rail", None, "tip", axis=(1.0, 0.0, 0.0), prescribed=True)
    robot.add_shape_cylinder("tip", 0.005, 0.05, name="tip")
    robot.add_link("hull", mass=0.8, inertia=(1e-3, 1e-3, 1.5e-3))
    robot.add_joint_free("flight", None, "hull")
    turns = np.arange(6) * np.pi / 3.0
    corners = [
        [0.05 * np.cos(t), 0.045 * np.sin(t), z] for t in turns.tolist() for z in (-0.02, 0.02)
    ]
    robot.add_shape_points("hull", corners, name="hull")
    springs = ist.Contact("penalty", "hull", friction=0.4, friction_speed=0.02)
    tip = ist.Pair("tip", "hull", "penalty", friction=0.3)
    model = ist.with_contact(robot.model(), springs, ground=ist.Ground(), pairs=[tip])
    t, speed = 1e-3 * np.arange(100), 0.1
    control = ist.Control(
        position=(-0.0555 + speed * t)[:, None], velocity=np.full((100, 1), speed)
    )
    start = ist.State(np.r_[-0.0555, 0.0, 0.011, 0.0199, STILL], np.r_[speed, np.zeros(6)])

    def after(x):
        moved = model.set("link/hull/com", jax.numpy.zeros(3).at[1].set(x[0]))
        moved = moved.set("shape/tip/size", jax.numpy.array([0.0, 0.05, 0.0]).at[0].set(x[1]))
        moved = moved.set("shape/tip/origin", jax.numpy.zeros(3).at[1].set(x[2]))
        return ist.rollout(moved, start, control, 1e-3, substeps=4).q[-1, 1:]

    x, h = np.array([0.001, 0.005, 0.0005]), 1e-7
    both = ist.native.compile(lambda x, d: jax.jvp(after, (x,), (d,)), x, x)
    for d in np.eye(3):
        difference = (both(x + h * d, d)[0] - both(x - h * d, d)[0]) / (2.0 * h)
        most = np.abs(difference).max()
        assert most > 0.3
        np.testing.assert_allclose(both(x, d)[1], difference, atol=2e-3 * most)


@pytest.mark.full
def test_a_stack_of_five_boxes_stands_for_ten_seconds():
    model, start = stack(5, [1.0] * 5, [0.05 + 0.1 * i for i in range(5)], side=0.001)
    motion = moved(model, start, 5e-3, 2000)
    off = np.abs(motion.q - start.q[None]).reshape(-1, 5, 7)[:, :, :3]
    assert off.max() < 1e-3


@pytest.mark.slow
def test_a_box_under_one_of_a_hundred_times_its_mass_settles():
    model, start = stack(2, [1.0, 100.0], [0.06, 0.18])
    motion = moved(model, start, 2e-3, 500)
    np.testing.assert_allclose(motion.q[-1, [2, 9]], [0.05, 0.15], atol=1e-4)
    assert np.abs(motion.v[-1]).max() < 1e-3
    weight = motion.signals["contact/normal_force"][-1]
    assert abs(weight[:8].sum() / (101.0 * 9.81) - 1.0) < 1e-3
    assert abs(weight[8:].sum() / (100.0 * 9.81) - 1.0) < 1e-3


@pytest.mark.slow
def test_a_row_of_dominoes_falls_one_after_the_other():
    robot = ist.Builder("dominoes")
    for i in range(3):
        free_box(robot, f"domino{i}", (0.005, 0.012, 0.025), 0.01)
    springs = ist.Contact("penalty", friction=0.5, friction_speed=0.05, stiffness=5e3)
    pairs = [ist.Pair(f"domino{i}", f"domino{i + 1}", "impulse", friction=0.2) for i in range(2)]
    model = ist.with_contact(robot.model(), springs, ground=ist.Ground(), pairs=pairs)
    q = np.concatenate([[0.025 * i, 0.0, 0.025, *STILL] for i in range(3)])
    v = np.zeros(18)
    v[4] = 20.0  # the first one is tipped
    motion = moved(model, ist.State(q, v), 5e-4, 800)
    upright = 1.0 - 2.0 * (motion.q.reshape(-1, 3, 7)[:, :, 4:6] ** 2).sum(axis=2)  # cosine
    leans = [int(np.argmax(upright[:, i] < np.cos(0.3))) for i in range(3)]
    assert 0 < leans[0] < leans[1] < leans[2]
    assert (upright[-1] < 0.9).all()
    assert motion.q.reshape(-1, 3, 7)[:, :, 2].min() > 0.0


GRIPPER = """<mujoco><option timestep="0.001" cone="elliptic" impratio="10"/>
<worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="hand" pos="0 0 0.2"><joint name="lift" type="slide" axis="0 0 1"/>
  <inertial pos="0 0 0" mass="0.5" diaginertia="1e-3 1e-3 1e-3"/>
  <body name="left" pos="-0.06 0 -0.15"><joint name="left" type="slide" axis="1 0 0"/>
    <geom name="left_finger" type="box" size="0.01 0.02 0.03" mass="0.1"/></body>
  <body name="right" pos="0.06 0 -0.15"><joint name="right" type="slide" axis="-1 0 0"/>
    <geom name="right_finger" type="box" size="0.01 0.02 0.03" mass="0.1"/></body></body>
<body name="cube" pos="0 0 0.03"><freejoint/><geom name="cube" type="box" size="0.03 0.03 0.03" mass="0.2"/></body>
</worldbody><actuator><position joint="lift" kp="2000" kv="100"/><position joint="left" kp="500" kv="20"/>
<position joint="right" kp="500" kv="20"/></actuator></mujoco>"""


@pytest.mark.slow
def test_a_gripper_lifts_a_cube_as_mujoco_does(tmp_path):
    (tmp_path / "gripper.xml").write_text(GRIPPER)
    robot = ist.load(tmp_path / "gripper.xml")
    model = ist.with_contact(
        robot,
        ist.Contact(shapes="cube", friction=1.0),
        pairs=robot.pairs("*_finger", "cube"),
    )
    t = 1e-3 * np.arange(1200)
    rise = np.clip((t - 0.4) / 0.5, 0.0, 1.0)
    commands = np.zeros((1200, 9))
    commands[:, 0], commands[:, 1:3] = (
        0.1 * (3 * rise**2 - 2 * rise**3),
        0.03 * (t >= 0.05)[:, None],
    )
    theirs = mujoco.MjModel.from_xml_string(GRIPPER)
    data, rows = mujoco.MjData(theirs), []
    for command in commands:
        rows.append(data.qpos.copy())
        data.ctrl[:] = command[:3]
        mujoco.mj_step(theirs, data)
    ours = ist.rollout(model, ist.State(rows[0], np.zeros(9)), commands, 1e-3).q[:-1]
    off = np.abs(ours - np.array(rows))
    assert ours[-1, 5] > 0.12  # the cube is up
    # his contacts give way: by 0.4 mm under the fingers, and a finger meets the cube a bit later
    assert off[:, [0, 3, 4, 5]].max() < 3e-4
    assert off[300:, 1:3].max() < 5e-4
    assert off[:, 6:].max() < 1e-5


def test_a_rounded_box_touches_another_one_as_it_touches_the_ground():
    """Standing on a corner, on an edge and on a face."""
    robot = ist.Builder("box")
    robot.add_link("box", mass=1.0, inertia=(1e-3,) * 3)
    robot.add_joint_free("flight", None, "box")
    robot.add_shape_box("box", (0.1, 0.08, 0.06), name="box")
    robot.add_shape_box(None, (1.0, 1.0, 0.5), name="table", position=(0.0, 0.0, -0.5))
    model = ist.with_contact(
        robot.model(),
        ist.Contact(shapes="box", radius=0.02),
        ground=ist.Ground(),
        pairs=[("box", "table")],
    )
    rows = model.rows("contact")
    turns = Rotation.from_rotvec([[0.5, 0.3, 0.2], [0.6, 0.0, 0.0], [0.0, 0.0, 0.4]]).as_quat()
    q = np.concatenate([np.tile([0.0, 0.0, 0.2], (3, 1)), turns[:, [3, 0, 1, 2]]], axis=1)
    motion = ist.rollout_many(
        model, ist.State(q, np.zeros((3, 6))), None, 1e-6, 1, record="contact/depth"
    )
    depth = motion.signals["contact/depth"][:, 0]
    on_ground, on_table = (depth[:, list(rows[name])].max(axis=1) for name in ("box", "box+table"))
    np.testing.assert_allclose(on_table, on_ground, atol=1e-9)
    sharp = (
        ist.rollout_many(
            model.set("contact/radius", 0.0),
            ist.State(q, np.zeros((3, 6))),
            None,
            1e-6,
            1,
            record="contact/depth",
        )
        .signals["contact/depth"][:, 0, list(rows["box+table"])]
        .max(axis=1)
    )
    assert (sharp - on_table)[:2].min() > 1e-3
    np.testing.assert_allclose(sharp[2], on_table[2], atol=1e-9)
