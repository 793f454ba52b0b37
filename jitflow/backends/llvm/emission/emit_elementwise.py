"""Elementwise ops on scalars, vectors of lanes and sizes: finds the row for the op and the dtype of its operands.

`ARITHMETIC` and `PREDICATES` are keyed by (op, kind). The half formats get every row of ``f`` through f32 that they do
not have themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.backends.llvm.emission.convert import bitcast_number, cast_number
from jitflow.backends.llvm.emission.emit_floats import FLOAT_PREDICATES, FLOAT_ROWS, predicate_through_f32, through_f32
from jitflow.backends.llvm.emission.emit_integers import INTEGER_PREDICATES, INTEGER_ROWS
from jitflow.backends.llvm.emission.emit_libm import LIBM_ROWS
from jitflow.backends.llvm.emission.emit_select import SELECT_EMISSION
from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.emission.rows import Arithmetic, Row, kind_of
from jitflow.backends.llvm.emission.types import (
    Number,
    element_type,
    lanes_of,
    literal,
    number_type,
    register_type,
    with_lanes,
)
from jitflow.errors import CompilerBug
from jitflow.ir.core import Op
from jitflow.ir.types import Index, Vector

__all__ = ["ARITHMETIC", "ELEMENTWISE_EMISSION", "PREDICATES", "apply"]


def _by_kind(rows: Sequence[Row], for_halves: Callable[[Arithmetic], Arithmetic]) -> dict[tuple[str, str], Arithmetic]:
    table = {(row.name, kind): row.emit for row in rows for kind in row.kinds}
    for (name, kind), emit in list(table.items()):
        if kind == "f":
            table.setdefault((name, "h"), for_halves(emit))
    return table


ARITHMETIC = _by_kind([*INTEGER_ROWS, *FLOAT_ROWS, *LIBM_ROWS], through_f32)
"""Rows whose result has the operands' type."""

PREDICATES = _by_kind([*INTEGER_PREDICATES, *FLOAT_PREDICATES], predicate_through_f32)
"""Rows whose result is a bool or a mask."""


def apply(out: Emitter, name: str, type: Number, *operands: str) -> str:
    """Write the elementwise op ``name`` on operands that all have ``type``."""
    key = (name, kind_of(type.dtype))
    emit = ARITHMETIC.get(key) or PREDICATES.get(key)
    if emit is None:
        raise CompilerBug(f"expected {name} of {type} to be expanded before machine code is written")
    return emit(out, type, *operands)


def _elementwise(out: Emitter, op: Op) -> Sequence[str]:
    type = number_type(op.operands[0].type)
    lanes = lanes_of(op.results[0].type)
    if lanes != lanes_of(type):
        type = with_lanes(type.dtype, lanes)
    operands = [out.shaped(operand, lanes) for operand in op.operands]
    if out.function.layer == "host" and isinstance(op.results[0].type, Index) and op.name in _OF_SIZES:
        return [_OF_SIZES[op.name](out, *operands)]
    return [apply(out, op.name, type, *operands)]


# -- sizes in host programs: a byte count that does not fit in 63 bits becomes the largest number, not a small one, and
#    the allocation that asks for it fails. LLVM's quick selection of instructions, by which most host programs are
#    compiled, knows all of this. It does not know ``llvm.sadd.sat`` and ``llvm.smax``, which take it ten times as long.


def _saturating(operation: str) -> Arithmetic:
    def emit(out: Emitter, a: str, b: str) -> str:
        pair = out.call("{ i64, i1 }", f"llvm.s{operation}.with.overflow.i64", f"i64 {a}", f"i64 {b}")
        exact = out.let(f"extractvalue {{ i64, i1 }} {pair}, 0")
        overflow = out.let(f"extractvalue {{ i64, i1 }} {pair}, 1")
        return out.let(f"select i1 {overflow}, i64 {LARGEST}, i64 {exact}")

    return emit


def _extreme(comparison: str) -> Arithmetic:
    def emit(out: Emitter, a: str, b: str) -> str:
        first = out.let(f"icmp {comparison} i64 {a}, {b}")
        return out.let(f"select i1 {first}, i64 {a}, i64 {b}")

    return emit


LARGEST = (1 << 63) - 1
_OF_SIZES = {
    "add": _saturating("add"), "subtract": _saturating("sub"), "multiply": _saturating("mul"),
    "maximum": _extreme("sgt"), "minimum": _extreme("slt"),
}  # fmt: skip


# -- ops whose operands differ in type, or that compute nothing


def _copy(out: Emitter, op: Op) -> Sequence[str]:
    return [out.operand(op.operands[0])]


def _cast(out: Emitter, op: Op) -> Sequence[str]:
    (operand,) = op.operands
    return [cast_number(out, number_type(operand.type), out.operand(operand), op.attributes["dtype"])]


def _bitcast(out: Emitter, op: Op) -> Sequence[str]:
    (operand,) = op.operands
    return [bitcast_number(out, number_type(operand.type), out.operand(operand), op.attributes["dtype"])]


def _constant(out: Emitter, op: Op) -> Sequence[str]:
    """Literals are written where they are used."""
    type, value = op.result.type, op.attributes["value"]
    number = number_type(type)
    if isinstance(type, Vector):
        if isinstance(value, tuple):
            element = element_type(number.dtype)
            return [f"<{', '.join(f'{element} {literal(lane, number.dtype)}' for lane in value)}>"]
        return [f"splat ({element_type(number.dtype)} {literal(value, number.dtype)})"]
    return [literal(value, number.dtype)]


def _size(out: Emitter, op: Op) -> Sequence[str]:
    """A size that is a number, saturated as what is computed of it; those known only at run time come as arguments."""
    dim = op.attributes["dim"]
    if not isinstance(dim, int):
        raise CompilerBug(f"size: expected a number below the tensor layer, got {dim}", location=op.loc)
    return [str(min(dim, LARGEST))]


# -- complex scalars, which only pass through on their way between slots and libraries


def _part(lane: int) -> Emission:
    def emit(out: Emitter, op: Op) -> Sequence[str]:
        (operand,) = op.operands
        return [out.let(f"extractelement {out.typed(operand)}, i64 {lane}")]

    return emit


def _complex(out: Emitter, op: Op) -> Sequence[str]:
    real, imaginary = op.operands
    text = register_type(op.result.type)
    first = out.let(f"insertelement {text} poison, {out.typed(real)}, i64 0")
    return [out.let(f"insertelement {text} {first}, {out.typed(imaginary)}, i64 1")]


ELEMENTWISE_EMISSION: dict[str, Emission] = {
    **{name: _elementwise for name, _ in [*ARITHMETIC, *PREDICATES]},
    "copy": _copy,
    **SELECT_EMISSION,
    "cast": _cast,
    "bitcast": _bitcast,
    "constant": _constant,
    "size": _size,
    "real": _part(0),
    "imag": _part(1),
    "complex": _complex,
}
