"""Frozen records that are made quickly: classes that `dataclasses` knows, with methods that all of them share.

`dataclasses` compiles four methods of a frozen class when it is imported, which takes half a millisecond, and looks at
each field for another tenth. Every process imports some fifty records before its first call, so their methods look at
the fields instead, and `dataclasses` is told of them when it asks.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, make_dataclass
from typing import Any, NoReturn, TypeVar, cast, dataclass_transform

__all__ = ["field_names", "record", "value_record"]

_Class = TypeVar("_Class", bound=type[Any])


@dataclass_transform(frozen_default=True, eq_default=False)
def record(kind: _Class) -> _Class:
    """Make a class with annotations a frozen dataclass that compares by identity."""
    made = cast(Any, kind)
    known = {one[0]: one for one in getattr(made, "__jitflow_fields__", ())}
    for name in made.__annotations__:
        default: Any = vars(made).get(name, MISSING)
        factory: Any = MISSING
        if default is not MISSING:
            delattr(made, name)  # each object has its own
        if isinstance(default, Field):
            default, factory = default.default, default.default_factory
        known[name] = name, default, factory
    made.__jitflow_fields__ = (*known.values(),)
    methods = {"__init__": _init, "__repr__": _repr, "__setattr__": _refuse, "__delattr__": _refuse}
    for name, value in {"__match_args__": (*known,), "__dataclass_fields__": _Fields(), **methods}.items():
        setattr(made, name, value)
    found: _Class = made
    return found


class _Fields:
    """What `dataclasses` asks of a class: made when it asks."""

    def __get__(self, thing: Any, kind: Any) -> Any:
        types = dict(pair for one in kind.__mro__[::-1] for pair in getattr(one, "__annotations__", {}).items())
        known = [
            (name, types[name], field(default_factory=factory) if factory is not MISSING else field(default=default))
            for name, default, factory in kind.__jitflow_fields__
        ]
        kind.__dataclass_fields__ = found = vars(make_dataclass(kind.__name__, known, init=False))[
            "__dataclass_fields__"
        ]
        return found


@dataclass_transform(frozen_default=True, eq_default=True)
def value_record(kind: _Class) -> _Class:
    """Make a class with annotations a frozen dataclass that is equal to others of equal fields."""
    made: Any = record(kind)
    made.__eq__, made.__hash__ = _equals, _hash
    found: _Class = made
    return found


def field_names(kind: type[Any]) -> list[str]:
    """What the fields of such a class, or of any dataclass, are called that it is made with."""
    known = getattr(kind, "__jitflow_fields__", None)
    return [one.name for one in fields(kind) if one.init] if known is None else [name for name, _, _ in known]


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name, _, _ in self.__jitflow_fields__)


def _equals(self: Any, other: Any) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    known = self.__jitflow_fields__
    if len(args) > len(known):
        raise TypeError(f"{type(self).__name__} has {len(known)} fields, got {len(args)}")
    keep = object.__setattr__
    for (name, _, _), value in zip(known, args, strict=False):
        keep(self, name, value)
    for name, default, factory in known[len(args) :]:
        if name in kwargs:
            keep(self, name, kwargs.pop(name))
        elif factory is not MISSING:
            keep(self, name, factory())
        elif default is not MISSING:
            keep(self, name, default)
        else:
            raise TypeError(f"{type(self).__name__} needs {name!r}")
    if kwargs:
        raise TypeError(f"{type(self).__name__} has no field {next(iter(kwargs))!r}, or got it twice")


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, _, _ in self.__jitflow_fields__)
    return f"{type(self).__name__}({', '.join(shown)})"


def _refuse(self: Any, name: str, *value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")
