"""`pow` with a modulus: an op, whose products have two words; what else Python asks is asked in front of it."""

from __future__ import annotations

from typing import Any

from jitflow.errors import UserTypeError
from jitflow.frontend.control.branch import choose, if_
from jitflow.frontend.control.loop import while_
from jitflow.frontend.control.raising import raise_
from jitflow.frontend.recording import values
from jitflow.frontend.tracers import Tracer, is_weak, lift, located, wrap
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.ir.dtypes import I64

__all__ = ["pow_"]


def pow_(base: Any, exp: Any, mod: Any = None) -> Any:
    """`pow`."""
    if mod is None or not any(isinstance(number, Tracer) for number in (base, exp, mod)):
        return pow(base, exp, mod)
    for number in (base, exp, mod):
        if not is_weak(number) or number.__class__ not in (int, bool):
            raise located(UserTypeError("pow() 3rd argument not allowed unless all arguments are integers"))
    return _power(base, exp, mod)


def _power(base: Any, exponent: Any, modulus: Any) -> Any:
    if_(modulus == 0, lambda: raise_(ValueError("pow() 3rd argument cannot be 0")), lambda: None, (), ())
    is_inverse = exponent < 0
    base = choose(is_inverse, lambda: _inverse(base, modulus), lambda: base % modulus)
    base, exponent, modulus = (values.cast(lift(number), I64) for number in (base, exponent, modulus))
    exponent = values.emit("absolute", exponent)  # of the smallest, its bits are right
    return wrap(as_weak(values.emit("power_modulo", base, exponent, modulus), I64))


def _inverse(number: Any, modulus: Any) -> Any:
    """The number whose product with this one leaves 1, by Euclid's extended algorithm."""
    rest, divisor, known, factor = number % modulus, modulus, 1, 0

    def goes_on() -> Any:
        return divisor != 0

    def turn() -> None:
        nonlocal rest, divisor, known, factor
        quotient = rest // divisor
        rest, divisor = divisor, rest - quotient * divisor
        known, factor = factor, known - quotient * factor

    while_(goes_on, turn, ("rest", "divisor", "known", "factor"), ())
    is_none = abs(rest) != 1
    if_(is_none, lambda: raise_(ValueError("base is not invertible for the given modulus")), lambda: None, (), ())
    return known * rest % modulus
