"""The inputs of one trace: which objects are read, what is checked of them, and which become parameters.

Everything that the program reads from outside goes through here, whether it is an argument, a global, a closure cell,
an item or an attribute. Each read gets a register of the plan; reading the same path again gives the same register.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import CellType
from typing import Any, NoReturn

import numpy as np

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.outside.arguments import ArrayClass, NumberClass, array_class, check_rank, unsupported
from jitflow.frontend.outside.proxies import outside_register
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import Decision, Trace
from jitflow.frontend.tracers import Tracer, VariableTracer, located, wrap
from jitflow.ir import types
from jitflow.ir.core import Fact, Value
from jitflow.ir.dims import Dim, symbols
from jitflow.ir.dtypes import I64
from jitflow.ir.layout import gaps
from jitflow.ir.types import Index, Scalar, Tensor
from jitflow.machines.hardware import HOME, is_gpu
from jitflow.runtime.entry.guard_tests import has_no_attributes, is_read_only, lacks_key
from jitflow.runtime.entry.plan import (
    Argument,
    ArrayLeaf,
    Attribute,
    Cell,
    Check,
    Contents,
    EqualsConstant,
    Global,
    Guard,
    IsObject,
    IsOther,
    IsSame,
    IsType,
    Item,
    Leaf,
    Made,
    ObjectLeaf,
    Read,
    Satisfies,
    ScalarLeaf,
)
from jitflow.runtime.native.dtypes import slot_count
from jitflow.runtime.variable import Variable

__all__ = ["Inputs"]

_OVERLAPPING = Site(Choice.OVERLAPPING)
_SIZE_NAMES = "nmkpqrstuvwabcdefgh"


class Inputs:
    """Reads, checks and leaves in the order in which the program made them.

    Where arrays of this call overlap, all of them are variables.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._written = trace.choices.answer(_OVERLAPPING)
        self._extents: dict[int, tuple[int, int]] = {}
        self.reads: list[Read] = []
        self.found: dict[int, Any] = {}
        """What registers hold at this call, of which the program has something."""
        self.checks: list[Check] = []
        self.leaves: list[Leaf] = []
        self.slots = 0
        self._named_sizes: dict[str, Dim] = {}
        self._variable_sizes: dict[int, Dim] = {}
        self.variables: list[int] = []
        """The parameters that are variables."""
        self.placed: dict[int, str] = {}
        """The devices of those that live elsewhere than on the host."""
        self._computed: list[tuple[np.ndarray[Any, Any], Value]] = []
        self.computed_registers: list[int] = []
        """Those of arrays that the trace has computed."""
        self._registers: dict[tuple[Any, ...], int] = {}
        self._paths: list[str] = []
        self._guarded: set[tuple[Any, ...]] = set()
        self._sizes: dict[Value, Dim | None] = {}
        self.seen: dict[int, Any] = {}
        """What the numbers are at this call, by register."""
        self.numbers: dict[int, int] = {}
        """What whole numbers are at this call, by their parameters' positions."""

    @property
    def overlap(self) -> bool:
        """Whether arrays of this call overlap, and the program writes to one of them."""
        return self._written is not None

    def register(self, read: Read, path: str) -> int:
        """The register of a read. ``path`` is how the program spells it, for errors and `explain`."""
        key = _read_key(read)
        if key not in self._registers:
            self._registers[key] = len(self.reads)
            self.reads.append(read)
            self._paths.append(path)
        return self._registers[key]

    def path(self, register: int) -> str:
        """How the program spells what a register holds."""
        return self._paths[register]

    def comes_from_argument(self, register: int) -> bool:
        """Whether what a register holds is an argument, or inside one."""
        return isinstance(self.origin(register), Argument)

    def origin(self, register: int) -> Read:
        """Where the path to what a register holds begins."""
        read = self.reads[register]
        while isinstance(read, Item | Attribute):
            read = self.reads[read.parent]
        return read

    def guard(self, guard: Guard) -> None:
        """Check this at every call. The same guard again costs nothing."""
        about = guard.text if isinstance(guard, Satisfies) else getattr(guard, "other", None)
        key = (type(guard), guard.register, about)
        if key not in self._guarded:
            self._guarded.add(key)
            self.checks.append(guard)

    def array(self, register: int, kind: ArrayClass, device: str = "") -> Any:
        """The tracer of an array that a register holds; ``device`` is the GPU on which it lives, if it is one's."""
        position = len(self.leaves)
        if device:
            self.placed[position] = device
        value = self._array(register, kind, tuple(self._dim(size, kind.fixed) for size in kind.shape), device)
        self._extents[position] = kind.extent
        if self.overlap:
            self.trace.storage.place(value)  # what others write shows in it
            self.trace.storage.overlaps(value)
        if kind.meets_itself:
            self.trace.storage.protect(value, partial(_refuse_to_write, self.path(register)))
        if not kind.writeable:
            # That a store fails is compiled where a path of the program leads to it: for such arrays alone.
            guard = Satisfies(register, is_read_only, "is read-only")
            self.trace.storage.protect(value, partial(self.guard, guard))
        return wrap(value, owned=False)

    def variable(self, register: int, variable: Variable, read: Callable[[str], Any]) -> VariableTracer:
        """The tracer of a variable that a register holds. Its memory overlaps no other.

        Sizes that are equal among the variables of this call are one size, which the guard tests: parameters and what
        an optimiser keeps for them then meet without checks.
        """
        path = self.path(register)
        contents = self._contents(register, variable, path)
        self.variables.append(len(self.leaves))
        dims = tuple(self._size_of_variables(size) for size in variable.shape)
        lives = variable.device if is_gpu(variable.device) else ""
        value = self._array(contents, array_class(variable._elements, path), dims, lives)
        self.trace.storage.outlive(value)
        self.trace.storage.show(value)
        return VariableTracer(value, self.trace, variable, read)

    def _contents(self, register: int, variable: Variable, path: str) -> int:
        """The register of the array that a variable holds: one on another device has none where code looks first."""
        if variable.device == HOME:
            return self.register(Contents(register), path)
        self.placed[len(self.leaves)] = variable.device
        holder = self.register(Attribute(register, "_elsewhere"), path)
        self.guard(IsType(holder, dict))
        return self.register(Item(holder, variable.device), path)

    def _array(self, register: int, kind: ArrayClass, dims: tuple[Dim, ...], lives: str = "") -> Value:
        path = self.path(register)
        check_rank(kind.rank, path)
        ones = tuple(dim == 1 for dim in dims)
        position = len(self.leaves)
        self._leaf(ArrayLeaf(register, kind.dtype.name, kind.rank, kind.layout, False, ones, self.slots, lives))
        self.slots += 1 + 2 * kind.rank
        value = self._parameter(Tensor(kind.dtype, dims), path)
        self.trace.storage.classes[value] = position, kind.layout
        for fact in gaps(position, Tensor(kind.dtype, dims), kind.layout):
            self.trace.establish(fact)
        return value

    def computed(self, array: np.ndarray[Any, Any]) -> Value:
        """The input that is an array which was computed while tracing, and depends on nothing that is traced."""
        for known, value in self._computed:
            if known.dtype == array.dtype and known.shape == array.shape and known.tobytes() == array.tobytes():
                return value
        snapshot = array.copy(order="C")  # the program may go on to change it
        path = f"computed_{len(self._computed)}"
        register = self.register(Cell(CellType(snapshot)), path)
        self.computed_registers.append(register)
        kind = replace(array_class(snapshot, path), fixed=True)
        made: Value = self.array(register, kind)._value
        self._computed.append((snapshot, made))
        return made

    def require_fields_alone(self, thing: Any, register: int) -> None:
        """Refuse a named tuple with attributes beside its fields, of which its counterpart would know nothing."""
        if not has_no_attributes(thing):
            raise located(unsupported(thing, self.path(register)))
        if type(thing).__dictoffset__:
            self.guard(Satisfies(register, has_no_attributes, "has no attributes beside its fields"))

    def guard_absence(self, namespace: dict[str, Any], name: str, path: str) -> None:
        """Let only calls pass which find no such name there."""
        register = self.register(Cell(CellType(namespace)), path)
        self.guard(Satisfies(register, partial(lacks_key, name), f"have no {name}"))

    def guard_same(self, register: int, other: int) -> None:
        """Check that what is found by two paths is one object."""
        self.guard(IsSame(register, other))

    def are_same(self, one: Any, other: Any) -> bool:
        """Whether two things of the program are one object outside, which every call checks."""
        registers = {self.register_of(one), self.register_of(other)}
        known = sorted(register for register in registers if register is not None and register in self.found)
        if len(known) < len(registers):
            return False
        first, last = known[0], known[-1]
        is_one = self.found[first] is self.found[last]
        if first != last:
            self.guard(IsSame(last, first) if is_one else IsOther(last, first))
        return is_one

    def is_fixed(self, register: int) -> bool:
        """Whether calls find this very object in a register."""
        return (IsObject, register, None) in self._guarded

    def fix(self, register: int) -> None:
        """Let only calls pass which find this very object."""
        self.guard(IsObject(register, self.found[register]))

    def register_of(self, thing: Any) -> int | None:
        """The register of the very object that something of the program is, if it is one from outside."""
        if isinstance(thing, Tracer):
            return self.trace.origins.get(id(thing))
        return outside_register(thing)

    def finish_made(self, register: int, read: Made) -> None:
        """What is made for a call is made of these objects, when all else has been checked."""
        self.reads[register] = read
        parts = [number for number, read in enumerate(self.reads)
                 if isinstance(read, Attribute) and read.parent == register]  # fmt: skip
        self.checks.sort(key=lambda check: check.register in parts)

    def finish(self) -> None:
        """Ask for writeable arrays where the program writes. Raises `Restart` if one of these overlaps another."""
        written = self._written
        if written is None:
            parameters = enumerate(self.trace.parameters)
            written = frozenset(
                place
                for place, value in parameters
                if isinstance(value.type, types.Variable) and place not in self.variables
            )
            for place in written:
                first, end = self._extents[place]
                for other, (other_first, other_end) in self._extents.items():
                    if other != place and first < other_end and other_first < end:
                        raise Restart(_OVERLAPPING, written)
        for place in written:
            leaf = self.leaves[place]
            assert isinstance(leaf, ArrayLeaf)
            self._replace_leaf(leaf, replace(leaf, writeable=True))

    def _replace_leaf(self, old: ArrayLeaf, new: ArrayLeaf) -> None:
        for kept in (self.leaves, self.checks):
            kept[next(position for position, item in enumerate(kept) if item is old)] = new

    def number(self, register: int, kind: NumberClass, seen: object = None) -> Any:
        """The tracer of a number that a register holds, at this call ``seen``."""
        if seen is not None:
            self.seen[register] = seen
        if isinstance(seen, int | np.integer):
            self.numbers[len(self.leaves)] = int(seen)
        self._leaf(ScalarLeaf(register, kind.dtype.name, kind.kind, self.slots))
        self.slots += slot_count(kind.dtype.name)
        return wrap(self._parameter(Scalar(kind.dtype, kind.kind == "python"), self.path(register)))

    def address(self, register: int, *, locked: bool) -> Any:
        """The tracer of the address of the generator that a register holds; whether it has a lock."""
        self._leaf(ObjectLeaf(register, self.slots, locked))
        self.slots += 1
        return wrap(self._parameter(Scalar(I64), self.path(register)))

    def size(self, tracer: Any, number: int) -> Dim | None:
        """The size that an integer argument is: named after it, and guarded not to be negative, as it is not now."""
        value = tracer._value
        if value not in self._sizes:
            self._sizes[value] = None
            if number >= 0:
                self._sizes[value] = size = self.trace.size(value.name or "size", number, bound_by_call=True)
                index = Value(Index(size), value.name)
                self.trace.storage.replace_parameter(value, index, "cast", dtype=I64, weak=True)
                fact = Fact(size, ">=", 0)
                self.trace.decisions.append(Decision(fact, self.trace.here(), "an integer used as a size"))
        return self._sizes[value]

    def pin(self, register: int, number: Any) -> None:
        """Guard that a number that became a parameter keeps its value, because Python needed the number itself."""
        self.guard(EqualsConstant(register, number, type(number)))

    def register_asked(self, text: str, registers: tuple[int, ...], read: Made) -> int:
        """The register of a number that Python asked for, which is computed of others."""
        key = ("asked", text, registers)
        self._registers.setdefault(key, self.register(read, text))
        return self._registers[key]

    def _leaf(self, leaf: Leaf) -> None:
        self.leaves.append(leaf)
        self.checks.append(leaf)

    def _parameter(self, kind: Tensor | Scalar, path: str) -> Value:
        return self.trace.parameter(kind, "".join(c if c.isalnum() else "_" for c in path).strip("_"))

    def _dim(self, size: int | str, fixed: bool) -> Dim:
        trace = self.trace
        if isinstance(size, str):
            if size not in self._named_sizes:
                # Nobody has seen it yet: large, and unlike every other, so that no decision takes two to be equal.
                self._named_sizes[size] = self._new_size(size, 1024 + 16 * len(self._named_sizes))
                trace.described.update(symbols(self._named_sizes[size]))
            return self._named_sizes[size]
        if size == 1 or fixed:
            return size
        count = len(trace.hints)
        return self._new_size(_SIZE_NAMES[count % len(_SIZE_NAMES)], size)

    def _size_of_variables(self, size: int) -> Dim:
        if size not in self._variable_sizes:
            self._variable_sizes[size] = self._dim(size, fixed=False)
        return self._variable_sizes[size]

    def _new_size(self, name: str, hint: int) -> Dim:
        dim = self.trace.size(name, hint, bound_by_call=True)
        if not self.trace.includes_ones:
            self.trace.establish(Fact(dim, "!=", 1))
        return dim


def _refuse_to_write(path: str) -> NoReturn:
    raise located(
        UserNotImplementedError(
            f"a write to {path}, an array whose elements share memory with each other",
            mend=f"write to a copy, {path}.copy(), or to the array that it shows",
        )
    )


def _read_key(read: Read) -> tuple[Any, ...]:
    match read:
        case Argument(index):
            return ("argument", index)
        case Global(namespace, name):
            return ("global", id(namespace), name)
        case Cell(cell):
            return ("cell", id(cell))
        case Item(parent, key):
            return ("item", parent, type(key), key)
        case Attribute(parent, name):
            return ("attribute", parent, name)
        case Contents(parent):
            return ("contents", parent)
        case Made(function, parents):
            return ("made", id(function), parents)
