"""A compiled function as a table for people: operations by kind, and the lines of code that they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from isthmus.native.ir.origins import Place
from isthmus.native.ir.program import Program
from isthmus.native.passes.contract import contract
from isthmus.native.runtime.stats import Stats, executed, operations_in

MAX_ROWS = 16
"""Rows of a table; one more row has the sum of the others."""

Group = TypeVar("Group")
Tally = list[tuple[str, Place, int]]
"""For each operation in the text: its kind, its line, and how often one call runs it."""


def tally(pruned: Program, fused: bool) -> Tally:
    """All operations of one world, products `fused` with sums or not; a function counts as one."""
    program = contract(pruned) if fused else pruned
    place = program.places.place
    return [
        (program.ops[item], place(program.origins[item]), times * operations_in(program, item))
        for item, times in executed(program)
    ]


def report(name: str, stats: Stats, pruned: Program, fused: bool) -> str:
    """What `print(f)` shows."""
    rows = tally(pruned, fused)
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
    body = [(cells(g), text[g], n) for g, n in ranked[:MAX_ROWS]]
    if rest := ranked[MAX_ROWS:]:
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
