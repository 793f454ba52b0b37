"""Random placements of random programs: any op anywhere, but for storage, which stays together, and calls of Python."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from random import Random
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk, walk_inside
from jitflow.ir.dtypes import BOOL
from jitflow.ir.effects import ANYTHING, Effects
from jitflow.ir.types import Place, Scalar, Tape, Variable
from jitflow.machines.hardware import is_gpu
from jitflow.passes.analyses.homebound import reason_to_stay

__all__ = ["placed", "with_checks"]

_STORAGE = (Variable, Place, Tape)


def placed(function: Function, seed: int, count: int = 3, gpus: Sequence[str] = ()) -> Function:
    """The function with its ops on ``count`` devices of the CPU and some GPUs; the same for the same seed."""
    return _Placing(function, Random(seed), [*(f"cpu:{number}" for number in range(count)), *gpus]).run()


class _Placing:
    def __init__(self, function: Function, random: Random, devices: list[str]) -> None:
        self.function = function
        self.random = random
        self.devices = devices
        self.effects = Effects(function)
        self.leaders: dict[Value, Value] = {}
        self.device: dict[Value, str] = {}
        self.last = devices[0]

    def run(self) -> Function:
        regions = [self.function.region, *(inner for op in walk(self.function.region) for inner in op.regions)]
        values = [value for region in regions for value in region.parameters]
        values += [value for op in walk(self.function.region) for value in op.results]
        for value in values:
            if isinstance(value.type, _STORAGE):
                first, *rest = self.shown(value)
                for other in rest:
                    self.leaders[self.leader(other)] = self.leader(first)
        given = tuple(
            self.at(value) if isinstance(value.type, _STORAGE) else self.random.choice(["", *self.devices])
            for value in self.function.parameters
        )
        attributes = MappingProxyType({**self.function.attributes, "devices": given})
        return replace(self.function, region=self.region(self.function.region), attributes=attributes)

    def shown(self, value: Value) -> list[Value]:
        places = self.effects.places(value)
        known = [place for place in places if place is not ANYTHING]
        if len(known) < len(places):
            known += [parameter for parameter in self.function.parameters if isinstance(parameter.type, Variable)]
        return known

    def leader(self, value: Value) -> Value:
        while value in self.leaders and self.leaders[value] is not value:
            value = self.leaders[value]
        return value

    def at(self, value: Value) -> str:
        return self.device.setdefault(self.leader(self.shown(value)[0]), self.random.choice(self.devices))

    def region(self, region: Region) -> Region:
        return Region(region.parameters, tuple(map(self.op, region.ops)))

    def op(self, op: Op) -> Op:
        storage = [value for value in (*op.results, *op.operands) if isinstance(value.type, _STORAGE)]
        if any(effect.kind == "external" for effect in op.own_effects):
            device = self.devices[0]
        elif storage and not op.regions:
            device = self.at(storage[0])
        else:
            device = self.last if self.random.random() < 0.5 else self.random.choice(self.devices)
        if is_gpu(device) and any(map(reason_to_stay, (op, *walk_inside(op)))):
            device = self.devices[0]
        self.last = device
        regions = tuple(map(self.region, op.regions))
        if op.name == "yield":
            return op
        return replace(op, regions=regions, attributes=MappingProxyType({**op.attributes, "device": device}))


def with_checks(function: Function, seed: int, failing: Collection[int] = ()) -> Function:
    """The function with checks everywhere, each with a message of its own, of which those ``failing`` do not hold.

    In a ``for`` they fail in the second turn, if there is one.
    """
    random = Random(seed)
    count = 0

    def region(before: Region, loop: Op | None) -> Region:
        nonlocal count
        ops: list[Op] = []
        for op in before.ops:
            if random.random() < 0.3:
                builder = Builder()
                holds = count not in failing
                if loop is not None and loop.name == "for" and not holds:
                    second = builder.make("add", loop.operands[0], loop.operands[2])
                    condition = builder.make("not_equal", before.parameters[0], second)
                else:
                    condition = builder.make("constant", value=holds, type=Scalar(BOOL))
                if random.random() < 0.6:  # of data, or else every partition makes it
                    data = builder.make("constant", value=True, type=Scalar(BOOL))
                    data = builder.make("broadcast", data, dims=(2,), axes=())
                    data = builder.make("reduce_minimum", data, axes=(0,))
                    condition = builder.make("logical_and", condition, data)
                builder.add("check", condition, error="ValueError", message=f"check {count}")
                count += 1
                ops += builder.ops
            ops.append(replace(op, regions=tuple(region(inner, op) for inner in op.regions)))
        return Region(before.parameters, tuple(ops))

    return replace(function, region=region(function.region, None))
