"""What all tracers share: one IR value of one trace, and clear errors where Python asks for more than that."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import CodeType, FrameType
from typing import Any, NoReturn, TypeVar

import numpy as np

from jitflow.errors import UserAttributeError, UserError, UserNotImplementedError, UserRuntimeError
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.locate import is_of_dataclasses
from jitflow.frontend.recording.trace import Trace, active_trace, current_trace
from jitflow.frontend.syntax import CELL, why_plain
from jitflow.frontend.tracers.operators import BINARY, COMPARISONS, UNARY
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value

__all__ = ["TRACED", "Tracer", "asked", "begin_anew_rewritten", "class_name", "escaped", "lacking", "located",
           "may_be_pinned", "needs_number", "pinning_site", "place_of_pin", "ufunc_binary", "ufunc_in_place",
           "ufunc_unary"]  # fmt: skip


TRACED = "<traced "
"""What the `repr` of a tracer begins with. For those who debug jitflow: no text of a program may have it in it."""


_OF_NUMBERS = frozenset({"bit_count", "denominator", "is_integer", "numerator"})
"""What NumPy's scalars have, and arrays have not."""


class Tracer:
    """What stands for one IR value of one trace."""

    __slots__ = ("_trace", "_value")
    __array_priority__ = 1_000_000.0
    is_python_number = False
    """Whether NumPy's promotion takes it as a Python number (NEP 50)."""

    def __init__(self, value: Value, trace: Trace | None = None) -> None:
        self._value = value
        self._trace = current_trace() if trace is None else trace

    @property
    def value(self) -> Value:
        """The IR value. Raises `UserRuntimeError` if its trace is over."""
        if active_trace() is not self._trace:
            raise escaped(self, self._trace)
        return self._value

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        if active_trace() is self._trace and not self._trace.choices.is_settled(Site(Choice.LOOKED_INTO)):
            raise self._trace.begin_anew(Restart(Site(Choice.LOOKED_INTO)))
        raise needs_number(
            self, f"{self._describe()} was handed to code that needs the numbers themselves",
            "use NumPy functions that jitflow compiles, or do this outside the compiled function",
        )  # fmt: skip

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return surface.apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return surface.apply_function(function, args, kwargs)

    def __bool__(self) -> bool:
        raise needs_number(
            self, f"a decision on a traced value: {self._describe()} is known only when the compiled code runs",
            "use np.where to choose between values; a decision on a shape or on an argument named in static= is fine",
        )  # fmt: skip

    def __float__(self) -> float:
        raise self._conversion("float()", "leave it out, because arithmetic promotes, or write np.float64(...)")

    def __int__(self) -> int:
        raise self._conversion(
            "int()", "write np.int64(...); where Python needs the number, name the argument in static="
        )

    def __complex__(self) -> complex:
        raise self._conversion("complex()", "leave it out, because arithmetic promotes, or write np.complex128(...)")

    def __index__(self) -> int:
        raise needs_number(
            self, f"{self._describe()} was used where Python needs the number itself: an index, a length or a repeat",
            "name the argument in static=, which compiles anew for each value; arrays can be indexed with it as it is",
        )  # fmt: skip

    def __str__(self) -> str:
        raise self._conversion("text", "write an f-string, and print it or raise an exception with it")

    def __format__(self, specification: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"{TRACED}{self._value.type}>"

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __reduce__(self) -> NoReturn:
        raise self._conversion("pickle", "do this outside the compiled function")

    def __getattr__(self, name: str) -> Any:
        # Only names that the class lacks arrive here.
        if name.startswith("__"):
            raise AttributeError(lacking(self, name))  # Python may ask for it as well
        if name in surface.attributes:
            return surface.attributes[name](self)
        if name in surface.methods:
            return partial(surface.methods[name], self)
        if name in _OF_NUMBERS and hasattr(self.__class__, name):
            return surface.number_attribute(self, name)
        stands_for = self.__class__
        if hasattr(stands_for, name):
            raise located(
                UserNotImplementedError(
                    f"{stands_for.__name__}.{name} is not compiled",
                    found=f"{self._describe()}",
                    mend="write it with other NumPy functions, or do it outside the compiled function",
                )
            )
        raise located(UserAttributeError(lacking(self, name)))

    def _describe(self) -> str:
        return f"a value of type {str(self._value.type).removeprefix('py')}"

    def _conversion(self, target: str, mend: str) -> UserError:
        return needs_number(
            self, f"{target} of a traced value: {self._describe()} is known only when the compiled code runs", mend
        )


def ufunc_binary(name: str, left: Any, right: Any) -> Any:
    """A binary operator as NumPy's function."""
    return surface.apply_ufunc(BINARY.get(name) or COMPARISONS[name], "__call__", (left, right), {})


def ufunc_unary(name: str, operand: Any) -> Any:
    """A unary operator as NumPy's function."""
    return surface.apply_ufunc(UNARY[name], "__call__", (operand,), {})


def ufunc_in_place(name: str, target: Any, operand: Any) -> Any:
    """An in-place operator as NumPy's function with ``out=``."""
    return surface.apply_ufunc(BINARY[name], "__call__", (target, operand), {"out": (target,)})


# -- errors


_Error = TypeVar("_Error", bound=UserError)


def located(error: _Error) -> _Error:
    """``error`` at the user's line, if something is being traced."""
    trace = active_trace()
    return error if trace is None else trace.locate(error)


def escaped(tracer: Tracer, trace: Trace) -> UserError:
    """The error for a tracer that is used when its trace is over."""
    return located(
        UserRuntimeError(
            f"a traced value outlived the function that it belongs to: {tracer._describe()} of {trace.name}",
            expected="values that leave a compiled function to be returned by it",
            mend="return the value; do not keep it in a global, an attribute or a list that outlives the call",
        )
    )


def begin_anew_rewritten(trace: Trace, frame: FrameType | None = None) -> None:
    """Start the trace anew if what needs a number may be a hook's in a function that has not been rewritten.

    That of ``frame``, or else the one that is running. A lambda or comprehension is a part of the function around it.
    """
    for one in trace.user_frames() if frame is None else (frame,):
        if is_of_dataclasses(one.f_code):
            continue
        if CELL in one.f_code.co_freevars:
            return
        code = next((code for code in trace.straight if one.f_code in _parts(code)), None)
        if code is not None:
            site = Site(Choice.REWRITTEN, code.co_filename, code.co_firstlineno)
            if not trace.choices.is_settled(site):
                raise trace.begin_anew(Restart(site))
            return


def _parts(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and that of those inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)


def needs_number(tracer: Tracer, message: str, mend: str) -> UserError:
    """The error for a tracer where Python needs the number itself."""
    if active_trace() is not tracer._trace:
        return escaped(tracer, tracer._trace)
    begin_anew_rewritten(tracer._trace)
    reason = why_plain(tracer._trace.running_code())
    found = f"a function whose control flow is not compiled: {reason}" if reason else ""
    error = located(UserNotImplementedError(message, found=found, mend=mend))
    error.needs_number = True
    return may_be_pinned(error, tracer)


def lacking(thing: Any, name: str) -> str:
    """What Python says of an object that lacks an attribute."""
    return f"'{class_name(thing)}' object has no attribute '{name}'"


def class_name(thing: Any) -> str:
    """The name of the class of an object, as messages of Python's and NumPy's have it."""
    kind = thing.__class__
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def may_be_pinned(error: UserError, tracer: Tracer) -> UserError:
    """The error for a number that is asked for, noting that another trace can have it, if it can."""
    error.pin = place_of_pin(tracer, pinning_site()) or error.pin
    return error


def place_of_pin(tracer: Tracer, site: Site) -> Site | None:
    """The place, where another trace can have the number there; None if none can."""
    trace = active_trace()
    is_known = trace is not None and trace.pins is not None and trace.pins.known(tracer._value) is not None
    return site if is_known else None


def asked(tracer: Tracer) -> Any:
    """The number itself, guarded, if an earlier trace could not do without; None if it is not to be had."""
    trace = active_trace()
    if trace is not tracer._trace or trace.pins is None or not trace.choices.answer(pinning_site()):
        return None
    return trace.pins.asked(tracer._value)


def pinning_site() -> Site:
    """The place in the program, at which numbers may be pinned."""
    here = current_trace().here()
    return Site(Choice.PINNED, here.file, here.line)
