"""Functions with rewritten control flow, hooks of choice, and what came of a call."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CellType, FunctionType, ModuleType
from typing import Any

from jitflow.frontend.syntax import CELL, is_block, rewritten, why_not
from tests.frontend.syntax import reference

__all__ = ["Outcome", "defined", "outcome", "rebuilt"]


def rebuilt(function: Any, hooks: ModuleType = reference) -> Any:
    """The function with its control flow rewritten."""
    found = rewritten(function)
    assert found is not None, why_not(function) or "there is nothing to rewrite"
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[CELL] = CellType(hooks)
    closure = tuple(cells[name] for name in found.code.co_freevars)
    made = FunctionType(found.code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def defined(source: str, file: str, names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The globals after running ``source``, whose text is kept as that of ``file``."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": "defined", **(names or {})}
    exec(compile(source, file, "exec"), namespace)
    return namespace


@dataclass
class Outcome:
    """What a call returned or raised, and the function and line of ``file`` that an exception came from."""

    result: Any = None
    error: tuple[type[BaseException], str] | None = None
    line: tuple[str, int] | None = None
    caused: tuple[Any, ...] = ()


def outcome(call: Callable[..., Any], *args: Any, file: str = "", **keywords: Any) -> Outcome:
    """Call, and tell what came of it."""
    try:
        return Outcome(call(*args, **keywords))
    except Exception as error:
        lines: list[tuple[str, int]] = []
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == file:
                if is_block(frame.f_code):
                    lines.pop()
                lines.append((frame.f_code.co_name, line))
        if isinstance(error, NameError):  # Python 3.11 may show the line before: its instructions are fused
            lines[-1:] = [(name, 0) for name, _ in lines[-1:]]
        # In a comprehension, Python 3.11 calls a local name that is unbound a free variable.
        context = NameError if isinstance(error.__context__, NameError) else type(error.__context__)
        caused = (type(error.__cause__), context, error.__suppress_context__)
        # What is raised again by a bare `raise` shows the lines of its blocks once more, above its own.
        return Outcome(None, (type(error), str(error)), lines[-1] if lines else None, caused)
