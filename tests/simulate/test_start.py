"""Where a motion starts: free bodies of MJCF as in MuJoCo, and on the ground instead of in it."""

import jax
import mujoco
import numpy as np
import pytest

import isthmus as ist
from isthmus.simulate.standing import on_the_ground

TWO_BODIES = """<mujoco>
  <worldbody>
    <body name="crate" pos="1 2 3" quat="0.8 0 0.6 0"><freejoint name="crate"/><geom size="0.1"/>
      <body name="lid" pos="0 0 0.2"><joint name="lid" axis="0 1 0"/><geom size="0.05"/></body></body>
    <body name="post" pos="4 0 0"><joint name="post" axis="0 1 0"/><geom size="0.1"/></body>
    <body name="ball" pos="-1 0 0.5"><freejoint name="ball"/><geom size="0.1"/></body>
  </worldbody>
</mujoco>"""


@pytest.mark.loose
def test_free_bodies_of_mjcf_start_where_mujoco_starts_them(tmp_path):
    (tmp_path / "two.xml").write_text(TWO_BODIES, encoding="utf-8")
    model = ist.load(tmp_path / "two.xml")
    theirs = mujoco.MjModel.from_xml_string(TWO_BODIES).qpos0
    np.testing.assert_allclose(ist.State.neutral(model).q, theirs, atol=1e-12)
    traced = jax.jit(lambda x: ist.State.neutral(x).q)(model)
    np.testing.assert_allclose(traced, theirs, atol=1e-12)

    ist.export_mjcf(model, tmp_path / "again.xml")
    ist.save(model, tmp_path / "saved.safetensors")
    for file in ("again.xml", "saved.safetensors"):
        again = ist.State.neutral(ist.load(tmp_path / file)).q
        np.testing.assert_allclose(again, theirs, atol=1e-12)


def crates(turn=(1.0, 0.0, 0.0, 0.0)) -> ist.Model:
    """Two balls that fly, one of them with a smaller one on a hinge; the frames of their joints are turned."""
    robot = ist.Builder("crates")
    for name, parent, radius in (
        ("large", None, 0.2),
        ("small", "large", 0.1),
        ("other", None, 0.1),
    ):
        robot.add_link(name, mass=1.0, inertia=(0.01,) * 3 + (0.0,) * 3)
        robot.add_shape_sphere(name, radius)
        if parent:
            robot.add_joint_revolute(name, parent, name, position=(0.3, 0.0, 0.0), axis=(0, 1, 0))
        else:
            robot.add_joint_free(name, None, name, orientation=turn)
    return robot.model()


def test_free_bodies_in_the_ground_are_lifted_until_they_stand_on_it():
    quarter = np.sqrt(0.5)
    model = crates((quarter, 0.0, -quarter, 0.0))  # their x points upwards in the world
    model = ist.with_contact(model, ground=ist.Ground(0.5))
    q = np.array(ist.State.neutral(model).q)
    q[0], q[8] = 0.1, 0.65  # the other one stands above the ground
    standing = q.copy()
    standing[0] = 0.5 + 0.2
    np.testing.assert_allclose(on_the_ground(model, q), standing, atol=1e-12)
    np.testing.assert_array_equal(on_the_ground(model, q, kept=[model.joint("large")]), q)
    deeper = standing - 1e-3 * (
        np.arange(model.nq) == 0
    )  # those that stand there; the other one flies
    np.testing.assert_allclose(on_the_ground(model, standing, depth=1e-3), deeper, atol=1e-12)


def test_bodies_that_touch_nothing_stay_where_they_are():
    model = crates()
    np.testing.assert_array_equal(on_the_ground(model, np.zeros(model.nq)), np.zeros(model.nq))


@pytest.mark.loose
def test_a_ground_that_a_file_has_already_is_not_added_again(tmp_path):
    floor = '<worldbody><geom name="floor" type="plane" size="9 9 1"/>'
    (tmp_path / "two.xml").write_text(TWO_BODIES.replace("<worldbody>", floor), encoding="utf-8")

    def planes(height: float) -> int:
        model = ist.load(tmp_path / "two.xml", ground=height, contact=False)
        return model.shape_kinds.count("plane")

    assert planes(0.0) == 1
    assert planes(0.1) == 2
