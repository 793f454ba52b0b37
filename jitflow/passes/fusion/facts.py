"""What `fuse` asks of each op for every group that the op may be part of, found once.

Whether some ops are one nest is asked again for each op that is to join them. What an op says to that, which axes it
relates and what it reads through views, does not change with the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.analyses.order import is_free
from jitflow.passes.fusion.axes import Axis, is_axis_view, related_axes
from jitflow.records import dataclass

__all__ = ["Facts", "OpFacts", "is_gather_source"]

Pairs = Sequence[tuple[Axis, Axis]]


@dataclass(frozen=True, slots=True)
class OpFacts:
    """Of one op.

    ``related`` are the axes that it relates, ``viewed`` the ops that it reads through axis views, with what the views
    relate; ``spans`` the axes longer than 1 of each array that it gives or reads, and whether it is its first result;
    ``stored`` the ops whose results it must find in memory: behind slices and gathers.
    """

    is_elementwise: bool
    rank: int
    """The most axes that it deals with."""
    dims: frozenset[tuple[Dim, ...]]
    """Those of all arrays that it gives or reads."""
    related: Pairs
    viewed: Sequence[tuple[Op, Pairs]]
    spans: Sequence[tuple[tuple[Axis, ...], bool]]
    stored: Sequence[Op]


class Facts:
    """Of the ops of a region. ``producer`` knows them, and the free ops and loads around it, by their results."""

    def __init__(self, producer: Mapping[Value, Op], is_here: Callable[[Op], bool]) -> None:
        self._producer = producer
        self._is_here = is_here
        self._known: dict[Op, OpFacts] = {}

    def of(self, op: Op) -> OpFacts:
        """What an op says for itself."""
        known = self._known.get(op)
        if known is None:
            known = self._known[op] = self._find(op)
        return known

    def origin(self, value: Value) -> Op | None:
        """The op that computes ``value``, behind axis views."""
        op = self._producer.get(value)
        while op is not None and is_axis_view(op):
            op = self._producer.get(op.operands[0])
        return op

    def _find(self, op: Op) -> OpFacts:
        arrays = [value for value in (*op.results, *op.operands) if isinstance(value.type, Tensor)]
        return OpFacts(
            "elementwise" in op.definition.traits,
            max((len(dims_of(value.type)) for value in arrays), default=0),
            frozenset(dims_of(value.type) for value in arrays),
            tuple(related_axes(op)),
            tuple(self._viewed(op)),
            tuple((_long_axes(value), bool(op.results) and value is op.results[0]) for value in arrays),
            tuple(self._stored(op)),
        )

    def _viewed(self, op: Op) -> Iterable[tuple[Op, Pairs]]:
        for operand in op.operands:
            origin, view = self.origin(operand), self._producer.get(operand)
            if origin is None or view is origin:
                continue
            pairs: list[tuple[Axis, Axis]] = []
            while view is not None and view is not origin:
                pairs += related_axes(view)
                view = self._producer.get(view.operands[0])
            yield origin, pairs

    def _stored(self, op: Op) -> Iterable[Op]:
        for operand in op.operands:
            source, stored = self._producer.get(operand), is_gather_source(op, operand)
            while source is not None and is_free(source):
                stored = stored or not is_axis_view(source)
                source = self._producer.get(source.operands[0]) if source.operands else None
            if stored and source is not None and self._is_here(source):
                yield source


def _long_axes(value: Value) -> tuple[Axis, ...]:
    return tuple((value, axis) for axis, dim in enumerate(dims_of(value.type)) if dim != 1)


def is_gather_source(op: Op, value: Value) -> bool:
    """Whether an op gathers from a value."""
    return op.name == "gather" and value is op.operands[0]
