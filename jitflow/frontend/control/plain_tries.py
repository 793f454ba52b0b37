"""Try statements that Python runs as they stand, because the text of their function cannot be read.

What is compiled cannot come back to their handlers. So an op that may fail when the program runs is refused inside of
one, whatever is handled there, and whatever a ``finally`` would do. Code says where its handlers are (`dis`), and which
of them end a ``with`` statement, whose end has no say in what is raised, in what a compiled function may enter.
"""

from __future__ import annotations

from dis import Bytecode
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.control.trying import raised_by
from jitflow.frontend.recording.trace import Trace
from jitflow.frontend.syntax import why_not
from jitflow.ir.core import Op

__all__ = ["watch"]

Spans = tuple[range, ...]


class _Watched(dict[CodeType, tuple[Spans, str]]):
    """Where the bodies of such statements are in the code of functions, and why these are not rewritten."""


def watch(trace: Trace, function: FunctionType) -> None:
    """Refuse what may fail inside of a try of a function that is not rewritten."""
    spans = _bodies(function.__code__)
    if not spans:
        return
    watched = trace.state(_Watched)
    if not watched:
        trace.noted = partial(_look, trace, watched, trace.noted)
    watched[function.__code__] = spans, why_not(function)


def _bodies(code: CodeType) -> Spans:
    found: Any = Bytecode(code)
    names = {one.offset: one.opname for one in found}
    spans = []
    for entry in found.exception_entries:
        is_with = names.get(entry.target + 2) == "WITH_EXCEPT_START"
        if names.get(entry.target) == "PUSH_EXC_INFO" and not is_with:
            spans.append(range(entry.start, entry.end))
    return tuple(spans)


def _look(trace: Trace, watched: _Watched, before: object, op: Op) -> None:
    assert callable(before)
    before(op)
    raised = raised_by(op)
    if not raised:
        return
    for frame in trace.user_frames():
        spans, reason = watched.get(frame.f_code, ((), ""))
        if any(frame.f_lasti in span for span in spans):
            raise trace.locate(
                UserNotImplementedError(
                    f"try around something that may raise {raised[0].__name__} when the compiled code runs",
                    found=f"a function whose control flow is not compiled: {reason}",
                    mend="write the function in a file, where its text can be read",
                )
            )
