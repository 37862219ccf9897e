"""A traced function as C99: its arguments and results with their names, and the texts of its files."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from isthmus.disk import whole_file
from isthmus.errors import BadFile, BadOption, did_you_mean
from isthmus.native.passes.liveness import touched_buffers
from isthmus.native.runtime.plan import Plan
from isthmus.native.runtime.slots import Slot
from isthmus.native.targets.c.files import header, test_program
from isthmus.native.targets.c.function import Function
from isthmus.native.targets.c.names import (
    Argument,
    distinct,
    input_names,
    is_identifier,
    output_names,
    renamed,
)
from isthmus.native.tracing.flat import Flat


class Traced(Protocol):
    """What C needs of a compiled function."""

    flat: Flat
    inputs: list[Slot]
    outputs: list[Slot]
    out_tree: Any

    @property
    def plan(self) -> Plan: ...
    def run(self, leaves: Sequence[Any]) -> list[np.ndarray]: ...


@dataclasses.dataclass(frozen=True)
class CCode:
    """A function as C: prints as one text that compiles by itself; `write` makes files of it."""

    name: str
    header: str
    """Declares and documents the function."""
    body: str
    """Defines it; a source that includes the header first."""
    stem: str
    """What its files are called, but for their endings."""
    test: str = ""
    """A program that calls the function on its example and compares the results."""

    @property
    def source(self) -> str:
        """The text of the `.c` file."""
        return f'#include "{self.stem}.h"\n\n{self.body}'

    def write(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Writes `step.c`, `step.h` and `step_main.c` where `path` is `step.c`."""
        file = check_path(path)
        texts = {file: self.source, file.with_suffix(".h"): self.header}
        texts[file.with_name(f"{file.stem}_main.c")] = self.test
        for target, text in texts.items():
            with whole_file(target) as made:
                made.write(text.encode())
        return tuple(texts)

    def __str__(self) -> str:
        return f"{self.header}\n{self.body}"


def source_c(
    made: Traced,
    *,
    name: str | None = None,
    stem: str | None = None,
    names: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    tested: bool = True,
) -> CCode:
    """The C of a compiled function; `tested` runs it on its examples, for the test program."""
    name = name or own_name(made.flat.fn) or "function"
    ins, outs, left_out = _arguments(made, names or {}, notes or {})
    program = made.plan.pruned
    buffers = [b for space in ("in", "out") for b in program.buffers if b.space == space]
    named = {b: a for b, a in zip(buffers, (*ins, *outs), strict=True) if a is not None}
    function = Function(name, program, named)
    test = ""
    if tested:
        numbers = [x for a, x in zip((*ins, *outs), _example(made), strict=True) if a is not None]
        test = test_program(function, stem or name, numbers)
    about = header(function, about_of(made.flat.fn), left_out)
    return CCode(name, about, function.source, stem or name, test)


def _example(made: Traced) -> list[np.ndarray]:
    """The arguments of the example, and the results, as wide as C has them."""
    given = [x for x, baked in zip(made.flat.examples, made.flat.baked, strict=True) if not baked]
    return [*given, *(window.copy() for window in made.run(given))]


def _arguments(
    made: Traced, names: Mapping[str, str], notes: Mapping[str, str]
) -> tuple[list[Argument | None], list[Argument | None], list[str]]:
    """Inputs, outputs (None: no place in the signature), and the names of unread leaves."""
    flat = made.flat
    paths = input_names(flat.fn, flat.given(), flat.static)
    own = distinct([path for path, _ in paths])
    results = distinct(output_names(made.out_tree), own, "_out")
    known = renamed([*own, *results], names)
    if unknown := [name for name in notes if name not in known]:
        raise BadOption(
            f"notes has {unknown[0]!r}, but no argument is called so.{did_you_mean(unknown[0], known)}"
        )
    touched = touched_buffers(made.plan.pruned)
    used = [b in touched for b in made.plan.pruned.buffers if b.space == "in"]
    ins, left_out = [], []
    for name, slot, (_, whole), read in zip(known, made.inputs, paths, used, strict=False):
        keep = slot.size > 0 and (whole or read)
        ins.append(_argument(name, slot, notes, flat.width, used=read) if keep else None)
        if not keep and slot.size > 0:
            left_out.append(name)
    outs = [
        _argument(name, slot, notes, flat.width, out=True) if slot.size > 0 else None
        for name, slot in zip(known[len(own) :], made.outputs, strict=True)
    ]
    return ins, outs, left_out


def _argument(
    name: str,
    slot: Slot,
    notes: Mapping[str, str],
    width: int,
    out: bool = False,
    used: bool = True,
) -> Argument:
    return Argument(name, slot.shape, slot.dtype, out, width, used, notes.get(name, ""))


def own_name(fn: Callable) -> str:
    """The name of a Python function, where C takes it."""
    name = getattr(fn, "__name__", "")
    return name if is_identifier(name) else ""


def about_of(fn: Callable) -> str:
    """The first line of a function's own documentation."""
    text = inspect.getdoc(fn) if inspect.isfunction(fn) or inspect.ismethod(fn) else None
    return (text or "").strip().partition("\n")[0].rstrip(".")


def check_path(path: str | os.PathLike[str]) -> Path:
    """Refuses a file that cannot be written, before the work."""
    file = Path(path)
    if file.suffix != ".c":
        raise BadOption(f"path is {str(path)!r}; the file must end in .c.")
    if file.is_dir():
        raise BadFile(f"{str(path)!r} is a folder, not a file.")
    if not file.parent.is_dir():
        raise BadFile(f"{str(path)!r} cannot be written: there is no folder {str(file.parent)!r}.")
    return file
