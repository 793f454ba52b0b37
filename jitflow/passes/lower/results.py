"""How the results of a host program come out of it: as new arrays, as views, or as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import C128, DType
from jitflow.ir.types import Scalar, dims_of
from jitflow.passes.layout import Layout
from jitflow.passes.lower.program import HostProgram, Storage, is_array

__all__ = ["ResultPlace", "give_results"]


@dataclass(frozen=True, slots=True)
class ResultPlace:
    """How a result of the function comes out of `run`.

    ``kind``: ``new`` array, ``argument`` (a view of parameter ``source``), ``result`` (a view of place ``source``), or
    ``scalar``. ``slot`` is its first result slot. Places behind the function's own results are new arrays that only
    own the memory of a view.
    """

    kind: Literal["new", "argument", "result", "scalar"]
    slot: int
    dtype: DType
    rank: int
    source: int = -1


def give_results(host: HostProgram) -> tuple[tuple[ResultPlace, ...], int]:
    """Fill the result slots. Returns what they hold, and how many there are."""
    return _Results(host).give()


class _Results:
    def __init__(self, host: HostProgram) -> None:
        self.host = host
        self.values = host.function.results
        self.slot = 0
        self.owners: dict[Storage, int] = {}
        """The place that owns the memory, for each block of it that is given out."""
        self.bases: list[Storage] = []

    def give(self) -> tuple[tuple[ResultPlace, ...], int]:
        host = self.host
        for value in self.values:
            if is_array(value) and host.is_number(value):
                assert not dims_of(value.type), str(value.type)
                host.give(value, host.contiguous_copy(value))
        for position, value in enumerate(self.values):
            storage = host.storage.get(value)
            if storage is not None and self._is_whole(value, storage):
                self.owners.setdefault(storage, position)
        places = [self._place(position, value) for position, value in enumerate(self.values)]
        for storage in self.bases:
            places.append(ResultPlace("new", self.slot, storage.dtype, len(storage.dims)))
            self._give_array(storage, storage.layout, storage.dims)
        return tuple(places), self.slot

    def _place(self, position: int, value: Value) -> ResultPlace:
        host, slot = self.host, self.slot
        if not is_array(value):
            type = value.type
            assert isinstance(type, Scalar)
            host.builder.add("result", host.number(value), slot=slot)
            self.slot += 2 if type.dtype == C128 else 1
            return ResultPlace("scalar", slot, type.dtype, 0)
        storage, dims = host.storage[value], dims_of(value.type)
        rank, dtype = len(dims), storage.dtype
        if storage.parameter >= 0:
            place = ResultPlace("argument", slot, dtype, rank, storage.parameter)
        elif self.owners.get(storage) == position:
            place = ResultPlace("new", slot, dtype, rank)
        else:
            if storage not in self.owners:
                self.owners[storage] = len(self.values) + len(self.bases)
                self.bases.append(storage)
            place = ResultPlace("result", slot, dtype, rank, self.owners[storage])
        self._give_array(storage, host.layouts[value], dims)
        return place

    def _is_whole(self, value: Value, storage: Storage) -> bool:
        same = self.host.layouts[value] == storage.layout and dims_of(value.type) == storage.dims
        return storage.parameter < 0 and same

    def _give_array(self, storage: Storage, layout: Layout, dims: tuple[Dim, ...]) -> None:
        host = self.host
        buffer = storage.buffer
        if layout.offset != 0:
            buffer = host.builder.make("offset", buffer, host.dim(layout.offset))
        for value in (buffer, *map(host.dim, dims), *map(host.dim, layout.strides)):
            host.builder.add("result", value, slot=self.slot)
            self.slot += 1
