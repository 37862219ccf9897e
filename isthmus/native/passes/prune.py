"""Drops what nobody reads, sees through loops and stores fewer residuals, until nothing changes."""

from __future__ import annotations

from isthmus.native.ir.program import Program
from isthmus.native.passes.rebuild import Rebuild
from isthmus.native.passes.residuals import slim


def prune(program: Program) -> Program:
    """Folds, shares and drops until loops, residuals and memory hold nothing idle."""
    program = Rebuild(program).run()
    for _ in range(3):
        found = slim(program)
        if found is None:
            break
        program = Rebuild(program, found, settled=True).run()
    return program
