"""Every public function refuses what its annotations do not allow: in one sentence, before it computes anything."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus import dynamics, library, native
from isthmus.entry import check_arguments, wanted
from isthmus.errors import BadArgument, IsthmusError
from isthmus.types import Number, Numbers

MODEL = library.pendulum(2)


class Nonsense:
    """What no function takes."""


NOT_CALLED = {
    "Design",
    "Discovery",
    "Fit",
    "Formula",
    "IsthmusError",
    "Model",
    "Posterior",
    "dynamics.Kinematics",
    "library.names",
}
"""Made by other functions, not by users; or without arguments."""
PYTREES = {"Control", "State"}
"""Hold placeholders while JAX and equinox handle them, so that only text and tables are refused."""
FREE_TO_CHOOSE = {"net", "motions", "loss", "free", "options", "examples", "path", "memory"}
"""Arguments of many kinds, whose functions check them themselves."""
METHODS = (
    ist.Blueprint.attach, ist.Blueprint.load, ist.Blueprint.save, ist.Blueprint.of, ist.Fit.load, ist.Fit.save,
    ist.Model.get, ist.Model.set, ist.Model.link, ist.Model.joint, ist.Model.point, ist.Motion.between,
    ist.Motion.split, ist.Motion.resample, ist.Motion.filter, ist.Motion.velocities, ist.Motion.matched,
    ist.Motion.save, ist.Motion.state, ist.State.neutral, ist.State.random, ist.Study.load, ist.Builder.add_link,
    ist.Builder.add_point, ist.Builder.add_joint_revolute, ist.Builder.add_shape_box, ist.Builder.add_actuator_pd,
)  # fmt: skip


def public() -> Iterator[tuple[str, Any]]:
    """What users call, by name."""
    yield from ((name, getattr(ist, name)) for name in ist.__all__ if name != "library")
    yield from ((f"library.{name}", getattr(library, name)) for name in library.__all__)
    yield from ((f"dynamics.{name}", getattr(dynamics, name)) for name in dynamics.__all__)
    yield from ((method.__qualname__, method) for method in METHODS)
    yield "native.compile", native.compile


CALLS = {name: f for name, f in public() if callable(f) and name not in NOT_CALLED | PYTREES}


@pytest.mark.parametrize("name", CALLS)
def test_a_public_function_refuses_nonsense_for_each_of_its_arguments(name):
    f = CALLS[name]
    for argument, parameter in inspect.signature(f).parameters.items():
        many = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        unchecked = parameter.annotation in ("Any", Any, parameter.empty)
        if many or argument in FREE_TO_CHOOSE or unchecked:
            continue
        with pytest.raises(IsthmusError, match=argument):
            f(**{argument: Nonsense()})


@pytest.mark.parametrize("name", CALLS)
def test_a_public_function_names_its_arguments_where_one_is_unknown(name):
    f = CALLS[name]
    takes_all = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(f).parameters.values())
    if not takes_all:
        with pytest.raises(BadArgument, match="there is no argument 'nonsense'"):
            f(nonsense=1)


@check_arguments
def example(
    model: ist.Model, dt: Number, scale: float = 1.0, *, mode: Literal["a", "b"] = "a"
) -> str:
    """Some function."""
    return f"{model.name} {dt} {scale} {mode}"


SENTENCES = {
    "text for a model": (lambda: example("arm.urdf", 1), r"example: model must be a Model, not the text 'arm.urdf': "
                         r"ist.load\('arm.urdf'\) reads one"),
    "a path": (lambda: example(Path("a"), 1), r"not the path 'a': ist.load\('a'\) reads one"),
    "a class": (lambda: example(ist.Model, 1), "not the class Model"),
    "swapped arguments": (lambda: example(1.0, MODEL), r"model must be a Model, not 1.0: ist.load"),
    "text for a number": (lambda: example(MODEL, "0.1"), "dt must be a number, not the text '0.1'"),
    "truth for a number": (lambda: example(MODEL, True), "dt must be a number, not True"),
    "several numbers for one": (lambda: example(MODEL, np.ones(3)), r"a number, not an array of shape \(3,\)"),
    "another choice": (lambda: example(MODEL, 1, mode="c"), "mode must be 'a' or 'b', not the text 'c'"),
    "a misspelt name": (lambda: example(MODEL, 1, mod="a"), "'mod'. Did you mean 'mode'"),
    "a missing argument": (lambda: example(MODEL), "missing a required argument: 'dt'. It takes model, dt, scale"),
    "one too many": (lambda: example(MODEL, 1, 1, "a"), "too many positional arguments. It takes model"),
}  # fmt: skip


@pytest.mark.parametrize("fault", SENTENCES)
def test_the_refusal_says_who_what_and_what_next(fault):
    call, words = SENTENCES[fault]
    with pytest.raises(BadArgument, match=words):
        call()


FITS = {
    "numbers": (float, [1, 1.0, np.float32(1), np.int64(1), np.ones(()), jnp.ones(())], [True, "1", [1.0], None]),
    "whole numbers": (int, [1, np.int32(1)], [1.0, True, "1"]),
    "traced numbers": (Number, [1, jnp.ones(())], [[1.0], np.ones(2), "1"]),
    "several numbers": (Numbers, [1, [1, 2], ((1, 2), (3, 4)), np.ones((2, 2))], [["a"], [[1], [1, 2]], None]),
    "lists of text": (Sequence[str], [[], ["a"], ("a",), np.array(["a"])], ["a", ["a", 1], np.ones(2), {"a": 1}]),
    "dicts": (Mapping[str, float], [{}, {"a": 1}], [{1: 1}, {"a": "b"}, [("a", 1)]]),
    "functions": (Callable[[int], int], [abs, lambda: 0], ["abs", 3]),
    "classes": (type[ist.MLP], [ist.MLP], [ist.MLP(), ist.GRU]),
    "one or none": (str | None, ["a", None], [1]),
}  # fmt: skip


@pytest.mark.parametrize("what", FITS)
def test_annotations_decide_what_fits(what):
    annotation, good, bad = FITS[what]
    kind = wanted(annotation)
    assert kind is not None
    assert [x for x in good if not kind.fits(x)] == []
    assert [x for x in bad if kind.fits(x)] == []


def test_errors_inside_a_function_stay_as_they_are():
    @check_arguments
    def broken(x: float) -> float:
        raise TypeError("its own")

    with pytest.raises(TypeError, match="its own") as caught:
        broken(1.0)
    assert not isinstance(caught.value, IsthmusError)


def test_traced_numbers_pass():
    assert jax.eval_shape(check_arguments(lambda x: x), 1.0).shape == ()
