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

from collections.abc import Sequence

from jitflow.ir.core import Value
from jitflow.ir.types import dims_of
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank
from jitflow.records import dataclass

__all__ = ["Factor", "Over", "Share", "difference", "scaled", "settled", "where"]


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
    zeros = []
    if masked or (isinstance(factor, Over) and not factor.regular):
        zeros.append(change)
    if unbounded and isinstance(factor, Value):
        zeros.append(factor)
    return settled(m, found, zeros) if zeros else found


def settled(m: Notation, found: Value, zeros: Sequence[Value]) -> Value:
    """``found``, or 0 where it is nan though one of ``zeros`` is 0: a zero times something infinite.

    Elsewhere ``found`` stays what it is, also where it is 0, so that its own derivative is not lost there.
    """
    none = m("equal", zeros[0], 0)
    for zero in zeros[1:]:
        none = m("logical_or", none, m("equal", zero, 0))
    return where(m, m("logical_and", none, m("isnan", found)), 0, found)


def difference(m: Notation, first: Value, second: Value) -> Value:
    """``first - second``, 0 for two equal infinities: that of equal numbers changes as any other does."""
    found = m("subtract", first, second)
    return where(m, m("logical_and", m("equal", first, second), m("isnan", found)), 0, found)


def where(m: Notation, condition: Value, yes: Value | complex, no: Value | complex) -> Value:
    """``select`` in which numbers may stand beside arrays: at least one of the arms is a value."""
    shape = next((operand for operand in (condition, yes, no) if isinstance(operand, Value) and rank(operand)), None)
    if shape is not None and not rank(condition):
        condition = m("broadcast", condition, dims=dims_of(shape.type), axes=())
    dtype = next(dtype_of(arm) for arm in (yes, no) if isinstance(arm, Value))
    arms = [arm if isinstance(arm, Value) else m.number(arm, dtype) for arm in (yes, no)]
    return m("select", condition, *arms)
