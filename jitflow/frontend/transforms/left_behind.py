"""What a differentiated function leaves in objects and locals around it: a list that it appends to, a ``nonlocal``.

Such an object holds values of the region that the function was traced into, which nobody outside can use. So the region
yields them as well, behind the results, and they are replaced by what the op of the derivative gives. Not for what only
an object of a class of the user's leads to, or a function: that is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.control.cells import content_of, put
from jitflow.frontend.control.function_cells import cells_around, reassigned
from jitflow.frontend.control.leaves import Leaves, flatten
from jitflow.frontend.control.merge import resolved
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Value
from jitflow.records import dataclass

__all__ = ["Around", "LeftBehind"]


@dataclass(frozen=True, eq=False)
class LeftBehind:
    """What was left somewhere, and where the region yields what it made of it."""

    write: Callable[[Any], None]
    leaves: Leaves
    positions: tuple[int | None, ...]

    def arrays(self) -> Iterator[Any]:
        """Which of the region's values stay."""
        return (item for item, position in zip(self.leaves.items, self.positions, strict=True) if position is not None)

    def put_back(self, made: Sequence[Any]) -> None:
        """Leave there what the op gave instead."""
        items = [
            item if position is None else made[position]
            for item, position in zip(self.leaves.items, self.positions, strict=True)
        ]
        self.write(self.leaves.rebuild(items))


class Around:
    """The objects and locals within reach of a function before it is traced."""

    def __init__(self, fn: Any, things: Iterable[Any]) -> None:
        self._objects = Mutables((fn, *things))
        self._cells = cells_around(fn)

    def left_behind(
        self, scope: Scope, parameters: Sequence[Value], results: Sequence[tuple[Any, int | None]], yielded: list[Value]
    ) -> tuple[LeftBehind, ...]:
        """What has changed since; the region yields what it made of that, unless it is one of the ``results``."""
        changed = [(held.write, held.now) for held in self._objects.all() if held.changed()]
        changed += [(partial(put, cell), content_of(cell)) for cell, _ in reassigned(self._cells)]
        made = {*parameters, *(result for op in scope.builder.ops for result in op.results)}
        places = {id(item): position for item, position in results if position is not None}
        left = tuple(self._left(write, now, made, yielded, places) for write, now in changed)
        _require_apart([*(item for item, _ in results), *(one for each in left for one in each.arrays())])
        return left

    def _left(
        self, write: Callable[[Any], None], now: Any, made: set[Value], yielded: list[Value], places: dict[int, int]
    ) -> LeftBehind:
        leaves = flatten(resolved(now), is_itself=self._objects.reaches)
        positions: list[int | None] = []
        for item in leaves.items:
            if isinstance(item, tracers.Tracer) and item._value in made:
                if id(item) not in places:
                    places[id(item)] = len(yielded)
                    yielded.append(tracers.lift(item))
                positions.append(places[id(item)])
                continue
            if not self._objects.reaches(item) and _leads_to_traced(item):
                raise located(
                    UserNotImplementedError(
                        "in what is differentiated, an object that stays behind and holds what was computed there",
                        found=f"an object of class {type(item).__name__}",
                        mend="return the values as well, with has_aux=True, and make the object of them",
                    )
                )
            positions.append(None)
        return LeftBehind(write, leaves, tuple(positions))


def _require_apart(items: Sequence[Any]) -> None:
    """Raise where two arrays show the same memory: each would be an array of its own behind the derivative."""
    arrays = {id(item): item for item in items if isinstance(item, tracers.ArrayTracer)}
    storage = current_trace().storage
    roots = [root for array in arrays.values() for root in storage.behind(array._value)]
    if len({*roots}) < len(roots):
        raise located(
            UserNotImplementedError(
                "in what is differentiated, an array that stays behind and of which another one is a view",
                mend="leave a copy of it there",
            )
        )


def _leads_to_traced(thing: Any) -> bool:
    contents = (held.content for held in Mutables([thing]).all())
    return any(
        isinstance(part, tracers.Tracer)
        for content in contents
        for part in (content.values() if isinstance(content, dict) else content)
    )
