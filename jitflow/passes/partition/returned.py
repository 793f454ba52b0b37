"""Brings home what a function returns of memory that lies in another process.

    yield %y          ->    %0: f64[n] = load %y {device="node:1/cpu:0"}
                            yield %0

An array that the program has made there and written to is returned as it is at the end, in new memory: nobody else has
seen the memory over there. So two results that show the same memory would part ways, and are refused.

Runs on a placed function, before it is partitioned.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Builder, Function, Region, Value
from jitflow.ir.effects import Effects, is_storage
from jitflow.machines.hardware import is_elsewhere
from jitflow.passes.partition.blocks import Blocks
from jitflow.passes.partition.homes import Homes

__all__ = ["bring_results_home"]


def bring_results_home(function: Function) -> Function:
    """The function, whose results are no memory of other processes. Raises `UserNotImplementedError` for views."""
    storage = [value for value in function.results if is_storage(value)]
    if not storage:
        return function
    blocks, effects = Blocks(function), Effects(function)
    homes = Homes(function, blocks, effects)
    *ops, end = function.region.ops
    loaded: dict[Value, Value] = {}
    for value in dict.fromkeys(storage):
        device, maker = homes.home(value), blocks.maker.get(value)
        if not is_elsewhere(device):
            continue
        if any(effects.places(value) & effects.places(other) for other in storage if other is not value):
            raise UserNotImplementedError(
                f"several results show one piece of memory, on {device}",
                mend="return copies: x.copy()",
                location=end.loc if maker is None else maker.loc,
            )
        builder = Builder(loc=end.loc if maker is None else maker.loc)
        loaded[value] = builder.make("load", value)
        (op,) = builder.ops
        ops.append(replace(op, attributes=MappingProxyType({**op.attributes, "device": device})))
    if not loaded:
        return function
    given = tuple(loaded.get(value, value) for value in end.operands)
    region = Region(function.region.parameters, (*ops, replace(end, operands=given)))
    return replace(function, region=region)
