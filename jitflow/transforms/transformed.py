"""Functions that are made of a function: what gradients and batches have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from jitflow.errors import UserNotImplementedError
from jitflow.reuse import made_of

if TYPE_CHECKING:
    from jitflow.api import CompiledFunction

__all__ = ["refuse_part", "transformed"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def transformed(
    fun: Callable[_Parameters, Any],
    transform: Callable[..., _Result],
    kind: Hashable,
    *,
    what: str = "the gradient",
    as_passed: bool = False,
) -> CompiledFunction[_Parameters, _Result]:
    """``transform(fun, args, kwargs)`` as a function: compiled, or traced with what is being traced.

    Transformations of one ``kind`` do the same. They get the arguments with their defaults, or only those that are
    passed.
    """
    from jitflow import signatures
    from jitflow.api import derived
    from jitflow.frontend.recording.trace import active_trace

    given = fun
    refuse_part(fun, what)
    if _is_compiled(fun):
        fun = fun.__wrapped__  # type: ignore[attr-defined]
    if active_trace() is not None:
        return lambda *args, **kwargs: transform(fun, args, kwargs)  # type: ignore[return-value]

    def make() -> Any:
        return signatures.with_signature(fun, transform, signatures.as_passed(fun) if as_passed else None)

    options = given._options if _is_compiled(given) else None  # type: ignore[attr-defined]
    return made_of(fun, (kind, options), make, lambda made: derived(made, given))  # type: ignore[no-any-return]


def _is_compiled(fun: Any) -> bool:
    return getattr(type(fun), "__jitflow_compiled__", False)


def refuse_part(fun: Any, what: str = "the gradient") -> None:
    """Raise UserNotImplementedError for a function of which only a part is compiled."""
    if _is_compiled(fun) and fun._options.part is not None:
        raise UserNotImplementedError(
            f"{what} of a part of a function",
            mend="write the part as a function of its own, which the whole one calls, and transform that",
        )
