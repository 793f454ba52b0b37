"""Arithmetic: what is written for each op and class of dtype, and the ops that only look at bits.

*Integers* wrap around, which in C++ only unsigned ones do, and those narrower than ``int`` are promoted: so sums,
products and shifts are computed in ``u32`` or ``u64`` and cut to their width. Divisors and amounts come guarded. Sizes
are plain i64: memory is too small for them to overflow.

*Floats* are IEEE 754, rounded to nearest. That products and sums are not contracted, and that quotients and roots are
rounded correctly, are options of the compiler (`nvrtc.OPTIONS`); ``fma`` is explicit. The rules for nan and signed
zeros are those of the other backend, in the same order of comparisons.
"""

from __future__ import annotations

from collections.abc import Callable

from jitflow.backends.cuda.printer import Emission, Printer, part_by_part
from jitflow.backends.cuda.types import class_of, dtype_of, literal, parts_of, register_type, unsigned
from jitflow.errors import CompilerBug
from jitflow.ir.core import Op
from jitflow.ir.dtypes import BOOL, F16, F32, DType
from jitflow.ir.types import Scalar

__all__ = ["ARITHMETIC", "ARITHMETIC_EMISSION", "FLOAT_TO_HALF", "combine"]

Arithmetic = Callable[..., str]
"""``(printer, dtype of the operands, *operands) -> expression``."""


def _plain(operator: str) -> Arithmetic:
    """The operator of C++, exact for operands of this class whatever they are promoted to."""
    return lambda out, dtype, a, b: f"{a} {operator} {b}"


def _prefix(operator: str) -> Arithmetic:
    return lambda out, dtype, a: f"{operator}{a}"


def _wrapping(operator: str) -> Arithmetic:
    """One unsigned operand makes the other one so."""
    return lambda out, dtype, a, b: _cut(dtype, f"({unsigned(dtype)}){a} {operator} {b}")


def _cut(dtype: DType, expression: str) -> str:
    """An unsigned result as the dtype; where that is the type of the result already, as it is."""
    return expression if dtype.name == unsigned(dtype) else f"({dtype.name})({expression})"


def _promoted(operator: str) -> Arithmetic:
    """An operator whose result fits into the dtype once it is computed in ``int`` or wider."""
    return lambda out, dtype, a, b: (
        f"({dtype.name})({a} {operator} {b})" if dtype.itemsize < 4 else f"{a} {operator} {b}"
    )


def _negative(out: Printer, dtype: DType, a: str) -> str:
    return _cut(dtype, f"0 - ({unsigned(dtype)}){a}")


def _left_shift(out: Printer, dtype: DType, a: str, b: str) -> str:
    return _cut(dtype, f"({unsigned(dtype)}){a} << {b}")


def _multiply_high(out: Printer, dtype: DType, a: str, b: str) -> str:
    """Through a type that holds the product, or by the instruction for it."""
    if dtype.itemsize < 4:
        return f"({dtype.name})(({'i' if dtype.kind == 'i' else 'u'}32){a} * {b} >> {dtype.bits})"
    return f"__{'' if dtype.kind == 'i' else 'u'}mul{'64' if dtype.itemsize == 8 else ''}hi({a}, {b})"


def _sum_overflows(out: Printer, dtype: DType, a: str, b: str) -> str:
    total = _wrapping("+")(out, dtype, a, b)
    return f"(({a} ^ {total}) & ({b} ^ {total})) < 0"


def _difference_overflows(out: Printer, dtype: DType, a: str, b: str) -> str:
    return f"(({a} ^ {b}) & ({a} ^ {_wrapping('-')(out, dtype, a, b)})) < 0"


def _product_overflows(out: Printer, dtype: DType, a: str, b: str) -> str:
    """The upper half of the product must repeat the sign of the lower one."""
    product = _wrapping("*")(out, dtype, a, b)
    if dtype.itemsize < 8:
        return f"(i64){a} * {b} != {product}"
    return f"__mul64hi({a}, {b}) != ({product} >> 63)"


def _choice(operator: str) -> Arithmetic:
    """The larger or smaller integer."""
    return lambda out, dtype, a, b: f"{a} {operator} {b} ? {a} : {b}"


_EXTREMUM = """\
__device__ {type} {name}({type} a, {type} b) {{
    const {type} best = a {operator} b ? a : b;
    return {suspect} != {suspect} ? a : best;
}}"""


def _extremum(name: str, operator: str, suspect: str) -> Arithmetic:
    """The better one, the second of equals; then a nan in ``a`` wins, or one in ``b`` loses, as ``suspect`` says."""

    def write(out: Printer, dtype: DType, a: str, b: str) -> str:
        function = f"{name}_{dtype.name}"
        text = _EXTREMUM.format(type=dtype.name, name=function, operator=operator, suspect=suspect)
        out.module.helper(function, text)
        return f"{function}({a}, {b})"

    return write


def _function(name: str) -> Arithmetic:
    """A function of CUDA's mathematics library; that for floats has an ``f`` behind it."""
    return lambda out, dtype, *operands: f"{name}{'f' if dtype == F32 else ''}({', '.join(operands)})"


def _fmod(out: Printer, dtype: DType, a: str, b: str) -> str:
    """In f64 also for f32, where it is exact too: CUDA's function for f32 divides approximately on its way."""
    return f"(f32)fmod((f64){a}, (f64){b})" if dtype == F32 else f"fmod({a}, {b})"


def _fma(out: Printer, dtype: DType, a: str, b: str, c: str) -> str:
    return f"{'__fmaf_rn' if dtype == F32 else '__fma_rn'}({a}, {b}, {c})"


def _is_nan(out: Printer, dtype: DType, a: str) -> str:
    return f"{a} != {a}"


def _against_infinity(operator: str) -> Arithmetic:
    def write(out: Printer, dtype: DType, a: str) -> str:
        return f"{_function('fabs')(out, dtype, a)} {operator} {literal(float('inf'), dtype)}"

    return write


def _sign_bit(out: Printer, dtype: DType, a: str) -> str:
    return f"{'__float_as_int' if dtype == F32 else '__double_as_longlong'}({a}) < 0"


_COMPARISONS = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip

_LIBRARY = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log1p": "log1p", "log2": "log2", "log10": "log10",
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctan2": "atan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "erf": "erf", "erfc": "erfc", "cbrt": "cbrt", "power": "pow",
}  # fmt: skip

_INTEGERS: dict[str, Arithmetic] = {
    **{name: _plain(operator) for name, operator in _COMPARISONS.items()},
    "add": _wrapping("+"),
    "subtract": _wrapping("-"),
    "multiply": _wrapping("*"),
    "negative": _negative,
    "divide_truncated": _promoted("/"),
    "remainder_truncated": _promoted("%"),
    "multiply_high": _multiply_high,
    "bitwise_and": _promoted("&"),
    "bitwise_or": _promoted("|"),
    "bitwise_xor": _promoted("^"),
    "bitwise_not": lambda out, dtype, a: f"({dtype.name})~{a}" if dtype.itemsize < 4 else f"~{a}",
    "left_shift": _left_shift,
    "right_shift": _promoted(">>"),
    "maximum": _choice(">"),
    "minimum": _choice("<"),
    "fmax": _choice(">"),
    "fmin": _choice("<"),
}

ARITHMETIC: dict[str, dict[str, Arithmetic]] = {
    "bool": {
        "logical_and": _plain("&&"),
        "logical_or": _plain("||"),
        "logical_xor": _plain("!="),
        "logical_not": _prefix("!"),
    },
    "signed": {
        **_INTEGERS,
        "add_overflows": _sum_overflows,
        "subtract_overflows": _difference_overflows,
        "multiply_overflows": _product_overflows,
    },
    "unsigned": _INTEGERS,
    "index": {
        **{name: _plain(operator) for name, operator in _COMPARISONS.items()},
        "add": _plain("+"),
        "subtract": _plain("-"),
        "multiply": _plain("*"),
        "divide_truncated": _plain("/"),
        "remainder_truncated": _plain("%"),
        "maximum": _choice(">"),
        "minimum": _choice("<"),
    },
    "float": {
        **{name: _plain(operator) for name, operator in _COMPARISONS.items()},
        **{name: _function(function) for name, function in _LIBRARY.items()},
        "add": _plain("+"),
        "subtract": _plain("-"),
        "multiply": _plain("*"),
        "divide": _plain("/"),
        "negative": _prefix("-"),
        "absolute": _function("fabs"),
        "fma": _fma,
        "fmod": _fmod,
        "sqrt": _function("sqrt"),
        "floor": _function("floor"),
        "ceil": _function("ceil"),
        "trunc": _function("trunc"),
        "rint": _function("rint"),
        "copysign": _function("copysign"),
        "maximum": _extremum("maximum", ">", "a"),
        "minimum": _extremum("minimum", "<", "a"),
        "fmax": _extremum("fmax", ">", "b"),
        "fmin": _extremum("fmin", "<", "b"),
        "isnan": _is_nan,
        "isinf": _against_infinity("=="),
        "isfinite": _against_infinity("<"),
        "signbit": _sign_bit,
    },
}
"""By class of dtype, then by op."""


def combine(out: Printer, name: str, dtype: DType, *operands: str) -> str:
    """An expression for the op ``name`` on operands of a dtype. Raises `CompilerBug` where there is no row."""
    return _row(name, class_of(Scalar(dtype)))(out, dtype, *operands)


def _row(name: str, kind: str) -> Arithmetic:
    try:
        return ARITHMETIC[kind][name]
    except KeyError:
        raise CompilerBug(f"expected an op that CUDA has for {kind}, got {name}") from None


def _arithmetic(out: Printer, op: Op) -> None:
    type = op.operands[0].type
    operands = [out.operand(operand) for operand in op.operands]
    out.let(op.result, _row(op.name, class_of(type))(out, dtype_of(type), *operands))


# -- ops that serve every dtype


def _select(out: Printer, op: Op) -> None:
    condition, yes, no = (out.operand(operand) for operand in op.operands)
    out.let(op.result, f"{condition} ? {yes} : {no}")


_HALF_TO_FLOAT = """\
__device__ f32 half_to_float(u16 bits) {
    f32 number;
    asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(bits));
    return number;
}"""

FLOAT_TO_HALF = """\
__device__ u16 float_to_half(f32 number) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(number));
    return bits;
}"""


def _cast(out: Printer, op: Op) -> None:
    """C++'s conversions round as NumPy's do: integers to the nearest float, floats towards zero."""
    (operand,) = op.operands
    source, target, text = dtype_of(operand.type), op.attributes["dtype"], out.operand(operand)
    if source == target and out.type(operand.type) == out.type(op.result.type):
        out.alias(op.result, text)
    elif source == target:
        out.let(op.result, f"({target.name}){text}")
    elif (source, target) == (F16, F32):
        out.module.helper("half_to_float", _HALF_TO_FLOAT)
        out.let(op.result, f"half_to_float({text})")
    elif (source, target) == (F32, F16):
        out.module.helper("float_to_half", FLOAT_TO_HALF)
        out.let(op.result, f"float_to_half({text})")
    elif class_of(Scalar(source)) in _CONVERTIBLE and class_of(Scalar(target)) in _CONVERTIBLE:
        out.let(op.result, f"({target.name}){text}")
    else:
        raise CompilerBug(f"expected a conversion that is primitive, got {source} to {target}", location=op.loc)


_CONVERTIBLE = ("signed", "unsigned", "float")

_REINTERPRETED = {
    ("f32", "i32"): "__float_as_int", ("f32", "u32"): "__float_as_uint",
    ("i32", "f32"): "__int_as_float", ("u32", "f32"): "__uint_as_float",
    ("f64", "i64"): "__double_as_longlong", ("i64", "f64"): "__longlong_as_double",
    ("f64", "u64"): "(u64)__double_as_longlong", ("u64", "f64"): "__longlong_as_double",
}  # fmt: skip


def _bitcast(out: Printer, op: Op) -> None:
    """The same bits; a bool is the lowest bit of its byte."""
    (operand,) = op.operands
    source, target, text = dtype_of(operand.type), op.attributes["dtype"], out.operand(operand)
    function = _REINTERPRETED.get((source.name, target.name))
    if function is not None:
        out.let(op.result, f"{function}({text})")
    elif target == BOOL and source != BOOL:
        out.let(op.result, f"({text} & 1) != 0")
    elif register_type(source) == register_type(target):
        out.alias(op.result, text)
    else:
        out.let(op.result, f"({register_type(target)}){text}")


def _constant(out: Printer, op: Op) -> None:
    """Literals are written where they are used."""
    value = op.attributes["value"]
    if isinstance(value, tuple):
        raise CompilerBug("expected one number for all lanes, got a constant for each", location=op.loc)
    out.alias(op.result, *[literal(value, dtype_of(op.result.type))] * parts_of(op.result.type))


def _size(out: Printer, op: Op) -> None:
    """A size that is a number; sizes known only at run time come as arguments."""
    dim = op.attributes["dim"]
    if not isinstance(dim, int):
        raise CompilerBug(f"size: expected a number below the tensor layer, got {dim}", location=op.loc)
    out.alias(op.result, literal(dim, dtype_of(op.result.type)))


def _copy(out: Printer, op: Op) -> None:
    out.alias(op.result, out.operand(op.operands[0]))


ARITHMETIC_EMISSION: dict[str, Emission] = {
    **{name: part_by_part(_arithmetic) for rows in ARITHMETIC.values() for name in rows},
    "select": part_by_part(_select),
    "cast": part_by_part(_cast),
    "bitcast": part_by_part(_bitcast),
    "constant": _constant,
    "size": _size,
    "copy": part_by_part(_copy),
}
