"""Keeps arrays that the program makes apart, when a pass has found that they hold the same values.

``x * 1`` holds what ``x`` holds, yet NumPy returns a new array for it, and whoever mutates that array must not find
``x`` changed. To values inside the program it makes no difference; to what a region yields it does. So after a pass
has replaced values, a yielded one that was an array of its own, and now is a parameter, a value from outside, a view,
or the same array as another result, is yielded as a ``copy``.

    %0: f32[n] = multiply %x, %one              %0: f32[n] = copy %x
    yield %0                            ->      yield %0
"""

from __future__ import annotations

from collections.abc import Mapping

from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.types import Tensor

__all__ = ["keep_apart"]


def keep_apart(before: Region, after: Region) -> Region:
    """``after``, which computes what ``before`` does, with copies where arrays of their own became shared ones."""
    old, new = _Storage(before), _Storage(after)
    builder = Builder(loc=after.ops[-1].loc)
    yielded = list(after.yielded)
    if len(yielded) != len(before.yielded):
        return after
    for position, (value, was) in enumerate(zip(after.yielded, before.yielded, strict=True)):
        if not isinstance(value.type, Tensor) or not old.owns(was):
            continue
        joined = any(
            new.root(value) is new.root(after.yielded[k]) and old.root(was) is not old.root(before.yielded[k])
            for k in range(position)
        )
        became_view = was not in old.viewed and value in new.viewed
        if joined or became_view or not new.owns(value):
            yielded[position] = builder.make("copy", value)
    if not builder.ops:
        return after
    closing = after.ops[-1]
    last = Op(closing.definition, tuple(yielded), (), closing.attributes, (), closing.loc)
    return Region(after.parameters, (*after.body, *builder.ops, last))


class _Storage:
    """Whose elements the values of a region show."""

    def __init__(self, region: Region) -> None:
        self.viewed: Mapping[Value, Value] = {
            op.results[0]: op.operands[0] for op in region.body if "view" in op.definition.traits
        }
        # What an op with regions yields may come from anywhere.
        self.made = {
            result
            for op in region.body
            if not op.regions and "view" not in op.definition.traits
            for result in op.results
        }

    def root(self, value: Value) -> Value:
        """The value whose elements ``value`` shows, views being followed."""
        while value in self.viewed:
            value = self.viewed[value]
        return value

    def owns(self, value: Value) -> bool:
        """Whether the region made the array whose elements ``value`` shows."""
        return self.root(value) in self.made
