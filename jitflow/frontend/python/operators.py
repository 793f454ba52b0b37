"""Functions of `operator` that would ask for the numbers themselves; the others are Python's, on tracers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from jitflow.errors import UserTypeError
from jitflow.frontend.arrays.operands import require_integer
from jitflow.frontend.containers.made_containers import keyed
from jitflow.frontend.control.comparisons import compared, contains, is_
from jitflow.frontend.control.logic import as_bool, not_
from jitflow.frontend.outside.keys_of_sets import noting_keys
from jitflow.frontend.outside.special_methods import answer_of
from jitflow.frontend.python.chosen_items import indexed
from jitflow.frontend.recording.values import dtype_of_value
from jitflow.frontend.tracers import ArrayTracer, SizeTracer, Tracer, lift, located, wrap
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.ir.dtypes import I64

__all__ = ["OPERATORS"]


def index(number: Any) -> Any:
    """`operator.index`: what is an int already, as Python's."""
    answer = answer_of(number, "__index__")
    number = number if answer is None else answer
    if not isinstance(number, Tracer):
        return operator.index(number)
    if isinstance(number, SizeTracer):
        return number
    value = lift(number)
    dtype = dtype_of_value(value)
    if isinstance(number, ArrayTracer) and (number.ndim or dtype.kind not in "iu"):
        raise located(UserTypeError("only integer scalar arrays can be converted to a scalar index"))
    require_integer(number, value)
    return wrap(as_weak(value, I64))


def methodcaller(name: str, /, *args: Any, **keywords: Any) -> Callable[[Any], Any]:
    """`operator.methodcaller`."""
    return lambda thing: noting_keys(thing, name, keyed(thing, name))(*args, **keywords)


_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
OPERATORS: Mapping[Any, Callable[..., Any]] = MappingProxyType(
    {
        operator.index: index,
        operator.methodcaller: methodcaller,
        operator.truth: as_bool,
        operator.not_: not_,
        operator.is_: is_,
        operator.is_not: lambda left, right: not_(is_(left, right)),
        operator.contains: contains,
        **{getattr(operator, name): partial(compared, symbol) for name, symbol in _COMPARISONS.items()},
        operator.getitem: lambda items, key: indexed(items)[key],
    }
)
"""What runs in the place of them while tracing."""
