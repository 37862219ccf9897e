"""A compiled function as a table for people: operations by kind, and the lines of code that they come from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from isthmus.native.ir.origins import Place
from isthmus.native.ir.program import Block, Program, children
from isthmus.native.passes.contract import contract
from isthmus.native.passes.liveness import live
from isthmus.native.runtime.stats import Stats
from isthmus.native.targets.llvm.processor import has_fma

MOST = 16
"""Rows of a table; what is left is summed up in one more."""

Group = TypeVar("Group")
Tally = list[tuple[str, Place, int]]
"""For each operation in the text: its kind, its line, and how often one call runs it."""


def tally(pruned: Program) -> Tally:
    """All operations of one world; products fused as the processor does, functions counted as one."""
    program = contract(pruned) if has_fma() else pruned
    alive, place = live(program), program.places.place

    def visit(block: Block, times: int) -> Iterator[tuple[str, Place, int]]:
        for item in block.items:
            if item not in alive:
                continue
            op, args = program.ops[item], program.args[item]
            if op in ("for", "while", "if"):
                rounds = args[0].count if op == "for" else 1
                for child in children(program, item):
                    yield from visit(child, times * rounds)
            else:
                inside = 2 * math.prod(args[0].sizes) if op == "product" else 1
                yield op, place(program.origins[item]), times * inside

    return list(visit(program.root, 1))


def report(name: str, stats: Stats, pruned: Program) -> str:
    """What `print(f)` shows."""
    rows = tally(pruned)
    work = [row for row in rows if row[0] not in ("load", "store")]
    reads, writes = (sum(n for op, _, n in rows if op == which) for which in ("load", "store"))
    kinds = table(("operation",), work, lambda row: row[0], lambda op: (op,))
    lines = table(("line", "function"), work, lambda row: row[1], lambda p: (str(p), p.function))
    memory = f"memory of one world: {reads:,} numbers read, {writes:,} written"
    return "\n".join([name, str(stats), "", *kinds, "", *lines, "", memory])


def table(
    titles: Sequence[str],
    rows: Tally,
    group: Callable[[tuple[str, Place, int]], Group],
    cells: Callable[[Group], tuple[str, ...]],
) -> list[str]:
    """Lines of an aligned table: groups of operations, those first that are run most often."""
    text: Counter[Group] = Counter(map(group, rows))
    runs: Counter[Group] = Counter()
    for row in rows:
        runs[group(row)] += row[2]
    total = max(1, sum(runs.values()))
    ranked = runs.most_common()
    body = [(cells(g), text[g], n) for g, n in ranked[:MOST]]
    if rest := ranked[MOST:]:
        label = (f"{len(rest)} more", *[""] * (len(titles) - 1))
        body.append((label, sum(text[g] for g, _ in rest), sum(n for _, n in rest)))
    numbers = [(f"{in_text:,}", f"{n:,}", f"{100 * n / total:.0f} %") for _, in_text, n in body]
    head = (*titles, "in the text", "executed", "share")
    grid = [head, *((*label, *row) for (label, _, _), row in zip(body, numbers, strict=True))]
    widths = [max(len(row[k]) for row in grid) for k in range(len(head))]
    left = len(titles)
    return [
        "  ".join(
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in grid
    ]
