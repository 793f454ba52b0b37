"""Draws from NumPy's generators: calls of functions in the context, which are given a generator by its address.

Single numbers of some kinds are made by functions of the program itself (`pcg64`). These read and write the memory in
which a generator keeps its state, so a call does too, as far as LLVM is told.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.emission.types import register_type
from jitflow.ir.core import Op
from jitflow.ir.draws import DRAW_PREFIX, DRAWS, FILL_PREFIX, NATIVE_PREFIX
from jitflow.runtime.generators.pcg64_text import INTRINSICS, NATIVE_DRAWS

__all__ = ["DRAW_EMISSION"]


def _draw(out: Emitter, op: Op) -> Sequence[str]:
    method = op.attributes["method"]
    arguments, result = [out.typed(operand) for operand in op.operands], register_type(op.result.type)
    if method in NATIVE_DRAWS:
        for name, (returned, parameters) in INTRINSICS.items():
            out.module.declare(name, returned, parameters)
        out.module.define(f"draw.{method}", NATIVE_DRAWS[method])
        function = f'@"draw.{method}"'
        arguments.insert(1, f"ptr {_symbol(out, NATIVE_PREFIX + method)}")
    else:
        function = _symbol(out, DRAW_PREFIX + method)
    return [out.let(f"call {result} {function}({', '.join(arguments)}) nounwind")]


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
    out.do(f"call void {_symbol(out, FILL_PREFIX + op.attributes['method'])}({', '.join(arguments)}) nounwind")
    return ()


def _symbol(out: Emitter, symbol: str) -> str:
    return out.let(
        f"load ptr, ptr {out.at('%context', str(8 * out.module.symbol_slot(symbol)))}, align 8, !invariant.load !2"
    )


DRAW_EMISSION: dict[str, Emission] = {"draw": _draw, "fill_draws": _fill_draws}
