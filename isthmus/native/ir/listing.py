"""A scalar program as text, for people and for tests."""

from __future__ import annotations

from collections.abc import Callable

from isthmus.native.ir.program import Block, Branch, Product, Program, children


def product_text(record: Product, name: Callable[[int], str]) -> str:
    """A product as one line: buffers, starts and strides, then the sizes."""
    spot = lambda view: f"{view.buffer.name}[{name(view.start)}]"
    count, rows, columns, depth = record.sizes
    sides = f"sum(k<{depth}) {spot(record.left)}{record.left.strides} "
    sides += f"{spot(record.right)}{record.right.strides}"
    where = f"b<{count} i<{rows} j<{columns}"
    return f"{spot(record.out)}{record.out.strides} = {sides}, {where}"


def listing(program: Program) -> str:
    """The program, one line for each statement."""
    lines: list[str] = []

    def name(value: int) -> str:
        return repr(program.args[value][0]) if program.ops[value] == "const" else f"v{value}"

    def show(block: Block, pad: str) -> None:
        for item in block.items:
            op, args = program.ops[item], program.args[item]
            if op == "load":
                lines.append(f"{pad}v{item} = {args[0].name}[{name(args[1])}]")
            elif op == "store":
                lines.append(f"{pad}{args[0].name}[{name(args[1])}] = {name(args[2])}")
            elif op == "product":
                lines.append(pad + product_text(args[0], name))
            elif op in ("for", "while", "if"):
                record = args[0]
                outs = ", ".join(map(name, record.results))
                if isinstance(record, Branch):
                    head = f"if {name(record.condition)}"
                else:
                    carries = zip(record.params, record.inits, record.yields, strict=True)
                    text = ", ".join(f"{name(p)}={name(i)}->{name(y)}" for p, i, y in carries)
                    count = (
                        f"{record.count} times" if op == "for" else f"while {name(record.going)}"
                    )
                    counter = f" v{record.counter}" if record.counter is not None else ""
                    head = f"loop {count}{counter} [{text}]"
                lines.append(f"{pad}{outs} = {head}:" if outs else f"{pad}{head}:")
                for child in children(program, item):
                    show(child, pad + "    ")
                    lines.append(f"{pad}  --")
            else:
                lines.append(f"{pad}v{item} = {op} {' '.join(map(name, args))}")

    show(program.root, "")
    return "\n".join(lines)
