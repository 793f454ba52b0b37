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
from jitflow.errors import UserTypeError
from jitflow.frontend.arrays.operands import ArraySource, as_value, dtype_argument, new, numpy_says
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import DType, dtype_of
from jitflow.ir.types import Scalar, Tensor, Type

__all__ = ["NO_OPTIONS", "Options", "Shape", "Split", "fresh", "library_call", "new_results", "path_of", "sampled",
           "split"]  # fmt: skip

Routine = Callable[..., Any]
Shape = Sequence[Dim] | None
"""The dims of a result; None is a number."""
Options = Mapping[str, Any]
NO_OPTIONS: Options = MappingProxyType({})


def fresh(name: str = "k") -> Dim:
    """A size that a call will bind."""
    trace = current_trace()
    size = trace.size(name)
    trace.found_sizes.add(str(size))
    return size


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

    ``keywords``: those of operands, ``""`` by position. ``effect``: ``check`` if it may raise. ``kinds`` are the dtypes
    of the results where NumPy is not to be asked.
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
        options=tuple((name, _printable(value, name)) for name, value in options.items()),
        effect=effect,
    )


def new_results(*arguments: Any, **keywords: Any) -> Any:
    """`library_call` with tracers for its results: one, or a tuple."""
    found = library_call(*arguments, **keywords)
    return new(found[0]) if len(found) == 1 else tuple(map(new, found))


def sampled(
    function: Routine, operands: Sequence[Any], options: Options = NO_OPTIONS, keywords: Sequence[str] = ()
) -> Any:
    """What the function gives for tiny arrays of ones: its dtypes, ranks and containers, and what it raises."""
    kinds = tuple(_kind(_as_operand(operand)) for operand in operands)
    known = tuple((name, _printable(value, name)) for name, value in options.items())
    return numpy_says(_sampled, function, kinds, tuple(keywords), known)


# -- arguments that may be known now or not ----------------------------------------------------------------


class Split:
    """Arguments of a routine: those that are traced are operands, those that are known now options."""

    def __init__(self, *positional: Any, **named: Any) -> None:
        self.operands: list[Any] = list(positional)
        self.keywords = [""] * len(positional)
        self.options: dict[str, Any] = {}
        for name, item in named.items():
            item = pinned(item)
            if _is_traced(item):
                self.operands.append(item)
                self.keywords.append(name)
            else:
                self.options[name] = item

    def call(self, function: Routine, shapes: Sequence[Shape], **extra: Any) -> tuple[Value, ...]:
        """`library_call` with these arguments."""
        return library_call(function, self.operands, shapes, self.options, keywords=self.keywords, **extra)

    def new(self, function: Routine, shapes: Sequence[Shape], **extra: Any) -> Any:
        """`new_results` with these arguments."""
        return new_results(function, self.operands, shapes, self.options, keywords=self.keywords, **extra)

    def sampled(self, function: Routine) -> Any:
        """`sampled` with these arguments."""
        return sampled(function, self.operands, self.options, self.keywords)


def split(*positional: Any, **named: Any) -> Split:
    """Arguments by keyword as operands or options; those that are None are left out."""
    return Split(*positional, **{name: item for name, item in named.items() if item is not None})


def _is_traced(item: Any) -> bool:
    if isinstance(item, list | tuple):
        return any(map(_is_traced, item)) or any(isinstance(part, np.ndarray | float) for part in item)
    return isinstance(item, tracers.Tracer | Value | np.ndarray | ArraySource)


# -- asking NumPy --------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _sampled(
    function: Routine,
    kinds: tuple[tuple[DType, int | str], ...],
    keywords: tuple[str, ...],
    options: tuple[tuple[str, Any], ...],
) -> Any:
    arguments = [_sample(dtype, rank) for dtype, rank in kinds]
    padded = [*keywords, *[""] * (len(arguments) - len(keywords))]
    named = {name: item for name, item in zip(padded, arguments, strict=True) if name}
    named |= {name: value.numpy if isinstance(value, DType) else value for name, value in options}
    positional = [item for name, item in zip(padded, arguments, strict=True) if not name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*positional, **named)


def _kind(operand: Value) -> tuple[DType, int | str]:
    if isinstance(operand.type, Tensor):
        return operand.type.dtype, operand.type.rank
    return values.dtype_of_value(operand), "python" if values.is_weak(operand) else "numpy"


def _sample(dtype: DType, rank: int | str) -> Any:
    if isinstance(rank, int):
        return np.ones((1,) * rank, dtype.numpy)
    return dtype.numpy.type(1).item() if rank == "python" else dtype.numpy.type(1)


def _as_operand(operand: Any) -> Value:
    """A value that a routine can be given: sizes and Python numbers stay weak."""
    if isinstance(operand, Value):
        return operand
    if isinstance(operand, tracers.Tracer | int | float | complex):
        return tracers.lift(operand)
    return as_value(operand)


def _printable(value: Any, name: str) -> Any:
    """An option in a form that the IR can hold."""
    value = pinned(value)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return dtype_of(np.dtype(value))
    if isinstance(value, list | tuple):
        return tuple(_printable(item, name) for item in value)
    if isinstance(value, tracers.Tracer):
        raise UserTypeError(
            f"expected {name} to be known while tracing, got a run-time value",
            mend="write it as a literal or make the argument static: jitflow.function(static=(...))",
        )
    return value.item() if isinstance(value, np.generic) else value
