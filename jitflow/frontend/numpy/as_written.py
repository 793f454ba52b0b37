"""Functions that NumPy writes in Python are traced as NumPy writes them, where that gives what a text of ours would.

What such a function reads from its module is given its counterpart, as what a user's function reads is, but without
guards: NumPy's modules stay as they are. Its control flow is Python's, which decides on ranks, dtypes and options. So
functions that decide on sizes or on what the program computes (windows, `np.tile`, `np.gradient` of coordinates), that
fill new memory part by part (`np.gradient`) or that keep axes in arrays (`np.rot90`) have texts of their own. Rejected:
rewriting the control flow of these as that of a user's function. It reads and parses NumPy's file at the first
call, a tenth of a second for `np.diff`, and the code is twice as slow to compile where a size is decided on.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterator
from functools import cache, wraps
from types import CodeType, FunctionType, ModuleType
from typing import Any

from jitflow.frontend.arrays.operands import static_int
from jitflow.frontend.outside.known_arrays import adopting, computes_arrays
from jitflow.frontend.outside.module_views import ModuleView
from jitflow.frontend.python.builtin_functions import BUILTIN_FUNCTIONS, replacement
from jitflow.frontend.tracers.scalar import pinned

__all__ = ["as_written", "counterpart", "names_in"]


def as_written(function: Callable[..., Any], *decisive: str) -> Callable[..., Any]:
    """What runs NumPy's own text of a function on tracers. It decides on the arguments that are ``decisive``."""
    written = inspect.unwrap(function)
    assert isinstance(written, FunctionType)
    parameters = inspect.signature(written)

    @wraps(written)
    def run(*args: Any, **keywords: Any) -> Any:
        traceable = _traceable(written)
        if not decisive:
            return traceable(*args, **keywords)
        try:
            bound = parameters.bind(*args, **keywords)
        except TypeError:
            return traceable(*args, **keywords)  # which says what is wrong in Python's words
        for name in bound.arguments.keys() & set(decisive):
            bound.arguments[name] = _known(bound.arguments[name], name)
        return traceable(*bound.args, **bound.kwargs)

    return run


def _known(item: Any, name: str) -> Any:
    item = pinned(item)
    return static_int(item, name) if isinstance(item, int) else item


@cache
def _traceable(written: FunctionType) -> FunctionType:
    """The function with counterparts of its globals. Made at its first call, when there are all of them."""
    code, namespace = written.__code__, written.__globals__
    found = {name: counterpart(namespace[name]) for name in names_in(code) if name in namespace}
    found["__builtins__"] = {**vars(builtins), **BUILTIN_FUNCTIONS}
    made = FunctionType(code, found, written.__name__, written.__defaults__, written.__closure__)
    made.__kwdefaults__ = written.__kwdefaults__
    return made


def names_in(code: CodeType) -> Iterator[str]:
    """All names that code and what is defined in it reads from outside."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def counterpart(thing: Any) -> Any:
    """What stands for a thing of a module while tracing."""
    if isinstance(thing, ModuleType):
        return ModuleView(thing, lambda module, name, member: counterpart(member))
    found = replacement(thing)
    if found is not None:
        return found
    return adopting(thing) if computes_arrays(thing) else thing
