"""Functions that are made of other functions and have their parameters, so that calls bind natively."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any

__all__ = ["as_passed", "by_position", "called", "method_of", "with_signature"]

Function = Callable[..., Any]

_MADE = f"{__file__}:made"
"""Where functions are that are made: it begins like this file, which is none of the user's, and has no lines."""


def _anything(*args: Any, **kwargs: Any) -> None:
    """Has the parameters that a function made of one of NumPy's has."""


def as_passed(fun: Function) -> inspect.Signature | None:
    """The signature that tells what a call passes of what is left to defaults; None if that of ``fun`` has none."""
    kinds = inspect.Parameter
    parameters = inspect.signature(_described(fun)).parameters.values()
    is_plain = all(one.default is kinds.empty and one.kind is not kinds.KEYWORD_ONLY for one in parameters)
    return None if is_plain else inspect.signature(_anything)


def by_position(
    fun: Function, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Arguments of a call, where each has a position if the parameters of ``fun`` tell it and none is left out."""
    if not kwargs or as_passed(fun) is not None:
        return args, kwargs
    try:
        found = inspect.signature(_described(fun)).bind(*args, **kwargs)
    except TypeError:  # whoever calls it says so
        return args, kwargs
    return found.args, found.kwargs


def _described(fun: Function) -> Function:
    """What has the parameters of a function.

    Those of NumPy have defaults that nobody can pass, and take no None for a default.
    """
    return fun if isinstance(fun, FunctionType | MethodType | functools.partial) else _anything


def with_signature(fun: Function, transform: Function, signature: inspect.Signature | None = None) -> Function:
    """``transform(fun, args, kwargs)`` as a function with a signature, that of ``fun`` if none is given."""
    defaults: dict[str, Any] = {}
    parameters: list[str] = []
    positional: list[str] = []
    named: list[str] = []
    kinds = inspect.Parameter
    if signature is None:
        signature = inspect.signature(_described(fun))
    for parameter in signature.parameters.values():
        text = parameter.name
        if parameter.default is not kinds.empty:
            defaults[f"default_{parameter.name}"] = parameter.default
            text += f"=default_{parameter.name}"
        if parameter.kind is kinds.KEYWORD_ONLY:
            if not any(one.startswith("*") for one in parameters):
                parameters.append("*")
            named.append(f"{parameter.name!r}: {parameter.name}")
        elif parameter.kind is kinds.VAR_POSITIONAL:
            text = f"*{text}"
            positional.append(text)
        elif parameter.kind is kinds.VAR_KEYWORD:
            text = f"**{text}"
            named.append(text)
        else:
            positional.append(text.split("=")[0])
        parameters.append(text)
    body = f"transform(fun, ({''.join(f'{one}, ' for one in positional)}), {{{', '.join(named)}}})"
    source = f"def outer(transform, fun):\n    def transformed({', '.join(parameters)}):\n        return {body}\n"
    # With the module of ``fun`` it is read as the user's own: another transformation of it finds ``fun`` in its cell.
    names = {"__name__": getattr(fun, "__module__", None) or __name__, **defaults}
    exec(compile(source + "    return transformed\n", _MADE, "exec"), names)
    transformed: Function = names["outer"](transform, fun)
    called = fun.func if isinstance(fun, functools.partial) else fun
    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(transformed, name, getattr(called, name, None) or getattr(transformed, name))
    return transformed


def called(fun: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The call itself, as a function that others are made of."""
    return fun(*args, **kwargs)


def method_of(function: FunctionType) -> MethodType | None:
    """The bound method of which nothing but a function was made; None of any other function."""
    if function.__code__.co_filename != _MADE:
        return None
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    held = {name: cell.cell_contents for name, cell in cells}
    return held["fun"] if held["transform"] is called and isinstance(held["fun"], MethodType) else None
