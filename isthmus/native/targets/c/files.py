"""The files around a C function: its header with documentation, its source, a program that tests it."""

from __future__ import annotations

import functools
import importlib.metadata
import re
import textwrap
from collections.abc import Iterable, Sequence

import numpy as np

from isthmus.native.ir.program import Buffer, Plain
from isthmus.native.targets.c.emit import Writer
from isthmus.native.targets.c.names import Argument
from isthmus.native.targets.c.operations import HELPERS, TYPES, literal, narrowed

WIDTH = 100
COLUMN = 40
"""Longer declarations get lines of their own in the list of arguments."""


@functools.cache
def maker() -> str:
    """`isthmus` and its version."""
    try:
        return f"isthmus {importlib.metadata.version('isthmus')}"
    except importlib.metadata.PackageNotFoundError:
        return "isthmus"


def comment(text: str) -> str:
    """What may stand inside a comment without ending it, or alarming a compiler."""
    return re.sub(r"\?(?=\?)", "? ", text.replace("*/", "* /").replace("/*", "/ *"))


def wrapped(text: str) -> list[str]:
    """A paragraph of a comment."""
    return [f" * {part}" for part in textwrap.wrap(comment(text), WIDTH - 3)]


def row(kind: str, left: str, note: str, width: int) -> list[str]:
    """One entry of the list of arguments, wrapped."""
    head, space = f" *   {kind:<4} {left:<{width}}", " " * (width + 8)
    parts = textwrap.wrap(comment(note), max(WIDTH - len(space) - 4, 40))
    if not parts or len(left) > width:  # the note begins below
        return [head.rstrip(), *(f" *  {space}{_plain(part)}" for part in parts)]
    return [f"{head}  {_plain(parts[0])}", *(f" *  {space}{_plain(part)}" for part in parts[1:])]


def _plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def shape_text(argument: Argument) -> str:
    """`13×6 numbers, row by row`: the shape, where there is more to say than a length."""
    if len(argument.shape) < 2:
        return ""
    return f"{' x '.join(map(str, argument.shape))}, row by row"


def header(
    name: str,
    about: str,
    arguments: Sequence[Argument],
    work: Sequence[tuple[Buffer, str]],
    width: int,
    left_out: Sequence[str],
    separate: bool,
) -> str:
    """The text of the `.h` file."""
    guard = f"{name.upper()}_H"
    lines = ["/*", *wrapped(f"{name}: {about}" if about else name), " *"]
    lines += wrapped(
        f"Made by {maker()}; do not edit. C99: allocates nothing, keeps nothing, needs nothing but libm. "
        "Several threads may call it at once."
    )
    lines += [" *", " * Arguments:"]
    wide = min(max((len(a.declaration) for a in arguments), default=0), COLUMN)
    for a in arguments:
        parts = (a.note, shape_text(a), "" if a.used else "not used")
        note = "; ".join(filter(None, parts))
        lines += row("out" if a.out else "in", a.declaration, note, wide)
    if work:
        scratch = f"{name}_work *work"
        told = "scratch, one for each thread; nothing in it needs to be set or kept"
        lines += row("", scratch, told, wide)
    if left_out:
        told = f"Not among them, because nothing depends on them: {', '.join(left_out)}."
        lines += [" *", *wrapped(told)]
    may = "must not overlap arguments" if separate else "may be written over arguments"
    lines += [" *", f" * Results {may}.", " */"]
    lines += [f"#ifndef {guard}", f"#define {guard}", "", "#include <stdbool.h>"]
    lines += ["#include <stdint.h>", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    if work:
        members = [f"    {TYPES[width][b.kind]} {member}[{b.size}];" for b, member in work]
        lines += ["typedef struct {", *members, f"}} {name}_work;", ""]
    lines += [signature(name, arguments, bool(work)) + ";", "", "#ifdef __cplusplus", "}", "#endif"]
    return "\n".join([*lines, "", "#endif", ""])


def signature(name: str, arguments: Sequence[Argument], work: bool) -> str:
    """`void name(…)`, one parameter in each line where they are many."""
    parts = [a.declaration for a in arguments]
    parts += [f"{name}_work *work"] if work else []
    flat = f"void {name}({', '.join(parts) or 'void'})"
    return flat if len(flat) < WIDTH else f"void {name}(\n    " + ",\n    ".join(parts) + ")"


def table(kind: str, name: str, numbers: Iterable[Plain], width: int) -> str:
    """A constant array."""
    entries = [literal(x, kind, width).text for x in numbers]
    body = textwrap.fill(", ".join(entries), WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"static const {TYPES[width][kind]} {name}[{len(entries)}] = {{\n{body}\n}};\n"


def source(
    name: str,
    arguments: Sequence[Argument],
    lines: Sequence[str],
    writer: Writer,
    tables: Sequence[tuple[Buffer, str]],
    work: bool,
) -> str:
    """The text of the `.c` file, without the line that includes the header."""
    text = "\n".join(lines)
    parts = ["#include <math.h>\n"]
    width = writer.p.width
    parts += [narrowed(HELPERS[name], width) for name in HELPERS if name in writer.helpers]
    parts += [table(b.kind, called, b.data, width) for b, called in tables]
    silent = [f"    (void){a.name};" for a in arguments if not a.used]
    silent += ["    (void)work;"] if work and "work->" not in text else []
    body = "\n".join([*silent, *lines])
    parts.append(f"{signature(name, arguments, work)}\n{{\n{body}\n}}\n")
    return "\n".join(parts)


DIFFERS = {
    "f": """static int differs_f(const char *name, const double *found, const double *wanted, int size)
{
    double largest = 0.0, off = 0.0;
    int wrong = 0;
    for (int k = 0; k < size; ++k)
        if (isfinite(wanted[k]) && fabs(wanted[k]) > largest)
            largest = fabs(wanted[k]);
    for (int k = 0; k < size; ++k) {
        const double gap = fabs(found[k] - wanted[k]);
        if (isfinite(wanted[k]) && isfinite(found[k])) {
            if (gap > off)
                off = gap;
        } else if (found[k] != wanted[k] && !(isnan(found[k]) && isnan(wanted[k]))) {
            wrong = 1;
        }
    }
    wrong = wrong || off > 1e-12 * largest;
    printf("%s: off by at most %.2g, the largest entry being %.6g%s\\n", name, off, largest,
        wrong ? ": WRONG" : "");
    return wrong;
}
""",
    "i": """static int differs_i(const char *name, const int64_t *found, const int64_t *wanted, int size)
{
    int wrong = 0;
    for (int k = 0; k < size; ++k)
        wrong = wrong || found[k] != wanted[k];
    printf("%s: %s\\n", name, wrong ? "WRONG" : "equal");
    return wrong;
}
""",
    "b": """static int differs_b(const char *name, const bool *found, const bool *wanted, int size)
{
    int wrong = 0;
    for (int k = 0; k < size; ++k)
        wrong = wrong || found[k] != wanted[k];
    printf("%s: %s\\n", name, wrong ? "WRONG" : "equal");
    return wrong;
}
""",
}
"""How results are compared: numbers within 1e-12 of the largest entry, 1e-5 in float32."""


def differs(kind: str, width: int) -> str:
    """The function that compares results of a kind."""
    text = DIFFERS[kind]
    return text if width == 64 else narrowed(text, width).replace("1e-12", "1e-5f")


def test_program(
    name: str, stem: str, arguments: Sequence[Argument], numbers: Sequence[np.ndarray], work: bool
) -> str:
    """The text of a program that calls the function on its example and compares the results."""
    outs = [a for a in arguments if a.out]
    parts = [
        f"/* Calls {name} once; fails where a result differs from what isthmus computed. Made by {maker()}. */\n"
        '#include <math.h>\n#include <stdio.h>\n\n#include "' + stem + '.h"\n'
    ]
    parts += [differs(kind, width) for kind, width in sorted({(a.kind, a.width) for a in outs})]
    given = []
    for a, value in zip(arguments, numbers, strict=True):
        known = f"{'expected' if a.out else 'example'}_{a.name}"
        parts.append(table(a.kind, known, value.ravel().tolist(), a.width))
        if a.out:
            parts.append(f"static {a.type} found_{a.name}[{a.size}];\n")
        given.append(f"found_{a.name}" if a.out else known + ("[0]" if a.by_value else ""))
    if work:
        parts.append(f"static {name}_work scratch;\n")
        given.append("&scratch")
    checks = [
        f'    wrong += differs_{a.kind}("{a.name}", found_{a.name}, expected_{a.name}, {a.size});'
        for a in outs
    ]
    call = textwrap.fill(f"{name}({', '.join(given)});", WIDTH - 8, subsequent_indent="    ")
    body = ["    int wrong = 0;", textwrap.indent(call, "    "), *checks, "    return wrong > 0;"]
    parts.append("int main(void)\n{\n" + "\n".join(body) + "\n}\n")
    return "\n".join(parts)
