"""Sorting few numbers without NumPy around it: `np.sort`, `np.argsort` and `np.median` in loops.

A median filter sorts nine numbers at each pixel, which takes a tenth of the time that NumPy needs to look at its
arguments. Of up to 32 numbers the place of each is how many are below it, or equal and before it: a comparison with a
vector of all of them, and a count of bits. So there is no branch that depends on the data, and equal numbers keep their
order. What NumPy decides otherwise is left to it: nan, the order of equal numbers where the sort is not stable, zeros
of two signs.

The function is the same in all programs, and says whether it has done the work. Outside of loops, where compiling it
would take longer than it saves, NumPy is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from jitflow.backends.llvm.emission.emit_control import phi
from jitflow.backends.llvm.emission.emit_inner_loop import Described
from jitflow.backends.llvm.emission.emitter import UNLIKELY, Emitter
from jitflow.backends.llvm.emission.types import element_type
from jitflow.ir.dtypes import DType
from jitflow.records import dataclass

__all__ = ["ShortRow", "call_short_row", "short_row"]

LONGEST = 32
_WIDTHS = (16, LONGEST)
_DTYPES = frozenset("i8 i16 i32 i64 u8 u16 u32 u64 f32 f64".split())
_STABLE = ("stable", "mergesort")


@dataclass(frozen=True, slots=True)
class ShortRow:
    """What to do: ``sort``, ``argsort``, ``stable_argsort`` or ``median`` of numbers of a dtype."""

    what: str
    dtype: DType

    @property
    def name(self) -> str:
        return f"jitflow.{self.what}.{self.dtype.name}"


def short_row(attributes: Mapping[str, Any]) -> ShortRow | None:
    """What an ``invoke`` with these attributes does, if it is that, to one row of numbers."""
    choose = _CHOICES.get(attributes["routine"])
    if choose is None or any(attributes["keywords"]):
        return None
    ((dtype, rank),) = attributes["takes"]
    is_known = all(number < 0 for _, dims in attributes["gives"] for number in dims)
    if dtype.name not in _DTYPES or not isinstance(rank, int) or not is_known:
        return None
    what = choose(dict(attributes["options"]), rank)
    return ShortRow(what, dtype) if what else None


def _sort(options: Mapping[str, Any], rank: int) -> str:
    return "sort" if rank == 1 and options.get("axis", -1) in (0, -1) else ""


def _argsort(options: Mapping[str, Any], rank: int) -> str:
    is_stable = options.get("kind") in _STABLE or bool(options.get("stable"))
    return _sort(options, rank) and ("stable_argsort" if is_stable else "argsort")


def _median(options: Mapping[str, Any], rank: int) -> str:
    return "median" if rank in (1, 2) and options.get("axis") is None and not options.get("keepdims") else ""


_CHOICES: dict[str, Callable[[Mapping[str, Any], int], str]] = {
    "numpy.sort": _sort,
    "numpy.argsort": _argsort,
    "numpy.median": _median,
}


def call_short_row(out: Emitter, row: ShortRow, things: Sequence[Described], otherwise: Callable[[], str]) -> str:
    """Call the function, or do what ``otherwise`` writes where it has not done it. Returns the status."""
    out.module.shared[row.name] = _function(row)
    out.module.declare(row.name, "i1", ["ptr", "i64", "i64", "i64", "i64", "ptr"])
    operand = things[0]
    dims, strides = ("1", *operand.dims)[-2:], ("0", *operand.strides)[-2:]
    source, target = (out.let(f"inttoptr i64 {thing.address} to ptr") for thing in things)
    numbers = ", ".join(f"i64 {number}" for number in (*dims, *strides))
    done = out.let(f"call i1 @{row.name}(ptr {source}, {numbers}, ptr {target})")
    before = out.block
    other, after = out.label("other"), out.label("done")
    out.branch(done, after, other, UNLIKELY)
    with out.cold(other):
        status = otherwise()
        left = out.block
        out.jump(after)
    out.begin(after)
    return out.let(phi("i32", ("0", before), (status, left)))


@cache
def _function(row: ShortRow) -> str:
    """``i1 (source, rows, columns, distance of rows, distance of columns, target)``."""
    element, size = element_type(row.dtype), row.dtype.itemsize
    area = f"<{LONGEST} x {element}>"
    by_width = "\n".join(_places(row, width) for width in _WIDTHS)
    declarations = "\n".join(f"declare i{width} @llvm.ctpop.i{width}(i{width})" for width in _WIDTHS)
    return f"""{declarations}

define hidden i1 @{row.name}(ptr %source, i64 %rows, i64 %columns, i64 %down, i64 %along, ptr %target) #0 {{
start:
  %numbers = alloca {area}, align 64
  %sorted = alloca {area}, align 64
  %few.rows = icmp ule i64 %rows, {LONGEST}
  %few.columns = icmp ule i64 %columns, {LONGEST}
  %few = and i1 %few.rows, %few.columns
  %count = mul i64 %rows, %columns
  %some = icmp ne i64 %count, 0
  %short = icmp ule i64 %count, {LONGEST}
  %fits.0 = and i1 %few, %some
  %fits = and i1 %fits.0, %short
  br i1 %fits, label %clear, label %refuse

clear:
  store {area} zeroinitializer, ptr %numbers
  br label %row

row:
  %r = phi i64 [ 0, %clear ], [ %r.next, %row.end ]
  %k.row = phi i64 [ 0, %clear ], [ %k.next, %row.end ]
  %r.offset = mul i64 %r, %down
  %r.start = getelementptr i8, ptr %source, i64 %r.offset
  br label %column

column:
  %c = phi i64 [ 0, %row ], [ %c.next, %column ]
  %k = phi i64 [ %k.row, %row ], [ %k.next, %column ]
  %c.offset = mul i64 %c, %along
  %place = getelementptr i8, ptr %r.start, i64 %c.offset
  %number = load {element}, ptr %place, align {size}
  %slot = getelementptr {element}, ptr %numbers, i64 %k
  store {element} %number, ptr %slot
  %k.next = add i64 %k, 1
  %c.next = add i64 %c, 1
  %c.more = icmp ult i64 %c.next, %columns
  br i1 %c.more, label %column, label %row.end

row.end:
  %r.next = add i64 %r, 1
  %r.more = icmp ult i64 %r.next, %rows
  br i1 %r.more, label %row, label %choose

choose:
  %narrow = icmp ule i64 %count, {_WIDTHS[0]}
  br i1 %narrow, label %w{_WIDTHS[0]}, label %w{_WIDTHS[1]}

{by_width}

{_finish(row)}

refuse:
  ret i1 false
}}"""


def _places(row: ShortRow, width: int) -> str:
    """The numbers put where they belong, compared in vectors of so many."""
    element, name = element_type(row.dtype), f"w{width}"
    vector, mask = f"<{width} x {element}>", f"<{width} x i1>"
    kind = row.dtype.kind
    less, equal = ("fcmp olt", "fcmp oeq") if kind == "f" else (f"icmp {'s' if kind == 'i' else 'u'}lt", "icmp eq")
    lanes = ", ".join(f"i64 {lane}" for lane in range(width))
    index = f"<{width} x i64>"
    target, stored = (
        ("%target", "i64 %{0}.i")
        if row.what.endswith("argsort")
        else ("%target" if row.what == "sort" else "%sorted", f"{element} %{{0}}.x")
    )
    refused = "%{0}.tied" if row.what == "argsort" else "false"
    return f"""{name}:
  %{name}.all = load {vector}, ptr %numbers
  %{name}.n.0 = insertelement {index} poison, i64 %count, i64 0
  %{name}.n = shufflevector {index} %{name}.n.0, {index} poison, <{width} x i32> zeroinitializer
  %{name}.there = icmp ult {index} <{lanes}>, %{name}.n
{_unusual(row, name, vector, mask, width)}
  br i1 %{name}.unusual, label %refuse, label %{name}.loop

{name}.loop:
  %{name}.i = phi i64 [ 0, %{name} ], [ %{name}.next, %{name}.loop ]
  %{name}.ties = phi i1 [ false, %{name} ], [ %{name}.tied, %{name}.loop ]
  %{name}.slot = getelementptr {element}, ptr %numbers, i64 %{name}.i
  %{name}.x = load {element}, ptr %{name}.slot
  %{name}.x.0 = insertelement {vector} poison, {element} %{name}.x, i64 0
  %{name}.xs = shufflevector {vector} %{name}.x.0, {vector} poison, <{width} x i32> zeroinitializer
  %{name}.less = {less} {vector} %{name}.all, %{name}.xs
  %{name}.equal.all = {equal} {vector} %{name}.all, %{name}.xs
  %{name}.equal = and {mask} %{name}.equal.all, %{name}.there
  %{name}.i.0 = insertelement {index} poison, i64 %{name}.i, i64 0
  %{name}.is = shufflevector {index} %{name}.i.0, {index} poison, <{width} x i32> zeroinitializer
  %{name}.before = icmp ult {index} <{lanes}>, %{name}.is
  %{name}.tie = and {mask} %{name}.equal, %{name}.before
  %{name}.below.all = or {mask} %{name}.less, %{name}.tie
  %{name}.below = and {mask} %{name}.below.all, %{name}.there
  %{name}.bits = bitcast {mask} %{name}.below to i{width}
  %{name}.place.0 = call i{width} @llvm.ctpop.i{width}(i{width} %{name}.bits)
  %{name}.place = zext i{width} %{name}.place.0 to i64
  %{name}.to = getelementptr {stored.split()[0]}, ptr {target}, i64 %{name}.place
  store {stored.format(name)}, ptr %{name}.to
  %{name}.tie.bits = bitcast {mask} %{name}.tie to i{width}
  %{name}.tie.here = icmp ne i{width} %{name}.tie.bits, 0
  %{name}.tied = or i1 %{name}.ties, %{name}.tie.here
  %{name}.next = add i64 %{name}.i, 1
  %{name}.more = icmp ult i64 %{name}.next, %count
  br i1 %{name}.more, label %{name}.loop, label %{name}.end

{name}.end:
  br i1 {refused.format(name)}, label %refuse, label %finish"""


def _unusual(row: ShortRow, name: str, vector: str, mask: str, width: int) -> str:
    """Whether there is a nan, or in what is sorted a zero below zero."""
    if row.dtype.kind != "f":
        return f"  %{name}.unusual = icmp ne i1 false, false"
    bits = 8 * row.dtype.itemsize
    integers = f"<{width} x i{bits}>"
    return f"""  %{name}.nan = fcmp uno {vector} %{name}.all, zeroinitializer
  %{name}.integers = bitcast {vector} %{name}.all to {integers}
  %{name}.zero = icmp eq {integers} %{name}.integers, splat (i{bits} {-(1 << (bits - 1))})
  %{name}.odd.all = or {mask} %{name}.nan, {f"%{name}.zero" if row.what == "sort" else "zeroinitializer"}
  %{name}.odd = and {mask} %{name}.odd.all, %{name}.there
  %{name}.odd.bits = bitcast {mask} %{name}.odd to i{width}
  %{name}.unusual = icmp ne i{width} %{name}.odd.bits, 0"""


def _finish(row: ShortRow) -> str:
    """The median is the middle one, or halfway between the middle two; NumPy adds them to 0."""
    if row.what != "median":
        return "finish:\n  ret i1 true"
    element, kind = element_type(row.dtype), row.dtype.kind
    exact = element if kind == "f" else "double"

    def converted(name: str) -> str:
        if kind == "f":
            return f"%{name} = fadd {exact} 0.0, %{name}.own"
        return f"%{name} = {'s' if kind == 'i' else 'u'}itofp {element} %{name}.own to double"

    return f"""finish:
  %middle = lshr i64 %count, 1
  %upper.place = getelementptr {element}, ptr %sorted, i64 %middle
  %upper.own = load {element}, ptr %upper.place
  {converted("upper")}
  %odd.0 = and i64 %count, 1
  %odd = icmp ne i64 %odd.0, 0
  %lower.index.0 = sub i64 %middle, 1
  %lower.index = select i1 %odd, i64 %middle, i64 %lower.index.0
  %lower.place = getelementptr {element}, ptr %sorted, i64 %lower.index
  %lower.own = load {element}, ptr %lower.place
  {converted("lower")}
  %sum = fadd {exact} %lower, %upper
  %half = fmul {exact} %sum, 0.5
  %median = select i1 %odd, {exact} %upper, {exact} %half
  store {exact} %median, ptr %target
  ret i1 true"""
