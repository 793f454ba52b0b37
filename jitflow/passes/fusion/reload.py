"""What has been stored is read from where it was stored to.

A kernel writes its result straight to the place that the result is stored to, if nobody else needs it (`lower`). So
behind a store, and behind the variable that starts as a value, whoever still reads the value is given a load of the
place, which costs nothing. That is right as long as nothing writes to the place in between, which is what `snapshot`
has seen to for all other loads. It undoes `promote` where what it found was of no use to `fuse`, which runs in between.

    %0: f64[n] = fusion ...                    %0: f64[n] = fusion ...
    store %v, %0                        ->     store %v, %0
    %1: f64[m] = matmul %a, %0                 %1: f64[n] = load %v
                                               %2: f64[m] = matmul %a, %1

It leaves values alone that flow into or out of a region, those that are needed before they are stored, and those that
are reshaped, since a place need not lie in C order as computed arrays do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.effects import Effects
from jitflow.ir.types import Tensor
from jitflow.passes.analyses.order import reads_of
from jitflow.passes.fusion.axes import reshaped_values

__all__ = ["reload"]


def reload(function: Function) -> Function:
    """The function with loads for values that have been stored."""
    if not any(op.name in ("store", "variable") for op in walk(function.region)):
        return function
    region = _Reloading(Effects(function), reshaped_values(function.region)).region(function.region)
    return replace(function, region=region)


class _Reloading:
    def __init__(self, effects: Effects, reshaped: Set[Value]) -> None:
        self.effects = effects
        self.reshaped = reshaped
        self.values: dict[Value, Value] = {}

    def region(self, region: Region) -> Region:
        """The region with its stored values loaded."""
        made = {result for op in region.body if "view" not in op.definition.traits for result in op.results}
        shown: dict[Value, Value] = {}
        users: dict[Value, list[int]] = {}
        for number, op in enumerate(region.ops):
            if "view" in op.definition.traits:
                shown[op.result] = shown.get(op.operands[0], op.operands[0])
                continue
            for inner in (nested for part in op.regions for nested in walk(part)):
                if "view" in inner.definition.traits:
                    shown[inner.result] = shown.get(inner.operands[0], inner.operands[0])
            for value in {shown.get(value, value) for value in reads_of(op)}:
                users.setdefault(value, []).append(number)
        ops = list(region.ops)
        behind: dict[int, Op] = {}
        for number, op in enumerate(ops):
            stored = _stored(op)
            if stored is None or stored[1] not in made or stored[1] in self.reshaped:
                continue
            place, value = stored
            first, last = users[value][0], users[value][-1]
            if first == number < last < len(ops) - 1 and op.operands.count(value) == 1:
                load = _load(op, place)
                if self._reads_in_time(ops[number + 1 : last + 1], load, value, shown):
                    behind[number] = load
        return self._written(region, behind)

    def _reads_in_time(self, ops: Sequence[Op], load: Op, value: Value, shown: dict[Value, Value]) -> bool:
        """Whether nothing writes to what ``load`` shows until the last of ``ops`` has read ``value``."""
        for op in ops:
            if self.effects.conflict(op, load):
                return False
            flows = [operand for inner in _flowing(op) for operand in inner.operands]
            if any(shown.get(operand, operand) is value for operand in flows):
                return False
        return True

    def _written(self, region: Region, behind: dict[int, Op]) -> Region:
        ops: list[Op] = []
        for number, op in enumerate(region.ops):
            if any(operand in self.values for operand in op.operands):
                op = replace(op, operands=tuple(self.values.get(operand, operand) for operand in op.operands))
            if op.regions and op.name != "fusion":
                op = replace(op, regions=tuple(map(self.region, op.regions)))
            ops.append(op)
            if number in behind:
                ops.append(behind[number])
                (value,) = (operand for operand in region.ops[number].operands if isinstance(operand.type, Tensor))
                self.values[value] = behind[number].result
        return Region(region.parameters, tuple(ops))


def _flowing(op: Op) -> Iterator[Op]:
    """The ops among an op and those inside it whose operands flow into a region, or out of one."""
    if not op.regions or op.name == "fusion":
        return
    yield op
    for region in op.regions:
        yield region.ops[-1]
        for inner in region.body:
            yield from _flowing(inner)


def _stored(op: Op) -> tuple[Value, Value] | None:
    """The place that an op makes show a whole array, and that array."""
    if op.name == "store":
        place, value = op.operands
    elif op.name == "variable":
        place, value = op.result, op.operands[0]
    else:
        return None
    return (place, value) if isinstance(value.type, Tensor) and value.type.rank else None


def _load(op: Op, place: Value) -> Op:
    builder = Builder(loc=op.loc)
    builder.make("load", place)
    return builder.ops[0]
