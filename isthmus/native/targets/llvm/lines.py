"""The lines of an LLVM function: names, types and constants, in one lane or in many."""

from __future__ import annotations

import struct

from isthmus.native.ir.program import Buffer, Plain, Program
from isthmus.native.ir.walk import Walk
from isthmus.native.passes.liveness import live
from isthmus.native.passes.uniform import Uniform

SCALARS = {
    64: {"f": "double", "i": "i64", "b": "i1"},
    32: {"f": "float", "i": "i32", "b": "i1"},
}
"""Width of the program -> how LLVM calls its kinds."""


def number(value: Plain, kind: str) -> str:
    """A constant as LLVM writes it, bit for bit."""
    if kind == "f":
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if kind == "b":
        return "true" if value else "false"
    return str(value)


class Lines(Walk):
    """The lines of `core` so far, and how values are named and typed in them."""

    def __init__(
        self, program: Program, lanes: int, shared: frozenset[Buffer] = frozenset()
    ) -> None:
        self.live = live(program)
        super().__init__(program, self.live)
        self.lanes, self.width = lanes, program.width
        self.shared = shared
        """Inputs that are the same in all lanes."""
        self.scalar = SCALARS[program.width]
        self.uniform = Uniform(program, self.live, shared) if lanes > 1 else None
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.alias: dict[int, int] = {}
        self.label = "entry"
        self.fresh = 0
        self.mask: str | None = None
        """Lanes that are active; None: all."""
        self.addresses: dict[tuple, str] = {}
        """Addresses that the present basic block has computed already."""

    # names and types

    def vector(self, value: int) -> bool:
        """`value` has one number for each lane."""
        return self.uniform is not None and not self.uniform.same(value)

    def type(self, kind: str, vector: bool) -> str:
        return f"<{self.lanes} x {self.scalar[kind]}>" if vector else self.scalar[kind]

    def type_of(self, value: int) -> str:
        return self.type(self.p.kinds[value], self.vector(value))

    def ref(self, value: int, vector: bool = False) -> str:
        """How `value` is written as an operand, spread over the lanes if `vector`."""
        while value in self.alias:
            value = self.alias[value]
        known = self.p.constant(value)
        if known is not None:
            text = number(known, self.p.kinds[value])
            if vector:
                kind = self.scalar[self.p.kinds[value]]
                return "<" + ", ".join([f"{kind} {text}"] * self.lanes) + ">"
            return text
        if vector and not self.vector(value):
            return f"%s{value}"
        return f"%v{value}"

    def temp(self, text: str) -> str:
        """A new instruction with a name of its own."""
        self.fresh += 1
        name = f"%t{self.fresh}"
        self.lines.append(f"  {name} = {text}")
        return name

    def define(self, value: int, text: str) -> None:
        """The instruction that makes `value`."""
        self.lines.append(f"  %v{value} = {text}")
        self.spread(value)

    def spread(self, value: int) -> None:
        """A scalar that vectors need is copied to all lanes where it is made."""
        if self.uniform is None or value not in self.uniform.spread:
            return
        kind, n = self.scalar[self.p.kinds[value]], self.lanes
        one = self.temp(f"insertelement <{n} x {kind}> poison, {kind} %v{value}, i64 0")
        zeros = f"<{n} x i32> zeroinitializer"
        self.lines.append(
            f"  %s{value} = shufflevector <{n} x {kind}> {one}, <{n} x {kind}> poison, {zeros}"
        )

    def start(self, label: str) -> None:
        """Begins a basic block."""
        self.lines.append(f"{label}:")
        self.label = label
        self.addresses = {}

    def new_label(self, name: str) -> str:
        self.fresh += 1
        return f"{name}{self.fresh}"

    def declare(self, name: str, signature: str) -> str:
        """Makes an outside function known to the module."""
        self.declared[name] = signature
        return name

    def all_true(self) -> str:
        """A mask of all lanes."""
        return "<" + ", ".join(["i1 true"] * self.lanes) + ">"

    def any(self, mask: str) -> str:
        """Some lane of `mask` holds."""
        if self.lanes == 1:
            return mask
        bits = self.temp(f"bitcast <{self.lanes} x i1> {mask} to i{self.lanes}")
        return self.temp(f"icmp ne i{self.lanes} {bits}, 0")
