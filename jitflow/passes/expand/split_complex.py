"""Split complex numbers: every complex value becomes two real ones, its real and its imaginary part.

After this pass nothing is complex: parameters, carried values and constants are doubled, buffers hold the parts side
by side and have their dtype. Contiguous complex numbers are read and written as pairs (``read_pair``), strided and
gathered ones with two accesses, one item apart. The arithmetic is that of `COMPLEX`.

Before and after::

    %0: c64x8 = read %buffer, %offset                 %0, %1: f32x8 = read_pair %buffer, %offset
    %1: f32x8 = absolute %0                           %2: f32x8 = hypot %0, %1

In host programs a c128 takes two argument or result slots, and a c64 one, the real part in its low half
(``runtime/entry/plan.py``). A kernel or a library symbol that takes complex scalars gets the parts as two operands.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Value, walk
from jitflow.ir.dtypes import DType
from jitflow.ir.types import Buffer, Scalar, Tape, Type, Vector
from jitflow.passes.expand.builder_machine import BuilderMachine
from jitflow.passes.expand.checked import python_words
from jitflow.passes.expand.complex import COMPLEX, Pair
from jitflow.passes.expand.notation import Number
from jitflow.passes.expand.primitives import dtype_name
from jitflow.passes.expand.rewrite import Rewriter
from jitflow.passes.expand.term import Term, select

__all__ = ["has_complex", "split_complex"]


def has_complex(function: Function) -> bool:
    """Whether any value of the function is complex or a buffer of complex numbers."""
    values = [*function.parameters]
    for op in walk(function.region):
        values += op.results
        for region in op.regions:
            values += region.parameters
    return any(_is_complex(value.type) for value in values)


def split_complex(function: Function) -> Function:
    """The function on pairs of reals. The functions that it calls are left to be split on their own."""
    return _Splitter().function(function)


def _is_complex(type: Type) -> bool:
    return isinstance(type, Scalar | Vector | Buffer | Tape) and type.dtype.kind == "c"


class _Splitter(Rewriter):
    def __init__(self) -> None:
        super().__init__(BuilderMachine())

    def types(self, type: Type) -> tuple[Type, ...]:
        if not _is_complex(type):
            return (type,)
        if isinstance(type, Buffer):
            return (Buffer(type.dtype.real, type.device),)
        if isinstance(type, Tape):
            return (Tape(type.dtype.real),)
        if isinstance(type, Vector):
            return (Vector(type.dtype.real, type.lanes),) * 2
        assert isinstance(type, Scalar)
        return (Scalar(type.dtype.real),) * 2

    def op(self, op: Op) -> None:
        handler = _HANDLERS.get(op.name)
        if not any(_is_complex(value.type) for value in (*op.operands, *op.results)):
            self.copy(op)
        elif "elementwise" in op.definition.traits:
            self.elementwise(op)
        elif handler is not None:
            handler(self, op)
        else:
            self.copy(op)

    def define(self, op: Op, values: tuple[Value, ...]) -> None:
        """The op's only result is made of these values."""
        self.replaced[op.result] = values

    # -- arithmetic

    def elementwise(self, op: Op) -> None:
        self.machine.shape_like(op.result.type)
        operands = [self.parts(operand) for operand in op.operands]
        if op.name == "cast":
            result = self.cast(operands[0], op.attributes["dtype"])
        elif op.name == "select":
            (mask,), yes, no = operands
            result = tuple(select(mask, *arms) for arms in zip(yes, no, strict=True))
        elif op.name in COMPLEX:
            if op.attributes.get("checked"):
                self.check(op.name, operands)
            made = COMPLEX[op.name](*(pair if len(pair) == 2 else pair[0] for pair in operands))
            result = made if isinstance(made, tuple) else (made,)
        else:
            raise CompilerBug(f"expected an op that has a meaning for complex numbers, got {op.name}", location=op.loc)
        self.define(op, tuple(term.value for term in result))

    def parts(self, value: Value) -> tuple[Number, ...]:
        """What stands for a value, as terms in the present shape."""
        machine = self.machine
        return tuple(Term(machine, machine.splat(part)) for part in self.stands_for(value))

    def cast(self, parts: tuple[Number, ...], dtype: DType) -> tuple[Number, ...]:
        """The real part of what was complex (either part, for bool); 0 beside what becomes complex."""
        machine, target = self.machine, dtype.real.name

        def converted(part: Number) -> Number:
            return part if part.dtype == target else Term(machine, machine.convert(part.value, target))

        if dtype.name == "bool":
            return (parts[0].differs(0) | parts[1].differs(0),)
        if not dtype.is_complex:
            return (converted(parts[0]),)
        zero = Term(machine, machine.constant(0.0, target))
        return (converted(parts[0]), converted(parts[1]) if len(parts) == 2 else zero)

    def check(self, name: str, operands: list[tuple[Number, ...]]) -> None:
        """What Python's complex numbers refuse: a zero divisor, and 0 to a negative or complex power."""
        if name not in ("divide", "power"):
            return
        a, b = operands
        if name == "divide":
            failing, words = b[0].equals(0) & b[1].equals(0), python_words(operator.truediv, 1j, 0j)
        else:
            zero = a[0].equals(0) & a[1].equals(0)
            failing, words = zero & ((b[0] < 0) | b[1].differs(0)), python_words(operator.pow, 0j, -1j)
        self.machine.check(failing.value, "ZeroDivisionError", words)

    def constant(self, op: Op) -> None:
        self.machine.shape_like(op.result.type)
        number, dtype = complex(op.attributes["value"]), dtype_name(self.types(op.result.type)[0])
        self.define(op, (self.machine.constant(number.real, dtype), self.machine.constant(number.imag, dtype)))

    # -- lanes

    def each_part(self, op: Op) -> None:
        """The op once for the real and once for the imaginary parts."""
        operand, *others = op.operands
        others_now = [value for other in others for value in self.stands_for(other)]
        types = self.types(op.result.type)
        self.define(op, tuple(
            self.machine.emit(op.name, (part, *others_now), (type,), op.attributes)[0]
            for part, type in zip(self.stands_for(operand), types, strict=True)
        ))  # fmt: skip

    def fold_lanes(self, op: Op) -> None:
        """Sums fold part by part; everything else lane by lane, halves onto each other."""
        if op.attributes["combine"] == "add":
            self.each_part(op)
            return
        machine, combine = self.machine, COMPLEX[op.attributes["combine"]]
        machine.shape_like(op.result.type)
        parts = self.stands_for(op.operands[0])
        vector = parts[0].type
        assert isinstance(vector, Vector)

        def lane(part: Value, index: int) -> Number:
            operands = (part, machine.constant(index, "index"))
            return Term(machine, machine.emit("extract_lane", operands, (Scalar(vector.dtype),))[0])

        lanes: list[Pair] = [(lane(parts[0], index), lane(parts[1], index)) for index in range(vector.lanes)]
        while len(lanes) > 1:
            half = len(lanes) // 2
            made = [combine(*pair) for pair in zip(lanes[:half], lanes[half:], strict=True)]
            lanes = [pair for pair in made if isinstance(pair, tuple)]
        self.define(op, (lanes[0][0].value, lanes[0][1].value))

    # -- memory

    def read(self, op: Op) -> None:
        attributes = {name: value for name, value in op.attributes.items() if name != "ahead"}  # a pair is read alone
        parts = self.machine.emit("read_pair", self.operands(op), self.types(op.result.type), attributes)
        self.define(op, parts)

    def write(self, op: Op) -> None:
        self.machine.emit("write_pair", self.operands(op), (), op.attributes)

    def read_apart(self, op: Op) -> None:
        """Strided or gathered numbers: the imaginary part lies one item behind the real one."""
        buffer, offset, *rest = self.operands(op)
        types = self.types(op.result.type)
        offsets = (offset, self.behind(offset, buffer))
        self.define(op, tuple(
            self.machine.emit(op.name, (buffer, start, *rest), (type,), op.attributes)[0]
            for start, type in zip(offsets, types, strict=True)
        ))  # fmt: skip

    def write_strided(self, op: Op) -> None:
        buffer, offset, stride, real, imaginary, *mask = self.operands(op)
        following = self.behind(offset, buffer)
        self.machine.emit(op.name, (buffer, offset, stride, real, *mask), (), op.attributes)
        self.machine.emit(op.name, (buffer, following, stride, imaginary, *mask), (), op.attributes)

    def behind(self, offset: Value, buffer: Value) -> Value:
        assert isinstance(buffer.type, Buffer)
        machine = self.machine
        machine.shape_like(offset.type)
        return machine.add(offset, machine.constant(buffer.type.dtype.itemsize, dtype_name(offset.type)))

    # -- tapes

    def push(self, op: Op) -> None:
        """The parts one after the other, as they lie in an array."""
        tape, real, imaginary = self.operands(op)
        self.machine.emit("push", (tape, real), ())
        self.machine.emit("push", (tape, imaginary), ())

    def pop(self, op: Op) -> None:
        """The imaginary part is the last one."""
        kinds = self.types(op.result.type)
        imaginary, real = (self.machine.emit("pop", self.operands(op), (kind,))[0] for kind in kinds)
        self.define(op, (real, imaginary))

    def peek(self, op: Op) -> None:
        tape, count = self.operands(op)
        places = self.places_of_parts(count)
        parts = (self.machine.emit("peek", (tape, place), (kind,))[0]
                 for place, kind in zip(places, self.types(op.result.type), strict=True))  # fmt: skip
        self.define(op, tuple(parts))

    def poke(self, op: Op) -> None:
        tape, count, *parts = self.operands(op)
        for place, part in zip(self.places_of_parts(count), parts, strict=True):
            self.machine.emit("poke", (tape, place, part), ())

    def places_of_parts(self, count: Value) -> tuple[Value, Value]:
        """Where the real and the imaginary part of a number lie, counted from the end of its tape."""
        machine = self.machine
        machine.shape_like(count.type)
        twice = machine.add(count, count)
        return twice, machine.subtract(twice, machine.constant(1, "i64"))

    # -- host programs

    def with_real_dtype(self, op: Op) -> None:
        attributes = MappingProxyType({**op.attributes, "dtype": op.attributes["dtype"].real})
        self.copy(replace(op, attributes=attributes))

    def local(self, op: Op) -> None:
        """Room for the parts of as many numbers."""
        dtype, count = op.attributes["dtype"].real, 2 * op.attributes["count"]
        self.copy(replace(op, attributes=MappingProxyType({**op.attributes, "dtype": dtype, "count": count})))

    def invoke(self, op: Op) -> None:
        """The routine gives complex numbers as before; what they lie in holds parts."""
        self.copy(replace(op, attributes=MappingProxyType({**op.attributes, "parts": True})))

    def argument(self, op: Op) -> None:
        kind = op.result.type
        if isinstance(kind, Buffer):
            self.copy(op)
            return
        assert isinstance(kind, Scalar)
        machine, slot = self.machine, op.attributes["slot"]
        machine.shape_like(kind)
        if kind.dtype.name == "c128":
            self.define(op, tuple(self.slot(slot + part, "f64").value for part in (0, 1)))
        else:
            bits = self.slot(slot, "u64")
            self.define(op, tuple((bits >> shift).cast("u32").bitcast("f32").value for shift in (0, 32)))

    def slot(self, slot: int, dtype: str) -> Number:
        machine = self.machine
        (value,) = machine.emit("argument", (), (machine.type(dtype),), MappingProxyType({"slot": slot}))
        return Term(machine, value)

    def result(self, op: Op) -> None:
        if isinstance(op.operands[0].type, Buffer):
            self.copy(op)
            return
        machine, slot = self.machine, op.attributes["slot"]
        machine.shape_like(op.operands[0].type)
        real, imaginary = self.parts(op.operands[0])
        slots = [real, imaginary]
        if real.dtype == "f32":
            low, high = (part.bitcast("u32").cast("u64") for part in slots)
            slots = [low | (high << 32)]
        for number, part in enumerate(slots):
            attributes = MappingProxyType({**op.attributes, "slot": slot + number})
            machine.emit("result", (part.value,), (), attributes)


_HANDLERS: dict[str, Callable[[_Splitter, Op], None]] = {
    "constant": _Splitter.constant,
    "splat": _Splitter.each_part,
    "extract_lane": _Splitter.each_part,
    "shift_lanes": _Splitter.each_part,
    "fold_lanes": _Splitter.fold_lanes,
    "read": _Splitter.read,
    "read_strided": _Splitter.read_apart,
    "read_at": _Splitter.read_apart,
    "write": _Splitter.write,
    "write_strided": _Splitter.write_strided,
    "alloc": _Splitter.with_real_dtype,
    "on_chip": _Splitter.with_real_dtype,
    "local": _Splitter.local,
    "tape": _Splitter.with_real_dtype,
    "invoke": _Splitter.invoke,
    "push": _Splitter.push,
    "pop": _Splitter.pop,
    "peek": _Splitter.peek,
    "poke": _Splitter.poke,
    "argument": _Splitter.argument,
    "result": _Splitter.result,
}
"""What is not elementwise and means something else for complex numbers; control flow and calls carry the parts."""
