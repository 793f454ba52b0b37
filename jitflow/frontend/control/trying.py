"""``try`` with handlers: what is traced runs in Python and is caught; what the running program raises would not be.

So a ``try`` whose body records an op that may raise what one of the handlers is for is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType, TracebackType
from typing import Any

from numpy.linalg import LinAlgError

from jitflow.errors import UserNotImplementedError, exception_class
from jitflow.frontend.proxies import ClassProxy
from jitflow.frontend.trace import active_trace
from jitflow.ir.core import Op, Value, walk
from jitflow.runtime.texts import PRINT, RAISE

__all__ = ["trying"]

_LIKELY = (IndexError, ValueError, LinAlgError, TypeError, ArithmeticError, MemoryError)
"""What a library function may raise."""
_RAISED_BY_NUMBERS: Mapping[str, tuple[type[BaseException], ...]] = MappingProxyType(
    {
        **dict.fromkeys(("divide", "floor_divide", "remainder"), (ZeroDivisionError,)),
        **dict.fromkeys(("left_shift", "right_shift"), (ValueError,)),
        "power": (ZeroDivisionError, OverflowError),
    }
)
"""What Python's numbers raise. Its integers do not overflow."""


class trying:  # noqa: N801 - a hook, as the others are
    """The body of a ``try`` statement; ``handled`` gives what its handlers name, None for all exceptions."""

    def __init__(self, handled: Callable[[], tuple[Any, ...]]) -> None:
        self._handled = handled

    def __enter__(self) -> None:
        self._trace = active_trace()
        if self._trace is not None:
            self._scope = self._trace.scope
            self._first = len(self._scope.builder.ops)
            self._trace.handled.append(self._handles)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._trace is None:
            return
        self._trace.handled.pop()
        for op in self._scope.builder.ops[self._first :]:
            for inner in (op, *(inner for region in op.regions for inner in walk(region))):
                self._refuse(inner)

    def _refuse(self, op: Op) -> None:
        """Raise `UserNotImplementedError` if a handler is for what the op may raise."""
        raised = [kind for kind in self._raised_by(op) if self._handles(kind)]
        if raised and self._trace is not None:
            error = UserNotImplementedError(
                f"try around something that may raise {raised[0].__name__} when the compiled code runs, where nothing "
                "catches it",
                mend="test for it with if before it happens, or catch it outside the compiled function",
                location=op.loc,
            )
            raise self._trace.locate(error)

    def _raised_by(self, op: Op) -> tuple[type[BaseException], ...]:
        """The classes of what an op may raise and Python would have raised there."""
        if op.definition.layer == "any" and op.attributes.get("checked"):
            number = self._constant(op.operands[-1])
            return (
                () if number is not None and number > 0 and op.name != "power" else _RAISED_BY_NUMBERS.get(op.name, ())
            )
        if all(effect.kind not in ("check", "external") for effect in op.own_effects) or _routine(op) == PRINT:
            return ()
        if op.name == "check":
            return (exception_class(op.attributes["error"]),)
        if _routine(op) == RAISE:
            return (exception_class(dict(op.attributes["options"])["error"]),)
        return _LIKELY

    def _constant(self, value: Value) -> Any:
        """The number that a value is; None if it is no constant."""
        scopes = () if self._trace is None else self._scope.around()
        makers = {result: op for scope in scopes for op in scope.builder.ops for result in op.results}
        op = makers.get(value)
        while op is not None and op.name == "cast":
            op = makers.get(op.operands[0])
        return op.attributes["value"] if op is not None and op.name == "constant" else None

    def _handles(self, kind: type[BaseException]) -> bool:
        return any(issubclass(kind, handler) for handler in self._handlers())

    def _handlers(self) -> Iterator[type[BaseException]]:
        for handler in self._handled():
            for kind in handler if isinstance(handler, tuple) else (handler,):
                found = kind._jitflow_object if isinstance(kind, ClassProxy) else kind
                if found is None or isinstance(found, type):
                    yield BaseException if found is None else found


def _routine(op: Op) -> Any:
    return op.attributes.get("routine")
