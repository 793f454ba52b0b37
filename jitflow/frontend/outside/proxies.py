"""What stands, while tracing, for objects that live outside the program: modules, objects, classes, containers.

They let the program read, and record each read. Stores to attributes and items are recorded as well
(`outside.stores`); those to classes and modules are refused, because they would happen once, while tracing.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any, Generic

from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.outside.attribute_stores import delete_attribute, store_attribute
from jitflow.frontend.outside.hashed import Hashed
from jitflow.frontend.outside.made_objects import made_class, runs_unseen, unbound_partial
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.pooled_objects import note_class
from jitflow.frontend.outside.purity import named_class, text_inside
from jitflow.frontend.outside.sets import OutsideSet
from jitflow.frontend.outside.special_methods import TRUTH, answer_of, define_special_methods, has_method, is_descriptor
from jitflow.frontend.outside.stores import ONE_OBJECT, Stores, active_stores
from jitflow.frontend.outside.stores import refusal as _store
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import ArrayTracer, NumberTracer, ScalarTracer, Tracer, located, type_of
from jitflow.frontend.tracers.surface import surface

__all__ = [
    "OBJECT_PROXIES",
    "ArrayLikeProxy",
    "ClassProxy",
    "FunctionProxy",
    "ObjectProxy",
    "OutsideDict",
    "OutsideList",
    "append_only",
    "are_same",
    "as_one_object",
    "counterpart",
    "object_proxy",
    "outside_register",
]

Reader = Callable[[str], Any]


class ObjectProxy:
    """An object of a user's class: attribute reads are recorded, methods are traced through.

    All that is read of it is read of the object: Python would find what the class of the proxy has, ``__module__`` or
    ``__len__``, before it asks for what is not there. Methods that Python itself looks up on the class are forwarded.
    """

    __slots__ = ("_jitflow_object", "_jitflow_path", "_jitflow_read", "_jitflow_register")

    def __init__(self, thing: Any, register: int, path: str, read: Reader) -> None:
        set_field = object.__setattr__
        set_field(self, "_jitflow_object", thing)
        set_field(self, "_jitflow_register", register)
        set_field(self, "_jitflow_path", path)
        set_field(self, "_jitflow_read", read)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._jitflow_object)

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__deepcopy__") or name.startswith("_jitflow_"):
            return object.__getattribute__(self, name)
        stores = active_stores()
        overlay = None if stores is None else stores.overlays.get(self._jitflow_register)
        return overlay.read(name) if overlay is not None and name in overlay else self._jitflow_read(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if type(self) not in (*OBJECT_PROXIES, ClassProxy, FunctionProxy):
            raise _store(f"assigning to the attribute {name!r} of", self._jitflow_path)
        store_attribute(self, name, value)

    def __delattr__(self, name: str) -> None:
        delete_attribute(self, name)

    def __repr__(self) -> str:
        return text_inside(self, f"{self._jitflow_path}: {type(self._jitflow_object).__name__}")

    def __eq__(self, other: object) -> Any:
        found: Any = NotImplemented
        if has_method(type(self._jitflow_object), "__eq__"):
            found = self._jitflow_special("__eq__")(other)
        if found is NotImplemented and are_same(self, other):
            return True
        return False if found is NotImplemented and isinstance(other, NumberTracer | ScalarTracer) else found

    def __ne__(self, other: object) -> Any:
        if has_method(type(self._jitflow_object), "__ne__"):
            return self._jitflow_special("__ne__")(other)
        found = ObjectProxy.__eq__(self, other)  # turned round, as Python does
        if isinstance(found, NumberTracer):
            return operator.xor(found, True)
        return found if found is NotImplemented else not found

    def __hash__(self) -> int:
        kind = type(self._jitflow_object)
        if kind.__hash__ is None:
            raise located(UserTypeError(f"unhashable type: '{kind.__name__}'"))
        if has_method(kind, "__hash__"):
            return int(self._jitflow_special("__hash__")())
        return current_trace().state(Hashed).meet(self)

    def _jitflow_special(self, name: str) -> Any:
        """A method that Python looks up on the class, such as ``__call__``."""
        kind = type(self._jitflow_object)
        if not has_method(kind, name):
            raise located(UserTypeError(f"{self._jitflow_path} of type {kind.__name__} has no {name}"))
        return self._jitflow_read(name)

    def _jitflow_answers(self, name: str, *args: Any) -> Any:
        return self._jitflow_special(name)(*args)

    def __iter__(self) -> Iterator[Any]:
        kind = type(self._jitflow_object)
        by_index = not has_method(kind, "__iter__") and has_method(kind, "__getitem__")
        return _items(self) if by_index else iter(self._jitflow_special("__iter__")())

    def __contains__(self, item: Any) -> bool:
        if has_method(type(self._jitflow_object), "__contains__"):
            return bool(self._jitflow_special("__contains__")(item))
        return any(other is item or other == item for other in self)

    def __bool__(self) -> bool:
        answer = answer_of(self, *TRUTH)
        return True if answer is None else bool(answer)


def _items(thing: Any) -> Iterator[Any]:
    """What Python makes of an object that has items alone."""
    for place in itertools.count():
        try:
            yield thing[place]
        except IndexError:
            return


define_special_methods(ObjectProxy)


class ArrayLikeProxy(ObjectProxy):
    """An object that says by ``__array__`` which array it is: functions of NumPy's take it as they take tracers."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return surface.apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        method = _METHODS.get(function.__name__, function.__name__)
        if hasattr(self, method):
            raise located(
                UserNotImplementedError(
                    f"{function.__module__}.{function.__name__} of an object of type {self.__class__.__name__}",
                    found=f"an attribute {method!r} of its own, which NumPy may ask instead",
                    mend="say which: np.asarray(thing) makes an array of it first",
                )
            )
        return surface.apply_function(function, args, kwargs)


_METHODS = {"amax": "max", "amin": "min", "around": "round", "iscomplexobj": "dtype", "isrealobj": "dtype"}
"""What functions of NumPy's ask an object for, where it is not called as they are."""


OBJECT_PROXIES = (ObjectProxy, ArrayLikeProxy)


def object_proxy(thing: Any, register: int, path: str, read: Reader) -> ObjectProxy:
    """What stands for an object of a user's class."""
    asks = has_method(type(thing), "__array__") and not has_method(type(thing), "__array_ufunc__")
    return (ArrayLikeProxy if asks else ObjectProxy)(thing, register, path, read)


class FunctionProxy(ObjectProxy):
    """A function from outside, or what is made of one: attributes are its own, and a call runs its counterpart.

    The counterpart is in a field by the name under which Python looks up how an object is called.
    """

    __slots__ = ("__call__",)

    def __init__(self, thing: Any, register: int, path: str, read: Reader, counterpart: Callable[..., Any]) -> None:
        super().__init__(thing, register, path, read)
        object.__setattr__(self, "__call__", counterpart)


def counterpart(function: Any) -> Any:
    """What a call of a function runs: of one from outside, the one that records what it reads."""
    return object.__getattribute__(function, "__call__") if type(function) is FunctionProxy else function


class ClassProxy(ObjectProxy):
    """A user's class: attribute reads are recorded; `isinstance` works; making objects is the reader's decision."""

    __slots__ = ("_jitflow_made",)

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__deepcopy__") or name.startswith("_jitflow_"):
            return object.__getattribute__(self, name)
        found = self._jitflow_read(name)
        if type(found) is not ObjectProxy:
            return found
        if is_descriptor(found._jitflow_object, "__get__"):
            return found._jitflow_special("__get__")(None, self)
        if type(found._jitflow_object) is functools.partialmethod:
            return unbound_partial(found)
        return found

    def __repr__(self) -> str:
        kind = self._jitflow_object
        if any("__repr__" in vars(base) for base in type(kind).__mro__ if base not in (type, object)):
            raise located(UserNotImplementedError(f"the text of {self._jitflow_path}, which its own class makes"))
        return repr(kind)

    def __getitem__(self, arguments: Any) -> Any:
        """``Stack[int]``, which makes what ``Stack`` makes."""
        kind = self._jitflow_object
        if has_method(type(kind), "__getitem__"):
            return self._jitflow_special("__getitem__")(arguments)
        own = next((base for base in kind.__mro__ if "__class_getitem__" in vars(base)), None)
        if own is None:
            raise located(UserTypeError(f"type '{kind.__name__}' is not subscriptable"))
        return self if own is Generic else self.__class_getitem__(arguments)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._jitflow_object)

    def __subclasscheck__(self, subclass: Any) -> bool:
        inner = subclass._jitflow_object if isinstance(subclass, ClassProxy) else named_class(subclass)
        return issubclass(inner, self._jitflow_object)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kind = self._jitflow_traced()
        note_class(kind)
        return kind(*args, **kwargs)

    def _jitflow_traced(self) -> type:
        kind = self._jitflow_class()
        if kind is None:
            raise located(
                UserNotImplementedError(
                    f"an object of class {self._jitflow_path} is made while tracing, and its methods would run unseen",
                    expected="classes of Python's own kind without __new__, __getattr__ or __setattr__",
                    mend="make the object outside the compiled function and pass it as an argument",
                )
            )
        return kind

    def _jitflow_class(self) -> type | None:
        """The class of what the program makes of it: the user's if that has no methods; None if there is none."""
        if not hasattr(self, "_jitflow_made"):
            kind = self._jitflow_object
            is_record = hasattr(kind, "__dataclass_fields__") or hasattr(kind, "_fields")
            made = surface.pooled_class(self)
            if made is None:
                made = kind if is_record and not runs_unseen(kind) else made_class(self)
            object.__setattr__(self, "_jitflow_made", made)
        found: type | None = object.__getattribute__(self, "_jitflow_made")
        return found


def _united(name: str) -> Callable[..., Any]:
    """``C | other``, which is Python's for classes whose own class does not say otherwise."""
    forwarded = getattr(ObjectProxy, name)

    def method(self: ClassProxy, other: Any) -> Any:
        kind = self._jitflow_object
        if getattr(type(kind), name, None) is not getattr(type, name):
            return forwarded(self, other)
        return getattr(type, name)(kind, other._jitflow_object if isinstance(other, ClassProxy) else other)

    return method


for _name in ("__or__", "__ror__"):
    setattr(ClassProxy, _name, _united(_name))


class OutsideList(list[Any]):
    """A list from outside: the traced items. What the program changes in it is written back (`outside.stores`)."""

    __slots__ = ("is_closed", "path", "register")

    def __init__(self, items: list[Any], register: int, path: str) -> None:
        super().__init__(items)
        self.register, self.path, self.is_closed = register, path, True


class OutsideDict(dict[Any, Any]):
    """A dict from outside: the same."""

    __slots__ = ("is_closed", "path", "register")

    def __init__(self, items: dict[Any, Any], register: int, path: str) -> None:
        super().__init__(items)
        self.register, self.path, self.is_closed = register, path, True


def append_only(path: str) -> None:
    """Start the trace anew with a list that takes what is appended and is not looked at, if that has not failed."""
    site, choices = Site(Choice.APPENDED, path), current_trace().choices
    if not choices.is_settled(site):
        raise current_trace().begin_anew(Restart(site, is_wish=True))


def _pass_as_array(items: OutsideList | OutsideDict) -> None:
    """Start the trace anew if the items are numbers of one type: their list can be one that takes stores."""
    site = Site(Choice.PASSED_AS_ARRAY, items.path)
    is_number = all(isinstance(item, NumberTracer | ScalarTracer) for item in items)
    are_alike = isinstance(items, OutsideList) and is_number and len(set(map(type_of, items))) == 1
    if are_alike and not current_trace().choices.is_settled(site):
        raise current_trace().begin_anew(Restart(site, is_wish=True))


def _changing(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method of lists or dicts that changes them."""

    @raising_for_the_program
    def method(self: OutsideList | OutsideDict, *args: Any, **kwargs: Any) -> Any:
        if self.is_closed:
            if self.path.endswith(".__dict__"):  # attributes are read elsewhere
                raise _store("changing", self.path, "assign the attributes: setattr(thing, name, value)")
            if name == "__setitem__" and isinstance(args[1], ArrayTracer) and _is_there(self, *args):
                return None  # ``x[0] += 1`` of an array ends with that
            if name in ("append", "extend", "__iadd__"):
                append_only(self.path)
            if name in ("__setitem__", "sort", "reverse"):
                _pass_as_array(self)
            current_trace().state(Stores).open_container(self)
        found = plain(self, *args, **kwargs)
        return self if name in ("__iadd__", "__imul__", "__ior__") else found

    method.__name__ = name
    return method


def _is_there(container: Any, key: Any, value: Any) -> bool:
    try:
        return not isinstance(key, Tracer) and container[key] is value
    except LookupError:
        return False


OutsideList.__name__, OutsideDict.__name__ = "list", "dict"  # Python's messages name the class

for _name in [
    "append",
    "extend",
    "insert",
    "remove",
    "pop",
    "clear",
    "sort",
    "reverse",
    "__setitem__",
    "__delitem__",
    "__iadd__",
    "__imul__",
]:
    setattr(OutsideList, _name, _changing(_name, getattr(list, _name)))
for _name in ["update", "pop", "popitem", "clear", "setdefault", "__setitem__", "__delitem__", "__ior__"]:
    setattr(OutsideDict, _name, _changing(_name, getattr(dict, _name)))


def outside_register(thing: Any) -> int | None:
    """The register of the very object that ``thing`` stands for, if it stands for one."""
    if isinstance(thing, OutsideList | OutsideDict | OutsideSet | Recorded):
        return thing.register
    if type(thing) in (*OBJECT_PROXIES, ClassProxy, FunctionProxy):
        register: int = thing._jitflow_register
        return register
    return None


def are_same(one: Any, other: Any) -> bool:
    """Whether two things are one object. Where both are from outside, every call asks again."""
    if named_class(one) is named_class(other):
        return True
    inputs = current_trace().state(Stores).inputs
    return inputs is not None and bool(inputs.are_same(one, other))


def as_one_object(one: Any, other: Any) -> Any:
    """``other``. Starts the trace anew if both stand for one object, found by several paths: ``self`` of a method."""
    if type(one) is type(other) and type(one) in (*OBJECT_PROXIES, FunctionProxy) and one is not other:
        trace = current_trace()
        if one._jitflow_object is other._jitflow_object and not trace.choices.answer(ONE_OBJECT):
            raise trace.begin_anew(Restart(ONE_OBJECT))
    return other
