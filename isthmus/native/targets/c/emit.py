"""The scalar program -> the statements of one function in C99 or a dialect of it.

A value that is used once stands where it is used, so that formulas read as formulas; others get a
name. Loops, branches and arrays stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from isthmus.native.ir.program import (
    Block,
    Branch,
    Buffer,
    Loop,
    Product,
    Program,
    View,
    operands,
    walk,
)
from isthmus.native.ir.walk import Walk
from isthmus.native.passes.liveness import live
from isthmus.native.passes.ranges import small_integers
from isthmus.native.targets.c.dialect import C99, Dialect, Place
from isthmus.native.targets.c.expressions import PRODUCT, SUM, UNARY, Expression, literal
from isthmus.native.targets.c.operations import OPERATIONS, Scope

LONGEST = 48
"""Characters of a formula that may still stand inside another one."""
ZERO = Expression("0")
JOINED = "((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]))"
"""The sum of a product's eight parts, in the order that `Product` defines."""


class Writer(Walk):
    """Writes the body line by line. `places` says where each buffer is."""

    def __init__(
        self, program: Program, places: Mapping[Buffer, Place], dialect: Dialect = C99
    ) -> None:
        self.live = live(program)
        super().__init__(program, self.live)
        self.places, self.dialect = places, dialect
        self.scope = Scope(program, small_integers(program), set())
        self.types = self.scope.types
        self.lines: list[str] = []
        self.depth = 1
        self.known: dict[int, Expression] = {}
        self.counts = {"t": 0, "i": 0}
        self.reads = self.writes = 0
        self.separate = False
        """An array of the caller is read after a result was written: they must not overlap."""
        self._count_uses()

    def run(self) -> list[str]:
        """The statements."""
        self.block(self.p.root)
        return self.lines

    # uses of values

    def _count_uses(self) -> None:
        self.users: dict[int, list[Block]] = {}
        self.homes: dict[int, Block] = {}
        self.pinned: set[int] = set()
        for block, item in walk(self.p):
            if item not in self.live:
                continue
            self.homes[item] = block
            for used, where in self._uses(block, item):
                self.users.setdefault(used, []).append(where)
            if self._is_pinned(item):
                self.pinned.add(item)

    def _uses(self, block: Block, item: int) -> list[tuple[int, Block]]:
        """(value, where it is used) for all that `item` uses."""
        record = self.p.args[item][0] if self.p.ops[item] in ("for", "while", "if") else None
        if isinstance(record, Branch):
            found = [(record.condition, block)]
            for k in self.kept(record):
                found += [
                    (record.then_yields[k], record.then),
                    (record.else_yields[k], record.orelse),
                ]
            return found
        if isinstance(record, Loop):
            kept = self.kept(record)
            if len(kept) > 1:  # all are known before any is moved on
                self.pinned.update(record.yields[k] for k in kept)
            found = [(record.inits[k], block) for k in kept]
            found += [(record.yields[k], record.body) for k in kept]
            if record.head is not None and record.going is not None:
                found.append((record.going, record.head))
            return found
        return [(v, block) for v in operands(self.p, item)]

    def _is_pinned(self, item: int) -> bool:
        """Must be computed where it stands, or would be of C's type `int` inside a formula."""
        op, args, p = self.p.ops[item], self.p.args[item], self.p
        if op == "store" and args[0].space == "out":
            self.pinned.add(args[2])
        if op == "load":
            return args[0].space in ("work", "out")
        return (
            op == "select" and p.kinds[item] == "i" and all(p.ops[a] == "const" for a in args[1:])
        )

    def kept(self, record: Loop | Branch) -> list[int]:
        """Which carried values or results are needed."""
        names = record.results if isinstance(record, Branch) else record.params
        return [k for k, v in enumerate(names) if v in self.live]

    # text

    def line(self, text: str, reads: bool = False) -> None:
        """One statement; `reads` an array of the caller."""
        self.lines.append("    " * self.depth + text)
        self.reads += reads
        self.separate |= reads and self.writes > 0

    def fresh(self, letter: str) -> str:
        """A new name: t1, t2 … for values, i1, i2 … for counters."""
        self.counts[letter] += 1
        return f"{letter}{self.counts[letter]}"

    def declared(self, value: int, start: Expression | None = None, fixed: bool = True) -> str:
        """Declares a variable for `value`."""
        name = self.fresh("t")
        kind = ("const " if fixed else "") + self.types[self.p.kinds[value]]
        text = f"{kind} {name};" if start is None else f"{kind} {name} = {start.text};"
        self.line(text, start is not None and start.reads)
        self.known[value] = Expression(name)
        return name

    def expression(self, value: int) -> Expression:
        """How `value` is written as an operand."""
        number = self.p.constant(value)
        return (
            self.known[value]
            if number is None
            else literal(number, self.p.kinds[value], self.p.width)
        )

    def settle(self, value: int, found: Expression) -> None:
        """Keeps a formula for its only user, or gives it a name."""
        users = self.users.get(value, ())
        alone = len(users) == 1 and users[0] is self.homes[value] and value not in self.pinned
        if alone and len(found.text) <= LONGEST:
            self.known[value] = found
        else:
            self.declared(value, found)

    def operation(self, value: int, op: str, args: tuple[int, ...]) -> None:
        given = tuple(map(self.expression, args))
        self.settle(value, OPERATIONS[op](self.scope, value, given))

    # memory

    def load(self, value: int, buffer: Buffer, index: int) -> None:
        place = self.places[buffer]
        if place.form == "value":
            self.known[value] = Expression(place.name)
        else:
            self.settle(value, self.entry(buffer, self.expression(index)))

    def store(self, item: int, buffer: Buffer, index: int, value: int) -> None:
        target, found = self.entry(buffer, self.expression(index)), self.expression(value)
        self.line(f"{target.text} = {found.text};", found.reads or target.reads)
        self.writes += buffer.space == "out"

    def entry(self, buffer: Buffer, at: Expression) -> Expression:
        """`buffer[at]`."""
        place = self.places[buffer]
        if place.form == "pointer":
            return Expression(f"*{place.name}", UNARY)
        if buffer.space == "const":
            return Expression(f"{place.name}[{at.text}]", reads=at.reads)
        return Expression(
            self.dialect.entry(place.name, at), reads=at.reads or buffer.space == "in"
        )

    def product(self, item: int, record: Product) -> None:
        """Rows times columns, as nested loops."""
        before = (self.reads, self.writes)
        names = [self.fresh("i") if size > 1 else "" for size in record.sizes]
        b, i, j, k = names
        for name, size in zip(names[:3], record.sizes, strict=False):
            self._open(name, size)
        total, parts = self.fresh("t"), record.spread and k
        zero = literal(0.0, "f", self.p.width).text
        start = f"{total}[8] = {{{zero}}}" if parts else f"{total} = {zero}"
        self.line(f"{self.types['f']} {start};")
        self._open(k, record.sizes[3])
        left, right = self.grid(record.left, b, i, k), self.grid(record.right, b, k, j)
        reads = "in" in (record.left.buffer.space, record.right.buffer.space)
        self.line(
            f"{total}[{k} % 8] += {left} * {right};" if parts else f"{total} += {left} * {right};",
            reads,
        )
        if k:
            self.shut()
        found = JOINED.replace("t", total) if parts else total
        self.line(f"{self.grid(record.out, b, i, j)} = {found};")
        self.writes += record.out.buffer.space == "out"
        for _ in filter(None, names[:3]):
            self.shut()
        self._watch(before)

    def grid(self, view: View, *indices: str) -> str:
        """The entry of a view at counters, those of a single round being empty."""
        start = self.expression(view.start)
        terms = [] if start.text == "0" else [start]
        for name, stride in zip(indices, view.strides, strict=True):
            if name and stride == 1:
                terms.append(Expression(name))
            elif name and stride:
                terms.append(Expression(f"{stride} * {name}", PRODUCT))
        text = " + ".join(term.within(SUM) for term in terms)
        at = Expression(text, SUM if len(terms) > 1 else terms[0].level) if terms else ZERO
        return self.entry(view.buffer, at).text

    # control

    def _open(self, name: str, size: int) -> None:
        """Begins a loop over `name`, unless it is a single round."""
        if name:
            self.line(f"for ({self.types['i']} {name} = 0; {name} < {size}; ++{name}) {{")
            self.depth += 1

    def shut(self) -> None:
        self.depth -= 1
        self.line("}")

    def _watch(self, before: tuple[int, int]) -> None:
        """A loop that reads arguments and writes results reads again after it wrote."""
        self.separate |= self.reads > before[0] and self.writes > before[1]

    def counted_loop(self, item: int, loop: Loop) -> None:
        assert loop.counter is not None
        assert loop.count is not None
        kept, before = self._carried(loop), (self.reads, self.writes)
        i = self.fresh("i")
        self.known[loop.counter] = Expression(i)
        self._open(i, loop.count)
        self.block(loop.body)
        self._close(loop, kept, before)

    def while_loop(self, item: int, loop: Loop) -> None:
        assert loop.head is not None
        assert loop.going is not None
        kept, before = self._carried(loop), (self.reads, self.writes)
        self.line("for (;;) {")
        self.depth += 1
        self.block(loop.head)
        going = self.expression(loop.going)
        self.line(f"if (!({going.text}))", going.reads)
        self.line("    break;")
        self.block(loop.body)
        self._close(loop, kept, before)

    def _carried(self, loop: Loop) -> list[int]:
        """Declares what goes from round to round."""
        kept = self.kept(loop)
        for k in kept:
            self.declared(loop.params[k], self.expression(loop.inits[k]), fixed=False)
        return kept

    def _close(self, loop: Loop, kept: list[int], before: tuple[int, int]) -> None:
        """Moves on to the next round; afterwards the carried values are the results."""
        moves = []
        for k in kept:
            old, new = loop.params[k], loop.yields[k]
            if new == old:
                continue
            found = self.expression(new)
            if new in loop.params:  # a value that changes hands
                name = self.fresh("t")
                self.line(f"const {self.types[self.p.kinds[new]]} {name} = {found.text};")
                found = Expression(name)
            moves.append((self.known[old].text, found))
        for name, found in moves:
            self.line(f"{name} = {found.text};", found.reads)
        self.shut()
        self.known.update((loop.results[k], self.known[loop.params[k]]) for k in kept)
        self._watch(before)

    def branch(self, item: int, record: Branch) -> None:
        kept = self.kept(record)
        names = [self.declared(record.results[k], fixed=False) for k in kept]
        condition = self.expression(record.condition)
        self.line(f"if ({condition.text}) {{", condition.reads)
        for block, yields in (
            (record.then, record.then_yields),
            (record.orelse, record.else_yields),
        ):
            if block is record.orelse:
                if not names and not any(v in self.live for v in block.items):
                    continue
                self.line("} else {")
            self.depth += 1
            self.block(block)
            for name, k in zip(names, kept, strict=True):
                found = self.expression(yields[k])
                self.line(f"{name} = {found.text};", found.reads)
            self.depth -= 1
        self.line("}")
