"""Free numbers by name: what they mean, what is refused, and bodies that stay possible."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadFree, UnknownName
from isthmus.identify.parameters.parameters import Parameters, parameters
from isthmus.spatial.inertia import second_moment, symmetric

pytestmark = pytest.mark.compiles_much("parameters are computed one by one, outside any fit")

ARM = ist.library.pendulum(3)


def free(*items: ist.Free, model: ist.Model = ARM) -> Parameters:
    return parameters(model, None, items, lambda _: {"joint/position": ("a", "b", "c")})


def test_a_pattern_frees_one_number_for_each_match_or_one_for_all():
    many = free(ist.Free("link/*/mass"))
    assert many.names == ("link/rod_1/mass", "link/rod_2/mass", "link/rod_3/mass")
    one = free(ist.Free("link/*/mass", shared=True))
    np.testing.assert_allclose(one.model(2.0 * one.start).link_mass, [2.0, 2.0, 2.0])
    some = free(ist.Free("link/rod_2/com"), ist.Free("gravity"))
    assert some.names[:3] == ("link/rod_2/com[0]", "link/rod_2/com[1]", "link/rod_2/com[2]")
    assert some.names[3:] == ("gravity[0]", "gravity[1]", "gravity[2]")


def test_a_pattern_means_bodies_that_move_and_a_name_means_itself(tmp_path):
    body = '<inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    part = '<link name="{}">{}</link>'
    joint = '<joint name="{0}{1}" type="{2}"><parent link="{0}"/><child link="{1}"/><axis xyz="0 1 0"/></joint>'
    masses = {"base": 0.0, "stand": 9.0, "hub": 0.0, "rod": 1.0}
    links = "".join(part.format(n, body.format(m) if m else "") for n, m in masses.items())
    kinds = (
        ("base", "stand", "fixed"),
        ("stand", "hub", "continuous"),
        ("hub", "rod", "continuous"),
    )
    (tmp_path / "arm.urdf").write_text(
        f'<robot name="arm">{links}{"".join(joint.format(*k) for k in kinds)}</robot>'
    )
    with warnings.catch_warnings(action="ignore"):  # the hub has no mass
        model = ist.load(tmp_path / "arm.urdf")
    assert free(ist.Free("link/*/mass", low=0.1), model=model).names == ("link/rod/mass",)
    assert len(free(ist.Free("link/*/inertial"), model=model).names) == 10
    assert free(ist.Free("link/stand/mass"), model=model).names == ("link/stand/mass",)
    with pytest.raises(UnknownName, match="no link that it picks has a mass and can move"):
        free(ist.Free("link/s*/mass"), model=model)


def test_the_start_is_the_model_itself():
    names = (
        "link/rod_2/mass",
        "joint/*/damping",
        "link/rod_1/inertial",
        "gravity",
        "stretch/rod_3",
    )
    found = free(*map(ist.Free, names))
    same = found.model(found.start)
    for a, b in zip(jax.tree.leaves(ARM), jax.tree.leaves(same), strict=True):
        np.testing.assert_allclose(b, a, atol=1e-12)


def test_every_point_of_the_search_is_a_possible_body():
    found = free(ist.Free("link/*/inertial"))
    rng = np.random.default_rng(0)
    for _ in range(20):
        model = found.model(found.start + 3.0 * rng.standard_normal(found.size))
        assert np.all(model.link_mass > 0)
        for i in range(3):
            moment = second_moment(symmetric(model.link_inertia[i]))
            assert np.all(np.linalg.eigvalsh(moment) > -1e-9 * np.abs(moment).max())


def test_what_is_reported_of_a_body_are_its_ten_numbers():
    found = free(ist.Free("link/rod_2/inertial"))
    values, _ = found.reported(found.start)
    named = dict(zip(found.names, values, strict=True))
    assert named["link/rod_2/mass"] == pytest.approx(1.0)
    assert named["link/rod_2/com[2]"] == pytest.approx(-0.5)
    assert named["link/rod_2/inertia[0]"] == pytest.approx(float(ARM.link_inertia[1, 0]))


def test_what_cannot_be_negative_is_bounded_by_zero():
    found = free(ist.Free("joint/*/friction"), ist.Free("joint/*/rest_position"))
    assert found.low.tolist() == [0.0] * 3 + [-np.inf] * 3


def test_a_prior_adds_its_square():
    found = free(ist.Free("link/*/mass", prior=(1.5, 0.1)), ist.Free("joint/*/damping", prior=0.2))
    mean, precision = found.prior
    np.testing.assert_allclose(mean * found.scale, [1.5] * 3 + [0.0] * 3)
    np.testing.assert_allclose(precision / found.scale**2, [100.0] * 3 + [25.0] * 3)


def test_weights_of_networks_are_free_by_the_name_of_their_wire(key):
    wire = ist.Wire("joint/passive_torque", reads=["joint/velocity"], net=ist.MLP(width=3, depth=1))
    hybrid = ist.Blueprint([wire]).attach(ARM, key=key)
    found = free(ist.Free("network/*"), model=hybrid)
    count = sum(np.size(x) for x in jax.tree.leaves(hybrid.networks[0].net))
    assert found.size == count
    assert found.is_weight().all()
    moved = found.model(found.start + 1.0)
    for a, b in zip(
        jax.tree.leaves(hybrid.networks[0].net), jax.tree.leaves(moved.networks[0].net), strict=True
    ):
        np.testing.assert_allclose(b, a + 1.0)
    assert free(ist.Free("network/passive_torque/layers/1"), model=hybrid).size < count
    with pytest.raises(UnknownName, match="there are passive_torque"):
        free(ist.Free("network/other"), model=hybrid)


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (
            [ist.Free("link/*/weight")],
            "nothing of 'pendulum_3' is called 'link/\\*/weight'.*Did you mean '",
        ),
        ([ist.Free("link/rod_1/mas")], "Did you mean 'link/rod_1/mass'"),
        ([ist.Free("joint/frictio")], "Did you mean 'joint/friction'"),
        ([ist.Free("link/*/mass", low=2.0, high=1.0)], "low=2 and high=1: nothing lies between"),
        ([ist.Free("link/*/mass", low=2.0)], "starts at 1, outside its bounds 2 to inf"),
        ([ist.Free("link/*/mass"), ist.Free("link/rod_1/mass")], "'link/rod_1/mass' is free twice"),
        ([ist.Free("link/*/inertial", low=0.0)], "log-Cholesky and takes no bounds"),
        ([ist.Free("link/*/mass", low=[0.1, 0.2])], "has 3 numbers"),
        ([ist.Free("link/*/mass", prior=np.ones(4))], "has 3 numbers, but 4 were given"),
        ([ist.Free("delay/joint/position")], "needs low= and high="),
        ([ist.Free("offset/joint/torque")], "is not compared"),
        ([ist.Free("delay/joint/positon", low=0.0, high=0.1)], "'joint/positon' is not compared"),
    ],
)
def test_what_cannot_be_free_is_refused_in_one_sentence(items, words):
    with pytest.raises(BadFree, match=words):
        free(*items)


def test_a_name_of_your_own_needs_a_place_to_start():
    with pytest.raises(BadFree, match="needs start="):
        parameters(
            None, lambda p: ist.library.pendulum(lengths=p["l"]), [ist.Free("l", shape=2)], dict
        )
    with pytest.raises(BadFree, match="positive standard deviation"):
        ist.Free("link/*/mass", prior=-1.0)


def test_a_function_of_named_numbers_keeps_its_derivative():
    make = lambda p: ist.library.pendulum(lengths=p["length"])
    found = parameters(None, make, [ist.Free("length", low=1, high=6, shape=2)], dict)
    place = lambda z: found.setting(z).model.joint_origin[1, 2]
    origin = jax.jit(jax.jacfwd(place))(jnp.asarray(found.start))
    np.testing.assert_allclose(origin, [-found.scale[0], 0.0])
