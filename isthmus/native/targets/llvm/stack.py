"""A stack of its own for code that needs a large one.

What does not fit into registers lies on the stack, and code that is compiled in haste gives each of its values a place
there: 230,000 values of eight lanes need more than the 8 MiB that a thread has, and the process would end without a
word. Such code runs in a thread that is started for the call, with a stack as large as all values; only what is used of
it takes memory.
"""

from __future__ import annotations

import os

LARGE = 2 * 2**20
"""Bytes of values from which on code gets a stack of its own: starting a thread takes some 20 µs, and a run of so much
code several times as long."""
ROOM = 4
"""How often each value may lie there: the code generator makes some more than the text has."""
Arguments = tuple[tuple[str, str], ...]
"""Types and names of what a function takes; each has 8 bytes."""


def stack_for(core: str, lanes: int, width: int) -> int:
    """Bytes of stack for the text of a function, whose lines each give a value at the most; 0: little."""
    values = core.count("\n") * lanes * width // 8
    threads = os.name == "posix"  # where there are POSIX threads
    return ROOM * values if values > LARGE and threads else 0


def stack_text(size: int) -> str:
    """`on_stack(work, arguments)`: calls `work` in a thread with so much stack; in this one where none can be had."""
    whole = -(-size // 2**16) * 2**16  # pages of every size
    return f"""
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)

define internal void @on_stack(ptr %work, ptr %arguments) #2 {{
entry:
  %settings = alloca [16 x i64]
  %thread = alloca i64
  %a = call i32 @pthread_attr_init(ptr %settings)
  %b = call i32 @pthread_attr_setstacksize(ptr %settings, i64 {whole})
  %c = call i32 @pthread_create(ptr %thread, ptr %settings, ptr %work, ptr %arguments)
  %d = call i32 @pthread_attr_destroy(ptr %settings)
  %started = icmp eq i32 %c, 0
  br i1 %started, label %wait, label %here
wait:
  %id = load i64, ptr %thread
  %e = call i32 @pthread_join(i64 %id, ptr null)
  ret void
here:
  %f = call ptr %work(ptr %arguments)
  ret void
}}
"""


def on_stack(name: str, arguments: Arguments) -> str:
    """The function `name`, which calls `name_here` with the same arguments on a stack of its own."""
    taken = ", ".join(f"{kind} %{x}" for kind, x in arguments)
    place = "getelementptr i64, ptr %list, i64"
    store = [
        f"  %at{k} = {place} {k}\n  store {kind} %{x}, ptr %at{k}"
        for k, (kind, x) in enumerate(arguments)
    ]
    load = [
        f"  %at{k} = {place} {k}\n  %{x} = load {kind}, ptr %at{k}"
        for k, (kind, x) in enumerate(arguments)
    ]
    lines = [
        f"define internal ptr @{name}_there(ptr %list) #2 {{", *load,
        f"  call void @{name}_here({taken})", "  ret ptr null", "}", "",
        f"define void @{name}({taken}) #2 {{", f"  %list = alloca [{len(arguments)} x i64]", *store,
        f"  call void @on_stack(ptr @{name}_there, ptr %list)", "  ret void", "}", "",
    ]  # fmt: skip
    return "\n".join(lines)
