"""`jitflow.callback`: a call out to Python from compiled code, in order with everything else that can be seen.

While tracing, the function is not run but recorded as an op. What the tracer handed out for it is turned back first: a
function that was read from outside into that very function, one that was made in the program into a function of the
same code with the real globals, a method into the method of the real object.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from jitflow.errors import UserError, UserNotImplementedError, UserTypeError
from jitflow.frontend.control.calls_out import PLAIN, kind_name, name_of, record_call
from jitflow.frontend.outside.arguments import Spec
from jitflow.frontend.outside.objects import is_numpy_function
from jitflow.frontend.outside.proxies import FunctionProxy, ObjectProxy, counterpart
from jitflow.frontend.outside.purity import Impure
from jitflow.frontend.python.builtin_functions import replaced_by
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers import ArrayTracer, Tracer, located

__all__ = ["Callback", "callback"]


def callback(fn: Callable[..., Any], result_spec: Any = None) -> Callback:
    """A function that calls ``fn`` from compiled code, each time that the program gets there.

    Use it for what is not compiled: ``jitflow.callback(fn, result_spec)(*args)``. ``fn`` gets the arguments as NumPy
    arrays (copies, which it may keep) and numbers, and holds the GIL. Calls happen in the program's order, as do prints
    and other callbacks. The program sees what ``fn`` does to arrays. Objects, lists, dicts and globals it has read when
    the call began, so what ``fn`` changes in those is there for the next call. ``result_spec`` says what comes back, as
    a `Spec` or nested tuples of them, ``None`` for nothing: ``Spec("f64", x.shape)`` is an array of that dtype and
    shape, ``Spec("f64", ("k",))`` one whose length only the call shows, ``Spec("float")`` a Python number.

    Outside of a compiled function it just calls ``fn``. What ``fn`` raises is raised at the line of the call, with its
    own traceback below. Raises TypeError where it returns something else than ``result_spec`` says.
    """
    return Callback(fn, result_spec)


class Callback:
    """What `callback` makes."""

    def __init__(self, fn: Any, result_spec: Any) -> None:
        _check_spec(result_spec)
        self._function = fn if active_trace() is None else _original(fn)
        self._spec = result_spec

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, or record the call."""
        trace = active_trace()
        if trace is None:
            return self._function(*args, **kwargs)
        return record_call(trace, self._function, self._spec, args, kwargs)

    def __repr__(self) -> str:
        return f"<jitflow.callback {name_of(self._function)}>"


def _check_spec(spec: Any) -> None:
    if isinstance(spec, tuple):
        for item in spec:
            _check_spec(item)
    elif not isinstance(spec, Spec | None):
        raise located(
            UserTypeError(
                f"expected result_spec to be a jitflow.Spec, a tuple of them, or None, got {type(spec).__name__}",
                mend='say what the callback returns, as in jitflow.Spec("f64", x.shape)',
            )
        )


# -- from what the program holds to what it stands for -----------------------------------------------------


def _original(thing: Any) -> Any:
    """The function that a callback is to call."""
    thing = replaced_by(thing)
    if is_numpy_function(thing):
        return thing
    if type(thing) is FunctionProxy:  # a partial is made anew, of the functions that are in it
        trace = current_trace()
        assert trace.pin is not None
        is_partial = isinstance(thing._jitflow_object, functools.partial)
        return _original(counterpart(thing)) if is_partial else trace.pin(thing)
    if type(thing) is FunctionType:
        return _outside(thing)
    if isinstance(thing, MethodType) and isinstance(thing.__self__, ObjectProxy):
        return MethodType(_original(thing.__func__), thing.__self__._jitflow_object)
    if isinstance(thing, functools.partial):
        return functools.partial(_original(thing.func), *thing.args, **thing.keywords)
    if isinstance(thing, Impure) and callable(thing._thing):
        return thing._thing
    if isinstance(thing, BuiltinFunctionType | np.ufunc | Callback):
        return thing
    raise located(
        UserNotImplementedError(
            f"a callback to an object of type {kind_name(thing)}",
            expected="a Python function, a method of an object, or a function written in C",
            mend="wrap it in a function: def call(x): ...",
        )
    )


def _outside(function: FunctionType) -> FunctionType:
    """A function that was made while tracing, as if it had been made outside."""
    namespace = getattr(function.__globals__, "_namespace", function.__globals__)
    cells = tuple(map(_outside_cell, function.__code__.co_freevars, function.__closure__ or ()))
    made = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__, cells or None)
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    return made


def _outside_cell(name: str, cell: CellType) -> CellType:
    try:
        contents = cell.cell_contents
    except ValueError:
        return CellType()
    if isinstance(contents, FunctionType):
        contents = _original(contents)
    elif isinstance(contents, ObjectProxy):
        contents = contents._jitflow_object
    elif isinstance(contents, Impure):
        contents = contents._thing
    if isinstance(contents, Tracer) or not isinstance(contents, (FunctionType, *PLAIN)):
        raise located(_closes_over(name, contents))
    return CellType(contents)


def _closes_over(name: str, contents: Any) -> UserError:
    what = "an array" if isinstance(contents, ArrayTracer) else f"a value of type {kind_name(contents)}"
    return UserNotImplementedError(
        f"a callback that closes over {name!r}, {what} of the compiled function",
        mend="pass it as an argument of the callback",
    )
