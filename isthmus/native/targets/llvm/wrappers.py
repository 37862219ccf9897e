"""The LLVM text around `core`: one world, many worlds, and the entry point that XLA calls."""

from __future__ import annotations

from isthmus.native.ir.program import Buffer, Program
from isthmus.native.targets.layout import SIZES, Layout
from isthmus.native.targets.llvm.movers import movers, square_mover
from isthmus.native.targets.llvm.stack import Arguments, on_stack, stack_text

XLA_CODES = {12: 0, 5: 1, 9: 1, 11: 2, 4: 3, 8: 4, 1: 5}
"""XLA's number of a type -> ours."""


SINGLE_ARGUMENTS: Arguments = (("ptr", "in"), ("ptr", "out"), ("ptr", "work"))
MAP_ARGUMENTS: Arguments = (
    ("i64", "first"), ("i64", "last"), ("ptr", "ins"), ("ptr", "in_strides"), ("ptr", "in_codes"),
    ("ptr", "outs"), ("ptr", "out_strides"), ("ptr", "out_codes"), ("ptr", "scratch"), ("ptr", "rows_of"),
)  # fmt: skip


def table(name: str, entries: list[int]) -> str:
    """A constant array of integers."""
    body = ", ".join(f"i64 {x}" for x in entries) or "i64 0"
    return f"@{name} = internal constant [{max(len(entries), 1)} x i64] [{body}]"


ROWS = """
  %r0 = icmp eq ptr %rows_of, null
  br i1 %r0, label %move, label %indexed
indexed:
  %r1 = getelementptr ptr, ptr %rows_of, i64 %i
  %r2 = load ptr, ptr %r1
  %r3 = icmp eq ptr %r2, null
  br i1 %r3, label %move, label %given
given:
  %r4 = getelementptr i64, ptr %r2, i64 %number
  %r5 = load i64, ptr %r4
  br label %move
move:
  %row = phi i64 [ %w, %loop ], [ %w, %indexed ], [ %r5, %given ]"""
"""The row of array `i` where a block begins: its own world's, or what a table of rows says."""


def all_arrays(way: str, count: int, width: int, lanes: int, shared: bool = False) -> str:
    """Moves every array of a block of worlds that starts at world `w`; packing may take rows from a table.

    `shared`: some inputs are the same in all lanes; they are copied once.
    """
    call = f"call void @{way}(i64 %code, ptr %rows, i64 %stride, i64 %size, ptr %own, i64 %n)"
    if shared:
        call = f"""%f = getelementptr i64, ptr @{way}_shared, i64 %i
  %alike0 = load i64, ptr %f
  %alike = icmp ne i64 %alike0, 0
  br i1 %alike, label %once, label %each
once:
  call void @share(i64 %code, ptr %rows, i64 %stride, i64 %size, ptr %own, i64 1)
  br label %next
each:
  {call}
  br label %next
next:"""
    last = "next" if shared else "move"
    return f"""
define internal void @{way}_all(i64 %w, i64 %n, ptr %data, ptr %strides, ptr %codes, ptr %block, ptr %rows_of) #2 {{
entry:
  %none = icmp eq i64 {count}, 0
  %number = udiv i64 %w, {lanes}
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i2, %{last} ]{ROWS}
  %a = getelementptr ptr, ptr %data, i64 %i
  %base = load ptr, ptr %a
  %b = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %b
  %c = getelementptr i64, ptr %codes, i64 %i
  %code = load i64, ptr %c
  %d = getelementptr i64, ptr @{way}_sizes, i64 %i
  %size = load i64, ptr %d
  %e = getelementptr i64, ptr @{way}_places, i64 %i
  %place = load i64, ptr %e
  %skip = mul i64 %row, %stride
  %rows = getelementptr i8, ptr %base, i64 %skip
  %own = getelementptr i{width}, ptr %block, i64 %place
  {call}
  %i2 = add i64 %i, 1
  %more = icmp ult i64 %i2, {count}
  br i1 %more, label %loop, label %end
end:
  ret void
}}"""


def map_text(layout: Layout, lanes: int, stack: int) -> str:
    """One world, and blocks of worlds, one after the other; on a stack of so many bytes (0: that of the caller)."""
    many = ", ".join(f"{kind} %{name}" for kind, name in MAP_ARGUMENTS)
    one = ", ".join(f"{kind} %{name}" for kind, name in SINGLE_ARGUMENTS)
    if stack:
        entries = (
            stack_text(stack)
            + on_stack("single", SINGLE_ARGUMENTS)
            + on_stack("map", MAP_ARGUMENTS)
        )
        heads = f"internal void @single_here({one})", f"internal void @map_here({many})"
    else:
        entries, heads = "", (f"void @single({one})", f"void @map({many})")
    out_at, work_at = layout.inputs * lanes, (layout.inputs + layout.outputs) * lanes
    shared_at = layout.total * lanes
    return f"""{entries}
define {heads[0]} #2 {{
  call void @core(ptr %in, ptr %out, ptr %work, ptr null)
  ret void
}}

define {heads[1]} #2 {{
entry:
  %s0 = ptrtoint ptr %scratch to i64
  %s1 = add i64 %s0, 63
  %s2 = and i64 %s1, -64
  %in = inttoptr i64 %s2 to ptr
  %out = getelementptr i{layout.width}, ptr %in, i64 {out_at}
  %work = getelementptr i{layout.width}, ptr %in, i64 {work_at}
  %shared = getelementptr i{layout.width}, ptr %in, i64 {shared_at}
  %any = icmp ult i64 %first, %last
  br i1 %any, label %loop, label %end
loop:
  %w = phi i64 [ %first, %entry ], [ %w2, %loop ]
  %left = sub i64 %last, %w
  %n = call i64 @llvm.umin.i64(i64 %left, i64 {lanes})
  call void @pack_all(i64 %w, i64 %n, ptr %ins, ptr %in_strides, ptr %in_codes, ptr %in, ptr %rows_of)
  call void @core(ptr %in, ptr %out, ptr %work, ptr %shared)
  call void @unpack_all(i64 %w, i64 %n, ptr %outs, ptr %out_strides, ptr %out_codes, ptr %out, ptr null)
  %w2 = add i64 %w, {lanes}
  %more = icmp ult i64 %w2, %last
  br i1 %more, label %loop, label %end
end:
  ret void
}}"""


def unwrap(side: str, pointer: int, count: int, way: str) -> str:
    """Reads the buffers of an XLA call frame into tables of pointers, strides and codes."""
    return f"""
define internal void @read_{side}(ptr %frame, i64 %worlds, ptr %data, ptr %strides, ptr %codes) #2 {{
entry:
  %a = getelementptr i8, ptr %frame, i64 {pointer}
  %list = load ptr, ptr %a
  %none = icmp eq i64 {count}, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i2, %loop ]
  %b = getelementptr ptr, ptr %list, i64 %i
  %buffer = load ptr, ptr %b
  %c = getelementptr i8, ptr %buffer, i64 16
  %dtype32 = load i32, ptr %c
  %dtype = zext i32 %dtype32 to i64
  %d = getelementptr i64, ptr @xla_codes, i64 %dtype
  %code = load i64, ptr %d
  %e = getelementptr i8, ptr %buffer, i64 24
  %address = load ptr, ptr %e
  %total = call i64 @entries(ptr %buffer)
  %f = getelementptr i64, ptr @{way}_sizes, i64 %i
  %size = load i64, ptr %f
  %g = getelementptr i64, ptr @code_bytes, i64 %code
  %bytes = load i64, ptr %g
  %shared = icmp eq i64 %total, %size
  %single = icmp ne i64 %worlds, 1
  %still = and i1 %shared, %single
  %row = mul i64 %size, %bytes
  %stride = select i1 %still, i64 0, i64 %row
  %h = getelementptr ptr, ptr %data, i64 %i
  store ptr %address, ptr %h
  %j = getelementptr i64, ptr %strides, i64 %i
  store i64 %stride, ptr %j
  %k = getelementptr i64, ptr %codes, i64 %i
  store i64 %code, ptr %k
  %i2 = add i64 %i, 1
  %more = icmp ult i64 %i2, {count}
  br i1 %more, label %loop, label %end
end:
  ret void
}}"""


ENTRIES = """
define internal i64 @entries(ptr %buffer) #2 {
entry:
  %a = getelementptr i8, ptr %buffer, i64 32
  %rank = load i64, ptr %a
  %b = getelementptr i8, ptr %buffer, i64 40
  %dims = load ptr, ptr %b
  %none = icmp eq i64 %rank, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i2, %loop ]
  %product = phi i64 [ 1, %entry ], [ %product2, %loop ]
  %c = getelementptr i64, ptr %dims, i64 %i
  %n = load i64, ptr %c
  %product2 = mul i64 %product, %n
  %i2 = add i64 %i, 1
  %more = icmp ult i64 %i2, %rank
  br i1 %more, label %loop, label %end
end:
  %result = phi i64 [ 1, %entry ], [ %product2, %loop ]
  ret i64 %result
}
"""


def handler_text(inputs: int, outputs: int) -> str:
    """What XLA calls (its FFI, version 0.1). The last result but one tells the worlds, the last is scratch."""
    ni, no = max(inputs, 1), max(outputs, 1)
    return f"""
define ptr @handler(ptr %frame) #2 {{
entry:
  %in_data = alloca [{ni} x ptr]
  %in_strides = alloca [{ni} x i64]
  %in_codes = alloca [{ni} x i64]
  %out_data = alloca [{no} x ptr]
  %out_strides = alloca [{no} x i64]
  %out_codes = alloca [{no} x i64]
  %a = getelementptr i8, ptr %frame, i64 8
  %extension = load ptr, ptr %a
  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %work, label %ask
ask:
  %b = getelementptr i8, ptr %extension, i64 8
  %kind = load i32, ptr %b
  %is_metadata = icmp eq i32 %kind, 1
  br i1 %is_metadata, label %tell, label %work
tell:
  %c = getelementptr i8, ptr %extension, i64 24
  %metadata = load ptr, ptr %c
  %d = getelementptr i8, ptr %metadata, i64 24
  store i32 0, ptr %d
  %e = getelementptr i8, ptr %metadata, i64 28
  store i32 1, ptr %e
  %f = getelementptr i8, ptr %metadata, i64 32
  store i32 0, ptr %f
  ret ptr null
work:
  %g = getelementptr i8, ptr %frame, i64 112
  %results = load ptr, ptr %g
  %h = getelementptr ptr, ptr %results, i64 {outputs}
  %counter = load ptr, ptr %h
  %worlds = call i64 @entries(ptr %counter)
  %i = getelementptr ptr, ptr %results, i64 {outputs + 1}
  %spare = load ptr, ptr %i
  %j = getelementptr i8, ptr %spare, i64 24
  %scratch = load ptr, ptr %j
  call void @read_in(ptr %frame, i64 %worlds, ptr %in_data, ptr %in_strides, ptr %in_codes)
  call void @read_out(ptr %frame, i64 1, ptr %out_data, ptr %out_strides, ptr %out_codes)
  call void @map(i64 0, i64 %worlds, ptr %in_data, ptr %in_strides, ptr %in_codes,
    ptr %out_data, ptr %out_strides, ptr %out_codes, ptr %scratch, ptr null)
  ret ptr null
}}
"""


def wrappers(
    program: Program,
    layout: Layout,
    lanes: int,
    shared: frozenset[Buffer] = frozenset(),
    stack: int = 0,
) -> str:
    """Everything of a module but `core` and its constants; inputs in `shared` are the same in all lanes.

    `stack`: bytes of a stack of its own that the code needs (`stack.py`); 0: none.
    """
    ins = [b for b in program.buffers if b.space == "in"]
    outs = [b for b in program.buffers if b.space == "out"]
    width = layout.width
    end = layout.total * lanes
    places = [end + b.offset if b in shared else b.offset * lanes for b in ins]
    xla = [XLA_CODES.get(k, 0) for k in range(64)]
    return "\n".join(
        [
            "declare i64 @llvm.umin.i64(i64, i64)",
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            *(square_mover(lanes, way, width) for way in ("pack", "unpack") if lanes > 1),
            table("pack_sizes", [b.size for b in ins]),
            table("pack_places", places),
            table("pack_shared", [int(b in shared) for b in ins]),
            table("unpack_sizes", [b.size for b in outs]),
            table("unpack_places", [b.offset * lanes for b in outs]),
            table("xla_codes", xla),
            table("code_bytes", list(SIZES)),
            movers("pack", lanes, width),
            movers("unpack", lanes, width),
            movers("pack", 1, width, "share") if shared else "",
            all_arrays("pack", len(ins), width, lanes, bool(shared)),
            all_arrays("unpack", len(outs), width, lanes),
            map_text(layout, lanes, stack),
            ENTRIES,
            unwrap("in", 72, len(ins), "pack"),
            unwrap("out", 112, len(outs), "unpack"),
            handler_text(len(ins), len(outs)),
        ]
    )
