"""LLVM text that moves a caller's arrays into blocks of lanes and back, converting where types differ."""

from __future__ import annotations

from isthmus.native.targets.layout import SIZES

TYPES = ("double", "i64", "float", "i32", "i32", "i8")


def plain(code: int, width: int) -> bool:
    """Entries that are copied bit by bit."""
    return 8 * SIZES[code] == width


def converted(code: int, width: int) -> tuple[str, str]:
    """Instructions that read `%x`, a number of the program as bits, from `%p`, and that write it there."""
    cell, theirs = f"i{width}", TYPES[code]
    if plain(code, width):
        return f"%x = load {cell}, ptr %p, align 1", f"store {cell} %x, ptr %p, align 1"
    load, store = f"%a = load {theirs}, ptr %p, align 1", f"store {theirs} %a, ptr %p, align 1"
    if code in (0, 2):
        ours, into, back = (
            ("double", "fpext", "fptrunc") if width == 64 else ("float", "fptrunc", "fpext")
        )
        read = f"%b = {into} {theirs} %a to {ours}\n  %x = bitcast {ours} %b to {cell}"
        write = f"%b = bitcast {cell} %x to {ours}\n  %a = {back} {ours} %b to {theirs}"
        return f"{load}\n  {read}", f"{write}\n  {store}"
    wider, narrower = "sext" if code in (1, 3) else "zext", "trunc"
    if 8 * SIZES[code] > width:
        wider, narrower = narrower, wider
    read, write = f"%x = {wider} {theirs} %a to {cell}", f"%a = {narrower} {cell} %x to {theirs}"
    return f"{load}\n  {read}", f"{write}\n  {store}"


def mover(code: int, lanes: int, way: str, width: int, name: str) -> str:
    """Copies the entries of one array of one block: `pack` to lanes, `unpack` from them."""
    pack, cell, exact = way == "pack", f"i{width}", plain(code, width)
    read, write = converted(code, width)
    inner = f"{read}\n  store {cell} %x, ptr %q, align {width // 8}"
    if not pack:
        inner = f"%x = load {cell}, ptr %q, align {width // 8}\n  {write}"
    count = f"{lanes}" if pack else "%n"
    squares = "  br label %rest"
    if exact and lanes == 1:
        ends = "ptr %block, ptr %rows" if pack else "ptr %rows, ptr %block"
        squares = f"""  %bytes = mul i64 %size, {width // 8}
  call void @llvm.memcpy.p0.p0.i64({ends}, i64 %bytes, i1 false)
  br label %rest"""
    elif exact:
        squares = f"""  %full = icmp eq i64 %n, {lanes}
  br i1 %full, label %square, label %rest
square:
  %some = call i64 @{way}_squares(ptr %rows, i64 %stride, i64 %size, ptr %block)
  br label %rest"""
    done = "%size" if exact and lanes == 1 else "0"
    incoming = f"[ {done}, %entry ]"
    if exact and lanes > 1:
        incoming = "[ 0, %entry ], [ %some, %square ]"
    return f"""
define internal void @{name}{code}(ptr %rows, i64 %stride, i64 %size, ptr %block, i64 %n) #2 {{
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
  %mine = getelementptr {cell}, ptr %block, i64 %l
  br label %entry_loop
entry_loop:
  %k = phi i64 [ %first, %lane ], [ %k2, %entry_loop ]
  %p0 = mul i64 %k, {SIZES[code]}
  %p = getelementptr i8, ptr %row, i64 %p0
  %q0 = mul i64 %k, {lanes}
  %q = getelementptr {cell}, ptr %mine, i64 %q0
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


def transposed(rows: list[str], lanes: int, width: int) -> tuple[list[str], list[str]]:
    """Instructions that transpose a square of `lanes` vectors, and the names of its columns."""
    lines, count, kind = [], 0, f"<{lanes} x i{width}>"
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


def square_mover(lanes: int, way: str, width: int) -> str:
    """A full block without conversion: squares of `lanes` entries at a time, returns entries done."""
    kind, pack, unit = f"<{lanes} x i{width}>", way == "pack", f"i{width}"
    reads, writes = [], []
    for j in range(lanes):
        row = f"  %r{j} = mul i64 %stride, {j}\n  %a{j} = getelementptr i8, ptr %rows, i64 %r{j}\n"
        row += f"  %b{j} = getelementptr {unit}, ptr %a{j}, i64 %k"
        cell = f"  %c{j} = add i64 %k, {j}\n  %d{j} = mul i64 %c{j}, {lanes}\n"
        cell += f"  %e{j} = getelementptr {unit}, ptr %block, i64 %d{j}"
        source, target = (f"%b{j}", f"%e{j}") if pack else (f"%e{j}", f"%b{j}")
        reads += [row, cell, f"  %x{j} = load {kind}, ptr {source}, align {width // 8}"]
        writes.append(target)
    lines, found = transposed([f"%x{j}" for j in range(lanes)], lanes, width)
    stores = [
        f"  store {kind} {v}, ptr {t}, align {width // 8}"
        for v, t in zip(found, writes, strict=True)
    ]
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


def movers(way: str, lanes: int, width: int, name: str = "") -> str:
    """A mover for each type, and the function, `@way` or `@name`, that calls the one for a code."""
    name = name or way
    args = "ptr %rows, i64 %stride, i64 %size, ptr %block, i64 %n"
    codes = range(len(SIZES))
    exact = min(c for c in codes if plain(c, width))
    own = {c: exact if plain(c, width) else c for c in codes}
    cases = " ".join(f"i64 {c}, label %c{c}" for c in codes)
    blocks = "\n".join(f"c{c}:\n  call void @{name}{own[c]}({args})\n  ret void" for c in codes)
    made = "".join(mover(c, lanes, way, width, name) for c in sorted(set(own.values())))
    return f"""{made}
define internal void @{name}(i64 %code, {args}) #2 {{
  switch i64 %code, label %c0 [ {cases} ]
{blocks}
}}"""
