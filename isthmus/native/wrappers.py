"""The LLVM text around `core`: one world, many worlds, and the entry point that XLA calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isthmus.native.llvm import Layout
    from isthmus.native.program import Program

CODES = {"float64": 0, "int64": 0, "uint64": 0, "float32": 1, "int32": 2, "bool": 3, "uint32": 4}
"""How entries of a caller's array are converted on their way in and out."""
XLA_CODES = {12: 0, 5: 0, 9: 0, 11: 1, 4: 2, 1: 3, 8: 4}
SIZES = (8, 4, 4, 1, 4)

READ = {
    0: "%x = load i64, ptr %p, align 1",
    1: "%a = load float, ptr %p, align 1\n  %b = fpext float %a to double\n  %x = bitcast double %b to i64",
    2: "%a = load i32, ptr %p, align 1\n  %x = sext i32 %a to i64",
    3: "%a = load i8, ptr %p, align 1\n  %x = zext i8 %a to i64",
    4: "%a = load i32, ptr %p, align 1\n  %x = zext i32 %a to i64",
}
WRITE = {
    0: "store i64 %x, ptr %p, align 1",
    1: "%a = bitcast i64 %x to double\n  %b = fptrunc double %a to float\n  store float %b, ptr %p, align 1",
    2: "%a = trunc i64 %x to i32\n  store i32 %a, ptr %p, align 1",
    3: "%a = trunc i64 %x to i8\n  store i8 %a, ptr %p, align 1",
    4: "%a = trunc i64 %x to i32\n  store i32 %a, ptr %p, align 1",
}


def mover(code: int, lanes: int, way: str) -> str:
    """Copies the entries of one array of one block: `pack` to lanes, `unpack` from them."""
    pack = way == "pack"
    inner = f"{READ[code]}\n  store i64 %x, ptr %q, align 8"
    if not pack:
        inner = f"%x = load i64, ptr %q, align 8\n  {WRITE[code]}"
    count = f"{lanes}" if pack else "%n"
    squares = "  br label %rest"
    if code == 0 and lanes == 1:
        ends = "ptr %block, ptr %rows" if pack else "ptr %rows, ptr %block"
        squares = f"""  %bytes = mul i64 %size, 8
  call void @llvm.memcpy.p0.p0.i64({ends}, i64 %bytes, i1 false)
  br label %rest"""
    elif code == 0:
        squares = f"""  %full = icmp eq i64 %n, {lanes}
  br i1 %full, label %square, label %rest
square:
  %some = call i64 @{way}_squares(ptr %rows, i64 %stride, i64 %size, ptr %block)
  br label %rest"""
    done = "%size" if code == 0 and lanes == 1 else "0"
    incoming = f"[ {done}, %entry ]"
    if code == 0 and lanes > 1:
        incoming = "[ 0, %entry ], [ %some, %square ]"
    return f"""
define internal void @{way}{code}(ptr %rows, i64 %stride, i64 %size, ptr %block, i64 %n) #2 {{
entry:
{squares}
rest:
  %first = phi i64 {incoming}
  %none = icmp eq i64 %first, %size
  br i1 %none, label %end, label %lane
lane:
  %l = phi i64 [ 0, %rest ], [ %l2, %next ]
  %last = sub i64 %n, 1
  %own = call i64 @llvm.umin.i64(i64 %l, i64 %last)
  %row0 = mul i64 %own, %stride
  %row = getelementptr i8, ptr %rows, i64 %row0
  %mine = getelementptr i64, ptr %block, i64 %l
  br label %entry_loop
entry_loop:
  %k = phi i64 [ %first, %lane ], [ %k2, %entry_loop ]
  %p0 = mul i64 %k, {SIZES[code]}
  %p = getelementptr i8, ptr %row, i64 %p0
  %q0 = mul i64 %k, {lanes}
  %q = getelementptr i64, ptr %mine, i64 %q0
  {inner}
  %k2 = add i64 %k, 1
  %more = icmp ult i64 %k2, %size
  br i1 %more, label %entry_loop, label %next
next:
  %l2 = add i64 %l, 1
  %again = icmp ult i64 %l2, {count}
  br i1 %again, label %lane, label %end
end:
  ret void
}}"""


def transposed(rows: list[str], lanes: int) -> tuple[list[str], list[str]]:
    """Instructions that transpose a square of `lanes` vectors, and the names of its columns."""
    lines, count, kind = [], 0, f"<{lanes} x i64>"
    step = lanes // 2
    while step:
        new = list(rows)
        for a in range(lanes):
            if a & step:
                continue
            b = a | step
            low = [k if not k & step else (k ^ step) + lanes for k in range(lanes)]
            high = [k | step if not k & step else k + lanes for k in range(lanes)]
            for target, order in ((a, low), (b, high)):
                mask = ", ".join(f"i32 {k}" for k in order)
                name = f"%m{count}"
                lines.append(
                    f"  {name} = shufflevector {kind} {rows[a]}, {kind} {rows[b]}, <{lanes} x i32> <{mask}>"
                )
                new[target] = name
                count += 1
        rows, step = new, step // 2
    return lines, rows


def square_mover(lanes: int, way: str) -> str:
    """`pack0` and `unpack0` of a full block: squares of `lanes` entries at a time, returns entries done."""
    kind, pack = f"<{lanes} x i64>", way == "pack"
    reads, writes = [], []
    for j in range(lanes):
        row = f"  %r{j} = mul i64 %stride, {j}\n  %a{j} = getelementptr i8, ptr %rows, i64 %r{j}\n"
        row += f"  %b{j} = getelementptr i64, ptr %a{j}, i64 %k"
        cell = f"  %c{j} = add i64 %k, {j}\n  %d{j} = mul i64 %c{j}, {lanes}\n"
        cell += f"  %e{j} = getelementptr i64, ptr %block, i64 %d{j}"
        source, target = (f"%b{j}", f"%e{j}") if pack else (f"%e{j}", f"%b{j}")
        reads += [row, cell, f"  %x{j} = load {kind}, ptr {source}, align 8"]
        writes.append(target)
    lines, found = transposed([f"%x{j}" for j in range(lanes)], lanes)
    stores = [f"  store {kind} {v}, ptr {t}, align 8" for v, t in zip(found, writes, strict=True)]
    body = "\n".join([*reads, *lines, *stores])
    return f"""
define internal i64 @{way}_squares(ptr %rows, i64 %stride, i64 %size, ptr %block) #2 {{
entry:
  %whole = and i64 %size, {-lanes}
  %none = icmp eq i64 %whole, 0
  br i1 %none, label %end, label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k2, %loop ]
{body}
  %k2 = add i64 %k, {lanes}
  %more = icmp ult i64 %k2, %whole
  br i1 %more, label %loop, label %end
end:
  ret i64 %whole
}}"""


def dispatcher(way: str) -> str:
    """Calls the mover for a code."""
    args = "ptr %rows, i64 %stride, i64 %size, ptr %block, i64 %n"
    cases = " ".join(f"i64 {c}, label %c{c}" for c in range(5))
    blocks = "\n".join(f"c{c}:\n  call void @{way}{c}({args})\n  ret void" for c in range(5))
    return f"""
define internal void @{way}(i64 %code, {args}) #2 {{
  switch i64 %code, label %c0 [ {cases} ]
{blocks}
}}"""


def table(name: str, entries: list[int]) -> str:
    """A constant array of integers."""
    body = ", ".join(f"i64 {x}" for x in entries) or "i64 0"
    return f"@{name} = internal constant [{max(len(entries), 1)} x i64] [{body}]"


def all_arrays(way: str, count: int) -> str:
    """Moves every array of a block of worlds that starts at world `w`."""
    return f"""
define internal void @{way}_all(i64 %w, i64 %n, ptr %data, ptr %strides, ptr %codes, ptr %block) #2 {{
entry:
  %none = icmp eq i64 {count}, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i2, %loop ]
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
  %skip = mul i64 %w, %stride
  %rows = getelementptr i8, ptr %base, i64 %skip
  %own = getelementptr i64, ptr %block, i64 %place
  call void @{way}(i64 %code, ptr %rows, i64 %stride, i64 %size, ptr %own, i64 %n)
  %i2 = add i64 %i, 1
  %more = icmp ult i64 %i2, {count}
  br i1 %more, label %loop, label %end
end:
  ret void
}}"""


def map_text(layout: Layout, lanes: int) -> str:
    """Blocks of worlds, one after the other."""
    out_at, work_at = layout.inputs * lanes, (layout.inputs + layout.outputs) * lanes
    return f"""
define void @single(ptr %in, ptr %out, ptr %work) #2 {{
  call void @core(ptr %in, ptr %out, ptr %work)
  ret void
}}

define void @map(i64 %first, i64 %last, ptr %ins, ptr %in_strides, ptr %in_codes,
    ptr %outs, ptr %out_strides, ptr %out_codes, ptr %scratch) #2 {{
entry:
  %s0 = ptrtoint ptr %scratch to i64
  %s1 = add i64 %s0, 63
  %s2 = and i64 %s1, -64
  %in = inttoptr i64 %s2 to ptr
  %out = getelementptr i64, ptr %in, i64 {out_at}
  %work = getelementptr i64, ptr %in, i64 {work_at}
  %any = icmp ult i64 %first, %last
  br i1 %any, label %loop, label %end
loop:
  %w = phi i64 [ %first, %entry ], [ %w2, %loop ]
  %left = sub i64 %last, %w
  %n = call i64 @llvm.umin.i64(i64 %left, i64 {lanes})
  call void @pack_all(i64 %w, i64 %n, ptr %ins, ptr %in_strides, ptr %in_codes, ptr %in)
  call void @core(ptr %in, ptr %out, ptr %work)
  call void @unpack_all(i64 %w, i64 %n, ptr %outs, ptr %out_strides, ptr %out_codes, ptr %out)
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
    ptr %out_data, ptr %out_strides, ptr %out_codes, ptr %scratch)
  ret ptr null
}}
"""


def wrappers(program: Program, layout: Layout, lanes: int) -> str:
    """Everything of a module but `core` and its constants."""
    ins = [b for b in program.buffers if b.space == "in"]
    outs = [b for b in program.buffers if b.space == "out"]
    xla = [XLA_CODES.get(k, 0) for k in range(64)]
    return "\n".join(
        [
            "declare i64 @llvm.umin.i64(i64, i64)",
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            *(square_mover(lanes, way) for way in ("pack", "unpack") if lanes > 1),
            table("pack_sizes", [b.size for b in ins]),
            table("pack_places", [b.offset * lanes for b in ins]),
            table("unpack_sizes", [b.size for b in outs]),
            table("unpack_places", [b.offset * lanes for b in outs]),
            table("xla_codes", xla),
            table("code_bytes", list(SIZES)),
            *(mover(code, lanes, way) for way in ("pack", "unpack") for code in range(5)),
            dispatcher("pack"),
            dispatcher("unpack"),
            all_arrays("pack", len(ins)),
            all_arrays("unpack", len(outs)),
            map_text(layout, lanes),
            ENTRIES,
            unwrap("in", 72, len(ins), "pack"),
            unwrap("out", 112, len(outs), "unpack"),
            handler_text(len(ins), len(outs)),
        ]
    )
