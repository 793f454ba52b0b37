"""Functions of NumPy that are library routines: one ``host_call`` each.

What NumPy answers for tiny arrays of the same dtypes and ranks says which dtypes come out, and raises what it has to
say about arguments that are known now. The shapes are each function's own to say; a size that only the data decides is
a new one (`fresh`), which the call binds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.numpy import values
from jitflow.frontend.numpy.operands import as_value, dtype_argument, numpy_says
from jitflow.frontend.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import DType, dtype_of
from jitflow.ir.types import Scalar, Tensor, Type

__all__ = ["NO_OPTIONS", "Options", "Shape", "fresh", "library_call", "path_of", "sampled"]

Routine = Callable[..., Any]
Shape = Sequence[Dim] | None
"""The dims of a result; None is a number."""
Options = Mapping[str, Any]
NO_OPTIONS: Options = MappingProxyType({})


def fresh(name: str = "k") -> Dim:
    """A size that a call will bind."""
    return current_trace().size(name)


def path_of(function: Routine) -> str:
    """The dotted path by which a function is found again."""
    return f"{function.__module__}.{function.__name__}"


def library_call(
    function: Routine,
    operands: Sequence[Any],
    shapes: Sequence[Shape],
    options: Options = NO_OPTIONS,
    *,
    keywords: Sequence[str] = (),
    effect: str = "check",
    kinds: Sequence[Any] | None = None,
) -> tuple[Value, ...]:
    """The results of ``function(*operands, **options)``, whose shapes are given.

    ``keywords``: those of operands, ``""`` for those by position. ``effect``: ``check`` if it may raise. ``kinds``
    are the dtypes of the results where NumPy is not to be asked.
    """
    given = [_as_operand(operand) for operand in operands]
    if kinds is None:
        found = sampled(function, given, options, keywords)
        kinds = [np.asarray(item).dtype for item in (found if isinstance(found, tuple | list) else (found,))]
    types: list[Type] = [
        Scalar(dtype_argument(kind)) if shape is None else Tensor(dtype_argument(kind), tuple(shape))
        for kind, shape in zip(kinds, shapes, strict=True)
    ]
    return current_trace().add(
        "host_call",
        *given,
        types=types,
        routine=path_of(function),
        keywords=tuple(keywords),
        options=tuple((name, _printable(value)) for name, value in options.items()),
        effect=effect,
    )


def sampled(
    function: Routine, operands: Sequence[Any], options: Options = NO_OPTIONS, keywords: Sequence[str] = ()
) -> Any:
    """What the function gives for tiny arrays of ones: its dtypes, ranks and containers, and what it raises."""
    given = [_as_operand(operand) for operand in operands]
    kinds = tuple((values.dtype_of_value(operand), _rank(operand)) for operand in given)
    known = tuple((name, _printable(value)) for name, value in options.items())
    return numpy_says(_sampled, function, kinds, tuple(keywords), known)


@lru_cache(maxsize=4096)
def _sampled(
    function: Routine,
    kinds: tuple[tuple[DType, int], ...],
    names: tuple[str, ...],
    options: tuple[tuple[str, Any], ...],
) -> Any:
    arguments = [np.ones((1,) * rank, dtype.numpy) if rank >= 0 else dtype.numpy.type(1) for dtype, rank in kinds]
    padded = [*names, *[""] * (len(arguments) - len(names))]
    keywords = {name: item for name, item in zip(padded, arguments, strict=True) if name}
    keywords |= {name: value.numpy if isinstance(value, DType) else value for name, value in options}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        positional = [item for name, item in zip(padded, arguments, strict=True) if not name]
        return function(*positional, **keywords)


def _rank(operand: Value) -> int:
    return values.rank(operand) if isinstance(operand.type, Tensor) else -1


def _as_operand(operand: Any) -> Value:
    """A value that a routine can be given: sizes count as integers."""
    if isinstance(operand, tracers.SizeTracer):
        return operand.value
    return as_value(operand)


def _printable(value: Any) -> Any:
    """An option in a form that the IR can hold."""
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return dtype_of(np.dtype(value))
    if isinstance(value, list | tuple):
        return tuple(map(_printable, value))
    return value.item() if isinstance(value, np.generic) else value
