"""How the results of a host program come out of it: as new arrays, as views, or as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import C128, DType
from jitflow.ir.layout import Layout
from jitflow.ir.location import Loc
from jitflow.ir.types import Place, Scalar, dims_of
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage, is_array

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
    return _Results(host).give()


class _Results:
    def __init__(self, host: OwningProgram) -> None:
        self.host = host
        self.values = host.function.results
        self.slot = 0
        self.owners: dict[Storage, int] = {}
        """The place that owns the memory, for each block of it that is given out."""
        self.bases: list[Storage] = []

    def give(self) -> tuple[tuple[ResultPlace, ...], int]:
        host = self.host
        for value in self.values:
            if is_array(value) and (host.is_number(value) or self._is_made_inside(value)):
                copied = host.contiguous_copy(value)
                if isinstance(value.type, Place):
                    self._give_back_what_is_shown_by(value)
                host.give(value, copied)
        for position, value in enumerate(self.values):
            storage = host.storage.get(value)
            if storage is not None and not self._is_chosen(value) and self._is_whole(value, storage):
                self.owners.setdefault(storage, position)
        places = [self._place(position, value) for position, value in enumerate(self.values)]
        for storage in self.bases:
            places.append(ResultPlace("new", self.slot, storage.dtype, len(storage.dims)))
            self._give_array(storage, storage.layout, storage.dims)
        return tuple(places), self.slot

    def _give_back_what_is_shown_by(self, place: Value) -> None:
        """What regions made is given back at the end of the program; this is the rest that nobody needs any more."""
        host = self.host
        for root in sorted(host.plan.lifetimes.roots(place), key=host.root_number):
            if host.plan.lifetimes.home[root] is host.function.region:
                host.give_back(root)

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
        if self._is_chosen(value):
            return self._one_of(value)
        if storage.parameter >= 0:
            whole = host.plan.lifetimes.is_whole(value)
            place = ResultPlace("argument", slot, dtype, rank, storage.parameter, whole=whole)
        elif self.owners.get(storage) == position:
            place = ResultPlace("new", slot, dtype, rank)
        else:
            whole = host.plan.lifetimes.is_whole(value)
            place = ResultPlace("result", slot, dtype, rank, self._owner(storage), whole=whole)
        self._give_array(storage, host.layouts[value], dims)
        return place

    def _is_chosen(self, value: Value) -> bool:
        """Whether a place came out of a branch or loop, and shows what others own."""
        roots, storage = self.host.plan.lifetimes.roots(value), self.host.storage.get(value)
        carried = len(roots) > 1 or any(self.host.storage.get(root) is not storage for root in roots)
        return carried and storage is not None and not self._is_made_inside(value)

    def _is_made_inside(self, value: Value) -> bool:
        """Whether a place shows what some branch or loop made, or this function, and no other result shows it."""
        host = self.host
        roots = host.plan.lifetimes.roots(value)
        own = not any(host.function.region.parameters.count(root) for root in roots)
        inside = any(host.plan.lifetimes.home[root] is not host.function.region for root in roots)
        others = (other for other in self.values if other is not value)
        return own and inside and all(roots.isdisjoint(host.plan.lifetimes.roots(other)) for other in others)

    def _one_of(self, value: Value) -> ResultPlace:
        """A place that may show one of several variables: the program knows which."""
        host, slot = self.host, self.slot
        sources: list[PlaceSource] = []
        viewed = host.plan.lifetimes.viewed_by(value)
        for root in sorted(host.plan.lifetimes.roots(value), key=host.root_number):
            storage = host.storage.get(root)
            if storage is None or host.plan.lifetimes.home[root] is not host.function.region:
                raise _shows_what_a_region_made(value, host.builder.loc)
            argument = storage.parameter >= 0
            index = storage.parameter if argument else self._owner(storage)
            sources.append(PlaceSource(host.root_number(root), argument, index, root not in viewed))
        storage, dims = host.storage[value], dims_of(value.type)
        self._give_array(storage, host.layouts[value], dims)
        host.builder.add("result", host.root_of(value), slot=self.slot)
        self.slot += 1
        return ResultPlace("one of", slot, storage.dtype, len(dims), chosen=self.slot - 1, sources=tuple(sources))

    def _owner(self, storage: Storage) -> int:
        """The place that owns a block; one that no result shows as a whole gets a place of its own."""
        if storage not in self.owners:
            self.owners[storage] = len(self.values) + len(self.bases)
            self.bases.append(storage)
        return self.owners[storage]

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


def _shows_what_a_region_made(value: Value, loc: Loc | None) -> UserNotImplementedError:
    return UserNotImplementedError(
        "a result that may be an array of its own, or one that the caller knows by another name",
        found=f"{value.name or 'a result'}: an argument, another result, or an array that a branch or loop makes",
        mend="return a copy of it: x.copy()",
        location=loc,
    )
