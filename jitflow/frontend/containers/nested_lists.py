"""NumPy's array of a list of lists of the running program, as deep as they go.

Python's lists may be of any lengths, and NumPy makes an array of those alone that have one: each is compared with the
first one at its depth. Of an empty list NumPy makes an array of floats with fewer axes, so there has to be a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.containers.held_arrays import require_one_size
from jitflow.frontend.containers.held_items import columns_of, size_of
from jitflow.frontend.containers.item_types import common_dtype
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.recording import values
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.dtypes import F64, DType
from jitflow.ir.types import Container, Item, Scalar, Several

__all__ = ["array_of_lists", "require_kinds"]


def array_of_lists(rows: Any, said: DType | None) -> Any:
    """The array of a list of lists that is not empty, of a dtype if that is ``said``."""
    kind: Item | None = rows.held
    while isinstance(kind, Container) and kind.kind in ("list", "tuple"):
        kind = kind.item
    dtype = common_dtype(kind)
    if dtype is None or isinstance(kind, tuple):
        raise refusal("an array, a sum or an order of a list of lists that the running program changes",
                      "go through the list in a loop")  # fmt: skip
    first, lengths = rows, [rows.number()]
    while isinstance(first.held.item, Container):
        first = first.item(0)
        if said is None or isinstance(first.held.item, Container):
            message = "an array of a list of lists which are empty: NumPy's would be one of floats"
            if dtype != F64 or isinstance(first.held.item, Container):
                values.check(first.truth(), NotImplementedError, message)
        lengths.append(first.number())
    dims = tuple(map(size_of, lengths))
    found = surface.apply_function(np.empty, (dims,), {"dtype": (said or dtype).numpy})
    seen: Any = None
    if isinstance(kind, Several) and said is None:
        seen = surface.apply_function(np.zeros, ((len(kind.kinds),),), {"dtype": np.bool_})

    def fill(items: Any, place: tuple[Any, ...]) -> None:
        depth = len(place)
        if depth:
            require_one_size(items.number(), lengths, depth)
        if seen is not None and not isinstance(items.held.item, Container):
            tags = columns_of(items)[0]
            for number in range(len(kind.kinds)):  # type: ignore[union-attr]
                seen[number] = np.logical_or(seen[number], (tags == number).any())

        def put(position: Any) -> None:
            item = items.item(position)
            if isinstance(items.held.item, Container):
                fill(item, (*place, position))
            else:
                found[(*place, position)] = item

        own_loop(traced_range(0, dims[depth]), put)

    fill(rows, ())
    if seen is not None:
        assert isinstance(kind, Several)
        require_kinds(kind, dtype, lambda number: seen[number])
    return found


def require_kinds(kind: Several, dtype: DType, is_there: Any) -> None:
    """Of which dtype NumPy's array is depends on which kinds of numbers there are: fail if none has that dtype."""
    answer = False
    for number, one in enumerate(kind.kinds):
        if isinstance(one, Scalar) and one.dtype == dtype:
            answer = np.logical_or(answer, is_there(number))
    message = "an array of a list of numbers of several types, none of which has the dtype of all"
    values.check(tracers.lift(answer), NotImplementedError, message)
