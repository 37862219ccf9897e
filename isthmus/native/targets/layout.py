"""Where the arrays of a program lie in flat memory, and how the types of a caller's arrays are numbered."""

from __future__ import annotations

import dataclasses

from isthmus.native.ir.program import Buffer, Program

CODES = {
    "float64": 0,
    "int64": 1,
    "uint64": 1,
    "float32": 2,
    "int32": 3,
    "uint32": 4,
    "bool": 5,
}
"""The types of entries of a caller's arrays, as machine code numbers them."""
SIZES = (8, 8, 4, 4, 4, 1)
"""Bytes of an entry, by that number."""


@dataclasses.dataclass
class Layout:
    """Where arrays lie, in entries; each entry has one number for each lane."""

    inputs: int
    outputs: int
    work: int
    width: int = 64
    """Bits of a number."""
    shared: int = 0
    """Entries of inputs that all lanes share, which have one number for all lanes."""

    @property
    def total(self) -> int:
        return self.inputs + self.outputs + self.work

    @property
    def bytes(self) -> int:
        """Bytes of a number."""
        return self.width // 8


def inputs_of(program: Program, positions: frozenset[int]) -> frozenset[Buffer]:
    """The inputs at these positions."""
    inputs = [buffer for buffer in program.buffers if buffer.space == "in"]
    return frozenset(inputs[k] for k in positions)


def lay_out(program: Program, shared: frozenset[Buffer] = frozenset()) -> Layout:
    """Gives every buffer its place; stacks of one loop are interleaved."""
    ends = {"in": 0, "out": 0, "work": 0, "shared": 0}
    groups: dict[object, list[Buffer]] = {}
    for buffer in program.buffers:
        if buffer.space == "const":
            continue
        if buffer.group is not None:
            groups.setdefault((buffer.group, buffer.size), []).append(buffer)
            continue
        space = "shared" if buffer in shared else buffer.space
        buffer.offset, buffer.stride = ends[space], 1
        ends[space] += buffer.size
    for members in groups.values():
        for k, buffer in enumerate(members):
            buffer.offset, buffer.stride = ends["work"] + k, len(members)
        ends["work"] += members[0].size * len(members)
    return Layout(ends["in"], ends["out"], ends["work"], program.width, ends["shared"])
