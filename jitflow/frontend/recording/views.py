"""Which arrays show the same memory: views, and the arrays of several paths that one may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.recording.regions import Regions, Scope
from jitflow.ir.core import Op, Value
from jitflow.ir.types import Tensor

__all__ = ["Views", "read_only_on_a_path"]


class Views:
    """The arrays of one trace, and what each is a view of."""

    def __init__(self, trace: Regions) -> None:
        self._trace = trace
        self._views: dict[Value, Op | Value] = {}
        """A view op's result to the op; a load's result to the value that the array had in its place."""
        self._viewed: dict[Value, set[Value]] = {}
        self._shown: set[Value] = set()
        self._held: set[Value] = set()
        self._shared: set[Value] = set()
        self._arguments: set[Value] = set()
        self.homes: dict[Value, Scope] = {}
        """The region in which an array was made."""
        self._read_only: set[Value] = set()
        self._arrived: dict[Value, list[Value]] = {}
        """The arrays of several paths that a merged array may be."""
        self.makers: dict[Value, Op] = {}
        """The op that made an array."""

    def note_parameter(self, value: Value) -> None:
        """The caller passes ``value``."""
        self._arguments.add(value)
        self.homes[value] = self._trace.root

    def note(self, op: Op) -> None:
        """An op was recorded."""
        for result in op.results:
            if isinstance(result.type, Tensor):
                self.homes[result] = self._trace.scope
                self.makers[result] = op
        if "view" in op.definition.traits and isinstance(op.operands[0].type, Tensor):
            self._views[op.results[0]] = op

    def root(self, value: Value) -> Value:
        """The value that stands for the memory that ``value`` shows."""
        while value in self._views:
            value = self._shown_by(value)
        return value

    def repeats(self, value: Value) -> bool:
        """Whether an array may show an element of its memory in several places."""
        found = False
        while value in self._views:
            source = self._views[value]
            found = found or (isinstance(source, Op) and source.name in ("broadcast", "window"))
            value = self._shown_by(value)
        return found

    def source(self, value: Value) -> Op | Value | None:
        """What an array is a view of: the op that views it, or the array that it was read from."""
        return self._views.get(value)

    def _shown_by(self, value: Value) -> Value:
        source = self._views[value]
        return source.operands[0] if isinstance(source, Op) else source

    def show(self, value: Value) -> None:
        """The program gets an array object that shows ``value``; a second one shares it, a view shares its source."""
        if value in self._shown or value in self._held:
            self._shared.add(value)
        self._shown.add(value)
        while value in self._views:
            value = self._shown_by(value)
            self._shared.add(value)

    def is_a_view(self, value: Value) -> bool:
        """Whether an array is a view of another one."""
        while value in self._views:
            if isinstance(self._views[value], Op):
                return True
            value = self._shown_by(value)
        return False

    def is_shared(self, value: Value) -> bool:
        """Whether more than one array object of the program shows elements of ``value``."""
        return value in self._shared

    def is_parameter(self, value: Value) -> bool:
        """Whether the caller passed it."""
        return value in self._arguments

    def is_new_array(self, value: Value) -> bool:
        """Whether an op made ``value`` in memory of its own: no parameter and no view."""
        return value not in self._views and not self.is_parameter(value)

    def is_local(self, value: Value) -> bool:
        """Whether the region that is being recorded made the memory that ``value`` shows."""
        return self.homes.get(self.root(value)) is self._trace.scope

    def is_made_in(self, scope: Scope, root: Value) -> bool:
        """Whether a region, or one inside it, made an array."""
        home = self.homes.get(root)
        return home is not None and any(scope is around for around in home.around())

    def made_here(self, value: Value) -> None:
        """The region that is being recorded has ``value`` as a parameter or result."""
        self.homes[value] = self._trace.scope

    def arrive(self, merged: Value, arrays: Iterable[Value]) -> None:
        """``merged`` is one of ``arrays``: a write to one may show in the other."""
        self._arrived.setdefault(self.root(merged), []).extend(arrays)

    def arrived(self, value: Value) -> list[Value]:
        """The arrays of several paths that an array may be; a view is an array of its own."""
        source = self._views.get(value)
        return [source] if isinstance(source, Value) else self._arrived.get(value, [])

    def behind(self, *values: Value) -> set[Value]:
        """The roots of arrays, and of the arrays of several paths that they may be."""
        seen: set[Value] = set()
        frontier = [*values]
        while frontier:
            root = self.root(frontier.pop())
            if root not in seen:
                seen.add(root)
                frontier += self._arrived.get(root, ())
        return seen

    def note_views(self, merged: Value, roots: Iterable[Value]) -> None:
        """Where a merged place shows one of these ``roots``, it is another object than the array that it shows."""
        self._viewed[merged] = set(roots)

    def shown_by_views(self, value: Value) -> set[Value]:
        """The roots that an array, or one that it may be, is a view of rather than the object itself."""
        shown = value
        while shown in self._views:
            if isinstance(self._views[shown], Op):
                return self.behind(value)
            shown = self._shown_by(shown)
        return self._viewed.get(shown, set())

    def may_be(self, value: Value, merged: Value) -> bool:
        """Whether an array may be, or be a view of, one that was merged as ``merged``."""
        return merged in self.behind(value)

    def make_read_only(self, value: Value) -> None:
        """The program gets an array that shows ``value``, a view, and may not write to it."""
        self._read_only.add(value)

    def is_read_only(self, value: Value, decide: Callable[[Iterable[bool]], bool] = all) -> bool:
        """Whether nobody may write to what the program sees of ``value``: on all paths where it is made, or ``any``."""
        seen: set[Value] = set()

        def found(one: Value) -> bool:
            shown = [one]
            while shown[-1] in self._views:
                shown.append(self._shown_by(shown[-1]))
            if not self._read_only.isdisjoint(shown):
                return True
            root = shown[-1]
            if root in seen:  # which comes round by way of a loop
                return decide is all
            seen.add(root)
            arrived = self._arrived.get(root)
            return bool(arrived) and decide(map(found, arrived or ()))

        return bool(self._read_only) and found(value)

    def same_view(self, first: Value, second: Value) -> bool:
        """Whether two values show the same elements of the same memory, by the same views."""
        while first is not second:
            one, other = self._views.get(first), self._views.get(second)
            if isinstance(one, Value):
                first = one
            elif isinstance(other, Value):
                second = other
            elif one is None or other is None or one.name != other.name or one.attributes != other.attributes:
                return False
            else:
                first, second = one.operands[0], other.operands[0]
        return True


def read_only_on_a_path() -> UserNotImplementedError:
    """The error for a write to what is one of several arrays, of which one may not be written to."""
    text = "writing to an array that is read-only on one of the paths that the running program chooses from"
    mend = "copy it on that path: np.diagonal(x).copy(), np.broadcast_to(x, shape).copy()"
    return UserNotImplementedError(text, mend=mend)
