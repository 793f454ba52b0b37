"""Contractions by panels: packing, multiplying, and writing sums where they belong (`passes/lower/contraction.py`).

Some rows of some vectors of sums stay in registers while the steps of a panel are walked: each reads the vectors of a
row of the panel, which lie one behind the other, and one number of each row of the left array, which lies anywhere. How
many rows and vectors there are at a time depends on how many registers of what width the processor has. No sum does.

The functions are the same in all programs, so machine code is generated once in a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from jitflow import processor
from jitflow.backends.llvm.emitter import Emission, Emitter
from jitflow.backends.llvm.types import element_type
from jitflow.backends.llvm.vector_text import exchanged
from jitflow.ir.core import Op
from jitflow.ir.dtypes import DType
from jitflow.ir.ops.memory import PANEL_BYTES

__all__ = ["GATHERED_EMISSION"]
_AHEAD = 3
"""Steps by which lines of a panel are brought near: it is in the second cache, and is read from one end to the other
for some rows, so the first one has none of it any more."""
_LINE = 64


@dataclass(frozen=True, slots=True)
class _Registers:
    """How many ``rows`` are worked on at once, of at most so many ``groups`` of 64 bytes, in vectors of some bytes."""

    vector_bytes: int
    rows: int
    groups: int


def _registers() -> _Registers:
    if processor.has_features("avx512f"):
        return _Registers(64, 6, 4)
    if processor.has_features("avx2"):
        return _Registers(32, 6, 1)
    return _Registers(16, 3, 1)


def _emission(what: str, addresses: int, write: Callable[[_Function], None]) -> Emission:
    """An op whose operands are so many buffers with their offsets, then numbers, as a call of a shared function."""

    def emit(out: Emitter, op: Op) -> Sequence[str]:
        dtype, given = op.attributes["dtype"], list(map(out.operand, op.operands))
        places = [out.at(given[2 * number], given[2 * number + 1]) for number in range(addresses)]
        numbers = given[2 * addresses :]
        name = f"{what}_{dtype.name}"
        out.module.declare(name, "void", ["ptr"] * addresses + ["i64"] * len(numbers))
        out.module.shared[name] = _written(name, dtype, write, addresses, len(numbers))
        arguments = [*(f"ptr {place}" for place in places), *(f"i64 {number}" for number in numbers)]
        out.do(f"call void @{name}({', '.join(arguments)})")
        return ()

    return emit


@cache
def _written(name: str, dtype: DType, write: Callable[[_Function], None], addresses: int, numbers: int) -> str:
    function = _Function(dtype)
    write(function)
    parameters = [f"{'ptr' if place < addresses else 'i64'} %{place}" for place in range(addresses + numbers)]
    declarations = sorted(function.declarations)
    head = f"define hidden void @{name}({', '.join(parameters)}) #0 {{"
    return "\n".join([*declarations, head, "start:", *function.lines, "  ret void", "}"])


class _Function:
    """A function that is being written, with the arithmetic and the loops that it is made of."""

    def __init__(self, dtype: DType) -> None:
        self.element, self.itemsize = element_type(dtype), dtype.itemsize
        self.lanes = PANEL_BYTES // dtype.itemsize
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.block = "start"
        self.count = 0

    def let(self, text: str) -> str:
        """The value of an instruction."""
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def call(self, type: str, name: str, *arguments: tuple[str, str]) -> str:
        """A call of an intrinsic, each argument with its type."""
        self.declarations.add(f"declare {type} @{name}({', '.join(kind for kind, _ in arguments)})")
        text = f"call {type} @{name}({', '.join(f'{kind} {value}' for kind, value in arguments)})"
        if type != "void":
            return self.let(text)
        self.do(text)
        return ""

    def at(self, pointer: str, index: str, type: str = "i8") -> str:
        return self.let(f"getelementptr {type}, ptr {pointer}, i64 {index}")

    def load(self, type: str, pointer: str, align: int) -> str:
        return self.let(f"load {type}, ptr {pointer}, align {align}")

    def offset(self, table: str, index: str) -> str:
        return self.load("i64", self.at(table, index, "i64"), 8)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def fresh(self, name: str) -> str:
        self.count += 1
        return f"{name}.{self.count}"

    @contextmanager
    def where(self, condition: str, otherwise: str) -> Iterator[None]:
        """What runs where a condition holds, and then leaves out what stands behind, up to the label ``otherwise``."""
        yes, no = self.fresh("yes"), self.fresh("no")
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")
        self.label(yes)
        yield
        self.do(f"br label %{otherwise}")
        self.label(no)

    @contextmanager
    def loop(
        self, stop: str, start: str = "0", step: int = 1, sums: Sequence[str] = (), type: str = ""
    ) -> Iterator[tuple[str, list[str]]]:
        """A loop: its index, and the sums of a type that it goes on with, whose places the body fills with the next."""
        head, body, end = self.fresh("head"), self.fresh("body"), self.fresh("end")
        entry = self.block
        self.do(f"br label %{head}")
        self.label(head)
        index, following = f"%{head}.index", f"%{head}.next"
        place = len(self.lines)
        carried = [f"%{head}.sum.{number}" for number in range(len(sums))]
        self.lines += [""] * (len(sums) + 1)
        self.do(f"br i1 {self.let(f'icmp slt i64 {index}, {stop}')}, label %{body}, label %{end}")
        self.label(body)
        given = list(carried)
        yield index, given
        self.do(f"{following} = add i64 {index}, {step}")
        self.do(f"br label %{head}")
        self.lines[place] = f"  {index} = phi i64 [ {start}, %{entry} ], [ {following}, %{self.block} ]"
        for number, (before, after) in enumerate(zip(sums, given, strict=True), start=1):
            self.lines[place + number] = (
                f"  {carried[number - 1]} = phi {type} [ {before}, %{entry} ], [ {after}, %{self.block} ]"
            )
        given[:] = carried
        self.label(end)

    def groups(self, count: str) -> str:
        """How many pieces so many elements are."""
        more = self.let(f"add i64 {count}, {self.lanes - 1}")
        return self.let(f"sdiv i64 {more}, {self.lanes}")

    def is_line(self, table: str, count: str) -> str:
        """Whether a table of offsets is that of elements one behind the other."""
        first = self.load("i64", table, 8)
        with self.loop(count, sums=["true"], type="i1") as (index, so_far):
            far = self.let(f"mul i64 {index}, {self.itemsize}")
            expected = self.let(f"add i64 {first}, {far}")
            same = self.let(f"icmp eq i64 {self.offset(table, index)}, {expected}")
            so_far[0] = self.let(f"and i1 {so_far[0]}, {same}")
        return so_far[0]

    def mask(self, first: str, count: str) -> str:
        """The lanes of a piece, which begins with the element ``first``, that ``count`` elements reach."""
        left = self.let(f"trunc i64 {self.let(f'sub i64 {count}, {first}')} to i32")
        type = f"<{self.lanes} x i32>"
        one = self.let(f"insertelement {type} poison, i32 {left}, i64 0")
        every = self.let(f"shufflevector {type} {one}, {type} poison, {type} zeroinitializer")
        numbers = ", ".join(f"i32 {lane}" for lane in range(self.lanes))
        return self.let(f"icmp sgt {type} {every}, <{numbers}>")

    @property
    def piece(self) -> str:
        """The type of a piece: 64 bytes, unless they are as long as a register."""
        return f"<{self.lanes} x {self.element}>"

    @property
    def suffix(self) -> str:
        """What names of intrinsics on such pieces end in."""
        return f"v{self.lanes}f{8 * self.itemsize}"

    def use_registers(self) -> None:
        """Pieces are as long as a register from here on."""
        self.lanes = _registers().vector_bytes // self.itemsize

    def is_block(self, table: str, first: str, count: str) -> str:
        """Whether a piece of a table, from ``first`` on, is there, and elements one behind the other are at it."""
        offsets = self.offsets(table, first)
        type, numbers = f"<{self.lanes} x i64>", range(0, self.lanes * self.itemsize, self.itemsize)
        begin = self.let(
            f"insertelement {type} poison, i64 {self.let(f'extractelement {type} {offsets}, i64 0')}, i64 0"
        )
        every = self.let(f"shufflevector {type} {begin}, {type} poison, <{self.lanes} x i32> zeroinitializer")
        expected = self.let(f"add {type} {every}, <{', '.join(f'i64 {number}' for number in numbers)}>")
        same = self.let(f"icmp eq {type} {offsets}, {expected}")
        mask = (f"<{self.lanes} x i1>", same)
        is_line = self.call("i1", f"llvm.vector.reduce.and.v{self.lanes}i1", mask)
        end = self.let(f"add i64 {first}, {self.lanes}")
        return self.let(f"select i1 {self.let(f'icmp sle i64 {end}, {count}')}, i1 {is_line}, i1 false")

    def offsets(self, table: str, first: str) -> str:
        """A piece of a table. What is read behind its end lies in the memory that belongs to it."""
        return self.load(f"<{self.lanes} x i64>", self.at(table, first, "i64"), 8)

    def addresses(self, pointer: str, offsets: str) -> str:
        return self.let(f"getelementptr i8, ptr {pointer}, <{self.lanes} x i64> {offsets}")

    def following(self, first: str, count: str) -> list[str]:
        """As many positions as a piece has, from the first on; those beyond a count are the last one there is."""
        last = self.let(f"sub i64 {count}, 1")
        numbers = [self.let(f"add i64 {first}, {number}") for number in range(self.lanes)]
        return [self.call("i64", "llvm.smin.i64", ("i64", number), ("i64", last)) for number in numbers]

    def row(self, pointer: str, number: str, pitch: str) -> str:
        return self.at(pointer, self.let(f"mul i64 {number}, {pitch}"))

    def shuffled(self, left: str, right: str, numbers: Sequence[int]) -> str:
        """Lanes of two pieces, by number; those of the second come behind those of the first."""
        chosen = ", ".join(f"i32 {number}" for number in numbers)
        return self.let(f"shufflevector {self.piece} {left}, {self.piece} {right}, <{len(numbers)} x i32> <{chosen}>")

    def gather(self, places: str, mask: str) -> str:
        """The numbers at some places, 0 where the mask is not set."""
        arguments = ((f"<{self.lanes} x ptr>", places), ("i32", str(self.itemsize)), (f"<{self.lanes} x i1>", mask))
        name = f"llvm.masked.gather.{self.suffix}.v{self.lanes}p0"
        return self.call(self.piece, name, *arguments, (self.piece, "zeroinitializer"))

    def bring_near(self, pointer: str) -> None:
        """Ask for a line of memory that may not be there."""
        self.call("void", "llvm.prefetch.p0", ("ptr", pointer), ("i32", "0"), ("i32", "3"), ("i32", "1"))

    def load_masked(self, pointer: str, mask: str) -> str:
        arguments = (("ptr", pointer), ("i32", str(self.itemsize)), (f"<{self.lanes} x i1>", mask))
        zeros = (self.piece, "zeroinitializer")
        return self.call(self.piece, f"llvm.masked.load.{self.suffix}.p0", *arguments, zeros)

    def store_masked(self, value: str, pointer: str, mask: str) -> None:
        arguments = ((self.piece, value), ("ptr", pointer), ("i32", str(self.itemsize)))
        self.call("void", f"llvm.masked.store.{self.suffix}.p0", *arguments, (f"<{self.lanes} x i1>", mask))


# -- packing


def _pack(f: _Function) -> None:
    panel, source, steps, columns, depth, count = (f"%{number}" for number in range(6))
    groups = f.groups(count)
    pitch = f.let(f"mul i64 {groups}, {PANEL_BYTES}")
    with f.where(f.is_line(columns, count), "done"):
        begin = f.at(source, f.load("i64", columns, 8))
        with f.loop(groups) as (group, _):
            first = f.let(f"mul i64 {group}, {f.lanes}")
            mask = f.mask(first, count)
            shown, packed = f.at(begin, first, f.element), f.at(panel, first, f.element)
            with f.loop(depth) as (step, _):
                value = f.load_masked(f.at(shown, f.offset(steps, step)), mask)
                place = f.at(packed, f.let(f"mul i64 {step}, {pitch}"))
                f.do(f"store {f.piece} {value}, ptr {place}, align {f.itemsize}")
    f.use_registers()
    groups = f.groups(count)
    with f.loop(depth, step=f.lanes) as (top, _):
        below = f.call("i64", "llvm.smin.i64", ("i64", f.let(f"add i64 {top}, {f.lanes}")), ("i64", depth))
        is_line = f.is_block(steps, top, depth)
        with f.loop(groups) as (group, _):
            first, packed_group = f.let(f"mul i64 {group}, {f.lanes}"), f.fresh("packed")
            packed = f.at(panel, first, f.element)
            with f.where(is_line, packed_group):
                _turn_into_panel(f, f.at(source, f.offset(steps, top)), columns, (first, count), packed, (top, pitch))
            places = f.addresses(source, f.offsets(columns, first))
            mask = f.mask(first, count)
            with f.loop(below, start=top) as (step, _):
                shown = f.let(f"getelementptr i8, <{f.lanes} x ptr> {places}, i64 {f.offset(steps, step)}")
                f.do(f"store {f.piece} {f.gather(shown, mask)}, ptr {f.row(packed, step, pitch)}, align {f.itemsize}")
            f.do(f"br label %{packed_group}")
            f.label(packed_group)
    f.do("br label %done")
    f.label("done")


def _turn_into_panel(
    f: _Function, source: str, columns: str, some: tuple[str, str], packed: str, rows: tuple[str, str]
) -> None:
    """Put as many steps as a register has lanes, which lie side by side, of as many columns into a panel."""
    vectors = [
        f.load(f.piece, f.at(source, f.offset(columns, column)), f.itemsize) for column in f.following(*some)
    ]  # fmt: skip
    (top, pitch), vectors = rows, exchanged(f.shuffled, vectors, f.lanes)
    place = f.row(packed, top, pitch)
    for vector in vectors:
        f.do(f"store {f.piece} {vector}, ptr {place}, align {f.itemsize}")
        place = f.at(place, pitch)


# -- multiplying


def _multiply(f: _Function) -> None:
    *_, count, _ = (f"%{number}" for number in range(9))
    groups, most = f.groups(count), _registers().groups
    with f.loop(groups, step=most) as (group, _):
        left = f.let(f"sub i64 {groups}, {group}")
        end = f.fresh("multiplied")
        for number in range(most, 1, -1):
            with f.where(f.let(f"icmp sge i64 {left}, {number}"), end):
                _multiply_groups(f, groups, group, number)
        _multiply_groups(f, groups, group, 1)
        f.do(f"br label %{end}")
        f.label(end)


def _multiply_groups(f: _Function, groups: str, group: str, number: int) -> None:
    """The sums of some groups of columns, for all rows."""
    sums, left, rows, steps, panel, high, depth, _, before = (f"%{number}" for number in range(9))
    registers = _registers()
    pitch, begin = f.let(f"mul i64 {groups}, {PANEL_BYTES}"), f.let(f"mul i64 {group}, {PANEL_BYTES}")
    lanes = registers.vector_bytes // f.itemsize
    vector, suffix = f"<{lanes} x {f.element}>", f"v{lanes}f{8 * f.itemsize}"
    width = number * PANEL_BYTES // registers.vector_bytes
    ahead = f.let(f"mul i64 {pitch}, {_AHEAD}")
    last, follows = f.let(f"sub i64 {high}, 1"), f.let(f"icmp sgt i64 {before}, 0")
    with f.loop(high, step=registers.rows) as (top, _):
        shown, places = [], []
        for number in range(registers.rows):  # the last rows once more, where there are fewer
            row = f.call("i64", "llvm.smin.i64", ("i64", f.let(f"add i64 {top}, {number}")), ("i64", last))
            shown.append(f.at(left, f.offset(rows, row)))
            place = f.at(f.at(sums, f.let(f"mul i64 {row}, {pitch}")), begin)
            places += [f.at(place, str(column * registers.vector_bytes)) for column in range(width)]
        loaded = [f.load(vector, place, f.itemsize) for place in places]
        starts = [f.let(f"select i1 {follows}, {vector} {value}, {vector} zeroinitializer") for value in loaded]
        with f.loop(depth, sums=starts, type=vector) as (step, totals):
            line = f.at(f.at(panel, f.let(f"mul i64 {step}, {pitch}")), begin)
            factors = [
                f.load(vector, f.at(line, str(column * registers.vector_bytes)), f.itemsize) for column in range(width)
            ]
            for start in range(0, width * registers.vector_bytes, _LINE):
                f.bring_near(f.at(line, f.let(f"add i64 {ahead}, {start}")))
            offset = f.offset(steps, step)
            for number, begins in enumerate(shown):
                one = f.load(f.element, f.at(begins, offset), f.itemsize)
                lane = f.let(f"insertelement {vector} poison, {f.element} {one}, i64 0")
                every = f.let(f"shufflevector {vector} {lane}, {vector} poison, <{lanes} x i32> zeroinitializer")
                for column, factor in enumerate(factors):
                    cell = number * width + column
                    operands = ((vector, every), (vector, factor), (vector, totals[cell]))
                    totals[cell] = f.call(vector, f"llvm.fma.{suffix}", *operands)
        for place, total in zip(places, totals, strict=True):
            f.do(f"store {vector} {total}, ptr {place}, align {f.itemsize}")


# -- writing sums


def _unpack(f: _Function) -> None:
    target, rows, columns, sums, high, count = (f"%{number}" for number in range(6))
    groups = f.groups(count)
    pitch = f.let(f"mul i64 {groups}, {PANEL_BYTES}")
    with f.where(f.is_line(columns, count), "done"):
        begin = f.at(target, f.load("i64", columns, 8))
        with f.loop(groups) as (group, _):
            first = f.let(f"mul i64 {group}, {f.lanes}")
            mask = f.mask(first, count)
            shown, found = f.at(begin, first, f.element), f.at(sums, first, f.element)
            with f.loop(high) as (row, _):
                value = f.load(f.piece, f.at(found, f.let(f"mul i64 {row}, {pitch}")), f.itemsize)
                f.store_masked(value, f.at(shown, f.offset(rows, row)), mask)
    f.use_registers()
    groups = f.groups(count)
    with f.loop(high, step=f.lanes) as (top, _):
        below = f.call("i64", "llvm.smin.i64", ("i64", f.let(f"add i64 {top}, {f.lanes}")), ("i64", high))
        next_rows = f.fresh("unpacked")
        with f.where(f.is_block(rows, top, high), next_rows):
            shown = f.at(target, f.offset(rows, top))
            with f.loop(groups) as (group, _):
                first = f.let(f"mul i64 {group}, {f.lanes}")
                found = f.row(f.at(sums, first, f.element), top, pitch)
                _turn_out_of_sums(f, found, pitch, shown, columns, (first, count))
        with f.loop(count) as (column, _):
            begin, found = f.at(target, f.offset(columns, column)), f.at(sums, column, f.element)
            with f.loop(below, start=top) as (row, _):
                value = f.load(f.element, f.row(found, row, pitch), f.itemsize)
                f.do(f"store {f.element} {value}, ptr {f.at(begin, f.offset(rows, row))}, align {f.itemsize}")
        f.do(f"br label %{next_rows}")
        f.label(next_rows)
    f.do("br label %done")
    f.label("done")


def _turn_out_of_sums(f: _Function, found: str, pitch: str, target: str, columns: str, some: tuple[str, str]) -> None:
    """Write as many rows as a register has lanes, which belong side by side, of as many columns.

    Columns that are not there go where the last one does, before that does.
    """
    vectors = []
    for _ in range(f.lanes):
        vectors.append(f.load(f.piece, found, f.itemsize))
        found = f.at(found, pitch)
    turned = exchanged(f.shuffled, vectors, f.lanes)
    places = [f.at(target, f.offset(columns, column)) for column in f.following(*some)]
    for vector, place in reversed(list(zip(turned, places, strict=True))):
        f.do(f"store {f.piece} {vector}, ptr {place}, align {f.itemsize}")


GATHERED_EMISSION: dict[str, Emission] = {
    "gather_panel": _emission("gather_panel", 4, _pack),
    "multiply_gathered": _emission("multiply_gathered", 5, _multiply),
    "scatter_sums": _emission("scatter_sums", 4, _unpack),
}
