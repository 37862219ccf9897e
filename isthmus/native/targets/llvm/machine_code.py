"""LLVM's text -> machine code in memory, loaded.

A module holds `core` (one block of worlds), `single` (one world, flat arrays), `map` (many worlds:
gathers a block's inputs, runs `core`, spreads its outputs) and `handler` (the same, called by XLA).
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import threading

import llvmlite
import llvmlite.binding as llvm

from isthmus.native.targets.llvm.emit import MAP
from isthmus.native.targets.llvm.processor import has_fma, processor
from isthmus.native.targets.target import Loaded

_LOCK = threading.Lock()
VARIABLE = "ISTHMUS_OPTIMISE"
"""Set to 0, all code is compiled in haste: the same numbers, for programs that compile longer than they run."""
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
    if os.environ.get(VARIABLE, "").strip() == "0":
        return Effort(0, thorough=False)
    lines = text.count("\n")
    if lines < THOROUGH:
        return Effort(2, lanes == 1, lanes == 1 and MAP in text)
    return Effort(0 if brief or lines >= ENDLESS else 1, thorough=False)


def machine_code(text: str, lanes: int, brief: bool = False) -> bytes:
    """`text` as an object file in memory."""
    with _LOCK:
        effort = effort_for(text, lanes, brief)
        machine = target_machine(effort.level)
        module = llvm.parse_assembly(text)
        module.triple = llvm.get_default_triple()
        module.data_layout = str(machine.target_data)
        optimise(module, machine, effort)
        return machine.emit_object(module)


def linked(image: bytes) -> Loaded:
    """The functions of an object file, ready to be called."""
    library = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
    for name in ENTRIES:
        library = library.export_symbol(name)
    with _LOCK:
        # JITLink puts code and constants side by side, where 32-bit offsets reach
        engine = llvm.create_lljit_compiler(target_machine(), use_jit_link=True)
        tracker = library.link(engine, "native")
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    single = ctypes.CFUNCTYPE(None, pointer, pointer, pointer)(tracker["single"])
    many = ctypes.CFUNCTYPE(None, integer, integer, *[pointer] * 8)(tracker["map"])
    return Loaded(single, many, tracker["handler"], (engine, tracker))


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
