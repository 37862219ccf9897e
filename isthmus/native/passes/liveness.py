"""Which values and statements of a program some output depends on."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.native.ir.program import Block, Branch, Buffer, Loop, Program, children, operands, walk

CONTROL = frozenset(["for", "while", "if"])
SPECIAL = CONTROL | {"const", "load", "store", "product", "result", "param", "counter"}
"""Operations whose arguments are not simply their operands."""


def live(program: Program) -> set[int]:
    """Every value and statement that some output depends on; found once for a finished program."""
    known = program.alive
    if known is None or known[0] != len(program.ops):
        known = program.alive = (len(program.ops), Liveness(program).run())
    return known[1]


class Liveness:
    """Finds what is needed, from the statement that owns each block and those that write each buffer."""

    def __init__(self, program: Program) -> None:
        self.p = program
        self.owner: dict[Block, int] = {}
        """Block -> the loop or branch it belongs to."""
        self.stores: dict[Buffer, list[tuple[Block, int]]] = {}
        self.home: dict[int, Block] = {}
        """Where the items inside loops and branches stand."""
        self.makers: dict[int, tuple[Loop, int]] = {}
        self.found: set[int] = set()
        self.reached: set[Block] = {program.root}
        self.stack: list[int] = []
        self.look(program.root)

    def look(self, block: Block) -> None:
        """Notes what stands in `block` and in the blocks inside it."""
        ops, args = self.p.ops, self.p.args
        inside = block is not self.p.root
        for item in block.items:
            op = ops[item]
            if inside:
                self.home[item] = block
            if op == "store":
                self.stores.setdefault(args[item][0], []).append((block, item))
            elif op == "product":
                self.stores.setdefault(args[item][0].out.buffer, []).append((block, item))
            elif op in CONTROL:
                record = args[item][0]
                if isinstance(record, Loop):
                    self.makers.update((v, (record, k)) for k, v in enumerate(record.params))
                for child in children(self.p, item):
                    self.owner[child] = item
                    self.look(child)

    def run(self) -> set[int]:
        """From the stores into outputs back to everything they need."""
        for buffer, where in self.stores.items():
            if buffer.space == "out":
                self.written(where)
        ops, args, found, stack = self.p.ops, self.p.args, self.found, self.stack
        home, reached = self.home, self.reached
        while stack:
            value = stack.pop()
            if value in found:
                continue
            found.add(value)
            block = home.get(value)
            if block is not None and block not in reached:
                self.reach(block)
            op = ops[value]
            if op in SPECIAL:
                self.need(op, value)
            else:
                stack.extend(args[value])
        return found

    def need(self, op: str, value: int) -> None:
        """What a value needs that is more than its operands."""
        args, stack = self.p.args[value], self.stack
        for buffer in buffers_read(self.p, value):
            self.written(self.stores.get(buffer, ()))
        if op == "result":
            stack.append(args[0])
            stack.extend(needed(self.p.args[args[0]][0], args[1]))
        elif op == "param":
            loop, k = self.makers[value]
            stack.extend((loop.inits[k], loop.yields[k]))
        elif op == "while":
            stack.append(args[0].going)
        elif op == "if":
            stack.append(args[0].condition)
        stack.extend(operands(self.p, value))

    def written(self, where: Sequence[tuple[Block, int]]) -> None:
        """These stores are needed, and all that leads to them."""
        for block, item in where:
            self.stack.append(item)
            self.reach(block)

    def reach(self, block: Block) -> None:
        """The loops and branches around `block` are needed."""
        while block not in self.reached:
            self.reached.add(block)
            self.stack.append(self.owner[block])
            block = block.parent or self.p.root


def buffers_read(program: Program, value: int) -> tuple[Buffer, ...]:
    """The buffers that a load or a product reads."""
    op, args = program.ops[value], program.args[value]
    if op == "load":
        return (args[0],)
    return (args[0].left.buffer, args[0].right.buffer) if op == "product" else ()


def needed(record: Loop | Branch, k: int) -> list[int]:
    """What result `k` of a loop or branch is made from."""
    if isinstance(record, Branch):
        return [record.then_yields[k], record.else_yields[k]]
    return [record.inits[k], record.params[k], record.yields[k]]


def touched_buffers(program: Program) -> set[Buffer]:
    """The arrays that live code reads or writes."""
    alive = live(program)
    found: set[Buffer] = set()
    for _, item in walk(program):
        if item in alive:
            found.update(buffers_read(program, item))
            if program.ops[item] == "store":
                found.add(program.args[item][0])
            elif program.ops[item] == "product":
                found.add(program.args[item][0].out.buffer)
    return found
