"""Tiles of matrix products: a function of the backend's own, in vector instructions.

Some rows of some vectors stay in registers while the inner axis is walked. Each step reads the vectors of a row of the
right matrix and one number of each row of the left, so the loop does little but multiply and add. There is a way for
each number of vectors that may be left of a row; the last of them is under a mask, and one alone goes with all rows at
once, since sums of 8 rows would wait for each other. A few columns have ways of their own (`emit_narrow_tiles`).

The function is the same in all programs, so it is a module of its own, for which machine code is generated once in a
process (`ModuleCode.shared`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from jitflow.backends.llvm.emit_memory import bring_near
from jitflow.backends.llvm.emit_narrow_tiles import AHEAD, VECTOR_BYTES, NarrowTile
from jitflow.backends.llvm.emitter import Emission, Emitter
from jitflow.backends.llvm.types import element_type
from jitflow.ir.core import Op
from jitflow.ir.dtypes import DType

__all__ = ["TILE_EMISSION"]

_PARAMETERS = (
    "ptr %tile, i64 %pitch, ptr %left, i64 %row.stride, i64 %left.step, ptr %right, i64 %right.step, "
    "i64 %columns, i64 %steps"
)
_ROWS = 8
"""With three vectors each, the rows whose sums fit into 32 registers beside what is multiplied."""


def _multiply_tile(out: Emitter, op: Op) -> Sequence[str]:
    tile, tile_at, pitch, left, left_at, row_stride, left_step, right, right_at, right_step, columns, steps = map(
        out.operand, op.operands
    )
    rows, width, dtype = op.attributes["rows"], op.attributes["columns"], op.attributes["dtype"]
    name = f"multiply_tile_{dtype.name}_{rows}x{width}"
    out.module.declare(name, "void", [parameter.split()[0] for parameter in _PARAMETERS.split(", ")])
    out.module.shared[name] = _function(name, dtype, rows, width)
    tile, left, right = out.at(tile, tile_at), out.at(left, left_at), out.at(right, right_at)
    out.do(
        f"call void @{name}(ptr {tile}, i64 {pitch}, ptr {left}, i64 {row_stride}, i64 {left_step}, ptr {right}, "
        f"i64 {right_step}, i64 {columns}, i64 {steps})"
    )
    return ()


@cache
def _function(name: str, dtype: DType, rows: int, columns: int) -> str:
    """The definition, and the declarations that it needs."""
    lanes = VECTOR_BYTES // dtype.itemsize
    vector, suffix = f"<{lanes} x {element_type(dtype)}>", f"v{lanes}f{8 * dtype.itemsize}"
    ways = [_Way(dtype, vectors, rows) for vectors in range(1, columns // lanes + 1)]
    narrow = NarrowTile(dtype, rows)
    lines = [
        "start:",
        f"  %ahead = mul i64 %left.step, {AHEAD}",
        f"  {narrow.scratch}",
        f"  %is.narrow = icmp sle i64 %columns, {narrow.columns}",
        "  br i1 %is.narrow, label %narrow, label %not.narrow",
        "not.narrow:",
    ]
    for way in reversed(ways[1:]):
        v = way.vectors
        lines += [
            f"  %more.{v} = icmp sgt i64 %columns, {(v - 1) * lanes}",
            f"  br i1 %more.{v}, label %begin.{v}, label %fewer.{v}",
            f"fewer.{v}:",
        ]
    lines.append("  br label %begin.1")
    return "\n".join([
        f"declare {vector} @llvm.fma.{suffix}({vector}, {vector}, {vector})",
        f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, <{lanes} x i1>, {vector})",
        f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, <{lanes} x i1>)",
        "declare i64 @llvm.smin.i64(i64, i64)",
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
        *narrow.declarations(),
        "",
        f"define hidden void @{name}({_PARAMETERS}) #0 {{",
        *lines,
        *narrow.lines(otherwise="not.narrow"),
        *(line for way in ways for line in way.lines()),
        "}",
    ])  # fmt: skip


class _Way:
    """All rows of a tile of so many ``vectors``, of which the last may not be whole."""

    def __init__(self, dtype: DType, vectors: int, rows: int) -> None:
        self.itemsize, self.vectors, self.all_rows = dtype.itemsize, vectors, rows
        self.rows = rows if vectors == 1 else _ROWS
        self.element, self.lanes = element_type(dtype), VECTOR_BYTES // dtype.itemsize
        self.type, self.mask = f"<{self.lanes} x {self.element}>", f"<{self.lanes} x i1>"
        self.suffix = f"v{self.lanes}f{8 * self.itemsize}"
        self.places = [(row, column) for row in range(self.rows) for column in range(vectors)]

    def lines(self) -> Iterator[str]:
        """The blocks, from ``begin`` to the return."""
        v = self.vectors
        yield f"begin.{v}:"
        yield from self._mask()
        yield f"  br label %rows.{v}"
        yield f"rows.{v}:"
        yield f"  %row.number.{v} = phi i64 [ 0, %begin.{v} ], [ %row.following.{v}, %done.{v} ]"
        yield f"  %block.at.{v} = mul i64 %row.number.{v}, %row.stride"
        yield f"  %row.{v}.0 = getelementptr i8, ptr %left, i64 %block.at.{v}"
        for row in range(1, self.rows):
            yield f"  %row.{v}.{row} = getelementptr i8, ptr %row.{v}.{row - 1}, i64 %row.stride"
        yield f"  %some.{v} = icmp sgt i64 %steps, 0"
        yield f"  br i1 %some.{v}, label %turn.{v}, label %done.{v}"
        yield from self._turn()
        yield from self._done()

    def _mask(self) -> Iterator[str]:
        """The lanes that are left for the last vector."""
        v, lanes = self.vectors, self.lanes
        numbers, integers = ", ".join(f"i32 {lane}" for lane in range(lanes)), f"<{lanes} x i32>"
        yield f"  %last.{v} = sub i64 %columns, {(v - 1) * lanes}"
        yield f"  %whole.{v} = icmp sgt i64 %last.{v}, {lanes}"
        yield f"  %count.{v} = select i1 %whole.{v}, i64 {lanes}, i64 %last.{v}"
        yield f"  %short.{v} = trunc i64 %count.{v} to i32"
        yield f"  %one.{v} = insertelement {integers} poison, i32 %short.{v}, i64 0"
        yield f"  %all.{v} = shufflevector {integers} %one.{v}, {integers} poison, {integers} zeroinitializer"
        yield f"  %compared.{v} = icmp sgt {integers} %all.{v}, <{numbers}>"
        # Frozen, since code generation would else compare anew in each turn.
        yield f"  %mask.{v} = freeze {self.mask} %compared.{v}"

    def _turn(self) -> Iterator[str]:
        """One step along the inner axis."""
        v = self.vectors
        yield f"turn.{v}:"
        yield f"  %left.at.{v} = phi i64 [ 0, %rows.{v} ], [ %left.next.{v}, %turn.{v} ]"
        yield f"  %right.at.{v} = phi ptr [ %right, %rows.{v} ], [ %right.next.{v}, %turn.{v} ]"
        yield f"  %rest.{v} = phi i64 [ %steps, %rows.{v} ], [ %rest.next.{v}, %turn.{v} ]"
        for row, column in self.places:
            place = f"{v}.{row}.{column}"
            yield f"  %sum.{place} = phi {self.type} [ zeroinitializer, %rows.{v} ], [ %next.{place}, %turn.{v} ]"
        for column in range(v):
            yield from self._vector(column)
        yield f"  %far.row.{v} = getelementptr i8, ptr %row.{v}.{self.rows - 1}, i64 %left.at.{v}"
        yield f"  %far.{v} = getelementptr i8, ptr %far.row.{v}, i64 %ahead"
        yield f"  {bring_near(f'%far.{v}')}"
        for row in range(self.rows):
            yield from self._row(row)
        yield f"  %left.next.{v} = add i64 %left.at.{v}, %left.step"
        yield f"  %right.next.{v} = getelementptr i8, ptr %right.at.{v}, i64 %right.step"
        yield f"  %rest.next.{v} = sub i64 %rest.{v}, 1"
        yield f"  %onwards.{v} = icmp sgt i64 %rest.next.{v}, 0"
        yield f"  br i1 %onwards.{v}, label %turn.{v}, label %done.{v}"

    def _vector(self, column: int) -> Iterator[str]:
        """One vector of the right matrix."""
        v, name = self.vectors, f"{self.vectors}.{column}"
        yield f"  %vector.at.{name} = getelementptr i8, ptr %right.at.{v}, i64 {column * VECTOR_BYTES}"
        if column < v - 1:
            yield f"  %vector.{name} = load {self.type}, ptr %vector.at.{name}, align {self.itemsize}"
        else:
            address = f"ptr align {self.itemsize} %vector.at.{name}"
            arguments = f"{address}, {self.mask} %mask.{v}, {self.type} zeroinitializer"
            yield f"  %vector.{name} = call {self.type} @llvm.masked.load.{self.suffix}.p0({arguments})"

    def _row(self, row: int) -> Iterator[str]:
        """The products of one number of the left matrix."""
        v, name, type = self.vectors, f"{self.vectors}.{row}", self.type
        yield f"  %number.at.{name} = getelementptr i8, ptr %row.{name}, i64 %left.at.{v}"
        yield f"  %number.{name} = load {self.element}, ptr %number.at.{name}, align {self.itemsize}"
        yield f"  %lane.{name} = insertelement {type} poison, {self.element} %number.{name}, i64 0"
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        yield f"  %factor.{name} = shufflevector {type} %lane.{name}, {type} poison, {zeros}"
        for column in range(v):
            place = f"{name}.{column}"
            arguments = f"{type} %factor.{name}, {type} %vector.{v}.{column}, {type} %sum.{place}"
            yield f"  %next.{place} = call {type} @llvm.fma.{self.suffix}({arguments})"

    def _done(self) -> Iterator[str]:
        """The sums go to the tile."""
        v = self.vectors
        yield f"done.{v}:"
        for row, column in self.places:
            place = f"{v}.{row}.{column}"
            yield f"  %total.{place} = phi {self.type} [ zeroinitializer, %rows.{v} ], [ %next.{place}, %turn.{v} ]"
        yield f"  %tile.at.{v} = mul i64 %row.number.{v}, %pitch"
        yield f"  %tile.{v}.0 = getelementptr i8, ptr %tile, i64 %tile.at.{v}"
        for row in range(1, self.rows):
            yield f"  %tile.{v}.{row} = getelementptr i8, ptr %tile.{v}.{row - 1}, i64 %pitch"
        for row, column in self.places:
            place = f"{v}.{row}.{column}"
            yield f"  %place.{place} = getelementptr i8, ptr %tile.{v}.{row}, i64 {column * VECTOR_BYTES}"
            if column < v - 1:
                yield f"  store {self.type} %total.{place}, ptr %place.{place}, align {self.itemsize}"
                continue
            arguments = f"{self.type} %total.{place}, ptr align {self.itemsize} %place.{place}, {self.mask} %mask.{v}"
            yield f"  call void @llvm.masked.store.{self.suffix}.p0({arguments})"
        yield f"  %row.following.{v} = add i64 %row.number.{v}, {self.rows}"
        yield f"  %below.{v} = icmp slt i64 %row.following.{v}, {self.all_rows}"
        yield f"  br i1 %below.{v}, label %rows.{v}, label %end.{v}"
        yield f"end.{v}:"
        yield "  ret void"


TILE_EMISSION: dict[str, Emission] = {"multiply_tile": _multiply_tile}
