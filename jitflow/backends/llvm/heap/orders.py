"""Orders of entries: functions for each type of item, which a program that sorts or has a heap holds.

Items are compared word by word, the first words that differ decide, as Python compares tuples. A heap is sifted exactly
as `heapq` does it, so that it lies in memory as Python's; sorting is merging, which leaves what is equal in order.
"""

from __future__ import annotations

from functools import cache

from jitflow.backends.llvm.heap.headers import functions
from jitflow.ir.types import TEXT, Container, NoneKind, Scalar, Several, leaves_of, words_of

__all__ = ["name_of_order", "order_functions"]


def name_of_order(kind: Container) -> str:
    """What the functions for items of a type are called: a letter for each word, of several kinds how many integers."""
    return f"jitflow.order.{''.join(_letters(leaf) for _, leaf in leaves_of(kind.item))}"


def _letters(leaf: Scalar | Several | NoneKind) -> str:
    if isinstance(leaf, Several):
        integers = sum(leaf.carriers[places[0]].dtype.kind == "i" for places in leaf.places if places)
        return f"k{integers}{''.join(map(_letters, leaf.carriers))}"
    assert isinstance(leaf, Scalar)
    if leaf == TEXT:
        return "s"
    return leaf.dtype.kind if leaf.dtype.kind in "fu" else "i"


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
    for number, leaf in reversed([*leaves_of(kind.item)]):
        for side in "ab":
            lines += [f"  %{side}{word}.at = getelementptr i8, ptr %{side}, i64 {8 * word}\n"
                      f"  %{side}{word} = load i64, ptr %{side}{word}.at, align 8"
                      for word in range(number, number + len(words_of(leaf)))]  # fmt: skip
        compared, before, equal = _compared(leaf, number)
        lines += [
            *compared,
            f"  %before{number} = {before}",
            f"  %equal{number} = {equal}",
            f"  %counts{number} = icmp ugt i64 %compared, {number}",
            f"  %rest{number} = and i1 %equal{number}, {answer}",
            f"  %either{number} = or i1 %before{number}, %rest{number}",
            f"  %less{number} = and i1 %either{number}, %counts{number}",
        ]
        answer = f"%less{number}"
    return "\n".join([*lines, f"  ret i1 {answer}", "}"])


def _compared(leaf: Scalar | Several | NoneKind, word: int) -> tuple[list[str], str, str]:
    """Lines, and the instructions behind them which say whether part ``word`` of a is less than that of b, or equal."""
    if isinstance(leaf, Several):
        kinds = [carrier.dtype.kind for carrier in leaf.carriers]
        return _integers_and_floats(leaf, word) if len(kinds) > 1 else _compared(leaf.carriers[0], word + 1)
    assert isinstance(leaf, Scalar)
    pair = f"%a{word}, %b{word}"
    if leaf == TEXT:
        order = f"  %c{word} = call i64 @jitflow.text.compare(i64 %a{word}, i64 %b{word})"
        return [order], f"icmp slt i64 %c{word}, 0", f"icmp eq i64 %c{word}, 0"
    if leaf.dtype.kind != "f":
        return [], f"icmp {'ult' if leaf.dtype.kind == 'u' else 'slt'} i64 {pair}", f"icmp eq i64 {pair}"
    lines = [f"  %{side}{word}.f = {_as_float(leaf.dtype.bits, f'%{side}{word}')}" for side in "ab"]
    return lines, f"fcmp olt double %a{word}.f, %b{word}.f", f"fcmp oeq double %a{word}.f, %b{word}.f"


def _integers_and_floats(leaf: Several, tag: int) -> tuple[list[str], str, str]:
    """Either is a float, and an integer where that says too little, and whether it is more than any integer."""
    integers = sum(places == (0,) for places in leaf.places)
    lines = []
    for side in "ab":
        one = f"%{side}{tag}"
        lines += [
            f"  {one}.is.integer = icmp ult i64 {one}, {integers}",
            f"  {one}.rounded = sitofp i64 %{side}{tag + 1} to double",
            f"  {one}.given = {_as_float(64, f'%{side}{tag + 2}')}",
            f"  {one}.cut = call i64 @llvm.fptosi.sat.i64.f64(double {one}.given)",
            f"  {one}.above = fcmp oge double {one}.given, 0x43E0000000000000",
            f"  {one}.float = select i1 {one}.is.integer, double {one}.rounded, double {one}.given",
            f"  {one}.integer = select i1 {one}.is.integer, i64 %{side}{tag + 1}, i64 {one}.cut",
            f"  {one}.not.integer = xor i1 {one}.is.integer, true",
            f"  {one}.more = and i1 {one}.above, {one}.not.integer",
        ]
    one, other = f"%a{tag}", f"%b{tag}"
    lines += [
        f"  {one}.float.less = fcmp olt double {one}.float, {other}.float",
        f"  {one}.float.same = fcmp oeq double {one}.float, {other}.float",
        f"  {one}.integer.less = icmp slt i64 {one}.integer, {other}.integer",
        f"  {one}.integer.same = icmp eq i64 {one}.integer, {other}.integer",
        f"  {one}.more.less = icmp ult i1 {one}.more, {other}.more",
        f"  {one}.more.same = icmp eq i1 {one}.more, {other}.more",
        f"  {one}.last.less = and i1 {one}.integer.same, {one}.more.less",
        f"  {one}.rest.less = or i1 {one}.integer.less, {one}.last.less",
        f"  {one}.then.less = and i1 {one}.float.same, {one}.rest.less",
        f"  {one}.both.same = and i1 {one}.float.same, {one}.integer.same",
    ]
    return lines, f"or i1 {one}.float.less, {one}.then.less", f"and i1 {one}.both.same, {one}.more.same"


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
