"""Which arithmetic is expanded, and how: everything that is neither a primitive nor an elementary function.

Division that rounds down, integer powers, shifts by any amount, Euclid's algorithm, the neighbours of floats,
comparisons of bools. Each function takes and gives terms of one class of dtype.
"""

from __future__ import annotations

from collections.abc import Callable

from jitflow.passes.expand import floats, integers, random
from jitflow.passes.expand.notation import Number, differ
from jitflow.passes.expand.primitives import INDEX

__all__ = ["ARITHMETIC"]


def bool_less(a: Number, b: Number) -> Number:
    return ~a & b


def bool_less_equal(a: Number, b: Number) -> Number:
    return ~a | b


def bool_equal(a: Number, b: Number) -> Number:
    return ~differ(a, b)


_INTEGER: dict[str, Callable[..., Number]] = {
    "floor_divide": integers.integer_floor_divide,
    "remainder": integers.integer_remainder,
    "fmod": integers.integer_fmod,
    "absolute": integers.integer_absolute,
    "sign": integers.integer_sign,
    "maximum": integers.integer_maximum,
    "minimum": integers.integer_minimum,
    "fmax": integers.integer_maximum,
    "fmin": integers.integer_minimum,
    "power": integers.integer_power,
    "power_modulo": integers.integer_power_modulo,
    "left_shift": integers.left_shift,
    "right_shift": integers.right_shift,
    "gcd": integers.greatest_common_divisor,
    "lcm": integers.least_common_multiple,
    "bitwise_count": integers.bitwise_count,
    "random_low": random.random_low,
    "random_high": random.random_high,
}

ARITHMETIC: dict[str, dict[str, Callable[..., Number]]] = {
    "signed": _INTEGER,
    "unsigned": _INTEGER,
    "half": {
        "nextafter": floats.nextafter,
        "spacing": floats.half_spacing,
        "sign": floats.half_sign,
        "flush": floats.flush,
    },
    INDEX: {"floor_divide": integers.integer_floor_divide, "remainder": integers.integer_remainder},
    "float": {
        "floor_divide": floats.float_floor_divide,
        "remainder": floats.float_remainder,
        "fmod": floats.float_fmod,
        "sign": floats.float_sign,
        "hypot": floats.hypot,
        "nextafter": floats.nextafter,
        "spacing": floats.spacing,
        "flush": floats.flush,
    },
    "bool": {
        "less": bool_less,
        "less_equal": bool_less_equal,
        "greater": lambda a, b: bool_less(b, a),
        "greater_equal": lambda a, b: bool_less_equal(b, a),
        "equal": bool_equal,
        "not_equal": differ,
        "maximum": lambda a, b: a | b,
        "minimum": lambda a, b: a & b,
        "fmax": lambda a, b: a | b,
        "fmin": lambda a, b: a & b,
        "bitwise_and": lambda a, b: a & b,
        "bitwise_or": lambda a, b: a | b,
        "bitwise_xor": differ,
        "bitwise_not": lambda a: ~a,
    },
}
"""By class of dtype, then by op."""
