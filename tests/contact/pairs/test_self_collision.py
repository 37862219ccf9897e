"""Links of one robot that touch each other: which of them, momentum, depth, and distances beside MuJoCo's."""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.dynamics import momentum
from isthmus.errors import ExportWarning, StepWarning
from isthmus.spatial import bodies

LINKS = ("a", "b", "c", "d")
HALF, RADIUS = 0.1, 0.03


@pytest.fixture(scope="module")
def chain() -> ist.Model:
    """Four capsules along x on three hinges, floating without gravity; it folds like a rule."""
    robot = ist.Builder("chain", gravity=(0.0, 0.0, 0.0))
    along = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)  # the capsule's z axis is the link's x axis
    for k, link in enumerate(LINKS):
        robot.add_link(link, mass=1.0, inertia=bodies.box(1.0, 2 * HALF, 0.05, 0.05))
        if k == 0:
            robot.add_joint_free("flight", None, link)
        else:
            robot.add_joint_revolute(
                f"hinge{k}", LINKS[k - 1], link, position=(0.25, 0.0, 0.0), axis=(0, 1, 0)
            )
        robot.add_shape_capsule(link, RADIUS, HALF, name=link, orientation=along)
    contact = ist.Contact(restitution=0.3, friction=0.4)
    return ist.with_contact(robot.model(), contact, pairs=True, sweeps=100, newton=8)


def test_a_robot_touches_itself_but_not_its_neighbours(chain):
    pairs = [name for name in chain.rows("contact") if "+" in name]
    assert pairs == ["a+c", "a+d", "b+d"]
    assert all(f"pair {name[0]} and {name[2]}: 2 points, impulse" in str(chain) for name in pairs)


def test_links_that_hit_each_other_keep_momentum_and_stay_apart(chain):
    q = np.r_[np.zeros(3), 1.0, np.zeros(3), 2.6, 0.3, 0.3]
    v = np.r_[np.zeros(6), 4.0, 0.0, 0.0]
    signals = ["contact/depth", "contact/normal_force"]
    motion = ist.rollout(chain, ist.State(q, v), None, 1e-3, steps=200, record=signals)
    depth, force = (motion.signals[name] for name in signals)
    assert (force[:, list(chain.rows("contact")["a+c"])] > 0.0).any()
    assert depth.max() < 1e-3
    compiled = jax.jit(momentum)
    total = np.array([compiled(chain, motion.q[k], motion.v[k]) for k in (0, 100, 199)])
    # a step keeps the momentum of links that turn up to its length
    np.testing.assert_allclose(total[1:], total[[0, 0]], atol=0.01 * np.abs(total).max())


def test_distances_between_the_links_of_a_robot_are_those_of_mujoco(chain, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExportWarning)
        ist.export_mjcf(ist.without_contact(chain), tmp_path / "chain.xml")
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "chain.xml"))
    m.opt.disableflags = 0  # the file of a model without contact lets nothing touch
    data = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    q = np.tile(np.r_[np.zeros(3), 1.0, np.zeros(6)], (60, 1))
    q[:, 7:] = rng.uniform(-3.0, 3.0, (60, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepWarning)  # some of them begin inside each other
        motion = ist.rollout_many(
            chain, ist.State(q, np.zeros((60, 9))), None, 1e-9, 1, record="contact/depth"
        )
    ours = {
        name: motion.signals["contact/depth"][:, 0, list(rows)].max(axis=1)
        for name, rows in chain.rows("contact").items()
    }
    touching = 0
    for k in range(len(q)):
        data.qpos[:] = q[k]
        mujoco.mj_forward(m, data)
        met = {
            frozenset(m.geom(g).name for g in c.geom)
            for c in data.contact[: data.ncon]
            if c.dist < 0.0
        }
        assert met == {frozenset(name.split("+")) for name, depth in ours.items() if depth[k] > 0.0}
        touching += len(met)
        for name, depth in ours.items():
            geoms = [m.geom(g).id for g in name.split("+")]
            np.testing.assert_allclose(
                -depth[k], mujoco.mj_geomDistance(m, data, *geoms, 9.0, None), atol=1e-9
            )
    assert touching > 10
