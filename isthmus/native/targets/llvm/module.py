"""A scalar program as the text of one LLVM module: `core`, what calls it, constants, attributes."""

from __future__ import annotations

from isthmus.native.ir.program import Program
from isthmus.native.targets.layout import inputs_of, lay_out
from isthmus.native.targets.llvm.emit import Emitter
from isthmus.native.targets.llvm.lines import SCALARS, number
from isthmus.native.targets.llvm.processor import widest
from isthmus.native.targets.llvm.stack import stack_for
from isthmus.native.targets.llvm.wrappers import wrappers

ALIGNED = '"stackrealign"'
"""Attribute of `core`, which keeps most of its values on the stack. LLVM aligns the stack to 16 bytes unless it is
told otherwise; vectors that cross lines of the cache took a quarter more time (double pendulum, 12 directions)."""


def constants(program: Program) -> str:
    """Arrays that are baked into the code."""
    lines = []
    for buffer in program.buffers:
        if buffer.space == "const":
            sort = "f" if buffer.kind == "f" else "i"
            kind = SCALARS[program.width][sort]
            entries = ", ".join(f"{kind} {number(x, sort)}" for x in buffer.data)
            size = f"[{buffer.size} x {kind}]"
            lines.append(f"@{buffer.name} = internal constant {size} [{entries}], align 64")
    return "\n".join(lines)


def attributes_of(width: int) -> str:
    """Attributes of functions whose vectors have `width` bits."""
    return f'"min-legal-vector-width"="{width}" "prefer-vector-width"="{max(width, 256)}"'


def module_text(program: Program, lanes: int, shared: frozenset[int] = frozenset()) -> str:
    """The whole module as text: the same program gives the same text.

    `shared`: positions of inputs that are the same in all lanes of a block.
    """
    alike = inputs_of(program, shared)
    layout = lay_out(program, alike)
    emitter = Emitter(program, lanes, alike)
    core = emitter.run()
    declared = [emitter.declared[name] for name in sorted(emitter.declared)]
    width = lanes * program.width
    attributes = attributes_of(width)
    parts = [
        constants(program),
        *declared,
        core,
        wrappers(program, layout, lanes, alike, stack_for(core, lanes, program.width)),
        f"attributes #0 = {{ nounwind noinline {ALIGNED} {attributes} }}",
        f"attributes #1 = {{ nounwind willreturn memory(none) {attributes} }}",
        f"attributes #3 = {{ nounwind noinline {attributes_of(max(width, 64 * widest()))} }}",
        f"attributes #2 = {{ nounwind {attributes} }}",
        '!0 = !{!"branch_weights", i32 1, i32 1000000}',
        '!1 = distinct !{!1, !{!"isthmus.map"}}',
    ]
    return "\n".join(parts) + "\n"
