"""Frozen records that are made quickly: dataclasses whose methods are shared instead of compiled for each class.

`dataclasses` compiles four methods of a frozen class when it is imported, which takes half a millisecond. Every process
imports some fifty records before its first call, so their methods look at the fields instead.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import Any, NoReturn, TypeVar, dataclass_transform

__all__ = ["record", "value_record"]

_Class = TypeVar("_Class", bound=type[Any])


@dataclass_transform(frozen_default=True, eq_default=False)
def record(kind: _Class) -> _Class:
    """Make a class with annotations a frozen dataclass that compares by identity."""
    made: Any = dataclass(init=False, repr=False, eq=False)(kind)
    made.__jitflow_fields__ = tuple((one.name, one.default, one.default_factory) for one in fields(made))
    for name, default, _ in made.__jitflow_fields__:
        if default is not MISSING:
            delattr(made, name)  # each object has its own
    made.__init__, made.__repr__ = _init, _repr
    made.__setattr__ = made.__delattr__ = _refuse
    found: _Class = made
    return found


@dataclass_transform(frozen_default=True, eq_default=True)
def value_record(kind: _Class) -> _Class:
    """Make a class with annotations a frozen dataclass that is equal to others of equal fields."""
    made: Any = record(kind)
    made.__eq__, made.__hash__ = _equals, _hash
    found: _Class = made
    return found


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
