"""Functions whose derivative the user has a say in: with a rule of their own, or of which nothing is kept.

The ops `custom_vjp` and `recompute` hold the function as a region whose parameters are values. So what it writes to its
arguments is a result of `recompute`, which is then written to what the caller passed; a rule of one's own says nothing
of what is written, and so such a function may not write.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.changes import as_cotangent, items_like, own_containers
from jitflow.frontend.control.branch import outside_type
from jitflow.frontend.control.leaves import flatten
from jitflow.frontend.derivatives import (
    Traced,
    alone,
    called,
    program_object,
    result_from,
    trace_function,
    traced_floats,
)
from jitflow.frontend.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Value

__all__ = ["custom", "recomputed"]

Function = Callable[..., Any]


def custom(fn: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What ``fn`` computes, whose gradient is what the second of the pair that it returns says."""
    trace, chosen = current_trace(), traced_floats(args)
    traced = trace_function(fn, chosen, kwargs, _value_and_rule, once=False, writes=True)
    if traced.written:
        raise located(
            UserNotImplementedError(
                "a function with a gradient of its own that writes to its argument",
                mend="write to a copy of it, and return what the caller is to see",
            )
        )
    types = [outside_type(result.type) for result in traced.region.yielded]
    cotangents = [Value(result.type) for result in traced.region.yielded]
    parameters = [Value(operand.type, operand.name) for operand in traced.inputs]
    with trace.region() as scope:
        _, rule = called(fn, chosen.with_items([*map(program_object, parameters)]), kwargs)
        outputs = result_from(traced, [*map(program_object, cotangents)])[0]
        arrived = called(rule, outputs if isinstance(outputs, tuple) else (outputs,))
        items = _from_rule(arrived, args)
        yielded = [as_cotangent(items(place), own) for place, own in zip(chosen.places, parameters, strict=True)]
    backward = scope.close([*parameters, *cotangents], yielded)
    found = trace.add("custom_vjp", *traced.inputs, types=types, regions=(traced.region, backward))
    return result_from(traced, [*map(program_object, found)])[0]


def _value_and_rule(result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2 or not callable(result[1]):
        raise located(
            UserTypeError(
                "a function with a gradient of its own must return a pair",
                found=type(result).__name__,
                expected="its result, and a function that takes the cotangent of that",
            )
        )
    return result[0], None


def _from_rule(arrived: Any, args: Sequence[Any]) -> Callable[[tuple[int, int]], Any]:
    """What a rule says of each number or array of the arguments; None is nothing."""
    alone_in_tuple = isinstance(arrived, tuple) and len(arrived) == 1 and not isinstance(args[0], tuple)
    each = arrived if isinstance(arrived, tuple) and (len(args) > 1 or alone_in_tuple) else (arrived,)
    if len(each) != len(args):
        raise located(
            UserTypeError(
                "a gradient of its own must say what arrives at each argument",
                found=f"{len(each)} cotangents for {len(args)} arguments",
                expected="a tuple with one for each argument, None where nothing arrives",
            )
        )

    @functools.cache
    def leaves(number: int) -> Sequence[Any] | None:
        own = args[number]
        if each[number] is None:
            return None
        return items_like(flatten(own_containers(own)), own, each[number], "a cotangent", "its argument")

    def item(place: tuple[int, int]) -> Any:
        number, leaf = place
        found = leaves(number)
        return 0.0 if found is None or found[leaf] is None else found[leaf]

    return item


def recomputed(fn: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What ``fn`` computes, of which a reverse sweep keeps nothing but the arguments."""
    traced = trace_function(fn, traced_floats(args), kwargs, alone, writes=True)
    types = [outside_type(result.type) for result in traced.region.yielded]
    found = current_trace().add("recompute", *traced.inputs, types=types, regions=(traced.region,))
    _write_back(traced, found)
    return result_from(traced, [*map(program_object, found)])[0]


def _write_back(traced: Traced, found: Sequence[Value]) -> None:
    """Let the caller see what the function has written to its arguments, each of which it had as a value."""
    storage = current_trace().storage
    shown = [storage.behind(item._value) for item in traced.chosen.items if isinstance(item, tracers.ArrayTracer)]
    for item, position in traced.written:
        if sum(not roots.isdisjoint(storage.behind(item._value)) for roots in shown) > 1:
            raise located(
                UserNotImplementedError(
                    "a checkpoint of a function that writes to an argument which another one shows as well",
                    mend="pass copies, and return what the caller is to see",
                )
            )
        storage.write(item._value, found[position])
