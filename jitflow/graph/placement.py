"""Where the ops of a placed function are computed, and what is sent: as its partitions will have it.

What is made of constants, sizes and number arguments alone is computed on every device that needs it; a branch or loop
is wherever something in it is done.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.effects import Effects
from jitflow.passes.partition.blocks import Blocks
from jitflow.passes.partition.crossing import Crossing
from jitflow.passes.partition.homes import Homes
from jitflow.passes.partition.waiting import meetings_of

__all__ = ["Whereabouts"]


class Whereabouts:
    """Answers about the ops and values of one function that is placed."""

    def __init__(self, function: Function) -> None:
        blocks, effects = Blocks(function), Effects(function)
        self._homes = Homes(function, blocks, effects)
        self._crossing = Crossing(function, blocks, self._homes, meetings_of(function, effects))
        self.devices = tuple(self._crossing.devices)

    def of_op(self, op: Op) -> tuple[str, ...]:
        """The devices on which an op is done."""
        return tuple(device for device in self.devices if op in self._crossing.ops[device])

    def of_parameter(self, value: Value) -> tuple[str, ...]:
        """The devices that take a parameter from the caller."""
        return tuple(device for device in self.devices if self._crossing.has(device, value))

    def of_yielded(self, owner: Op | None, region: Region) -> list[tuple[str, ...]]:
        """For each value that a region yields the devices that want it: those that have what comes of it behind it."""
        if owner is None:
            return [(self._homes.home(value),) for value in region.yielded]
        if owner.name == "while" and region is owner.regions[0]:
            return [self.of_op(owner)] * len(region.yielded)
        slots = [(owner, number) for number in range(len(region.yielded))]
        carried = {device: self._crossing.carried.get(device, ()) for device in self.devices}
        return [tuple(device for device in self.devices if slot in carried[device]) for slot in slots]

    def is_sent(self, value: Value, devices: Sequence[str]) -> bool:
        """Whether a value comes to any of these devices as a message."""
        return any((value, device) in self._crossing.messages for device in devices)
