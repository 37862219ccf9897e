"""A guarantee holds beside other wires, or `attach` refuses them and names both."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.dynamics import mass_matrix
from isthmus.errors import BadWiring
from isthmus.networks.signals import Signals
from tests.blueprint.support import PENDULUM, START, attached, shaken

NET = ist.MLP(4, 1)
Q = "joint/position"
FIRST, SECOND = PENDULUM.joint_names
LAWS = {
    "drag": ist.Wire("joint/passive_torque", Q, ist.Dissipative(NET), name="law"),
    "drag in one joint": ist.Wire(
        f"joint/passive_torque[{FIRST}]", Q, ist.Dissipative(NET), name="law"
    ),
    "drag on links": ist.Wire("link/external_force", Q, ist.Dissipative(NET), name="law"),
    "potential": ist.Wire("joint/passive_torque", Q, ist.Conservative(NET), name="law"),
    "pair": ist.Wire(
        "link/external_force", Q, ist.Internal(NET, between=PENDULUM.link_names), name="law"
    ),
    "inertia": ist.Wire("joint/armature", Q, ist.Lagrangian(NET), name="law"),
}
REFUSED = [
    ("drag", "joint/passive_torque", "scale", "let it add, or attach it before"),
    ("drag", "joint/passive_torque", "replace", "let it add, or attach it before"),
    ("drag", "joint/torque", "scale", "let it add"),
    ("drag", "joint/velocity", "add", "correct a force instead"),
    ("drag", "joint/position", "add", "correct a force instead"),
    ("drag", "joint/acceleration", "add", "correct a force instead"),
    ("drag", "joint/new_velocity", "add", "correct a force instead"),
    ("drag", "link/articulated_inertia", "add", "correct a force instead"),
    ("drag in one joint", f"joint/velocity[{FIRST}]", "add", "correct a force instead"),
    ("drag on links", "link/velocity", "add", "leave one of the two out"),
    ("drag on links", f"joint/velocity[{SECOND}]", "add", "correct a force instead"),
    ("drag on links", "link/external_force", "scale", "let it add, or attach it before"),
    ("drag on links", "link/bias_force", "scale", "let it add"),
    ("potential", "joint/position", "scale", "correct a force instead"),
    ("potential", "joint/passive_torque", "scale", "let it add, or attach it before"),
    ("potential", "joint/acceleration", "scale", "correct a force instead"),
    ("potential", "joint/new_position", "add", "correct a force instead"),
    ("pair", "joint/transform", "add", "leave one of the two out"),
    ("inertia", "joint/armature", "scale", "let it add, or attach it before"),
    ("inertia", f"joint/passive_torque[{SECOND}]", "scale", "let it add, or attach it before"),
    ("inertia", "joint/velocity", "add", "correct a force instead"),
]
HARMLESS = [
    ("drag in one joint", f"joint/velocity[{SECOND}]", "add"),
    ("drag in one joint", f"joint/torque[{SECOND}]", "scale"),
    ("drag", "joint/torque", "add"),
    ("potential", "joint/velocity", "add"),
    ("potential", "joint/acceleration", "add"),
    ("pair", "link/velocity", "add"),
    ("inertia", "joint/motor_torque", "scale"),
]


@pytest.mark.parametrize(("law", "target", "mode", "advice"), REFUSED)
def test_a_wire_that_voids_a_guarantee_is_refused_by_both_names(law, target, mode, advice):
    reads = "time" if target == "joint/position" else Q
    other = ist.Wire(target, reads, NET, mode=mode, name="neighbour")
    says = rf"'neighbour' .*'{target.split('[')[0]}'.* guarantee of the wire 'law' \(.*{advice}"
    with pytest.raises(BadWiring, match=says):
        attached(LAWS[law], other)


@pytest.mark.parametrize(("law", "target", "mode"), HARMLESS)
def test_other_wires_are_attached_beside_a_guarantee(law, target, mode):
    assert len(attached(LAWS[law], ist.Wire(target, Q, NET, mode=mode)).networks) == 2


def test_a_wire_is_refused_beside_a_guarantee_that_is_in_the_model_already():
    scaling = ist.Wire("joint/passive_torque", Q, NET, mode="scale")
    with pytest.raises(BadWiring, match=r"'passive_torque' scales .* 'law'"):
        attached(scaling, model=attached(LAWS["drag"]))


@pytest.mark.parametrize("law", ["drag", "drag on links"])
def test_drag_takes_energy_beside_all_the_wires_that_may_stand_there(law):
    model = ist.library.pendulum(2, damping=0.0)
    before = [ist.Wire(LAWS[law].target, Q, NET, mode="scale")]
    after = [
        ist.Wire("gravity", "time", NET),
        ist.Wire("joint/torque", Q, NET),
        ist.Wire("link/external_force", Q, NET),
        ist.Wire("link/bias_force", Q, NET),
        ist.Wire("link/bias_acceleration", Q, NET, mode="scale"),
    ]
    hybrid = attached(*before, LAWS[law], *after, model=model)
    H = np.asarray(mass_matrix(model, jnp.asarray(START.q)))
    kinetic = lambda hybrid: 0.5 * (v := ist.step(hybrid, START, None, 0.1).v) @ H @ v
    taken = []
    for seed in range(8):
        here = shaken(hybrid, seed=seed, size=2.0)
        taken.append(1.0 - kinetic(here) / kinetic(ist.Blueprint.detach(here, "law")))
    assert min(taken) > -1e-9
    assert max(taken) > 0.01


def test_a_signal_is_refused_inside_a_vmap_of_the_step():
    signal = Signals(PENDULUM)
    with pytest.raises(BadWiring, match=r"'joint/torque' is called inside a jax\.vmap"):
        jax.vmap(lambda x: signal("joint/torque", x))(jnp.ones((2, 2)))
    inside = lambda x: Signals(PENDULUM)("joint/torque", x)
    np.testing.assert_array_equal(jax.vmap(inside)(jnp.ones((2, 2))), np.ones((2, 2)))
