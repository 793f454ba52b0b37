"""Calls of routines: library functions and callbacks, with arrays and numbers in and out.

``host_call`` is what the user meant. Its results carry their types, and a size that stands in them for the first time
is bound by the call: that is how data decides sizes. ``invoke`` is what lowering makes of it: operands are memory with
dims and strides, results are memory that the program has made, or that the routine's caller makes where the size is
known only afterwards. What a routine is, says `jitflow.ir.routines`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jitflow.ir.dims import Dim, Expression
from jitflow.ir.ops.memory import Memory
from jitflow.ir.records import Attributes, Effect, OpDef, TypeRuleError
from jitflow.ir.routines import (
    adopt_results,
    argument_of,
    comes_with_memory,
    keeps_arguments,
    numbers_of,
    run_routine,
)
from jitflow.ir.types import Buffer, Index, Scalar, Type, dims_of

__all__ = ["ROUTINE_OPS"]

_EFFECTS = {"none": (), "check": (Effect("check"),), "external": (Effect("external"),)}
_ATTRIBUTES = ("routine", "keywords", "options")


def _host_call(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    routine, count = attributes["routine"], len(operands) - attributes.get("held", 0)
    arguments = [np.copy(operand) if _is_kept(routine, operand) else operand for operand in operands[:count]]
    try:
        found = run_routine(routine, arguments, attributes["keywords"], attributes["options"], len(types))
    except Exception:
        if "on_failure" in attributes:
            run_routine(attributes["on_failure"], operands[count:], (), (), 0)
        raise
    numbers: dict[Dim, int] = {}
    fresh = [[_fresh(dim, numbers) for dim in dims_of(kind)] for kind in types]
    dtypes = [kind.dtype for kind in types]  # type: ignore[union-attr]
    shapes = [np.shape(result) for result in found]
    arrays, _ = adopt_results(routine, found, dtypes, shapes, fresh)
    results = [array[()] if isinstance(kind, Scalar) else array for array, kind in zip(arrays, types, strict=True)]
    return results[0] if len(results) == 1 else tuple(results)


def _is_kept(routine: str, operand: Any) -> bool:
    return keeps_arguments(routine) and isinstance(operand, np.ndarray)


def _fresh(dim: Dim, numbers: dict[Dim, int]) -> int:
    """Sizes by name must be the same wherever they stand; the interpreter compares the others."""
    return numbers.setdefault(dim, len(numbers)) if isinstance(dim, Expression) and dim.is_symbol else -1


def _infer_invoke(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    device, parts = attributes.get("device", "cpu"), attributes.get("parts", False)
    numbers = numbers_of(attributes["takes"], range(len(operands)))
    for place, operand in enumerate(operands):
        wanted = "cpu" if place in numbers else device
        if isinstance(operand, Buffer) and operand.device != wanted:
            raise TypeRuleError(f"invoke: expected memory on {wanted} as operand {place}, got {operand}")
    found = [dtype for dtype, dims in attributes["gives"] if comes_with_memory(attributes, dims)]
    made = [Buffer(dtype.real if parts else dtype, device) for dtype in found]
    count = len({number for _, dims in attributes["gives"] for number in dims if number >= 0})
    return (*made, *[Index()] * count)


def _invoke(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    routine, given = attributes["routine"], iter(operands)
    arguments = [
        argument_of(_array(dtype, kind, given), kind, copied=keeps_arguments(routine))
        for dtype, kind in attributes["takes"]
    ]
    dtypes, fresh = [dtype for dtype, _ in attributes["gives"]], [dims for _, dims in attributes["gives"]]
    places, shapes = [], []
    for dims in fresh:
        places.append(None if comes_with_memory(attributes, dims) else next(given))
        shapes.append([next(given) if number < 0 else -1 for number in dims])
    found = run_routine(routine, arguments, attributes["keywords"], attributes["options"], len(dtypes))
    arrays, sizes = adopt_results(routine, found, dtypes, shapes, fresh)
    made = []
    for place, array, dtype in zip(places, arrays, dtypes, strict=True):
        memory = Memory.new(array.nbytes) if place is None else place
        memory.array(dtype, array.size)[...] = array.reshape(-1)
        if place is None:
            made.append(memory)
    results = [*made, *(size for _, size in sorted(sizes.items()))]
    return results[0] if len(results) == 1 else tuple(results)


def _array(dtype: Any, kind: int | str, given: Iterator[Any]) -> Any:
    """The next operand as an array over its memory."""
    memory, rank = next(given), kind if isinstance(kind, int) else 0
    dims, strides = ([next(given) for _ in range(rank)] for _ in range(2))
    return np.ndarray(dims, dtype.numpy, memory.content, memory.start, strides)


ROUTINE_OPS = [
    OpDef(
        "host_call", "calls the routine ``routine`` with the operands; ``keywords`` are those of operands, "
        '``""`` by position, and ``options`` pairs of keyword and value. ``effect``: ``none``, ``check`` (it may '
        "raise), ``external`` (ordered with everything). If it raises, the routine ``on_failure`` is called with "
        "the last ``held`` operands", "tensor", None, None, _host_call,
        lambda attributes: _EFFECTS[attributes["effect"]], attributes=(*_ATTRIBUTES, "effect", "on_failure", "held"),
    ),
    OpDef(
        "invoke", "calls a routine on memory. ``takes``: for each argument its dtype and its rank (or ``numpy``, "
        "``python`` for a number); operands are its buffer, dims and strides. ``gives``: for each result its dtype and "
        "its dims, -1 for one that is an operand, else the number of the size that it binds; operands are the buffer, "
        "if all dims are known, and the known dims. Results: the other buffers, the sizes in order. ``makes``: the "
        "buffers of all arrays are results. ``device``: all of this but numbers is memory of that GPU. ``parts``: "
        "memory of complex numbers is of real ones. ``on_failure``: the attributes of a call for which the last "
        "operands are, if this one fails", "host", None, _infer_invoke, _invoke, (Effect("external"),),
        attributes=(*_ATTRIBUTES, "takes", "gives", "makes", "device", "parts", "on_failure"),
    ),
]  # fmt: skip
