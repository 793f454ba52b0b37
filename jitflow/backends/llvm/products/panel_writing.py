"""What functions on panels are written with: instructions, loops, vectors of 64 bytes or as long as a register, masks.

Offsets of what is read or written lie in tables, of 64 bits each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jitflow.backends.llvm.emission.types import element_type
from jitflow.ir.dtypes import DType
from jitflow.ir.ops.memory import PANEL_BYTES

__all__ = ["Writing"]
_LEAST_BYTES = 16
"""Registers of this size are of processors without masks."""


class Writing:
    """A function that is being written, with the arithmetic and the loops that it is made of."""

    def __init__(self, dtype: DType, vector_bytes: int, gathers: bool) -> None:
        self.vector_bytes, self.gathers = vector_bytes, gathers
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
        self, stop: str, start: str = "0", step: int | list[str] = 1, sums: Sequence[str] = (), type: str = ""
    ) -> Iterator[tuple[str, list[str]]]:
        """A loop: its index, and the sums of a type that it goes on with, whose places the body fills with the next.

        A step that each turn finds is a list to which the body adds it.
        """
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
        self.do(f"{following} = add i64 {index}, {step if isinstance(step, int) else step[-1]}")
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

    @property
    def has_masks(self) -> bool:
        """Whether the processor loads some lanes of a register, and not the memory of the others."""
        return self.vector_bytes > _LEAST_BYTES

    def use_registers(self) -> None:
        """Pieces are as long as a register from here on."""
        self.lanes = self.vector_bytes // self.itemsize

    def is_block(self, table: str, first: str, count: str) -> str:
        """Whether a piece of a table, from ``first`` on, is there, and elements one behind the other are at it."""
        mask = (f"<{self.lanes} x i1>", self._goes_on(table, first, self.itemsize))
        is_line = self.call("i1", f"llvm.vector.reduce.and.v{self.lanes}i1", mask)
        end = self.let(f"add i64 {first}, {self.lanes}")
        return self.let(f"select i1 {self.let(f'icmp sle i64 {end}, {count}')}, i1 {is_line}, i1 false")

    def run(self, table: str, first: str, count: str) -> tuple[str, str]:
        """How many elements of a piece of a table, from ``first`` on, lie side by side, and if so from the last one on.

        Kernels that are turned, as gradients by inputs read them, are walked backwards.
        """
        left, lanes = self.let(f"sub i64 {count}, {first}"), f"i{self.lanes}"
        found = []
        for apart in (self.itemsize, -self.itemsize):
            bits = self.let(f"bitcast <{self.lanes} x i1> {self._goes_on(table, first, apart)} to {lanes}")
            ends = self.let(f"xor {lanes} {bits}, -1")
            run = self.call(lanes, f"llvm.cttz.{lanes}", (lanes, ends), ("i1", "false"))
            wide = self.let(f"zext {lanes} {run} to i64")
            found.append(self.call("i64", "llvm.smin.i64", ("i64", wide), ("i64", left)))
        upwards, downwards = found
        is_down = self.let(f"icmp sgt i64 {downwards}, {upwards}")
        return self.let(f"select i1 {is_down}, i64 {downwards}, i64 {upwards}"), is_down

    def _goes_on(self, table: str, first: str, apart: int) -> str:
        """For each entry of a piece of a table, whether it is where one so many bytes behind the other would be."""
        offsets = self.offsets(table, first)
        type, numbers = f"<{self.lanes} x i64>", range(0, self.lanes * apart, apart)
        begin = self.let(
            f"insertelement {type} poison, i64 {self.let(f'extractelement {type} {offsets}, i64 0')}, i64 0"
        )
        every = self.let(f"shufflevector {type} {begin}, {type} poison, <{self.lanes} x i32> zeroinitializer")
        expected = self.let(f"add {type} {every}, <{', '.join(f'i64 {number}' for number in numbers)}>")
        return self.let(f"icmp eq {type} {offsets}, {expected}")

    def offsets(self, table: str, first: str) -> str:
        """A piece of a table. What is read behind its end lies in the memory that belongs to it (`TABLE_ROOM`)."""
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
