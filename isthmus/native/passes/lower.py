"""The functions of `isthmus.native.passes.functions` written into a scalar program, one operation at a time.

One world and many lanes then run the same operations and give the same bits, and work that two
functions share (the reduction of an angle for its sine and its cosine) is done once.
"""

from __future__ import annotations

from isthmus.native.ir.program import Program
from isthmus.native.passes.contract import contracting
from isthmus.native.passes.functions import FUNCTIONS
from isthmus.native.passes.functions.builder import Builder, Value
from isthmus.native.passes.rebuild import Rebuild


def lower(program: Program, fused: bool = False) -> Program:
    """The program with every function that we have written out, and, `fused`, products joined with their sums."""
    builders: list[Builder] = []
    contract = contracting(program) if fused else None

    def rewrite(build: Rebuild, item: Value) -> Value | None:
        function = FUNCTIONS.get(program.ops[item])
        if function is None:
            return None if contract is None else contract(build, item)
        if not builders:
            builders.append(Builder(build.new))
        return function(builders[0], *build.values(program.args[item]))

    return Rebuild(program, rewrite, fused=fused, settled=True).run()
