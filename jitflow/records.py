"""Dataclasses that are made quickly. `dataclass` takes options as that of `dataclasses` does, which knows its classes.

`dataclasses` compiles up to six methods of a class when it is imported, more than half a millisecond for a frozen one,
and a process imports some two hundred before its first call. Here methods look at the fields, and are compiled once
they are used often; a frozen object is made quicker then, since a field is set where it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, make_dataclass
from functools import partial
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar, dataclass_transform, overload

__all__ = ["OFTEN", "cached", "dataclass", "field_names"]

OFTEN = 16
"""Uses of a method until it is compiled, which takes as long as looking at the fields some hundred times."""

_Class = TypeVar("_Class", bound=type[Any])
_Found = TypeVar("_Found")
_Method = Callable[..., Any]


class _Known(NamedTuple):
    """A field, as its class says it."""

    name: str
    default: Any = MISSING
    factory: Any = MISSING
    init: bool = True
    repr: bool = True
    compare: bool = True


@overload
def dataclass(kind: _Class, /) -> _Class: ...
@overload
def dataclass(*, frozen: bool = ..., eq: bool = ..., slots: bool = ...) -> Callable[[_Class], _Class]: ...
@dataclass_transform(field_specifiers=(field,))
def dataclass(kind: Any = None, /, *, frozen: bool = False, eq: bool = True, slots: bool = False) -> Any:
    """Make a class with annotations one whose objects have these fields."""
    made = partial(_made, frozen=frozen, eq=eq, slots=slots)
    return made if kind is None else made(kind)


def field_names(kind: type[Any]) -> list[str]:
    """What the fields of a dataclass are called that it is made with."""
    known = getattr(kind, "__jitflow_fields__", None)
    return [one.name for one in (fields(kind) if known is None else known) if one.init]


class cached(Generic[_Found]):  # noqa: N801
    """A property that is found once, as `functools.cached_property`, which takes a lock each time until Python 3.12.

    Two threads may both find it: it must not matter which of the two is kept.
    """

    def __init__(self, find: Callable[[Any], _Found]) -> None:
        self.find, self.name, self.__doc__ = find, find.__name__, find.__doc__

    @overload
    def __get__(self, thing: None, kind: Any) -> cached[_Found]: ...
    @overload
    def __get__(self, thing: object, kind: Any) -> _Found: ...
    def __get__(self, thing: Any, kind: Any) -> Any:
        if thing is None:
            return self
        found = thing.__dict__[self.name] = self.find(thing)
        return found


def _made(kind: Any, *, frozen: bool, eq: bool, slots: bool) -> Any:
    inherited = {one.name: one for base in kind.__mro__[:0:-1] for one in vars(base).get("__jitflow_fields__", ())}
    own = {name: _known(kind, name) for name, told in kind.__annotations__.items() if not told.startswith("ClassVar")}
    if slots:
        kind = _with_slots(kind, own, [name for name in own if name not in inherited])
    written = vars(kind)
    kind.__jitflow_fields__ = known = (*(inherited | own).values(),)
    members: dict[str, Any] = {
        "__match_args__": tuple(one.name for one in known if one.init),
        "__dataclass_fields__": _Fields(),
        "__signature__": _Signature(),
        "__init__": _compiled_later(kind, "__init__", _init, partial(_init_text, frozen=frozen)),
    }
    if "__repr__" not in written:
        members["__repr__"] = _repr
    if frozen:
        members |= {"__setattr__": _refuse, "__delattr__": _refuse}
        members |= {"__getstate__": _state, "__setstate__": _set_state} if slots else {}
    if eq:
        members["__eq__"] = _compiled_later(kind, "__eq__", _equals, _equals_text)
        if written.get("__hash__") is None:
            members["__hash__"] = _compiled_later(kind, "__hash__", _hash, _hash_text) if frozen else None
    for name, member in members.items():
        setattr(kind, name, member)
    return kind


def _known(kind: Any, name: str) -> _Known:
    default: Any = vars(kind).get(name, MISSING)
    if not isinstance(default, Field):
        return _Known(name, default)
    if default.default is MISSING:
        delattr(kind, name)
    else:
        setattr(kind, name, default.default)
    return _Known(name, default.default, default.default_factory, default.init, default.repr, default.compare)


def _with_slots(kind: Any, own: Collection[str], slots: Collection[str]) -> Any:
    """The class once more, with a place in its objects for each field, whose default it no longer shows."""
    left_out = {*own, "__dict__", "__weakref__"}
    members = {name: member for name, member in vars(kind).items() if name not in left_out}
    made = type(kind)(kind.__name__, kind.__bases__, members | {"__slots__": (*slots,)})
    made.__qualname__ = kind.__qualname__
    return made


class _Fields:
    """What `dataclasses` asks of a class: made when it asks."""

    def __get__(self, thing: Any, kind: Any) -> Any:
        types = _annotations(kind)
        known = [
            (one.name, types[one.name], field(**_default(one), init=one.init, repr=one.repr, compare=one.compare))
            for one in kind.__jitflow_fields__
        ]
        kind.__dataclass_fields__ = found = vars(make_dataclass(kind.__name__, known, init=False))[
            "__dataclass_fields__"
        ]
        return found


def _annotations(kind: Any) -> dict[str, Any]:
    return {name: told for one in kind.__mro__[::-1] for name, told in getattr(one, "__annotations__", {}).items()}


def _default(one: _Known) -> dict[str, Any]:
    found = {"default": one.default, "default_factory": one.factory}
    return {name: value for name, value in found.items() if value is not MISSING}


class _Signature:
    """What `inspect` and ``help`` ask of a class: made when they ask."""

    def __get__(self, thing: Any, kind: Any) -> Any:
        if thing is not None:
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature

        types = _annotations(kind)
        return Signature([
            Parameter(one.name, Parameter.POSITIONAL_OR_KEYWORD, annotation=types[one.name],
                      default=next(iter(_default(one).values()), Parameter.empty))
            for one in kind.__jitflow_fields__ if one.init
        ])  # fmt: skip


# -- methods that look at the fields ---------------------------------------------------------------


def _init(known: Sequence[_Known], self: Any, /, *args: Any, **kwargs: Any) -> None:
    names, keep = self.__match_args__, object.__setattr__
    if len(args) > len(names):
        raise TypeError(f"{type(self).__name__} has {len(names)} fields, got {len(args)}")
    for name, value in zip(names, args, strict=False):
        keep(self, name, value)
    if len(args) < len(known):
        given = names[: len(args)]
        for one in known:
            if one.name in kwargs and one.init and one.name not in given:
                keep(self, one.name, kwargs.pop(one.name))
            elif one.name in given:
                continue
            elif one.factory is not MISSING:
                keep(self, one.name, one.factory())
            elif one.default is not MISSING:
                keep(self, one.name, one.default)
            elif one.init:
                raise TypeError(f"{type(self).__name__} needs {one.name!r}")
    if kwargs:
        raise TypeError(f"{type(self).__name__} has no field {next(iter(kwargs))!r}, or got it twice")
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _equals(known: Sequence[_Known], self: Any, other: Any) -> Any:
    return _values(known, self) == _values(known, other) if type(other) is type(self) else NotImplemented


def _hash(known: Sequence[_Known], self: Any) -> int:
    return hash(_values(known, self))


def _values(known: Sequence[_Known], self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, one.name) for one in known if one.compare)


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in self.__jitflow_fields__ if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, *value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in self.__jitflow_fields__]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for one, value in zip(self.__jitflow_fields__, state, strict=True):
        object.__setattr__(self, one.name, value)


# -- and those that are compiled -------------------------------------------------------------------


def _compiled_later(kind: Any, name: str, slow: _Method, text: Callable[[Any], str]) -> _Method:
    """A method that hands the fields of its class to another one, and once it is used often is what a text says."""
    known, left = kind.__jitflow_fields__, OFTEN

    def method(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= 1
        if left > 0:
            return slow(known, *args, **kwargs)
        names: dict[str, Any] = {"MISSING": MISSING}
        for one in known:
            names[f"default_{one.name}"], names[f"make_{one.name}"] = one.default, one.factory
            if (place := _place(kind, one)) is not None:
                names[f"set_{one.name}"] = place.__set__
        exec(f"def {name}{text(kind)}", names)
        setattr(kind, name, names[name])
        return names[name](*args, **kwargs)

    return method


def _place(kind: Any, one: _Known) -> Any:
    """Where a field lies in objects that have no dict for it."""
    found = getattr(kind, one.name, None)
    return found if isinstance(found, MemberDescriptorType) else None


def _init_text(kind: Any, *, frozen: bool) -> str:
    parameters, lines = ["self"], []
    for one in kind.__jitflow_fields__:
        name, value, makes = one.name, one.name, one.factory is not MISSING
        if one.init:
            default = "=MISSING" if makes else "" if one.default is MISSING else f"=default_{name}"
            parameters.append(name + default)
            value = f"make_{name}() if {name} is MISSING else {name}" if makes else name
        elif makes:
            value = f"make_{name}()"
        elif one.default is not MISSING:
            value = f"default_{name}"
        else:
            continue
        if _place(kind, one) is not None:
            lines.append(f"set_{name}(self, {value})")
        else:
            lines.append(f"__fields[{name!r}] = {value}" if frozen else f"self.{name} = {value}")
    if any(line.startswith("__fields") for line in lines):
        lines.insert(0, "__fields = self.__dict__")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    return f"({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"])


def _equals_text(kind: Any) -> str:
    mine, other = _compared(kind, "self"), _compared(kind, "other")
    return f"(self, other):\n return {mine} == {other} if other.__class__ is self.__class__ else NotImplemented"


def _hash_text(kind: Any) -> str:
    return f"(self):\n return hash({_compared(kind, 'self')})"


def _compared(kind: Any, thing: str) -> str:
    return "(" + "".join(f"{thing}.{one.name}, " for one in kind.__jitflow_fields__ if one.compare) + ")"
