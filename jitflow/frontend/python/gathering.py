"""Lists that a comprehension makes for NumPy alone: ``np.array([f(x) for x in xs])``.

Python takes the turns of a comprehension one by one, so each would be compiled for itself. Where there are many, or
only the running program knows how many, a loop fills the array instead, as if it had been made before:

    a = np.empty((len(xs), ...))
    for k, x in enumerate(xs):
        a[k] = f(x)

That is right where all items have one shape. NumPy makes an array of another shape of an empty list, so there has to be
a turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.control.cells import Cells
from jitflow.frontend.control.explicit import discovered, memory_for
from jitflow.frontend.control.local_types import Kind
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.control.steps import Source
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.dtypes import F64
from jitflow.ir.types import Scalar

__all__ = ["FEW", "array_of", "is_countable", "is_long"]

FEW = 16
"""So many turns are written out."""


def array_of(source: Source, element_of: Callable[[Any], Any], item_of: Callable[..., Any]) -> Any:
    """The array of the items; None where a list will do, or has to."""
    if source.once or not is_long(source, FEW):
        return None
    source.begin()
    try:
        return _filled(source, element_of, item_of)
    finally:
        source.end()


def _filled(source: Source, element_of: Callable[[Any], Any], item_of: Callable[..., Any]) -> Any:
    kind = _kind_of_items(_Turns(source), element_of, Mutables(Cells(item_of).contents(), with_stores=True))
    if kind is None or not _takes_a_turn(source, kind):
        return None
    count = tracers.size_of(source.count)
    found = memory_for(count, kind)

    def turn(position: Any) -> None:
        found[position] = element_of(source.item(position))

    own_loop(traced_range(0, count), turn)
    return found


class _Turns:
    """A source as a scan takes it."""

    def __init__(self, source: Source) -> None:
        self.count, self.item = tracers.size_of(source.count), source.item


def is_long(source: Source, few: int) -> bool:
    """Whether it has more than a few items, or nobody knows how many."""
    return not is_countable(source) or current_trace().number_of(source.count, "a comprehension") > few


def is_countable(source: Source) -> bool:
    """Whether anybody knows how many items it has."""
    try:
        current_trace().number_of(source.count, "a comprehension")
    except UserError as error:
        current_trace().forget(error)
        return False
    return True


def _kind_of_items(turns: Any, element_of: Callable[[Any], Any], mutables: Mutables) -> Kind | None:
    """The type of an item in all turns; None if there is none, or a turn changes objects of Python's."""
    undo = current_trace().trial()
    try:
        sample, kinds = discovered(lambda carry, item: (carry, element_of(item)), (), turns)
    except UserError:
        undo()
        return None
    if mutables.changed():
        mutables.restore()
        return None
    return kinds[0] if sample.shape is None else None


def _takes_a_turn(source: Source, kind: Kind) -> bool:
    if isinstance(kind, Scalar) and kind.dtype == F64:
        return True
    trace = current_trace()
    if not trace.is_open(source.count):
        return trace.decide(source.count, ">=", 1, "a comprehension whose items become an array")
    some = values.emit("greater_equal", values.size(source.count), values.size(1))
    message = "an array of an empty list, whose dtype and shape are others than those of the items"
    values.check(some, UserNotImplementedError, message)
    return True
