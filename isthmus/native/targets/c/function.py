"""The text of one function in C99 or a dialect of it: helpers, constant arrays, head and body."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Iterable, Mapping

from isthmus.native.ir.program import Buffer, Plain, Program
from isthmus.native.passes.liveness import touched_buffers
from isthmus.native.targets.c.dialect import C99, TYPES, Dialect, Place
from isthmus.native.targets.c.emit import Writer
from isthmus.native.targets.c.expressions import literal
from isthmus.native.targets.c.helpers import HELPERS, helper_text
from isthmus.native.targets.c.names import Argument

WIDTH = 100
"""Characters of a line."""


class Function:
    """A program as a function called `name`; `arguments`: what its inputs and outputs are called, in order."""

    def __init__(
        self,
        name: str,
        program: Program,
        arguments: Mapping[Buffer, Argument],
        dialect: Dialect = C99,
    ) -> None:
        self.name, self.program, self.dialect = name, program, dialect
        self.arguments = list(arguments.values())
        self.types = TYPES[program.width]
        touched = touched_buffers(program)
        self.work, self.tables = (
            [
                (b, f"{letter}{k}")
                for k, b in enumerate(
                    b for b in program.buffers if b.space == space and b in touched
                )
            ]
            for space, letter in (("work", "w"), ("const", "k"))
        )
        places = {b: dialect.place(a.name, a.shape, a.out) for b, a in arguments.items()}
        places.update((b, dialect.scratch(member)) for b, member in self.work)
        places.update((b, Place(table)) for b, table in self.tables)
        self._writer = Writer(program, places, dialect)
        self._lines = self._writer.run()

    @property
    def separate(self) -> bool:
        """Results must not overlap arguments: some are read after a result was written."""
        return self._writer.separate

    @functools.cached_property
    def head(self) -> str:
        """`void name(…)`, one parameter in each line where they are many."""
        parts = [self.declaration(a) for a in self.arguments]
        if self.dialect.index is not None:
            parts += [f"{self.types[b.kind]} *{name}" for b, name in self.work]
        elif self.work:
            parts.append(f"{self.name}_work *work")
        parts += self.dialect.parameters
        start = f"{self.dialect.result} {self.name}("
        flat = f"{start}{', '.join(parts) or 'void'})"
        return flat if len(flat) < WIDTH else f"{start}\n    " + ",\n    ".join(parts) + ")"

    def declaration(self, argument: Argument) -> str:
        """An argument as a parameter."""
        place = self.dialect.place(argument.name, argument.shape, argument.out)
        return self.dialect.declaration(place, argument.type, argument.size, argument.out)

    @functools.cached_property
    def source(self) -> str:
        """Everything but the line that includes a header."""
        width, dialect = self.program.width, self.dialect
        parts = ["".join(f"#include {file}\n" for file in dialect.includes)]
        used = [name for name in HELPERS if name in self._writer.scope.helpers]
        parts += [helper_text(name, width, dialect.helper) for name in used]
        parts += [table(dialect.table, b.kind, name, b.data, width) for b, name in self.tables]
        idle = [a.name for a in self.arguments if not a.used]
        if self.work and dialect.index is None and "work->" not in "\n".join(self._lines):
            idle.append("work")
        opening = [f"    {line}" for line in dialect.opening]
        body = "\n".join([*opening, *(f"    (void){name};" for name in idle), *self._lines])
        return "\n".join([*parts, f"{self.head}\n{{\n{body}\n}}\n"])


def table(prefix: str, kind: str, name: str, numbers: Iterable[Plain], width: int) -> str:
    """A constant array; `prefix`: what stands before its type."""
    entries = [literal(x, kind, width).text for x in numbers]
    body = textwrap.fill(", ".join(entries), WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"{prefix} {TYPES[width][kind]} {name}[{len(entries)}] = {{\n{body}\n}};\n"
