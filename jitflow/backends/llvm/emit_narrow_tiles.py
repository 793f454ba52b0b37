"""Tiles with so few columns that a vector of them would be mostly empty, such as the last 4 of 100.

Where the rows of the left matrix lie side by side, the lanes of a vector are rows (`_down`): each column has a vector
of sums, and each step multiplies it by one number of the right matrix. Where the numbers along the inner axis do, the
lanes are those (`_along`): the columns of the right matrix are turned into scratch memory, each element of the tile has
a vector of partial sums, and these are added up at the end. There are so many that none waits for itself, and little is
read.

Numbers that lie side by side become lanes of several vectors by `_Text.turned`: of as many vectors as there are
columns, in blocks of so many lanes, it exchanges rows and columns of the blocks that lie one below the other.

    a b c d | e f g h | ...        a A . . | e E . . | ...
    A B C D | E F G H | ...   ->   b B . . | f F . . | ...
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emit_memory import bring_near
from jitflow.backends.llvm.types import element_type
from jitflow.ir.dtypes import DType

__all__ = ["AHEAD", "LONGEST", "VECTOR_BYTES", "NarrowTile"]

LONGEST = 2048
"""Steps for which there is scratch memory."""
_BLOCK_BYTES = 16
VECTOR_BYTES = 64
AHEAD = 8
"""Steps by which numbers of the left matrix are brought near in advance: from the next line of a wide matrix, which
processors do not foresee."""
_ROWS = 4
"""Rows whose partial sums stay in registers at a time."""


class NarrowTile:
    """The two ways for ``rows`` rows, and at most as many columns as fill a quarter of a vector."""

    def __init__(self, dtype: DType, rows: int) -> None:
        self.itemsize, self.rows = dtype.itemsize, rows
        self.columns = _BLOCK_BYTES // dtype.itemsize
        self.lanes = VECTOR_BYTES // dtype.itemsize
        self.element = element_type(dtype)
        self.vector, self.block = f"<{self.lanes} x {self.element}>", f"<{self.columns} x {self.element}>"
        self.wide, self.narrow = f"v{self.lanes}f{8 * self.itemsize}", f"v{self.columns}f{8 * self.itemsize}"

    @property
    def scratch(self) -> str:
        """An instruction for the first block: memory for the columns of the right matrix."""
        return f"%scratch = alloca [{LONGEST * self.columns} x {self.element}], align {VECTOR_BYTES}"

    def declarations(self) -> list[str]:
        """What the blocks call, beside what wide tiles do."""
        mask, type = f"<{self.columns} x i1>", self.block
        return [
            f"declare {type} @llvm.masked.load.{self.narrow}.p0(ptr, {mask}, {type})",
            f"declare void @llvm.masked.store.{self.narrow}.p0({type}, ptr, {mask})",
        ]

    def lines(self, otherwise: str) -> list[str]:
        """The blocks from ``narrow`` on; control goes to the block ``otherwise`` if neither way fits."""
        out = _Text(self)
        out.begin("narrow")
        below = out.let(f"icmp eq i64 %row.stride, {self.itemsize}")
        beside = out.let(f"icmp eq i64 %left.step, {self.itemsize}")
        fits = out.let(f"icmp ule i64 %steps, {LONGEST}")
        along = out.let(f"and i1 {beside}, {fits}")
        out.columns_mask = out.fewer(self.columns, "%columns")
        some = out.let("icmp sgt i64 %steps, 0")
        out.do(f"br i1 {below}, label %down, label %beside")
        out.begin("beside")
        out.do(f"br i1 {along}, label %along, label %{otherwise}")
        _down(out, self)
        _along(out, self, some)
        return out.lines


def _down(out: _Text, tile: NarrowTile) -> None:
    """Lanes are rows. Every other step has sums of its own, so that sums wait for each other half as often."""
    vectors, columns = range(tile.rows // tile.lanes), range(tile.columns)
    places = [f"{vector}.{column}" for vector in vectors for column in columns]
    out.begin("down")
    last = out.let("sub i64 %columns, 1")
    offsets = []
    for column in columns:  # the last column is read once more for those beyond it
        number = out.let(f"call i64 @llvm.smin.i64(i64 {column}, i64 {last})")
        offsets.append(out.let(f"mul i64 {number}, {tile.itemsize}"))

    def step(left: str, right: str, sums: str) -> None:
        far = out.let(f"getelementptr i8, ptr {left}, i64 %ahead")
        for vector in vectors:
            out.do(bring_near(out.let(f"getelementptr i8, ptr {far}, i64 {vector * VECTOR_BYTES}")))
        rows = [out.load(tile.vector, left, vector * VECTOR_BYTES, tile.itemsize) for vector in vectors]
        for column in columns:
            factor = out.everywhere(out.load(tile.element, right, offsets[column], tile.itemsize))
            for vector in vectors:
                out.add_product(f"{sums}.{vector}.{column}", factor, rows[vector])

    pairs = out.let("ashr i64 %steps, 1")
    some = out.let(f"icmp sgt i64 {pairs}, 0")
    out.do(f"br i1 {some}, label %down.turn, label %down.rest")
    out.begin("down.turn")
    out.do("%down.left = phi ptr [ %left, %down ], [ %down.left.next, %down.turn ]")
    out.do("%down.right = phi ptr [ %right, %down ], [ %down.right.next, %down.turn ]")
    out.do(f"%down.pairs = phi i64 [ {pairs}, %down ], [ %down.pairs.next, %down.turn ]")
    for place in places:
        out.carried(f"down.even.{place}", "down", "down.turn")
        out.carried(f"down.odd.{place}", "down", "down.turn")
    step("%down.left", "%down.right", "down.even")
    left = out.let("getelementptr i8, ptr %down.left, i64 %left.step")
    right = out.let("getelementptr i8, ptr %down.right, i64 %right.step")
    step(left, right, "down.odd")
    out.do(f"%down.left.next = getelementptr i8, ptr {left}, i64 %left.step")
    out.do(f"%down.right.next = getelementptr i8, ptr {right}, i64 %right.step")
    out.do("%down.pairs.next = sub i64 %down.pairs, 1")
    more = out.let("icmp sgt i64 %down.pairs.next, 0")
    out.do(f"br i1 {more}, label %down.turn, label %down.rest")
    out.begin("down.rest")
    out.do("%down.left.rest = phi ptr [ %left, %down ], [ %down.left.next, %down.turn ]")
    out.do("%down.right.rest = phi ptr [ %right, %down ], [ %down.right.next, %down.turn ]")
    for place in places:
        out.left(f"down.even.{place}", "down", "down.turn")
        out.left(f"down.odd.{place}", "down", "down.turn")
    for place in places:
        out.do(f"%down.{place} = fadd {tile.vector} %down.even.{place}.total, %down.odd.{place}.total")
    single = out.let("and i64 %steps, 1")
    odd = out.let(f"icmp ne i64 {single}, 0")
    out.do(f"br i1 {odd}, label %down.single, label %down.done")
    out.begin("down.single")
    step("%down.left.rest", "%down.right.rest", "down")
    out.do("br label %down.done")
    _put_down(out, tile)


def _put_down(out: _Text, tile: NarrowTile) -> None:
    """The sums go to the tile, whose rows they are lanes of."""
    columns, type = range(tile.columns), tile.vector
    out.begin("down.done")
    for vector in range(tile.rows // tile.lanes):
        for column in columns:
            place = f"{vector}.{column}"
            out.do(
                f"%down.sum.{place} = phi {type} [ %down.{place}, %down.rest ], [ %down.{place}.next, %down.single ]"
            )
    for vector in range(tile.rows // tile.lanes):
        turned = out.turned([f"%down.sum.{vector}.{column}" for column in columns])
        for row in range(tile.lanes):
            block = out.part(turned[row % tile.columns], row // tile.columns * tile.columns, tile.columns)
            out.store(block, str(vector * tile.lanes + row))
    out.do("ret void")


def _along(out: _Text, tile: NarrowTile, some: str) -> None:
    """Lanes are numbers along the inner axis."""
    columns, chunk = range(tile.columns), tile.columns * VECTOR_BYTES
    out.begin("along")
    out.do(f"br i1 {some}, label %along.turn, label %along.rows")
    _turn_columns(out, tile, chunk)
    places = [f"{row}.{column}" for row in range(_ROWS) for column in columns]
    out.begin("along.rows")
    out.do("%along.row = phi i64 [ 0, %along ], [ 0, %along.turn ], [ %along.row.next, %along.done ]")
    at = out.let("mul i64 %along.row, %row.stride")
    rows = [out.let(f"getelementptr i8, ptr %left, i64 {at}")]
    for _ in range(1, _ROWS):
        rows.append(out.let(f"getelementptr i8, ptr {rows[-1]}, i64 %row.stride"))
    out.do(f"br i1 {some}, label %along.step, label %along.done")
    out.begin("along.step")
    out.do("%along.first = phi i64 [ 0, %along.rows ], [ %along.first.next, %along.step ]")
    out.do("%along.from = phi ptr [ %scratch, %along.rows ], [ %along.from.next, %along.step ]")
    for place in places:
        out.carried(f"along.sum.{place}", "along.rows", "along.step")
    vectors = [out.load(tile.vector, "%along.from", column * VECTOR_BYTES, 64) for column in columns]
    mask = out.fewer(tile.lanes, out.let("sub i64 %steps, %along.first"))
    inside = out.let(f"mul i64 %along.first, {tile.itemsize}")
    for row in range(_ROWS):
        factors = out.masked_load(tile.vector, tile.wide, out.let(f"getelementptr i8, ptr {rows[row]}, i64 {inside}"),
                                  mask)  # fmt: skip
        for column in columns:
            out.add_product(f"along.sum.{row}.{column}", factors, vectors[column])
    out.do(f"%along.from.next = getelementptr i8, ptr %along.from, i64 {chunk}")
    out.do(f"%along.first.next = add i64 %along.first, {tile.lanes}")
    more = out.let("icmp slt i64 %along.first.next, %steps")
    out.do(f"br i1 {more}, label %along.step, label %along.done")
    out.begin("along.done")
    for place in places:
        out.left(f"along.sum.{place}", "along.rows", "along.step")
    for row in range(_ROWS):
        sums = out.summed([f"%along.sum.{row}.{column}.total" for column in columns])
        out.store(sums, out.let(f"add i64 %along.row, {row}"))
    out.do(f"%along.row.next = add i64 %along.row, {_ROWS}")
    below = out.let(f"icmp slt i64 %along.row.next, {tile.rows}")
    out.do(f"br i1 {below}, label %along.rows, label %along.end")
    out.begin("along.end")
    out.do("ret void")


def _turn_columns(out: _Text, tile: NarrowTile, chunk: int) -> None:
    """The right matrix goes to the scratch memory: of as many steps as a vector has lanes a vector for each column."""
    out.begin("along.turn")
    out.do("%turn.first = phi i64 [ 0, %along ], [ %turn.first.next, %along.turn ]")
    out.do("%turn.right = phi ptr [ %right, %along ], [ %turn.right.next, %along.turn ]")
    out.do("%turn.to = phi ptr [ %scratch, %along ], [ %turn.to.next, %along.turn ]")
    rest = out.let("sub i64 %steps, %turn.first")
    place, lines = "%turn.right", []
    for step in range(1, tile.lanes + 1):  # the last line is read once more for those beyond it
        lines.append(out.masked_load(tile.block, tile.narrow, place, out.columns_mask))
        more = out.let(f"icmp sgt i64 {rest}, {step}")
        onwards = out.let(f"select i1 {more}, i64 %right.step, i64 0")
        place = out.let(f"getelementptr i8, ptr {place}, i64 {onwards}")
    out.do(f"%turn.right.next = getelementptr i8, ptr {place}, i64 0")
    mask = out.fewer(tile.lanes, rest)
    for column, vector in enumerate(
        out.turned([out.joined(lines[line :: tile.columns]) for line in range(tile.columns)])
    ):
        kept = out.let(f"select {mask}, {tile.vector} {vector}, {tile.vector} zeroinitializer")
        there = out.let(f"getelementptr i8, ptr %turn.to, i64 {column * VECTOR_BYTES}")
        out.do(f"store {tile.vector} {kept}, ptr {there}, align 64")
    out.do(f"%turn.to.next = getelementptr i8, ptr %turn.to, i64 {chunk}")
    out.do(f"%turn.first.next = add i64 %turn.first, {tile.lanes}")
    more = out.let("icmp slt i64 %turn.first.next, %steps")
    out.do(f"br i1 {more}, label %along.turn, label %along.rows")


class _Text:
    """Instructions in blocks."""

    def __init__(self, tile: NarrowTile) -> None:
        self.tile = tile
        self.lines: list[str] = []
        self.columns_mask = ""
        """The columns that there are, with its type."""

    def begin(self, block: str) -> None:
        self.lines.append(f"{block}:")

    def do(self, instruction: str) -> None:
        self.lines.append(f"  {instruction}")

    def let(self, instruction: str) -> str:
        """Add an instruction and return the name of its value."""
        name = f"%n{len(self.lines)}"
        self.do(f"{name} = {instruction}")
        return name

    # -- sums that a loop of one block carries

    def carried(self, name: str, before: str, block: str) -> None:
        """A vector of sums, which `add_product` adds to."""
        self.do(f"%{name} = phi {self.tile.vector} [ zeroinitializer, %{before} ], [ %{name}.next, %{block} ]")

    def add_product(self, name: str, left: str, right: str) -> None:
        type = self.tile.vector
        arguments = f"{type} {left}, {type} {right}, {type} %{name}"
        self.do(f"%{name}.next = call {type} @llvm.fma.{self.tile.wide}({arguments})")

    def left(self, name: str, before: str, block: str) -> None:
        """The sums behind the loop, or zeros where it took no turn."""
        self.do(f"%{name}.total = phi {self.tile.vector} [ zeroinitializer, %{before} ], [ %{name}.next, %{block} ]")

    # -- memory

    def load(self, type: str, base: str, offset: int | str, alignment: int) -> str:
        place = self.let(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.let(f"load {type}, ptr {place}, align {alignment}")

    def masked_load(self, type: str, suffix: str, place: str, mask: str) -> str:
        address = f"ptr align {self.tile.itemsize} {place}"
        return self.let(f"call {type} @llvm.masked.load.{suffix}.p0({address}, {mask}, {type} zeroinitializer)")

    def store(self, block: str, row: str) -> None:
        """The columns of one row go to the tile."""
        place = self.let(f"getelementptr i8, ptr %tile, i64 {self.let(f'mul i64 {row}, %pitch')}")
        address = f"ptr align {self.tile.itemsize} {place}"
        arguments = f"{self.tile.block} {block}, {address}, {self.columns_mask}"
        self.do(f"call void @llvm.masked.store.{self.tile.narrow}.p0({arguments})")

    # -- vectors

    def fewer(self, lanes: int, count: str) -> str:
        """The lanes whose number is below a count, with the type of the mask."""
        integers = f"<{lanes} x i64>"
        one = self.let(f"insertelement {integers} poison, i64 {count}, i64 0")
        all_ = self.let(f"shufflevector {integers} {one}, {integers} poison, <{lanes} x i32> zeroinitializer")
        numbers = ", ".join(f"i64 {lane}" for lane in range(lanes))
        compared = self.let(f"icmp sgt {integers} {all_}, <{numbers}>")
        return f"<{lanes} x i1> {self.let(f'freeze <{lanes} x i1> {compared}')}"

    def everywhere(self, number: str) -> str:
        """A number in all lanes."""
        tile = self.tile
        one = self.let(f"insertelement {tile.vector} poison, {tile.element} {number}, i64 0")
        zeros = f"<{tile.lanes} x i32> zeroinitializer"
        return self.let(f"shufflevector {tile.vector} {one}, {tile.vector} poison, {zeros}")

    def shuffled(self, left: str, right: str, lanes: int, numbers: Sequence[int]) -> str:
        """Lanes of two vectors of so many ``lanes``, by number; those of the second come behind those of the first."""
        type, chosen = f"<{lanes} x {self.tile.element}>", ", ".join(f"i32 {number}" for number in numbers)
        return self.let(f"shufflevector {type} {left}, {type} {right}, <{len(numbers)} x i32> <{chosen}>")

    def part(self, vector: str, first: int, count: int) -> str:
        """Some lanes of a whole vector."""
        return self.shuffled(vector, "poison", self.tile.lanes, range(first, first + count))

    def joined(self, blocks: Sequence[str]) -> str:
        """Blocks one behind the other."""
        width, parts = self.tile.columns, list(blocks)
        while len(parts) > 1:
            parts = [
                self.shuffled(*pair, width, range(2 * width)) for pair in zip(parts[::2], parts[1::2], strict=True)
            ]
            width *= 2
        return parts[0]

    def turned(self, vectors: Sequence[str]) -> list[str]:
        """Blocks that lie one below the other, with rows and columns exchanged."""
        lanes, width = self.tile.lanes, self.tile.columns
        parts, size = list(vectors), 1  # so many lanes stay together
        while size < width:
            # Vectors that are `size` apart exchange the lanes of which bit `size` of the number differs.
            following = list(parts)
            for first in range(width):
                if first & size:
                    continue
                pair = parts[first], parts[first + size]
                for number, name in ((0, first), (size, first + size)):
                    chosen = [lane - size + lanes + number if lane & size else lane + number for lane in range(lanes)]
                    following[name] = self.shuffled(*pair, lanes, chosen)
            parts, size = following, 2 * size
        return parts

    def summed(self, vectors: Sequence[str]) -> str:
        """A block of what the lanes of each vector add up to."""
        tile = self.tile
        first, *others = self.turned(vectors)
        for other in others:
            first = self.let(f"fadd {tile.vector} {first}, {other}")
        width = tile.lanes
        while width > tile.columns:
            half = width // 2
            halves = [self.shuffled(first, "poison", width, range(at, at + half)) for at in (0, half)]
            first = self.let(f"fadd <{half} x {tile.element}> {halves[0]}, {halves[1]}")
            width = half
        return first
