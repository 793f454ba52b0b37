"""Keeps arrays that the program makes apart, when a pass has found that they hold the same values.

``x * 1`` holds what ``x`` holds, yet NumPy returns a new array for it, and whoever mutates that array must not find
``x`` changed. To values inside the program it makes no difference; to what a region yields it does. So after a pass
has replaced values, a yielded one that was an array of its own, and now is a parameter, a value from outside, a view,
or the same array as another result, is yielded as a ``copy``.

    %0: f32[n] = multiply %x, %one              %0: f32[n] = copy %x
    yield %0                            ->      yield %0

Results that were views of one array stay views of one array, unless a pass has found out that they hold one number.
Through regions it knows what a value *may* show: where a loop yields one of two arrays depending on how often it turns,
and both turn out to hold the same, its result may share memory that it did not share before.
"""

from __future__ import annotations

from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.types import Tensor

__all__ = ["keep_apart"]


def keep_apart(before: Region, after: Region) -> Region:
    """``after``, which computes what ``before`` does, with copies where arrays of their own became shared ones."""
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
        elif isinstance(value.type, Tensor) and new.given(value) - old.given(was):
            value = copies.seen_through_views(value, root)
        yielded.append(value)
    if not copies.builder.ops:
        return after
    closing = after.ops[-1]
    last = Op(closing.definition, tuple(yielded), (), closing.attributes, (), closing.loc)
    return Region(after.parameters, (*after.body, *copies.builder.ops, last))


class _Storage:
    """Whose elements the values of a region show."""

    def __init__(self, region: Region) -> None:
        self.parameters = {parameter: position for position, parameter in enumerate(region.parameters)}
        self.views: dict[Value, Op] = {}
        self.sources: dict[Value, list[Value]] = {}
        """For what an op with regions gives, where it may come from."""
        self.made: set[Value] = set()
        """The arrays that the region itself makes."""
        for op in region.body:
            if "view" in op.definition.traits:
                self.views[op.results[0]] = op
            elif op.regions:
                self._enter(op)
            else:
                self.made.update(op.results)

    def _enter(self, op: Op) -> None:
        inner = [result for region in op.regions for result in region.yielded]
        for result in op.results:
            self.sources[result] = [value for value in (*op.operands, *inner) if value.type == result.type]
        for region in op.regions:
            for nested in region.body:
                if "view" in nested.definition.traits:
                    self.views[nested.results[0]] = nested
                elif nested.regions:
                    self._enter(nested)

    def root(self, value: Value) -> Value:
        """The value whose elements ``value`` shows, views being followed."""
        while value in self.views:
            value = self.views[value].operands[0]
        return value

    def roots(self, value: Value) -> set[Value]:
        """All the values whose elements ``value`` may show, regions being looked into."""
        found: set[Value] = set()
        seen: set[Value] = set()
        pending = [value]
        while pending:
            root = self.root(pending.pop())
            if root in seen:
                continue
            seen.add(root)
            if root in self.sources:
                pending += self.sources[root]
            else:
                found.add(root)
        return found

    def given(self, value: Value) -> set[int]:
        """The positions of the parameters that ``value`` may show."""
        return {self.parameters[root] for root in self.roots(value) if root in self.parameters}

    def meet(self, first: Value, second: Value) -> bool:
        """Whether the two may show elements of one array."""
        return not self.roots(first).isdisjoint(self.roots(second))

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
