"""Windows that slide along arrays: views, of which slices are windows again, and products over them.

A slice of windows is the windows of a slice: ``sliding_window_view(x, 3, 0)[::2]`` has windows that are two apart. So
what is contracted with windows shows them as one op, however a program spells steps and dilations.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim

__all__ = ["part_of_windows", "shows_windows", "without_transposes"]


def shows_windows(value: Value) -> bool:
    """Whether an array is a view of windows."""
    storage = current_trace().storage
    while (source := storage.source(value)) is not None:
        if isinstance(source, Op) and source.name == "window":
            return True
        value = source.operands[0] if isinstance(source, Op) else source
    return False


def without_transposes(value: Value, labels: tuple[object, ...]) -> tuple[Value, tuple[object, ...]]:
    """The array that a value shows with its axes in another order, and the labels of its axes."""
    while isinstance(source := current_trace().storage.source(value), Op) and source.name == "transpose":
        placed = dict(zip(source.attributes["axes"], labels, strict=True))
        value, labels = source.operands[0], tuple(placed[axis] for axis in range(len(labels)))
    return value, labels


def part_of_windows(
    value: Value, starts: Sequence[Dim], sizes: Sequence[Dim], given_steps: Sequence[Dim]
) -> Value | None:  # fmt: skip
    """A slice of windows as the windows of a slice; None if the array is none, or runs backwards."""
    source = current_trace().storage.source(value)
    steps = [step for step in given_steps if isinstance(step, int) and step > 0]
    if not isinstance(source, Op) or source.name != "window" or len(steps) < len(given_steps):
        return None
    shown, attributes = source.operands[0], source.attributes
    dims = values.dims(shown)
    begin, kept, spacing = list(starts[: len(dims)]), list(sizes[: len(dims)]), list(steps[: len(dims)])
    further, apart = list(attributes["steps"]), list(attributes["dilations"])
    for number, axis in enumerate(attributes["axes"]):
        inner = len(dims) + number
        begin[axis] = starts[axis] * further[number] + starts[inner] * apart[number]
        further[number], apart[number] = further[number] * steps[axis], apart[number] * steps[inner]
        if not _is_any(sizes[axis], sizes[inner]):
            return None
        kept[axis] = (sizes[axis] - 1) * further[number] + (sizes[inner] - 1) * apart[number] + 1
        spacing[axis] = 1
    part = values.slice_axes(shown, begin, kept, spacing)
    counts = tuple(sizes[axis] for axis in attributes["axes"])
    found = emit(
        "window", part, axes=attributes["axes"], counts=counts, sizes=tuple(sizes[len(dims) :]),
        steps=tuple(further), dilations=tuple(apart),
    )  # fmt: skip
    current_trace().storage.make_read_only(found)
    return found


def _is_any(*sizes: Dim) -> bool:
    """Whether none of some sizes is 0: of no windows there is no first element."""
    trace = current_trace()
    return not any(map(trace.is_open, sizes)) and all(trace.decide(size, ">=", 1, "windows") for size in sizes)
