"""The host programs of a function that is split over devices, which together are one program.

Each partition is lowered as a function of its own. It takes its arguments from the slots of the whole function, and its
results lie behind those of the partitions before it. What its results show is said in terms of the whole function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

from jitflow.ir.core import Function, Op, Region
from jitflow.ir.dtypes import C128
from jitflow.ir.types import Scalar, dims_of
from jitflow.machines.hardware import is_gpu
from jitflow.passes.lower.host import Lowered, lower
from jitflow.passes.lower.program import is_array
from jitflow.passes.lower.results import ResultPlace
from jitflow.passes.plan.record import Plan
from jitflow.passes.runner import Observer
from jitflow.passes.schedule.scheduled import Readable
from jitflow.passes.schedule.target import CPU, Target
from jitflow.records import dataclass

__all__ = ["LoweredParts", "Part", "lower_part", "lower_parts", "meets_at_end", "on_device"]


class Part(Protocol):
    """A partition: the positions of its parameters and results are those of the whole function."""

    @property
    def device(self) -> str: ...
    @property
    def function(self) -> Function: ...
    @property
    def parameters(self) -> tuple[int, ...]: ...
    @property
    def results(self) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True)
class LoweredParts:
    """The host programs, that of the caller's thread first, and where the results of the whole come out."""

    hosts: tuple[Function, ...]
    places: tuple[ResultPlace, ...]
    result_slots: int
    scheduled: Mapping[str, Readable]
    """What the kernels are made of, by name, those that are nests."""


def lower_parts(
    whole: Function, parts: Sequence[Part], targets: Sequence[Target] = (), plans: Sequence[Plan] = (),
    *, observe: Observer | None = None,
) -> LoweredParts:  # fmt: skip
    """Lower the fused partitions of ``whole``, each for its target; where not all of them meet last of all, they do."""
    meets = meets_at_end([part.function for part in parts])
    slots = tuple(argument_slots(whole))
    hosts: list[Function] = []
    scheduled: dict[str, Readable] = {}
    places: dict[int, ResultPlace] = {}
    bases: list[ResultPlace] = []
    used = 0
    for number, part in enumerate(parts):
        own = {"slots": tuple(slots[position] for position in part.parameters), "meets": meets}
        target, plan = targets[number] if targets else CPU, plans[number] if plans else None
        lowered = lower_part(part.function, own, part.device, target, plan, number=number, first=used, observe=observe)
        hosts.append(lowered.host)
        first_base = len(whole.results) + len(bases)
        known = [*part.results, *range(first_base, first_base + len(lowered.places) - len(part.results))]
        moved = [_moved(place, used, part.parameters, known) for place in on_device(lowered.places, part.device)]
        places.update(zip(part.results, moved, strict=False))
        bases += moved[len(part.results) :]
        used += lowered.result_slots
        scheduled.update((_part_name(name, number), one) for name, one in lowered.scheduled.items())
    in_order = [places[position] for position in range(len(whole.results))]
    return LoweredParts(tuple(hosts), (*in_order, *bases), used, MappingProxyType(scheduled))


def meets_at_end(functions: Sequence[Function]) -> bool:
    """Whether lowering has to let partitions meet at their end, as not all of them do it last of all."""
    last = [function.region.ops[-2:-1] for function in functions]
    return not all(op.name == "meet" for ops in last for op in ops) or not all(last)


def lower_part(
    function: Function, attributes: Mapping[str, Any], device: str, target: Target, plan: Plan | None = None,
    *, number: int = 0, first: int = 0, observe: Observer | None = None,
) -> Lowered:  # fmt: skip
    """Lower one fused partition; ``attributes`` tell it its ``slots`` and whether it ``meets`` the others at its end.

    ``first``: the slot at which its results begin.
    """
    told = replace(function, attributes=MappingProxyType({**function.attributes, **attributes}))
    lowered = lower(told, target, plan, observe=observe)
    return replace(lowered, host=_as_part(lowered.host, number, device, first))


def on_device(places: Sequence[ResultPlace], device: str) -> tuple[ResultPlace, ...]:
    """The places of a program's results, which knows that they lie on a GPU if its device is one."""
    return tuple(replace(place, device=device) if is_gpu(device) else place for place in places)


def argument_slots(function: Function) -> Iterator[int]:
    """The first slot of each argument."""
    slot = 0
    for parameter in function.parameters:
        yield slot
        if is_array(parameter):
            slot += 1 + 2 * len(dims_of(parameter.type))
        else:
            slot += 2 if isinstance(parameter.type, Scalar) and parameter.type.dtype == C128 else 1


def _moved(place: ResultPlace, first: int, parameters: Sequence[int], results: Sequence[int]) -> ResultPlace:
    """A place of a partition as one of the whole function."""

    def whole(index: int, *, is_argument: bool) -> int:
        return index if index < 0 else (parameters if is_argument else results)[index]

    return replace(
        place,
        slot=place.slot + first,
        chosen=place.chosen if place.chosen < 0 else place.chosen + first,
        source=whole(place.source, is_argument=place.kind == "argument"),
        sources=tuple(
            replace(source, index=whole(source.index, is_argument=source.is_argument)) for source in place.sources
        ),
    )


def _part_name(kernel: str, number: int) -> str:
    """What a kernel of a partition is called."""
    return f"{kernel}.{number}"


def _as_part(host: Function, number: int, device: str, first_result: int) -> Function:
    """A host program whose functions have names of their own, and that knows where it runs."""
    own = (one.name for one in host.functions if not one.attributes.get("recursive"))
    names = {name: _part_name(name, number) for name in own}

    def region(inner: Region) -> Region:
        return Region(inner.parameters, tuple(map(renamed, inner.ops)))

    def renamed(op: Op) -> Op:
        if op.name == "launch":
            kernel = names[op.attributes["kernel"]]
            return replace(op, attributes=MappingProxyType({**op.attributes, "kernel": kernel, "device": device}))
        if op.name == "call" and op.attributes["function"] in names:
            function = names[op.attributes["function"]]
            return replace(op, attributes=MappingProxyType({**op.attributes, "function": function}))
        if op.name == "note":
            kind = "partition" if number and op.attributes["kind"] == "call" else op.attributes["kind"]
            return replace(op, attributes=MappingProxyType({**op.attributes, "kind": kind, "device": device}))
        return replace(op, regions=tuple(map(region, op.regions))) if op.regions else op

    functions = (
        replace(
            function,
            name=names.get(function.name, function.name),
            attributes=MappingProxyType({**function.attributes, "device": device}),
        )
        for function in host.functions
    )
    attributes = MappingProxyType({**host.attributes, "device": device, "first_result": first_result})
    return replace(host, region=region(host.region), functions=tuple(functions), attributes=attributes)
