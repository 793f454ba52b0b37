"""Where in the user's program the tracer stands.

The place of an op is the innermost frame that belongs to none of jitflow, NumPy and Python's own library: the line that
the user wrote.
Looking it up happens once per op, so positions are decoded once per code object and places once per instruction.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

import numpy as np

from jitflow.errors import CompilerBug, UserError
from jitflow.frontend.syntax import is_block
from jitflow.interruptions import is_interruption
from jitflow.ir.location import NOWHERE, Loc

__all__ = [
    "Locator",
    "definition",
    "innermost_place",
    "is_bug",
    "is_internal",
    "is_of_dataclasses",
    "is_of_the_program",
    "package_of",
    "raising_for_the_program",
]

Function = TypeVar("Function", bound=Any)
_JITFLOW = str(Path(__file__).parents[2]) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_LONGEST_DECORATORS = 20
_USERS_INSIDE = (_JITFLOW + "benchmarks" + os.sep, _JITFLOW + os.path.join("frontend", "python", "written_queues"))
"""Programs that are packed with jitflow, but written as a user writes them."""


def _jitflow_path(name: str) -> str:
    """What the file names of a module or package of jitflow start with."""
    return f"{_JITFLOW}{name}"


def is_internal(file: str) -> bool:
    """Whether a file belongs to jitflow and not to a user."""
    return file.startswith(_JITFLOW) and not file.startswith(_USERS_INSIDE)


def is_hidden(file: str) -> bool:
    """Whether lines of a file are none of the user's: jitflow's, NumPy's and those of Python's own library."""
    if file.startswith(_LIBRARY) and not file.startswith((_JITFLOW, _NUMPY)):
        return "-packages" + os.sep not in file  # installed packages lie inside Python's own library
    return is_internal(file) or file.startswith(_NUMPY)


def is_of_dataclasses(code: CodeType) -> bool:
    """Whether ``@dataclass`` has written a function, whose text is not kept."""
    return code.co_qualname.startswith("__create_fn__.")


def package_of(file: str) -> str:
    """The installed package that a file belongs to, empty for the files of a project."""
    _, installed, inside = file.rpartition(f"-packages{os.sep}")
    return inside.split(os.sep)[0].removesuffix(".py") if installed else ""


_ON_BEHALF = (
    *(
        _jitflow_path(f"frontend{os.sep}{name}")
        for name in ("arrays", "containers", "control", "numpy", "outside", "python", "texts", "tracers")
    ),
    _jitflow_path("random"),
)
"""Where jitflow calls Python's and NumPy's functions with what the program gave it."""
_RAISING: set[CodeType] = set()
"""The code of functions that raise what the program raises."""
_OF_THE_MACHINE = (RecursionError, MemoryError, KeyboardInterrupt)
"""What may come at any time, and at another than in the running program, unless the program itself raises it."""


def is_bug(error: Exception) -> bool:
    """Whether an exception that is no user error was raised by jitflow's own code, or by a signal's handler.

    Where that code calls Python or NumPy on the program's behalf, its exceptions are the program's.
    """
    if is_interruption(error):
        return True
    innermost = _innermost(error)
    if innermost is None or innermost in _RAISING or isinstance(error, RecursionError):
        return False
    if innermost.co_filename.startswith(_ON_BEHALF):
        return not isinstance(error, TypeError | ValueError | IndexError | ArithmeticError)
    return is_internal(innermost.co_filename)


def innermost_place(traceback: TracebackType | None, above: Loc | None = None) -> Loc | None:
    """The innermost line of the user's in a traceback, and the lines that led there: in it, and ``above`` it."""
    locator, found = Locator(), above
    while traceback is not None:
        place = locator.place_in_traceback(traceback)
        if place is not None:
            # The place in the same function that led into a block is no caller.
            caller = found.caller if found is not None and is_block(traceback.tb_frame.f_code) else found
            found = replace(place, caller=caller)
        traceback = traceback.tb_next
    return found


def in_pythons_words(message: str, number: str) -> str:
    """A message in which Python names the class of a tracer where it means what the tracer stands for.

    ``number`` is what it calls the type of the number that an operator has refused.
    """
    return message.replace("ArrayTracer", "numpy.ndarray").replace("NumberTracer", number or "NumberTracer")


def is_of_the_program(error: BaseException) -> bool:
    """Whether the program raised an exception, as it would without jitflow: only then its handlers may see it."""
    if isinstance(error, UserError):
        return not error.is_refusal
    if isinstance(error, _OF_THE_MACHINE):
        return _innermost(error) in _RAISING
    if is_interruption(error):
        return False
    return not isinstance(error, CompilerBug) and not (isinstance(error, Exception) and is_bug(error))


def _innermost(error: BaseException) -> CodeType | None:
    """The code that raised an exception, or that asked an object for an attribute which it says that it lacks."""
    code, traceback = None, error.__traceback__
    while traceback is not None and not (traceback.tb_next is None and _is_answer(error, traceback.tb_frame)):
        code, traceback = traceback.tb_frame.f_code, traceback.tb_next
    return code


def _is_answer(error: BaseException, frame: FrameType) -> bool:
    is_asked = frame.f_code.co_name == "__getattr__"
    return is_asked and isinstance(error, AttributeError) and frame.f_locals.get("self") is error.obj


def raising_for_the_program(function: Function) -> Function:
    """Mark a function of jitflow's: what it raises, the program raises."""
    _RAISING.add(function.__code__)
    return function


def definition(code: CodeType) -> Loc:
    """The place of a function's ``def``, which stands below its decorators."""
    first = code.co_firstlineno
    for line in range(first, first + _LONGEST_DECORATORS if code.co_name != "<lambda>" else first):
        if linecache.getline(code.co_filename, line).lstrip().startswith(("def ", "async def ")):
            return Loc(code.co_filename, line, code.co_name)
    return Loc(code.co_filename, first, code.co_name)


class Locator:
    """Finds the user's place, and remembers what it decoded.

    Keyed by identity, because code objects hash and compare by all that is in them; the entries keep the code alive.
    """

    def __init__(self) -> None:
        self._internal: dict[str, bool] = {}
        self._places: dict[tuple[int, int, str, int], Loc] = {}
        self._codes: dict[int, tuple[CodeType, list[tuple[int | None, int | None, int | None, int | None]]]] = {}

    def here(self, stop: FrameType | None = None, device: str = "", with_callers: bool = True) -> Loc:
        """The place of the innermost user frame above ``stop``, with those that called it; `NOWHERE` if there is none.

        ``device``: where the user wants what stands there. Callers take as long to find as calls are deep.
        """
        frame = self._user_frame(sys._getframe(1), stop)
        if frame is None:
            return replace(NOWHERE, device=device)
        callers: list[FrameType] = []
        caller = self._caller(frame, stop) if with_callers else None
        while caller is not None:
            callers.append(caller)
            caller = self._caller(caller, stop)
        place: Loc | None = None
        for each in reversed(callers):
            place = self._place(each, "", place)
        return self._place(frame, device, place)

    def frame(self, stop: FrameType | None = None) -> FrameType | None:
        """The innermost user frame above ``stop``."""
        return self._user_frame(sys._getframe(1), stop)

    def frames(self, stop: FrameType | None = None) -> Iterator[FrameType]:
        """The user's frames above ``stop``, innermost first."""
        frame = self._user_frame(sys._getframe(1), stop)
        while frame is not None:
            yield frame
            frame = self._user_frame(frame.f_back, stop)

    def place_in_traceback(self, entry: TracebackType) -> Loc | None:
        """The place of a traceback entry, None if it is not in the user's code."""
        if self._user_frame(entry.tb_frame) is not entry.tb_frame:
            return None
        return self._decode(entry.tb_frame.f_code, entry.tb_lasti, entry.tb_lineno)

    def _user_frame(self, frame: FrameType | None, stop: FrameType | None = None) -> FrameType | None:
        while frame is not None and frame is not stop:
            file = frame.f_code.co_filename
            internal = self._internal.get(file)
            if internal is None:
                internal = self._internal[file] = is_hidden(file)
            if not internal:
                return frame
            frame = frame.f_back
        return None

    def _caller(self, frame: FrameType, stop: FrameType | None) -> FrameType | None:
        """The frame of the user's that called the function which a frame belongs to."""
        while True:
            inside = is_block(frame.f_code)  # a part of the function that comes next, which is no caller
            above = self._user_frame(frame.f_back, stop)
            if above is None or not inside:
                return above
            frame = above

    def _place(self, frame: FrameType, device: str, caller: Loc | None) -> Loc:
        code, instruction = frame.f_code, frame.f_lasti
        key = (id(code), instruction, device, id(caller))
        place = self._places.get(key)
        if place is None:
            decoded = self._decode(code, instruction, frame.f_lineno)
            place = self._places[key] = replace(decoded, device=device, caller=caller)
        return place

    def _decode(self, code: CodeType, instruction: int, line: int) -> Loc:
        if id(code) not in self._codes:
            self._codes[id(code)] = (code, list(code.co_positions()))
        positions = self._codes[id(code)][1]
        start, end, column, end_column = positions[instruction // 2]
        if column is None or end_column is None:
            column = end_column = -1
        if start != end:  # the caret marks the first line only
            end_column = -1
        return Loc(code.co_filename, start or line, code.co_name, column, end_column)
