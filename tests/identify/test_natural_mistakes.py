"""What users try first is accepted where it is clear what is meant, and else refused with the way to do it."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption, IsthmusError
from isthmus.identify.search.names import SEARCHES, as_search, search_class
from isthmus.losses.windows import as_loss
from isthmus.model.state import as_state
from isthmus.simulate.integrate import integrator_of


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_may_be_its_name_or_its_class(name):
    kind = search_class(name)
    for given in (name, name.upper(), name.replace("_", "-"), kind, as_search(kind)):
        assert isinstance(as_search(given), kind)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("levenberg", "no search 'levenberg'. Did you mean 'levenberg_marquardt'"),
        (3, "must be a search, such as ist.LevenbergMarquardt"),
        (int, "must be a search"),
    ],
)
def test_what_is_no_search_is_refused(given, words):
    with pytest.raises(BadOption, match=words):
        as_search(given)


MODEL = ist.library.pendulum(2)
STATE = ist.State.neutral(MODEL)
TIMES = np.arange(20) * 0.01
MOTION = ist.Motion(
    TIMES, np.sin(TIMES[:, None] + np.arange(2)), np.cos(TIMES[:, None] + np.arange(2))
)
WIRES = ist.Blueprint(ist.Wire("joint/torque", "joint/position", ist.MLP))


def roll(**given):
    """A rollout, which must fail before anything is compiled."""
    return ist.rollout(
        **{"model": MODEL, "state": STATE, "controls": None, "dt": 0.01, "steps": 3, **given}
    )


def law(f):
    return lambda: jax.eval_shape(lambda: roll(controls=f))


MISTAKES = {
    "fit of a model": (lambda: ist.fit(MODEL, MOTION), "fit: problem must be a Problem, not a Model: ist.Problem"),
    "fit of a class": (lambda: ist.fit(ist.Problem), r"not the class Problem: Problem\(...\) makes one"),
    "rollout of a file": (lambda: roll(model="arm.urdf"), r"rollout: model .* ist.load\('arm.urdf'\) reads one"),
    "no state": (lambda: roll(state=None), r"state must be a State, .* not None: ist.State\(q, v\) makes one"),
    "short state": (lambda: roll(state=np.zeros(3)), "or the 2 positions and 2 velocities, of 'pendulum_2'"),
    "state of other keys": (lambda: roll(state={"position": [0, 0]}), "a State is needed, not {'position'"),
    "text in a state": (lambda: ist.State("a", [0.0]), "State.q must be an array of numbers, not the text 'a'"),
    "state without v": (lambda: ist.State([0.0]), "State: missing a required argument: 'v'"),
    "np.sin in a law": (law(lambda t, _: np.sin(t) * np.ones(2)), "law '<lambda>' needs the value .* jnp.sin"),
    "math.sin in a law": (law(lambda t, _: [math.sin(t), 0.0]), "write jnp.sin for np.sin or math.sin"),
    "if in a law": (law(lambda t, _: jnp.ones(2) if t > 0.5 else jnp.zeros(2)), r"in line \d+, .* jnp.where for if"),
    "text as a key": (lambda: WIRES.attach(MODEL, key="a"), "key must be a random key.* or a whole number"),
    "no key": (lambda: WIRES.attach(MODEL), "missing a required argument: 'key'"),
    "text as dt": (lambda: roll(dt="0.01"), "rollout: dt must be a number, not the text '0.01'"),
    "text as steps": (lambda: roll(steps="3"), "steps must be a whole number or None, not the text '3'"),
    "misspelt option": (lambda: roll(recrd=()), "'recrd'. Did you mean 'record'"),
    "misspelt engine": (lambda: roll(engine="gpu"), "engine must be 'native', 'xla' or None"),
    "worlds that differ": (lambda: ist.rollout_many(MODEL, np.zeros((3, 4)), np.zeros((5, 6, 2)), 0.01),
                           "leading axes are states: 3, 'torque' of the controls: 5"),
    "no worlds": (lambda: ist.rollout_many(MODEL, STATE, None, 0.01, steps=2), "rollout takes a single world"),
    "a leaf of another shape": (lambda: MODEL.set("link/mass", np.ones((1000, 8))), r"\('worlds', 2\) makes many"),
    "text as a mass": (lambda: MODEL.set("link/mass", "heavy"), "'link/mass' must be an array of numbers"),
    "free of a number": (lambda: ist.Problem(MODEL, MOTION, free=3), "free must be ist.Free.*not 3"),
    "nothing free": (lambda: ist.fit(ist.Problem(MODEL, MOTION)), "nothing is free"),
    "text as a bound": (lambda: ist.Free("link/mass", low="a"), "Free: low must be .* not the text 'a'"),
    "motions by name": (lambda: ist.Problem(MODEL, "log.csv", free="link/mass"), "the text 'log.csv'; ist.read_motion"),
    "a list as a loss": (lambda: ist.Problem(MODEL, MOTION, free="link/mass", loss=[50]), r"such as ist.Windows\(50\)"),
    "noise of another signal": (lambda: ist.Problem(MODEL, MOTION, free="link/mass", noise={"joint/positon": 1}),
                                "'joint/positon', which is not compared. Did you mean 'joint/position'"),
    "negative noise": (lambda: ist.Problem(MODEL, MOTION, free="link/mass", noise=-1), "must be positive and finite"),
    "negative dt": (lambda: ist.Problem(MODEL, MOTION, free="link/mass", dt=-1), "dt must be a positive number"),
    "a motion with lost rows": (lambda: ist.Motion(TIMES, np.zeros((9, 2))), r"q has shape \(9, 2\) and t \(20,\)"),
    "a motion cut by text": (lambda: MOTION["a"], r"motion\[a:b\].*not by the text 'a'"),
    "a row that is not there": (lambda: MOTION.state(20), "no row 20; the motion has 20"),
    "unknown joint number": (lambda: ist.Builder().add_joint_free("a", None, "b", dampng=1), "Did you mean 'damping'"),
    "masses of too few links": (lambda: ist.library.arm([1.0, 2.0]), "masses has 2 numbers for 7 links"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_natural_mistake_is_refused_with_the_way_to_do_it(mistake):
    call, words = MISTAKES[mistake]
    with pytest.raises(IsthmusError, match=words):
        call()


Q, V = np.array([0.1, 0.2]), np.array([0.3, 0.4])


@pytest.mark.parametrize(
    ("given", "v"),
    [
        (Q, 0 * V), ([0.1, 0.2], 0 * V), (np.concatenate([Q, V]), V), ((Q, V), V), ({"q": Q, "v": V}, V),
        ({"q": Q}, 0 * V),
    ],
)  # fmt: skip
def test_a_state_may_be_an_array_a_pair_or_a_dict(given, v):
    state = as_state(MODEL, given)
    np.testing.assert_array_equal(state.q, Q)
    np.testing.assert_array_equal(state.v, v)


def test_rows_of_an_array_are_states_of_worlds():
    rows = np.arange(12.0).reshape(3, 4)
    state = as_state(MODEL, rows)
    np.testing.assert_array_equal(np.concatenate([state.q, state.v], axis=1), rows)


@pytest.mark.parametrize("free", ["link/*/mass", ["link/*/mass"], ist.Free("link/*/mass")])
def test_what_is_free_may_be_a_name_or_a_single_free(free):
    assert ist.Problem(MODEL, MOTION, free=free).free == (ist.Free("link/*/mass"),)


def test_a_whole_number_is_a_key():
    wired, same = WIRES.attach(MODEL, key=3), WIRES.attach(MODEL, key=jax.random.key(3))
    assert eqx.tree_equal(wired, same)
    assert eqx.tree_equal(ist.State.random(MODEL, 3), ist.State.random(MODEL, jax.random.key(3)))


def test_a_value_with_one_axis_more_makes_worlds():
    masses = np.linspace(1.0, 2.0, 5)
    worlds = MODEL.set("link/rod_2/mass", masses)
    assert worlds.link_mass.shape == (5, 2)
    np.testing.assert_array_equal(worlds.get("link/rod_2/mass"), masses)
    np.testing.assert_array_equal(
        worlds.set("link/rod_1/mass", 7.0).get("link/mass")[:, 0], np.full(5, 7.0)
    )
    limited = MODEL.set("joint/upper", np.array([[1.0, np.inf], [2.0, np.inf]]))
    assert limited.limited == (0,)
    with pytest.raises(IsthmusError, match=r"lower limit 1\.5 above its upper limit 1"):
        limited.set("joint/lower", 1.5)


@pytest.mark.parametrize("kind", [ist.Windows, ist.OneStep, ist.RK4])
def test_a_class_stands_for_its_default_options(kind):
    made = integrator_of(kind) if kind is ist.RK4 else as_loss(kind)
    assert made == kind()


def test_a_fit_of_starts_alone():
    model = ist.library.pendulum(1)
    truth = ist.rollout(model, ist.State(np.array([0.3]), np.zeros(1)), None, 0.01, steps=60)
    noise = 1e-3 * np.random.default_rng(0).standard_normal(truth.q.shape)
    motion = ist.Motion(truth.t, truth.q + noise, truth.v)
    free = [ist.Free("start/position", prior=0.01), ist.Free("start/velocity", prior=0.1)]
    problem = ist.Problem(model, motion, free=free, loss=ist.Windows(20), noise=1e-3)
    fit = ist.fit(problem)
    before, after = fit.errors["joint/position"]
    assert fit.status == "converged"
    assert after < before
    assert "joint/position" in str(fit)
