"""`breakpoint` in a compiled program: the debugger opens when the running program comes there.

It is a call out to Python like every other, in the program's order, with the locals of the user's function as they are
at that place: numbers and copies of arrays. To the debugger it looks as if it stood at the user's line.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

from jitflow.frontend.control.calls_out import record_call
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.merge import MaybeUnbound
from jitflow.frontend.outside.module_views import ModuleView
from jitflow.frontend.outside.proxies import ObjectProxy, OutsideDict, OutsideList
from jitflow.frontend.outside.purity import Impure
from jitflow.frontend.recording.trace import active_trace
from jitflow.frontend.syntax import is_block, is_made
from jitflow.frontend.texts import TracedText
from jitflow.frontend.tracers import Tracer
from jitflow.ir.location import Loc

__all__ = ["breakpoint_"]


def breakpoint_(*args: Any, **keywords: Any) -> None:
    """`breakpoint`: what is passed goes to `sys.breakpointhook` when the program runs."""
    trace = active_trace()
    if trace is None:
        builtins.breakpoint(*args, **keywords)
        return
    frames = list(_frames(trace.user_frame()))
    traced: dict[str, Any] = {}
    known: dict[str, Any] = {}
    for frame in reversed(frames):
        for name, thing in frame.f_locals.items():
            if thing is UNBOUND or isinstance(thing, MaybeUnbound) or is_made(name):
                continue
            (traced if _is_traced(thing) else known)[name] = thing
    namespace = getattr(frames[-1].f_globals, "_namespace", frames[-1].f_globals)
    stop = _stop(_code_at(trace.here()), namespace, {name: _outside(thing) for name, thing in known.items()})
    record_call(trace, stop, None, (traced, args, keywords), {})


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of the blocks that are running, and that of the user's function that they are part of."""
    while frame is not None:
        yield frame
        if not is_block(frame.f_code):
            return
        outer = frame.f_back
        while outer is not None and frame.f_code.co_filename != outer.f_code.co_filename:
            outer = outer.f_back
        frame = outer


def _is_traced(thing: Any) -> bool:
    """Whether the running program knows the value, and a call can pass it on."""
    if isinstance(thing, Tracer) or type(thing) is TracedText:
        return True
    if type(thing) in (list, tuple, OutsideList):
        return any(map(_is_traced, thing)) and all(map(_is_passed, thing))
    if type(thing) in (dict, OutsideDict):
        return any(map(_is_traced, thing.values())) and all(map(_is_passed, thing.values()))
    return False


def _is_passed(thing: Any) -> bool:
    return _is_traced(thing) or thing is None or type(thing) in (bool, int, float, complex, str, bytes)


def _outside(thing: Any) -> Any:
    """The object that something stands for while the program is traced."""
    if isinstance(thing, ObjectProxy):
        return thing._jitflow_object
    if isinstance(thing, ModuleView):
        return thing._jitflow_module
    return thing._thing if isinstance(thing, Impure) else thing


def _code_at(place: Loc) -> CodeType:
    """A call of `breakpoint` that stands at a line of the user's."""
    tree = ast.parse("breakpoint(*args, **keywords)")
    ast.increment_lineno(tree, max(place.line, 1) - 1)
    name = place.function or "<module>"
    code: CodeType = compile(tree, place.file, "exec")
    return code.replace(co_name=name, co_qualname=name)


def _stop(code: CodeType, namespace: Mapping[str, Any], known: Mapping[str, Any]) -> Callable[..., None]:
    def stop(traced: dict[str, Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        names = {**namespace, "breakpoint": builtins.breakpoint, "args": args, "keywords": keywords}
        exec(code, names, {**known, **traced})

    stop.__qualname__ = "breakpoint"
    return stop
