"""C-like text as a target: programs as they were written, one function of their inputs, outputs and scratch."""

from __future__ import annotations

import dataclasses

import numpy as np

from isthmus.native.ir.program import Program
from isthmus.native.targets.c.dialect import C99, Dialect
from isthmus.native.targets.c.function import Function
from isthmus.native.targets.c.names import Argument
from isthmus.native.targets.target import AbstractTarget

NUMPY = {"f": "f", "i": "i", "b": "?"}
"""Kind of a number -> how NumPy abbreviates it."""


@dataclasses.dataclass(frozen=True)
class Text(AbstractTarget):
    """Any dialect. Its compiler has the elementary functions, and decides itself what it fuses."""

    dialect: Dialect = C99

    def prepare(self, pruned: Program) -> Program:
        return pruned

    def text(self, program: Program, lanes: int = 1, shared: frozenset[int] = frozenset()) -> str:
        """The function `core`; arguments are called in0, in1 … and out0, out1 …"""
        arguments = {
            b: Argument(b.name, (b.size,), np.dtype(NUMPY[b.kind]), b.space == "out", program.width)
            for space in ("in", "out")
            for b in program.buffers
            if b.space == space
        }
        return Function("core", program, arguments, self.dialect).source


TARGET = Text()
