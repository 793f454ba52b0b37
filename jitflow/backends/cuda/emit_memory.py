"""Reads and writes, and what stands between scalars and lanes.

Offsets are bytes; every thread adds its lane's share. Elements are aligned to their own size. Threads whose mask is not
set touch nothing and read 0. A scalar is written by all threads of a warp, each of them the same bits. Several numbers
of a thread that lie side by side are a *piece*, moved by one instruction where it is aligned as a whole and no part of
it is masked, which is asked of each address when it is known: so every operand of a kernel goes its own way, whatever
offset, strides and tail it has.

A thread reads back only what it has itself written: values that a sweep keeps for the next one lie at the same lane.
Nothing else that a kernel writes is read in it, so no thread waits for another but in shuffles.
"""

from __future__ import annotations

from jitflow.backends.cuda.emit_arithmetic import combine
from jitflow.backends.cuda.printer import Emission, Printer, part_by_part
from jitflow.backends.cuda.types import WARP, dtype_of, literal, memory_type, parts_of, register_type
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


def _step(out: Printer, value: Value, stride: str) -> str:
    """What a thread adds for its lane; nothing for a scalar."""
    if not isinstance(value.type, Vector):
        return "0"
    lane = out.lane(value.type)
    return lane if stride == "1" else f"{stride} * {lane}"


_PIECES = """\
// Numbers that lie side by side in memory.
template <typename T, int N> struct alignas(sizeof(T) * N) Piece {
    T part[N];
};
template <typename T, int N> __device__ bool is_whole(const T &first, const bool (&there)[N]) {
    bool whole = (u64)&first % sizeof(Piece<T, N>) == 0;
    for (i32 n = 0; n < N; ++n)
        whole = whole && there[n];
    return whole;
}
template <int N, typename T> __device__ Piece<T, N> read_piece(const T &first, const bool (&there)[N]) {
    if (is_whole(first, there))
        return *(const Piece<T, N> *)&first;
    Piece<T, N> piece;
    for (i32 n = 0; n < N; ++n)
        piece.part[n] = there[n] ? (&first)[n] : 0;
    return piece;
}
template <int N, typename T> __device__ void write_piece(T &first, const Piece<T, N> &piece, const bool (&there)[N]) {
    if (is_whole(first, there)) {
        *(Piece<T, N> *)&first = piece;
        return;
    }
    for (i32 n = 0; n < N; ++n)
        if (there[n])
            (&first)[n] = piece.part[n];
}"""


def _piece(out: Printer, numbers: Value, buffer: Value, offset: Value, mask: list[Value]) -> tuple[str, str]:
    """Where the piece of a thread begins, and which of its parts are there."""
    out.module.helper("piece", _PIECES)
    count = parts_of(numbers.type)
    step = f"{count * dtype_of(numbers.type).itemsize} * lane"
    there = out.parts(mask[0]) if mask else ["true"] * count
    return _address(out, buffer, out.operand(offset), step), f"{{{', '.join(there)}}}"


def _read(out: Printer, op: Op) -> None:
    buffer, offset, *mask = op.operands
    count, dtype = parts_of(op.result.type), dtype_of(op.result.type)
    if count == 1:
        _load(
            out, op.result, _address(out, buffer, out.operand(offset), _step(out, op.result, str(dtype.itemsize))), mask
        )
        return
    first, there = _piece(out, op.result, buffer, offset, mask)
    name = out.names.fresh(op.result.name)
    out.do(f"const Piece<{memory_type(dtype)}, {count}> {name} = read_piece<{count}>({first}, {there});")
    form = "({} != 0)" if dtype == BOOL else "{}"
    out.alias(op.result, *(form.format(f"{name}.part[{part}]") for part in range(count)))


def _read_strided(out: Printer, op: Op) -> None:
    buffer, offset, stride, *mask = op.operands
    step = _step(out, op.result, out.operand(stride))
    _load(out, op.result, _address(out, buffer, out.operand(offset), step), mask)


def _read_at(out: Printer, op: Op) -> None:
    buffer, offsets, *mask = op.operands
    _load(out, op.result, _address(out, buffer, out.operand(offsets)), mask)


def _read_pair(out: Printer, op: Op) -> None:
    buffer, offset, *mask = op.operands
    for result, shift in zip(op.results, _pair_shifts(out, op.results[0]), strict=True):
        _load(out, result, _address(out, buffer, out.operand(offset), *shift), mask)


def _pair_shifts(out: Printer, number: Value) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is added to the offset for the first and the second of a pair."""
    itemsize = dtype_of(number.type).itemsize
    step = _step(out, number, str(2 * itemsize))
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
    count, dtype = parts_of(value.type), dtype_of(value.type)
    if count == 1:
        _store(out, value, _address(out, buffer, out.operand(offset), _step(out, value, str(dtype.itemsize))), mask)
        return
    first, there = _piece(out, value, buffer, offset, mask)
    piece = f"Piece<{memory_type(dtype)}, {count}>{{{', '.join(out.parts(value))}}}"
    out.do(f"write_piece({first}, {piece}, {there});")


def _write_strided(out: Printer, op: Op) -> None:
    buffer, offset, stride, value, *mask = op.operands
    _store(out, value, _address(out, buffer, out.operand(offset), _step(out, value, out.operand(stride))), mask)


def _write_pair(out: Printer, op: Op) -> None:
    buffer, offset, first, second, *mask = op.operands
    for value, shift in zip((first, second), _pair_shifts(out, first), strict=True):
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
    out.let(op.result, f"({register_type(op.attributes['dtype'])}){out.lane(op.result.type)}")


def _lanes_below(out: Printer, op: Op) -> None:
    out.let(op.result, f"{out.lane(op.result.type)} < {out.operand(op.operands[0])}")


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
    halves = [f"{name}({part})" for part in out.parts(operand)]
    while len(halves) > 1:
        upper = halves[len(halves) // 2 :]
        halves = [
            combine(out, fold, dtype, f"({one})", f"({other})") for one, other in zip(halves, upper, strict=False)
        ]
    out.let(op.result, halves[0])


def _shift_lanes(out: Printer, op: Op) -> None:
    """Of vectors that have a lane in each thread: the first threads keep what they have."""
    (operand,) = op.operands
    if parts_of(operand.type) != 1:
        raise CompilerBug(f"shift_lanes: expected a lane in each thread, got {operand.type}", location=op.loc)
    shuffled, back = _shuffled(dtype_of(operand.type))
    out.let(op.result, f"{back}__shfl_up_sync(~0u, {shuffled}{out.operand(operand)}, {op.attributes['count']})")


def _any_lane(out: Printer, op: Op) -> None:
    out.let(op.result, f"__any_sync(~0u, {' || '.join(out.parts(op.operands[0]))}) != 0")


def _first_lane(out: Printer, op: Op) -> None:
    """Bit 32 is behind all lanes: the lane count is what none gives."""
    parts = out.parts(op.operands[0])
    first = [f"__ffsll(1LL << {WARP} | __ballot_sync(~0u, {part})) - 1" for part in parts]
    if len(parts) == 1:
        out.let(op.result, first[0])
        return
    (name,) = out.declare(op.result, [str(WARP * len(parts))])
    for number, text in enumerate(first):
        thread = out.names.fresh("thread")
        out.do(f"const i64 {thread} = {text};")
        found = f"{len(parts)} * {thread} + {number}"
        out.do(f"if ({thread} < {WARP} && {found} < {name}) {name} = {found};")
    out.alias(op.result, name)


def _extract_lane(out: Printer, op: Op) -> None:
    """A lane beyond the last is the last, where a shuffle would begin again at the first."""
    vector, index = op.operands
    parts, position = out.parts(vector), out.operand(index)
    last = WARP * len(parts) - 1
    if not position.isdigit():
        position = f"{position} < {last + 1} ? (i32){position} : {last}"
    shuffled, back = _shuffled(dtype_of(vector.type))
    if len(parts) == 1:
        out.let(op.result, f"{back}__shfl_sync(~0u, {shuffled}{parts[0]}, {position})")
        return
    place, type = out.names.fresh("place"), out.type(op.result.type)
    out.do(f"const i32 {place} = {position};")
    taken = [out.names.fresh("taken") for _ in parts]
    for name, part in zip(taken, parts, strict=True):
        out.do(f"const {type} {name} = {back}__shfl_sync(~0u, {shuffled}{part}, {place} / {len(parts)});")
    chosen = taken[-1]
    for number, name in reversed([*enumerate(taken[:-1])]):
        chosen = f"{place} % {len(parts)} == {number} ? {name} : {chosen}"
    out.let(op.result, chosen)


def _to_index(out: Printer, op: Op) -> None:
    if dtype_of(op.operands[0].type).kind not in "biu":
        raise CompilerBug(f"to_index: expected an integer, got {op.operands[0].type}", location=op.loc)
    out.let(op.result, f"({out.index}){out.operand(op.operands[0])}")


MEMORY_EMISSION: dict[str, Emission] = {
    "read": _read,
    "read_strided": part_by_part(_read_strided),
    "read_at": part_by_part(_read_at),
    "read_pair": part_by_part(_read_pair),
    "write": _write,
    "write_strided": part_by_part(_write_strided),
    "write_pair": part_by_part(_write_pair),
}

LANE_EMISSION: dict[str, Emission] = {
    "splat": part_by_part(_splat),
    "lane_index": part_by_part(_lane_index),
    "lanes_below": part_by_part(_lanes_below),
    "fold_lanes": _fold_lanes,
    "shift_lanes": _shift_lanes,
    "any_lane": _any_lane,
    "first_lane": _first_lane,
    "extract_lane": _extract_lane,
    "to_index": _to_index,
}
