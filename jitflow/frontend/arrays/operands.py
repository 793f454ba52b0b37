"""From what the user passes to what NumPy's functions mean by it: operands, dtypes, axes, shapes, static numbers.

An *operand* is a value or a Python number that is known now. The number stays a Python number until its dtype is
decided, so that NumPy itself can convert it, with its own OverflowError.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError, UserNotImplementedError, UserTypeError, UserValueError, as_user_error
from jitflow.frontend.outside.proxies import ArrayLikeProxy
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import class_name, located, may_be_pinned
from jitflow.frontend.tracers.scalar import pinned
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import BOOL, C128, F64, I64, DType, dtype_of
from jitflow.ir.status import TOO_BIG, UNCOUNTED
from jitflow.ir.types import Tensor
from jitflow.remote import Remote

__all__ = [
    "ArraySource",
    "Operand",
    "PythonNumber",
    "array_operand",
    "as_int",
    "as_value",
    "asked_array",
    "axis_of_method",
    "converted_axes",
    "converted_axis",
    "converted_int",
    "dtype_argument",
    "folded_axes",
    "is_array_like",
    "is_bool",
    "kept_axes",
    "known_axis",
    "new",
    "normalized_axes",
    "normalized_axis",
    "numpy_says",
    "operand",
    "read_only_view",
    "refuse",
    "require_integer",
    "require_no_less_than_zero",
    "sequence_of",
    "shape_argument",
    "sizes_of",
    "static_int",
    "view",
]  # fmt: skip

PythonNumber = bool | int | float | complex
Operand = Value | PythonNumber
PYTHON_DTYPES: dict[type, DType] = {bool: BOOL, int: I64, float: F64, complex: C128}

Answer = TypeVar("Answer")


class ArraySource:
    """A sequence of the program that is no array, of which NumPy makes one where it is an operand."""

    is_shown = False
    """Whether ``np.array`` gives that array itself, and no copy of it."""

    @property
    def holds_bools(self) -> bool:
        """Whether it is known to be a list of bools alone, which is a mask as an index."""
        return False

    def truth(self) -> Any:
        """Whether Python takes it as true, as a bool of the running program."""
        raise NotImplementedError

    def as_array(self, dtype: DType | None = None) -> Any:
        """The array; where a ``dtype`` is said, of which it is going to be, one whose own may be another."""
        raise NotImplementedError

    def as_index(self) -> Any:
        """The array that it is as an index: positions, if there is nothing in it."""
        return self.as_array()


def numpy_says(function: Callable[..., Answer], *arguments: Any, **keywords: Any) -> Answer:
    """What NumPy answers, its exceptions turned into user errors of the same class and message.

    This is how NumPy is asked about everything that is known while tracing: promotion, axes, conversions.
    """
    try:
        return function(*arguments, **keywords)
    except UserError:
        raise
    except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError) as error:
        raise as_user_error(error) from None


def refuse(found: str, mend: str) -> UserNotImplementedError:
    """The error for a part of NumPy that is not compiled."""
    return UserNotImplementedError(f"{found} is not supported", mend=mend)


def operand(item: Any, dtype: DType | None = None) -> Operand:
    """A tracer's value, a captured array or NumPy scalar as a value, a Python number as itself, a list as an array.

    A ``dtype`` says of which an array is going to be, so that nobody asks of which a list would be.
    """
    if isinstance(item, Value):
        return item
    if isinstance(item, tracers.Tracer | np.ndarray | np.generic | Remote):
        return tracers.lift(item)
    if isinstance(item, bool | int | float | complex):
        python_type: Any = next(kind for kind in (bool, int, float, complex) if isinstance(item, kind))
        return cast(PythonNumber, python_type(item))
    if isinstance(item, ArraySource):
        return tracers.lift(item.as_array(dtype))
    if isinstance(item, list | tuple):
        return cast(Value, surface.array_of(item))
    if isinstance(item, range):  # of which NumPy makes an array of floats if it is empty
        return tracers.lift(surface.replacements[np.arange](item.start, item.stop, item.step) if item else np.zeros(0))
    if is_array_like(item):
        return operand(asked_array(item), dtype)
    if item is None:
        raise UserTypeError("an operand is None here, of which compiled code makes no array")
    raise UserTypeError(
        f"expected an array or a number, got {item.__class__.__name__}",
        found=repr(item)[:80],
        mend="convert it to an array of numbers before the compiled function",
    )


def is_array_like(item: Any) -> bool:
    """Whether it is an object that says by ``__array__`` which array it is."""
    return type(item) is ArrayLikeProxy


def asked_array(item: Any, *args: Any, **kwargs: Any) -> Any:
    """What the ``__array__`` of an object returns, which is a part of the program."""
    found = item.__array__(*args, **kwargs)
    if not isinstance(found, tracers.ArrayTracer | tracers.Alternatives | np.ndarray):
        raise UserValueError("object __array__ method not producing an array")
    return found


def as_value(item: Any, dtype: DType | None = None) -> Value:
    """The operand as a value, a Python number as a strong scalar of ``dtype`` (its own type's by default)."""
    given = operand(item, dtype)
    if isinstance(given, Value):
        return given if dtype is None else values.cast(given, dtype)
    return number_constant(given, dtype or PYTHON_DTYPES[type(given)])


def array_operand(item: Any) -> Value:
    """What ``np.asarray`` makes of the item: a strong array value, 0-d for scalars."""
    return values.as_array(as_value(item))


def number_constant(number: PythonNumber, dtype: DType) -> Value:
    """A Python number as a constant of ``dtype``, converted by NumPy."""
    with np.errstate(all="ignore"):
        is_wider = (
            not dtype.is_complex if isinstance(number, complex) else isinstance(number, float) and dtype.is_integer
        )
        if is_wider:  # only casting="unsafe" asks for it
            number = np.asarray(number).astype(dtype.numpy).item()
        converted = numpy_says(np.asarray, number, dtype.numpy)
    return values.constant(converted.item() if dtype.name != "bf16" else float(converted), dtype)


def dtype_argument(dtype: Any, default: DType | None = None) -> DType:
    """The element type that a ``dtype=`` argument names; None is the default, or float64 as everywhere in NumPy."""
    if dtype is None:
        return default or F64
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, type) and issubclass(dtype, np.dtype):
        dtype = numpy_says(lambda: dtype())
    found = numpy_says(np.dtype, str(dtype) if isinstance(dtype, str) else dtype)  # of a text that must be known
    known = dtype_of(found)
    if known is None:
        raise UserTypeError(
            f"expected a dtype of numbers, got {found}",
            mend="use bool, an integer, float16 to float64, ml_dtypes.bfloat16, complex64 or complex128",
        )
    return known


def normalized_axis(axis: Any, rank: int, name: str | None = None) -> int:
    """A single axis, counted from the front. Raises AxisError as NumPy does, whose message may begin with a name."""
    return int(numpy_says(normalize_axis_index, known_axis(axis, name or "axis"), rank, name))


def known_axis(axis: Any, name: str = "axis") -> int:
    """An axis before it is counted from the front."""
    _require_no_float(axis)
    return static_int(axis, name)


def normalized_axes(axis: Any, rank: int, name: str | None = None) -> tuple[int, ...]:
    """The axes that an ``axis`` argument names, in its order; None means all of them. ``name`` as in NumPy's error."""
    if axis is None:
        return tuple(range(rank))
    items = axis if isinstance(axis, tuple | list) or (name and isinstance(axis, range)) else (axis,)
    return tuple(numpy_says(normalize_axis_tuple, tuple(static_int(item, "axis") for item in items), rank, name))


def sequence_of(thing: Any) -> Sequence[Any]:
    """The items of what NumPy takes as a sequence of sizes or axes; any other thing is the only one."""
    is_line = isinstance(thing, tracers.ArrayTracer) and thing.ndim == 1
    return tuple(thing) if is_line or isinstance(thing, tuple | list | range) else (thing,)


def converted_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """The same as NumPy's functions in C read it: None, an integer or a tuple of such, no list, and no bools."""
    found = axis if isinstance(axis, tuple) else tuple(range(rank)) if axis is None else (axis,)
    axes = tuple(normalized_axis(converted_int(item), rank) for item in found)
    if len({*axes}) < len(axes):
        raise UserValueError("duplicate value in 'axis'")
    return axes


def folded_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """`converted_axes` of what reductions and ``squeeze`` take away: the axes 0 and -1 of a 0-d array are none."""
    is_one = axis is not None and not isinstance(axis, tuple)
    return () if not rank and is_one and converted_int(axis) in (0, -1) else converted_axes(axis, rank)


def converted_axis(axis: Any, rank: int) -> int:
    """A single axis as NumPy's functions in C read it: bools are none."""
    return normalized_axis(axis_of_method(axis), rank)


def converted_int(axis: Any, words: str = "an integer is required") -> int:
    """An axis as NumPy's functions in C read it, before it is counted from the front: no bool."""
    if is_bool(axis):
        raise UserTypeError(words)
    return static_int(axis, "axis")


def is_bool(item: Any) -> bool:
    """Whether it is a bool, Python's or NumPy's, which NumPy's functions in C take for no integer."""
    return isinstance(item, bool | np.bool) or _is_traced(item, BOOL)


def _is_traced(item: Any, dtype: DType) -> bool:
    return isinstance(item, tracers.ScalarTracer) and values.dtype_of_value(item.value) == dtype


def _require_no_float(item: Any) -> None:
    if isinstance(item, float) or _is_traced(item, F64):
        raise UserTypeError("integer argument expected, got float")


def as_int(item: Any) -> Any:
    """What Python's ``int`` makes of a number that is known, where NumPy takes that; what else as it is."""
    found = pinned(item)
    if _is_traced(found, BOOL) or _is_traced(found, F64):
        raise may_be_pinned(UserTypeError("expected a number to be known while tracing, got one of the run"), found)
    return numpy_says(int, found) if isinstance(found, np.bool | float | np.floating) else item


def kept_axes(keepdims: Any) -> bool:
    """A ``keepdims`` argument, as NumPy's functions in C read it: what Python takes for an integer."""
    _require_no_float(keepdims)
    return keepdims is not np._NoValue and bool(keepdims if keepdims is True else static_int(keepdims, "keepdims"))


def axis_of_method(axis: Any) -> int:
    """The same for functions that have a word for what they ask for."""
    return converted_int(axis, "an integer is required for the axis")


def static_int(item: Any, name: str) -> int:
    """An integer that must be known while tracing: an axis, a number of dimensions.

    A size is fixed to its number, and a number that was read from outside the function is guarded by its value.
    """
    if isinstance(item, tracers.ScalarTracer):
        require_integer(item, item.value)
    item = pinned(item)
    if isinstance(item, tracers.ScalarTracer):
        made = values.maker(item.value)
        item = made.attributes["value"] if made is not None and made.name == "constant" else item
    if isinstance(item, tracers.ArrayTracer | tracers.ScalarTracer):
        error = UserTypeError(
            f"expected {name} to be known while tracing, got a run-time number",
            mend="write it as a literal or make the argument static: jitflow.function(static=(...))",
        )
        raise may_be_pinned(error, item)
    return numpy_says(operator.index, item)


def require_integer(item: object, value: Value) -> None:
    """Raise TypeError if Python takes something, of that value, for no integer. NumPy's bools are none."""
    dtype = values.dtype_of_value(value)
    if not (dtype.is_integer or (dtype == BOOL and values.is_weak(value))):
        raise located(UserTypeError(f"'{class_name(item)}' object cannot be interpreted as an integer"))


def sizes_of(shape: Any) -> Sequence[Any]:
    """The sizes that a ``shape`` argument names, as NumPy's functions in C read it: no bools."""
    sizes = sequence_of(shape)
    if isinstance(shape, bool):
        raise UserTypeError(f"expected a sequence of integers or a single integer, got '{shape}'")
    if any(map(is_bool, sizes)):
        raise UserTypeError("an integer is required")
    return sizes


def shape_argument(shape: Any) -> tuple[Dim, ...]:
    """The dims that a ``shape`` argument names: a size or a sequence of them."""
    found = tuple(map(tracers.dim_of, sizes_of(shape)))
    for dim in found:
        require_no_less_than_zero(dim)
    return found


def require_no_less_than_zero(dim: Dim, message: str = tracers.NEGATIVE_SIZE) -> None:
    """Raise NumPy's error, now or when the program runs, for a size that is negative: ``{}`` in it is the size."""
    trace = current_trace()
    if trace.known(dim, ">=", 0):
        return
    if trace.is_open(dim):
        enough = values.emit("greater_equal", values.size(dim), values.size(0))
        values.check(enough, ValueError, message, *[values.size(dim)] * message.count("{}"))
    elif not trace.decide(dim, ">=", 0, "a size"):
        raise UserValueError(message.format(trace.number_of(dim, "an error")))


def new(value: Value) -> Any:
    """The tracer of an array that the program holds alone, or of a number.

    What another array holds is copied; that costs nothing where the copy is only read.
    """
    storage = current_trace().storage
    if isinstance(value.type, Tensor):
        require_room(value.type)
        if storage.is_held(value) or storage.repeats(value):
            value = values.emit("copy", value)
    return tracers.wrap(value, owned=True)


def require_room(kind: Tensor) -> None:
    """Raise NumPy's error for an array with more bytes than 63 bits can count, if all its sizes are known."""
    size = product((*kind.dims, kind.dtype.itemsize))
    if isinstance(size, int) and size > UNCOUNTED:
        raise UserValueError(TOO_BIG)


def read_only_view(value: Value) -> Any:
    """The tracer of an array that shows another one's elements, and cannot be written to."""
    current_trace().storage.make_read_only(value)
    return view(value)


def view(value: Value) -> Any:
    """The tracer of an array that shows another one's elements."""
    return tracers.wrap(value, owned=False)
