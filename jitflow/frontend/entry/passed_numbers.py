"""Lists of numbers from outside as arrays: where they are long, and where the running program stores to them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from jitflow.frontend.containers.appended_lists import AppendedList
from jitflow.frontend.containers.passed_lists import PassedList
from jitflow.frontend.control.changing_lists import slotted_site
from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.outside.arguments import NumberClass, array_class
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.dtypes import I64, dtype_of
from jitflow.runtime.entry.plan import Made
from jitflow.runtime.objects.stores import numbers_in

__all__ = ["passed_numbers"]

_LONG = 16
"""A list of more numbers is an array, unless the program needs to know each of its items."""
_LARGEST = 4096
"""A list of more numbers always is."""


def passed_numbers(inputs: Inputs, items: list[Any], register: int) -> PassedList | AppendedList | None:
    """What stands for a list that is appended to, or of numbers of one type; else None."""
    path, choices = inputs.path(register), current_trace().choices
    stores = current_trace().state(Stores)
    has_slots = choices.answer(slotted_site(Site(Choice.PASSED, path)))
    if choices.answer(Site(Choice.APPENDED, path)) and not has_slots:
        read, kind = Made(len, (register,)), NumberClass(I64, "python")

        def length() -> Any:
            return inputs.number(inputs.register(read, f"len({path})"), kind, len(items))

        appended: AppendedList = stores.meet(items, register, lambda: AppendedList(register, path, length))
        return appended
    kinds = set(map(type, items))
    number = kinds.pop() if len(kinds) == 1 else None
    if number not in (bool, int, float, complex) and not (number and issubclass(number, np.number | np.bool_)):
        return None
    if has_slots:
        return None
    site = Site(Choice.PASSED_AS_ARRAY, path)
    if not choices.answer(site) and len(items) <= _LARGEST and not (len(items) > _LONG and choices.wishes(site)):
        return None
    conversion = Made(partial(numbers_in, number), (register,))
    try:
        array = conversion.function(items)
    except OverflowError:
        return None
    if dtype_of(array.dtype) is None:
        return None

    def make() -> PassedList:
        found = inputs.register(conversion, path)
        tracer = inputs.array(found, array_class(array, path))
        return PassedList(tracer, register, found, path, number in (bool, int, float, complex))

    made: PassedList = stores.meet(items, register, make)
    return made
