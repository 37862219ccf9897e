"""The builder says all faults at once, and its parts become what they are called."""

import pytest

import isthmus as ist
from isthmus.errors import BadArgument, BadDescription, DescriptionWarning


def test_a_cart_pole_is_built_part_by_part():
    robot = ist.Builder("cart-pole")
    robot.add_link("cart", mass=1.0)
    robot.add_link("pole", mass=0.1, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001))
    robot.add_joint_prismatic("rail", parent=None, child="cart", axis=(1, 0, 0))
    robot.add_joint_revolute("pivot", parent="cart", child="pole", axis=(0, 1, 0))
    model = robot.model()
    assert (model.dof, model.joint_names) == (2, ("rail", "pivot"))
    assert "pole" in str(model)
    assert "pivot: revolute" in str(model)


def test_all_faults_come_at_once():
    robot = ist.Builder()
    robot.add_link("a", mass=-1.0)
    robot.add_link("b", mass=1.0)
    robot.add_joint_revolute("x", None, "a", axis=(0, 0, 0))
    robot.add_joint_fixed("y", "nobody", "b")
    robot.add_actuator_pd("z", kp=1.0)
    with pytest.raises(BadDescription) as caught:
        robot.model()
    text = str(caught.value)
    for word in ("-1", "zero", "'nobody'", "unknown joint 'z'"):
        assert word in text


def test_an_actuator_belongs_to_a_joint_that_moves_and_is_its_only_one():
    robot = ist.Builder()
    robot.add_link("a", mass=1.0, inertia=(1, 1, 1)).add_link("b", mass=1.0)
    robot.add_joint_revolute("x", None, "a").add_joint_fixed("y", "a", "b")
    robot.add_actuator_torque("x").add_actuator_torque("x").add_actuator_torque("y")
    with pytest.raises(BadDescription, match="2 actuators"):
        robot.model()


def test_a_free_link_without_mass_is_doubted():
    robot = ist.Builder()
    robot.add_link("frame").add_link("arm", mass=1.0, inertia=(1, 1, 1))
    robot.add_joint_free("flight", None, "frame").add_joint_revolute("x", "frame", "arm")
    with pytest.warns(DescriptionWarning) as caught:
        robot.model()
    assert any("'frame' move freely but have no mass" in str(w.message) for w in caught)


def test_stops_are_what_a_joint_says_or_what_suits_its_masses():
    make = ist.Builder()
    for name, numbers in (("a", {}), ("b", {"limit_stiffness": 7.0, "limit_width": 0.2})):
        make.add_link(name, mass=1.0, inertia=(1.0, 1.0, 1.0))
        make.add_joint_revolute(name, None, name, lower=-1.0, **numbers)
    model = make.model()
    assert model.joint_limit_stiffness.tolist() == [1e4, 7.0]
    assert model.joint_limit_width.tolist() == [0.01, 0.2]
    assert model.joint_limit_damping[0] == model.joint_limit_damping[1]


def test_what_a_joint_does_not_take_is_refused_with_what_it_takes():
    robot = ist.Builder().add_link("rod", mass=1.0, inertia=(0.1, 0.1, 0.1))
    with pytest.raises(BadArgument, match=r"a joint has no 'dampng'\. Did you mean 'damping'"):
        robot.add_joint_revolute("hinge", None, "rod", dampng=1.0)
    with pytest.raises(
        BadArgument, match=r"no 'frame'\. It takes position, orientation, axis, lower"
    ):
        robot.add_joint_revolute("hinge", None, "rod", frame=(0, 0, 1))
