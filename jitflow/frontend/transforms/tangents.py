"""Tangents and cotangents as a user gives them: in the structure of what they belong to, and of its shapes.

Dicts are matched by their keys, whatever the order of these is, and a list will do for a tuple.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.control.leaves import Leaves, flatten
from jitflow.frontend.control.local_types import converted, kind_of
from jitflow.frontend.control.switching import of_one_kind
from jitflow.frontend.outside.proxies import OutsideDict, OutsideList
from jitflow.frontend.outside.records import RecordProxy, is_record
from jitflow.frontend.recording import values
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface
from jitflow.frontend.transforms.traced import Traced
from jitflow.ir.core import Value
from jitflow.ir.types import Scalar, Tensor

__all__ = ["as_cotangent", "cotangents_of", "items_like", "own_containers", "tangents_of", "weighed"]


def tangents_of(traced: Traced, tangents: Sequence[Any]) -> list[Value]:
    """The tangent of each input, from structures like those of the arguments. Raises TypeError for others."""
    chosen = traced.chosen
    given = [
        items_like(chosen.leaves[number], chosen.args[number], tangent, "a tangent", "its argument")
        for number, tangent in enumerate(tangents)
    ]
    items = [given[number][leaf] for number, leaf in chosen.places]
    return [_tangent(item, value) for item, value in zip(items, traced.inputs, strict=True)]


def cotangents_of(traced: Traced, given: Any) -> list[Value]:
    """The cotangents of a function's results, in the structure of these. Raises TypeError for another structure."""
    result, _ = traced.result.rebuild(traced.result.items)
    items = items_like(flatten(result), result, given, "a cotangent", "the result")
    outputs = traced.region.yielded[: traced.outputs]
    return [as_cotangent(item, value) for item, value in zip(items, outputs, strict=True)]


def weighed(result: Any, given: Any, around: Scope) -> tuple[Any, Any]:
    """What is differentiated of a function's result, and its cotangents: the result and those that were ``given``.

    Where a size of the result is bound in the function, no cotangent outside has that size. So it is weighed by its
    cotangent in there, where one can be compared with the other: the gradient of the sum is what is asked for.
    """
    result = of_one_kind(result)
    leaves, is_visible = flatten(result), current_trace().is_visible_in(around)
    kinds = [kind_of(item) for item in leaves.items]
    sizes = [dim for kind in kinds if isinstance(kind, Tensor) for dim in kind.dims]
    if all(map(is_visible, sizes)) or any(kind is None or kind.dtype.kind != "f" for kind in kinds):
        return result, given
    items = items_like(leaves, result, given, "a cotangent", "the result")
    apply = surface.apply_function
    sums = tuple(
        apply(np.sum, (item * tracers.wrap(as_cotangent(weight, tracers.lift(item))),), {})
        for item, weight in zip(leaves.items, items, strict=True)
    )
    return sums, (1.0,) * len(sums)


def items_like(leaves: Leaves, own: Any, given: Any, what: str, whose: str) -> Sequence[Any]:
    """The items of a structure ``given``, in the order of another, ``own``, whose ``leaves`` are known."""
    found = flatten(_in_order_of(own_containers(given), own_containers(own)))
    if found.shape != leaves.shape or len(found.items) != len(leaves.items):
        raise located(
            UserTypeError(
                f"{what} has another structure than {whose}",
                found=_counted(found),
                expected=_counted(leaves)
                if leaves.shape is None
                else f"{_counted(leaves)}, in {leaves.shape[0][0].__name__}s",
                mend=f"pass a number or array for each number or array of {whose}, under the same keys",
            )
        )
    return found.items


def _counted(leaves: Leaves) -> str:
    return "a number or array" if leaves.shape is None else f"{len(leaves.items)} numbers or arrays"


def _in_order_of(given: Any, own: Any) -> Any:
    """A structure in the containers of another, and with the keys of dicts in the order of that one's."""
    if isinstance(given, dict) and isinstance(own, dict) and given.keys() == own.keys():
        return {key: _in_order_of(given[key], item) for key, item in own.items()}
    if isinstance(given, list | tuple) and isinstance(own, list | tuple) and len(given) == len(own):
        items = [_in_order_of(one, other) for one, other in zip(given, own, strict=True)]
        return type(own)(*items) if hasattr(own, "_fields") else type(own)(items)
    return given


def _tangent(item: Any, value: Value) -> Value:
    kind = kind_of(item)
    dtype, dims = values.dtype_of_value(value), values.dims(value)
    if kind is None or (kind.dtype.is_complex and not dtype.is_complex):
        found = type(item).__name__ if kind is None else str(kind)
        expected = str(value.type)
        raise located(UserTypeError("a tangent that its argument cannot change by", found=found, expected=expected))
    tangent = values.cast(tracers.lift(item), dtype)
    own = values.dims(tangent)
    message = "expected a tangent of the shape of its argument, got the shapes {shapes}"
    if len(own) != len(dims):
        shapes = " ".join(broadcasting.shape_text(shape) for shape in (own, dims))
        raise located(UserValueError(message.replace("{shapes}", shapes)))
    for ours, theirs in zip(dims, own, strict=True):
        broadcasting.require_equal(ours, theirs, message, (own, dims))
    return broadcasting.broadcast_to(tangent, dims) if dims else tangent


def as_cotangent(item: Any, value: Value) -> Value:
    """A cotangent of a value: one number for all elements, or an array of its shape."""
    expected, kind = value.type, kind_of(item)
    assert isinstance(expected, Scalar | Tensor)
    if kind is None or (kind.dtype.is_complex and not expected.dtype.is_complex):
        found = type(item).__name__ if kind is None else str(kind)
        raise located(
            UserTypeError("a cotangent that does not fit what it belongs to", found=found, expected=str(expected))
        )
    own, dims = (one.dims if isinstance(one, Tensor) else () for one in (kind, expected))
    if own and len(own) != len(dims):
        raise located(
            UserValueError(
                "a cotangent has another shape than what it belongs to", found=str(kind), expected=str(expected)
            )
        )
    if dims:
        item = surface.apply_function(np.broadcast_to, (item, tuple(map(tracers.size_of, dims))), {})
    return converted(item, expected)


def _in_containers_of(other: Any, thing: Any) -> Any:
    """A structure from outside as one that the program makes: where ``other`` is such a one of the same form."""
    if type(other) is dict and isinstance(thing, OutsideDict) and tuple(other) == tuple(thing):
        return {key: _in_containers_of(item, thing[key]) for key, item in other.items()}
    if type(other) is list and isinstance(thing, OutsideList) and len(other) == len(thing):
        return [_in_containers_of(*pair) for pair in zip(other, thing, strict=True)]
    if isinstance(other, tuple) and type(other) is type(thing) and len(other) == len(thing):
        items = [_in_containers_of(*pair) for pair in zip(other, thing, strict=True)]
        return type(other)(*items) if hasattr(other, "_fields") else tuple(items)
    if is_record(thing) and isinstance(other, RecordProxy):
        return own_containers(thing)
    if is_record(thing) and dataclasses.is_dataclass(other) and type(other) is thing.__class__:
        names = [field.name for field in dataclasses.fields(other) if field.init]
        kind: Any = type(other)
        return kind(**{name: _in_containers_of(getattr(other, name), getattr(thing, name)) for name in names})
    return thing


def own_containers(thing: Any) -> Any:
    """A structure from outside as one that the program may make anew."""
    if isinstance(thing, OutsideDict):
        return {key: own_containers(item) for key, item in thing.items()}
    if isinstance(thing, OutsideList):
        return [own_containers(item) for item in thing]
    if is_record(thing):
        names = [field.name for field in dataclasses.fields(thing._jitflow_object) if field.init]
        return RecordProxy(thing, {name: own_containers(getattr(thing, name)) for name in names})
    if isinstance(thing, tuple) and hasattr(type(thing), "_fields"):
        return type(thing)(*map(own_containers, thing))
    return tuple(map(own_containers, thing)) if type(thing) is tuple else thing
