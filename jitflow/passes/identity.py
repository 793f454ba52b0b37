"""Keeps arrays that the program makes apart, when a pass has found that they hold the same values.

``x * 1`` holds what ``x`` holds, yet NumPy returns a new array for it, and whoever mutates that array must not find
``x`` changed. To values inside the program it makes no difference; to what a region yields it does. So after a pass has
replaced values, a yielded one that was an array of its own, and now is a parameter, a value from outside, or the same
array as another result, is yielded as a ``copy``.

    %0: f32[n] = multiply %x, %one              %0: f32[n] = copy %x
    yield %0                            ->      yield %0
"""

from __future__ import annotations

from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.types import Tensor

__all__ = ["keep_apart"]


def keep_apart(before: Region, after: Region) -> Region:
    """``after``, which computes what ``before`` does, with copies where arrays of their own became shared ones."""
    old, new = _roots(before), _roots(after)
    if len(old) != len(new):
        return after
    made = {result for op in after.body if not _shares(op) for result in op.results}
    was_made = {result for op in before.body if not _shares(op) for result in op.results}
    builder = Builder(loc=after.ops[-1].loc)
    yielded = list(after.yielded)
    for position, value in enumerate(yielded):
        if not isinstance(value.type, Tensor) or old[position] not in was_made:
            continue
        joined = any(new[position] is new[k] and old[position] is not old[k] for k in range(position))
        if joined or new[position] not in made:
            yielded[position] = builder.make("copy", value)
    if not builder.ops:
        return after
    closing = after.ops[-1]
    return Region(
        after.parameters,
        (*after.body, *builder.ops, Op(closing.definition, tuple(yielded), (), closing.attributes, (), closing.loc)),
    )


def _shares(op: Op) -> bool:
    """Whether an op's result shows its operand's elements, or may be a value from elsewhere."""
    return bool(op.regions) or "view" in op.definition.traits


def _roots(region: Region) -> list[Value]:
    """For every yielded value the one whose elements it shows, views being followed."""
    source = {op.results[0]: op.operands[0] for op in region.body if "view" in op.definition.traits}

    def root(value: Value) -> Value:
        while value in source:
            value = source[value]
        return value

    return [root(value) for value in region.yielded]
