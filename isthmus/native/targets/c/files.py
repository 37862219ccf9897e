"""The files around a function in C99: its header with documentation, and a program that tests it."""

from __future__ import annotations

import functools
import importlib.metadata
import re
import textwrap
from collections.abc import Sequence
from string import Template

import numpy as np

from isthmus.native.targets.c.function import WIDTH, Function, table
from isthmus.native.targets.c.helpers import words
from isthmus.native.targets.c.names import Argument

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


def header(function: Function, about: str, left_out: Sequence[str]) -> str:
    """The text of the `.h` file; `left_out`: names of leaves that nothing depends on."""
    name, work = function.name, function.work
    guard = f"{name.upper()}_H"
    lines = ["/*", *wrapped(f"{name}: {about}" if about else name), " *"]
    lines += wrapped(
        f"Made by {maker()}; do not edit. C99: allocates nothing, keeps nothing, needs nothing but libm. "
        "Several threads may call it at once."
    )
    lines += [" *", " * Arguments:"]
    declared = {a: function.declaration(a) for a in function.arguments}
    wide = min(max(map(len, declared.values()), default=0), COLUMN)
    for a, declaration in declared.items():
        parts = (a.note, shape_text(a), "" if a.used else "not used")
        lines += row("out" if a.out else "in", declaration, "; ".join(filter(None, parts)), wide)
    if work:
        note = "scratch, one for each thread; nothing in it needs to be set or kept"
        lines += row("", f"{name}_work *work", note, wide)
    if left_out:
        note = f"Not among them, because nothing depends on them: {', '.join(left_out)}."
        lines += [" *", *wrapped(note)]
    may = "must not overlap arguments" if function.separate else "may be written over arguments"
    lines += [" *", f" * Results {may}.", " */"]
    lines += [f"#ifndef {guard}", f"#define {guard}", "", "#include <stdbool.h>"]
    lines += ["#include <stdint.h>", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    if work:
        members = [f"    {function.types[b.kind]} {member}[{b.size}];" for b, member in work]
        lines += ["typedef struct {", *members, f"}} {name}_work;", ""]
    lines += [f"{function.head};", "", "#ifdef __cplusplus", "}", "#endif"]
    return "\n".join([*lines, "", "#endif", ""])


DIFFERS = {
    "f": """static int differs_f(const char *name, const $real *found, const $real *wanted, int size)
{
    $real largest = 0.0$f, off = 0.0$f;
    int wrong = 0;
    for (int k = 0; k < size; ++k)
        if (isfinite(wanted[k]) && fabs$f(wanted[k]) > largest)
            largest = fabs$f(wanted[k]);
    for (int k = 0; k < size; ++k) {
        const $real gap = fabs$f(found[k] - wanted[k]);
        if (isfinite(wanted[k]) && isfinite(found[k])) {
            if (gap > off)
                off = gap;
        } else if (found[k] != wanted[k] && !(isnan(found[k]) && isnan(wanted[k]))) {
            wrong = 1;
        }
    }
    wrong = wrong || off > $tolerance$f * largest;
    printf("%s: off by at most %.2g, the largest entry being %.6g%s\\n", name, off, largest,
        wrong ? ": WRONG" : "");
    return wrong;
}
""",
    "i": """static int differs_i(const char *name, const $whole *found, const $whole *wanted, int size)
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
    return Template(DIFFERS[kind]).substitute(words(width))


def test_program(function: Function, stem: str, numbers: Sequence[np.ndarray]) -> str:
    """The text of a program that calls the function on its example and compares the results.

    `numbers`: for each argument, those of the example or the result to be expected.
    """
    name, arguments = function.name, function.arguments
    outs = [a for a in arguments if a.out]
    parts = [
        f"/* Calls {name} once; fails where a result differs from what isthmus computed. Made by {maker()}. */\n"
        '#include <math.h>\n#include <stdio.h>\n\n#include "' + stem + '.h"\n'
    ]
    parts += [differs(kind, width) for kind, width in sorted({(a.kind, a.width) for a in outs})]
    given = []
    for a, value in zip(arguments, numbers, strict=True):
        known = f"{'expected' if a.out else 'example'}_{a.name}"
        parts.append(table("static const", a.kind, known, value.ravel().tolist(), a.width))
        if a.out:
            parts.append(f"static {a.type} found_{a.name}[{a.size}];\n")
        given.append(f"found_{a.name}" if a.out else known + ("" if a.shape else "[0]"))
    if function.work:
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
