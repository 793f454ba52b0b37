"""The machine for which the expansions write code.

An elementary function is expanded into the primitive operations of this
protocol. Whoever implements it decides what a value is: a backend emits
instructions for vectors, another one prints CUDA C++, a test evaluates.
Nothing here knows about arrays; every operation is one lane wide in meaning
and as wide as the implementer likes in fact.

Dtypes are the strings "f32", "f64", "i32", "i64", "u32", "u64" and "bool".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

V = TypeVar("V")


class Machine(Protocol[V]):
    """One method per primitive operation, named as NumPy names it.

    Floating-point operations are IEEE 754 with rounding to nearest, with
    denormals, infinities and NaN, and are neither reassociated nor contracted.
    Integers wrap around. Both operands of an operation have the same dtype,
    except where it is said otherwise.
    """

    def dtype(self, x: V) -> str:
        """The dtype of a value."""
        ...

    def constant(self, value: float, dtype: str) -> V:
        """A value that is the same in all lanes, rounded to nearest if need be."""
        ...

    def add(self, a: V, b: V) -> V: ...

    def subtract(self, a: V, b: V) -> V: ...

    def multiply(self, a: V, b: V) -> V: ...

    def divide(self, a: V, b: V) -> V:
        """The quotient of floats; integers are never divided."""
        ...

    def negative(self, x: V) -> V: ...

    def absolute(self, x: V) -> V: ...

    def fma(self, a: V, b: V, c: V) -> V:
        """Compute a * b + c of floats with a single rounding, whatever it costs."""
        ...

    def sqrt(self, x: V) -> V: ...

    def floor(self, x: V) -> V: ...

    def ceil(self, x: V) -> V: ...

    def trunc(self, x: V) -> V: ...

    def rint(self, x: V) -> V:
        """The nearest integer, ties to even, as a float."""
        ...

    def copysign(self, magnitude: V, sign: V) -> V: ...

    def less(self, a: V, b: V) -> V:
        """A mask; like all comparisons but not_equal, false where either is NaN."""
        ...

    def less_equal(self, a: V, b: V) -> V: ...

    def greater(self, a: V, b: V) -> V: ...

    def greater_equal(self, a: V, b: V) -> V: ...

    def equal(self, a: V, b: V) -> V: ...

    def not_equal(self, a: V, b: V) -> V:
        """A mask; true where either is NaN."""
        ...

    def select(self, mask: V, a: V, b: V) -> V:
        """Take a where the mask is set, and b elsewhere; both are computed."""
        ...

    def logical_and(self, a: V, b: V) -> V: ...

    def logical_or(self, a: V, b: V) -> V: ...

    def logical_not(self, x: V) -> V: ...

    def bitwise_and(self, a: V, b: V) -> V: ...

    def bitwise_or(self, a: V, b: V) -> V: ...

    def bitwise_xor(self, a: V, b: V) -> V: ...

    def bitwise_not(self, x: V) -> V: ...

    def left_shift(self, x: V, amount: V) -> V:
        """The amount is of x's dtype and always less than its width."""
        ...

    def right_shift(self, x: V, amount: V) -> V:
        """Arithmetic for signed integers, logical for unsigned ones."""
        ...

    def multiply_high(self, a: V, b: V) -> V:
        """The upper word of the product of two unsigned integers; dear on vectors."""
        ...

    def cast(self, x: V, dtype: str) -> V:
        """Convert by value.

        Float to integer truncates and is asked for only where every lane is in
        range; integer to float and f64 to f32 round to nearest; between
        integers the value is extended or cut off.
        """
        ...

    def bitcast(self, x: V, dtype: str) -> V:
        """Reinterpret the bits as another dtype of the same width."""
        ...

    def if_any(self, mask: V, then: Callable[[], tuple[V, ...]], otherwise: tuple[V, ...]) -> tuple[V, ...]:
        """Run `then` where it pays: a branch that all lanes take together.

        Where no lane of the mask is set the result is `otherwise`; where any
        is, it is what `then()` yields, in all lanes. `then` therefore selects
        between its own results and `otherwise` itself.
        """
        ...

    def in_rare_lanes(self, mask: V, compute: Callable[[V], V], x: V, otherwise: V) -> V:
        """Select `compute(x)` where the mask is set, and `otherwise` elsewhere.

        For lanes that are rare and need much code: it may be made for a single lane and repeated for each one that is
        set. Values from outside other than x are not used in `compute`.
        """
        ...
