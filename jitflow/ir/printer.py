"""The IR as text: what a person reads, what `jitflow.ir.parser` reads back, what golden tests hold.

```
func @scale(%x: f32[n], %a: float) where n >= 2 {
  %0: f32 = cast %a {dtype=f32}       ; train.py:12
  %y: f32[n] = multiply %x, %0        ; train.py:12
  %1: f32[n] = for %2, %3, %4, %y (%i: index[i], %z: f32[n]) {
    yield %z
  }
  yield %1
}
```

A region is its parameters in parentheses and its ops in braces, so that the braces of attributes, which come first,
need no word of their own. Values get their hints where those are free, else the next number: names exist only here.
What follows ``;`` says where in the user's program the op comes from, and where the user wants it
(``; train.py:12 on cpu:1``).

Attribute values print so that reading them back gives the same bits: tuples as ``[a, b]``, types as ``<f32[n]>``,
floats by ``repr`` (a nan that is not the usual one with its bits), complex numbers as ``complex(re, im)``, element
types and sizes as bare words.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.dims import Expression
from jitflow.ir.dtypes import DType
from jitflow.ir.location import Loc
from jitflow.ir.types import Type

__all__ = ["LAYER_WORDS", "Names", "attribute_text", "names_of", "print_function", "print_op"]

LAYER_WORDS = {"tensor": "func", "loop": "kernel", "host": "host"}
"""The word that opens a function of each layer."""

_HINT = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_USUAL_NAN = 0x7FF8000000000000
_LOCATION_COLUMN = 56
_TYPES = get_args(Type)


class Names(dict[Value, str]):
    """The name of every value, given when it is first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._taken: set[str] = set()
        self._next = 0

    def __missing__(self, value: Value) -> str:
        if value.name and value.name not in self._taken and _HINT.match(value.name):
            name = value.name
        else:
            name = str(self._next)
            self._next += 1
        self._taken.add(name)
        self[value] = name
        return name

    def list(self, values: Sequence[Value]) -> str:
        """The values as operands."""
        return ", ".join("%" + self[value] for value in values)

    def typed_list(self, values: Sequence[Value]) -> str:
        """The values with their types, as where they are defined."""
        return ", ".join(f"%{self[value]}: {value.type}" for value in values)


def print_function(function: Function, locations: bool = True) -> str:
    """The function as text, followed by the functions that it calls. ``locations``: end ops with their source line."""
    texts = ["\n".join(_function_lines(function, Names(), locations)) + "\n"]
    texts += [print_function(inner, locations) for inner in function.functions]
    return "\n".join(texts)


def print_op(op: Op, names: Names | None = None) -> str:
    """One op with its regions, for error messages."""
    return "\n".join(_op_lines(op, Names() if names is None else names, "", True))


def names_of(function: Function) -> Names:
    """The names that `print_function` gives, to print single ops with."""
    names = Names()
    for _ in _function_lines(function, names, False):
        pass
    return names


def attribute_text(value: Any) -> str:
    """An attribute value so that reading the text back gives it again, to the bit."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    # bool is an int, so it comes first
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "none"
    if isinstance(value, int | Expression):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, complex):
        return f"complex({_float_text(value.real)}, {_float_text(value.imag)})"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(attribute_text, value))}]"
    if isinstance(value, DType):
        return value.name
    if isinstance(value, _TYPES):
        return f"<{value}>"
    raise TypeError(f"expected an attribute that has a text form, got {type(value).__name__} {value!r}")


def _float_text(number: float) -> str:
    if number == number:
        return repr(number)
    (bits,) = struct.unpack("<Q", struct.pack("<d", number))
    return "nan" if bits == _USUAL_NAN else f"nan({bits:#x})"


def _attributes_text(attributes: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{key}={attribute_text(value)}" for key, value in attributes.items()) + "}"


def _function_lines(function: Function, names: Names, locations: bool) -> Iterator[str]:
    name = function.name if _HINT.match(function.name) else json.dumps(function.name)
    head = f"{LAYER_WORDS.get(function.layer, function.layer)} @{name}({names.typed_list(function.parameters)})"
    if function.facts:
        head += " where " + ", ".join(map(str, function.facts))
    if function.attributes:
        head += " with " + _attributes_text(function.attributes)
    yield head + " {"
    for op in function.region.ops:
        yield from _op_lines(op, names, "  ", locations)
    yield "}"


def _op_lines(op: Op, names: Names, indent: str, locations: bool) -> Iterator[str]:
    operands = names.list(op.operands)
    text = op.name
    if operands:
        text += " " + operands
    if op.attributes:
        text += " " + _attributes_text(op.attributes)
    if op.results:
        text = f"{names.typed_list(op.results)} = {text}"
    text = indent + text
    where = _location_text(op.loc) if locations else ""
    if not op.regions:
        yield _with_location(text, where)
        return
    for number, region in enumerate(op.regions):
        opening = text if number == 0 else indent + "}"
        opening += f" ({names.typed_list(region.parameters)}) {{"
        yield _with_location(opening, where if number == 0 else "")
        yield from _region_lines(region, names, indent + "  ", locations)
    yield indent + "}"


def _region_lines(region: Region, names: Names, indent: str, locations: bool) -> Iterator[str]:
    for op in region.ops:
        yield from _op_lines(op, names, indent, locations)


def _location_text(loc: Loc) -> str:
    return " ".join([str(loc)] * bool(loc.line) + [f"on {loc.device}"] * bool(loc.device))


def _with_location(text: str, where: str) -> str:
    return f"{text:<{_LOCATION_COLUMN}} ; {where}" if where else text
