"""Reads and writes.

Offsets are bytes. Without a promise, an address is aligned to its element alone; with the attribute ``alignment`` to
that many bytes. Masked lanes are not touched and read as 0. A masked number (``lanes`` 0) is a vector of one lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jitflow.backends.llvm.emission.emitter import Emission, Emitter, intrinsic_suffix
from jitflow.backends.llvm.emission.prefetch import prefetch_lines
from jitflow.backends.llvm.emission.types import Number, lanes_of, memory_type, number_type, vector_of, with_element
from jitflow.backends.llvm.emission.under_mask import mask_of, under_mask
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import U8
from jitflow.ir.types import Scalar, Vector

__all__ = ["MEMORY_EMISSION", "load_number", "store_number"]

NONTEMPORAL = ", !nontemporal !0"
LARGEST_ALIGNMENT = 64
WIDEST_REGISTER = 64


def _from_memory(out: Emitter, type: Number, raw: str) -> str:
    """A bool in memory is a byte that is not 0, whatever else it may be."""
    if type.dtype.kind != "b":
        return raw
    zero = "zeroinitializer" if isinstance(type, Vector) else "0"
    return out.let(f"icmp ne {memory_type(type)} {raw}, {zero}")


def _to_memory(out: Emitter, type: Number, operand: str) -> str:
    if type.dtype.kind != "b":
        return operand
    return out.let(f"zext {vector_of('i1', lanes_of(type))} {operand} to {memory_type(type)}")


def _alignment(op: Op, type: Number) -> int:
    alignment: int = op.attributes.get("alignment", type.dtype.real.itemsize)
    return alignment


def _raw(type: Number) -> Number:
    """The type of the bits that a number has in memory."""
    return with_element(type, U8) if type.dtype.kind == "b" else type


# -- one access, by the form of its addresses


def load_number(out: Emitter, type: Number, pointer: str) -> str:
    """The number at an address."""
    return _from_memory(out, type, out.let(f"load {memory_type(type)}, ptr {pointer}, align {type.dtype.itemsize}"))


def store_number(out: Emitter, type: Number, pointer: str, operand: str) -> None:
    """Put a number at an address."""
    operand = _to_memory(out, type, operand)
    out.do(f"store {memory_type(type)} {operand}, ptr {pointer}, align {type.dtype.itemsize}")


def _load(out: Emitter, op: Op, type: Number, pointer: str, mask: str | None) -> str:
    text, alignment = memory_type(type), _alignment(op, type)
    if mask is None:
        return out.let(f"load {text}, ptr {pointer}, align {alignment}")
    if not isinstance(type, Vector):
        single = _masked_load(out, f"<1 x {text}>", f"v1{intrinsic_suffix(_raw(type))}", 1, pointer, alignment,
                              _one_lane(out, "i1", mask))  # fmt: skip
        return out.let(f"extractelement <1 x {text}> {single}, i64 0")
    return _masked_load(out, text, intrinsic_suffix(_raw(type)), type.lanes, pointer, alignment, mask)


def _masked_load(out: Emitter, text: str, suffix: str, lanes: int, pointer: str, alignment: int, mask: str) -> str:
    name = f"llvm.masked.load.{suffix}.p0"
    mask_type = f"<{lanes} x i1>"
    out.module.declare(name, text, ["ptr", mask_type, text])
    arguments = f"ptr align {alignment} {pointer}, {mask_type} {mask}, {text} zeroinitializer"
    return out.let(f"call {text} @{name}({arguments})")


def _one_lane(out: Emitter, element: str, operand: str) -> str:
    return out.let(f"insertelement <1 x {element}> poison, {element} {operand}, i64 0")


def _store(out: Emitter, op: Op, type: Number, pointer: str, operand: str, mask: str | None) -> None:
    text, alignment, hint = memory_type(type), _alignment(op, type), ""
    if mask is None:
        if op.attributes.get("streaming") and isinstance(type, Vector):
            alignment, hint = min(type.lanes * type.dtype.itemsize, LARGEST_ALIGNMENT), NONTEMPORAL
        out.do(f"store {text} {operand}, ptr {pointer}, align {alignment}{hint}")
        return
    lanes, suffix = lanes_of(type), intrinsic_suffix(_raw(type))
    if not lanes:
        operand, mask = _one_lane(out, text, operand), _one_lane(out, "i1", mask)
        text, suffix, lanes = f"<1 x {text}>", f"v1{suffix}", 1
    name, mask_type = f"llvm.masked.store.{suffix}.p0", f"<{lanes} x i1>"
    out.module.declare(name, "void", [text, "ptr", mask_type])
    out.do(f"call void @{name}({text} {operand}, ptr align {alignment} {pointer}, {mask_type} {mask})")


def _gather(out: Emitter, op: Op, type: Vector, pointers: str, mask: str | None) -> str:
    text, lanes = memory_type(type), type.lanes
    name, mask_type = f"llvm.masked.gather.{intrinsic_suffix(_raw(type))}.v{lanes}p0", f"<{lanes} x i1>"
    out.module.declare(name, text, [f"<{lanes} x ptr>", mask_type, text])
    return out.let(f"call {text} @{name}(<{lanes} x ptr> align {_alignment(op, type)} {pointers}, "
                   f"{mask_type} {mask or 'splat (i1 true)'}, {text} zeroinitializer)")  # fmt: skip


def _gathers(out: Emitter, type: Vector, mask: str | None) -> bool:
    """Whether lanes from anywhere are loaded at once; narrow ones have no instruction for that."""
    return mask is not None or (out.module.target.gathers and type.dtype.itemsize >= 4)


def _loaded_one_by_one(out: Emitter, op: Op, type: Vector, pointers: Iterable[str]) -> str:
    text, element, found = memory_type(type), memory_type(Scalar(type.dtype)), "poison"
    for lane, pointer in enumerate(pointers):
        single = out.let(f"load {element}, ptr {pointer}, align {_alignment(op, type)}")
        found = out.let(f"insertelement {text} {found}, {element} {single}, i64 {lane}")
    return found


def _scatter(out: Emitter, op: Op, type: Vector, pointers: str, operand: str, mask: str | None) -> None:
    text, lanes = memory_type(type), type.lanes
    name, mask_type = f"llvm.masked.scatter.{intrinsic_suffix(_raw(type))}.v{lanes}p0", f"<{lanes} x i1>"
    out.module.declare(name, "void", [text, f"<{lanes} x ptr>", mask_type])
    out.do(f"call void @{name}({text} {operand}, <{lanes} x ptr> align {_alignment(op, type)} {pointers}, "
           f"{mask_type} {mask or 'splat (i1 true)'})")  # fmt: skip


# -- addresses


def _pointer(out: Emitter, buffer: Value, offset: Value, type: Number | None = None) -> str:
    """The address of what has a type. A sum is added part by part: what a loop does not change stands in front of it.

    What takes several registers is reached from one address, hidden so that it is not computed again for each of them:
    a register and a distance cost an instruction nothing, a sum of two registers does.
    """
    pointer, total = out.operand(buffer), out.producers.get(offset)
    parts = total.operands if total is not None and total.name == "add" else (offset,)
    for part in parts:
        pointer = out.at(pointer, out.operand(part))
    wide = isinstance(type, Vector) and type.lanes * type.dtype.itemsize > WIDEST_REGISTER
    return out.hidden("ptr", pointer) if wide else pointer


def _pointers(out: Emitter, buffer: Value, offsets: str, lanes: int) -> str:
    return out.let(f"getelementptr i8, ptr {out.operand(buffer)}, <{lanes} x i64> {offsets}")


def _strided_pointers(out: Emitter, buffer: Value, offset: Value, stride: Value, lanes: int) -> str:
    """Pointers that stand a stride apart, multiplied lane by lane from the lanes' numbers."""
    steps = out.splat("i64", out.operand(stride), lanes)
    numbers = ", ".join(f"i64 {lane}" for lane in range(lanes))
    distances = out.let(f"mul <{lanes} x i64> {steps}, <{numbers}>")
    return out.let(f"getelementptr i8, ptr {_pointer(out, buffer, offset)}, <{lanes} x i64> {distances}")


def _pointers_apart(out: Emitter, buffer: Value, offset: Value, stride: Value, lanes: int) -> Iterator[str]:
    """The same, each from the one before it, which no vector has to be taken apart for."""
    pointer, step = _pointer(out, buffer, offset), out.operand(stride)
    for _ in range(lanes):
        yield pointer
        pointer = out.let(f"getelementptr i8, ptr {pointer}, i64 {step}")


# -- rows


def _read(out: Emitter, op: Op) -> Sequence[str]:
    type, (buffer, offset) = number_type(op.result.type), op.operands[:2]
    raw = under_mask(out, op, 2, lambda mask: _load(out, op, type, _pointer(out, buffer, offset, type), mask), type,
                     joins=True)  # fmt: skip
    if "ahead" in op.attributes:
        pointer = _pointer(out, buffer, offset)
        prefetch_lines(out, pointer, op.attributes["ahead"], max(lanes_of(type), 1) * type.dtype.itemsize)
    return [_from_memory(out, type, raw)]


def _read_strided(out: Emitter, op: Op) -> Sequence[str]:
    buffer, offset, stride = op.operands[:3]
    type, mask = number_type(op.result.type), mask_of(out, op, 3)
    if not isinstance(type, Vector):
        return [_from_memory(out, type, _load(out, op, type, _pointer(out, buffer, offset), mask))]
    step = _short_step(out, type, stride)

    def load(mask: str | None) -> str:
        if step:
            return _load_run(out, op, type, _pointer(out, buffer, offset), step, mask)
        if _gathers(out, type, mask):
            return _gather(out, op, type, _strided_pointers(out, buffer, offset, stride, type.lanes), mask)
        return _loaded_one_by_one(out, op, type, _pointers_apart(out, buffer, offset, stride, type.lanes))

    return [_from_memory(out, type, under_mask(out, op, 3, load, type))]


def _read_at(out: Emitter, op: Op) -> Sequence[str]:
    buffer, offsets = op.operands[:2]
    type, mask = number_type(op.result.type), mask_of(out, op, 2)
    if not isinstance(type, Vector):
        return [_from_memory(out, type, _load(out, op, type, _pointer(out, buffer, offsets), mask))]
    pointers = _pointers(out, buffer, out.operand(offsets), type.lanes)

    def load(mask: str | None) -> str:
        if _gathers(out, type, mask):
            return _gather(out, op, type, pointers, mask)
        each = (out.let(f"extractelement <{type.lanes} x ptr> {pointers}, i64 {lane}") for lane in range(type.lanes))
        return _loaded_one_by_one(out, op, type, each)

    return [_from_memory(out, type, under_mask(out, op, 2, load, type))]


def _write(out: Emitter, op: Op) -> Sequence[str]:
    buffer, offset, value = op.operands[:3]
    type = number_type(value.type)
    operand = _to_memory(out, type, out.operand(value))
    under_mask(out, op, 3, lambda mask: _store(out, op, type, _pointer(out, buffer, offset, type), operand, mask))
    return ()


def _write_strided(out: Emitter, op: Op) -> Sequence[str]:
    buffer, offset, stride, value = op.operands[:4]
    type, mask = number_type(value.type), mask_of(out, op, 4)
    operand = _to_memory(out, type, out.operand(value))
    step = _short_step(out, type, stride) if isinstance(type, Vector) else 0
    if isinstance(type, Vector) and step:
        wide, pointer, touched = _covering(out, type, _pointer(out, buffer, offset), step, mask)
        places = [0] * wide.lanes
        for lane, position in enumerate(_positions(type, step)):
            places[position] = lane
        _store(out, op, wide, pointer, _shuffle(out, memory_type(type), operand, "poison", places), touched)
    elif isinstance(type, Vector):
        pointers = _strided_pointers(out, buffer, offset, stride, type.lanes)
        _scatter(out, op, type, pointers, operand, mask)
    else:
        _store(out, op, type, _pointer(out, buffer, offset), operand, mask)
    return ()


# -- short strides: one wide access under a mask, and a shuffle, instead of an access for each lane


LONGEST_STEP = 4


def _short_step(out: Emitter, type: Number, stride: Value) -> int:
    """The stride in elements where it is a literal for which one wide access pays: 2 to 4, or -1. Otherwise 0."""
    try:
        distance = int(out.operand(stride))
    except ValueError:
        return 0
    step, rest = divmod(distance, type.dtype.itemsize)
    if rest or type.dtype.itemsize < 4:  # narrower elements have no masked instructions on many processors
        return 0
    return step if 2 <= step <= LONGEST_STEP or step == -1 else 0


def _positions(type: Vector, step: int) -> list[int]:
    """Where each lane lies in the wide vector."""
    return [lane * step for lane in range(type.lanes)] if step > 0 else list(reversed(range(type.lanes)))


def _covering(out: Emitter, type: Vector, pointer: str, step: int, mask: str | None) -> tuple[Vector, str, str | None]:
    """The wide vector that holds all lanes, where it starts, and the mask of what may be touched of it."""
    wide = Vector(type.dtype, type.lanes * abs(step))
    if step < 0:
        start = out.let(f"getelementptr i8, ptr {pointer}, i64 {-(type.lanes - 1) * type.dtype.itemsize}")
        if mask is None:
            return wide, start, None
        return wide, start, _shuffle(out, f"<{type.lanes} x i1>", mask, "poison", _positions(type, step))
    if mask is None:
        bits = ", ".join(f"i1 {'false' if lane % step else 'true'}" for lane in range(wide.lanes))
        return wide, pointer, f"<{bits}>"
    picked = [type.lanes if lane % step else lane // step for lane in range(wide.lanes)]
    return wide, pointer, _shuffle(out, f"<{type.lanes} x i1>", mask, "zeroinitializer", picked)


def _load_run(out: Emitter, op: Op, type: Vector, pointer: str, step: int, mask: str | None) -> str:
    """Lanes a short step apart. Where none is masked, two accesses, of which one begins and one ends with a lane."""
    positions = _positions(type, step)
    if mask is not None or step < 0:
        wide, pointer, touched = _covering(out, type, pointer, step, mask)
        return _shuffle(out, memory_type(wide), _load(out, op, wide, pointer, touched), "poison", positions)
    half = Vector(type.dtype, type.lanes * step // 2)
    last = out.at(pointer, str((half.lanes - step + 1) * type.dtype.itemsize))
    parts = [_load(out, op, half, part, None) for part in (pointer, last)]
    lanes = [position if position < half.lanes else position + step - 1 for position in positions]
    return _shuffle(out, memory_type(half), parts[0], parts[1], lanes)


# -- pairs: two vectors whose lanes alternate in memory


def _pair_type(type: Vector) -> Vector:
    return Vector(type.dtype, 2 * type.lanes)


def _shuffle(out: Emitter, text: str, first: str, second: str, lanes: Sequence[int]) -> str:
    picked = ", ".join(f"i32 {lane}" for lane in lanes)
    return out.let(f"shufflevector {text} {first}, {text} {second}, <{len(lanes)} x i32> <{picked}>")


def _paired_mask(out: Emitter, type: Vector, mask: str | None) -> str | None:
    if mask is None:
        return None
    twice = [lane // 2 for lane in range(2 * type.lanes)]
    return _shuffle(out, f"<{type.lanes} x i1>", mask, "poison", twice)


def _read_pair(out: Emitter, op: Op) -> Sequence[str]:
    type, mask = number_type(op.results[0].type), mask_of(out, op, 2)
    pointer = _pointer(out, op.operands[0], op.operands[1])
    if not isinstance(type, Vector):
        second = out.at(pointer, str(type.dtype.itemsize))
        return [_from_memory(out, type, _load(out, op, type, part, mask)) for part in (pointer, second)]
    both = _pair_type(type)

    def load(mask: str | None) -> str:
        return _load(out, op, both, pointer, _paired_mask(out, type, mask))

    loaded = under_mask(out, op, 2, load, both, stretched=True)
    halves = [_shuffle(out, memory_type(both), loaded, "poison", range(part, both.lanes, 2)) for part in (0, 1)]
    return [_from_memory(out, type, half) for half in halves]


def _write_pair(out: Emitter, op: Op) -> Sequence[str]:
    buffer, offset, *values = op.operands[:4]
    type, mask = number_type(values[0].type), mask_of(out, op, 4)
    pointer = _pointer(out, buffer, offset)
    first, second = (_to_memory(out, type, out.operand(value)) for value in values)
    if not isinstance(type, Vector):
        _store(out, op, type, pointer, first, mask)
        _store(out, op, type, out.at(pointer, str(type.dtype.itemsize)), second, mask)
        return ()
    alternating = [lane // 2 + type.lanes * (lane % 2) for lane in range(2 * type.lanes)]
    both = _shuffle(out, memory_type(type), first, second, alternating)

    def store(mask: str | None) -> None:
        _store(out, op, _pair_type(type), pointer, both, _paired_mask(out, type, mask))

    under_mask(out, op, 4, store, stretched=True)
    return ()


MEMORY_EMISSION: dict[str, Emission] = {
    "read": _read,
    "read_strided": _read_strided,
    "read_at": _read_at,
    "read_pair": _read_pair,
    "write": _write,
    "write_strided": _write_strided,
    "write_pair": _write_pair,
}
