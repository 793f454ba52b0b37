"""`jitflow.callback`: a call out to Python from compiled code, in order with everything else that can be seen.

While tracing, the function is not run but recorded as an op. What the tracer handed out for it is turned back first: a
function that was read from outside into that very function, one that was made in the program into a function of the
same code with the real globals, a method into the method of the real object.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from jitflow.errors import UserError, UserNotImplementedError, UserTypeError
from jitflow.frontend.arguments import Spec
from jitflow.frontend.builtin_functions import replaced_by
from jitflow.frontend.objects import is_numpy_function
from jitflow.frontend.proxies import ObjectProxy, OutsideDict, OutsideList
from jitflow.frontend.purity import Impure
from jitflow.frontend.texts import TracedText
from jitflow.frontend.trace import Trace, active_trace
from jitflow.frontend.tracers import ArrayTracer, Tracer, dim_of, lift, located, wrap
from jitflow.ir.dims import Dim
from jitflow.ir.routines import Routine, RoutineResultError
from jitflow.ir.types import Scalar, Tensor, Type
from jitflow.runtime.texts import text_of

__all__ = ["Callback", "callback", "record_call"]

_PLAIN = (str, bytes, bool, int, float, complex, type(None), np.generic, np.dtype)


def callback(fn: Callable[..., Any], result_spec: Any = None) -> Callback:
    """A function that calls ``fn`` from compiled code, each time that the program gets there.

    Use it for what is not compiled: ``jitflow.callback(fn, result_spec)(*args)``. ``fn`` gets the arguments as NumPy
    arrays (copies, which it may keep) and numbers, and holds the GIL. Calls happen in the program's order, as do prints
    and other callbacks. ``result_spec`` says what comes back, as a `Spec` or nested tuples of them, ``None`` for
    nothing: ``Spec("f64", x.shape)`` is an array of that dtype and shape, ``Spec("f64", ("k",))`` one whose length only
    the call shows, ``Spec("float")`` a Python number.

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
        return f"<jitflow.callback {_name(self._function)}>"


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


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


# -- the call as an op ----------------------------------------------------------------------------------


def record_call(trace: Trace, function: Any, spec: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Record the call of a Python function that is not part of the program. ``spec`` as in `callback`."""
    given: list[Tracer] = []
    template = _template((args, dict(kwargs)), given)
    sizes: dict[str, Dim] = {}
    types = [_type(trace, leaf, sizes) for leaf in _leaves(spec)]

    @functools.wraps(function, assigned=("__name__", "__qualname__"), updated=())
    def run(*operands: Any) -> Any:
        positional, keywords = template(operands)
        found = list(_results(function(*positional, **keywords), spec))
        return found[0] if len(found) == 1 else tuple(found)

    values = trace.add(
        "host_call",
        *(lift(item) for item in given),
        types=types,
        routine=Routine.of(run, _name(function)),
        keywords=(),
        options=(),
        effect="external",
    )
    made = iter(values)
    return _arranged(spec, lambda: wrap(next(made), owned=True))


def _template(thing: Any, given: list[Tracer]) -> Callable[[tuple[Any, ...]], Any]:
    """What makes an argument from the operands. Traced things become operands, what is known now stays as it is."""
    if isinstance(thing, Tracer):
        place = len(given)
        given.append(thing)
        return lambda operands: operands[place]
    if type(thing) is np.ndarray:
        known = thing.copy()
        return lambda operands: known.copy()
    if isinstance(thing, TracedText):
        first, text = len(given), thing.template
        given += thing.operands
        return lambda operands: text_of(text, operands[first:])
    if isinstance(thing, tuple | list):
        kind, parts = tuple if isinstance(thing, tuple) else list, [_template(item, given) for item in thing]
        return lambda operands: kind(part(operands) for part in parts)
    if isinstance(thing, dict):
        items = {key: _template(item, given) for key, item in thing.items()}
        return lambda operands: {key: part(operands) for key, part in items.items()}
    if isinstance(thing, _PLAIN):
        return lambda operands: thing
    raise located(
        UserTypeError(
            f"a callback was given an object of type {_kind(thing)}",
            expected="arrays, numbers, strings, and tuples, lists and dicts of them",
            mend="let the function read the object from a global or closure variable",
        )
    )


def _leaves(spec: Any) -> Iterator[Spec]:
    if isinstance(spec, tuple):
        for item in spec:
            yield from _leaves(item)
    elif spec is not None:
        yield spec


def _arranged(spec: Any, make: Callable[[], Any]) -> Any:
    if isinstance(spec, tuple):
        return tuple(_arranged(item, make) for item in spec)
    return None if spec is None else make()


def _results(result: Any, spec: Any) -> Iterator[Any]:
    """The leaves of what the function returned."""
    if not isinstance(spec, tuple):
        if spec is not None:
            yield result
        return
    if not isinstance(result, tuple | list) or len(result) != len(spec):
        found = f"{len(result)} results" if isinstance(result, tuple | list) else type(result).__name__
        raise RoutineResultError(f"the callback returned {found}, expected a tuple of {len(spec)}")
    for item, part in zip(result, spec, strict=True):
        yield from _results(item, part)


def _type(trace: Trace, spec: Spec, sizes: dict[str, Dim]) -> Type:
    if spec.kind != "array":
        return Scalar(spec.dtype, spec.kind == "python")
    dims = []
    for dim in spec.shape:
        if isinstance(dim, str) and dim not in sizes:
            sizes[dim] = trace.size(dim)
        dims.append(sizes[dim] if isinstance(dim, str) else dim_of(dim))
    return Tensor(spec.dtype, tuple(dims))


# -- from what the program holds to what it stands for -----------------------------------------------------


def _original(thing: Any) -> Any:
    """The function that a callback is to call."""
    thing = replaced_by(thing)
    if is_numpy_function(thing):
        return thing
    if isinstance(thing, FunctionType):
        guarded = getattr(thing, "__jitflow_original__", None)
        return guarded() if guarded is not None else _outside(thing)
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
            f"a callback to an object of type {_kind(thing)}",
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
    if isinstance(contents, Tracer) or not isinstance(contents, (FunctionType, *_PLAIN)):
        raise located(_closes_over(name, contents))
    return CellType(contents)


def _kind(thing: Any) -> str:
    """What the user knows a type as."""
    shown: dict[type, str] = {OutsideList: "list", OutsideDict: "dict"}
    return str(shown.get(type(thing), thing.__class__.__name__))


def _closes_over(name: str, contents: Any) -> UserError:
    what = "an array" if isinstance(contents, ArrayTracer) else f"a value of type {_kind(contents)}"
    return UserNotImplementedError(
        f"a callback that closes over {name!r}, {what} of the compiled function",
        mend="pass it as an argument of the callback",
    )
