"""Values and records as JSON, and back: what a file of the cache holds beside machine code.

JSON knows too few kinds of values, so all but strings, ints, bools and None are lists that begin with the name of their
kind. Records are frozen dataclasses, field by field. Functions are jitflow's own, or Python's, by their names: what a
file can make this process call is jitflow's own code, whatever stands in it.

There is no pickle, and reading executes nothing.
"""

from __future__ import annotations

import base64
import importlib
import struct
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from jitflow.cache.content import is_of_a_library, named
from jitflow.errors import ExceptionName
from jitflow.records import field_names
from jitflow.runtime.entry import plan, plan_results

__all__ = ["Damaged", "Unstorable", "pack", "unpack"]


class Unstorable(Exception):
    """Something that a file cannot hold; the message says what."""


class Damaged(Exception):
    """What a file holds makes no sense."""


def _records(*modules: Any) -> dict[str, type[Any]]:
    several = (one for module in modules for one in vars(module).values())
    return {one.__name__: one for one in several if isinstance(one, type) and "__dataclass_fields__" in vars(one)}


_OF_PLANS = _records(plan, plan_results)


@cache
def _of_types() -> Mapping[str, type[Any]]:
    """The records of the IR's types, which few plans have: imported when one has."""
    from jitflow.ir import types

    return _records(types)


_FIELDS: dict[type[Any], list[str]] = {}


def _fields(kind: type[Any]) -> list[str]:
    if kind not in _FIELDS:
        _FIELDS[kind] = field_names(kind)
    return _FIELDS[kind]


def _is_record(kind: type[Any]) -> bool:
    return kind in (_OF_PLANS.get(kind.__name__), _of_types().get(kind.__name__))


_PLAIN = (str, bool, int, type(None))
_SINGLE = {"...": ..., "not implemented": NotImplemented}

Outside = Callable[[Any], Any]
"""Packs, or unpacks, what belongs to the user: an object that the plan reads. It returns None for what does not."""


def pack(thing: Any, outside: Outside | None = None) -> Any:
    """A value as JSON. Raises `Unstorable`."""
    kind = type(thing)
    if kind in _PLAIN:
        return thing
    if kind in _PACK:
        return _PACK[kind](thing, outside)
    if outside is not None and (found := outside(thing)) is not None:
        return ["outside", found]
    from jitflow.ir.dtypes import DType
    from jitflow.ir.named_types import Named
    from jitflow.ir.routines import Routine

    if kind is Named:
        return ["named tuple", *_several((thing.kind, *thing), outside)]
    if kind is DType:
        return ["jitflow dtype", thing.name]
    if kind is Routine:  # one of the user's is not named by what is written
        return ["routine", str(thing), thing.borrows, pack(thing.function)]
    if _is_record(kind):
        return ["record", kind.__name__, *(pack(getattr(thing, name), outside) for name in _fields(kind))]
    if isinstance(thing, FunctionType | BuiltinFunctionType | type):
        module, name = thing.__module__ or "", thing.__qualname__
        if _is_nameable(thing, module) and named(module, name) is thing:
            return ["named", module, name]
    elif isinstance(thing, np.dtype) and thing.isbuiltin == 1:
        return ["dtype", thing.str]
    elif isinstance(thing, np.generic) and thing.dtype.isbuiltin == 1 and thing.dtype.kind in "biufc":
        return ["number", thing.dtype.str, _text(thing.tobytes())]
    if kind is FunctionType:
        raise Unstorable(f"the function {thing.__qualname__}")
    raise Unstorable(f"an object of the class {kind.__qualname__}")


def unpack(thing: Any, outside: Outside | None = None) -> Any:
    """The value of what `pack` made. Raises `Damaged`, or another exception, where it did not make this."""
    if type(thing) in _PLAIN:
        return thing
    if type(thing) is not list or not thing or type(thing[0]) is not str:
        raise Damaged(f"expected a value, got {type(thing).__name__}")
    kind, *parts = thing
    if kind == "outside" and outside is not None:
        return outside(*parts)
    if kind not in _UNPACK:
        raise Damaged(f"expected a kind of value, got {kind[:40]!r}")
    return _UNPACK[kind](parts, outside)


def _is_nameable(thing: Any, module: str) -> bool:
    """Whether it is a class of a library, or a function of jitflow's; `len` is the only other one in plans."""
    if isinstance(thing, type):
        return is_of_a_library(module)
    return thing is len or (isinstance(thing, FunctionType) and module.startswith("jitflow."))


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _several(things: Any, outside: Outside | None) -> list[Any]:
    return [pack(thing, outside) for thing in things]


def _array(array: np.ndarray[Any, Any], outside: Outside | None) -> Any:
    if array.dtype.isbuiltin != 1 or array.dtype.kind not in "biufc":
        raise Unstorable(f"an array of dtype {array.dtype}")
    return ["array", array.dtype.str, list(array.shape), _text(array.tobytes())]


_PACK: Mapping[type, Callable[[Any, Outside | None], Any]] = {
    float: lambda number, outside: ["float", struct.pack("<d", number).hex()],
    complex: lambda number, outside: ["complex", struct.pack("<dd", number.real, number.imag).hex()],
    bytes: lambda content, outside: ["bytes", _text(content)],
    tuple: lambda items, outside: ["tuple", *_several(items, outside)],
    list: lambda items, outside: ["list", *_several(items, outside)],
    dict: lambda items, outside: ["dict", *(_several(item, outside) for item in items.items())],
    slice: lambda one, outside: ["slice", *_several((one.start, one.stop, one.step), outside)],
    range: lambda one, outside: ["range", one.start, one.stop, one.step],
    type(...): lambda one, outside: ["single", "..."],
    type(NotImplemented): lambda one, outside: ["single", "not implemented"],
    ExceptionName: lambda name, outside: ["exception", pack(name.kind, outside)],
    np.ndarray: _array,
    partial: lambda one, outside: ["partial", *_several((one.func, one.args, one.keywords), outside)],
}  # fmt: skip


def _read_array(parts: list[Any], outside: Outside | None) -> np.ndarray[Any, Any]:
    dtype, shape, content = parts
    return np.frombuffer(base64.b64decode(content, validate=True), dtype).reshape(shape).copy()


def _read_number(parts: list[Any], outside: Outside | None) -> Any:
    dtype, content = parts
    (number,) = np.frombuffer(base64.b64decode(content, validate=True), dtype)
    return number


def _dtype(name: str) -> Any:
    from jitflow.ir.dtypes import parse_dtype

    return parse_dtype(name)


def _read_routine(parts: list[Any], outside: Outside | None) -> Any:
    from jitflow.ir.routines import Routine

    name, borrows, function = parts
    return Routine.of(unpack(function), str(name), borrows=bool(borrows))


def _read_record(parts: list[Any], outside: Outside | None) -> Any:
    name, *fields = parts
    kind = _OF_PLANS.get(name) or _of_types()[name]
    if len(fields) != len(_fields(kind)):
        raise Damaged(f"expected {len(_fields(kind))} fields of {name}, got {len(fields)}")
    return kind(**dict(zip(_fields(kind), (unpack(field, outside) for field in fields), strict=True)))


def _read_named(parts: list[Any], outside: Outside | None) -> Any:
    module, name = parts
    if module.startswith("jitflow."):
        importlib.import_module(module)
    found = named(module, name)
    if not _is_nameable(found, module):
        raise Damaged(f"expected a class, or a function of jitflow's, got {module}.{name}")
    return found


def _read_named_tuple(parts: list[Any], outside: Outside | None) -> Any:
    from jitflow.ir.named_types import Named

    kind, *items = _unpacked(parts, outside)
    return Named(kind, items)


def _read_exception(parts: list[Any], outside: Outside | None) -> str:
    kind = unpack(parts[0], outside)
    if not issubclass(kind, BaseException):
        raise Damaged("expected the class of an exception")
    return ExceptionName.of(kind)


def _read_partial(parts: list[Any], outside: Outside | None) -> Any:
    function, arguments, keywords = (unpack(part, outside) for part in parts)
    return partial(function, *arguments, **keywords)


def _unpacked(parts: list[Any], outside: Outside | None) -> list[Any]:
    return [unpack(part, outside) for part in parts]


_UNPACK: Mapping[str, Callable[[list[Any], Outside | None], Any]] = {
    "float": lambda parts, outside: struct.unpack("<d", bytes.fromhex(parts[0]))[0],
    "complex": lambda parts, outside: complex(*struct.unpack("<dd", bytes.fromhex(parts[0]))),
    "bytes": lambda parts, outside: base64.b64decode(parts[0], validate=True),
    "tuple": lambda parts, outside: tuple(_unpacked(parts, outside)),
    "list": _unpacked,
    "dict": lambda parts, outside: dict(_unpacked(part, outside) for part in parts),
    "slice": lambda parts, outside: slice(*_unpacked(parts, outside)),
    "range": lambda parts, outside: range(*parts),
    "single": lambda parts, outside: _SINGLE[parts[0]],
    "jitflow dtype": lambda parts, outside: _dtype(parts[0]),
    "dtype": lambda parts, outside: np.dtype(str(parts[0])),
    "number": _read_number,
    "array": _read_array,
    "record": _read_record,
    "routine": _read_routine,
    "named": _read_named,
    "named tuple": _read_named_tuple,
    "partial": _read_partial,
    "exception": _read_exception,
}  # fmt: skip
