"""The scalar program -> LLVM -> loaded machine code.

A module holds `core` (one block of worlds), `single` (one world, flat arrays), `map` (many worlds:
gathers a block's inputs, runs `core`, spreads its outputs) and `handler` (the same, called by XLA).
"""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import threading
import time

import llvmlite
import llvmlite.binding as llvm

from isthmus.native.ir.program import Buffer, Program
from isthmus.native.runtime import store
from isthmus.native.runtime.interruptible import patiently
from isthmus.native.targets.llvm.emit import MAP, SCALARS, Emitter, number
from isthmus.native.targets.llvm.processor import has_fma, processor, widest
from isthmus.native.targets.llvm.wrappers import wrappers

_LOCK = threading.Lock()
ENTRIES = ("single", "map", "handler")
THOROUGH = 5000
"""Lines of LLVM text up to which code for one world is optimised at length."""
QUICK = ("instruction_combine", "simplify_cfg")
"""The passes that longer code, and code in lanes, gets.

Measured on straight-line code of 20,000 lines, for one world and in eight lanes: these take 2% of LLVM's time, and
its code generator the rest, more than half of it for registers. Level 1 of the generator takes 5 to 20% less time
than level 2, and the code is as fast (179 µs); cutting the code into blocks that pass numbers through memory gains
nothing at 20,000 lines, and at 60,000 a third of the time for code that is a third slower.
"""
ALIGNED = '"stackrealign"'
"""Attribute of `core`, which keeps most of its values on the stack. LLVM aligns the stack to 16 bytes unless it is
told otherwise; vectors that cross lines of the cache took a quarter more time (double pendulum, 12 directions)."""
ENDLESS = 200_000
"""Lines from which on registers are allotted in haste.

At 63,000 lines that takes a tenth of the time in lanes (1.1 s for 13 s), but the code is 4 times slower; the
time of careful allotment grows faster than the code: 5 s for each 100,000 lines at 9,000, 20 s at 63,000.
"""


def target_machine(level: int = 2) -> llvm.TargetMachine:
    """What code is made for; an execution engine takes it over, so each gets its own."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    made_for = processor()
    return target.create_target_machine(
        cpu=made_for.name,
        features=made_for.flags,
        opt=level,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


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


def module_text(
    program: Program, lanes: int, shared: frozenset[int] = frozenset()
) -> tuple[str, Layout]:
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
        wrappers(program, layout, lanes, alike),
        f"attributes #0 = {{ nounwind noinline {ALIGNED} {attributes} }}",
        f"attributes #1 = {{ nounwind willreturn memory(none) {attributes} }}",
        f"attributes #3 = {{ nounwind noinline {attributes_of(max(width, 64 * widest()))} }}",
        f"attributes #2 = {{ nounwind {attributes} }}",
        '!0 = !{!"branch_weights", i32 1, i32 1000000}',
        '!1 = distinct !{!1, !{!"isthmus.map"}}',
    ]
    return "\n".join(parts) + "\n", layout


def toolchain() -> tuple[str, ...]:
    """All that decides which text a function becomes, and which machine code a text, beside our own sources."""
    made_for = processor()
    about = made_for.name, ",".join(sorted(made_for.features)), f"fma {has_fma()}"
    versions = llvmlite.__version__, *map(str, llvm.llvm_version_info)
    return llvm.get_default_triple(), *about, *versions


@dataclasses.dataclass(frozen=True)
class Effort:
    """What LLVM is asked to do to a module: part of the name of its code in the store."""

    level: int
    """Of the code generator: 0 to 3."""
    thorough: bool
    """All passes of -O2 instead of a few quick ones, with vectors of entries of one world."""
    loops: bool = False
    """Rounds of loops become vectors too."""

    def __str__(self) -> str:
        quick = "O2" if self.thorough else "+".join(QUICK)
        return f"{quick} loops={self.loops} codegen={self.level}"


def effort_for(text: str, lanes: int, brief: bool = False) -> Effort:
    """How much work the code of `text` is worth; `brief`: it will run so rarely that compiling costs more."""
    lines = text.count("\n")
    if lines < THOROUGH:
        return Effort(2, lanes == 1, lanes == 1 and MAP in text)
    return Effort(0 if brief or lines >= ENDLESS else 1, thorough=False)


def entry_of(text: str, lanes: int, brief: bool = False) -> str:
    """The name of the machine code of `text` in the store: equal names are equal code."""
    parts = ("object", str(lanes), str(effort_for(text, lanes, brief)), *toolchain(), text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def object_of(text: str, lanes: int, brief: bool = False) -> bytes:
    """LLVM's work: `text` as an object file in memory."""
    return patiently(lambda: machine_code(text, lanes, brief))


def machine_code(text: str, lanes: int, brief: bool = False) -> bytes:
    """The same, in this thread."""
    with _LOCK:
        effort = effort_for(text, lanes, brief)
        machine = target_machine(effort.level)
        module = llvm.parse_assembly(text)
        module.triple = llvm.get_default_triple()
        module.data_layout = str(machine.target_data)
        optimise(module, machine, effort)
        return machine.emit_object(module)


class Code:
    """Loaded machine code for one program and number of lanes."""

    def __init__(self, image: bytes, layout: Layout, lanes: int, digest: str, entry: str) -> None:
        self.layout, self.lanes, self.digest, self.entry = layout, lanes, digest, entry
        library = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
        for name in ENTRIES:
            library = library.export_symbol(name)
        with _LOCK:
            # JITLink puts code and constants side by side, where 32-bit offsets reach
            self.engine = llvm.create_lljit_compiler(target_machine(), use_jit_link=True)
            self.tracker = library.link(self.engine, "native")
        address = self.tracker.__getitem__
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        self.single = ctypes.CFUNCTYPE(None, pointer, pointer, pointer)(address("single"))
        self.map = ctypes.CFUNCTYPE(None, integer, integer, *[pointer] * 8)(address("map"))
        self.handler = address("handler")
        self.seconds = 0.0
        self.draft = False
        """Compiled in haste: to be replaced where it runs for long."""
        self.spent = 0.0
        """Seconds that it has run for."""

    @classmethod
    def of(
        cls, program: Program, lanes: int, shared: frozenset[int] = frozenset(), brief: bool = False
    ) -> Code:
        """The code of `program`: found on disk, or compiled and put there."""
        began = time.perf_counter()
        text, layout = module_text(program, lanes, shared)
        entry = entry_of(text, lanes, brief)
        code = cls.stored(entry, lanes)
        if code is None:
            digest = hashlib.sha256(text.encode()).hexdigest()
            image = object_of(text, lanes, brief)
            store.write(entry, {"layout": dataclasses.asdict(layout), "digest": digest}, image)
            code = cls(image, layout, lanes, digest, entry)
        code.seconds = time.perf_counter() - began
        return code

    @classmethod
    def stored(cls, entry: str, lanes: int) -> Code | None:
        """The code of that name on disk, loaded; None where there is none that can be used."""
        began = time.perf_counter()
        found = store.read(entry)
        if found is None:
            return None
        header, image = found
        try:
            code = cls(image, Layout(**header["layout"]), lanes, header["digest"], entry)
        except (RuntimeError, KeyError, TypeError):  # of another version, or refused by the linker
            return None
        code.seconds = time.perf_counter() - began
        return code

    @property
    def work_bytes(self) -> int:
        """Scratch memory of one call, in bytes."""
        return self.layout.bytes * (self.lanes * self.layout.total + self.layout.shared) + 64


def optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine, effort: Effort) -> None:
    """The program is already clean: a few quick passes are enough.

    A thorough run also looks for work of one world that fits side by side into vectors.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=2 if effort.thorough else 1)
    options.slp_vectorization = effort.thorough
    options.loop_vectorization, options.loop_unrolling = effort.loops, False
    builder = llvm.create_pass_builder(machine, options)
    if effort.thorough:
        builder.getModulePassManager().run(module, builder)
        return
    manager = llvm.create_new_function_pass_manager()
    for name in QUICK:
        getattr(manager, f"add_{name}_pass")()
    for function in module.functions:
        if not function.is_declaration:
            manager.run(function, builder)
