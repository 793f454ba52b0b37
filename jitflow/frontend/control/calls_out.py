"""Calls of Python functions that are not part of the program: ops, in order with everything else that can be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.outside.arguments import Spec
from jitflow.frontend.outside.pooled_objects import is_pooled
from jitflow.frontend.outside.proxies import OutsideDict, OutsideList
from jitflow.frontend.recording.trace import Trace, active_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.texts.building import passed
from jitflow.frontend.tracers import Tracer, dim_of, known_key, lift, located, wrap
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.routines import Routine, RoutineResultError
from jitflow.ir.types import Scalar, Tensor, Type
from jitflow.runtime.calls.calls_out import array_again, as_known, call_with, dict_of, operand_at, sequence_of
from jitflow.runtime.objects.texts import text_of

__all__ = ["PLAIN", "call_out", "called_out", "kind_name", "name_of", "record_call", "template_of"]

OwnTemplate = Callable[[Any, list[Tracer]], Callable[[tuple[Any, ...]], Any] | None]

PLAIN = (str, bytes, bool, int, float, complex, type(None), np.generic, np.dtype)
"""What a call gets as it is."""


def record_call(
    trace: Trace, function: Any, spec: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], *,
    own: OwnTemplate = lambda thing, given: None, name: str = "", borrows: bool = False, effect: str = "external",
) -> Any:  # fmt: skip
    """Record the call of a Python function that is not part of the program. ``spec`` as in `callback`.

    ``own`` gives the templates of what is no argument of a callback. ``name``: what the function is called. If it
    ``borrows``, it gets the program's memory in place of copies. ``effect``: that of the op.
    """
    sizes: dict[str, Dim] = {}
    types = [_type(trace, leaf, sizes) for leaf in _leaves(spec)]

    @wraps(function, assigned=("__name__", "__qualname__"), updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        found = list(_results(function(*args, **kwargs), spec))
        return found[0] if len(found) == 1 else tuple(found)

    made = iter(call_out(trace, run, name or name_of(function), args, kwargs, types, own, borrows, effect))
    return _arranged(spec, lambda: wrap(next(made), owned=True))


def called_out(function: Callable[..., Any], spec: Any, *args: Any) -> Any:
    """``function(*args)``: recorded as a call out of the program that is traced, if there is one.

    The function is jitflow's own and borrows its arguments.
    """
    trace = active_trace()
    if trace is None:
        return function(*args)
    return record_call(trace, function, spec, args, {}, name=function.__name__, borrows=True)


def call_out(
    trace: Trace, function: Any, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], types: Sequence[Type],
    own: OwnTemplate = lambda thing, given: None, borrows: bool = False, effect: str = "external",
) -> tuple[Value, ...]:  # fmt: skip
    """The values of these types that a function gives when the program comes here; ``name`` is for the text form."""
    given: list[Tracer] = []
    positional, keywords = template_of(args, given, own), template_of(dict(kwargs), given, own)
    return trace.add(
        "host_call",
        *(lift(item) for item in given),
        types=types,
        routine=Routine.of(partial(call_with, function, positional, keywords), name, borrows=borrows),
        keywords=(),
        options=(),
        effect=effect,
    )


def template_of(
    thing: Any, given: list[Tracer], own: OwnTemplate = lambda thing, given: None
) -> Callable[[tuple[Any, ...]], Any]:
    """What makes an argument from the operands. Traced things become operands, what is known now stays as it is."""
    thing = passed(thing)
    if is_pooled(thing):
        raise located(
            UserNotImplementedError(
                f"an object of class {type(thing).__name__} of which the run decides which it is, where a call fails "
                "or calls out",
                mend="hand on what it holds: its numbers and texts",
            )
        )
    found = own(thing, given)
    if found is not None:
        return found
    if isinstance(thing, Tracer):
        place = len(given)
        given.append(thing)
        return partial(operand_at, place)
    if type(thing) is np.ndarray:
        return partial(array_again, thing.copy())
    if isinstance(thing, TracedText):
        first, text = len(given), thing.template
        given += thing.operands
        return lambda operands: text_of(text, operands[first:])
    if isinstance(thing, tuple | list):
        kind, parts = tuple if isinstance(thing, tuple) else list, [template_of(item, given, own) for item in thing]
        return partial(sequence_of, kind, parts)
    if isinstance(thing, dict):
        items = {known_key(key): template_of(item, given, own) for key, item in thing.items()}
        return partial(dict_of, items)
    if isinstance(thing, PLAIN):
        return partial(as_known, thing)
    raise located(
        UserTypeError(
            f"a callback was given an object of type {kind_name(thing)}",
            expected="arrays, numbers, strings, and tuples, lists and dicts of them",
            mend="let the function read the object from a global or closure variable",
        )
    )


def _leaves(spec: Any) -> Iterator[Spec]:
    if isinstance(spec, tuple):
        for item in spec:
            yield from _leaves(item)
    elif spec is not None:
        yield spec


def _arranged(spec: Any, make: Callable[[], Any]) -> Any:
    if isinstance(spec, tuple):
        return tuple(_arranged(item, make) for item in spec)
    return None if spec is None else make()


def _results(result: Any, spec: Any) -> Iterator[Any]:
    """The leaves of what the function returned."""
    if not isinstance(spec, tuple):
        if spec is not None:
            yield result
        return
    if not isinstance(result, tuple | list) or len(result) != len(spec):
        found = f"{len(result)} results" if isinstance(result, tuple | list) else type(result).__name__
        raise RoutineResultError(f"the callback returned {found}, expected a tuple of {len(spec)}")
    for item, part in zip(result, spec, strict=True):
        yield from _results(item, part)


def _type(trace: Trace, spec: Spec, sizes: dict[str, Dim]) -> Type:
    if spec.kind != "array":
        return Scalar(spec.dtype, spec.kind == "python")
    dims = []
    for dim in spec.shape:
        if isinstance(dim, str) and dim not in sizes:
            sizes[dim] = trace.size(dim)
        dims.append(sizes[dim] if isinstance(dim, str) else dim_of(dim))
    return Tensor(spec.dtype, tuple(dims))


def kind_name(thing: Any) -> str:
    """What the user knows a type as."""
    shown: dict[type, str] = {OutsideList: "list", OutsideDict: "dict"}
    return str(shown.get(type(thing), thing.__class__.__name__))


def name_of(function: Any) -> str:
    """What the user knows a function as."""
    return str(getattr(function, "__qualname__", type(function).__name__))
