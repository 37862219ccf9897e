"""Drops values that no output depends on, carried values that never change, and residuals that need not be stored."""

from __future__ import annotations

from isthmus.native.ir.program import Program
from isthmus.native.passes.rebuild import Rebuild
from isthmus.native.passes.residuals import slim


def prune(program: Program) -> Program:
    """The program without what is not needed; what one round removes may make more removable in the next."""
    program = Rebuild(program).run()
    for _ in range(3):
        found = slim(program)
        if found is None:
            break
        program = Rebuild(program, found, settled=True).run()
    return program
