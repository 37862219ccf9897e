"""Which values are the same in all lanes: those that depend on constants and shared inputs alone."""

from __future__ import annotations

from isthmus.native.ir.program import Branch, Buffer, Loop, Program, operands, walk


class Uniform:
    """`same(value)`: one number for all lanes; `spread`: those of them that vectors read."""

    def __init__(
        self, program: Program, live: set[int], shared: frozenset[Buffer] = frozenset()
    ) -> None:
        self.p, self.shared = program, shared
        self.differing: set[int] = set()
        items = [item for _, item in walk(program) if item in live]
        size = -1
        while size != len(self.differing):
            size = len(self.differing)
            for item in items:
                self._visit(item)
        self.spread: set[int] = set()
        for item in items:
            self._collect(item)

    def same(self, value: int) -> bool:
        return value not in self.differing

    def _differs(self, *values: int) -> bool:
        return any(v in self.differing for v in values)

    def _visit(self, item: int) -> None:
        op, args = self.p.ops[item], self.p.args[item]
        if op == "load":
            alike = args[0].space == "const" or args[0] in self.shared
            if not alike or self._differs(args[1]):
                self.differing.add(item)
        elif op in ("for", "while"):
            loop: Loop = args[0]
            torn = loop.going is not None and self._differs(loop.going)
            ends = loop.yields if op == "for" else loop.params
            rows = zip(loop.params, loop.inits, loop.yields, loop.results, ends, strict=True)
            for param, init, out, result, end in rows:
                if torn or self._differs(init, out):
                    self.differing.add(param)
                if self._differs(end):
                    self.differing.add(result)
        elif op == "if":
            record: Branch = args[0]
            torn = self._differs(record.condition)
            rows = zip(record.then_yields, record.else_yields, record.results, strict=True)
            for x, y, result in rows:
                if torn or self._differs(x, y):
                    self.differing.add(result)
        elif op != "store" and self._differs(*operands(self.p, item)):
            self.differing.add(item)

    def _need(self, *values: int) -> None:
        for value in values:
            if value not in self.differing and self.p.ops[value] != "const":
                self.spread.add(self._source(value))

    def _source(self, value: int) -> int:
        """What a loop's result really is: the value it yields, or its parameter."""
        while self.p.ops[value] == "result":
            statement, k = self.p.args[value]
            record = self.p.args[statement][0]
            if isinstance(record, Branch):
                break
            value = record.yields[k] if record.going is None else record.params[k]
        return value

    def _collect(self, item: int) -> None:
        op, args = self.p.ops[item], self.p.args[item]
        if op == "store":
            self._need(args[2])
            if self._differs(args[1]):
                self._need(args[1])
        elif op in ("for", "while"):
            loop: Loop = args[0]
            for param, init, out in zip(loop.params, loop.inits, loop.yields, strict=True):
                if param in self.differing:
                    self._need(init, out)
        elif op == "if":
            record: Branch = args[0]
            for x, y, result in zip(
                record.then_yields, record.else_yields, record.results, strict=True
            ):
                if result in self.differing:
                    self._need(x, y)
        elif item in self.differing and op != "load":
            self._need(*operands(self.p, item))
