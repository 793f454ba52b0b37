"""Context managers of the program's: what they do where the running program raises inside of them, they do not do.

A ``with`` statement stays Python's. Its manager is entered and left while tracing, and what the compiled code raises
behind that is no exception of the trace. Most managers do nothing then that somebody would miss. One that may swallow
exceptions, or stores to what the caller sees, is refused around what may raise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dis import get_instructions
from functools import cache
from itertools import pairwise
from types import CodeType, FunctionType, MappingProxyType, TracebackType
from typing import Any

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.control.trying import is_missed, raised_by, watched
from jitflow.frontend.outside.proxies import ObjectProxy
from jitflow.frontend.outside.purity import named_class
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording.locate import is_internal
from jitflow.frontend.recording.trace import active_trace
from jitflow.frontend.tracers.base import located

__all__ = ["MANAGERS", "managed", "suppressing"]


class OfGenerator:
    """What a function with `contextlib.contextmanager` gives: its generator is entered and left while tracing."""

    def __init__(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self._generator = function(*args, **keywords)

    def __enter__(self) -> Any:
        try:
            return next(self._generator)
        except StopIteration:
            raise RuntimeError("generator didn't yield") from None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> Any:
        try:
            next(self._generator) if error is None else self._generator.throw(error)
        except StopIteration as stopped:
            return error is not None and stopped is not error
        raise RuntimeError("generator didn't stop" + " after throw()" * (error is not None))


def managed(manager: Any) -> Any:
    """What a ``with`` statement is given: one of the program's managers is watched."""
    if isinstance(manager, Stack):
        return _Managed(manager, may_swallow=False)
    if isinstance(manager, OfGenerator):
        names = [one.opname for one in get_instructions(manager._generator.gi_code)]
        swallows = "CHECK_EXC_MATCH" in names or ("PUSH_EXC_INFO", "POP_TOP") in pairwise(names)
        return _Managed(manager, swallows) if "PUSH_EXC_INFO" in names else manager
    kind = manager._jitflow_object.__class__ if isinstance(manager, ObjectProxy) else type(manager)
    leave = getattr(kind, "__exit__", None)
    if active_trace() is None or not isinstance(leave, FunctionType) or is_internal(leave.__code__.co_filename):
        return manager
    return _Managed(manager, _may_swallow(leave.__code__))


def suppressing(function: Any) -> None:
    """What is written as ``with suppress(...)`` has become a ``try``: the function has to be `contextlib.suppress`."""
    if active_trace() is not None and contextlib.suppress not in (function, named_class(function)):
        raise located(UserNotImplementedError(
            "with a manager that is called suppress and is none of contextlib's",
            mend="give it another name",
        ))  # fmt: skip


class Stack(contextlib.ExitStack):
    """`contextlib.ExitStack`, which is left while tracing, as what is entered in it is."""

    def enter_context(self, cm: Any) -> Any:
        """Enter a manager, and leave it when the stack is left."""
        return super().enter_context(managed(cm))


MANAGERS: Mapping[Any, Any] = MappingProxyType({
    contextlib._GeneratorContextManager: OfGenerator,
    contextlib.ExitStack: Stack,
    contextlib.closing: contextlib.closing,
    contextlib.nullcontext: contextlib.nullcontext,
})  # fmt: skip
"""What runs in the place of managers of Python's, which do nothing by themselves."""


class _Managed(watched):
    def __init__(self, manager: Any, may_swallow: bool) -> None:
        self._manager, self._may_swallow = manager, may_swallow

    def __enter__(self) -> Any:
        super().__enter__()
        return type(self._manager).__enter__(self._manager)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> Any:
        trace = active_trace()
        if error is not None or trace is None:
            return type(self._manager).__exit__(self._manager, kind, error, at)
        leaving = self.first_raised()
        contents, first = trace.state(Stores).contents(), len(self._scope.builder.ops)
        answer = type(self._manager).__exit__(self._manager, None, None, None)
        if leaving is not None and (self._may_swallow or is_missed(contents, self._scope, first)):
            name = raised_by(leaving)[0].__name__
            does = "might swallow it" if self._may_swallow else "would store to what the caller sees"
            raise trace.locate(UserNotImplementedError(
                f"with around something that may raise {name} when the compiled code runs, where __exit__ {does}",
                mend="test for it with if before it happens, or write the with statement outside the compiled function",
                location=leaving.loc,
            ))  # fmt: skip
        return answer


@cache
def _may_swallow(code: CodeType) -> bool:
    """Whether a function may return something that is true."""
    if any(one.opname == "RETURN_CONST" and one.argval for one in get_instructions(code)):
        return True
    return any(
        following.opname == "RETURN_VALUE" and not (one.opname == "LOAD_CONST" and not one.argval)
        for one, following in pairwise(get_instructions(code))
    )
