"""Functions that are made of other functions and have their parameters, so that calls bind natively."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

__all__ = ["with_signature"]

Function = Callable[..., Any]


def _anything(*args: Any, **kwargs: Any) -> None:
    """Has the parameters that a function made of one of NumPy's has."""


def with_signature(fun: Function, transform: Function, signature: inspect.Signature | None = None) -> Function:
    """``transform(fun, args, kwargs)`` as a function with a signature, that of ``fun`` if none is given."""
    defaults: dict[str, Any] = {}
    parameters: list[str] = []
    positional: list[str] = []
    named: list[str] = []
    kinds = inspect.Parameter
    if signature is None:
        # Those of NumPy have defaults that nobody can pass, and take no None for a default.
        described = fun if isinstance(fun, FunctionType | MethodType | functools.partial) else _anything
        signature = inspect.signature(described)
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
    # With a name that begins like this file, which is none of the user's, and no line of which can be shown.
    exec(compile(source + "    return transformed\n", f"{__file__}:made", "exec"), names)
    transformed: Function = names["outer"](transform, fun)
    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(transformed, name, getattr(fun, name, None) or getattr(transformed, name))
    return transformed
