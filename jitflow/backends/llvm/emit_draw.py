"""Draws from NumPy's generators: calls of functions in the context, which are given a generator by its address.

What a generator keeps is no memory of the program's, so a call touches none of that unless it fills it.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emitter import Emission, Emitter
from jitflow.backends.llvm.types import register_type
from jitflow.ir.core import Op
from jitflow.ir.draws import DRAW_PREFIX, DRAWS, FILL_PREFIX

__all__ = ["DRAW_EMISSION"]


def _draw(out: Emitter, op: Op) -> Sequence[str]:
    function = _function(out, DRAW_PREFIX + op.attributes["method"])
    arguments = ", ".join(map(out.typed, op.operands))
    result = register_type(op.result.type)
    return [out.let(f"call {result} {function}({arguments}) nounwind memory(inaccessiblemem: readwrite)")]


def _fill_draws(out: Emitter, op: Op) -> Sequence[str]:
    generator, count, target, *parameters = op.operands
    row, arrays = DRAWS[op.attributes["method"]], op.attributes["arrays"]
    arguments = [out.typed(operand) for operand in (generator, count, target)]
    for place, (dtype, parameter) in enumerate(zip(row.parameters, parameters, strict=True)):
        if place in arrays:
            arguments += [out.typed(parameter), f"i64 {dtype.itemsize}"]
            continue
        room = out.stack("i64")
        out.do(f"store {out.typed(parameter)}, ptr {room}, align 8")
        arguments += [f"ptr {room}", "i64 0"]
    out.do(f"call void {_function(out, FILL_PREFIX + op.attributes['method'])}({', '.join(arguments)}) nounwind")
    return ()


def _function(out: Emitter, symbol: str) -> str:
    return out.let(f"load ptr, ptr {out.at('%context', str(8 * out.module.symbol_slot(symbol)))}, align 8")


DRAW_EMISSION: dict[str, Emission] = {"draw": _draw, "fill_draws": _fill_draws}
