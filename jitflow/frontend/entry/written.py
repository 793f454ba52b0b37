"""Texts of jitflow's own that programs are traced through as through helpers of the user's.

Their control flow is rewritten as that of a user's function is, and what they read from their module has its
counterpart, but without guards. What happens in them happens, to the program, at the line that called them.
"""

from __future__ import annotations

import builtins
from functools import cache
from types import CellType, FunctionType
from typing import Any

from jitflow.frontend.numpy.as_written import counterpart, names_in
from jitflow.frontend.python.builtin_functions import BUILTIN_FUNCTIONS
from jitflow.frontend.syntax import CELL, rewritten
from jitflow.frontend.tracers.surface import surface

__all__ = ["traceable"]


@cache
def traceable(text: FunctionType) -> FunctionType:
    """The function, rewritten, with counterparts of its globals."""
    from jitflow.frontend.entry import hooks

    found = rewritten(text)
    code = text.__code__ if found is None else found.code
    namespace: dict[str, Any] = {"__builtins__": {**vars(builtins), **BUILTIN_FUNCTIONS}}
    made = FunctionType(
        code.replace(),
        namespace,
        text.__name__,
        text.__defaults__,
        (CellType(hooks),) if CELL in code.co_freevars else None,
    )
    made.__kwdefaults__ = text.__kwdefaults__
    for name in set(names_in(code)) & text.__globals__.keys():
        thing = text.__globals__[name]
        is_text = isinstance(thing, FunctionType) and thing.__module__ == text.__module__
        namespace[name] = (made if thing is text else traceable(thing)) if is_text else counterpart(thing)
    return made


surface.install(written=traceable)
