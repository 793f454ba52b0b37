"""Functions whose derivative the user has a say in: with a rule of their own, or of which nothing is kept.

The ops `custom_vjp` and `recompute` hold the function as a region whose parameters are values. So what it writes to its
arguments is a result of `recompute`, which is then written to what the caller passed; a rule of one's own says nothing
of what is written, and so such a function may not write.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.control import explicit
from jitflow.frontend.control.joining import outside_type
from jitflow.frontend.control.leaves import flatten
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface
from jitflow.frontend.transforms.derivatives import (
    Traced,
    alone,
    called,
    program_object,
    result_from,
    trace_function,
    traced_floats,
)
from jitflow.frontend.transforms.reruns import refuse_left_behind
from jitflow.frontend.transforms.tangents import as_cotangent, items_like, own_containers
from jitflow.ir.core import Value

__all__ = ["custom", "fori_loop", "recomputed"]

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
    refuse_left_behind(traced, "a gradient of its own")
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


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any, checkpoint: bool = False) -> Any:
    """``for i in range(lower, upper): val = body_fun(i, val)``, from ``init_val``; what ``val`` is at the end.

    With ``checkpoint``, a reverse sweep keeps what every so many turns begin with, the square root of their number, and
    runs these turns again when it comes to them: memory for 2 sqrt(n) turns instead of n, for one more forward sweep
    (Griewank 1992). ``body_fun`` must then write to nothing outside of it.

    Raises TypeError if ``body_fun`` returns another structure than it gets.
    """
    run = _in_segments if checkpoint and active_trace() is not None else explicit.fori_loop
    return run(lower, upper, body_fun, init_val)


def _in_segments(lower: Any, upper: Any, body_fun: Function, init_val: Any) -> Any:
    """`fori_loop` in segments of as many turns as there are segments, each of which is computed again."""
    root = surface.apply_ufunc(np.sqrt, "__call__", (upper - lower + 0.0,), {})
    size = surface.apply_ufunc(np.maximum, "__call__", (root, 1.0), {}).astype(np.int64)

    def segment(number: Any, carry: Any) -> Any:
        first = lower + number * size
        last = surface.apply_ufunc(np.minimum, "__call__", (first + size, upper), {})
        return recomputed(lambda value: explicit.fori_loop(first, last, body_fun, value), (carry,), {})

    return explicit.fori_loop(0, (upper - lower + size - 1) // size, segment, init_val)
