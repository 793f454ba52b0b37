"""Simplification rules about numbers: conversions, single numbers spread over arrays, sizes, exact reciprocals."""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from jitflow.ir.core import Op
from jitflow.ir.dims import Dim, maximum, minimum
from jitflow.ir.dtypes import DType
from jitflow.ir.types import Index, Scalar, Tensor, Vector, dims_of
from jitflow.passes.analyses.comparisons import COMPARISONS
from jitflow.passes.analyses.integers import is_integer
from jitflow.passes.rules.rewrite import Replacement, Rewriter, Rule, dtype_of_value
from jitflow.passes.values.fold import ELEMENTWISE

__all__ = ["NUMBER_RULES", "divide_by_constant", "holds_exactly"]

_MANTISSA = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53, "c64": 24, "c128": 53}
_EXPONENT = {"f16": 5, "bf16": 8, "f32": 8, "f64": 11, "c64": 8, "c128": 11}
_CHECKED = (
    "add", "subtract", "multiply", "negative", "divide", "floor_divide", "remainder", "left_shift", "right_shift",
)  # fmt: skip
_UNDECIDED: WeakKeyDictionary[Op, int] = WeakKeyDictionary()
"""How many facts were known where a comparison could not be decided: with no more it is not asked again."""
_INDEX_ARITHMETIC = ("add", "subtract", "multiply", "floor_divide", "remainder", "minimum", "maximum")


def holds_exactly(target: DType, source: DType) -> bool:
    """Whether every value of ``source`` is a value of ``target``."""
    if source == target or source.kind == "b":
        return True
    if source.is_integer:
        bits = source.bits - (source.kind == "i")
        if target.is_integer:
            return target.bits - (target.kind == "i") >= bits and (target.kind == "i" or source.kind == "u")
        return target.name in _MANTISSA and _MANTISSA[target.name] >= bits and target.name != "f16"
    if target.kind not in "fc" or (source.is_complex and not target.is_complex):
        return False
    return (
        _MANTISSA[target.name] >= _MANTISSA[source.name] and _EXPONENT[target.name] >= _EXPONENT[source.name]
    )  # fmt: skip


def _cast_nothing(op: Op, rewriter: Rewriter) -> Replacement:
    return op.operands[0] if op.operands[0].type == op.result.type else None


def _cast_of_number(op: Op, rewriter: Rewriter) -> Replacement:
    """The number in a 0-d array that is a view of a number."""
    spread = rewriter.producer(op.operands[0], "broadcast", "reshape")
    if spread is None or dims_of(op.operands[0].type) or not isinstance(spread.operands[0].type, Scalar):
        return None
    return rewriter.make("cast", spread.operands[0], **op.attributes)


def _cast_cast(op: Op, rewriter: Rewriter) -> Replacement:
    """Two conversions are one if the first loses nothing.

    The second must not depend on where its operand came from: an integer that went through a float must fit the
    integer that comes out (conversions of floats out of range are not modular), and NumPy rounds twice on the way from
    wide numbers to the 16-bit floats, so these are left alone.
    """
    inner = rewriter.producer(op.operands[0], "cast")
    if inner is None:
        return None
    source, middle, target = dtype_of_value(inner.operands[0]), inner.attributes["dtype"], op.attributes["dtype"]
    if source is None or not holds_exactly(middle, source):
        return None
    through_float = source.kind in "biu" and middle.kind in "fc" and target.is_integer
    to_half = target.name in ("f16", "bf16") and source.name not in ("bool", "f16", "bf16", "f32")
    if (through_float and not holds_exactly(target, source)) or to_half or (source.kind == "c") != (middle.kind == "c"):
        return None
    attributes = {key: value for key, value in op.attributes.items() if key != "dtype"}
    return rewriter.make("cast", inner.operands[0], dtype=target, **attributes)


def _bitcast_bitcast(op: Op, rewriter: Rewriter) -> Replacement:
    inner = rewriter.producer(op.operands[0], "bitcast")
    return rewriter.make("bitcast", inner.operands[0], dtype=op.attributes["dtype"]) if inner else None


def _scalars_first(op: Op, rewriter: Rewriter) -> Replacement:
    """An op on arrays of one number each computes that number once. Not powers: NumPy's fast ones look at arrays."""
    kind = op.result.type if op.results else None
    if not isinstance(kind, Tensor) or not kind.dims or op.own_effects or op.name in ("power", "copy"):
        return None
    numbers = []
    for operand in op.operands:
        if isinstance(operand.type, Scalar):
            numbers.append(operand)
            continue
        spread = rewriter.producer(operand, "broadcast")
        if spread is None or not isinstance(spread.operands[0].type, Scalar):
            return None
        numbers.append(spread.operands[0])
    result = rewriter.make(op.name, *numbers, **op.attributes)
    return rewriter.make("broadcast", result, dims=kind.dims, axes=())


def _compared_first(op: Op, rewriter: Rewriter) -> Replacement:
    """What is compared with a number is compared before it is repeated along further axes."""
    spread = next((found for operand in op.operands if (found := rewriter.producer(operand, "broadcast"))), None)
    if spread is None or not 0 < len(dims_of(spread.operands[0].type)) < len(dims_of(op.result.type)):
        return None
    if not all(operand is spread.result or isinstance(operand.type, Scalar) for operand in op.operands):
        return None
    bare = [spread.operands[0] if operand is spread.result else operand for operand in op.operands]
    return rewriter.make("broadcast", rewriter.make(op.name, *bare, **op.attributes), **spread.attributes)


def _scalar_beside(op: Op, rewriter: Rewriter) -> Replacement:
    """A number that was spread over the shape of the other operands goes in as it is."""
    if len(op.operands) < 2 or op.name == "power" or not op.results:
        return None
    bare = []
    for operand in op.operands:
        spread = rewriter.producer(operand, "broadcast")
        number = spread is not None and isinstance(spread.operands[0].type, Scalar)
        bare.append(spread.operands[0] if spread is not None and number else operand)
    shaped = any(isinstance(value.type, Tensor) and value.type.dims for value in bare)
    if not shaped or all(a is b for a, b in zip(bare, op.operands, strict=True)):
        return None
    return rewriter.make(op.name, *bare, **op.attributes)


def _power_half(op: Op, rewriter: Rewriter) -> Replacement:
    """NumPy computes ``array ** 0.5`` as sqrt, which differs from pow for -0.0 and -inf; pow serves two numbers."""
    base, exponent = op.operands
    if not isinstance(base.type, Tensor) or not base.type.dims or not isinstance(exponent.type, Scalar):
        return None
    if not base.type.dtype.is_float or rewriter.constant(exponent) != 0.5 or op.own_effects:
        return None
    return rewriter.make("sqrt", base)


def divide_by_constant(name: str, exact: bool) -> Rule:
    """Division by a number as multiplication with its reciprocal; if ``exact`` only where that rounds nothing."""

    def apply(op: Op, rewriter: Rewriter) -> Replacement:
        dividend, divisor = op.operands
        number, dtype = rewriter.constant(divisor), dtype_of_value(divisor)
        if op.own_effects or dtype is None or not dtype.is_float or not _has_reciprocal(number, dtype, exact):
            return None
        kind = divisor.type if isinstance(divisor.type, Scalar | Vector) else Scalar(dtype)
        return rewriter.make("multiply", dividend, rewriter.number(1.0 / number, kind))

    return Rule(name, ("divide",), "divide(x, c) -> multiply(x, 1 / c)", apply)


def _has_reciprocal(number: Any, dtype: DType, exact: bool) -> bool:
    if not isinstance(number, float) or not math.isfinite(number) or number == 0.0:
        return False
    mantissa, exponent = math.frexp(number)
    if exact and abs(mantissa) != 0.5:
        return False
    # Neither the number nor its reciprocal may be subnormal.
    smallest = float(np.finfo(dtype.numpy).smallest_normal) if dtype.name in ("f16", "f32", "f64") else 2.0**-126
    return abs(number) * smallest <= 1.0 and abs(number) >= smallest and abs(exponent) < 1000


def _dims_of_sizes(op: Op) -> tuple[Dim, Dim] | None:
    """What two index operands are known to equal."""
    kinds = [operand.type for operand in op.operands]
    if len(kinds) == 2 and isinstance(kinds[0], Index) and isinstance(kinds[1], Index):
        left, right = kinds[0].dim, kinds[1].dim
        return None if left is None or right is None else (left, right)
    return None


def _size_arithmetic(op: Op, rewriter: Rewriter) -> Replacement:
    dims = _dims_of_sizes(op)
    if dims is None or rewriter.function.layer != "tensor":
        return None
    left, right = dims
    if op.name not in ("add", "subtract", "multiply") and any(map(rewriter.may_be_negative, dims)):
        return None
    if op.name in ("floor_divide", "remainder"):
        if not isinstance(right, int) or right == 0:
            return None
        return rewriter.make("size", dim=left // right if op.name == "floor_divide" else left % right)
    if op.name == "add":
        return rewriter.make("size", dim=left + right)
    if op.name == "subtract":
        return rewriter.make("size", dim=left - right)
    if op.name == "multiply":
        return rewriter.make("size", dim=left * right)
    return rewriter.make("size", dim=minimum(left, right) if op.name == "minimum" else maximum(left, right))


def _integer_comparison(op: Op, rewriter: Rewriter) -> Replacement:
    """Comparisons that are decided by what is known of sizes, positions of loops, and what is computed from them."""
    known = rewriter.integers.bounds.mark()
    if not isinstance(op.result.type, Scalar) or known <= _UNDECIDED.get(op, -1):
        return None
    if not all(map(is_integer, op.operands)):
        return None
    answer = rewriter.integers.decide(op)
    if answer is None:
        _UNDECIDED[op] = known
        return None
    return rewriter.number(answer, op.result.type)


def _decided_extreme(op: Op, rewriter: Rewriter) -> Replacement:
    """The larger or smaller of two integers, if it is known which one that is."""
    if not isinstance(op.result.type, Scalar) or not all(map(is_integer, op.operands)):
        return None
    difference = rewriter.integers.difference(*op.operands)
    if op.name == "minimum":
        difference = -difference
    return op.operands[0] if rewriter.holds(difference) else op.operands[1] if rewriter.holds(-difference) else None


def _checked_for_nothing(op: Op, rewriter: Rewriter) -> Replacement:
    """Python's arithmetic that never raises here: ints that do not overflow, a divisor that is a number."""
    if not op.attributes.get("checked") or not isinstance(op.result.type, Scalar):
        return None
    if op.name in ("divide", "floor_divide", "remainder"):
        divisor = rewriter.constant(op.operands[1])
        # Of floats only ``/`` is the same op for Python and NumPy, of ints only the others.
        same = op.result.type.dtype.is_float == (op.name == "divide") and op.operands[0].type == op.result.type
        harmless = same and divisor not in (None, 0, -1) and divisor == divisor
    else:
        harmless = rewriter.integers.fits(op)
    if not harmless:
        return None
    return rewriter.make(op.name, *op.operands, **{key: v for key, v in op.attributes.items() if key != "checked"})


def _by_power_of_two(op: Op, rewriter: Rewriter) -> Replacement:
    """Division of integers rounds down, as a shift does, and what remains are the lower bits."""
    divisor, kind = rewriter.constant(op.operands[1]), op.operands[0].type
    integers = (
        not isinstance(kind, Index) and (dtype := dtype_of_value(op.operands[0])) is not None and dtype.is_integer
    )
    if not integers or op.own_effects or not isinstance(divisor, int) or divisor < 2 or divisor & (divisor - 1):
        return None
    if op.name == "floor_divide":
        return rewriter.make(
            "right_shift", op.operands[0], rewriter.number(divisor.bit_length() - 1, op.operands[1].type)
        )
    return rewriter.make("bitwise_and", op.operands[0], rewriter.number(divisor - 1, op.operands[1].type))


def _smaller_or_larger(op: Op, rewriter: Rewriter) -> Replacement:
    """The smaller or larger of two integers, which are all ordered, as Python's min and max compute it.

    Of an array of floats and a number other than 0 and nan, if what is nan is taken, as np.clip computes it. Between
    two numbers a selection is one instruction, and a minimum, which hands nan on from both sides, is more.
    """
    condition, *options = op.operands
    compare = rewriter.producer(condition, "less", "less_equal", "greater", "greater_equal")
    if compare is None or tuple(options) not in (compare.operands, compare.operands[::-1]):
        return None
    number = rewriter.constant(options[0])
    are_clipped = bool(dims_of(op.result.type)) and isinstance(number, float) and abs(number) > 0
    are_ordered = all(map(is_integer, options)) or are_clipped
    if not are_ordered or isinstance(options[0].type, Index):
        return None
    straight = options[0] is compare.operands[0]
    name = "minimum" if straight == compare.name.startswith("less") else "maximum"
    return rewriter.make(name, *compare.operands)


def _nothing_times_a_number(op: Op, rewriter: Rewriter) -> Replacement:
    """Nothing times a number, or over one that is not 0, is nothing: derivatives ask it of every factor."""
    flags = [rewriter.producer(operand, "isnan", "equal") for operand in op.operands]
    isnan, equal = (next((one for one in flags if one and one.name == name), None) for name in ("isnan", "equal"))
    if isnan is None or equal is None or rewriter.constant(equal.operands[1]) != 0:
        return None
    scaled = rewriter.producer(isnan.operands[0], "multiply", "divide")
    if scaled is None or equal.operands[0] not in scaled.operands:
        return None
    value, number = equal.operands[0], rewriter.constant(scaled.operands[1])
    if scaled.name == "multiply" and number is None:
        number = rewriter.constant(scaled.operands[0])
    elif scaled.operands[0] is not value:
        return None
    is_harmless = isinstance(number, int | float) and math.isfinite(number) and (scaled.name == "multiply" or number)
    return rewriter.number(False, op.result.type) if is_harmless else None


def _index_and_back(op: Op, rewriter: Rewriter) -> Replacement:
    inner = rewriter.producer(op.operands[0], "cast")
    if inner is None or "binds" in op.attributes or not isinstance(inner.operands[0].type, Index):
        return None
    return inner.operands[0] if inner.attributes["dtype"].name == "i64" else None


def _store_number(op: Op, rewriter: Rewriter) -> Replacement:
    """Storing a number that is spread over the place is storing the number."""
    spread = rewriter.producer(op.operands[1], "broadcast")
    if spread is None or dims_of(spread.operands[0].type):
        return None
    return rewriter.add("store", op.operands[0], spread.operands[0])


NUMBER_RULES = (
    Rule("cast_nothing", ("cast", "bitcast"), "cast(x) -> x of that type", _cast_nothing),
    Rule("cast_of_number", ("cast",), "cast(0-d view(a)) -> cast(a)", _cast_of_number, ("broadcast", "reshape")),
    Rule("cast_cast", ("cast",), "cast(cast(x)) -> cast(x) if the inner one is exact", _cast_cast, ("cast",)),
    Rule("bitcast_bitcast", ("bitcast",), "bitcast(bitcast(x)) -> bitcast(x)", _bitcast_bitcast, ("bitcast",)),
    Rule("scalars_first", ELEMENTWISE, "op(broadcast(a), broadcast(b)) -> broadcast(op(a, b))",
         _scalars_first, ("broadcast",)),
    Rule("compared_first", COMPARISONS, "broadcast(x) != a -> broadcast(x != a)", _compared_first, ("broadcast",)),
    Rule("scalar_beside", ELEMENTWISE, "op(x, broadcast(a)) -> op(x, a)", _scalar_beside, ("broadcast",)),
    Rule("power_half", ("power",), "power(array, 0.5) -> sqrt(array)", _power_half),
    divide_by_constant("divide_by_power_of_two", exact=True),
    Rule("size_arithmetic", _INDEX_ARITHMETIC, "size(a) + size(b) -> size(a + b)", _size_arithmetic),
    Rule("integer_comparison", COMPARISONS, "a < b -> True or False if known", _integer_comparison),
    Rule("decided_extreme", ("maximum", "minimum"), "maximum(a, b) -> a if a >= b is known", _decided_extreme),
    Rule("by_power_of_two", ("floor_divide", "remainder"), "x // 2**k -> x >> k, x % 2**k -> x & (2**k - 1)",
         _by_power_of_two),
    Rule("smaller_or_larger", ("select",),
         "select(a < b, a, b) -> minimum(a, b) of integers, or of an array and a number a",
         _smaller_or_larger),
    Rule("nothing_times_a_number", ("logical_and",), "x == 0 and isnan(x * c) -> False if c is finite",
         _nothing_times_a_number, ("isnan",)),
    Rule("checked_for_nothing", _CHECKED, "a + b, checked -> a + b if it fits", _checked_for_nothing),
    Rule("store_number", ("store",), "store(p, broadcast(a)) -> store(p, a)", _store_number, ("broadcast",)),
    Rule("index_and_back", ("to_index",), "to_index(cast(i)) -> i", _index_and_back, ("cast",)),
)  # fmt: skip
