"""The step of a robot as C: compiles without a warning, moves as the simulator does, says what each number is."""

from __future__ import annotations

import subprocess

import equinox as eqx
import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadFile, BadOption
from isthmus.export.c import example
from tests.native.test_c import COMPILER, FLAGS, needs_a_compiler


def exported(folder, model, **options):
    """Writes, compiles and runs the test program; returns the code."""
    assert COMPILER is not None
    code = ist.export_c(model, folder / "step.c", **options)
    command = [COMPILER, *FLAGS, "-O1", "-o", "step", "step.c", "step_main.c", "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([folder / "step"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    assert "v_next: off by at most" in ran.stdout
    return code


def odd_robot() -> ist.Model:
    """A rail whose motion is prescribed, a hinge with a delayed motor, a ball joint."""
    robot = ist.Builder("odd-robot")
    for name in ("cart", "pole", "ball"):
        robot.add_link(name, mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.0, 0.0, 0.2))
    robot.add_joint_prismatic("rail", parent=None, child="cart", axis=(1, 0, 0), prescribed=True)
    robot.add_joint_revolute("pivot", parent="cart", child="pole", axis=(0, 1, 0))
    robot.add_joint_spherical("socket", parent="pole", child="ball")
    robot.add_actuator_torque("pivot", gear=2.0, delay=0.0015, delay_steps=4)
    return robot.model()


@needs_a_compiler
def test_a_quadruped_steps_in_c_as_in_python(tmp_path):
    code = exported(tmp_path, ist.library.quadruped(), dt=2e-3)
    assert "const double q[19]" in code.header
    assert "[3] trunk.qw" in code.header
    assert "may be written over arguments" in code.header
    assert "_work" not in code.header


@needs_a_compiler
def test_prescribed_motion_and_past_commands_are_arguments(tmp_path):
    code = exported(tmp_path, odd_robot(), name="advance")
    assert code.name == "advance"
    for declared in (
        "const double prescribed_position[1]",
        "const double memory_commands[20]",
        "double memory_next_commands[20]",
    ):
        assert declared in code.header
    assert "rail, whose motion is given" in code.header


@needs_a_compiler
def test_the_range_that_a_network_has_seen_comes_along(tmp_path, key):
    """The state of the test program lies where a quarter of the correction has faded out."""
    wire = ist.Wire("joint/torque", reads=["joint/velocity"], net=ist.Constant())
    fresh = ist.Blueprint([wire]).attach(ist.library.pendulum(1), key=key)
    _, v, _ = example(fresh)
    endless = eqx.tree_at(lambda m: m.networks[0].net.value, fresh, np.ones(1))
    seen = np.stack([v - 1.0, v - 0.1])
    where = lambda m: m.networks[0].seen
    fading = eqx.tree_at(where, endless, seen, is_leaf=lambda x: x is None)
    assert ist.export_c(fading).source != ist.export_c(endless).source
    code = exported(tmp_path, fading, parameters="arguments")
    assert "network_torque_seen[2]" in code.header


@needs_a_compiler
@pytest.mark.loose
def test_networks_come_along_with_what_they_remember_and_read(tmp_path, key):
    reads = ["joint/velocity", "previous/joint/torque", "extra/current[2]", "time"]
    wires = [
        ist.Wire("joint/torque", reads=reads, net=ist.MLP(width=4, depth=1)),
        ist.Wire(
            "joint/passive_torque", reads=["joint/velocity"], net=ist.GRU(width=3), name="drag"
        ),
    ]
    fresh = ist.Blueprint(wires).attach(ist.library.pendulum(2), key=key)
    trained = eqx.tree_at(
        lambda m: m.networks, fresh, jax.tree.map(lambda x: np.asarray(x) + 0.1, fresh.networks)
    )
    code = exported(tmp_path, trained)
    for declared in (
        "const double extra_current[2]",
        "const double memory_networks_drag[3]",
        "const double memory_previous_joint_torque[2]",
        "double memory_next_networks_drag[3]",
        "double time",
    ):
        assert declared in code.header
    assert "kept by networks; at" in code.header
    assert "network_drag_net_" in ist.export_c(trained, parameters="arguments").header


@needs_a_compiler
def test_numbers_of_the_model_can_be_arguments(tmp_path):
    model = ist.library.pendulum(2)
    code = exported(tmp_path, model, parameters="arguments")
    assert "double dt  " in code.header
    assert "mass [kg], one row for each link" in code.header
    heavier = model.set("link/mass", 2.0 * np.asarray(model.get("link/mass")))
    again = ist.export_c(heavier, parameters="arguments", name=code.name)
    assert again.body == code.body  # only the test program knows the numbers
    assert ist.export_c(heavier).body != ist.export_c(model).body


def test_the_text_does_not_depend_on_jax_settings():
    model = ist.library.pendulum(2)
    with jax.enable_x64(False):
        narrow = ist.export_c(model)
    assert narrow == ist.export_c(model)


def test_what_makes_no_step_is_refused(tmp_path):
    model = ist.library.pendulum(2)
    with pytest.raises(
        BadOption, match="parameters must be 'baked' or 'arguments', not the text 'fixed'"
    ):
        ist.export_c(model, parameters="fixed")
    with pytest.raises(BadOption, match="dt must be a positive number"):
        ist.export_c(model, dt=0.0)
    with pytest.raises(BadOption, match="integrator"):
        ist.export_c(model, integrator="rk5")
    with pytest.raises(BadFile, match="there is no folder"):
        ist.export_c(model, tmp_path / "missing" / "step.c")
