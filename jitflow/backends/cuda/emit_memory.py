"""Reads and writes, and what stands between scalars and lanes.

Offsets are bytes; every thread adds its lane's share. Elements are aligned to their own size. Threads whose mask is not
set touch nothing and read 0. A scalar is written by all threads of a warp, each of them the same bits.

A thread reads back only what it has itself written: values that a sweep keeps for the next one lie at the same lane.
Nothing else that a kernel writes is read in it, so no thread waits for another but in shuffles.
"""

from __future__ import annotations

from jitflow.backends.cuda.emit_arithmetic import combine
from jitflow.backends.cuda.printer import Emission, Printer
from jitflow.backends.cuda.types import WARP, dtype_of, literal, register_type
from jitflow.errors import CompilerBug
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import BOOL, DType
from jitflow.ir.types import Vector

__all__ = ["AT", "LANE_EMISSION", "MEMORY_EMISSION"]

AT = """\
// The element that lies a number of bytes behind the start of a buffer.
template <typename T> __device__ T &at(T *buffer, i64 offset) {
    return *(T *)((const char *)buffer + offset);
}"""

# -- memory


def _address(out: Printer, buffer: Value, *terms: str) -> str:
    offset = " + ".join(term for term in terms if term != "0") or "0"
    return f"at({out.operand(buffer)}, {offset})"


def _step(value: Value, stride: str) -> str:
    """What a thread adds for its lane; nothing for a scalar."""
    if not isinstance(value.type, Vector):
        return "0"
    return "lane" if stride == "1" else f"{stride} * lane"


def _read(out: Printer, op: Op) -> None:
    buffer, offset, *mask = op.operands
    step = _step(op.result, str(dtype_of(op.result.type).itemsize))
    _load(out, op.result, _address(out, buffer, out.operand(offset), step), mask)


def _read_strided(out: Printer, op: Op) -> None:
    buffer, offset, stride, *mask = op.operands
    step = _step(op.result, out.operand(stride))
    _load(out, op.result, _address(out, buffer, out.operand(offset), step), mask)


def _read_at(out: Printer, op: Op) -> None:
    buffer, offsets, *mask = op.operands
    _load(out, op.result, _address(out, buffer, out.operand(offsets)), mask)


def _read_pair(out: Printer, op: Op) -> None:
    buffer, offset, *mask = op.operands
    for result, shift in zip(op.results, _pair_shifts(op.results[0]), strict=True):
        _load(out, result, _address(out, buffer, out.operand(offset), *shift), mask)


def _pair_shifts(number: Value) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is added to the offset for the first and the second of a pair."""
    itemsize = dtype_of(number.type).itemsize
    step = _step(number, str(2 * itemsize))
    return (step,), (step, str(itemsize))


def _load(out: Printer, result: Value, element: str, mask: list[Value]) -> None:
    dtype = dtype_of(result.type)
    loaded = f"{element} != 0" if dtype == BOOL else element
    if not mask:
        out.let(result, loaded)
    elif dtype == BOOL:
        out.let(result, f"{out.operand(mask[0])} && {loaded}")
    else:
        out.let(result, f"{out.operand(mask[0])} ? {loaded} : {literal(0, dtype)}")


def _write(out: Printer, op: Op) -> None:
    buffer, offset, value, *mask = op.operands
    step = _step(value, str(dtype_of(value.type).itemsize))
    _store(out, value, _address(out, buffer, out.operand(offset), step), mask)


def _write_strided(out: Printer, op: Op) -> None:
    buffer, offset, stride, value, *mask = op.operands
    _store(out, value, _address(out, buffer, out.operand(offset), _step(value, out.operand(stride))), mask)


def _write_pair(out: Printer, op: Op) -> None:
    buffer, offset, first, second, *mask = op.operands
    for value, shift in zip((first, second), _pair_shifts(first), strict=True):
        _store(out, value, _address(out, buffer, out.operand(offset), *shift), mask)


def _store(out: Printer, value: Value, element: str, mask: list[Value]) -> None:
    condition = f"if ({out.operand(mask[0])}) " if mask else ""
    out.do(f"{condition}{element} = {out.operand(value)};")


# -- lanes


def _splat(out: Printer, op: Op) -> None:
    """Every thread has its own copy of a scalar already."""
    dtype_of(op.result.type)
    out.alias(op.result, out.operand(op.operands[0]))


def _lane_index(out: Printer, op: Op) -> None:
    out.let(op.result, f"({register_type(op.attributes['dtype'])})lane")


def _lanes_below(out: Printer, op: Op) -> None:
    out.let(op.result, f"lane < {out.operand(op.operands[0])}")


_FOLD = """\
// Folds the lanes of a warp, the upper half onto the lower until one is left, and gives it to all.
__device__ {type} {name}({type} lanes) {{
    for (i32 half = {half}; half > 0; half /= 2) {{
        const {type} other = {type_of_other}__shfl_down_sync(~0u, {shuffled}lanes, half);
        lanes = {combined};
    }}
    return {type_of_other}__shfl_sync(~0u, {shuffled}lanes, 0);
}}"""


def _shuffled(dtype: DType) -> tuple[str, str]:
    """Conversions to a type that shuffles know, and back."""
    return ("(i32)", f"({register_type(dtype)})") if dtype.itemsize < 4 else ("", "")


def _fold_lanes(out: Printer, op: Op) -> None:
    (operand,) = op.operands
    dtype, fold = dtype_of(operand.type), op.attributes["combine"]
    name = f"fold_{fold}_{dtype.name}"
    shuffled, back = _shuffled(dtype)
    combined = combine(out, fold, dtype, "lanes", "other")
    out.module.helper(name, _FOLD.format(
        type=register_type(dtype), name=name, half=WARP // 2, shuffled=shuffled, type_of_other=back, combined=combined,
    ))  # fmt: skip
    out.let(op.result, f"{name}({out.operand(operand)})")


def _any_lane(out: Printer, op: Op) -> None:
    out.let(op.result, f"__any_sync(~0u, {out.operand(op.operands[0])}) != 0")


def _first_lane(out: Printer, op: Op) -> None:
    """Bit 32 is behind all lanes: the lane count is what none gives."""
    out.let(op.result, f"__ffsll(1LL << {WARP} | __ballot_sync(~0u, {out.operand(op.operands[0])})) - 1")


def _extract_lane(out: Printer, op: Op) -> None:
    """A lane beyond the last is the last, where a shuffle would begin again at the first."""
    vector, index = op.operands
    position = out.operand(index)
    if not position.isdigit():
        position = f"{position} < {WARP} ? (i32){position} : {WARP - 1}"
    shuffled, back = _shuffled(dtype_of(vector.type))
    out.let(op.result, f"{back}__shfl_sync(~0u, {shuffled}{out.operand(vector)}, {position})")


def _to_index(out: Printer, op: Op) -> None:
    if dtype_of(op.operands[0].type).kind not in "biu":
        raise CompilerBug(f"to_index: expected an integer, got {op.operands[0].type}", location=op.loc)
    out.let(op.result, f"(i64){out.operand(op.operands[0])}")


MEMORY_EMISSION: dict[str, Emission] = {
    "read": _read,
    "read_strided": _read_strided,
    "read_at": _read_at,
    "read_pair": _read_pair,
    "write": _write,
    "write_strided": _write_strided,
    "write_pair": _write_pair,
}

LANE_EMISSION: dict[str, Emission] = {
    "splat": _splat,
    "lane_index": _lane_index,
    "lanes_below": _lanes_below,
    "fold_lanes": _fold_lanes,
    "any_lane": _any_lane,
    "first_lane": _first_lane,
    "extract_lane": _extract_lane,
    "to_index": _to_index,
}
