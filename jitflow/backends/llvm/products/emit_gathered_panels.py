"""Contractions by panels: packing, multiplying, and writing sums where they belong.

Some rows of some vectors of sums stay in registers while the steps of a panel are walked: each reads the vectors of a
row of the panel, which lie one behind the other, and one number of each row of the left array, which lies anywhere. How
many rows and vectors there are at a time says the schedule, in attributes of the ops of
`passes/lower/kernels/contraction_kernel.py`. No sum depends on it.

The functions are the same in all programs, so machine code is generated once in a process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.products.panel_writing import Writing
from jitflow.backends.llvm.products.vector_text import exchanged
from jitflow.ir.core import Op
from jitflow.ir.dtypes import DType
from jitflow.ir.ops.memory import PANEL_BYTES

__all__ = ["GATHERED_EMISSION"]
_LINE = 64
"""Bytes that are brought near at once."""


def _emission(
    what: str, addresses: int, write: Callable[..., str | None], *figures: str, result: str = "void"
) -> Emission:
    """An op whose operands are so many buffers with their offsets, then numbers, as a call of a shared function.

    Its attributes ``figures`` are numbers of its schedule. What is written may give a result.
    """

    def emit(out: Emitter, op: Op) -> Sequence[str]:
        dtype, given = op.attributes["dtype"], list(map(out.operand, op.operands))
        vector_bytes, schedule = op.attributes["vector_bytes"], tuple(op.attributes[name] for name in figures)
        places = [out.at(given[2 * number], given[2 * number + 1]) for number in range(addresses)]
        numbers = given[2 * addresses :]
        name = "_".join(map(str, (what, dtype.name, vector_bytes, *schedule)))
        out.module.declare(name, result, ["ptr"] * addresses + ["i64"] * len(numbers))
        out.module.shared[name] = _written(
            name, dtype, vector_bytes, out.module.target.gathers, write, addresses, len(numbers), schedule, result
        )
        arguments = [*(f"ptr {place}" for place in places), *(f"i64 {number}" for number in numbers)]
        call = f"call {result} @{name}({', '.join(arguments)})"
        if result == "void":
            out.do(call)
            return ()
        return (out.let(call),)

    return emit


@cache
def _written(
    name: str, dtype: DType, vector_bytes: int, gathers: bool, write: Callable[..., str | None], addresses: int,
    numbers: int, schedule: tuple[int, ...], result: str,
) -> str:  # fmt: skip
    function = Writing(dtype, vector_bytes, gathers)
    found = write(function, *schedule)
    parameters = [f"{'ptr' if place < addresses else 'i64'} %{place}" for place in range(addresses + numbers)]
    declarations = sorted(function.declarations)
    head = f"define hidden {result} @{name}({', '.join(parameters)}) #0 {{"
    last = "  ret void" if found is None else f"  ret {result} {found}"
    return "\n".join([*declarations, head, "start:", *function.lines, last, "}"])


# -- packing


def _pack(f: Writing, vectors: int) -> None:
    panel, source, steps, columns, depth, count = (f"%{number}" for number in range(6))
    whole = f.groups(count)
    with f.where(f.is_line(columns, count), "done"):
        begin = f.at(source, f.load("i64", columns, 8))
        with f.loop(whole) as (group, _):
            first = f.let(f"mul i64 {group}, {f.lanes}")
            mask = f.mask(first, count)
            shown = f.at(begin, first, f.element)
            packed, pitch = _piece(f, panel, first, whole, depth, vectors)
            with f.loop(depth) as (step, _):
                value = f.load_masked(f.at(shown, f.offset(steps, step)), mask)
                f.do(f"store {f.piece} {value}, ptr {f.row(packed, step, pitch)}, align {f.itemsize}")
    f.use_registers()
    groups = f.groups(count)
    with f.loop(depth, step=(taken := list[str]())) as (top, _):
        (run, is_down), piece = f.run(steps, top, depth), f.let(f"sub i64 {depth}, {top}")
        is_run = f.let(f"icmp sge i64 {run}, {f.lanes // 2 if f.has_masks else f.lanes}")
        piece = f.call("i64", "llvm.smin.i64", ("i64", piece), ("i64", str(f.lanes)))
        taken.append(f.let(f"select i1 {is_run}, i64 {run}, i64 {piece}"))
        below = f.let(f"add i64 {top}, {taken[-1]}")
        with f.loop(groups) as (group, _):
            first, packed_group = f.let(f"mul i64 {group}, {f.lanes}"), f.fresh("packed")
            packed, pitch = _piece(f, panel, first, whole, depth, vectors)
            with f.where(is_run, packed_group):
                last = f.let(f"sub i64 {below}, 1")
                lowest = f.let(f"select i1 {is_down}, i64 {last}, i64 {top}")
                shown, place = f.at(source, f.offset(steps, lowest)), f.row(packed, lowest, pitch)
                onwards = f.let(f"select i1 {is_down}, i64 {f.let(f'sub i64 0, {pitch}')}, i64 {pitch}")
                _turn_into_panel(f, shown, columns, (first, count), place, (run, onwards))
            with f.where(f.is_block(columns, first, count), packed_group):
                begin = f.at(source, f.offset(columns, first))
                with f.loop(below, start=top) as (step, _):
                    value = f.load(f.piece, f.at(begin, f.offset(steps, step)), f.itemsize)
                    f.do(f"store {f.piece} {value}, ptr {f.row(packed, step, pitch)}, align {f.itemsize}")
            read = _scattered(f, source, columns, first, count)
            with f.loop(below, start=top) as (step, _):
                value = read(f.offset(steps, step))
                f.do(f"store {f.piece} {value}, ptr {f.row(packed, step, pitch)}, align {f.itemsize}")
            f.do(f"br label %{packed_group}")
            f.label(packed_group)
    f.do("br label %done")
    f.label("done")


def _piece(f: Writing, panel: str, first: str, groups: str, depth: str, vectors: int) -> tuple[str, str]:
    """Where the columns from ``first`` on are in a panel, and how far apart its steps are there.

    What a block of rows reads at a step stands together, and its steps stand one behind the other.
    """
    most = _together(f, vectors)
    place = f.let(f"mul i64 {first}, {f.itemsize}")
    group = f.let(f"sdiv i64 {place}, {PANEL_BYTES}")
    begin = f.let(f"mul i64 {f.let(f'sdiv i64 {group}, {most}')}, {most}")
    number = f.call("i64", "llvm.smin.i64", ("i64", str(most)), ("i64", f.let(f"sub i64 {groups}, {begin}")))
    start = f.let(f"mul i64 {begin}, {PANEL_BYTES}")
    inside = f.let(f"sub i64 {place}, {start}")
    return f.at(f.row(panel, start, depth), inside), f.let(f"mul i64 {number}, {PANEL_BYTES}")


def _together(f: Writing, vectors: int) -> int:
    """How many groups of columns are multiplied at a time."""
    return vectors * f.vector_bytes // PANEL_BYTES


def _scattered(f: Writing, source: str, columns: str, first: str, count: str) -> Callable[[str], str]:
    """What reads a piece of columns that lie anywhere, at the offset of a step: at once where that is faster."""
    if f.gathers:
        places, mask = f.addresses(source, f.offsets(columns, first)), f.mask(first, count)
        return lambda step: f.gather(f.let(f"getelementptr i8, <{f.lanes} x ptr> {places}, i64 {step}"), mask)
    begins = [f.at(source, f.offset(columns, column)) for column in f.following(first, count)]

    def read(step: str) -> str:
        found = "poison"
        for lane, begin in enumerate(begins):
            one = f.load(f.element, f.at(begin, step), f.itemsize)
            found = f.let(f"insertelement {f.piece} {found}, {f.element} {one}, i64 {lane}")
        return found

    return read


def _turn_into_panel(
    f: Writing, source: str, columns: str, some: tuple[str, str], packed: str, rows: tuple[str, str]
) -> None:
    """Put steps, which lie side by side, of as many columns as a register has lanes into a panel, where it goes on.

    Steps that are not there go where the last one does, before that does.
    """
    run, pitch = rows
    mask = f.mask("0", run) if f.has_masks else ""
    places = [f.at(source, f.offset(columns, column)) for column in f.following(*some)]
    vectors = [f.load_masked(place, mask) if mask else f.load(f.piece, place, f.itemsize) for place in places]
    numbers = f.following("0", run)
    for vector, number in reversed(list(zip(exchanged(f.shuffled, vectors, f.lanes), numbers, strict=True))):
        f.do(f"store {f.piece} {vector}, ptr {f.row(packed, number, pitch)}, align {f.itemsize}")


# -- multiplying


def _multiply(f: Writing, rows: int, vectors: int, ahead: int) -> None:
    count = "%8"
    groups, most = f.groups(count), _together(f, vectors)
    with f.loop(groups, step=most) as (group, _):
        left = f.let(f"sub i64 {groups}, {group}")
        end = f.fresh("multiplied")
        for number in range(most, 1, -1):
            with f.where(f.let(f"icmp sge i64 {left}, {number}"), end):
                _multiply_groups(f, groups, group, number, rows, ahead)
        _multiply_groups(f, groups, group, 1, rows, ahead)
        f.do(f"br label %{end}")
        f.label(end)


def _multiply_groups(f: Writing, groups: str, group: str, number: int, at_once: int, distance: int) -> None:
    """The sums of some groups of columns, for all rows, so many at once; half as many where no more are left."""
    high, half = "%6", at_once // 2
    whole = high
    if half:
        left = f.let(f"srem i64 {high}, {at_once}")
        few = f.let(f"select i1 {f.let(f'icmp sle i64 {left}, {half}')}, i64 {left}, i64 0")
        whole = f.let(f"sub i64 {high}, {few}")
    _multiply_rows(f, groups, group, number, at_once, distance, "0", whole)
    if half:
        _multiply_rows(f, groups, group, number, half, distance, whole, high)


def _multiply_rows(
    f: Writing, groups: str, group: str, number: int, at_once: int, distance: int, begin: str, end: str
) -> None:
    sums, left, rows, steps, lines, panel, high, some, _, before, depth = (f"%{number}" for number in range(11))
    pitch, across = f.let(f"mul i64 {groups}, {PANEL_BYTES}"), f.let(f"mul i64 {group}, {PANEL_BYTES}")
    lanes = f.vector_bytes // f.itemsize
    vector, suffix = f"<{lanes} x {f.element}>", f"v{lanes}f{8 * f.itemsize}"
    width = number * PANEL_BYTES // f.vector_bytes
    panel = f.row(panel, across, depth)
    last, follows = f.let(f"sub i64 {high}, 1"), f.let(f"icmp sgt i64 {before}, 0")
    with f.loop(end, start=begin, step=at_once) as (top, _):
        shown, places = [], []
        for above in range(at_once):  # the last rows once more, where there are fewer
            row = f.call("i64", "llvm.smin.i64", ("i64", f.let(f"add i64 {top}, {above}")), ("i64", last))
            shown.append(f.at(left, f.offset(rows, row)))
            place = f.at(f.at(sums, f.let(f"mul i64 {row}, {pitch}")), across)
            places += [f.at(place, str(column * f.vector_bytes)) for column in range(width)]
        loaded = [f.load(vector, place, f.itemsize) for place in places]
        starts = [f.let(f"select i1 {follows}, {vector} {value}, {vector} zeroinitializer") for value in loaded]
        with f.loop(some, sums=starts, type=vector) as (step, totals):
            line = f.at(panel, f.let(f"mul i64 {f.offset(lines, step)}, {number * PANEL_BYTES}"))
            factors = [f.load(vector, f.at(line, str(column * f.vector_bytes)), f.itemsize) for column in range(width)]
            for start in range(0, width * f.vector_bytes, _LINE):
                f.bring_near(f.at(line, str(distance * number * PANEL_BYTES + start)))
            offset = f.offset(steps, step)
            for above, begins in enumerate(shown):
                one = f.load(f.element, f.at(begins, offset), f.itemsize)
                lane = f.let(f"insertelement {vector} poison, {f.element} {one}, i64 0")
                every = f.let(f"shufflevector {vector} {lane}, {vector} poison, <{lanes} x i32> zeroinitializer")
                for column, factor in enumerate(factors):
                    cell = above * width + column
                    operands = ((vector, every), (vector, factor), (vector, totals[cell]))
                    totals[cell] = f.call(vector, f"llvm.fma.{suffix}", *operands)
        for place, total in zip(places, totals, strict=True):
            f.do(f"store {vector} {total}, ptr {place}, align {f.itemsize}")


# -- what a panel may be multiplied by


def _is_finite(f: Writing) -> str:
    """Whether no exponent is the largest one."""
    panel, depth, count = (f"%{number}" for number in range(3))
    bits, lanes = 8 * f.itemsize, f.vector_bytes // f.itemsize
    type, ones = f"<{lanes} x i{bits}>", {4: 0x7F800000, 8: 0x7FF0000000000000}[f.itemsize]
    end = f.let(f"mul i64 {f.let(f'mul i64 {f.groups(count)}, {PANEL_BYTES}')}, {depth}")
    every = ", ".join([f"i{bits} {ones}"] * lanes)
    with f.loop(end, step=f.vector_bytes, sums=["zeroinitializer"], type=type) as (place, largest):
        exponents = f.let(f"and {type} {f.load(type, f.at(panel, place), f.itemsize)}, <{every}>")
        largest[0] = f.call(type, f"llvm.umax.v{lanes}i{bits}", (type, largest[0]), (type, exponents))
    most = f.call(f"i{bits}", f"llvm.vector.reduce.umax.v{lanes}i{bits}", (type, largest[0]))
    return f.let(f"icmp ne i{bits} {most}, {ones}")


# -- writing sums


def _unpack(f: Writing) -> None:
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
    with f.loop(high, step=(taken := list[str]())) as (top, _):
        (run, is_down), piece = f.run(rows, top, high), f.let(f"sub i64 {high}, {top}")
        is_long = f.let(f"icmp sge i64 {run}, {f.lanes // 2 if f.has_masks else f.lanes}")
        is_run = f.let(f"select i1 {is_down}, i1 false, i1 {is_long}")
        piece = f.call("i64", "llvm.smin.i64", ("i64", piece), ("i64", str(f.lanes)))
        taken.append(f.let(f"select i1 {is_run}, i64 {run}, i64 {piece}"))
        below = f.let(f"add i64 {top}, {taken[-1]}")
        next_rows = f.fresh("unpacked")
        with f.where(is_run, next_rows):
            shown = f.at(target, f.offset(rows, top))
            with f.loop(groups) as (group, _):
                first = f.let(f"mul i64 {group}, {f.lanes}")
                found = f.row(f.at(sums, first, f.element), top, pitch)
                _turn_out_of_sums(f, (found, pitch), (shown, columns), (first, count), run)
        with f.loop(groups) as (group, _):
            first, next_group = f.let(f"mul i64 {group}, {f.lanes}"), f.fresh("unpacked_group")
            found = f.at(sums, first, f.element)
            with f.where(f.is_block(columns, first, count), next_group):
                begin = f.at(target, f.offset(columns, first))
                with f.loop(below, start=top) as (row, _):
                    value = f.load(f.piece, f.row(found, row, pitch), f.itemsize)
                    f.do(f"store {f.piece} {value}, ptr {f.at(begin, f.offset(rows, row))}, align {f.itemsize}")
            last = f.call("i64", "llvm.smin.i64", ("i64", f.let(f"add i64 {first}, {f.lanes}")), ("i64", count))
            with f.loop(last, start=first) as (column, _):
                begin, found = f.at(target, f.offset(columns, column)), f.at(sums, column, f.element)
                with f.loop(below, start=top) as (row, _):
                    value = f.load(f.element, f.row(found, row, pitch), f.itemsize)
                    f.do(f"store {f.element} {value}, ptr {f.at(begin, f.offset(rows, row))}, align {f.itemsize}")
            f.do(f"br label %{next_group}")
            f.label(next_group)
        f.do(f"br label %{next_rows}")
        f.label(next_rows)
    f.do("br label %done")
    f.label("done")


def _turn_out_of_sums(
    f: Writing, source: tuple[str, str], target: tuple[str, str], some: tuple[str, str], run: str
) -> None:
    """Write rows, which belong side by side, at most as many as a register has lanes, of as many columns.

    Columns that are not there go where the last one does, before that does.
    """
    (found, pitch), (shown, columns) = source, target
    rows = f.following("0", run)
    vectors = [f.load(f.piece, f.row(found, row, pitch), f.itemsize) for row in rows]
    turned = exchanged(f.shuffled, vectors, f.lanes)
    places = [f.at(shown, f.offset(columns, column)) for column in f.following(*some)]
    stores, end = list(reversed(list(zip(turned, places, strict=True)))), f.fresh("turned")
    if f.has_masks:
        with f.where(f.let(f"icmp slt i64 {run}, {f.lanes}"), end):
            mask = f.mask("0", run)
            for vector, place in stores:
                f.store_masked(vector, place, mask)
    for vector, place in stores:
        f.do(f"store {f.piece} {vector}, ptr {place}, align {f.itemsize}")
    f.do(f"br label %{end}")
    f.label(end)


GATHERED_EMISSION: dict[str, Emission] = {
    "gather_panel": _emission("gather_panel", 4, _pack, "vectors"),
    "is_finite_panel": _emission("is_finite_panel", 1, _is_finite, result="i1"),
    "multiply_gathered": _emission("multiply_gathered", 6, _multiply, "rows", "vectors", "ahead"),
    "scatter_sums": _emission("scatter_sums", 4, _unpack),
}
