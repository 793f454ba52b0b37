"""``np.nditer``: the elements of arrays one by one, as arrays without axes that show them.

Compiled where the order is the one of the axes: asked for, or that of the memory of arrays that lie so. A program goes
through one by a loop over it, or by `iternext` until it is `finished`; by both is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.arrays import layouts
from jitflow.frontend.arrays.operands import array_operand
from jitflow.frontend.control.sources import Places
from jitflow.frontend.control.steps import Source
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located

__all__ = ["traced_nditer"]

_HARMLESS = frozenset({"multi_index", "refs_ok", "zerosize_ok"})
_WRITING = frozenset({"readwrite", "writeonly"})


def traced_nditer(
    op: Any, flags: Sequence[str] | None = None, op_flags: Any = None, op_dtypes: Any = None, order: str = "K",
    **more: Any,
) -> Any:  # fmt: skip
    """`numpy.nditer`."""
    operands = list(op) if isinstance(op, list | tuple) else [op]
    if not any(isinstance(operand, tracers.Tracer) for operand in operands):
        plain: Any = np.nditer
        return plain(op, flags, op_flags, op_dtypes, order=order, **more)
    wanted = frozenset(flags or ())
    for flag in sorted(wanted - _HARMLESS):
        raise _refusal(f"np.nditer with the flag {flag!r}", "write a loop over indices, or whole-array functions")
    if (
        op_dtypes is not None
        or any(item is not None for item in more.values())
        or any(operand is None for operand in operands)
    ):
        raise _refusal("np.nditer that converts or makes arrays", "convert them before: x.astype(...)")
    arrays = [tracers.wrap(array_operand(operand), owned=False) for operand in operands]
    in_order = order == "C" or (order in "KA" and all(layouts.is_contiguous(array.value) for array in arrays))
    if not in_order:
        raise _refusal("np.nditer in the order of the memory, which is not known", 'give order="C"')
    listed = isinstance(op, list | tuple)
    kinds = list(op_flags) if listed and op_flags is not None else [op_flags or ["readonly"]] * len(arrays)
    if kinds and isinstance(kinds[0], str):
        kinds = [kinds]
    written = [not _WRITING.isdisjoint(kind) for kind in kinds]
    if len({array.shape for array in arrays}) > 1:
        if any(written):
            raise _refusal("np.nditer that writes to arrays of several shapes", "np.broadcast_to makes them of one")
        arrays = list(np.broadcast_arrays(*arrays))
    if "zerosize_ok" not in wanted:
        some = values.emit("greater", values.size(Places(arrays[0].type.dims).count), values.size(0))
        values.check(some, ValueError, "Iteration of zero-sized operands is not enabled")
    return _Elements(arrays, written, listed, "multi_index" in wanted)


class _Place:
    """Where the loop is. An object of its own: what it holds is no state that loops carry."""

    now: Any = None


class _Elements(Source):
    """The elements of arrays of one shape."""

    def __init__(self, arrays: Sequence[Any], written: Sequence[bool], listed: bool, indexed: bool) -> None:
        self._arrays, self._written, self._listed, self._indexed = arrays, written, listed, indexed
        self._places = Places([current_trace().resolve(dim) for dim in arrays[0].type.dims])
        self.count, self.span = self._places.count, self._places.span
        self._place = _Place()
        self._position: Any = 0

    def item(self, position: Any) -> Any:
        if type(self._position) is not int or self._position:
            raise _both_ways()
        self._place.now = place = self._places.item(position)
        shown = self._shown(place)
        return tuple(shown) if self._listed and len(shown) > 1 else shown[0]

    def _shown(self, place: tuple[Any, ...]) -> list[Any]:
        """The elements there, which may be written to if that has been asked for."""
        shown = [array[(*place, Ellipsis)] for array in self._arrays]
        for element, written in zip(shown, self._written, strict=True):
            if not written:
                current_trace().storage.make_read_only(element._value)
        return shown

    @property
    def itersize(self) -> Any:
        """How many elements there are."""
        return tracers.size_of(self.count)

    @property
    def finished(self) -> Any:
        """Whether `iternext` has gone past the last element."""
        if self._place.now is not None:
            raise _both_ways()
        return self._position >= self.itersize

    def iternext(self) -> Any:
        """Go on to the next element, if there is one, and say whether."""
        self._position = self._position + (1 - self.finished)
        return self._position < self.itersize

    @property
    def iterindex(self) -> Any:
        """How many elements `iternext` has gone past."""
        is_inside = self._position < self.itersize
        if is_inside is not True:
            values.check(tracers.lift(is_inside), ValueError, "Iterator is past the end")
        return self._position

    def _now(self) -> tuple[Any, ...]:
        """Where `iternext` has come to."""
        place: tuple[Any, ...] = self._places.item(self.iterindex)
        return place

    def __getitem__(self, operand: Any) -> Any:
        return self._shown(self._now() if self._place.now is None else self._place.now)[operand]

    def __setitem__(self, operand: Any, number: Any) -> None:
        self[operand][...] = number

    @property
    def multi_index(self) -> Any:
        """The index of the element that the loop is at, or that `iternext` has come to."""
        if not self._indexed:
            mend = 'give flags=["multi_index"]'
            raise located(UserNotImplementedError("the index of np.nditer without the flag multi_index", mend=mend))
        return self._now() if self._place.now is None else self._place.now

    def __enter__(self) -> _Elements:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise _refusal(f"np.nditer(...).{name}", "loop over it: for x in np.nditer(...)")


def _both_ways() -> UserNotImplementedError:
    return _refusal("np.nditer that is gone through by a loop and by iternext", "make another one for each")


def _refusal(what: str, mend: str) -> UserNotImplementedError:
    return located(UserNotImplementedError(f"{what} is not compiled", mend=mend))
