"""`to_c`: a JAX function as C99 for a robot's controller: a source, its header and a test program."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from isthmus.errors import BadOption
from isthmus.native.runtime.c_source import CCode, check_path, own_name, source_c
from isthmus.native.runtime.call import Native
from isthmus.native.runtime.compile import positions_of
from isthmus.native.targets.c.names import identifier, is_identifier


def to_c(
    fn: Callable,
    *examples: Any,
    path: str | os.PathLike[str] | None = None,
    name: str | None = None,
    static: int | Sequence[int] = (),
    names: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    strict: bool = False,
) -> CCode:
    """`fn` as a C99 function of arguments like `examples`: no allocation, no globals, libm only.

    `path="step.c"` writes `step.c`, `step.h` and `step_main.c`, which tests it on the examples. `name`: of the
    function, else its own in Python, else that of the file. Arguments are called as those of `fn`, leaves of
    structures by their path (`model_link_mass`), results by their keys or `out0`, `out1` …; `names` renames some,
    `notes` says in the header what they are. `static`, `strict` as in `compile`. Equal input gives equal text.
    """
    stem = None if path is None else check_path(path).stem
    called = name or own_name(fn) or identifier(stem or "function")
    if not is_identifier(called):
        raise BadOption(f"name is {called!r}, which is no name of a function in C.")
    made = Native(fn, examples, static=positions_of(static, len(examples)), strict=strict)
    code = source_c(made, name=called, stem=stem, names=names, notes=notes)
    if path is not None:
        code.write(path)
    return code
