"""Functions of the C library, called lane by lane.

They serve the ops that no expansion has replaced by arithmetic. The object code names them as external functions, which
the process that loads it provides. A vector goes through a helper of its own, one per function and width, so that
kernels stay small.
"""

from __future__ import annotations

from jitflow.backends.llvm.emission.emitter import Emitter
from jitflow.backends.llvm.emission.rows import Arithmetic, Row
from jitflow.backends.llvm.emission.types import Number, lanes_of, register_type

__all__ = ["LIBM", "LIBM_ROWS"]

LIBM = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log1p": "log1p", "log2": "log2", "log10": "log10",
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctan2": "atan2", "hypot": "hypot", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "erf": "erf", "erfc": "erfc", "cbrt": "cbrt", "fmod": "fmod",
    "power": "pow",
}  # fmt: skip
"""The C name of each op for doubles; that for floats has an ``f`` behind it."""


def _call(name: str) -> Arithmetic:
    def emit(out: Emitter, type: Number, *operands: str) -> str:
        element = "float" if type.dtype.name == "f32" else "double"
        function = name + "f" if element == "float" else name
        out.module.declare(function, element, [element] * len(operands))
        lanes = lanes_of(type)
        if not lanes:
            promises = _PURE if name in ("sin", "cos") else f"nobuiltin {_PURE}"
            return out.let(f"call {element} @{function}({_arguments(element, operands)}) {promises}")
        helper = f"jitflow.{function}.{lanes}"
        out.module.define(helper, _lane_by_lane(helper, function, element, lanes, len(operands)))
        text = register_type(type)
        return out.let(f"call {text} @{helper}({_arguments(text, operands)})")

    return emit


_PURE = "memory(none)"
"""LLVM may move and leave out a call. But for a sine and a cosine of the same number, which become one call with the
same bits, it is not to put another function in the place of one."""


def _arguments(type: str, operands: tuple[str, ...]) -> str:
    return ", ".join(f"{type} {operand}" for operand in operands)


def _lane_by_lane(helper: str, function: str, element: str, lanes: int, arity: int) -> str:
    """A loop over the lanes; the lanes pass through memory, where they can be counted."""
    vector = f"<{lanes} x {element}>"
    names = [f"%x{number}" for number in range(arity)]
    lines = [
        f"define internal {vector} @{helper}({', '.join(f'{vector} {name}' for name in names)}) #0 {{",
        "start:",
        *(f"  {name}.lanes = alloca {vector}" for name in names),
        *(f"  store {vector} {name}, ptr {name}.lanes" for name in names),
        "  br label %next",
        "next:",
        "  %lane = phi i64 [ 0, %start ], [ %following, %next ]",
    ]
    for name in names:
        lines.append(f"  {name}.place = getelementptr {element}, ptr {name}.lanes, i64 %lane")
        lines.append(f"  {name}.lane = load {element}, ptr {name}.place")
    lines += [
        f"  %result = call {element} @{function}({', '.join(f'{element} {name}.lane' for name in names)})",
        f"  store {element} %result, ptr %x0.place",
        "  %following = add i64 %lane, 1",
        f"  %more = icmp ult i64 %following, {lanes}",
        "  br i1 %more, label %next, label %end",
        "end:",
        f"  %results = load {vector}, ptr %x0.lanes",
        f"  ret {vector} %results",
        "}",
    ]
    return "\n".join(lines)


LIBM_ROWS: list[Row] = [Row(name, "f", _call(function)) for name, function in LIBM.items()]
