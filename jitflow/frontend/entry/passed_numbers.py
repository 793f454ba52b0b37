"""Lists of numbers from outside as arrays: where they are long, and where the running program stores to them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.outside.arguments import array_class
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.python.passed_lists import PassedList
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.dtypes import dtype_of
from jitflow.runtime.plan import Made
from jitflow.runtime.stores import numbers_in

__all__ = ["passed_numbers"]

_LONG = 16
"""A list of more numbers is an array, unless the program needs to know each of its items."""
_LARGEST = 4096
"""A list of more numbers always is."""


def passed_numbers(inputs: Inputs, items: list[Any], register: int) -> PassedList | None:
    """What stands for a list of numbers of one type; None if its items are inputs of their own."""
    kinds = set(map(type, items))
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind not in (bool, int, float, complex) and not (kind and issubclass(kind, np.number | np.bool_)):
        return None
    path, choices = inputs.path(register), current_trace().choices
    site = Site(Choice.PASSED_AS_ARRAY, path)
    if not choices.answer(site) and len(items) <= _LARGEST and not (len(items) > _LONG and choices.wishes(site)):
        return None
    read = Made(partial(numbers_in, kind), (register,))
    try:
        array = read.function(items)
    except OverflowError:
        return None
    if dtype_of(array.dtype) is None:
        return None

    def make() -> PassedList:
        found = inputs.register(read, path)
        tracer = inputs.array(found, array_class(array, path))
        return PassedList(tracer, register, found, path, kind in (bool, int, float, complex))

    made: PassedList = current_trace().state(Stores).meet(items, register, make)
    return made
