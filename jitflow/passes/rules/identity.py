"""Keeps arrays that the program makes apart, when a pass has found that they hold the same values.

``x * 1`` holds what ``x`` holds, yet NumPy returns a new array for it, and whoever mutates that array must not find
``x`` changed. To values inside the program it makes no difference; to what it returns it does. So after a pass has
replaced values, a result that was an array of its own, and now is a parameter, a view, or the same array as another
result, is returned as a ``copy``.

    %0: f32[n] = multiply %x, %one              %0: f32[n] = copy %x
    yield %0                            ->      yield %0

Results that were views of one array stay views of one array, unless a pass has found out that they hold one number.
What flows out of a region inside the function is an array of its own, whatever the region yields (`lower` sees to
that), so only the function's own results matter.
"""

from __future__ import annotations

from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.types import Tensor

__all__ = ["keep_apart"]


def keep_apart(before: Region, after: Region) -> Region:
    """``after``, which returns what ``before`` does, with copies where arrays of their own became shared ones."""
    if len(before.yielded) != len(after.yielded) or not any(isinstance(v.type, Tensor) for v in after.yielded):
        return after
    old, new = _Storage(before), _Storage(after)
    copies = _Copies(new, Builder(loc=after.ops[-1].loc))
    pairs = list(zip(before.yielded, after.yielded, strict=True))
    yielded: list[Value] = []
    for position, (was, value) in enumerate(pairs):
        root = old.root(was)
        if isinstance(value.type, Tensor) and root in old.made:
            # Of two results that meet, one copy is enough: the later one's, or that of the one which may be copied.
            joined = any(
                not old.meet(was, other_was) and new.meet(value, other)
                for number, (other_was, other) in enumerate(pairs)
                if number < position or old.root(other_was) not in old.made
            )
            alone = new.root(value) in new.made and not joined
            if new.repeats(value) > old.repeats(was) or (was not in old.views and value in new.views):
                value = copies.whole(value, root)
            elif not alone:
                value = copies.seen_through_views(value, root)
        elif isinstance(value.type, Tensor) and new.given(value) not in (None, old.given(was)):
            value = copies.seen_through_views(value, root)
        yielded.append(value)
    if not copies.builder.ops:
        return after
    closing = after.ops[-1]
    last = Op(closing.definition, tuple(yielded), (), closing.attributes, (), closing.loc)
    return Region(after.parameters, (*after.body, *copies.builder.ops, last))


class _Storage:
    """Whose elements the values of a function show."""

    def __init__(self, region: Region) -> None:
        self.parameters = {parameter: position for position, parameter in enumerate(region.parameters)}
        self.views = {op.results[0]: op for op in region.body if "view" in op.definition.traits}
        self.made = {result for op in region.body for result in op.results if result not in self.views}
        """The arrays that the function itself makes."""

    def root(self, value: Value) -> Value:
        """The value whose elements ``value`` shows, views being followed."""
        while value in self.views:
            value = self.views[value].operands[0]
        return value

    def given(self, value: Value) -> int | None:
        """The position of the parameter that ``value`` shows."""
        return self.parameters.get(self.root(value))

    def meet(self, first: Value, second: Value) -> bool:
        """Whether the two show elements of one array."""
        return self.root(first) is self.root(second)

    def repeats(self, value: Value) -> bool:
        """Whether ``value`` shows some elements more than once."""
        while value in self.views:
            if self.views[value].name == "broadcast":
                return True
            value = self.views[value].operands[0]
        return False


class _Copies:
    """Makes each copy once: results that shared an array share its copy."""

    def __init__(self, storage: _Storage, builder: Builder) -> None:
        self.storage = storage
        self.builder = builder
        self.made: dict[tuple[Value, Value], Value] = {}

    def whole(self, value: Value, root: Value) -> Value:
        """A copy of ``value`` for what stands for the old array ``root``."""
        key = (value, root)
        if key not in self.made:
            self.made[key] = self.builder.make("copy", value)
        return self.made[key]

    def seen_through_views(self, value: Value, root: Value) -> Value:
        """The views that lead to ``value``, on a copy of the array that they show."""
        view = self.storage.views.get(value)
        if view is None:
            return self.whole(value, root)
        key = (value, root)
        if key not in self.made:
            shown = self.seen_through_views(view.operands[0], root)
            self.made[key] = self.builder.make(view.name, shown, **view.attributes)
        return self.made[key]
