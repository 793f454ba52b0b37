"""Random draws from NumPy's own generators, by the C functions that NumPy itself draws with.

A program knows a `numpy.random.Generator` or `RandomState` by its address, an i64. What a draw calls is a C function of
the installed NumPy on the generator's ``bitgen_t``, so that bits and state are those of the installed version. Where
a NumPy does not give its functions away, there are no such draws (`is_available`), and the methods of the generator
are called instead.

The interpreter draws as this module says. Compiled code does the same, by addresses
(`jitflow.runtime.generators.draws`).
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from jitflow.ir.dtypes import BOOL, F32, F64, I64, U8, U16, U32, U64, DType
from jitflow.records import dataclass

__all__ = ["DRAWS", "DRAW_PREFIX", "FILL_PREFIX", "NATIVE_PREFIX", "PCG64_MULTIPLIER", "RECORD_WORDS", "ZIGGURATS",
           "Draw", "Ziggurat", "bits_of", "draw", "function_address", "is_available", "object_at"]  # fmt: skip

DRAW_PREFIX, FILL_PREFIX = "jitflow.draw.", "jitflow.fill."
"""What compiled code calls in its context: one draw, or an array of them, by a row's name."""

NATIVE_PREFIX = "jitflow.native_draw."
"""Where compiled code that makes a number of a `Generator` itself finds its record, by a row's name."""

RECORD_WORDS = 3
"""The words of such a record: the C function for a double by which a PCG64 is known (0 if nothing is to be), where in
the generator its ``bitgen_t`` lies, and the row's C function. Behind them are the layers of a ziggurat, two words each:
a width, and the first position in the layer that is not sure to be accepted."""

PCG64_MULTIPLIER = (2549297995355413924 << 64) + 4865540595714422341


@dataclass(frozen=True, slots=True)
class Ziggurat:
    """Where in a word NumPy has the layer (8 bits), the position in it, and perhaps a sign behind the layer."""

    layer_bit: int
    position_bit: int
    position_width: int
    is_signed: bool = False


ZIGGURATS = {"standard_normal": Ziggurat(0, 9, 52, is_signed=True), "standard_exponential": Ziggurat(3, 11, 53)}
"""The distributions that have one, by rows."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A C function and its parameters behind the generator's.

    ``function`` is called once for each draw. One that is ``bounded`` fills an array with integers: its parameters are
    the smallest and how many more there are, and ``masked`` says by which of NumPy's methods. One with ``memory`` takes
    a pointer to that many bytes as its last argument, zeros at first. One without a function is the ``method`` of a
    `RandomState` or of Python's `random.Random`, whose formula is frozen, so that compiled code has it as well.
    """

    function: str
    parameters: tuple[DType, ...]
    result: DType
    bounded: bool = False
    masked: bool = False
    memory: int = 0
    method: str = ""


def _floats(result: DType, *names: str, count: int) -> dict[str, Draw]:
    return {name: Draw(f"random_{name}", (F64,) * count, result) for name in names}


_BOUNDED = {BOOL: "bool", U8: "uint8", U16: "uint16", U32: "uint32", U64: "uint64"}

_NEW: Mapping[str, Draw] = {
    **_floats(F64, "standard_uniform", "standard_normal", "standard_exponential", "standard_cauchy", count=0),
    **_floats(F64, "standard_gamma", "chisquare", "pareto", "weibull", "power", "rayleigh", "standard_t", "exponential",
              count=1),
    **_floats(F64, "normal", "uniform", "gamma", "beta", "f", "laplace", "gumbel", "logistic", "lognormal",
              "noncentral_chisquare", "wald", "vonmises", count=2),
    **_floats(F64, "noncentral_f", "triangular", count=3),
    **_floats(I64, "poisson", "geometric", "logseries", "zipf", count=1),
    **_floats(I64, "negative_binomial", count=2),
    "binomial": Draw("random_binomial", (F64, I64), I64, memory=512),
    **{f"{name}_f": Draw(f"random_{name}_f", (), F32)
       for name in ("standard_uniform", "standard_normal", "standard_exponential")},
    "standard_gamma_f": Draw("random_standard_gamma_f", (F32,), F32),
    "python_random": Draw("", (), F64, method="random"),
    "python_below": Draw("", (I64,), I64, method="_randbelow"),
    "legacy_normal": Draw("", (F64, F64), F64, method="normal"),
    "legacy_standard_normal": Draw("", (), F64, method="standard_normal"),
    "legacy_exponential": Draw("", (F64,), F64, method="exponential"),
    **{f"{way}_{name}": Draw(f"random_bounded_{name}_fill", (dtype, dtype), dtype, bounded=True, masked=way == "masked")
       for way in ("bounded", "masked") for dtype, name in _BOUNDED.items()},
}  # fmt: skip

_OF_BOTH = ("standard_uniform", "uniform", "laplace", "gumbel", "logistic", "triangular", "poisson")
"""What a `RandomState` draws by the same functions."""

DRAWS: Mapping[str, Draw] = {**_NEW, **{f"legacy_{name}": _NEW[name] for name in _OF_BOTH}}
"""By name, as the attribute ``method`` of a `draw` says it; that of a `RandomState` is ``legacy_`` something."""

_TYPES: Mapping[DType, Any] = {
    F64: ctypes.c_double, F32: ctypes.c_float, I64: ctypes.c_int64, BOOL: ctypes.c_bool,
    U8: ctypes.c_uint8, U16: ctypes.c_uint16, U32: ctypes.c_uint32, U64: ctypes.c_uint64,
}  # fmt: skip


@cache
def _library() -> ctypes.CDLL | None:
    """NumPy's module of generators as a shared library, if it exports all of the functions."""
    try:
        found = ctypes.CDLL(importlib.import_module("numpy.random._generator").__file__ or "")
    except OSError:
        return None
    return found if all(hasattr(found, row.function) for row in DRAWS.values() if row.function) else None


def is_available() -> bool:
    """Whether the installed NumPy gives its functions away."""
    return _library() is not None


def function_address(row: Draw) -> int:
    """Where the C function of a row starts."""
    return ctypes.cast(getattr(_library(), row.function), ctypes.c_void_p).value or 0


def object_at(address: int) -> Any:
    """The generator at an address, which somebody keeps alive."""
    return ctypes.cast(int(address), ctypes.py_object).value


def bits_of(generator: Any) -> Any:
    """The bit generator that a `Generator` or `RandomState` draws from; a `random.Random` is its own."""
    found = getattr(generator, "bit_generator", None)
    return getattr(generator, "_bit_generator", generator) if found is None else found


def draw(name: str, address: int, parameters: Sequence[Any], shape: Sequence[int]) -> Any:
    """An array of draws, whose parameters are numbers or arrays of its shape."""
    row, generator = DRAWS[name], object_at(address)
    if name.startswith("python_"):
        return np.array(getattr(generator, row.method)(*map(int, parameters)), row.result.numpy)
    if row.method:
        return np.array(getattr(generator, row.method)(*parameters, tuple(shape)))
    bits = bits_of(generator)
    state, kinds = bits.ctypes.bit_generator, [_TYPES[dtype] for dtype in row.parameters]
    made = np.empty(shape, row.result.numpy)
    function = getattr(_library(), row.function)
    with bits.lock:
        if row.bounded:
            function.argtypes = [ctypes.c_void_p, *kinds, ctypes.c_ssize_t, ctypes.c_bool, ctypes.c_void_p]
            function.restype = None
            low, span = (number.item() for number in parameters)
            function(state, low, span, made.size, row.masked, made.ctypes.data)
            return made
        scratch = (ctypes.c_char * row.memory)() if row.memory else None
        function.argtypes = [ctypes.c_void_p, *kinds, *([ctypes.c_void_p] if scratch else [])]
        function.restype = _TYPES[row.result]
        given = [np.broadcast_to(parameter, made.shape) for parameter in parameters]
        flat = made.reshape(-1)
        for position, numbers in enumerate(
            zip(*(item.flat for item in given), strict=False) if given else [()] * flat.size
        ):
            flat[position] = function(state, *(number.item() for number in numbers), *([scratch] if scratch else []))
    return made
