"""Phases are told from the inside out, to whoever listens, from any thread."""

from __future__ import annotations

import threading

import pytest

from isthmus.phases import counted, current, in_turn, listening, phase, repeating


def test_the_innermost_phase_is_told_and_the_outer_one_again_after_it():
    told = []
    with listening(lambda now: told.append(None if now is None else str(now))):
        with phase("looking"), phase("compiling the residual", seconds=6.2):
            pass
        assert current() is None
    assert told == ["looking", "compiling the residual: about 6 s", "looking", None]


def test_a_phase_of_another_thread_is_heard_and_one_that_fails_is_over():
    told = []

    def work() -> None:
        with pytest.raises(ValueError, match="no"), phase("working"):
            raise ValueError("no")

    with listening(told.append):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert [None if now is None else now.text for now in told] == ["working", None]
    assert current() is None


def test_a_line_is_said_again_and_again_while_a_phase_lasts():
    lines, enough = [], threading.Event()

    def say(text: str) -> None:
        lines.append(text)
        if len(lines) > 2:
            enough.set()

    with repeating(say, 0.01), phase("compiling"):
        assert enough.wait(60.0)
    assert all(line.startswith("compiling (") for line in lines)


def test_parts_in_turn_are_counted_and_expected_to_last_as_long_as_those_before():
    told = []
    with listening(told.append):
        assert list(in_turn("abc", "run")) == ["a", "b", "c"]
    begun = [now for now in told if now is not None]
    assert [now.text for now in begun] == ["run 1 of 3", "run 2 of 3", "run 3 of 3"]
    assert [now.seconds is None for now in begun] == [True, False, False]
    assert current() is None


def test_numbers_have_their_plural():
    assert [counted(1, "step"), counted(2, "step")] == ["1 step", "2 steps"]
