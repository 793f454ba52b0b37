"""Objects of the user's plain classes that the program makes: `Particle(x, v)`.

Such an object is of a class of the trace's own, derived from the user's, which reads the members of that through its
proxy. So methods and properties are traced as others are, what the class holds is guarded, and to whoever asks, the
object is of the user's class. Where the program returns it, an object of the user's class is made with its attributes.

The constructors of dataclasses and named tuples, which Python writes, hold what the user gave them: defaults, and
functions that make defaults. Where that may change or read something, they are members as those of the user's are.
"""

from __future__ import annotations

import abc
import collections
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType
from typing import Any, Generic

from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.outside.objects import CACHED_FUNCTION, is_compiled, is_frozen
from jitflow.frontend.outside.purity import is_foreign_impure, is_pure_module
from jitflow.frontend.outside.special_methods import NUMBERS, as_python_takes_it, has_method, is_descriptor
from jitflow.frontend.recording.locate import is_internal, raising_for_the_program
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers.base import begin_anew_rewritten, located
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import walk

__all__ = ["CONTAINERS", "MADE_OF", "STANDS_FOR", "Classes", "bound_member", "fields_of", "functions_in",
           "is_made_object", "known_as", "made_class", "made_with", "runs_unseen", "unbound_partial",
           "users_class"]  # fmt: skip

_DECISIVE = frozenset(
    ["__new__", "__init_subclass__", "__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__del__"]
)
"""Methods that change what an object is: a class that has written one is none of ours."""
MADE_OF = "__jitflow_proxy__"
"""The attribute of such a class that holds the proxy of the user's."""
STANDS_FOR = "__jitflow_stands_for__"
"""The attribute of a class of jitflow's that runs in the place of one of Python's or NumPy's: that class."""
_OF_PYTHON = (MemberDescriptorType, GetSetDescriptorType)
_CONSTRUCTORS = ("__init__", "__new__")
_PLAIN_BASES: tuple[Any, ...] = (object, tuple, abc.ABC, Generic)
"""Bases that are not the user's, and give objects no member that the program would call."""


def made_class(proxy: Any) -> type | None:
    """The class of what the program makes of the class behind a proxy; None if that is not plain."""
    kind = proxy._jitflow_object
    members = dict(_members(kind))
    if type(kind) not in (type, abc.ABCMeta) or not all(map(_is_plain_base, kind.__mro__)):
        return None
    decisive = (members[name] for name in _DECISIVE & members.keys())
    if not all(functions_in(member) and all(map(_is_of_python, functions_in(member))) for member in decisive):
        return None
    read = {name: _Member(proxy, name, member) for name, member in members.items()}
    namespace: dict[str, Any] = read | {name: _for_python(read[name], name) for name in NUMBERS & read.keys()}
    namespace |= {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        MADE_OF: proxy,
    }
    namespace["_jitflow_answers"] = lambda thing, name, *args: (
        read[name].__get__(thing) if name in read else partial(getattr(kind, name), thing)
    )(*args)
    if "__eq__" in read and "__ne__" not in read:
        namespace["__ne__"] = _unequal
    if "__next__" in read:
        namespace["__next__"] = _step_of_python(read["__next__"])
    if kind.__dictoffset__ == 0:
        namespace["__slots__"] = ()
    if not has_method(kind, "__eq__"):
        own_hash = _hash_as_python_asks if kind.__hash__ is object.__hash__ else kind.__hash__
        namespace = {"__hash__": own_hash} | namespace | {"__eq__": _is_as_python_asks}
    made: type = type(kind)(kind.__name__, (kind,), namespace)
    return made


def _unequal(thing: Any, other: Any) -> Any:
    """What Python does with objects whose class has no ``__ne__``, on an answer of the running program."""
    found = thing.__eq__(other)
    return found if found is NotImplemented else surface.opposite(found)


def _step_of_python(member: _Member) -> Callable[[Any], Any]:
    """``__next__`` where Python itself goes through the iterator, and has to know which step is the last."""

    def step(thing: Any) -> Any:
        trace, around = current_trace(), current_trace().stepped_in
        ops, first = trace.builder.ops, len(trace.builder.ops)
        trace.stepped_in = trace.scope
        try:
            item = member.__get__(thing)()
        finally:
            trace.stepped_in = around
        since = [*ops[first:], *(op for outer in ops[first:] for region in outer.regions for op in walk(region))]
        if any(op.attributes.get("error") == "StopIteration" for op in since):
            raise located(
                UserNotImplementedError(
                    f"an iterator of class {type(thing).__name__} whose end only the running program knows, here",
                    expected="it in a loop, or in list, sum, min, max, sorted, zip, enumerate or next",
                    mend="make a list of it first: list(...)",
                )
            )
        return item

    return step


def _for_python(member: _Member, name: str) -> Callable[[Any], Any]:
    """A method as Python asks for its answer."""
    return lambda thing: as_python_takes_it(name, member.__get__(thing)())


def _is_as_python_asks(thing: Any, other: Any) -> Any:
    """``==`` of objects that are equal to themselves alone, where Python asks: ``items.index(thing)``, say."""
    is_asked = thing is not other and not is_internal(sys._getframe(1).f_code.co_filename)
    if is_asked and type(thing) is type(other):
        _require_known(thing)
        _require_known(other)
    return True if thing is other else NotImplemented


def _hash_as_python_asks(thing: Any) -> int:
    """``hash`` of such objects: keys of dicts, and items of sets."""
    _require_known(thing)
    return object.__hash__(thing)


def _require_known(thing: Any) -> None:
    """Raise, or start the trace anew with hooks, where only the running program knows which object it is."""
    if active_trace() is not None and surface.is_merged(thing):
        begin_anew_rewritten(current_trace())
        raise located(
            UserNotImplementedError(
                "whether an object is another one that it may be where the running program decides",
                mend="compare the objects with `is`, or give them numbers or names, as keys as well",
            )
        )


def is_made_object(thing: Any) -> bool:
    """Whether it is an object of such a class."""
    return MADE_OF in vars(type(thing))


def users_class(kind: type) -> type:
    """The class that such a class is derived from; any other is itself."""
    found: type = vars(kind)[MADE_OF]._jitflow_object if MADE_OF in vars(kind) else kind
    return found


class Classes(dict[int, Any]):
    """The proxies of the user's classes, by the ids of these: one for each, so that `type(x) is C` holds."""


def known_as(kind: Any) -> Any:
    """The one thing by which a class is known: the proxy of one of the user's, and what a stand-in stands for.

    Any other thing is itself.
    """
    if not issubclass(type(kind), type):
        return kind
    return vars(kind).get(MADE_OF) or vars(kind).get(STANDS_FOR) or current_trace().state(Classes).get(id(kind), kind)


def fields_of(thing: Any) -> dict[str, Any]:
    """The attributes of an object that the program has made."""
    found = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        for name, member in vars(kind).items():
            if isinstance(member, MemberDescriptorType) and hasattr(thing, name):
                found[name] = member.__get__(thing)
    return found


def made_with(kind: type, names: tuple[str, ...], *items: Any) -> Any:
    """An object of a class with these attributes."""
    thing: Any = object.__new__(kind)
    for name, item in zip(names, items, strict=True):
        object.__setattr__(thing, name, item)
    return thing


def runs_unseen(kind: type) -> bool:
    """Whether a class or its bases have functions or defaults that the user has written, and nobody would trace."""
    members = (member for base in kind.__mro__ if base not in (object, tuple) for member in vars(base).values())
    written = (function for member in members for function in functions_in(member))
    return any(not _is_of_python(function) or _holds_what_is_read(function) for function in written)


def _holds_what_is_read(function: FunctionType) -> bool:
    """Whether a function that Python has written, a constructor, holds what is more than its value.

    A class of containers is: what it makes may become one of the running program.
    """
    if function.__name__ not in _CONSTRUCTORS:
        return False
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    held += [cell.cell_contents for cell in function.__closure__ or ()]
    return not all(is_frozen(thing) and not any(thing is kind for kind in CONTAINERS) for thing in held)


CONTAINERS = (list, dict, set, collections.deque, collections.defaultdict, collections.Counter, collections.OrderedDict)
"""Python's classes of containers that the running program may have some of, too."""


def functions_in(member: Any) -> list[FunctionType]:
    """The Python functions behind a member of a class."""
    parts = (member, *(getattr(member, name, None) for name in ("__func__", "fget", "fset", "fdel")))
    return [part for part in parts if isinstance(part, FunctionType)]


def _is_of_python(function: FunctionType) -> bool:
    """Whether Python has made the text of a function, or its library."""
    return function.__code__.co_filename.startswith("<") or is_pure_module(function.__globals__["__name__"])


def _is_plain_base(kind: type) -> bool:
    if kind in _PLAIN_BASES:
        return True
    is_of_c = isinstance(vars(kind).get("__new__"), BuiltinFunctionType)
    return not (is_of_c or is_pure_module(kind.__module__) or is_foreign_impure(kind.__module__))


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """What the user has written into a class and those that it inherits from: no text that Python has made."""
    for base in kind.__mro__:
        if base in _PLAIN_BASES:
            continue
        for name, member in vars(base).items():
            functions = functions_in(member)
            if functions and all(map(_is_of_python, functions)) and not any(map(_holds_what_is_read, functions)):
                continue
            is_method = isinstance(member, FunctionType | property | staticmethod | classmethod)
            if isinstance(member, _OF_PYTHON) or (name.startswith("__") and name.endswith("__") and not is_method):
                continue
            if not name.startswith("_abc_") and type(member).__name__ != "_tuplegetter" and name not in _OF_TUPLES:
                yield name, inspect.getattr_static(kind, name)


_OF_TUPLES = ("_fields", "_field_defaults", "_make")


def bound_member(found: Any, name: str, member: Any, thing: Any, owner: Any) -> Any:
    """What Python makes of a member of a class that is read through ``thing``, or through the class if it is None.

    ``found`` stands for the member as the class gives it, ``owner`` for the class of the thing: the one that the member
    is written in may be a base.
    """
    if is_descriptor(member, "__get__"):
        return found._jitflow_special("__get__")(thing, owner)
    if isinstance(member, classmethod):
        is_run_as_it_is = issubclass(type(found.__self__), type)
        return MethodType(found.__func__, owner._jitflow_traced() if is_run_as_it_is else owner)
    if isinstance(member, functools.partialmethod):
        return unbound_partial(found) if thing is None else MethodType(unbound_partial(found), thing)
    if thing is None or isinstance(member, staticmethod):
        return found
    if isinstance(member, property):
        return found.fget(thing)
    if isinstance(member, functools.cached_property):
        return _cached(found, name, thing)
    if isinstance(member, FunctionType | CACHED_FUNCTION) or is_compiled(member):
        return MethodType(found, thing)
    if hasattr(type(member), "__get__"):
        raise _unseen(name, member)
    return found


def unbound_partial(method: Any) -> Callable[..., Any]:
    """What a partial method is that is read through its class."""
    return lambda thing, *args, **kwargs: method.func(thing, *method.args, *args, **{**method.keywords, **kwargs})


def _cached(found: Any, name: str, thing: Any) -> Any:
    """What a cached property has computed for an object."""
    if name in thing.__dict__:
        return thing.__dict__[name]
    value = found.func(thing)
    if is_made_object(thing):
        thing.__dict__[name] = value  # an object that takes no stores has room for this
    else:
        setattr(thing, name, value)
    return value


def _unseen(name: str, member: Any) -> UserError:
    kind = type(member).__name__
    return located(
        UserNotImplementedError(
            f"{name} of an object that the program makes is a {kind}, a descriptor, which would run unseen",
            expected="methods, properties and attributes",
            mend="make the object outside the compiled function, or write a property",
        )
    )


class _Member:
    """A member of the user's class, read by way of its proxy each time that the program reads it."""

    def __init__(self, proxy: Any, name: str, member: Any) -> None:
        self._proxy, self._name, self._member = proxy, name, member

    def __get__(self, thing: Any, owner: type | None = None) -> Any:
        is_first = isinstance(self._member, property) or is_descriptor(self._member, "__set__", "__delete__")
        if thing is not None and not is_first and self._is_in(thing):
            return vars(thing)[self._name]
        found = self._proxy._jitflow_read(self._name)
        return bound_member(found, self._name, self._member, thing, known_as(owner))

    @raising_for_the_program
    def __set__(self, thing: Any, value: Any) -> None:
        if isinstance(self._member, property):
            self._changing("fset", "__set__")(thing, value)
        elif is_descriptor(self._member, "__set__"):
            self._proxy._jitflow_read(self._name)._jitflow_special("__set__")(thing, value)
        elif hasattr(type(self._member), "__set__"):
            raise _unseen(self._name, self._member)
        else:
            vars(thing)[self._name] = value

    @raising_for_the_program
    def __delete__(self, thing: Any) -> None:
        if isinstance(self._member, property):
            self._changing("fdel", "__delete__")(thing)
        elif is_descriptor(self._member, "__delete__"):
            self._proxy._jitflow_read(self._name)._jitflow_special("__delete__")(thing)
        elif self._is_in(thing):
            del vars(thing)[self._name]
        else:
            raise AttributeError(f"'{type(thing).__name__}' object has no attribute '{self._name}'")

    def _changing(self, part: str, otherwise: str) -> Callable[..., None]:
        """What a property calls to change something; if it has nothing, its own method, which raises."""
        holder = self._member if getattr(self._member, part) is None else self._proxy._jitflow_read(self._name)
        found: Callable[..., None] = getattr(holder, otherwise if holder is self._member else part)
        return found

    def _is_in(self, thing: Any) -> bool:
        has_dict = type(thing).__dictoffset__ != 0
        return has_dict and self._name in object.__getattribute__(thing, "__dict__")
