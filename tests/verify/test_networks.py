"""`check_gradients` of a hybrid model."""

import isthmus as ist
from tests.blueprint.support import START, attached, shaken


def test_the_weights_of_a_network_have_a_row_of_their_own():
    wire = ist.Wire("joint/passive_torque", ["joint/position", "joint/velocity"], ist.MLP(3, 1))
    report = ist.check_gradients(shaken(attached(wire)), START, None, 0.01, steps=5)
    assert report.ok
    assert report.verdict("network/passive_torque") == "agrees"
