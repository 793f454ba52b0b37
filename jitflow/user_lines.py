"""How an error shows the user's lines: an excerpt with a caret below its message, and a traceback through them."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import TracebackType
from typing import Protocol, TypeVar

__all__ = ["AnyError", "Location", "described", "excerpt", "with_user_frames"]


AnyError = TypeVar("AnyError", bound=BaseException)


class Location(Protocol):
    """What an error needs to know of a place in the user's source; the `Loc` of the IR is one.

    Lines count from 1 and are 0 where nothing is known. Columns count UTF-8 bytes from 0, as in Python's
    `ast` and `code.co_positions()`, and are -1 where unknown.
    """

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def function(self) -> str: ...
    @property
    def column(self) -> int: ...
    @property
    def end_column(self) -> int: ...
    def chain(self) -> Iterator[Location]: ...


def excerpt(location: Location) -> str:
    """Return the place, its source line if that can be read, and a caret under its columns.

    ```
      --> train.py:12, in step
       |
    12 |     if x.sum() > 0:
       |        ^^^^^^^^^^^
    ```
    """
    lines = [f"  --> {described(location)}"]
    source = linecache.getline(location.file, location.line).rstrip()
    if source:
        gutter = " " * len(str(location.line))
        lines += [f"  {gutter} |", f"  {location.line} | {source}"]
        caret = _caret(source, location)
        if caret:
            lines.append(f"  {gutter} | {caret}")
    return "\n".join(lines)


def described(location: Location) -> str:
    """The place in a few words."""
    function = f", in {location.function}" if location.function else ""
    return f"{location.file}:{location.line}{function}"


def _caret(source: str, location: Location) -> str:
    """Return the line of `^` under the location's columns, which count bytes, not characters."""
    if location.column < 0:
        return ""
    encoded = source.encode()
    end = location.end_column if location.end_column > location.column else location.column + 1
    before = encoded[: location.column].decode(errors="replace")
    marked = encoded[location.column : end].decode(errors="replace")
    # Tabs stay tabs, so that the caret stands below its column whatever their width.
    padding = "".join("\t" if character == "\t" else " " for character in before)
    return padding + "^" * max(len(marked), 1)


def with_user_frames(
    error: AnyError, location: Location | None, inner: TracebackType | None = None
) -> AnyError:  # fmt: skip
    """Give `error` a traceback of the user's lines alone, innermost last, and return it, ready to raise.

    `inner` are the entries of code that ran inside the last one. What is above the caller of jitflow is added by Python
    while the exception travels, so the user sees their call, the calls that led to the line at fault, and that line.
    """
    traceback = inner
    for place in location.chain() if location is not None else ():
        if place.line > 0:
            traceback = _frame_at(place, traceback)
    return error.with_traceback(traceback)


class _FrameProbe(Exception):
    """Raised by the synthetic code below to get hold of its own frame."""


def _frame_at(location: Location, inner: TracebackType | None) -> TracebackType:
    """Return a traceback entry at `location`, followed by `inner`.

    Python makes frames only by running code, so this compiles `raise probe` with the user's file name, line
    and columns, runs it, and keeps the frame that it raised from.
    """
    statement = ast.Raise(exc=ast.Name(id="probe", ctx=ast.Load()))
    column, end_column = location.column, max(location.end_column, location.column)
    if column < 0:  # Python underlines nothing when all of the line is meant
        source = linecache.getline(location.file, location.line).rstrip().encode()
        column, end_column = len(source) - len(source.lstrip()), len(source)
    for node in (statement, statement.exc):
        assert node is not None
        node.lineno = location.line
        node.col_offset = column
        node.end_lineno = location.line
        node.end_col_offset = end_column
    code = compile(ast.Module(body=[statement], type_ignores=[]), location.file, "exec")
    function = location.function or "<module>"
    code = code.replace(co_name=function, co_qualname=function)
    try:
        exec(code, {"probe": _FrameProbe, "__name__": "jitflow.user"})
    except _FrameProbe as probe:
        assert probe.__traceback__ is not None
        frame_entry = probe.__traceback__.tb_next
        assert frame_entry is not None
        return TracebackType(inner, frame_entry.tb_frame, frame_entry.tb_lasti, location.line)
    raise AssertionError("the synthetic frame did not raise")
