"""Builtins and functions of ``math`` that must know tracers, in the place of those that would ask for the numbers."""

from __future__ import annotations

import builtins
import cmath
import dataclasses
import math
import operator
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache, partial, wraps
from typing import Any

import numpy as np

from jitflow.errors import UserNotImplementedError, UserRuntimeError, UserTypeError, UserValueError
from jitflow.frontend.control.element_iterators import traced_nditer
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.sources import (
    Source,
    traced_enumerate,
    traced_ndenumerate,
    traced_ndindex,
    traced_range,
    traced_reversed,
    traced_zip,
)
from jitflow.frontend.control.switching import common_dtype, one_of
from jitflow.frontend.outside.known_arrays import adopted
from jitflow.frontend.outside.proxies import ClassProxy, ObjectProxy, OutsideDict, OutsideList, SuperProxy
from jitflow.frontend.outside.records import RecordProxy
from jitflow.frontend.outside.structures import variables_in
from jitflow.frontend.python import conversions
from jitflow.frontend.python.breakpoints import breakpoint_
from jitflow.frontend.python.growing_lists import Growing
from jitflow.frontend.python.lists import Listed, best, in_order, size_of_list, summed
from jitflow.frontend.python.math_functions import extremum, math_function
from jitflow.frontend.recording import values
from jitflow.frontend.texts import formatted, print_, repr_, str_
from jitflow.frontend.tracers import (
    ArrayTracer,
    NumberTracer,
    ScalarTracer,
    Tracer,
    distributed,
    holds_alternatives,
    kind_by_kind,
    located,
    size_of,
)
from jitflow.frontend.tracers.absent import Absent
from jitflow.frontend.tracers.surface import surface
from jitflow.structure import variables

__all__ = ["BUILTIN_FUNCTIONS", "replaced_by", "replacement"]


def traced_len(thing: Any) -> Any:
    """`len`: of an array, its first size, which stays open."""
    if isinstance(thing, Growing):
        return thing.length
    if isinstance(thing, Listed):
        return size_of_list(thing)
    if isinstance(thing, ArrayTracer):
        if not thing.ndim:
            raise located(UserTypeError("len() of unsized object"))
        return size_of(thing.type.dims[0])
    if type(thing) is Absent:
        raise thing.needed()
    if isinstance(thing, Tracer):
        raise located(UserTypeError(f"object of type '{thing.__class__.__name__}' has no len()"))
    return len(thing)


def _extremum(name: str, *args: Any, **keywords: Any) -> Any:
    """`max` and `min`, of what may be Python's or NumPy's numbers of one dtype as well."""
    if len(args) > 1 and not keywords and holds_alternatives(args) and common_dtype(args) is not None:
        return _chosen(name, args)
    return distributed(partial(_extremum_of_one_kind, name), args, keywords)


def _extremum_of_one_kind(name: str, *args: Any, **keywords: Any) -> Any:
    """`max` and `min`: of sizes a size, of numbers a number, without a decision."""
    if len(args) == 1 and isinstance(args[0], Listed):
        if keywords:
            raise located(
                UserNotImplementedError(
                    f"{name}() with {' and '.join(keywords)}= of a list of which only the running program knows the "
                    "length",
                    mend="compare the items in a loop",
                )
            )
        return best(name, partial(_extremum, name), args[0])
    if len(args) == 1 and isinstance(args[0], ArrayTracer) and args[0].ndim == 1:
        array = args[0]
        _require_an_item(name, array)
        return conversions.fold(array[1:], array[0], lambda chosen, other: _extremum(name, chosen, other))
    items = list(args[0]) if len(args) == 1 else list(args)
    if not any(isinstance(item, Tracer) for item in items) or keywords.get("key") is not None:
        return getattr(builtins, name)(*args, **keywords)
    if len({kind_of(item) for item in items}) > 1 or any(isinstance(item, ArrayTracer) for item in items):
        return _chosen(name, items)
    if any(isinstance(item, ScalarTracer) and not isinstance(item, NumberTracer) for item in items):
        return _numpy_extremum(name, items)
    return extremum(name, items)


def _chosen(name: str, items: Sequence[Any]) -> Any:
    """The largest or smallest of numbers of several types: one of these itself."""
    better = operator.gt if name == "max" else operator.lt
    chosen = items[0]
    for item in items[1:]:
        chosen = one_of(better(item, chosen), item, chosen)
    return chosen


def _require_an_item(name: str, array: ArrayTracer) -> None:
    try:
        getattr(builtins, name)(())
    except ValueError as error:  # whose words differ between versions of Python
        if array.type.dims[0] == 0:
            raise located(UserValueError(str(error))) from None
        has_one = values.emit("greater_equal", values.size(array.type.dims[0]), values.size(1))
        values.check(has_one, ValueError, str(error))


def _numpy_extremum(name: str, items: list[Any]) -> Any:
    # Python keeps the first operand when the comparison with it is false, as it is with nan.
    compare = np.greater if name == "max" else np.less
    chosen = items[0]
    for item in items[1:]:
        better = surface.apply_ufunc(compare, "__call__", (item, chosen), {})
        chosen = surface.apply_function(np.where, (better, item, chosen), {})[()]
    return chosen


def _math(module: str, name: str, *args: Any, **keywords: Any) -> Any:
    if not any(isinstance(argument, Tracer) for argument in args):
        return getattr(math if module == "math" else cmath, name)(*args, **keywords)
    if name == "prod" and isinstance(args[0], ArrayTracer) and args[0].ndim == 1:
        return conversions.fold(args[0], keywords.get("start", 1), lambda total, other: total * other)
    return math_function(module, name, args)


def _type(*args: Any, **keywords: Any) -> Any:
    """`type`: of a tracer or proxy, the class of what it stands for, as the program knows it."""
    if len(args) != 1 or keywords:
        return type(*args, **keywords)
    (thing,) = args
    if type(thing) is Absent:
        raise thing.needed()
    if type(thing) in (ObjectProxy, RecordProxy):
        return thing._jitflow_read("__class__")
    kinds: dict[type, type] = {OutsideList: list, OutsideDict: dict, Listed: list, Growing: list}
    kind = kinds.get(type(thing), thing.__class__)
    return replacement(kind) or kind


def _breakpoint(*args: Any, **keywords: Any) -> None:
    """`breakpoint`."""
    breakpoint_(*args, **keywords)


def _known(function: Callable[..., Any], *args: Any) -> Any:
    """A question about what an object is, which nobody can answer of an argument that is not given."""
    for thing in args[:1]:
        if type(thing) is Absent:
            raise thing.needed()
    return function(*args)


def _isinstance(thing: Any, kinds: Any) -> bool:
    """`isinstance`."""
    return bool(_known(isinstance, [] if isinstance(thing, Listed) else thing, kinds))


def _sum(items: Any, *start: Any) -> Any:
    """`sum`."""
    return summed(items, *start or (0,)) if isinstance(items, Listed) else conversions.sum_(items, *start)


def _sorted(items: Any, **keywords: Any) -> Any:
    """`sorted`, which decides on the items."""
    if isinstance(items, Listed) and not keywords:
        return in_order(items)
    known = items if isinstance(items, ArrayTracer) else list(items)
    if isinstance(items, ArrayTracer) or (len(known) > 1 and any(isinstance(item, Tracer) for item in known)):
        raise located(
            UserNotImplementedError(
                "sorted() of values that are known only when the compiled code runs",
                mend="use np.sort(x), which gives an array, or np.sort(np.array([a, b])); np.argsort for an order",
            )
        )
    return sorted(known, **keywords)


def _getattr(thing: Any, name: Any, *default: Any) -> Any:
    """`getattr`, by the name itself."""
    return getattr(thing, str(name) if isinstance(name, str) else name, *default)


def _super(*args: Any) -> Any:
    """`super`: of a proxy, what reads the methods of the next class, so that they are traced as well."""
    if not args:
        frame = sys._getframe(2)  # the method: above this function is the call of the class that stands for `super`
        names = frame.f_locals
        if "__class__" not in names or not frame.f_code.co_varnames:
            raise located(UserRuntimeError("super(): no arguments"))
        args = (names["__class__"], names[frame.f_code.co_varnames[0]])
    kind, thing = args
    if isinstance(kind, ClassProxy):
        kind = kind._jitflow_object
    return SuperProxy(kind, thing) if type(thing) in (ObjectProxy, RecordProxy) else super(kind, thing)


def _stand_in(kind: type, handler: Callable[..., Any]) -> type:
    """A class that is ``kind`` to everybody who asks, but whose call runs ``handler``: ``numpy.float32(x)``.

    A dtype argument takes it for ``kind``, because it inherits from it, and `isinstance` asks ``kind``.
    """

    class StandIn(type):
        def __call__(cls, *args: Any, **keywords: Any) -> Any:
            return distributed(handler, args, keywords) if holds_alternatives(args) else handler(*args, **keywords)

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, kind)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, kind)

        def __eq__(cls, other: object) -> bool:
            return other is cls or other is kind

        def __hash__(cls) -> int:
            return hash(kind)

    members: dict[str, Any] = {"__slots__": (), "__module__": kind.__module__}
    if kind in (bool, int, float, complex):
        members["dtype"] = np.dtype(kind)  # NumPy asks a class that it does not know for it
    return StandIn(kind.__name__, () if kind is bool else (kind,), members)


def _of_dataclass(function: Callable[..., Any], thing: Any, *args: Any, **keywords: Any) -> Any:
    """`dataclasses.replace` and its like: of a proxy, they get an object of the class with the traced fields."""
    if isinstance(thing, ObjectProxy) and dataclasses.is_dataclass(thing.__class__):
        fields = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing.__class__)}
        thing = object.__new__(thing.__class__)
        for name, value in fields.items():
            object.__setattr__(thing, name, value)
    return function(thing, *args, **keywords)


def _numpy_function(function: Any) -> Callable[..., Any]:
    """A function of NumPy that also sees tracers in lists and tuples, in which NumPy does not look for them.

    Those that it does see go straight to their handler: some of NumPy's dispatchers would loop over them.
    """

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if any(_holds_tracer(argument) for argument in (*args, *keywords.values())):
            return surface.apply_function(function, args, keywords)
        return adopted(function(*args, **keywords))

    return call


def _holds_tracer(thing: Any) -> bool:
    return isinstance(thing, Tracer | Source) or (isinstance(thing, list | tuple) and any(map(_holds_tracer, thing)))


def _errstate(**kinds: Any) -> Any:
    """`numpy.errstate`: jitflow emits no warnings, and cannot raise at the elements that NumPy would raise at."""
    for name, kind in kinds.items():
        if kind not in (None, "ignore", "warn"):
            raise located(
                UserNotImplementedError(
                    f"np.errstate({name}={kind!r}) is not compiled",
                    expected="ignore or warn; compiled code gives the values that NumPy gives, without warnings",
                    mend="test the values: np.isfinite(x).all()",
                )
            )
    return nullcontext()


_FUNCTIONS: dict[str, Any] = {
    "len": traced_len,
    "sum": _sum,
    "any": conversions.any_,
    "all": conversions.all_,
    "range": traced_range,
    "enumerate": traced_enumerate,
    "zip": traced_zip,
    "reversed": traced_reversed,
    "max": partial(_extremum, "max"),
    "min": partial(_extremum, "min"),
    "int": _stand_in(int, conversions.int_),
    "float": _stand_in(float, conversions.float_),
    "complex": _stand_in(complex, conversions.complex_),
    "bool": _stand_in(bool, conversions.bool_),
    "type": _stand_in(type, _type),
    "super": _stand_in(super, _super),
    "str": _stand_in(str, str_),
    "repr": repr_,
    "format": formatted,
    "print": print_,
    "breakpoint": _breakpoint,
    "getattr": _getattr,
    "hasattr": partial(_known, hasattr),
    "callable": partial(_known, callable),
    "isinstance": _isinstance,
    "sorted": _sorted,
}
_OF_SEVERAL_KINDS = ("max", "min", "range")
"""What takes something of several kinds as it is: a range must be there behind branches on its bounds' kinds."""
BUILTIN_FUNCTIONS = {
    name: function if isinstance(function, type) or name in _OF_SEVERAL_KINDS else kind_by_kind(function)
    for name, function in _FUNCTIONS.items()
}


@cache
def _replacements() -> dict[int, tuple[Any, Callable[..., Any]]]:
    table: dict[int, tuple[Any, Callable[..., Any]]] = {
        id(kind): (kind, _stand_in(kind, handler))
        for kind, handler in (
            (np.errstate, _errstate),
            (np.ndindex, traced_ndindex),
            (np.ndenumerate, traced_ndenumerate),
        )
    }
    for function in surface.functions:
        if not isinstance(function, np.ufunc | type):
            table[id(function)] = (function, _numpy_function(function))
    for module in (math, cmath):
        for name, member in vars(module).items():
            if callable(member) and not name.startswith("_"):
                table[id(member)] = (member, kind_by_kind(partial(_math, module.__name__, name)))
    table[id(np.nditer)] = (np.nditer, traced_nditer)
    table[id(variables)] = (variables, variables_in)
    for function in (dataclasses.replace, dataclasses.asdict, dataclasses.astuple):
        table[id(function)] = (function, partial(_of_dataclass, function))
    for name, function in BUILTIN_FUNCTIONS.items():
        table[id(getattr(builtins, name))] = (getattr(builtins, name), function)
    for original, thing in surface.objects.items():
        table[id(original)] = (original, thing)
    for original, function in surface.replacements.items():
        table[id(original)] = (original, _stand_in(original, function) if isinstance(original, type) else function)
    return table


def replacement(thing: Any) -> Any:
    """What runs in the place of ``thing`` while tracing, or None if it may run itself. By identity."""
    found = _replacements().get(id(thing))
    return None if found is None else found[1]


def replaced_by(function: Any) -> Any:
    """What ``function`` runs in the place of, itself if it stands for nothing."""
    return _originals().get(id(function), function)


@cache
def _originals() -> dict[int, Any]:
    return {id(function): original for original, function in _replacements().values()}
