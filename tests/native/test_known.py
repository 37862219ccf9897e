"""Functions that are found on disk without tracing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.native.ir.origins import PACKAGE
from isthmus.native.runtime import codes, pipeline
from isthmus.native.runtime.known import Facts, Known, digest
from isthmus.simulate import engine

MODEL = ist.library.pendulum(2)
START = ist.State.neutral(MODEL)


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """An empty folder, and a way to forget what this process has in memory."""
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path))
    monkeypatch.setattr(engine, "_CACHE", type(engine._CACHE)())
    return engine._CACHE.clear


def nobody(*args, **more):
    raise AssertionError("this was to be loaded")


def test_the_second_process_neither_traces_nor_compiles(fresh, monkeypatch):
    many = dataclasses.replace(START, q=np.ones((9, 1)) * START.q, v=np.ones((9, 1)) * START.v)

    def work():
        return (
            ist.rollout(MODEL, START, None, 0.01, steps=5, record=["link/pose"]),
            ist.step(MODEL, START, np.ones(2), 0.01),
            ist.rollout_many(MODEL, many, np.ones((9, 4, 2)), 0.01),
        )

    first = work()
    fresh()
    monkeypatch.setattr(pipeline, "plan_of", nobody)
    monkeypatch.setattr(codes, "object_of", nobody)
    again = work()
    assert jax.tree.structure(again) == jax.tree.structure(first)
    jax.tree.map(np.testing.assert_array_equal, again, first)


def test_the_digest_covers_all_sources_of_the_package():
    assert Path(ist.__file__).parent == PACKAGE


def test_a_known_function_is_traced_where_its_code_is_gone(fresh, tmp_path):
    first = ist.step(MODEL, START, None, 0.01)
    entries = sorted((tmp_path / "native").iterdir(), key=lambda path: path.stat().st_size)
    entries[-1].unlink()
    fresh()
    jax.tree.map(np.testing.assert_array_equal, ist.step(MODEL, START, None, 0.01), first)
    assert entries[-1].exists()


def test_a_control_law_of_the_user_is_not_taken_for_another(fresh):
    law = lambda gain: lambda t, state: gain * state.q - 1.0
    ends = []
    for gain in (1.0, 2.0):
        ends.append(ist.rollout(MODEL, START, law(gain), 0.01, steps=5).q[-1])
        fresh()
    assert not np.array_equal(*ends)


def test_numbers_do_not_change_the_name_and_structure_does():
    name = digest(("step", 3), (MODEL, START, 0.01))
    heavier = dataclasses.replace(MODEL, link_mass=2.0 * MODEL.link_mass)
    assert name is not None
    assert digest(("step", 3), (heavier, START, 0.02)) == name
    longer = ist.library.pendulum(3)
    others = [
        digest(("step", 4), (MODEL, START, 0.01)),
        digest(("step", 3), (dataclasses.replace(MODEL, name="other"), START, 0.01)),
        digest(("step", 3), (longer, ist.State.neutral(longer), 0.01)),
        digest(("step", 3), (MODEL, START, 1)),
        digest(("step", 3), (MODEL, START, np.ones(1))),
        digest(("step", 3.0), (MODEL, START, 0.01)),
        digest(["step", 3], (MODEL, START, 0.01)),
    ]
    assert len({name, *others}) == 1 + len(others)


class Stranger(eqx.Module):
    """A class whose code no version number covers."""

    gain: float


@pytest.mark.parametrize(
    "thing", [lambda x: x, Stranger(1.0), Stranger(1.0).__eq__, object(), range(3)]
)
def test_what_may_hide_something_has_no_name(thing):
    assert digest(thing, (1.0,)) is None
    assert digest("known", ({"inside": [thing]},)) is None


def test_facts_come_back_as_they_were(fresh):
    facts = Facts([((2, 3), "float64"), ((), "bool")], 30, 20, 10, {"1": "one"})
    known = Known("name", None)
    known.write(facts)
    known.write(dataclasses.replace(facts, codes={"8": "eight"}))
    assert known.read() == dataclasses.replace(facts, codes={"1": "one", "8": "eight"})
