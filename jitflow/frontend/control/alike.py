"""Whether two recordings are the same ops: what is done with Python's number and with NumPy's of the same dtype.

And whether two results are alike, whatever the sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any

from jitflow.frontend.control.leaves import Leaves
from jitflow.frontend.control.merge import agreeing
from jitflow.frontend.tracers import ArrayTracer, ScalarTracer
from jitflow.ir.core import Op, Value
from jitflow.ir.types import Scalar, Tensor

__all__ = ["are_alike", "is_like"]


def are_alike(ops: Sequence[Op], result: Any, other_ops: Sequence[Op], other_result: Any) -> bool:
    """Whether two lists of ops do the same, but for which numbers are Python's, and are checked for it."""
    same: dict[Value, Value] = {}

    def known(value: Value) -> Value:
        return same.get(value, value)

    def telling(ops: Sequence[Op]) -> list[Op]:
        found = []
        for op in ops:
            if op.name == "cast" and _dtype(op.operands[0]) == _dtype(op.result) is not None:
                same[op.result] = known(op.operands[0])
            else:
                found.append(op)
        return found

    first, second = telling(ops), telling(other_ops)
    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        if one.regions or other.regions or _attributes(one) != _attributes(other):
            return False
        if _in_order(one.name, map(known, one.operands)) != _in_order(other.name, map(known, other.operands)):
            return False
        if [*map(_dtype, one.results)] != [*map(_dtype, other.results)]:
            return False
        same.update(zip(other.results, one.results, strict=True))
    if any(isinstance(result, kind) and isinstance(other_result, kind) for kind in (ScalarTracer, ArrayTracer)):
        return known(result._value) is known(other_result._value)
    return type(result) is type(other_result) and bool(result == other_result)


_MIRRORED: Mapping[str, str] = MappingProxyType({"greater": "less", "greater_equal": "less_equal"})
_SYMMETRIC = frozenset({"equal", "not_equal"})


def _in_order(name: str, operands: Iterable[Value]) -> tuple[str, Sequence[Value] | Set[Value]]:
    """What an op computes of what. Python asks NumPy's number for `2 < x` whether `x > 2`."""
    operands = [*operands]
    if name in _MIRRORED:
        return _MIRRORED[name], operands[::-1]
    return name, {*operands} if name in _SYMMETRIC else operands


def _dtype(value: Value) -> Any:
    """The dtype of a number; of all else the type."""
    return value.type.dtype if isinstance(value.type, Scalar) else value.type


def _attributes(op: Op) -> dict[str, Any]:
    return {name: thing for name, thing in op.attributes.items() if name not in ("weak", "type", "checked")}


def is_like(one: Leaves, other: Leaves) -> bool:
    """Whether two results have one structure and the same types, whatever the sizes."""

    def is_same(a: Any, b: Any) -> bool:
        if not isinstance(a, Tensor) or not isinstance(b, Tensor):
            return a == b if isinstance(a, Scalar) else agreeing([a, b])
        return a.dtype == b.dtype and len(a.dims) == len(b.dims)

    return repr(one.shape) == repr(other.shape) and all(map(is_same, one.items, other.items))
