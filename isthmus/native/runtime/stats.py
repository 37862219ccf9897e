"""What a compiled function consists of, and what it took to make it."""

from __future__ import annotations

import dataclasses
import math

from isthmus.native.ir.ops import OPS
from isthmus.native.ir.program import Block, Program, children
from isthmus.native.passes.liveness import live


@dataclasses.dataclass(frozen=True)
class Stats:
    """Read it from the top: how much was pruned, how much is left to do, what it needed."""

    operations_before: int
    """Scalar operations of the traced function, each loop body counted once."""
    operations: int
    """Operations left after pruning, each loop body counted once."""
    flops: int
    """Floating-point operations one call executes for one world; a function counts as one, a fused
    multiply-add as two, the body of a `while` as if it ran once."""
    bytes: int
    """Scratch memory for one world: residuals, trajectories, carried arrays."""
    lanes: int
    """Worlds that run side by side in `map`."""
    trace_seconds: float
    compile_seconds: float
    """LLVM's time so far, or what loading from disk took; lanes are compiled at the first `map`."""
    engine: str = "native"

    def __str__(self) -> str:
        return (
            f"{self.engine}: {self.operations:,} operations ({self.operations_before:,} before pruning), "
            f"{self.flops:,} flops and {self.bytes:,} bytes of scratch a world, {self.lanes} lanes; "
            f"traced in {self.trace_seconds:.2f} s, compiled in {self.compile_seconds:.2f} s"
        )


def count(program: Program) -> tuple[int, int]:
    """(operations in the text, floating-point operations executed)."""
    alive = live(program)

    def visit(block: Block) -> tuple[int, int]:
        operations = flops = 0
        for item in block.items:
            if item not in alive:
                continue
            op = program.ops[item]
            if op in ("for", "while", "if"):
                times = program.args[item][0].count if op == "for" else 1
                for child in children(program, item):
                    inner, inner_flops = visit(child)
                    operations += inner
                    flops += inner_flops * times
            elif op == "product":
                operations += 1
                flops += 2 * math.prod(program.args[item][0].sizes)
            elif op not in ("load", "store"):
                operations += 1
                flops += OPS[op].floating
        return operations, flops

    return visit(program.root)
