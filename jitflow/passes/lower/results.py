"""Where the results of a host program come out of it: the slots of each, as the plan has it."""

from __future__ import annotations

from typing import Literal

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import C128, DType
from jitflow.ir.layout import Layout
from jitflow.ir.types import Scalar, dims_of
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage
from jitflow.passes.plan.record import Result
from jitflow.records import dataclass

__all__ = ["PlaceSource", "ResultPlace", "give_results"]


@dataclass(frozen=True, slots=True)
class PlaceSource:
    """What a result may turn out to show: an argument or a result place (by ``index``), known by its ``number``.

    ``whole``: it then is that very array, rather than a view of it.
    """

    number: int
    is_argument: bool
    index: int
    whole: bool


@dataclass(frozen=True, slots=True)
class ResultPlace:
    """How a result of the function comes out of `run`.

    ``kind``: ``new`` array, ``argument`` (a view of parameter ``source``), ``result`` (a view of place ``source``),
    ``one of`` several ``sources`` (slot ``chosen`` holds the number of which), or ``scalar``. ``slot`` is its first
    result slot. ``whole``: it shows all of its one source. ``device`` is the GPU on which it lies, if it lies on one.
    Places behind the function's own results are new arrays that only own the memory of others.
    """

    kind: Literal["new", "argument", "result", "one of", "scalar"]
    slot: int
    dtype: DType
    rank: int
    source: int = -1
    chosen: int = -1
    sources: tuple[PlaceSource, ...] = ()
    whole: bool = False
    device: str = ""


def give_results(host: OwningProgram) -> tuple[tuple[ResultPlace, ...], int]:
    """Fill the result slots. Returns what they hold, and how many there are."""
    plan, values = host.plan, host.function.results
    for value, result in zip(values, plan.results, strict=True):
        if result.copied:
            copied = host.contiguous_copy(value)
            for root in result.freed:
                host.give_back(root)
            host.give(value, copied)
    slots = _Slots(host)
    places = [slots.place(value, result) for value, result in zip(values, plan.results, strict=True)]
    places += [slots.base(host.storage[root]) for root in plan.bases]
    return tuple(places), slots.used


class _Slots:
    def __init__(self, host: OwningProgram) -> None:
        self.host = host
        self.used = 0

    def place(self, value: Value, result: Result) -> ResultPlace:
        """A result of the function."""
        host, slot = self.host, self.used
        if result.kind == "scalar":
            type = value.type
            assert isinstance(type, Scalar)
            self._give(host.number(value))
            self.used = slot + (2 if type.dtype == C128 else 1)
            return ResultPlace("scalar", slot, type.dtype, 0)
        storage, dims = host.storage[value], dims_of(value.type)
        self._give_array(storage, host.layouts[value], dims)
        if result.kind == "one of":
            self._give(host.root_of(value))
        sources = tuple(
            PlaceSource(host.root_number(source.root), source.is_argument, source.index, source.whole)
            for source in result.sources
        )
        chosen = self.used - 1 if sources else -1
        return ResultPlace(
            result.kind, slot, storage.dtype, len(dims), result.source, chosen, sources, whole=result.whole
        )

    def base(self, storage: Storage) -> ResultPlace:
        """A place that only owns the memory of others."""
        slot = self.used
        self._give_array(storage, storage.layout, storage.dims)
        return ResultPlace("new", slot, storage.dtype, len(storage.dims))

    def _give_array(self, storage: Storage, layout: Layout, dims: tuple[Dim, ...]) -> None:
        host = self.host
        buffer = storage.buffer
        if layout.offset != 0:
            buffer = host.builder.make("offset", buffer, host.dim(layout.offset))
        for value in (buffer, *map(host.dim, dims), *map(host.dim, layout.strides)):
            self._give(value)

    def _give(self, value: Value) -> None:
        self.host.builder.add("result", value, slot=self.used)
        self.used += 1
