"""A dense product -> the text of one LLVM function: loops over blocks of sums that stay in registers.

One world: vectors lie along the columns of the result, or along the sum where it is spread. Many worlds:
a vector holds one entry of all of them; a matrix that all worlds share is read once and broadcast. The
order of every sum is that of the record, so one world and many give the same bits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from isthmus.native.ir.program import Product

PARTS = 8
"""Sums that a spread sum is made of."""
Term = tuple[str, int]
"""An index by its name, and its stride."""


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What a product depends on beside its record."""

    lanes: int
    scalar: str
    """`double` or `float`."""
    left_shared: bool
    """All lanes read the same numbers."""
    right_shared: bool
    masked: bool
    """Only some lanes store; the function takes a mask."""
    widest: int
    """float64 lanes of the widest vectors of the processor."""

    @property
    def sums(self) -> int:
        """Vectors of running sums that fit into registers."""
        if self.lanes > 1:
            return 24 if self.widest >= 8 else 12
        return 24 if self.widest >= 8 else 6


class Loops:
    """Lines of an LLVM function: nested loops with running sums."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.label, self.fresh = "entry", 0

    def temp(self, text: str) -> str:
        """A new instruction with a name of its own."""
        self.fresh += 1
        self.lines.append(f"  %t{self.fresh} = {text}")
        return f"%t{self.fresh}"

    def loop(
        self, count: int, body: Callable, kind: str = "", inits: Sequence[str] = ()
    ) -> list[str]:
        """`count` rounds of `body(counter, sums) -> sums`, sums of type `kind`; returns the last ones."""
        if count == 1:
            return list(body("0", list(inits)))
        self.fresh += 1
        before, top, after = self.label, f"loop{self.fresh}", f"done{self.fresh}"
        counter = f"%c{self.fresh}"
        names = [f"%p{self.fresh}.{k}" for k in range(len(inits))]
        self.lines.extend((f"  br label %{top}", f"{top}:"))
        self.label, place = top, len(self.lines)
        yields = list(body(counter, names))
        following = self.temp(f"add nuw nsw i64 {counter}, 1")
        more = self.temp(f"icmp ne i64 {following}, {count}")
        self.lines.extend((f"  br i1 {more}, label %{top}, label %{after}", f"{after}:"))
        head = [f"  {counter} = phi i64 [ 0, %{before} ], [ {following}, %{self.label} ]"]
        for name, first, then in zip(names, inits, yields, strict=True):
            head.append(f"  {name} = phi {kind} [ {first}, %{before} ], [ {then}, %{self.label} ]")
        self.lines[place:place] = head
        self.label = after
        return yields

    def position(self, *terms: Term, plus: int = 0) -> str:
        """Σ index·stride + `plus`."""
        total = str(plus)
        for index, stride in terms:
            if index != "0" and stride:
                step = self.temp(f"mul nsw i64 {index}, {stride}") if stride != 1 else index
                total = step if total == "0" else self.temp(f"add nsw i64 {total}, {step}")
        return total


class Kernel(Loops):
    """Writes the function of one product."""

    def __init__(self, record: Product, around: Surroundings) -> None:
        super().__init__()
        self.record, self.around = record, around
        alone = PARTS if record.spread or around.scalar == "double" else 2 * PARTS
        self.width = around.lanes if around.lanes > 1 else alone
        self.unit = 1 if around.lanes > 1 else alone
        """Columns in one vector."""
        self.vector = f"<{self.width} x {around.scalar}>"
        self.short = f"v{self.width}" + ("f64" if around.scalar == "double" else "f32")
        self.bytes = 8 if around.scalar == "double" else 4
        self.declared: dict[str, str] = {}

    def run(self, name: str) -> str:
        """The text of the function `name(out, left, right[, mask])`."""
        count = self.record.sizes[0]
        blocks = self.spread_blocks if self.record.spread else self.plain_blocks

        def batch(b: str, _: list[str]) -> list[str]:
            blocks(b)
            return []

        self.loop(count, batch)
        mask = f", <{self.width} x i1> %mask" if self.around.masked else ""
        pointers = "ptr noalias %out, ptr readonly %left, ptr readonly %right"
        head = f"define internal void @{name}({pointers}{mask}) #3 {{"
        return "\n".join([head, "entry:", *self.lines, "  ret void", "}"])

    # blocks

    def grid(self, rows: int, columns: int, block: tuple[int, int], visit: Callable) -> None:
        """`visit(i, j, rows, columns)` on blocks of at most `block` that tile the result."""
        tall, wide = block
        for first_j, many_j, n in pieces(columns, wide):
            for first_i, many_i, m in pieces(rows, tall):

                def down(ci: str, j: str, first_i: int = first_i, m: int = m, n: int = n) -> list:
                    visit(self.position((ci, tall), plus=first_i), j, m, n)
                    return []

                def across(
                    cj: str, _: list[str], first_j: int = first_j, many_i: int = many_i, run=down
                ) -> list:
                    j = self.position((cj, wide), plus=first_j)
                    return self.loop(many_i, lambda ci, _: run(ci, j))

                self.loop(many_j, across)

    def plain_blocks(self, b: str) -> None:
        """Sums in turn; blocks of rows by vectors of columns."""
        _, rows, columns, _ = self.record.sizes
        vectors = -(-columns // self.unit)
        tall = min(rows, 4 if self.unit == 1 or self.around.sums < 24 else 8)
        wide = min(max(1, self.around.sums // tall), vectors, 8)
        if tall == 4 and self.around.sums == 6:
            tall, wide = min(rows, 6), 1
        edge = columns % self.unit if self.unit > 1 else 0

        def visit(i: str, j: str, m: int, n: int) -> None:
            self.plain_block(b, i, self.position((j, self.unit)), m, n, 0)

        def visit_edge(i: str, _: str, m: int, __: int) -> None:
            self.plain_block(b, i, str(columns - edge), m, 1, edge)

        if columns // self.unit:
            self.grid(rows, columns // self.unit, (tall, wide), visit)
        if edge:
            self.grid(rows, 1, (tall, 1), visit_edge)

    def plain_block(self, b: str, i: str, j: str, rows: int, vectors: int, edge: int) -> None:
        """`rows` by `vectors` sums from (i, j); `edge`: so many columns of the vector exist."""
        (lb, li, lk), (rb, rk, rj) = self.record.left.strides, self.record.right.strides
        left, right = self.position((b, lb), (i, li)), self.position((b, rb), (j, rj))

        def term(k: str, sums: list[str]) -> list[str]:
            at, to = self.position((left, 1), (k, lk)), self.position((right, 1), (k, rk))
            xs = [self.one("left", self.position((at, 1), plus=r * li)) for r in range(rows)]
            ys = []
            for v in range(vectors):
                spot = self.position((to, 1), plus=v * self.unit * rj)
                along = self.unit > 1 and rj == 1
                ys.append(self.many("right", spot, edge) if along else self.one("right", spot))
            pairs = [(x, y) for x in xs for y in ys]
            return [self.fma(x, y, s) for (x, y), s in zip(pairs, sums, strict=True)]

        zeros = ["zeroinitializer"] * (rows * vectors)
        sums = iter(self.loop(self.record.sizes[3], term, self.vector, zeros))
        for r in range(rows):
            for v in range(vectors):
                self.put(b, i, r, self.position((j, 1), plus=v * self.unit), next(sums), edge)

    def spread_blocks(self, b: str) -> None:
        """Spread sums; blocks of rows by columns."""
        _, rows, columns, _ = self.record.sizes
        fit = self.around.sums // (PARTS if self.unit == 1 else 1)
        side = 4 if fit >= 16 else 2 if fit >= 4 else 1
        wide = min(columns, side)
        tall = min(rows, max(1, min(8, fit // wide)) if wide < side else max(1, fit // side), 8)
        self.grid(
            rows,
            columns,
            (min(tall, 4) if wide > 1 else tall, wide),
            lambda i, j, m, n: self.spread_block(b, i, j, m, n),
        )

    def spread_block(self, b: str, i: str, j: str, rows: int, columns: int) -> None:
        """`rows` by `columns` sums, eight parts each."""
        (lb, li, lk), (rb, rk, rj) = self.record.left.strides, self.record.right.strides
        left, right = self.position((b, lb), (i, li)), self.position((b, rb), (j, rj))
        depth = self.record.sizes[3]
        parts = 1 if self.unit > 1 else PARTS

        def terms(k: str, sums: list[str], edge: int) -> list[str]:
            at, to = self.position((left, 1), (k, lk)), self.position((right, 1), (k, rk))
            done = list(sums)
            for q in range(min(parts, edge or parts)):
                xs = [self.part("left", at, q * lk + r * li, lk, edge) for r in range(rows)]
                ys = [self.part("right", to, q * rk + c * rj, rk, edge) for c in range(columns)]
                for n, (x, y) in enumerate((x, y) for x in xs for y in ys):
                    new = self.fma(x, y, done[n * parts + q])
                    if edge and parts == 1:
                        kind = f"<{self.width} x i1> {self.first(edge)}"
                        old = f"{self.vector} {done[n]}"
                        new = self.temp(f"select {kind}, {self.vector} {new}, {old}")
                    done[n * parts + q] = new
            return done

        def whole(k: str, sums: list[str]) -> list[str]:
            return terms(self.position((k, PARTS)), sums, 0)

        sums = ["zeroinitializer"] * (rows * columns * parts)
        if depth // PARTS:
            sums = self.loop(depth // PARTS, whole, self.vector, sums)
        if depth % PARTS:
            sums = terms(str(depth - depth % PARTS), sums, depth % PARTS)
        for n in range(rows * columns):
            r, c = divmod(n, columns)
            joined = self.join(sums[n * parts : (n + 1) * parts])
            self.put(b, i, r, self.position((j, 1), plus=c), joined, 1)

    def join(self, parts: list[str]) -> str:
        """The sum of the eight parts; a vector, of which the first entry counts where there is one world."""
        add = lambda x, y: self.temp(f"fadd {self.vector} {x}, {y}")
        if len(parts) == PARTS:
            four = [add(parts[k], parts[k + 4]) for k in range(4)]
            return add(add(four[0], four[2]), add(four[1], four[3]))
        total = parts[0]
        for half in (4, 2, 1):
            order = ", ".join(f"i32 {(k + half) % PARTS}" for k in range(PARTS))
            shuffle = f"shufflevector {self.vector} {total}, {self.vector} poison"
            total = add(total, self.temp(f"{shuffle}, <{PARTS} x i32> <{order}>"))
        return total

    # numbers

    def fma(self, x: str, y: str, z: str) -> str:
        """x·y + z, rounded once where the record says so."""
        if self.record.fused:
            name = f"@llvm.fma.{self.short}"
            self.declared[name] = f"declare {self.vector} {name}({', '.join([self.vector] * 3)})"
            args = ", ".join(f"{self.vector} {a}" for a in (x, y, z))
            return self.temp(f"call {self.vector} {name}({args})")
        product = self.temp(f"fmul {self.vector} {x}, {y}")
        return self.temp(f"fadd {self.vector} {product}, {z}")

    def part(self, side: str, base: str, plus: int, stride: int, edge: int) -> str:
        """Terms of a spread sum from one operand: eight of one world, or one of all worlds."""
        spot = self.position((base, 1), plus=plus)
        if self.unit == 1 or stride == 0:
            return self.one(side, spot)
        return self.many(side, spot, edge)

    def pointer(self, side: str, spot: str, lanes: int) -> str:
        at = self.position((spot, lanes)) if lanes > 1 else spot
        return self.temp(f"getelementptr {self.around.scalar}, ptr %{side}, i64 {at}")

    def one(self, side: str, spot: str) -> str:
        """One entry in all places of a vector, or that of each world."""
        shared = {"left": self.around.left_shared, "right": self.around.right_shared}[side]
        if self.around.lanes > 1 and not shared:
            where = self.pointer(side, spot, self.around.lanes)
            return self.temp(f"load {self.vector}, ptr {where}, align {self.bytes * self.width}")
        kind = self.around.scalar
        number = self.temp(f"load {kind}, ptr {self.pointer(side, spot, 1)}, align {self.bytes}")
        first = self.temp(f"insertelement {self.vector} poison, {kind} {number}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.temp(f"shufflevector {self.vector} {first}, {self.vector} poison, {zeros}")

    def first(self, count: int) -> str:
        """A mask of the first `count` places."""
        truth = ("true" if k < count else "false" for k in range(self.width))
        return "<" + ", ".join(f"i1 {t}" for t in truth) + ">"

    def many(self, side: str, spot: str, edge: int) -> str:
        """Neighbouring entries of one world; beyond the `edge`, zeros."""
        where = self.pointer(side, spot, 1)
        if not edge:
            return self.temp(f"load {self.vector}, ptr {where}, align {self.bytes}")
        name = f"@llvm.masked.load.{self.short}.p0"
        mask = f"<{self.width} x i1>"
        self.declared[name] = f"declare {self.vector} {name}(ptr, i32, {mask}, {self.vector})"
        rest = f"{mask} {self.first(edge)}, {self.vector} zeroinitializer"
        return self.temp(f"call {self.vector} {name}(ptr {where}, i32 {self.bytes}, {rest})")

    def put(self, b: str, i: str, row: int, j: str, value: str, edge: int) -> None:
        """Stores a vector of results: columns of one world, or one entry of all worlds."""
        ob, oi, oj = self.record.out.strides
        spot = self.position((b, ob), (i, oi), (j, oj), plus=row * oi)
        if self.around.lanes > 1:
            where = self.pointer("out", spot, self.around.lanes)
            align = f"align {self.bytes * self.width}"
            if self.around.masked:
                old = self.temp(f"load {self.vector}, ptr {where}, {align}")
                choice = f"select <{self.width} x i1> %mask, {self.vector} {value}"
                value = self.temp(f"{choice}, {self.vector} {old}")
            self.lines.append(f"  store {self.vector} {value}, ptr {where}, {align}")
        elif oj == 1 and not edge:
            where = self.pointer("out", spot, 1)
            self.lines.append(f"  store {self.vector} {value}, ptr {where}, align {self.bytes}")
        else:
            for k in range(edge or self.width):
                kind = self.around.scalar
                number = self.temp(f"extractelement {self.vector} {value}, i64 {k}")
                where = self.pointer("out", self.position((spot, 1), plus=k * oj), 1)
                self.lines.append(f"  store {kind} {number}, ptr {where}, align {self.bytes}")


def pieces(count: int, block: int) -> list[tuple[int, int, int]]:
    """(first, how many blocks, entries of each) that cover `count` entries: full blocks, then the rest."""
    full, rest = divmod(count, block)
    made = [(0, full, block)] if full else []
    return made + ([(full * block, 1, rest)] if rest else [])
