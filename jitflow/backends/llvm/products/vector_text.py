"""Functions of the backend's own in vector instructions: text under construction, for one dtype and width of vectors.

Such a function is the same in all programs, so it is a module of its own, for which machine code is generated once in a
process (`ModuleCode.shared`). Masks are made of counts: lanes whose number is below a count take part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

from jitflow.backends.llvm.emission.emitter import Emitter
from jitflow.backends.llvm.emission.types import element_type
from jitflow.ir.core import Op
from jitflow.ir.dtypes import DType
from jitflow.records import dataclass

__all__ = ["Turns", "VectorText", "call_shared", "exchanged"]

_LINE = 64
_MASKED_BYTES = 64
_BLOCK_BYTES = 16
"""What the sums of lanes are made in: halves of vectors are added up until they are as short as these."""


@dataclass(slots=True)
class Turns:
    """A loop under construction: what its turns find, what the next one is to find, and what there is behind it."""

    names: list[str]
    following: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


class VectorText:
    """The lines of one function, and the intrinsics that it calls."""

    def __init__(self, dtype: DType, lanes: int) -> None:
        self.itemsize, self.line, self.kind = dtype.itemsize, _LINE, dtype.kind
        # AVX-512 stores some lanes as fast as all of them.
        self.stores_masked = lanes * dtype.itemsize == _MASKED_BYTES
        self.element = element_type(dtype)
        self.use_lanes(lanes)
        self.block = _BLOCK_BYTES // dtype.itemsize
        """How many numbers the sums of lanes are made of in one go."""
        self.lines: list[str] = []
        self._declarations: dict[str, None] = {}
        self.block_name = "start"
        self._numbers = 0

    def use_lanes(self, lanes: int) -> None:
        """What follows is about vectors of so many lanes."""
        self.lanes, self.bytes = lanes, lanes * self.itemsize
        self.vector, self.mask = f"<{lanes} x {self.element}>", f"<{lanes} x i1>"

    def text(self, name: str, parameters: str) -> str:
        """The definition, which ends here, with the declarations that it needs."""
        define = f"define hidden void @{name}({parameters}) #0 {{"
        return "\n".join([*self._declarations, "", define, "start:", *self.lines, "  ret void", "}"])

    # -- lines and blocks

    def do(self, instruction: str) -> None:
        self.lines.append(f"  {instruction}")

    def let(self, instruction: str) -> str:
        """Add an instruction and return the name of its value."""
        name = f"%v{self._fresh()}"
        self.do(f"{name} = {instruction}")
        return name

    def call(self, result: str, name: str, *arguments: str) -> str:
        """Call an intrinsic; each argument is its type and operand, with what else is known between them."""
        types = ", ".join("ptr" if one.startswith("ptr") else one.rpartition(" ")[0] for one in arguments)
        self._declarations[f"declare {result} @{name}({types})"] = None
        call = f"call {result} @{name}({', '.join(arguments)})"
        if result != "void":
            return self.let(call)
        self.do(call)
        return ""

    def _fresh(self) -> int:
        self._numbers += 1
        return self._numbers

    def begin(self, block: str) -> None:
        self.lines.append(f"{block}:")
        self.block_name = block

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def choose(self, condition: str, yes: str, no: str) -> None:
        """Branch, and begin the block of where the condition holds."""
        self.branch(condition, yes, no)
        self.begin(yes)

    @contextmanager
    def turns(self, count: str, carried: Sequence[tuple[str, str]]) -> Iterator[Turns]:
        """A loop of so many turns, maybe none; ``carried`` are types and first values of what changes."""
        number, before = self._fresh(), self.block_name
        turn, done = f"turn{number}", f"done{number}"
        found = Turns([f"%c{number}.{place}" for place in range(len(carried))])
        self.branch(self.let(f"icmp sgt i64 {count}, 0"), turn, done)
        self.begin(turn)
        place = len(self.lines)
        yield found
        rest = self.let(f"sub i64 %rest{number}, 1")
        latch = self.block_name
        self.branch(self.let(f"icmp sgt i64 {rest}, 0"), turn, done)
        phis = [f"  %rest{number} = phi i64 [ {count}, %{before} ], [ {rest}, %{latch} ]"]
        self.begin(done)
        for (type, first), name, following in zip(carried, found.names, found.following, strict=True):
            phis.append(f"  {name} = phi {type} [ {first}, %{before} ], [ {following}, %{latch} ]")
            found.left.append(self.let(f"phi {type} [ {first}, %{before} ], [ {following}, %{latch} ]"))
        self.lines[place:place] = phis

    # -- memory

    def at(self, pointer: str, offset: int | str) -> str:
        return pointer if offset in (0, "0") else self.let(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(self, pointer: str, type: str = "") -> str:
        return self.let(f"load {type or self.vector}, ptr {pointer}, align {self.itemsize}")

    def load_lanes(self, pointer: str, mask: str) -> str:
        """A vector, or the lanes of a mask; the others are 0, and are not touched in memory."""
        if not mask:
            return self.load(pointer)
        operands = (f"ptr align {self.itemsize} {pointer}", f"{self.mask} {mask}", f"{self.vector} zeroinitializer")
        return self.call(self.vector, f"llvm.masked.load.{self.suffix(self.lanes)}.p0", *operands)

    def store(self, value: str, pointer: str, type: str = "") -> None:
        self.do(f"store {type or self.vector} {value}, ptr {pointer}, align {self.itemsize}")

    def store_lanes(self, value: str, pointer: str, mask: str) -> None:
        """A vector goes to memory, or the lanes of a mask."""
        if not mask:
            self.store(value, pointer)
            return
        operands = (f"{self.vector} {value}", f"ptr align {self.itemsize} {pointer}", f"{self.mask} {mask}")
        self.call("void", f"llvm.masked.store.{self.suffix(self.lanes)}.p0", *operands)

    # -- numbers and vectors

    def either(self, condition: str, yes: str, no: str) -> str:
        """One of two vectors."""
        return self.let(f"select i1 {condition}, {self.vector} {yes}, {self.vector} {no}")

    def store_some(self, values: Sequence[str], places: Sequence[str], count: str) -> None:
        """The first lanes of some vectors go to memory, fewer than all: a half of them, a quarter and so on."""
        width, number = self.lanes, self._fresh()
        while width > 1:
            half = width // 2
            lows, highs = (
                [self.shuffled(value, "poison", width, range(at, at + half)) for value in values] for at in (0, half)
            )
            has = self.let(f"icmp ne i64 {self.let(f'and i64 {count}, {half}')}, 0")
            type, behind = f"<{half} x {self.element}>", f"behind{number}.{half}"
            self.choose(has, f"half{number}.{half}", behind)
            for value, place in zip(lows, places, strict=True):
                self.store(value, place, type)
            self.do(f"br label %{behind}")
            self.begin(behind)
            width = half
            if width > 1:
                left = zip(highs, lows, strict=True)
                values = [self.let(f"select i1 {has}, {type} {high}, {type} {low}") for high, low in left]
                moved = self.let(f"select i1 {has}, i64 {half * self.itemsize}, i64 0")
                places = self.addresses_from(places, moved)

    def suffix(self, lanes: int) -> str:
        """How an overloaded intrinsic names a vector type."""
        return f"v{lanes}{self.kind}{8 * self.itemsize}"

    def smallest(self, *counts: int | str) -> str:
        """The least of some counts."""
        first, *others = counts
        for other in others:
            first = self.call("i64", "llvm.smin.i64", f"i64 {first}", f"i64 {other}")
        return str(first)

    def offsets(self, stride: str, count: int, present: str) -> list[str]:
        """How far so many rows are behind the first; those that are not among the ``present`` are the last that is."""
        if count == 1:
            return ["0"]
        last = self.let(f"sub i64 {present}, 1")
        return ["0", *(self.let(f"mul i64 {self.smallest(row, last)}, {stride}") for row in range(1, count))]

    def bring_near(self, pointer: str, cache: int = 1) -> None:
        """Ask for a line of memory that may not be there, into the first cache or the second."""
        self.call("void", "llvm.prefetch.p0", f"ptr {pointer}", "i32 0", f"i32 {4 - cache}", "i32 1")

    def addresses(self, first: str, offsets: Sequence[int | str]) -> list[str]:
        return [self.at(first, offset) for offset in offsets]

    def addresses_from(self, firsts: Sequence[str], offset: str) -> list[str]:
        return [self.at(first, offset) for first in firsts]

    def below(self, count: str) -> str:
        """The mask of the lanes whose number is below a count."""
        integer = f"i{8 * self.itemsize}"
        integers, numbers = f"<{self.lanes} x {integer}>", ", ".join(f"{integer} {lane}" for lane in range(self.lanes))
        within = self.smallest(count, self.lanes)
        short = within if self.itemsize == 8 else self.let(f"trunc i64 {within} to {integer}")
        one = self.let(f"insertelement {integers} poison, {integer} {short}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        everywhere = self.let(f"shufflevector {integers} {one}, {integers} poison, {zeros}")
        compared = self.let(f"icmp sgt {integers} {everywhere}, <{numbers}>")
        # Frozen, since code generation would else compare anew in each turn.
        return self.let(f"freeze {self.mask} {compared}")

    def everywhere(self, number: str) -> str:
        """A number in all lanes."""
        one = self.let(f"insertelement {self.vector} poison, {self.element} {number}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.let(f"shufflevector {self.vector} {one}, {self.vector} poison, {zeros}")

    def fma(self, left: str, right: str, addend: str) -> str:
        operands = (f"{self.vector} {operand}" for operand in (left, right, addend))
        return self.call(self.vector, f"llvm.fma.{self.suffix(self.lanes)}", *operands)

    def add(self, left: str, right: str) -> str:
        return self.let(f"fadd {self.vector} {left}, {right}")

    # -- lanes that change places

    def shuffled(self, left: str, right: str, lanes: int, numbers: Sequence[int]) -> str:
        """Lanes of two vectors of so many ``lanes``, by number; those of the second come behind those of the first."""
        type, chosen = f"<{lanes} x {self.element}>", ", ".join(f"i32 {number}" for number in numbers)
        return self.let(f"shufflevector {type} {left}, {type} {right}, <{len(numbers)} x i32> <{chosen}>")

    def turned(self, vectors: Sequence[str]) -> list[str]:
        """Some vectors, their number a power of two: in blocks of as many lanes, rows become columns (`exchanged`)."""
        lanes = self.lanes
        return exchanged(lambda left, right, numbers: self.shuffled(left, right, lanes, numbers), vectors, lanes)

    def summed(self, vectors: Sequence[str]) -> str:
        """A block of what the lanes of each of as many vectors add up to."""
        first, *others = self.turned(vectors)
        for other in others:
            first = self.add(first, other)
        width = self.lanes
        while width > self.block:
            half = width // 2
            low, high = (self.shuffled(first, "poison", width, range(at, at + half)) for at in (0, half))
            first = self.let(f"fadd <{half} x {self.element}> {low}, {high}")
            width = half
        return first


def exchanged(shuffle: Callable[[str, str, Sequence[int]], str], vectors: Sequence[str], lanes: int) -> list[str]:
    """Some vectors of so many lanes, their number a power of two: in blocks of as many lanes, rows become columns.

    a b c d | e f g h | ...        a A . . | e E . . | ...
    A B C D | E F G H | ...   ->   b B . . | f F . . | ...
    """
    parts, size = list(vectors), 1  # so many lanes stay together
    while size < len(parts):
        # Vectors that are `size` apart exchange the lanes of which bit `size` of the number differs.
        following = list(parts)
        for first in (number for number in range(len(parts)) if not number & size):
            pair = parts[first], parts[first + size]
            for number, place in ((0, first), (size, first + size)):
                chosen = [lane - size + lanes + number if lane & size else lane + number for lane in range(lanes)]
                following[place] = shuffle(*pair, chosen)
        parts, size = following, 2 * size
    return parts


def call_shared(out: Emitter, op: Op, name: str, parameters: str, text: str, places: Sequence[int]) -> None:
    """Call a function that all programs share; operands at ``places`` are buffers, each followed by its offset."""
    out.module.declare(name, "void", [parameter.split()[0] for parameter in parameters.split(", ")])
    out.module.shared[name] = text
    arguments, operands = [], iter(enumerate(op.operands))
    for place, operand in operands:
        if place in places:
            _, offset = next(operands)
            arguments.append(f"ptr {out.at(out.operand(operand), out.operand(offset))}")
        else:
            arguments.append(f"i64 {out.operand(operand)}")
    out.do(f"call void @{name}({', '.join(arguments)})")
