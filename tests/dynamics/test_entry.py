"""Every public function of the dynamics refuses arrays that do not fit its model, in one clear sentence."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus.dynamics as dynamics
from isthmus import compile_model
from isthmus.dynamics.entry import entry
from isthmus.errors import BadOption, BadShape
from isthmus.model.model import Model
from isthmus.types import Coordinates, Joints
from tests import trees

MODEL = compile_model(trees.pendulum(2))
ROW = np.array([0.7, 0.3])
FITTING = {
    "q": ROW, "v": ROW, "a": ROW, "tau": ROW, "link": MODEL.link_names[0], "point": MODEL.link_names[0],
    "place": np.zeros(3), "force": None, "prescribed": None, "load": None, "bristles": None,
}  # fmt: skip
CASES = [
    (name, argument)
    for name in dynamics.__all__
    for argument in ("q", "v", "a", "tau", "force", "place")
    if inspect.isfunction(f := getattr(dynamics, name)) and argument in inspect.signature(f).parameters
]  # fmt: skip
SHAPES = {"force": [(1, 6), (6,)], "place": [(2,)]}


def arguments(name: str, **changed):
    """Arguments of a function that fit, but for some."""
    function = getattr(dynamics, name)
    given = FITTING | {"kinematics": dynamics.forward_kinematics(MODEL, ROW, ROW)}
    if name == "force_at":
        given["force"] = np.zeros(3)
    names = [n for n in inspect.signature(function).parameters if n not in ("model", "signal")]
    return function, {n: {**given, **changed}[n] for n in names}


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_an_array_of_another_shape_is_refused_by_name(name, argument):
    wrong = SHAPES.get(argument, [(1,), (3,), (), (4, 2)])
    for shape in [(2,)] if (name, argument) == ("force_at", "force") else wrong:
        function, given = arguments(name, **{argument: np.zeros(shape)})
        with pytest.raises(BadShape, match=f"{argument} has shape .*needs ") as caught:
            function(MODEL, **given)
        assert "\n" not in str(caught.value)


def test_the_message_says_what_the_numbers_are_and_what_to_use_for_a_batch():
    with pytest.raises(
        BadShape,
        match=r"q has shape \(1,\); .* needs \(2,\): one for each coordinate of hinge1, hinge2",
    ):
        dynamics.mass_matrix(MODEL, [0.7])
    with pytest.raises(BadShape, match=r"q has shape \(4, 2\).*for a batch use jax.vmap"):
        dynamics.mass_matrix(MODEL, np.zeros((4, 2)))


@pytest.mark.parametrize(
    "value", [[np.nan, 0.0], [0.0, np.inf], [1j, 0.0], ["a", "b"], object(), [[0.0], [1.0, 2.0]]]
)
def test_what_is_no_finite_real_number_is_refused(value):
    with pytest.raises(BadOption, match=r"q.* must be|q\[\d\] is (nan|inf)"):
        dynamics.potential_energy(MODEL, value)


def test_a_list_of_whole_numbers_is_the_array_of_these_numbers():
    of_list = dynamics.forward_dynamics(MODEL, [1, 0], [1, 2], [3, 4])
    of_array = dynamics.forward_dynamics(
        MODEL, *(np.array(x) for x in ([1.0, 0.0], [1.0, 2.0], [3.0, 4.0]))
    )
    np.testing.assert_array_equal(of_list, of_array)


def test_a_trace_checks_shapes_and_no_values():
    """And what it makes is the same as without a check."""

    def plain(model: Model, q: Coordinates, v: Joints) -> Joints:
        return q * v

    traced = lambda f: str(jax.make_jaxpr(lambda q, v: f(MODEL, q, v))(ROW, ROW))
    assert traced(entry(plain)) == traced(plain)
    assert np.isnan(jax.jit(lambda q: entry(plain)(MODEL, q, q))(jnp.array([np.nan, 0.0]))[0])
    with pytest.raises(BadShape, match="v has shape"):
        jax.eval_shape(lambda v: entry(plain)(MODEL, ROW, v), jnp.zeros(3))


def test_what_is_no_model_is_refused():
    with pytest.raises(BadOption, match="mass_matrix: model must be a Model, not an array"):
        dynamics.mass_matrix(ROW, ROW)
