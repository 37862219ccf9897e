"""Machine code of a program: found on disk, or compiled and put there."""

from __future__ import annotations

import dataclasses
import hashlib
import time

from isthmus.native.ir.program import Program
from isthmus.native.runtime import store
from isthmus.native.runtime.interruptible import patiently
from isthmus.native.targets.layout import Layout, inputs_of, lay_out
from isthmus.native.targets.target import AbstractMachine


def entry_of(target: AbstractMachine, text: str, lanes: int, brief: bool = False) -> str:
    """The name of the machine code of `text` in the store: equal names are equal code."""
    effort = target.effort(text, lanes, brief)
    parts = ("object", str(lanes), effort, *target.toolchain(), text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def object_of(target: AbstractMachine, text: str, lanes: int, brief: bool = False) -> bytes:
    """`text` as machine code, made so that Ctrl-C is heard meanwhile."""
    return patiently(lambda: target.build(text, lanes, brief))


class Code:
    """Loaded machine code for one program and number of lanes."""

    def __init__(
        self,
        target: AbstractMachine,
        image: bytes,
        layout: Layout,
        lanes: int,
        digest: str,
        entry: str,
    ) -> None:
        self.layout, self.lanes, self.digest, self.entry = layout, lanes, digest, entry
        self.loaded = target.load(image)
        self.single, self.map = self.loaded.single, self.loaded.map
        self.seconds = 0.0
        """What compiling or loading took."""
        self.draft = False
        """Compiled in haste: to be replaced where it runs for long."""
        self.spent = 0.0
        """Seconds that it has run for."""

    @classmethod
    def of(
        cls,
        target: AbstractMachine,
        program: Program,
        lanes: int,
        shared: frozenset[int] = frozenset(),
        brief: bool = False,
    ) -> Code:
        """The code of `program`: found on disk, or compiled and put there."""
        began = time.perf_counter()
        text = target.text(program, lanes, shared)
        entry = entry_of(target, text, lanes, brief)
        code = cls.stored(target, entry, lanes)
        if code is None:
            layout = lay_out(program, inputs_of(program, shared))
            digest = hashlib.sha256(text.encode()).hexdigest()
            image = object_of(target, text, lanes, brief)
            store.write(entry, {"layout": dataclasses.asdict(layout), "digest": digest}, image)
            code = cls(target, image, layout, lanes, digest, entry)
        code.seconds = time.perf_counter() - began
        return code

    @classmethod
    def stored(cls, target: AbstractMachine, entry: str, lanes: int) -> Code | None:
        """The code of that name on disk, loaded; None where there is none that can be used."""
        began = time.perf_counter()
        found = store.read(entry)
        if found is None:
            return None
        header, image = found
        try:
            layout = Layout(**header["layout"])
            code = cls(target, image, layout, lanes, header["digest"], entry)
        except (RuntimeError, KeyError, TypeError):  # of another version, or refused by the linker
            return None
        code.seconds = time.perf_counter() - began
        return code

    @property
    def work_bytes(self) -> int:
        """Scratch memory of one call, in bytes."""
        return self.layout.bytes * (self.lanes * self.layout.total + self.layout.shared) + 64
