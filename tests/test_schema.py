"""What a field may hold is read off its annotation; all faults of a table are sentences."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from isthmus.errors import BadOption
from isthmus.schema import checked, faults_of, kind_in, kind_of, made, options_of, table_of


@dataclasses.dataclass(frozen=True)
class Thing:
    """A class with every kind of field that has a form in text."""

    count: int = 1
    size: float | None = None
    pair: tuple[str, str] = ("a", "b")
    rows: tuple[tuple[int, int], ...] = ()
    place: str | Path | None = None
    speed: int = dataclasses.field(default=0, metadata={"decides": False})

    def __post_init__(self) -> None:
        if self.count < 0:
            raise BadOption("count is negative.")


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (int, 3, True),
        (float, 3, "3"),
        (bool, False, 0),
        (str, "", 1),
        (float | None, 2.5, None),
        (tuple[float, ...], [], [1, "2"]),
        (tuple[str, str], ["a", "b"], ["a"]),
        (tuple[tuple[int, int], ...], [[1, 2]], [[1, 2, 3]]),
    ],
)
def test_an_annotation_says_what_a_table_may_hold(annotation, good, bad):
    kind = kind_of(annotation)
    assert kind is not None
    assert kind.fits(good)
    assert not kind.fits(bad)


@pytest.mark.parametrize("annotation", [Any, str | Path, str | Path | None, tuple[int, str]])
def test_what_has_no_form_in_text_is_no_option(annotation):
    assert kind_of(annotation) is None
    assert "place" not in options_of(Thing)


def test_a_table_and_its_object_are_the_same():
    thing = Thing(2, 3.0, rows=((1, 2),))
    table = table_of(thing)
    assert "speed" not in table
    del table["place"]
    assert not list(faults_of(table, options_of(Thing), "a thing"))
    again = made(Thing, table | {"size": 3}, "a thing", [])
    assert again == thing
    assert isinstance(again.size, float)


def test_faults_name_the_table_the_key_and_what_is_wanted():
    table = {"cuont": 1, "size": "large", "pair": ["a"]}
    assert list(faults_of(table, options_of(Thing), "a thing")) == [
        "a thing does not know 'cuont'. Did you mean 'count'?",
        "a thing: size must be a number, not 'large'.",
        "a thing: pair must be a list of 2 texts, not ['a'].",
    ]
    faults = []
    assert made(Thing, {"count": -1}, "a thing", faults) is None
    assert faults == ["a thing: count is negative."]


def test_what_is_right_in_a_table_goes_on_and_the_rest_is_a_fault():
    faults: list[str] = []
    table = {"count": 2, "size": float("nan"), "pair": ["a"], "cuont": 1}
    assert checked(table, options_of(Thing), "a thing", faults) == {"count": 2}
    assert len(faults) == 3


def test_whole_numbers_beyond_float64_and_odd_kinds_are_refused_shortly():
    wrong = (10**30, 10**5000, "9" * 10_000, [[]] * 1000)
    said = [fault for x in wrong for fault in faults_of({"count": x}, options_of(Thing), "a")]
    assert len(said) == len(wrong)
    assert max(map(len, said)) < 400


def test_a_kind_that_is_no_text_is_a_fault():
    faults: list[str] = []
    assert kind_in({"kind": ["x"]}, {"adam": 1}, "[search]", faults) is None
    assert faults == ["[search]: kind must be text in quotes, not ['x']."]
