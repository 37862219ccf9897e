"""Messages stay short, however much is wrong."""

from __future__ import annotations

from isthmus.errors import BadFile, BadInput, did_you_mean, shortened


def test_a_message_lists_the_first_faults_and_counts_the_others():
    bad = BadInput([f"fault {k}." for k in range(20_000)], "arm.urdf")
    lines = str(bad).split("\n")
    assert lines[0] == "arm.urdf: 20000 faults:"
    assert lines[20] == "  - fault 19."
    assert lines[21:] == ["  - and 19980 more [IST100]"]
    assert len(bad.faults) == 20_000


def test_the_middle_of_long_words_and_long_lines_is_left_out():
    name = "a" * 10_000
    assert len(str(BadFile(f"there is no file {name!r}."))) < 400
    text = shortened("word " * 1000)
    assert len(text) <= 1000
    assert " … " in text
    assert shortened("an ordinary sentence.") == "an ordinary sentence."


def test_the_nearest_name_is_not_sought_among_thousands():
    assert did_you_mean("elbw", ["elbow"]) == " Did you mean 'elbow'?"
    assert did_you_mean("elbw", [f"elbow{k}" for k in range(10_000)]) == ""
