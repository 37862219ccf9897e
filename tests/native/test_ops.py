"""One table of operations, which every target covers; one rule for each primitive."""

from __future__ import annotations

import pytest

from isthmus.native.ir.ops import OPS
from isthmus.native.passes.functions import FUNCTIONS
from isthmus.native.targets.c.operations import OPERATIONS
from isthmus.native.targets.llvm.instructions import INSTRUCTIONS
from isthmus.native.tracing.trace import rule
from isthmus.native.tracing.translate import RULES

HUGE = {"sin_huge", "cos_huge", "tan_huge"}
"""Made where functions are written out, which C does not do."""


@pytest.mark.parametrize(
    ("written", "not_reached"),
    [(INSTRUCTIONS, set(FUNCTIONS)), (OPERATIONS, HUGE)],
    ids=["llvm", "c"],
)
def test_every_target_writes_every_operation_that_reaches_it(written, not_reached):
    assert set(written) == set(OPS) - not_reached


def test_functions_that_are_written_out_are_operations():
    assert set(FUNCTIONS) <= set(OPS)


def test_a_primitive_has_one_rule():
    assert "sin" in RULES
    with pytest.raises(ValueError, match="'sin' has a rule already"):
        rule("sin")(lambda trace, eqn: [])
