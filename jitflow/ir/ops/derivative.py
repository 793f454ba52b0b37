"""Derivatives and batches as ops: what the user asked for, until the pass `differentiate` writes it out.

The region is the function that is transformed. It may use values from outside, which count as constants, and write to
storage as any other code does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitflow.ir.dims import Dim
from jitflow.ir.records import Attributes, Effect, OpDef
from jitflow.ir.types import Place, Scalar, Tensor, Type, Variable, dims_of

__all__ = ["DERIVATIVE_NAMES", "DERIVATIVE_OPS", "example_of", "stacked_of"]


def example_of(kind: Type) -> Type:
    """The type of one example of an array, or of storage, that has an axis for them in front."""
    if isinstance(kind, Variable | Place):
        return Place(kind.dtype, kind.dims[1:])
    assert isinstance(kind, Tensor)
    return Tensor(kind.dtype, kind.dims[1:]) if kind.dims[1:] else Scalar(kind.dtype)


def stacked_of(kind: Type, count: Dim) -> Type:
    """The type of ``count`` examples of a type in one array, or in one storage."""
    assert isinstance(kind, Scalar | Tensor | Variable | Place)
    dims = (count, *dims_of(kind))
    return type(kind)(kind.dtype, dims) if isinstance(kind, Variable | Place) else Tensor(kind.dtype, dims)


def _infer_same(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    (operand,) = operands
    return (operand,)


def _touches(attributes: Attributes) -> tuple[Effect, ...]:
    """Variables that are differentiated by count as written, so that reads inside the region stay reads of them."""
    first = attributes["inputs"] + attributes["outputs"]
    return tuple(Effect("writes", first + number) for number in range(attributes.get("variables", 0)))


def _only_traced(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    return operands[0]


DERIVATIVE_OPS = [
    OpDef(
        "vjp", "reverse mode. Operands: ``inputs`` values to differentiate by, which the region takes; a cotangent for "
        "each of the first ``outputs`` values that the region yields; ``variables`` variables to differentiate by, at "
        "what they hold before. Results: what the region yields, then the gradient by each input and variable",
        "tensor", None, None, effects=_touches,
        attributes=("inputs", "outputs", "variables"), regions=1,
    ),
    OpDef(
        "jvp", "forward mode. Operands: ``inputs`` values to differentiate by, which the region takes, and a tangent "
        "for each. Results: what the region yields, then the tangent of each of its first ``outputs`` values", "tensor",
        None, None, attributes=("inputs", "outputs"), regions=1,
    ),
    OpDef(
        "custom_vjp", "a function with its own reverse rule. Region 0 takes the operands and yields the results; "
        "region 1 takes the operands and a cotangent for each result, and yields a cotangent for each operand",
        "tensor", None, None, regions=2,
    ),
    OpDef(
        "recompute", "what the region yields for the operands; a reverse sweep runs the region once more instead of "
        "storing what is in it", "tensor", None, None, regions=1,
    ),
    OpDef(
        "stop_gradient", "the operand, which counts as a constant for derivatives", "tensor", 1, _infer_same,
        _only_traced,
    ),
    OpDef(
        "vmap", "what the region yields for each example, one after the other. It takes what is at each place of the "
        "first axis of the operands, which have the same number of them; what it yields is stacked along a new first "
        "axis, but for the last ``shared`` values, which are the same for every example", "tensor", None, None,
        attributes=("shared",), regions=1,
    ),
]  # fmt: skip

DERIVATIVE_NAMES = frozenset(op.name for op in DERIVATIVE_OPS)
