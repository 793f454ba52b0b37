"""Builtins and functions of ``math`` that must know tracers, in the place of those that would ask for the numbers."""

from __future__ import annotations

import builtins
import cmath
import math
import operator
from collections.abc import Callable
from functools import cache, partial, reduce
from types import FunctionType, UnionType
from typing import Any

import numpy as np

from jitflow.errors import UserAttributeError, UserTypeError
from jitflow.frontend.arrays.operands import ArraySource
from jitflow.frontend.containers import conversions
from jitflow.frontend.containers.appended_lists import AppendedList
from jitflow.frontend.containers.compared_by import COMPARED_BY
from jitflow.frontend.containers.containers import python_class
from jitflow.frontend.containers.copies import COPIES
from jitflow.frontend.containers.growing_lists import Growing
from jitflow.frontend.containers.lists import Listed, size_of_list, summed
from jitflow.frontend.containers.made_containers import CONSTRUCTORS
from jitflow.frontend.containers.passed_lists import PassedList
from jitflow.frontend.containers.program_tuples import tuple_
from jitflow.frontend.containers.text_numbers import float_, in_base, int_
from jitflow.frontend.control import sources
from jitflow.frontend.control.branch import choose
from jitflow.frontend.control.element_iterators import traced_nditer
from jitflow.frontend.control.managers import MANAGERS
from jitflow.frontend.control.ranges import Range, traced_range
from jitflow.frontend.control.steps import class_of_iterator
from jitflow.frontend.control.stepwise import is_stepwise, iterator_of
from jitflow.frontend.outside.keys_of_sets import noting_keys
from jitflow.frontend.outside.made_objects import STANDS_FOR, known_as
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.pooled_objects import has_attribute, may_lack
from jitflow.frontend.outside.proxies import ClassProxy, ObjectProxy, OutsideDict, OutsideList
from jitflow.frontend.outside.purity import named_class
from jitflow.frontend.outside.records import OF_DATACLASSES
from jitflow.frontend.outside.sets import OutsideSet
from jitflow.frontend.outside.slots import Slotted
from jitflow.frontend.outside.structures import variables_in
from jitflow.frontend.outside.superclasses import new_object, super_
from jitflow.frontend.python.announced import errstate
from jitflow.frontend.python.breakpoints import breakpoint_
from jitflow.frontend.python.filters import SIFTING, filter_, next_
from jitflow.frontend.python.iterated import ITERATED, is_running
from jitflow.frontend.python.library_functions import by_path, numpy_function
from jitflow.frontend.python.list_functions import ON_LISTS
from jitflow.frontend.python.math_functions import OF_ITEMS, isclose, math_function, of_items
from jitflow.frontend.python.modular_powers import pow_
from jitflow.frontend.python.operators import OPERATORS
from jitflow.frontend.python.orders import extremum_of, sorted_
from jitflow.frontend.python.remembered import CACHES
from jitflow.frontend.python.signatures import OF_FUNCTIONS
from jitflow.frontend.python.stepped import enumerate_, stepwise_map, zip_
from jitflow.frontend.python.ufuncs_of_lists import ufunc_of_lists
from jitflow.frontend.python.unbound_methods import methods_of_containers, methods_of_numbers
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.syntax.methods import HIDDEN
from jitflow.frontend.texts import TracedText, formatted, print_, repr_, str_
from jitflow.frontend.texts.characters import chr_, length_of, ord_
from jitflow.frontend.texts.structure import known_text
from jitflow.frontend.tracers import (
    ArrayTracer,
    Tracer,
    distributed,
    holds_alternatives,
    kind_by_kind,
    located,
    size_of,
)
from jitflow.frontend.tracers.absent import Absent
from jitflow.frontend.tracers.alternatives import lazily_kind_by_kind
from jitflow.frontend.tracers.base import class_name, lacking
from jitflow.frontend.tracers.surface import surface
from jitflow.structure import variables

__all__ = ["BUILTIN_FUNCTIONS", "attribute", "class_of", "replaced_by", "replacement"]


def traced_len(thing: Any) -> Any:
    """`len`: of an array, its first size, which stays open."""
    if isinstance(thing, Growing | AppendedList | Range | Slotted) or (isinstance(thing, Recorded) and thing.flows):
        return thing.length
    if isinstance(thing, Listed):
        return size_of_list(thing)
    if type(thing) is TracedText:
        return length_of(thing)
    if isinstance(thing, ArrayTracer):
        if not thing.ndim:
            raise located(UserTypeError("len() of unsized object"))
        return size_of(thing.type.dims[0])
    if type(thing) is Absent:
        raise thing.needed()
    if isinstance(thing, Tracer):
        raise located(UserTypeError(f"object of type '{class_name(thing)}' has no len()"))
    return conversions.length_of_object(thing)


def _math(module: str, name: str, *args: Any, **keywords: Any) -> Any:
    if module == "math" and name in OF_ITEMS:
        return of_items(name, *args, **keywords)
    if not any(isinstance(argument, Tracer) for argument in args):
        return getattr(math if module == "math" else cmath, name)(*args, **keywords)
    return isclose(*args, **keywords) if (module, name) == ("math", "isclose") else math_function(module, name, args)


def _type(*args: Any, **keywords: Any) -> Any:
    """`type`: of a tracer or proxy, the class of what it stands for, as the program knows it."""
    return class_of(args[0]) if len(args) == 1 and not keywords else type(*args, **keywords)


@kind_by_kind
def class_of(thing: Any) -> Any:
    """``thing.__class__``, as the program knows it."""
    if type(thing) is Absent:
        raise thing.needed()
    if isinstance(thing, ObjectProxy):
        return thing._jitflow_read("__class__")
    kinds = {OutsideDict: dict, **dict.fromkeys((OutsideList, Listed, Growing, PassedList, AppendedList), list)}
    if isinstance(thing, Slotted):
        return replacement(thing.kind) or thing.kind
    kind = class_of_iterator(thing) or python_class(thing) or known_as(kinds.get(type(thing), thing.__class__))
    return replacement(kind) or kind


@kind_by_kind
@raising_for_the_program
def attribute(thing: Any, name: str) -> Any:
    """``thing.name``, by a name that what stands for it may have as well; of a dtype, its class for the program."""
    if name == "__class__":
        return class_of(thing)
    if isinstance(thing, _VALUES) and type(thing) is not Absent and not _hasattr(thing, name):
        raise located(UserAttributeError(lacking(thing, name)))
    found = getattr(thing, name)
    return replacement(found) or found if isinstance(thing, np.dtype) else found


_VALUES = (Tracer, Recorded, TracedText, Range, OutsideList, OutsideDict, OutsideSet, ArraySource)
"""What stands for values of Python's and NumPy's."""


def _known(function: Callable[..., Any], *args: Any) -> Any:
    """A question about what an object is, which nobody can answer of an argument that is not given."""
    if args and type(args[0]) is Absent:
        raise args[0].needed()
    return function(*args)


def _classes(kinds: Any) -> Any:
    """What `isinstance` is asked about: of a union, which may stand for one from outside, its classes."""
    if isinstance(kinds, tuple):
        return tuple(map(_classes, kinds))
    return kinds.__args__ if isinstance(kinds, UnionType) else replaced_by(kinds)


def _isinstance(thing: Any, kinds: Any) -> bool:
    """`isinstance`: classes that ask for methods would find those of what stands for a value."""
    kinds = _classes(kinds)
    if isinstance(thing, _VALUES) or class_of_iterator(thing):
        return issubclass(replaced_by(class_of(thing)), kinds)
    return bool(_known(isinstance, thing._jitflow_object if isinstance(thing, ObjectProxy) else thing, kinds))


def _issubclass(kind: Any, kinds: Any) -> bool:
    """`issubclass`."""
    return issubclass(kind._jitflow_object if isinstance(kind, ClassProxy) else named_class(kind), _classes(kinds))


def _callable(thing: Any) -> bool:
    """`callable`."""
    return callable(thing._jitflow_object if isinstance(thing, ObjectProxy) else thing)


def _sum(items: Any, /, start: Any = 0) -> Any:
    """`sum`."""
    items = iterator_of(items)
    if isinstance(items, Listed) and items.is_uniform:
        return summed(items, start)
    if is_running(items) or is_stepwise(items):
        return conversions.fold(items, start, operator.add)
    return conversions.sum_(items, start)


def _hasattr(thing: Any, name: Any) -> Any:
    """`hasattr`: a value has the attributes of its class, whatever stands for it."""
    if not isinstance(thing, _VALUES) and class_of_iterator(thing) is None:
        return has_attribute(thing, name) if may_lack(thing, name) else hasattr(replaced_by(thing), name)
    return any(name in vars(base) for base in replaced_by(class_of(thing)).__mro__)


@raising_for_the_program
def _getattr(thing: Any, name: Any, *default: Any) -> Any:
    """`getattr`, by the name itself."""
    if default and isinstance(thing, (*_VALUES, type)) and not _hasattr(thing, name):
        return default[0]
    if default and may_lack(thing, name):
        return choose(_hasattr(thing, name), lambda: getattr(thing, name), lambda: default[0])
    if name == "__class__" or (name in HIDDEN and not default):
        return attribute(thing, name)
    found = getattr(thing, str(name) if isinstance(name, str) else name, *default)
    return noting_keys(thing, name, found) if type(thing) in (set, frozenset) and callable(found) else found


def _attrgetter(*names: str) -> Callable[[Any], Any]:
    """`operator.attrgetter`."""

    def get(thing: Any) -> Any:
        found = [reduce(_getattr, name.split("."), thing) for name in names]
        return found[0] if len(found) == 1 else tuple(found)

    return get


def _stand_in(kind: type, handler: Callable[..., Any], *, distributes: bool = True) -> type:
    """A class that is ``kind`` to everybody who asks, but whose call runs ``handler``: ``numpy.float32(x)``.

    A dtype argument takes it for ``kind``, because it inherits from it. It ``distributes`` what is of several kinds.
    """

    class StandIn(type):
        def __call__(cls, *args: Any, **keywords: Any) -> Any:
            if STANDS_FOR not in vars(cls):  # a class that the program derives from it
                return super().__call__(*args, **keywords)
            each = distributes and holds_alternatives(args)
            return distributed(handler, args, keywords) if each else handler(*args, **keywords)

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, kind)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, kind)

        def __eq__(cls, other: object) -> bool:
            return True if other is cls or other is kind else NotImplemented  # a dtype knows whether it is this one

        def __hash__(cls) -> int:
            return hash(kind)

    members: dict[str, Any] = {"__slots__": (), "__module__": kind.__module__, STANDS_FOR: kind}
    if kind in (bool, int, float, complex):
        members["dtype"] = np.dtype(kind)  # NumPy asks a class that it does not know for it
        members |= methods_of_numbers(kind)
    elif kind is object:
        members["__new__"] = new_object
    elif kind in (str, *CONSTRUCTORS):
        members |= methods_of_containers(kind)
    return StandIn(kind.__name__, () if kind in (bool, range) else (kind,), members)


_FUNCTIONS: dict[str, Any] = {
    "len": traced_len,
    "sum": _sum,
    "any": conversions.any_,
    "all": conversions.all_,
    "range": _stand_in(range, traced_range, distributes=False),  # it must be there behind branches on its bounds' kinds
    "enumerate": lazily_kind_by_kind(enumerate_),
    "zip": lazily_kind_by_kind(zip_),
    "reversed": lazily_kind_by_kind(sources.traced_reversed),
    "next": next_,
    "max": partial(extremum_of, "max"),
    "min": partial(extremum_of, "min"),
    "int": _stand_in(int, int_),
    "float": _stand_in(float, float_),
    "complex": _stand_in(complex, conversions.complex_),
    "bool": _stand_in(bool, conversions.bool_),
    "type": _stand_in(type, _type),
    "super": _stand_in(super, super_),
    "object": _stand_in(object, object),
    "chr": chr_,
    "ord": ord_,
    "str": _stand_in(str, str_),
    "repr": repr_,
    "ascii": partial(known_text, conversion="a", specification=""),
    "bin": partial(in_base, "b"),
    "oct": partial(in_base, "o"),
    "hex": partial(in_base, "x"),
    "format": formatted,
    "print": print_,
    "breakpoint": breakpoint_,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "callable": partial(_known, _callable),
    "issubclass": _issubclass,
    "isinstance": _isinstance,
    "sorted": sorted_,
    "pow": pow_,
    "filter": filter_,
    "map": stepwise_map,
}
_FUNCTIONS["tuple"] = _stand_in(tuple, tuple_)
_FUNCTIONS |= {kind.__name__: _stand_in(kind, CONSTRUCTORS[kind]) for kind in (list, dict, set, frozenset)}
_OF_SEVERAL_KINDS = ("max", "min", "enumerate", "zip", "reversed")
"""What takes something of several kinds as it is."""
BUILTIN_FUNCTIONS = {
    name: function if isinstance(function, type) or name in _OF_SEVERAL_KINDS else kind_by_kind(function)
    for name, function in _FUNCTIONS.items()
}


@cache
def _replacements() -> dict[int, tuple[Any, Callable[..., Any]]]:
    kinds: dict[Any, Callable[..., Any]] = {
        np.errstate: errstate,
        np.ndindex: sources.traced_ndindex,
        np.ndenumerate: sources.traced_ndenumerate,
        **CONSTRUCTORS,
    }
    table: dict[int, tuple[Any, Any]] = {id(kind): (kind, _stand_in(kind, handler)) for kind, handler in kinds.items()}
    for function in surface.functions:
        if not isinstance(function, np.ufunc | type):
            table[id(function)] = (function, numpy_function(function))
    for module in (math, cmath):
        for name, member in vars(module).items():
            if callable(member) and not name.startswith("_"):
                table[id(member)] = (member, kind_by_kind(partial(_math, module.__name__, name)))
    others = {
        **MANAGERS,
        np.nditer: traced_nditer,
        variables: variables_in,
        object.__new__: new_object,
    }
    others |= {operator.attrgetter: _attrgetter}
    tables = (ON_LISTS, CACHES, COMPARED_BY, ITERATED, SIFTING, OF_DATACLASSES, OF_FUNCTIONS, others, surface.objects)
    for function, program in (row for one in tables for row in one.items()):
        table[id(function)] = (function, program)
    for function, stand_in in (*OPERATORS.items(), *COPIES.items()):
        table[id(function)] = (function, kind_by_kind(stand_in))
    for name, function in BUILTIN_FUNCTIONS.items():
        table[id(getattr(builtins, name))] = (getattr(builtins, name), function)
    for original, function in surface.replacements.items():
        is_base = isinstance(original, type) and original is not np.broadcast  # from which no class can inherit
        table[id(original)] = (original, _stand_in(original, function) if is_base else function)
    for original, function in table.values():
        if type(function) in (FunctionType, partial):
            function.__name__, function.__qualname__ = original.__name__, original.__qualname__
    return table


def replacement(thing: Any) -> Any:
    """What runs in the place of ``thing`` while tracing, or None if it may run itself. By identity."""
    found = _replacements().get(id(thing)) or _imported_late(thing)
    if found is not None:
        return found[1]
    return ufunc_of_lists(thing) if isinstance(thing, np.ufunc) else by_path(thing)


def _imported_late(kind: Any) -> tuple[Any, Callable[..., Any]] | None:
    """The row of a class of numbers of another package, entered when a program first mentions it."""
    handler = (
        surface.by_path.get(f"ml_dtypes.{kind.__name__}")
        if isinstance(kind, type) and kind.__module__ == "ml_dtypes"
        else None
    )
    if handler is None:
        return None
    found = _replacements().setdefault(id(kind), (kind, _stand_in(kind, handler)))
    _originals()[id(found[1])] = kind
    return found


def replaced_by(function: Any) -> Any:
    """What ``function`` runs in the place of, itself if it stands for nothing."""
    return _originals().get(id(function), function)


@cache
def _originals() -> dict[int, Any]:
    return {id(function): original for original, function in _replacements().values()}


surface.install(replacement=replacement, original=replaced_by)
