"""Writing LLVM text: a module under construction, and one function in it.

An `Emitter` turns the ops of one function into lines. It hands out fresh names, knows the block that it is in (the phis
of loops and branches ask for it), and keeps three strands apart: what must stand in the entry block (stack slots), the
straight way, and the cold blocks in which a failed check ends. What an op becomes is not decided here but in the row of
the op in `table.EMISSION`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from jitflow.backends.llvm.emission.before_loops import BeforeLoops, places_first
from jitflow.backends.llvm.emission.signatures import can_fail, levels, message_words, returned_type, runs_elsewhere
from jitflow.backends.llvm.emission.types import Number, lanes_of, register_type
from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.equality import function_key
from jitflow.ir.types import Vector
from jitflow.machines.processor import CodeTarget

if TYPE_CHECKING:
    from jitflow.backends.llvm.emission.emit_sharing import Sharing
    from jitflow.backends.llvm.emission.ledger import Ledger
    from jitflow.backends.llvm.emission.tapes import TapeEnd
    from jitflow.backends.llvm.emission.under_mask import Fork

__all__ = ["UNLIKELY", "Emission", "Emitter", "Line", "ModuleText", "intrinsic_suffix"]

UNLIKELY = ", !prof !1"
FAST_MATH = "reassoc arcp contract afn "
"""What `fast_math` permits. NaN, infinities and signed zeros stay as they are."""


class ModuleText:
    """What the functions of one program share: declarations, library symbols and the sites of errors."""

    def __init__(
        self, programs: Sequence[Function], symbols: Sequence[str], target: CodeTarget, *, fast_math: bool,
        sites: Sequence[Op] = (), devices: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.target = target
        here = [program for program in programs if not runs_elsewhere(program)] if len(programs) > 1 else programs
        self.kernels = _written_once(kernel for program in here for kernel in program.kernels)
        """What is launched by each name: of kernels that compute the same, the first one."""
        self.called: dict[str, Function] = {
            function.name: function
            for program in here
            for function in program.functions
            if function.attributes.get("called")
        }
        self.devices = tuple(devices or (str(p.attributes["device"]) for p in programs if len(programs) > 1))
        """Where the parts of a program run, the caller's thread first; none of a program that is whole."""
        self.levels = max(map(levels, programs)) if self.devices else 0
        """The length of their records of how far they have come."""
        elsewhere = [program for program in programs if program not in here]
        self.message_words = max(map(message_words, elsewhere), default=0)
        """How many words come with a message between programs, at most."""
        self.symbols: list[str] = list(symbols)
        self.sites: list[Op] = list(sites)
        self.fast_flags = FAST_MATH if fast_math else ""
        self.notes = any(op.name == "note" for program in programs for op in program.region.ops)
        """Whether the program is profiled."""
        self.declarations: dict[str, str] = {}
        """Declared or helper functions by name: the whole text of each."""
        self.written_out: dict[str, Sharing] = {}
        """The kernels that only share loops, by name: they are written out where they are launched."""
        self.shared: dict[str, str] = {}
        """Functions that are the same in all programs, by name."""

    def declare(self, name: str, result: str, parameters: Sequence[str]) -> None:
        """Make an external function or an intrinsic known."""
        if name not in self.declarations:
            self.declarations[name] = f"declare {result} @{name}({', '.join(parameters)})"

    def define(self, name: str, text: str) -> None:
        """Add a function once; if it has been declared, it no longer is."""
        if self.declarations.get(name, "declare").startswith("declare"):
            self.declarations[name] = text

    def take_declarations(self) -> list[str]:
        """What was declared since the last time: each LLVM module declares what it uses."""
        taken, self.declarations = list(self.declarations.values()), {}
        return taken

    def site(self, op: Op) -> int:
        """The number under which a failure of ``op`` is reported."""
        if not self.sites or self.sites[-1] is not op:
            self.sites.append(op)
        return len(self.sites) - 1

    def symbol_slot(self, symbol: str) -> int:
        """The slot of the context that holds a library symbol's address."""
        if symbol not in self.symbols:
            self.symbols.append(symbol)
        return FIRST_SYMBOL_SLOT + self.symbols.index(symbol)

    @property
    def context_words(self) -> int:
        """How many slots the context has, as far as is known by now."""
        return FIRST_SYMBOL_SLOT + len(self.symbols)

    def is_home(self, function: Function) -> bool:
        """Whether a function runs on the caller's thread."""
        return not self.devices or function.attributes["device"] == self.devices[0]


FIRST_SYMBOL_SLOT = 2


Line: TypeAlias = "str | list[Line] | dict[str, str]"
"""A line, lines that are written later, or names that are computed in front of a loop, by instruction."""


class Emitter:
    """One function: values to operands, ops to lines."""

    def __init__(self, module: ModuleText, function: Function, rows: Mapping[str, Emission]) -> None:
        self.module = module
        self.function = function
        self.rows = rows
        self.operands: dict[Value, str] = {}
        self.producers: dict[Value, Op] = {}
        self.sharing: Sharing | None = None
        """The loops that threads share, of the kernel that is being written."""
        self.entry: list[str] = []
        self.lines: list[Line] = []
        self.block = "start"
        self.failures: list[tuple[str, str]] = []
        """(status, block) of every way into the block that ends a host program early."""
        self.ledger: Ledger | None = None
        """Of a host program: the buffers that it owns."""
        self.device_ledger: Ledger | None = None
        """Those of them that lie on a GPU."""
        self.tapes: dict[Value, TapeEnd] = {}
        self.exact: dict[tuple[str, str, str, str], str] = {}
        """Results of arithmetic that was asked whether it overflows, by block, instruction and operands."""
        self.lowest_failure = ""
        """Of a part of a shared loop: where the position is of the lowest span that has failed."""
        self.heap = ""
        """The record of the containers of a host program, if it makes some."""
        self._cold: list[Line] = []
        self._before_loops = BeforeLoops()
        self.came_up = self._before_loops.came_up
        self.fork: Fork | None = None
        """The last branch round a mask."""
        self._numbers = 0

    # -- names and lines

    def fresh(self) -> int:
        """A number that no other name of this function has."""
        self._numbers += 1
        return self._numbers

    def let(self, instruction: str) -> str:
        """Add an instruction and return the name of its value."""
        name = f"%v{self.fresh()}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Add an instruction without a value."""
        self.lines.append(f"  {instruction}")

    def stack(self, type: str, count: int = 1) -> str:
        """Room in the frame, reserved in the entry block."""
        name = f"%s{self.fresh()}"
        self.entry.append(f"  {name} = alloca {type}, i64 {count}, align 16")
        return name

    def call(self, result: str, name: str, *arguments: str) -> str:
        """Declare and call a function; each argument is its type and operand, as in ``"float %v1"``."""
        if name not in self.module.declarations:
            self.module.declare(name, result, [_type_of(argument) for argument in arguments])
        return self.let(f"call {result} @{name}({', '.join(arguments)})")

    def at(self, pointer: str, offset: str) -> str:
        """The address ``offset`` bytes behind a pointer, computed in front of the loops that change neither.

        A number is part of the instruction that reads there, where an address from in front of a loop is a register.
        """
        if offset == "0":
            return pointer
        instruction = f"getelementptr i8, ptr {pointer}, i64 {offset}"
        known = self._before_loops.name(instruction, (pointer, offset), self.fresh) if offset[0] == "%" else None
        return known or self.let(instruction)

    @contextmanager
    def loop(self) -> Iterator[None]:
        """A loop, in front of which we are."""
        with self._before_loops.loop(self.fresh()) as lines:
            self.lines.append(lines)
            yield

    def hidden(self, type: str, operand: str) -> str:
        """The same value, but no analysis of LLVM's sees where it comes from. No instruction comes of it."""
        return self.let(f'call {type} asm "", "=r,0"({type} {operand})')

    # -- blocks

    def label(self, hint: str) -> str:
        """A fresh label, to be jumped to and placed once by `begin`."""
        return f"{hint}{self.fresh()}"

    def begin(self, label: str) -> None:
        """Start the block of a label; the block before must have ended."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """End the block: go to a label."""
        self.do(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str, hint: str = "") -> None:
        """End the block: go to one of two labels."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}{hint}")

    def place(self) -> list[Line]:
        """A place for lines that are written later, by `into`."""
        place: list[Line] = []
        self.lines.append(place)
        return place

    @contextmanager
    def into(self, place: list[Line]) -> Iterator[None]:
        """Write lines there."""
        lines, self.lines = self.lines, place
        yield
        self.lines = lines

    def reserve(self) -> int:
        """Keep a place for a line that is known only later, such as a phi of a loop."""
        self.lines.append("")
        return len(self.lines) - 1

    @contextmanager
    def cold(self, label: str) -> Iterator[None]:
        """Write a block that is hardly ever entered, out of the straight way."""
        lines, block, self.lines = self.lines, self.block, self._cold
        self.begin(label)
        yield
        self.lines, self.block = lines, block

    def fail_unless(self, condition: str, fail: Callable[[], None]) -> None:
        """Go on where the condition holds, else run what ``fail`` writes, which ends the function."""
        proceed, failed = self.label("ok"), self.label("failed")
        self.branch(condition, proceed, failed, UNLIKELY)
        with self.cold(failed):
            fail()
        self.begin(proceed)

    def leave_unless(self, condition: str, status: str) -> None:
        """Go on where the condition holds, else end a host program with a status, of which all is reported."""
        proceed = self.label("ok")
        self.failures.append((status, self.block))
        self.branch(condition, proceed, "failure", UNLIKELY)
        self.begin(proceed)

    def leave(self, status: str) -> None:
        """End the block and the function with a status that is not zero; a host program frees its buffers first."""
        if self.ledger is not None:
            self.failures.append((status, self.block))
            self.jump("failure")
        else:
            self.give(status)

    def give(self, status: str) -> None:
        """End the block and the function with a status, and nothing else of what it may give."""
        if not self.function.attributes.get("recursive"):
            self.do(f"ret i32 {status}")
            return
        kind = returned_type(self.function)
        self.do(f"ret {kind} {self.let(f'insertvalue {kind} poison, i32 {status}, 0')}")

    # -- values

    def operand(self, value: Value) -> str:
        """What stands for a value in an instruction: its register, or itself if it is a literal."""
        try:
            return self.operands[value]
        except KeyError:
            raise CompilerBug(f"expected a value defined before its use, got {value}") from None

    def typed(self, value: Value) -> str:
        """A value as an argument: its type and what stands for it."""
        return f"{register_type(value.type)} {self.operand(value)}"

    def shaped(self, value: Value, lanes: int) -> str:
        """A number in every one of ``lanes`` lanes, as a scalar may stand beside vectors."""
        if not lanes or isinstance(value.type, Vector):
            return self.operand(value)
        return self.splat(register_type(value.type), self.operand(value), lanes)

    def splat(self, element: str, operand: str, lanes: int) -> str:
        """One element, which may be a literal, in every lane."""
        if not operand.startswith("%"):
            return f"splat ({element} {operand})"
        single = self.let(f"insertelement <{lanes} x {element}> poison, {element} {operand}, i64 0")
        return self.let(f"shufflevector <{lanes} x {element}> {single}, <{lanes} x {element}> poison, "
                        f"<{lanes} x i32> zeroinitializer")  # fmt: skip

    # -- ops

    def emit(self, op: Op) -> None:
        """Write one op."""
        row = self.rows.get(op.name)
        if row is None:
            raise CompilerBug(f"expected an op of kernels and host programs, got {op.name}", location=op.loc)
        results = row(self, op)
        if self.fork is not None and any(effect.kind != "reads" for effect in op.own_effects):
            self.fork = None  # what is read behind it is not read in front of it
        for value, operand in zip(op.results, results, strict=True):
            self.operands[value] = operand
            self.producers[value] = op

    def emit_region(self, region: Region) -> list[str]:
        """Write the ops of a region and return the operands that it yields."""
        left = self.sharing.left if self.sharing is not None else ()
        plain = self.function.layer == "host" or self.module.target.free_masks
        for op in region.body if plain else places_first(region.body):
            if op not in left:
                self.emit(op)
        return [self.operand(value) for value in region.yielded]

    def text(self, signature: str) -> str:
        """The finished function."""
        return "\n".join([f"define {signature} {{", "start:", *self.entry, *_flat(self.lines), *_flat(self._cold), "}"])


Emission = Callable[[Emitter, Op], Sequence[str]]
"""A row: writes an op and returns the operands of its results."""


def _flat(lines: Iterable[Line]) -> Iterator[str]:
    for line in lines:
        if isinstance(line, str):
            yield line
        elif isinstance(line, list):
            yield from _flat(line)
        else:
            yield from (f"  {name} = {instruction}" for instruction, name in line.items())


def _type_of(argument: str) -> str:
    """The type in ``"<4 x float> %v1"``: everything before the operand, which may be a literal with blanks in it."""
    depth = 0
    for position, character in enumerate(argument):
        depth += (character in "<({[") - (character in ">)}]")
        if character == " " and depth == 0:
            return argument[:position]
    raise CompilerBug(f"expected a type and an operand, got {argument!r}")


def _written_once(kernels: Iterable[Function]) -> dict[str, Function]:
    """Of kernels that compute the same the first one. One that may fail says where, so it is like no other."""
    first: dict[object, Function] = {}
    return {
        kernel.name: kernel if can_fail(kernel) else first.setdefault(function_key(kernel), kernel)
        for kernel in kernels
    }  # fmt: skip


def intrinsic_suffix(type: Number) -> str:
    """How an overloaded intrinsic names its type: ``f32``, ``v16f32``, ``i64``."""
    dtype = type.dtype
    element = {"f32": "f32", "f64": "f64", "bool": "i1"}.get(dtype.name, f"i{dtype.bits}")
    lanes = lanes_of(type)
    return f"v{lanes}{element}" if lanes else element
