"""Loops, branches and checks.

What a loop carries is a variable, assigned at the end of each turn. A loop that is spread over the grid starts at the
worker's number and strides over all workers; it carries nothing. Positions count elements of arrays, so they do not
overflow when a step leads beyond the end.

A check that fails fills the error record, 64-bit words as `run` of the other backend fills them: the status, the site,
the values. The first to exchange the status keeps it to itself. Then the worker ends; others go on, and what they write
is given up with everything else.
"""

from __future__ import annotations

from contextlib import nullcontext

from jitflow.backends.cuda.printer import Emission, Printer
from jitflow.backends.cuda.types import dtype_of
from jitflow.errors import CompilerBug
from jitflow.ir.core import Op, Value

__all__ = ["CONTROL_EMISSION", "ERROR_WORDS"]

ERROR_WORDS = 16
"""Words of the error record; values beyond them are left out."""

_FAIL = """\
// The first failure takes the record: status, site, values.
__device__ bool fail(u64 *error, i64 site) {
    if (atomicCAS(error, 0ULL, 1ULL) != 0)
        return false;
    error[1] = site;
    return true;
}"""


def _for(out: Printer, op: Op) -> None:
    start, stop, step = (out.operand(value) for value in op.operands[:3])
    (region,) = op.regions
    position, *carried = region.parameters
    axis = out.grid.axis(op)
    if axis is not None and carried:
        raise CompilerBug("expected a parallel loop to carry nothing", location=op.loc)
    variables = [
        out.declare(_named(result, parameter), out.parts(initial))
        for result, parameter, initial in zip(op.results, carried, op.operands[3:], strict=True)
    ]
    name = out.names.fresh(position.name or "i")
    if axis is not None:
        number, count = out.grid.worker(axis.name, out.index)
        start = _scaled(number, axis.step) if start == "0" else f"{start} + {_scaled(number, axis.step)}"
        step = _scaled(count, axis.step)
    for value, texts in zip((position, *carried), ([name], *variables), strict=True):
        out.alias(value, *texts)
    with out.block(f"for ({out.index} {name} = {start}; {_before(name, stop, step, op)}; {name} += {step})"):
        yielded = out.emit_region(region)
        out.assign(variables, yielded, [value.type for value in carried])
    for result, variable in zip(op.results, variables, strict=True):
        out.alias(result, *variable)


def _named(result: Value, parameter: Value) -> Value:
    """Whichever of the two has a name that means something."""
    return result if result.name else parameter


def _scaled(expression: str, factor: int) -> str:
    return expression if factor == 1 else f"{expression} * {factor}"


def _before(position: str, stop: str, step: str, op: Op) -> str:
    """Whether a position comes before the end, in the direction of the step."""
    if step.startswith("(-"):
        return f"{position} > {stop}"
    if step.rstrip("L").isdigit() or op.attributes.get("parallel"):
        return f"{position} < {stop}"
    return f"{step} > 0 ? {position} < {stop} : {position} > {stop}"


def _while(out: Printer, op: Op) -> None:
    condition, body = op.regions
    variables = [
        out.declare(_named(result, parameter), out.parts(initial))
        for result, parameter, initial in zip(op.results, condition.parameters, op.operands, strict=True)
    ]
    for parameters in (condition.parameters, body.parameters):
        for parameter, variable in zip(parameters, variables, strict=True):
            out.alias(parameter, *variable)
    with out.block("for (;;)"):
        ((proceed,),) = out.emit_region(condition)
        out.do(f"if (!{proceed}) break;")
        yielded = out.emit_region(body)
        out.assign(variables, yielded, [value.type for value in body.parameters])
    for result, variable in zip(op.results, variables, strict=True):
        out.alias(result, *variable)


def _if(out: Printer, op: Op) -> None:
    then, otherwise = op.regions
    types = [result.type for result in op.results]
    variables = [out.declare(result) for result in op.results]
    out.do(f"if ({out.operand(op.operands[0])}) {{")
    with out.indented():
        out.assign(variables, out.emit_region(then), types)
    if otherwise.body or variables:
        out.do("} else {")
        with out.indented():
            out.assign(variables, out.emit_region(otherwise), types)
    out.do("}")
    for result, variable in zip(op.results, variables, strict=True):
        out.alias(result, *variable)


def _check(out: Printer, op: Op) -> None:
    condition, *values = op.operands
    out.module.helper("fail", _FAIL)
    text = out.operand(condition)
    with nullcontext() if text == "false" else out.block(f"if (!{text})"):
        with out.block(f"if (fail(error, {out.module.site(op)}))"):
            for word, value in enumerate(values[: ERROR_WORDS - 2], 2):
                out.do(f"error[{word}] = {_word(out, value)};")
        out.do("return;")


def _word(out: Printer, value: Value) -> str:
    """A number as 64 bits: floats as their bits, integers extended."""
    dtype, text = dtype_of(value.type), out.operand(value)
    if dtype.name == "f64":
        return f"__double_as_longlong({text})"
    return f"__float_as_uint({text})" if dtype.name == "f32" else f"(i64){text}"


def _yield(out: Printer, op: Op) -> None:
    raise CompilerBug("expected yield to be written by the op that owns its region")


CONTROL_EMISSION: dict[str, Emission] = {
    "for": _for,
    "while": _while,
    "if": _if,
    "check": _check,
    "yield": _yield,
}
