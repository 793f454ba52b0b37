"""Arrays as items of containers: each is an object with memory of its own in the heap of the call.

An array that the program has made, and of which the region knows that it is no other array, moves to the heap where it
is first put into a container; from there on its memory is what the container refers to, by however many names the
program and other containers know it. Of all others, views and arguments, a container gets a copy, which is as good as
the array as long as nobody writes to either of the two: what would is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.arrays.runtime_sizes import bind, integer
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import traced_range
from jitflow.frontend.recording import values
from jitflow.frontend.recording.heap_arrays import HeapArrays, reference_to
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import size_of
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.array_items import elements_of, sizes_of
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import I64
from jitflow.ir.named_types import Named
from jitflow.ir.types import Container, Tensor

__all__ = ["array_of_words", "array_words", "require_one_size", "require_own", "stacked"]


def array_words(array: tracers.ArrayTracer, item: Named) -> Iterator[Value]:
    """The words of an array: a reference to its elements, and its sizes."""
    yield reference_to(array._value) or _in_heap(array, elements_of(item))
    for dim in array.type.dims:
        yield values.cast(values.size_value(dim), I64)


def _in_heap(array: tracers.ArrayTracer, held: Container) -> Value:
    """A reference to an array that is not in the heap by now: it moves there, or is copied."""
    trace, dims = current_trace(), array.type.dims
    storage, arrays = trace.storage, trace.state(HeapArrays)
    contents = array.value
    reference = trace.make("make_container", type=held)
    trace.add("add_items", reference, values.cast(values.size_value(product(dims)), I64))
    place = trace.make("show_items", reference, dims=dims)
    trace.add("store", place, contents)
    root = storage.root(array._value)
    if storage.may_move(array._value):
        arrays.enter(root, place, reference, partial(_note_write, held))
    else:
        arrays.copied.add(held)
        if not storage.is_a_view(array._value) or any(map(storage.is_parameter, storage.behind(array._value))):
            arrays.known.add(held)
        storage.keep(array._value, partial(_refuse_to_write, held))
        if held in arrays.written:
            _refuse_to_write(held)
    return reference


def array_of_words(item: Named, found: Iterator[Value]) -> tracers.ArrayTracer:
    """What stands for the array that has these words."""
    trace, held = current_trace(), elements_of(item)
    reference = next(found)
    dims = tuple(_dim(size, next(found)) for size in sizes_of(item))
    place = trace.make("show_items", reference, dims=dims)
    root = Value(Tensor(place.type.dtype, dims))  # type: ignore[union-attr]
    trace.storage.adopt(root, place)
    if len(dims) <= 1:  # of a matrix NumPy decides on the order of its elements where it is made
        trace.storage.classes[root] = 0, "C"
    trace.state(HeapArrays).enter(root, place, reference, partial(_note_write, held))
    array = tracers.wrap(root, owned=False)
    assert type(array) is tracers.ArrayTracer
    return array


def stacked(items: Any, item: Named) -> Any:
    """``np.array(items)``: a list of arrays, of which there is one at least, as an array with one more axis."""
    shape = items.item(0).shape
    size = size_of(bind(items.number(), "length"))
    dtype = elements_of(item).item.dtype.numpy  # type: ignore[union-attr]
    found = surface.apply_function(np.empty, ((size, *shape),), {"dtype": dtype})
    depths = [axis + 1 for axis, size in enumerate(sizes_of(item)) if size is None]
    sizes = [integer(known) for known in (size, *shape)]

    def put(position: Any) -> None:
        one = items.item(position)
        for depth in depths:
            require_one_size(integer(one.shape[depth - 1]), sizes, depth)
        found[position] = one

    own_loop(traced_range(0, size), put)
    return found


def require_one_size(size: Value, shape: Sequence[Value], depth: int) -> None:
    """Raise NumPy's error where an item of an array to be has another size at a depth than the first one there."""
    detected = ", ".join(["{}"] * depth) + "," * (depth == 1)
    message = (
        f"setting an array element with a sequence. The requested array has an inhomogeneous shape after {depth} "
        f"dimensions. The detected shape was ({detected}) + inhomogeneous part."
    )
    values.check(values.emit("equal", size, shape[depth]), ValueError, message, *shape[:depth])


def _dim(size: int | None, word: Value) -> Dim:
    return bind(word, "size") if size is None else size


def require_own(held: Container) -> None:
    """Raise where a container that is returned may hold a copy of an array that the caller has."""
    if held in current_trace().state(HeapArrays).known:
        raise located(
            UserNotImplementedError(
                "arrays in containers that are returned, among which is an argument, a view of one, or an array that "
                "was made before the loop or branch in which it is put there",
                mend="put a copy into the container: x.copy()",
            )
        )


def _note_write(held: Container) -> None:
    arrays = current_trace().state(HeapArrays)
    arrays.written.add(held)
    if held in arrays.copied:
        _refuse_to_write(held)


def _refuse_to_write(held: Container) -> NoReturn:
    raise located(
        UserNotImplementedError(
            f"a write to an array that is an item of a container, of type {held.item}, where another such item is a "
            "copy of a view or an argument",
            mend="put a copy into the container: x.copy()",
        )
    )
