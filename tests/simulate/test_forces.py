"""Forces at one state serve both ways: to accelerations, and back to the motor torques that they need."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.describe.description import Mimic
from isthmus.dynamics import forward_dynamics
from isthmus.networks.signals import NoSignals, Signals
from isthmus.simulate.accelerate import acceleration_under, needed_torque
from isthmus.simulate.forces import forces
from tests import compiled, trees

RUBBING = ist.compile_model(
    trees.pendulum(2, damping=0.3, friction=0.1, stiffness=2.0, lower=-0.1, upper=0.1)
)


def learned(target: str, reads: str, net) -> ist.Model:
    """A model with a network whose last layer is not zero."""
    hybrid = ist.Blueprint([ist.Wire(target, reads, net)]).attach(RUBBING, key=jax.random.key(0))
    last = lambda m: m.networks[0].net.layers[-1].bias
    return eqx.tree_at(last, hybrid, replace_fn=lambda b: b + 0.3)


MODELS = {
    "friction and stops": lambda: RUBBING,
    "network": lambda: learned("joint/passive_torque", "joint/velocity", ist.MLP(4, 1)),
    "learned inertia": lambda: learned(
        "joint/armature", "joint/position", ist.Lagrangian(ist.MLP(4, 1), coupled=True)
    ),
}


@eqx.filter_jit
def both_ways(model: ist.Model, state: ist.State) -> tuple:
    """Forces, the accelerations that they give, and the motor torques that those need."""
    control = ist.Control(torque=np.array([1.0, 2.0]), force=np.ones((2, 6)))
    signal = Signals(model, None, 0.0)
    acting = forces(model, state, control, signal)
    a = acceleration_under(acting, control, signal)
    return acting, a, needed_torque(acting, a, signal)


@pytest.mark.parametrize("name", MODELS)
def test_the_torque_that_an_acceleration_needs_is_the_one_that_gave_it(name):
    acting, _, needed = both_ways(MODELS[name](), ist.State([0.5, -0.3], [1.0, 2.0]))
    assert np.all(acting.stops != 0.0)
    np.testing.assert_allclose(needed, acting.motor, rtol=1e-8)


def test_forces_add_up():
    acting, a, _ = both_ways(RUBBING, ist.State([0.5, -0.3], [1.0, 2.0]))
    tau = acting.motor + compiled.passive_torque(RUBBING, acting.q, acting.v) + acting.stops
    np.testing.assert_allclose(acting.joint, tau, rtol=1e-12)
    direct = compiled.forward_dynamics(RUBBING, acting.q, acting.v, acting.joint, force=acting.link)
    np.testing.assert_allclose(a, direct, rtol=1e-9)


class Elsewhere(NoSignals):
    """Corrects `joint/transform`: the joints stand as at another `q`."""

    def __init__(self, model: ist.Model, q: jax.Array) -> None:
        self.X = compiled.forward_kinematics(model, q).X

    def __call__(self, name, value, row=None):
        return self.X if name == "joint/transform" else value


@pytest.mark.parametrize("mimic", [None, Mimic("hinge1", -0.7, 0.2)])
def test_all_of_the_dynamics_sees_corrected_transforms(mimic):
    model = ist.compile_model(trees.with_joint(trees.pendulum(3), "hinge3", mimic=mimic))
    here, there, v = np.linspace(-1.0, 1.0, 3 * model.dof).reshape(3, -1)
    tau = jnp.ones(model.dof)
    move = jax.jit(lambda q, signal: forward_dynamics(model, q, v, tau, signal), static_argnums=1)
    found = move(here, Elsewhere(model, there))
    np.testing.assert_allclose(found, move(there, NoSignals()), rtol=1e-9)
