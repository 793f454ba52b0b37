"""Orders of entries: functions for each type of item, which a program that sorts or has a heap holds.

Items are compared word by word, the first words that differ decide, as Python compares tuples. A heap is sifted exactly
as `heapq` does it, so that it lies in memory as Python's; sorting is merging, which leaves what is equal in order.
"""

from __future__ import annotations

from functools import cache

from jitflow.backends.llvm.headers import functions
from jitflow.ir.types import TEXT, Container, Scalar

__all__ = ["name_of_order", "order_functions"]


def name_of_order(kind: Container) -> str:
    """What the functions for items of a type are called: a letter for each word."""
    return f"jitflow.order.{''.join(map(_letter, kind.items))}"


def _letter(word: Scalar) -> str:
    if word == TEXT:
        return "s"
    return word.dtype.kind if word.dtype.kind in "fu" else "i"


@cache
def order_functions(kind: Container) -> dict[str, str]:
    """The functions ``down``, ``up`` and ``sort`` of lists with items of a type, by name."""
    name = name_of_order(kind)
    text = "\n".join((_less(kind, name), _SIFTING, _SORTING))
    text = text.replace("NAME", name).replace("WIDTH_", str(8 * len(kind.items)))
    return {name: functions(text)}


def _less(kind: Container, name: str) -> str:
    lines = [f"define internal i1 @{name}.less(ptr %a, ptr %b, i64 %compared) #0 {{", "start:"]
    answer = "false"
    for number, word in reversed([*enumerate(kind.items)]):
        for side in "ab":
            lines += [f"  %{side}{number}.at = getelementptr i8, ptr %{side}, i64 {8 * number}",
                      f"  %{side}{number} = load i64, ptr %{side}{number}.at, align 8"]  # fmt: skip
        pair = f"%a{number}, %b{number}"
        if word == TEXT:
            lines.append(f"  %c{number} = call i64 @jitflow.text.compare(i64 %a{number}, i64 %b{number})")
            pair = f"%c{number}, 0"
        if word.dtype.kind == "f":
            for side in "ab":
                lines.append(f"  %{side}{number}.f = {_as_float(word.dtype.bits, f'%{side}{number}')}")
            pair = f"double %a{number}.f, %b{number}.f"
            before, equal = f"fcmp olt {pair}", f"fcmp oeq {pair}"
        else:
            before, equal = f"icmp {'ult' if word.dtype.kind == 'u' else 'slt'} i64 {pair}", f"icmp eq i64 {pair}"
        lines += [
            f"  %before{number} = {before}",
            f"  %equal{number} = {equal}",
            f"  %counts{number} = icmp ugt i64 %compared, {number}",
            f"  %rest{number} = and i1 %equal{number}, {answer}",
            f"  %either{number} = or i1 %before{number}, %rest{number}",
            f"  %less{number} = and i1 %either{number}, %counts{number}",
        ]
        answer = f"%less{number}"
    return "\n".join([*lines, f"  ret i1 {answer}", "}"])


def _as_float(bits: int, word: str) -> str:
    assert bits == 64, "numbers of other widths are compared as they are"
    return f"bitcast i64 {word} to double"


_SIFTING = """define internal void @NAME.down(ptr %c, i64 %first, i64 %from) #0 {
start:
  %item = alloca i8, i64 WIDTH_, align 16
  %data = field ptr %c DATA
  %from.offset = mul i64 %from, WIDTH_
  %from.at = getelementptr i8, ptr %data, i64 %from.offset
  call void @llvm.memcpy.p0.p0.i64(ptr %item, ptr %from.at, i64 WIDTH_, i1 false)
  br label %look
look:
  %place = phi i64 [ %from, %start ], [ %parent, %move ]
  %at = phi ptr [ %from.at, %start ], [ %above, %move ]
  %inside = icmp sgt i64 %place, %first
  br i1 %inside, label %compare, label %done
compare:
  %less.one = sub i64 %place, 1
  %parent = lshr i64 %less.one, 1
  %offset = mul i64 %parent, WIDTH_
  %above = getelementptr i8, ptr %data, i64 %offset
  %is.less = call i1 @NAME.less(ptr %item, ptr %above, i64 64)
  br i1 %is.less, label %move, label %done
move:
  call void @llvm.memcpy.p0.p0.i64(ptr %at, ptr %above, i64 WIDTH_, i1 false)
  br label %look
done:
  call void @llvm.memcpy.p0.p0.i64(ptr %at, ptr %item, i64 WIDTH_, i1 false)
  ret void
}
define internal void @NAME.up(ptr %c, i64 %first) #0 {
start:
  %item = alloca i8, i64 WIDTH_, align 16
  %data = field ptr %c DATA
  %rows = field i64 %c ROWS
  %first.offset = mul i64 %first, WIDTH_
  %first.at = getelementptr i8, ptr %data, i64 %first.offset
  call void @llvm.memcpy.p0.p0.i64(ptr %item, ptr %first.at, i64 WIDTH_, i1 false)
  br label %look
look:
  %place = phi i64 [ %first, %start ], [ %chosen, %move ]
  %at = phi ptr [ %first.at, %start ], [ %chosen.at, %move ]
  %twice = shl i64 %place, 1
  %left = add i64 %twice, 1
  %right = add i64 %twice, 2
  %has.left = icmp slt i64 %left, %rows
  br i1 %has.left, label %choose, label %done
choose:
  %left.offset = mul i64 %left, WIDTH_
  %left.at = getelementptr i8, ptr %data, i64 %left.offset
  %right.at = getelementptr i8, ptr %left.at, i64 WIDTH_
  %has.right = icmp slt i64 %right, %rows
  br i1 %has.right, label %compare, label %move
compare:
  %is.less = call i1 @NAME.less(ptr %left.at, ptr %right.at, i64 64)
  %better = select i1 %is.less, i64 %left, i64 %right
  %better.at = select i1 %is.less, ptr %left.at, ptr %right.at
  br label %move
move:
  %chosen = phi i64 [ %left, %choose ], [ %better, %compare ]
  %chosen.at = phi ptr [ %left.at, %choose ], [ %better.at, %compare ]
  call void @llvm.memcpy.p0.p0.i64(ptr %at, ptr %chosen.at, i64 WIDTH_, i1 false)
  br label %look
done:
  call void @llvm.memcpy.p0.p0.i64(ptr %at, ptr %item, i64 WIDTH_, i1 false)
  call void @NAME.down(ptr %c, i64 %first, i64 %place)
  ret void
}"""

_SORTING = """define internal i1 @NAME.sort(ptr %c, i64 %compared, i1 %reverse) #0 {
start:
  %heap = field ptr %c HEAP
  %data = field ptr %c DATA
  %rows = field i64 %c ROWS
  %few = icmp ult i64 %rows, 2
  br i1 %few, label %sorted, label %take
sorted:
  ret i1 true
take:
  %bytes = mul i64 %rows, WIDTH_
  %less.one = sub i64 %bytes, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less.one, i1 true)
  %power = sub i64 64, %zeros
  %exact = shl i64 1, %power
  %rounded = call i64 @llvm.umax.i64(i64 %exact, i64 64)
  %other = call ptr @jitflow.heap.take(ptr %heap, i64 %rounded)
  %failed = icmp eq ptr %other, null
  br i1 %failed, label %full, label %widths
full:
  ret i1 false
widths:
  %width = phi i64 [ 1, %take ], [ %width.next, %swap ]
  %source = phi ptr [ %data, %take ], [ %target, %swap ]
  %target = phi ptr [ %other, %take ], [ %source, %swap ]
  %goes.on = icmp ult i64 %width, %rows
  br i1 %goes.on, label %runs, label %finish
runs:
  %begin = phi i64 [ 0, %widths ], [ %end, %run.done ]
  %runs.left = icmp ult i64 %begin, %rows
  br i1 %runs.left, label %run, label %swap
run:
  %middle.far = add i64 %begin, %width
  %middle = call i64 @llvm.umin.i64(i64 %middle.far, i64 %rows)
  %end.far = add i64 %middle, %width
  %end = call i64 @llvm.umin.i64(i64 %end.far, i64 %rows)
  br label %merge
merge:
  %left = phi i64 [ %begin, %run ], [ %left.next, %put ]
  %right = phi i64 [ %middle, %run ], [ %right.next, %put ]
  %place = phi i64 [ %begin, %run ], [ %place.next, %put ]
  %merging = icmp ult i64 %place, %end
  br i1 %merging, label %pick, label %run.done
pick:
  %left.offset = mul i64 %left, WIDTH_
  %left.at = getelementptr i8, ptr %source, i64 %left.offset
  %right.offset = mul i64 %right, WIDTH_
  %right.at = getelementptr i8, ptr %source, i64 %right.offset
  %has.left = icmp ult i64 %left, %middle
  %has.right = icmp ult i64 %right, %end
  %has.both = and i1 %has.left, %has.right
  br i1 %has.both, label %compare, label %put
compare:
  %one = select i1 %reverse, ptr %left.at, ptr %right.at
  %two = select i1 %reverse, ptr %right.at, ptr %left.at
  %is.less = call i1 @NAME.less(ptr %one, ptr %two, i64 %compared)
  br label %put
put:
  %takes.right = phi i1 [ %has.right, %pick ], [ %is.less, %compare ]
  %taken = select i1 %takes.right, ptr %right.at, ptr %left.at
  %place.offset = mul i64 %place, WIDTH_
  %place.at = getelementptr i8, ptr %target, i64 %place.offset
  call void @llvm.memcpy.p0.p0.i64(ptr %place.at, ptr %taken, i64 WIDTH_, i1 false)
  %right.step = zext i1 %takes.right to i64
  %left.step = sub i64 1, %right.step
  %left.next = add i64 %left, %left.step
  %right.next = add i64 %right, %right.step
  %place.next = add i64 %place, 1
  br label %merge
run.done:
  br label %runs
swap:
  %width.next = shl i64 %width, 1
  br label %widths
finish:
  %is.there = icmp eq ptr %source, %data
  br i1 %is.there, label %give, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %source, i64 %bytes, i1 false)
  br label %give
give:
  call void @jitflow.heap.give(ptr %heap, ptr %other, i64 %rounded)
  ret i1 true
}"""
