"""A number of a model has an effect, however it is changed, or is refused: none is ignored."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadDescription, BadFree, BadModel, BadWiring
from isthmus.identify.parameters.parameters import parameters
from isthmus.model.leaves import SWITCHES
from isthmus.model.model import leaf_fields

DT, STEPS = 0.01, 8
START = ist.State([0.3, 0.2], [0.5, -1.0])
TORQUES = np.linspace(0.5, 2.0, 2 * STEPS).reshape(STEPS, 2)
VALUES = {
    "joint/lower": 0.6, "joint/upper": 0.0, "joint/effort": 0.4, "joint/kp": 5.0, "joint/kd": 0.5,
    "joint/delay": 0.02, "joint/motor_constant": 0.5, "joint/torque_offset": 0.2, "joint/stiction": 0.3,
    "joint/load_friction": 0.2, "joint/cogging_sin": 0.4, "joint/cogging_cos": 0.4,
    "joint/play": 0.1, "joint/bristle_deflection": 0.01,
}  # fmt: skip


def chain(**numbers) -> ist.Builder:
    """Two links on hinges, and a third that mimics the second."""
    robot = ist.Builder()
    parent = None
    for k, mimic in (("1", None), ("2", None), ("3", "hinge2")):
        robot.add_link(f"rod{k}", mass=1.0, com=(0.1, 0.0, -0.3), inertia=(0.2, 0.2, 0.1))
        robot.add_joint_revolute(
            f"hinge{k}", parent, f"rod{k}", position=(0.0, 0.0, -0.5), axis=(0.0, 1.0, 0.0),
            mimic=mimic, **({} if mimic else numbers),
        )  # fmt: skip
        parent = f"rod{k}"
    return robot


BARE = chain(stiction_speed=1.0, stiffness=2.0, friction=0.1).model()
FULL = chain(
    stiffness=2.0,
    rest=0.1,
    damping=0.1,
    friction=0.1,
    armature=0.1,
    lower=0.5,
    upper=0.6,
    stiction=0.2,
    stiction_speed=1.0,
    cogging_sin=0.1,
).model()


def positions(model: ist.Model) -> np.ndarray:
    return np.asarray(ist.rollout(model, START, TORQUES, DT, engine="native").q)


def differs(model: ist.Model, other: ist.Model) -> bool:
    return bool(np.abs(positions(model) - positions(other)).max() > 1e-9)


def test_every_leaf_that_is_always_on_changes_the_motion():
    still = ("point/", "shape/", "contact/", *SWITCHES)  # of contact: tests/contact
    for _, spec in leaf_fields():
        if not spec.name.startswith(still):
            value = FULL.get(spec.name)
            moved = 1.3 * value + (0.0 if spec.quantity == "inertia" else 0.1)
            assert differs(FULL, FULL.set(spec.name, moved)), spec.name


@pytest.mark.parametrize("name", SWITCHES)
def test_a_leaf_that_was_off_acts_once_it_is_set(name):
    assert differs(BARE, BARE.set(name, VALUES[name]))
    of_one = BARE.set(name.replace("/", "/hinge2/"), VALUES[name])
    assert differs(BARE, of_one)
    assert differs(of_one, BARE.set(name, VALUES[name]))


@pytest.mark.parametrize("name", SWITCHES)
def test_setting_what_is_there_already_switches_nothing_on(name):
    assert BARE.set(name, BARE.get(name)) == BARE


@pytest.mark.parametrize("name", SWITCHES)
def test_a_traced_number_acts(name):
    made = []
    jax.eval_shape(lambda x: made.append(BARE.set(name, x)), jnp.array(VALUES[name]))
    switch = SWITCHES[name].field
    assert getattr(made[0], switch) == getattr(BARE.set(name, VALUES[name]), switch)


@pytest.mark.parametrize("name", SWITCHES)
def test_a_leaf_that_is_off_and_was_changed_by_other_means_is_refused(name):
    field = name.replace("/", "_")
    hidden = eqx.tree_at(
        lambda m: getattr(m, field), BARE, np.array([BARE.get(name)[0], VALUES[name]])
    )
    words = r"'joint/hinge2/\w+' is .* no effect.*model\.set\('joint/hinge2/"
    with pytest.raises(BadModel, match=words):
        ist.step(hidden, START, None, DT)
    with pytest.raises(BadModel, match=words):
        ist.rollout(hidden, START, TORQUES, DT)
    with pytest.raises(BadModel, match=words):
        ist.rollout_many(hidden, START, TORQUES[None], DT)
    motion = ist.rollout(BARE, START, None, DT, STEPS)
    with pytest.raises(BadModel, match=words):
        ist.Problem(hidden, [motion], free=[ist.Free("link/mass")])


@pytest.mark.parametrize("name", SWITCHES)
def test_a_wire_that_would_have_no_effect_is_refused(name):
    wire = ist.Wire(name, "joint/position", ist.MLP(2, 1))
    with pytest.raises(BadWiring, match=f"wire to '{name}' would have no effect"):
        ist.Blueprint([wire]).attach(BARE, key=jax.random.key(0))
    if name != "joint/delay":
        on = BARE.set(name, VALUES[name])
        assert ist.Blueprint([wire]).attach(on, key=jax.random.key(0)).networks


@pytest.mark.parametrize("name", SWITCHES)
def test_a_free_number_acts_or_is_refused(name):
    found = parameters(BARE, None, [ist.Free(name, start=VALUES[name])], lambda model: {})
    assert differs(BARE, found.model(found.start))
    made = parameters(
        None,
        lambda named: BARE.set("link/rod1/mass", named["m"]),
        [ist.Free("m", start=1.0), ist.Free(name, start=VALUES[name])],
        lambda model: {},
    )
    np.testing.assert_array_equal(
        positions(made.model(made.start)), positions(found.model(found.start))
    )
    if SWITCHES[name].from_idle:
        found = parameters(BARE, None, [ist.Free(name)], lambda model: {})
        assert differs(BARE, found.model(found.start + 0.02))
    else:
        with pytest.raises(BadFree, match=f"'{name}' would have no effect on 'joint/hinge1"):
            parameters(BARE, None, [ist.Free(name)], lambda model: {})


def test_a_joint_with_a_quaternion_takes_no_ends_of_travel_and_no_controller():
    ball = ist.Builder().add_link("body", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model = ball.add_joint_spherical("ball", None, "body").model()
    for name in ("joint/lower", "joint/kp"):
        with pytest.raises(BadModel, match=r"'ball'.*quaternion"):
            model.set(name, 0.1)
        with pytest.raises(BadModel, match=r"'ball'.*quaternion"):
            jax.eval_shape(lambda x, name=name: model.set(name, x).link_mass, 0.1)
    with pytest.raises(BadDescription, match="'ball', whose position is a quaternion"):
        ball.add_actuator_pd("ball", kp=1.0).model()
