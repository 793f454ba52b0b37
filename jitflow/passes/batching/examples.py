"""What rules of batching are written with: all examples of a value, in one array with an axis for them in front."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from jitflow.ir.core import Op, Region, Value
from jitflow.ir.dims import Dim
from jitflow.ir.ops.derivative import stacked_of
from jitflow.ir.types import dims_of
from jitflow.passes.batching.varying import Varying
from jitflow.passes.derivatives.notation import Notation, rank
from jitflow.records import dataclass

__all__ = ["Anew", "Examples", "InTurns", "Spot"]


class InTurns(Exception):
    """An op has no rule as it is used here: examples take turns."""


class Anew(Exception):
    """More varies than was known: the region is written out anew."""


@dataclass(frozen=True, eq=False)
class Spot:
    """What a place shows where each example computes the position: elements of ``source`` on axes from ``axis`` on."""

    source: Value
    is_stacked: bool
    """Whether each example has a source of its own."""
    axis: int
    positions: tuple[Value, ...]
    dims: tuple[Dim, ...]
    """Those of what one example shows."""


class Examples:
    """What is known while a region is written out; ``write`` appends what the ops of a region become."""

    def __init__(
        self, count: Dim, varying: Varying, producers: Mapping[Value, Op], m: Notation, turns: set[Op],
        write: Callable[[Examples, Region], None],
    ) -> None:  # fmt: skip
        self.count = count
        self.varying = varying
        self.producers = producers
        self.m = m
        self.write = write
        self.turns = turns
        """The ops that were found to take turns though they give something that was not known to vary."""
        self.made: dict[Value, Value] = {}
        """For each value that varies, all examples of it; of a size, as numbers."""
        self.spots: dict[Value, Spot] = {}
        """The places that are elsewhere in each example."""
        self.sizes: dict[str, Value] = {}
        """For each size that varies and is known before an op, the number that it is in each example."""

    def stacked(self, value: Value) -> Value:
        """All examples of a value, whether it varies or not."""
        return self.spread(value, dims_of(value.type))

    def spread(self, value: Value, dims: tuple[Dim, ...]) -> Value:
        """All examples of a number or an array as arrays of ``dims``: they repeat along first axes that they lack."""
        made, own = self.made.get(value), rank(value)
        axes = tuple(range(len(dims) - own + 1, len(dims) + 1))
        if made is None:
            return self.m("broadcast", value, dims=(self.count, *dims), axes=axes)
        return made if own == len(dims) else self.m("broadcast", made, dims=(self.count, *dims), axes=(0, *axes))

    def repeated(self, value: Value, dims: tuple[Dim, ...]) -> Value:
        """All examples of an array of the rank of ``dims``, along whose axes it repeats where it has one element."""
        return self.m("broadcast", self.stacked(value), dims=dims, axes=tuple(range(len(dims))))

    def parameter(self, value: Value) -> Value:
        """The parameter of a region that stands for one that may vary."""
        if value not in self.varying:
            return value
        self.made[value] = made = Value(stacked_of(value.type, self.count), value.name)
        return made

    def meeting(self, value: Value, target: Value) -> Value:
        """What goes where ``target`` is awaited: all examples of it, if that varies."""
        return self.stacked(value) if target in self.varying else value

    def inside(self, region: Region, parameters: Sequence[Value], targets: Sequence[Value]) -> Region:
        """What a region becomes, which takes ``parameters`` and yields what goes where ``targets`` are awaited."""
        outside, self.m = self.m, self.m.inside()
        try:
            self.write(self, region)
            self.m.builder.loc = region.ops[-1].loc
            yielded = [*map(self.meeting, region.yielded, targets)]
            return self.m.builder.region(parameters, yielded)
        finally:
            self.m = outside
