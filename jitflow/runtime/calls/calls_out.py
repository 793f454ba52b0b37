"""What a program calls that is no part of it, as data: `functools.partial` of functions that have names.

So a file can hold such a call (`cache/codec.py`), and a process that finds it makes it anew. A *template* is a function
that makes an argument from the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jitflow.ir.draws import object_at

__all__ = ["array_again", "as_known", "call_with", "chosen_places", "dict_of", "draw_by", "operand_at", "sequence_of",
           "shuffled"]  # fmt: skip

Template = Callable[[tuple[Any, ...]], Any]


def call_with(function: Callable[..., Any], positional: Template, keywords: Template, *operands: Any) -> Any:
    """Call a function with the arguments that templates make."""
    return function(*positional(operands), **keywords(operands))


def operand_at(place: int, operands: tuple[Any, ...]) -> Any:
    """One of the operands."""
    return operands[place]


def as_known(thing: Any, operands: tuple[Any, ...]) -> Any:
    """What is known without them."""
    return thing


def array_again(array: np.ndarray[Any, Any], operands: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """A known array, of which each call gets its own."""
    return array.copy()


def sequence_of(kind: type, parts: Sequence[Template], operands: tuple[Any, ...]) -> Any:
    """A tuple or a list."""
    return kind(part(operands) for part in parts)


def dict_of(parts: Mapping[Any, Template], operands: tuple[Any, ...]) -> dict[Any, Any]:
    """A dict whose keys are known."""
    return {key: part(operands) for key, part in parts.items()}


# -- of a generator at an address --------------------------------------------------------------------


def draw_by(method: str, address: int, /, *args: Any, **kwargs: Any) -> Any:
    """What a method of the generator gives."""
    return getattr(object_at(address), method)(*args, **kwargs)


def shuffled(address: int, array: Any, *axis: int) -> Any:
    """The array, shuffled in place."""
    object_at(address).shuffle(array, *axis)
    return array


def chosen_places(method: str, address: int, among: int, /, *args: Any, **kwargs: Any) -> Any:
    """The positions that a method of Python's generator chooses among so many."""
    return np.array(draw_by(method, address, range(among), *args, **kwargs), np.int64)
