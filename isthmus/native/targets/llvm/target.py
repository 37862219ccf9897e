"""LLVM for this processor as a target."""

from __future__ import annotations

from isthmus.native.ir.program import Program
from isthmus.native.passes.lower import lower
from isthmus.native.targets.llvm import machine_code, processor
from isthmus.native.targets.llvm.module import module_text
from isthmus.native.targets.target import AbstractMachine, Loaded


class Llvm(AbstractMachine):
    """Machine code for the processor that we run on, or the part of it that `ISTHMUS_TARGET` allows."""

    def prepare(self, pruned: Program) -> Program:
        """Products fused with sums where the processor can, elementary functions written out."""
        return lower(pruned, fused=self.fuses())

    def text(self, program: Program, lanes: int = 1, shared: frozenset[int] = frozenset()) -> str:
        return module_text(program, lanes, shared)

    def lanes(self, width: int) -> int:
        return processor.widest(width)

    def fuses(self) -> bool:
        return processor.has_fma()

    def toolchain(self) -> tuple[str, ...]:
        return machine_code.toolchain()

    def effort(self, text: str, lanes: int, brief: bool) -> str:
        return str(machine_code.effort_for(text, lanes, brief))

    def build(self, text: str, lanes: int, brief: bool) -> bytes:
        return machine_code.machine_code(text, lanes, brief)

    def load(self, image: bytes) -> Loaded:
        return machine_code.linked(image)


TARGET = Llvm()
