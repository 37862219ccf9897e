"""Every mistake is answered when attaching, by name, with what to do."""

import equinox as eqx
import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption, BadWiring, UnknownSignal
from tests.blueprint.support import KEY, PENDULUM, attached

NET = ist.MLP(4, 1)
Q_V = ("joint/position", "joint/velocity")
CASES = {
    "misspelt input": (
        [ist.Wire("joint/torque", ["joint/velocty"], NET)], UnknownSignal,
        r"'joint/torque' reads 'joint/velocty'.*Did you mean 'joint/velocity'",
    ),
    "misspelt target": ([ist.Wire("joint/torqe", Q_V, NET)], UnknownSignal, "Did you mean 'joint/torque'"),
    "unknown row": ([ist.Wire("joint/torque[elbow]", Q_V, NET)], BadWiring, "'elbow'.*'joint_1'"),
    "too late": (
        [ist.Wire("joint/torque", "joint/acceleration", NET)], BadWiring,
        "'joint/torque' reads 'joint/acceleration', which comes later.*'previous/joint/acceleration'",
    ),
    "circle": (
        [ist.Wire("joint/passive_torque", "joint/torque", NET), ist.Wire("joint/torque", "joint/passive_torque", NET)],
        BadWiring, "circle: .*joint/passive_torque.*previous/",
    ),
    "two replacements": (
        [ist.Wire("joint/torque", "time", NET, mode="replace")] * 2, BadWiring, "two wires replace 'joint/torque'",
    ),
    "given, not computed": ([ist.Wire("time", Q_V, NET)], BadWiring, "'time' is given"),
    "spline of two": ([ist.Wire("joint/torque", Q_V, ist.Spline())], BadWiring, "one input.*brings 4"),
    "wrong outputs": (
        [ist.Wire("joint/torque", "joint/velocity", eqx.nn.Linear(2, 3, key=KEY))], BadWiring, r"\(3,\).*\(2,\)",
    ),
    "wrong inputs": (
        [ist.Wire("joint/torque", "joint/velocity", eqx.nn.Linear(5, 2, key=KEY))], BadWiring, "2 inputs",
    ),
    "no network": ([ist.Wire("joint/torque", Q_V, 3.0)], BadWiring, "net must be a network"),
    "level by level": (
        [ist.Wire("link/articulated_inertia", "link/articulated_inertia", NET, rows="each")], BadWiring, "link by link",
    ),
    "another of the same pass": (
        [ist.Wire("joint/articulated_torque", "link/articulated_inertia", NET)], BadWiring, "link by link",
    ),
    "nothing follows": ([ist.Wire("link/pose", "time", NET)], BadWiring, "nothing in a step follows"),
    "outside of the algorithm": (
        [
            ist.Wire("joint/armature", "joint/position", ist.Lagrangian(NET, coupled=True)),
            ist.Wire("link/articulated_inertia", "time", NET),
        ],
        BadWiring, "articulated body algorithm.*coupled=True",
    ),
    "no rows to share": ([ist.Wire("gravity", "time", NET, rows="each")], BadWiring, "a signal with rows"),
    "dissipative elsewhere": (
        [ist.Wire("joint/torque", Q_V, ist.Dissipative(NET))], BadWiring, "'joint/passive_torque'",
    ),
    "dissipative scale": (
        [ist.Wire("joint/passive_torque", Q_V, ist.Dissipative(NET), mode="scale")], BadWiring, "mode='add'",
    ),
    "potential of velocity": (
        [ist.Wire("joint/passive_torque", Q_V, ist.Conservative(NET))], BadWiring, "function of positions",
    ),
    "potential with memory": (
        [ist.Wire("joint/passive_torque", "joint/position", ist.Conservative(ist.GRU(4)))],
        BadWiring, "Conservative cannot remember",
    ),
    "potential elsewhere": (
        [ist.Wire("joint/passive_torque", f"joint/position[{PENDULUM.joint_names[0]}]", ist.Conservative(NET))],
        BadWiring, "the same joints",
    ),
    "one link only": (
        [ist.Wire("link/external_force", Q_V, ist.Internal(NET, between=("rod_1", "rod_1")))],
        BadWiring, "two different",
    ),
    "same name": (
        [ist.Wire("joint/torque", Q_V, NET, name="a"), ist.Wire("gravity", "time", NET, name="a")],
        BadWiring, "called 'a'",
    ),
    "channel of a channel": ([ist.Wire("joint/torque", "extra/a/b", NET)], BadWiring, "extra/NAME"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_named_when_attaching(case):
    wires, error, words = CASES[case]
    with pytest.raises(error, match=words):
        attached(*wires)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "ad"}, "mode cannot be 'ad'.*'add'"),
        ({"rows": "every"}, "rows cannot be 'every'"),
        ({"angles": "degrees"}, "angles cannot be"),
        ({"name": "a/b"}, "no '/'"),
        ({"output_scale": -1.0}, "must be positive"),
    ],
)
def test_an_option_that_does_not_exist_is_refused_at_once(options, words):
    with pytest.raises(BadOption, match=words):
        ist.Wire("joint/torque", Q_V, NET, **options)


def test_networks_of_impossible_size_are_refused():
    with pytest.raises(BadOption, match="width"):
        ist.MLP(width=0)
    with pytest.raises(BadOption, match="'tanh'"):
        ist.MLP(activation="tahn")


def test_weights_must_be_finite():
    broken = eqx.tree_at(
        lambda n: n.bias, eqx.nn.Linear(2, 2, key=KEY), jax.numpy.array([np.nan, 0.0])
    )
    with pytest.raises(BadWiring, match="not finite"):
        attached(ist.Wire("joint/torque", "joint/velocity", broken))


def test_rows_of_different_kinds_cannot_share_a_network():
    cart = ist.library.cart_pole()
    with pytest.raises(BadWiring, match=r"different kinds.*rows='all'"):
        attached(ist.Wire("joint/torque", "joint/position", NET, rows="each"), model=cart)
    quadruped = ist.library.quadruped()
    with pytest.raises(BadWiring, match="not alike"):
        attached(ist.Wire("joint/torque", "joint/velocity", NET, rows="each"), model=quadruped)


def test_a_blueprint_takes_wires():
    with pytest.raises(BadWiring, match="takes Wires"):
        ist.Blueprint(["joint/torque"])
    with pytest.raises(BadWiring, match="no network is called 'x'"):
        ist.detach(PENDULUM, "x")
