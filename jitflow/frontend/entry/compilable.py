"""Which kinds of functions can be compiled: those that return a result when they are called."""

from __future__ import annotations

from types import FunctionType

from jitflow.errors import UserTypeError

__all__ = ["refuse_function_kind"]

_GENERATORS = {
    0x20: "a generator function",
    0x80: "a coroutine function",
    0x200: "an asynchronous generator function",
}  # the flags CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR


def refuse_function_kind(function: FunctionType) -> None:
    """Raise `UserTypeError` for functions that do not compute a result when they are called."""
    for flag, name in _GENERATORS.items():
        if function.__code__.co_flags & flag:
            from jitflow.frontend.recording.locate import definition

            raise UserTypeError(
                f"{function.__name__} is {name}, which jitflow does not compile",
                expected="a function that returns its result",
                mend="return a list, or compile the function that does the arithmetic",
                location=definition(function.__code__),
            )
