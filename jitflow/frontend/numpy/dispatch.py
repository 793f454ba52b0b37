"""The one door between tracers and NumPy's surface: everything that a tracer delegates arrives here.

Each NumPy function has one row, in the table ``FUNCTIONS`` of the module whose idea it belongs to; the rows meet
here. Errors leave located at the user's line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.errors import UserError, UserNotImplementedError, UserTypeError
from jitflow.frontend.arrays.operands import asked_array, is_array_like, refuse
from jitflow.frontend.numpy import (
    assignment,
    axes,
    calling,
    creation,
    decompositions,
    differences,
    editing,
    einsum,
    elementwise,
    generators,
    grids,
    histograms,
    indexing,
    introspection,
    joining,
    linear,
    mapping,
    matrices,
    methods,
    nan_reductions,
    order_statistics,
    padding,
    polynomials,
    positions,
    ranges,
    rearranging,
    reductions,
    reinterpreted,
    scipy_functions,
    searching,
    selections,
    sets,
    shape,
    signals,
    sliding,
    sorting,
    statistics,
    taking,
    transforms,
    ufunc_methods,
    windows,
)
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.absent import NotGiven
from jitflow.frontend.tracers.alternatives import (
    Alternatives,
    distributed,
    holds_alternatives,
    without_python_numbers,
)
from jitflow.frontend.tracers.array import ArrayTracer
from jitflow.frontend.tracers.scalar import ScalarTracer
from jitflow.frontend.tracers.surface import surface

__all__ = ["ATTRIBUTES", "FUNCTIONS", "METHODS", "OBJECTS", "REPLACEMENTS", "apply_function", "apply_ufunc", "get_item",
           "set_attribute", "set_item"]  # fmt: skip

Handler = Callable[..., Any]

_REPLACEMENTS: Mapping[Any, Handler] = {
    **creation.REPLACEMENTS,
    **ranges.REPLACEMENTS,
    **introspection.REPLACEMENTS,
    **mapping.REPLACEMENTS,
    **reinterpreted.REPLACEMENTS,
}

FUNCTIONS: Mapping[Any, Handler] = MappingProxyType(
    {
        **reductions.FUNCTIONS,
        **nan_reductions.FUNCTIONS,
        **statistics.FUNCTIONS,
        **creation.FUNCTIONS,
        **ranges.FUNCTIONS,
        **shape.FUNCTIONS,
        **axes.FUNCTIONS,
        **joining.FUNCTIONS,
        **rearranging.FUNCTIONS,
        **taking.FUNCTIONS,
        **assignment.FUNCTIONS,
        **sorting.FUNCTIONS,
        **sets.FUNCTIONS,
        **decompositions.FUNCTIONS,
        **elementwise.FUNCTIONS,
        **differences.FUNCTIONS,
        **linear.FUNCTIONS,
        **einsum.FUNCTIONS,
        **matrices.FUNCTIONS,
        **order_statistics.FUNCTIONS,
        **padding.FUNCTIONS,
        **searching.FUNCTIONS,
        **transforms.FUNCTIONS,
        **histograms.FUNCTIONS,
        **signals.FUNCTIONS,
        **editing.FUNCTIONS,
        **positions.FUNCTIONS,
        **windows.FUNCTIONS,
        **mapping.FUNCTIONS,
        **sliding.FUNCTIONS,
        **reinterpreted.FUNCTIONS,
        **introspection.FUNCTIONS,
        **_REPLACEMENTS,
    }
)
"""From a function of NumPy to what runs in its place on tracers. Ufuncs are in `ufuncs.LOOPS`."""


def _items_tell(handler: Handler, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether it makes a difference whose number an item of a list is: it is promoted, or Python's has to fit."""
    if handler in (creation.array, creation.asarray):
        return kwargs.get("dtype", args[1] if len(args) > 1 else None) is not None
    return handler is assignment.set_item or any(
        argument is function for argument in args[:1] for function in _PROMOTING_ITEMS
    )


_PROMOTING_ITEMS = (np.choose, np.concatenate, np.select)


def _located(handler: Handler, *, writes: Callable[..., bool] = lambda *_, **__: False) -> Handler:
    """The handler with its user errors placed at the user's line, and Python's own words for wrong arguments.

    What is computed of an argument that is not given is not given either, unless ``writes`` says of the arguments that
    the handler changes an array.
    """

    @wraps(handler)
    def run(*args: Any, **kwargs: Any) -> Any:
        if holds_alternatives(args) or (kwargs and holds_alternatives([*kwargs.values()])):
            tell = _items_tell(handler, args, kwargs)
            return distributed(run, args if tell else [*map(without_python_numbers, args)], kwargs)
        try:
            return handler(*args, **kwargs)
        except NotGiven as error:
            if writes(*args, **kwargs):
                raise
            return error.absent
        except UserError as error:
            raise current_trace().locate(error) from None
        except TypeError:
            misfit = _misfit(handler, args, kwargs)
            if misfit is None:
                raise
            raise current_trace().locate(misfit) from None

    return run


def _misfit(handler: Handler, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> UserTypeError | None:
    """The error for arguments that the handler's signature does not take, if that is what went wrong."""
    try:
        inspect.signature(handler).bind(*args, **kwargs)
    except TypeError as error:
        name = handler.__name__.rstrip("_")
        return UserTypeError(f"{name}() {error}", mend="leave out arguments that jitflow does not support")
    return None


def _ufunc_writes(ufunc: np.ufunc, method: str, /, *inputs: Any, **kwargs: Any) -> bool:
    return method == "at" or len(inputs) > ufunc.nin or kwargs.get("out") is not None


def _function_writes(function: Any, /, *args: Any, **kwargs: Any) -> bool:
    if function is np.copyto or function in assignment.FUNCTIONS:
        return True
    try:
        given = inspect.signature(FUNCTIONS[function]).bind(*args, **kwargs).arguments
    except TypeError:
        return True
    return given.get("out") is not None


@partial(_located, writes=_ufunc_writes)
def _apply_ufunc(ufunc: np.ufunc, method: str, /, *inputs: Any, **kwargs: Any) -> Any:
    if method == "at" and ufunc.nin == 2 and ufunc.nout == 1 and ufunc.signature is None:
        return assignment.ufunc_at(ufunc, *inputs)
    if method == "__call__":
        if any(type(item) is selections.SelectionTracer for item in inputs):
            found = selections.elementwise(ufunc, inputs, kwargs)
            if found is not None:
                return found
        special = FUNCTIONS.get(ufunc)
        return special(*inputs, **kwargs) if special else calling.call_ufunc(ufunc, *inputs, **kwargs)
    handler = _UFUNC_METHODS.get(method)
    if handler is None:
        raise refuse(
            f"{ufunc.__name__}.{method}",
            "the methods reduce, accumulate, reduceat, outer and at of binary ufuncs are compiled",
        )
    return handler(ufunc, *inputs, **kwargs)


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``ufunc(...)`` or ``ufunc.method(...)`` on tracers."""
    return _apply_ufunc(ufunc, method, *inputs, **kwargs)


_UFUNC_METHODS: Mapping[str, Handler] = MappingProxyType(
    {
        "reduce": reductions.reduce_ufunc,
        "accumulate": reductions.accumulate,
        "outer": calling.outer,
        "reduceat": ufunc_methods.reduceat,
    }
)


@partial(_located, writes=_function_writes)
def _apply_function(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    if args and isinstance(args[0], selections.SelectionTracer):
        found = selections.folded(function.__name__, args[0], args[1:], kwargs)
        if found is not None:
            return found
    handler = FUNCTIONS.get(function)
    if handler is None:
        name = f"{function.__module__}.{function.__name__}"
        raise UserNotImplementedError(
            f"{name} is not compiled",
            mend="write it with other NumPy functions, or call it outside the compiled function",
        )
    return handler(*args, **kwargs)


def apply_function(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A function of NumPy on tracers. What NumPy takes for not given is not handed on."""
    while args and args[-1] is np._NoValue:
        args = args[:-1]
    if function not in creation.FUNCTIONS:  # which tell the method more
        args = tuple(asked_array(item) if is_array_like(item) else item for item in args)
    return _apply_function(function, *args, **{name: item for name, item in kwargs.items() if item is not np._NoValue})


OBJECTS: Mapping[Any, Any] = MappingProxyType(
    {item: grids.Indexed(made._name, _located(made._make)) for item, made in grids.OBJECTS.items()}
)
"""From an object of NumPy that is no function to what stands for it while tracing."""

get_item = _located(indexing.get_item)
"""``array[index]``."""

_set_item = _located(assignment.set_item, writes=lambda *_, **__: True)


def set_item(array: Any, index: Any, value: Any) -> None:
    """``array[index] = value``. Whose number it is makes no difference if it has the dtype of the array."""
    if type(value) is Alternatives and type(array) is ArrayTracer:
        number = surface.strong(value)
        if isinstance(number, ScalarTracer) and number.type.dtype == array.type.dtype:
            value = number
    _set_item(array, index, value)


"""``array[index] = value``."""

set_attribute = _located(assignment.set_attribute, writes=lambda *_, **__: True)
"""``array.name = value``."""

_CHANGING = ("fill", "put", "sort", "partition")

METHODS: Mapping[str, Handler] = MappingProxyType(
    {
        name: _located(handler, writes=lambda *_, name=name, **__: name in _CHANGING)
        for name, handler in methods.METHODS.items()
    }
)
"""From a method of an array to ``handler(array, ...)``."""

ATTRIBUTES: Mapping[str, Handler] = MappingProxyType(
    {name: _located(handler) for name, handler in methods.ATTRIBUTES.items()}
)
"""From an attribute of an array to ``handler(array)``. What a tracer knows by itself is not here."""

REPLACEMENTS: Mapping[Any, Handler] = MappingProxyType(
    {function: _located(handler) for function, handler in _REPLACEMENTS.items()}
)
"""From a NumPy function that does not dispatch on its arguments to what runs in its place while tracing."""

surface.install(
    apply_ufunc=apply_ufunc,
    apply_function=apply_function,
    functions=FUNCTIONS,
    get_item=get_item,
    set_item=set_item,
    set_attribute=set_attribute,
    methods=METHODS,
    attributes=ATTRIBUTES,
    replacements={**REPLACEMENTS, **{kind: _located(make) for kind, make in generators.CLASSES.items()}},
    by_path=MappingProxyType(
        {
            path: _located(handler)
            for table in (scipy_functions.SCIPY_FUNCTIONS, polynomials.POLYNOMIALS, creation.BY_PATH)
            for path, handler in table.items()
        }
    ),
    objects=OBJECTS,
    array_of=creation.array_from_sequence,
)
