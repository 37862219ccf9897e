"""Random programs from fixed seeds are in native code what they are in XLA; `make fuzz` tries thousands."""

from __future__ import annotations

import pytest

from tests.fuzz.native import compared
from tests.fuzz.programs import program

GROUPS, EACH = 6, 10


@pytest.mark.loose
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_programs_are_those_of_xla(group):
    for seed in range(EACH * group, EACH * (group + 1)):
        verdict = compared(program(seed))
        assert verdict.kind in ("same", "refused", "refused by XLA"), (seed, verdict.detail)


def test_a_program_is_the_same_for_the_same_seed():
    assert program(7).file() == program(7).file()
