"""How the arguments of a Python call become the flat list that plans count in.

The flat list has one entry for each parameter of the function, in the order of its code object:
positional parameters, keyword-only ones, then the tuple of `*args` and the dict of `**kwargs`.
"""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from jitflow.records import dataclass


@dataclass(frozen=True, eq=False)
class Parameters:
    """The parameters of a function as the dispatchers need them."""

    names: tuple[str, ...]
    positional: int
    positional_only: int
    has_stars: bool


def parameters_of(function: FunctionType) -> Parameters:
    """Read the parameters from the code object."""
    code = function.__code__
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    total = code.co_argcount + code.co_kwonlyargcount + stars
    return Parameters(
        tuple(sys.intern(name) for name in code.co_varnames[:total]),
        code.co_argcount,
        code.co_posonlyargcount,
        stars > 0,
    )


def make_binder(function: FunctionType) -> Callable[..., tuple[Any, ...]]:
    """A function with the same parameters that returns its flat arguments.

    Python itself does the binding, so that every TypeError of a wrong call has Python's own words.
    Defaults are looked up in `function` whenever the binder is called.
    """
    parameters = parameters_of(function)
    code = function.__code__
    # Names like a comprehension's ".0" or a keyword can only come from hand-made code objects.
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in parameters.names):
        raise ValueError(f"parameter names of {function.__qualname__} are no identifiers: {parameters.names}")
    positional = list(parameters.names[: parameters.positional])
    if parameters.positional_only:
        positional.insert(parameters.positional_only, "/")
    rest = list(parameters.names[parameters.positional :])
    keyword_only = [rest.pop(0) for _ in range(code.co_kwonlyargcount)]
    if code.co_flags & inspect.CO_VARARGS:
        positional.append("*" + rest.pop(0))
    elif keyword_only:
        positional.append("*")
    doubles = ["**" + name for name in rest]
    returned = "".join(f"{name}, " for name in parameters.names)
    source = f"lambda {', '.join(positional + keyword_only + doubles)}: ({returned})"
    stub: FunctionType = eval(source, {"__builtins__": {}})
    stub.__qualname__ = function.__qualname__
    stub.__name__ = function.__name__

    def bind(*arguments: Any, **keywords: Any) -> tuple[Any, ...]:
        stub.__defaults__ = function.__defaults__
        stub.__kwdefaults__ = function.__kwdefaults__
        flat: tuple[Any, ...] = stub(*arguments, **keywords)
        return flat

    return bind
