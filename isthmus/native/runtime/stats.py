"""What a compiled function consists of, and what it took to make it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from isthmus.native.ir.ops import OPS
from isthmus.native.ir.program import Block, Program, children
from isthmus.native.passes.liveness import CONTROL, live


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


def executed(program: Program) -> Iterator[tuple[int, int]]:
    """Every live item but loops and branches, with how often one call runs it; `while` counts as one round."""
    alive = live(program)

    def visit(block: Block, times: int) -> Iterator[tuple[int, int]]:
        for item in block.items:
            if item not in alive:
                continue
            if program.ops[item] in CONTROL:
                rounds = program.args[item][0].count if program.ops[item] == "for" else 1
                for child in children(program, item):
                    yield from visit(child, times * rounds)
            else:
                yield item, times

    return visit(program.root, 1)


def operations_in(program: Program, item: int) -> int:
    """Floating-point operations of a product; 1 for any other item."""
    is_product = program.ops[item] == "product"
    return 2 * math.prod(program.args[item][0].sizes) if is_product else 1


def count(program: Program) -> tuple[int, int]:
    """(operations in the text, floating-point operations executed)."""
    operations = flops = 0
    for item, times in executed(program):
        op = program.ops[item]
        if op not in ("load", "store"):
            operations += 1
            if op == "product" or OPS[op].floating:
                flops += times * operations_in(program, item)
    return operations, flops
