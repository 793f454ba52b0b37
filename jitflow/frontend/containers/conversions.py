"""Python's numbers from traced ones: ``int(x)``, ``float(x)``, ``bool(x)``, and what Python folds: ``sum``, ``any``...

The results stay values of the running program. `int` raises for nan and infinity as Python does.
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import is_bool, numpy_says
from jitflow.frontend.control.branch import and_, or_
from jitflow.frontend.control.decided_late import DecidedLate
from jitflow.frontend.control.logic import as_python_bool, truth
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import Range
from jitflow.frontend.control.steps import Source, Stepwise
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.special_methods import answer_of
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import class_name, located
from jitflow.frontend.tracers.python_numbers import apply, as_weak
from jitflow.ir.core import Value
from jitflow.ir.dims import product
from jitflow.ir.dtypes import BOOL, C128, F64, I64

__all__ = ["all_", "any_", "bool_", "complex_", "float_", "fold", "int_", "item", "length_of_object", "sum_"]


def _asked(args: tuple[Any, ...], *methods: str) -> tuple[Any, ...]:
    """The arguments, but for an object that says what it is as a number."""
    number = answer_of(args[0], *methods) if args else None
    return args if number is None else (number, *args[1:])


def length_of_object(thing: Any) -> Any:
    """`len` of what is no array and no container of the program."""
    answer = answer_of(thing, "__len__")
    if answer is None:
        return len(thing)
    number = int_(answer)
    if not isinstance(number, tracers.Tracer):
        if number < 0:
            raise located(UserValueError(_NEGATIVE_LENGTH))
        return number
    value = values.as_scalar(tracers.lift(number))
    values.check(values.emit("greater_equal", value, values.constant(0, I64)), ValueError, _NEGATIVE_LENGTH)
    return number


_NEGATIVE_LENGTH = "__len__() should return >= 0"


def int_(*args: Any, **keywords: Any) -> Any:
    """`int`."""
    args = _asked(args, "__int__", "__index__")
    if not args or not isinstance(args[0], tracers.Tracer):
        return builtins.int(*args, **keywords)
    (number,) = args
    if isinstance(number, tracers.SizeTracer):
        return number
    value = _number(number, "int")
    message = "int() argument must be a string, a bytes-like object or a real number, not 'complex'"
    value = _real(number, value, message)
    return (
        apply("trunc", tracers.wrap(as_weak(value, F64))) if values.dtype_of_value(value).is_float else _integer(value)
    )


def _integer(value: Value) -> Any:
    return tracers.wrap(as_weak(value, I64))


def float_(*args: Any) -> Any:
    """`float`."""
    args = _asked(args, "__float__", "__index__")
    if not args or not isinstance(args[0], tracers.Tracer):
        return builtins.float(*args)
    value = _number(args[0], "float")
    value = _real(args[0], value, "float() argument must be a string or a real number, not 'complex'")
    return tracers.wrap(as_weak(value, F64))


def _real(thing: Any, value: Value, message: str) -> Value:
    """A number without its imaginary part, which NumPy's complex scalars lose where Python's and arrays are refused."""
    if not values.dtype_of_value(value).is_complex:
        return value
    if values.is_weak(value) or isinstance(thing, tracers.ArrayTracer):
        raise located(UserTypeError(message))
    return values.emit("real", value)


def complex_(*args: Any, **named: Any) -> Any:
    """`complex`."""
    if named:
        args = (*(args or (named.pop("real", 0),)), *(named.pop(name) for name in ("imag",) if name in named))
    args = _asked(args, "__complex__", "__float__", "__index__")
    if named or not any(isinstance(argument, tracers.Tracer) for argument in args):
        return builtins.complex(*args, **named)
    numbers = [_number(argument, "complex") for argument in args]
    if len(numbers) == 2 and not any(values.dtype_of_value(number).is_complex for number in numbers):
        parts = [values.cast(number, F64) for number in numbers]  # a product with 1j would lose the sign of a zero
        return tracers.wrap(as_weak(values.emit("complex", *parts), C128))
    first, *others = [tracers.wrap(as_weak(number, C128)) for number in numbers]
    return first + others[0] * 1j if others else first


def bool_(*args: Any) -> Any:
    """`bool`."""
    if len(args) != 1:
        return builtins.bool(*args)
    answer = truth(args[0])
    return answer if isinstance(answer, builtins.bool) else as_python_bool(answer)


def item(array: Any, *index: Any) -> Any:
    """``array.item()``: the Python number."""
    if index:
        places = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
        for one in places:
            if is_bool(one):
                raise UserTypeError("an integer is required")
            if one is None or isinstance(one, float | str | list):
                raise UserTypeError(f"'{class_name(one)}' object cannot be interpreted as an integer")
        if len(places) > 1 and len(places) != np.ndim(array):
            raise located(UserValueError("incorrect number of indices for array"))
        array = np.ravel(array)[places[0]] if len(places) == 1 else array[places] if places else array
    value = _number(array, "item")
    kind = values.dtype_of_value(value).kind
    if kind == "b":
        return tracers.wrap(as_weak(value, BOOL))
    return {"i": int_, "u": int_, "f": float_, "c": complex_}[kind](tracers.wrap(value))


def _number(thing: Any, what: str) -> Value:
    """The number, or the only element of an array."""
    value: Value = tracers.lift(thing)
    if values.rank(value):
        others = [dim for dim in values.dims(value) if not broadcasting.is_one(dim)]
        if others and what == "item":
            message = "can only convert an array of size 1 to a Python scalar"
            if not any(map(current_trace().is_open, others)):
                raise located(UserValueError(message))
            values.check(values.emit("equal", values.size(product(others)), values.size(1)), ValueError, message)
        elif others:
            raise located(UserTypeError("only 0-dimensional arrays can be converted to Python scalars"))
        if what != "item":
            numpy_says(_as_python, values.rank(value))
        value = values.reshape(value, (), assumed=True)
    return values.as_scalar(value)


def _as_python(rank: int) -> None:
    """Ask NumPy whether an array of one element is a Python number; that it has axes was once no matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builtins.float(np.ones((1,) * rank))


# -- folds --------------------------------------------------------------------------------------------------


def fold(array: Any, first: Any, step: Callable[[Any, Any], Any]) -> Any:
    """``first`` and the items of an array, combined in order."""
    total = first

    def body(item: Any) -> None:
        nonlocal total
        total = step(total, item)

    own_loop(array, body, "total")
    return total


def sum_(items: Any, start: Any = 0) -> Any:
    """`sum`: in order, as Python adds."""
    if isinstance(items, tracers.ArrayTracer) and items.ndim == 1:
        return fold(items, start, lambda total, other: total + other)
    return builtins.sum(items, start)


def any_(items: Any) -> Any:
    """`any`."""
    return _decided(items, np.any, or_, True)


def all_(items: Any) -> Any:
    """`all`."""
    return _decided(items, np.all, and_, False)


def _decided(items: Any, of_array: Callable[[Any], Any], combined: Callable[..., Any], decisive: bool) -> Any:
    """What the truths of items come to, in order, up to the first that is known and decides for all."""
    if isinstance(items, Recorded) and getattr(items, "is_uniform", hasattr(type(items), "array")):
        items = items.settled().array
    if isinstance(items, tracers.ArrayTracer) and items.ndim == 1:
        return bool_(of_array(items))
    answer: Any = not decisive
    if isinstance(items, Recorded | Source | Stepwise | Range):
        return fold(items, answer, lambda known, thing: bool_(combined(known, partial(bool_, thing))))
    iterator = iter(items)
    late = DecidedLate(iterator)
    for thing in iterator:
        answer = combined(answer, partial(bool_, thing))
        if answer is decisive:
            break
        if type(answer) is not bool:  # a traced one says that it is one
            late.undecided()
    late.end()
    return answer
