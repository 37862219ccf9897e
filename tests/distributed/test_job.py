"""A run is data in, data out."""

from __future__ import annotations

import math

import pytest

from isthmus.distributed.job import Job, Record, named, run
from isthmus.errors import BadOption
from tests.distributed.tasks import HERE


def test_a_record_holds_its_job_so_any_line_can_be_run_again():
    line = run(Job(f"{HERE}:power", {"base": 1.1, "exponent": 7}, seed=3)).as_text()
    record = Record.from_text(line)
    assert run(record.job).result["value"] == record.result["value"]


def test_records_go_through_text_bit_for_bit():
    numbers = [0.1 + 0.2, 1e-310, -0.0, math.inf, 2**60 + 1.0, math.pi]
    record = Record(Job("a:b", {"x": numbers}, 1), {"y": numbers}, 0.25)
    again = Record.from_text(record.as_text())
    assert again == record
    assert [x.hex() for x in again.result["y"]] == [x.hex() for x in numbers]


def test_equal_jobs_have_equal_keys_whatever_the_order_of_their_settings():
    one, two = Job("a:b", {"x": 1, "y": 2}), Job("a:b", {"y": 2, "x": 1})
    assert one.key == two.key
    assert len({one.key, Job("a:b", {"x": 1, "y": 3}).key, Job("a:b", one.settings, 1).key}) == 3


def test_a_function_is_found_by_module_or_by_file(tmp_path):
    (tmp_path / "study.py").write_text("def twice(x):\n    return 2 * x\n", encoding="utf-8")
    assert named(f"{tmp_path / 'study.py'}:twice")(4) == 8
    assert named("math:sqrt")(4.0) == 2.0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sqrt", "names no function"),
        ("math:squareroot", "'math' has no function 'squareroot'"),
        ("no_such_module:f", "cannot be loaded: No module named 'no_such_module'"),
        ("no/such/file.py:f", "cannot be loaded: .*No such file"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused_in_words(name, words):
    with pytest.raises(BadOption, match=words):
        named(name)
