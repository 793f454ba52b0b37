"""What a partial derivative is: a way to scale a small change, the same for tangents and for cotangents.

==============  =====================================================================================================
None            the change does not arrive
1, -1           it arrives as it is, or negated
a value         it is multiplied by the value
`Over`          it is divided by a value: one rounding less than the product with a reciprocal, and no overflow of that.
                Where the value is 0, the slope is infinite, and a change of 0 is still none
`Share`         it arrives where the operand was chosen, half of it where another one was equal
==============  =====================================================================================================

A factor of a complex op acts on cotangents as its conjugate.
"""

from __future__ import annotations

from dataclasses import dataclass

from jitflow.ir.core import Value
from jitflow.ir.types import dims_of
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank

__all__ = ["Factor", "Over", "Share", "scaled", "where"]


@dataclass(frozen=True, eq=False)
class Over:
    """The factor ``1 / value``. ``regular``: nobody expects the value to be 0."""

    value: Value
    regular: bool = False


@dataclass(frozen=True, eq=False)
class Share:
    """The factor 1 where ``chosen``, 0 elsewhere; 1/2 where ``tie`` as well."""

    chosen: Value
    tie: Value


Factor = Value | Over | Share | int | None


def scaled(
    m: Notation, change: Value, factor: Factor, *, adjoint: bool = False, masked: bool = False, unbounded: bool = False
) -> Value | None:
    """A change times a factor, or times its conjugate if ``adjoint``. None where nothing arrives.

    ``masked``: zero where the change is, though the factor be infinite or nan. ``unbounded``: zero where the factor is,
    though the change be infinite.
    """
    if factor is None:
        return None
    if isinstance(factor, int):
        return change if factor == 1 else m("negative", change)
    if isinstance(factor, Share):
        half = where(m, factor.tie, m("multiply", 0.5, change), change)
        return where(m, factor.chosen, half, 0)
    value = factor.value if isinstance(factor, Over) else factor
    if adjoint and dtype_of(value).is_complex:
        value = m("conjugate", value)
    found = m("divide" if isinstance(factor, Over) else "multiply", change, value)
    if masked or (isinstance(factor, Over) and not factor.regular):
        found = where(m, m("not_equal", change, 0), found, 0)
    if unbounded and isinstance(factor, Value):
        found = where(m, m("not_equal", factor, 0), found, 0)
    return found


def where(m: Notation, condition: Value, yes: Value | complex, no: Value | complex) -> Value:
    """``select`` in which numbers may stand beside arrays: at least one of the arms is a value."""
    shape = next((operand for operand in (condition, yes, no) if isinstance(operand, Value) and rank(operand)), None)
    if shape is not None and not rank(condition):
        condition = m("broadcast", condition, dims=dims_of(shape.type), axes=())
    dtype = next(dtype_of(arm) for arm in (yes, no) if isinstance(arm, Value))
    arms = [arm if isinstance(arm, Value) else m.number(arm, dtype) for arm in (yes, no)]
    return m("select", condition, *arms)
