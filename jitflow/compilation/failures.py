"""What becomes of a call that failed: Python's exception, with the user's lines."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, Protocol

from jitflow.errors import USER_ERRORS, CompilerBug, UserError, UserTypeError, exception_class
from jitflow.frontend.recording.locate import is_internal
from jitflow.ir.location import Loc
from jitflow.ir.python_numbers import INT_OVERFLOW, POWER_TYPE
from jitflow.ir.routines import Routine, RoutineResultError
from jitflow.ir.status import (
    CHECK_FAILED,
    DEVICE_FAILED,
    INTERRUPTED,
    NO_WORKER,
    NOT_ON_TAPE,
    OF_ANOTHER_PROCESS,
    OUT_OF_MEMORY,
    ROUTINE_FAILED,
    ROUTINE_FAILED_ELSEWHERE,
    TOO_BIG,
    UNCOUNTED,
)
from jitflow.ir.types import Index, Scalar, Type
from jitflow.runtime.entry.plan import ERROR_SLOTS
from jitflow.runtime.native.cuda import driver_error
from jitflow.runtime.native.pending import take_exception
from jitflow.user_lines import with_user_frames

__all__ = ["Site", "failure", "failure_handler", "for_the_caller"]


class Site(Protocol):
    """What a failure asks of an op, or of what a file holds of one (`cache/sites.py`)."""

    @property
    def name(self) -> str: ...
    @property
    def operands(self) -> Sequence[Any]: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...
    @property
    def loc(self) -> Loc: ...


def failure_handler(sites: Sequence[Site]) -> Callable[[int, int], NoReturn]:
    """The function that an entry calls with the status of a failed run and the address of its error slots."""

    def fail(status: int, address: int) -> NoReturn:
        raise failure(sites, status, address)

    return fail


def failure(sites: Sequence[Site], status: int, address: int) -> BaseException:
    """What becomes of a failed run: an exception with the user's frames, to be raised by the entry's handler itself."""
    slots = (ctypes.c_int64 * ERROR_SLOTS).from_address(address)
    code, site = slots[0], slots[1]
    if code == ROUTINE_FAILED_ELSEWHERE and site == OF_ANOTHER_PROCESS:
        return _owned_exception(slots[2]) or CompilerBug("another process failed without an exception")
    if not 0 <= site < len(sites):
        return CompilerBug(f"a call failed with status {status}, code {code} at the unknown site {site}")
    op = sites[site]
    if code == ROUTINE_FAILED:
        return _exception_of_routine(op, take_exception())
    if code == ROUTINE_FAILED_ELSEWHERE:
        return _exception_of_routine(op, _owned_exception(slots[2]))
    if code == INTERRUPTED:
        return _interrupt(op)
    return with_user_frames(_exception(code, op, slots[2:]), op.loc)


def _owned_exception(address: int) -> BaseException | None:
    """The exception at an address, with a reference that is taken over."""
    exception: BaseException | None = ctypes.cast(address, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(exception))
    return exception


def _exception_of_routine(op: Site, exception: BaseException | None) -> BaseException:
    """What a routine raised, as it is; what a callback raised has its own frames as well."""
    name = op.attributes["routine"]
    if exception is None:
        return CompilerBug("a routine failed without an exception", operation=name, location=op.loc)
    if isinstance(exception, RoutineResultError):
        if not isinstance(name, Routine):
            return CompilerBug(str(exception), operation=op.name, location=op.loc)
        mend = "say in result_spec what the function returns"
        return with_user_frames(UserTypeError(str(exception), mend=mend, location=op.loc), op.loc)
    inner = _frames_of_user(exception.__traceback__) if isinstance(name, Routine) else None
    return with_user_frames(exception, op.loc, inner)


def _interrupt(op: Site) -> BaseException:
    """What a signal's handler raised while a loop ran, as a rule KeyboardInterrupt, at that loop."""
    exception = take_exception() or KeyboardInterrupt()
    return with_user_frames(exception, op.loc, _frames_of_user(exception.__traceback__))


def for_the_caller(error: BaseException) -> BaseException:
    """What a call raises, of what compiling or the program raised."""
    if isinstance(error, UserError):
        return with_user_frames(error.as_raised(), error.location)
    frames = None if isinstance(error, CompilerBug) else _frames_of_user(error.__traceback__)
    return error if frames is None else error.with_traceback(frames)


def _frames_of_user(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the first entry on that is not jitflow's own."""
    while traceback is not None and is_internal(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    return traceback


def _exception(code: int, op: Site, words: Sequence[int]) -> BaseException:
    if code == OUT_OF_MEMORY:
        if words[0] == UNCOUNTED:
            return ValueError(TOO_BIG)
        return MemoryError(f"Unable to allocate {words[0]} bytes for an array")
    if code == NO_WORKER:
        return RuntimeError("can't start new thread")
    if code == DEVICE_FAILED:
        return RuntimeError(driver_error(words[0]))
    if code == NOT_ON_TAPE:
        return CompilerBug("expected to pop what was pushed", operation=op.name, location=op.loc)
    if code != CHECK_FAILED:
        return CompilerBug(f"a call failed with the unknown code {code}", operation=op.name, location=op.loc)
    values = _values([operand.type for operand in op.operands], words, skip=op.name == "check")
    kind = exception_class(op.attributes.get("error", "ValueError"))
    message = str(op.attributes.get("message", "operands could not be broadcast together"))
    if "literal" in op.attributes:
        return kind(_made_of(op.attributes["literal"], iter(values)))
    text = message.format(*values)
    if message in (INT_OVERFLOW, POWER_TYPE):
        kind = USER_ERRORS[kind]
    if issubclass(kind, UserError):
        return kind(text, location=op.loc).refused()
    return kind(text) if text else kind()


def _made_of(shape: Any, values: Iterator[Any]) -> Any:
    """A number, or a tuple, of numbers: NumPy's where the shape has the name of a dtype, Python's where it has none."""
    if isinstance(shape, list | tuple):
        return tuple(_made_of(part, values) for part in shape)
    if not shape:
        return next(values)
    import numpy as np

    return np.dtype(shape).type(next(values))


def _values(types: Sequence[Type], words: Sequence[int], *, skip: bool) -> list[Any]:
    """The numbers that the failing op reported; a check's condition is none of them."""
    values: list[Any] = []
    position = 0
    for kind in types[1:] if skip else types:
        width = 2 if isinstance(kind, Scalar) and kind.dtype.name == "c128" else 1
        if position + width > len(words):
            values.append("...")  # there was no room for it
            continue
        values.append(_number(kind, words[position : position + width]))
        position += width
    return values


def _number(kind: Type, words: Sequence[int]) -> Any:
    if isinstance(kind, Index) or not isinstance(kind, Scalar):
        return words[0]
    import numpy as np

    bits = struct.pack(f"{len(words)}q", *words)[: kind.dtype.itemsize]
    number = np.frombuffer(bits, kind.dtype.numpy)[0]
    return number if kind.dtype.name == "f32" else number.item()  # its text is not that of the f64
