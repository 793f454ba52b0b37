"""Procedures: a function that calls itself becomes a function of the module.

Up to here it is a region, which may use values from around it. What it uses is handed to it with each call: to the
first by what stands around it, to the others by itself, and to those inside of it by way of it.

    %0 = recursion %n (%k: i64) {                  %0 = call %n, %x {function="f"}
      ...                                          func @f(%k: i64, %y: f64) {
      %1 = recur %j {function="f"}             ->        ...
      %2 = multiply %1, %x                           %1 = call %j, %y {function="f"}
      yield %2                                       %2 = multiply %1, %y
    } {function="f"}                                     yield %2
                                                   }

One that only computes, reads and writes is scalar code, which LLVM optimises as a whole; others are host programs with
memory of their own. Constants go along, as they do into kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from jitflow.ir.core import Builder, Function, Op, Region, Value, clone_op, free_values, walk

__all__ = ["procedures"]

_OF_HOSTS = frozenset({"print", "progress", "tape"})
_TOO_DEEP = MappingProxyType({"error": "RecursionError", "message": "maximum recursion depth exceeded"})


def procedures(host: Function) -> Function:
    """The host program with its recursions as functions that it calls."""
    if not any(op.name == "recursion" for op in walk(host.region)):
        return host
    making = _Making(host)
    region = making.region(host.region, {}, {})
    return replace(host, region=region, functions=(*host.functions, *making.functions))


class _Making:
    def __init__(self, host: Function) -> None:
        self.producer = {result: op for op in walk(host.region) for result in op.results}
        self.functions: list[Function] = []

    def region(self, region: Region, values: dict[Value, Value], around: Mapping[str, list[Value]]) -> Region:
        """A region, in which other values stand for some; ``around`` says what each function is handed besides."""
        return Region(region.parameters, tuple(self.op(op, values, around) for op in region.ops))

    def op(self, op: Op, values: dict[Value, Value], around: Mapping[str, list[Value]]) -> Op:
        operands = tuple(values.get(operand, operand) for operand in op.operands)
        if op.name == "recursion":
            handed = self.function(op, around)
            return self.call(op, operands, handed, values)
        if op.name == "recur":
            return self.call(op, operands, around[op.attributes["function"]], values)
        regions = tuple(self.region(region, values, around) for region in op.regions)
        return replace(op, operands=operands, regions=regions)

    def call(self, op: Op, operands: tuple[Value, ...], handed: list[Value], values: dict[Value, Value]) -> Op:
        function, frames = op.attributes["function"], op.attributes["frames"]
        attributes: dict[str, Any] = {"function": function, "frames": frames, **_TOO_DEEP}
        besides = tuple(values.get(value, value) for value in handed)
        builder = Builder(loc=op.loc)
        builder.add("call", *operands, *besides, types=[result.type for result in op.results], **attributes)
        return replace(builder.ops[0], results=op.results)

    def function(self, recursion: Op, around: Mapping[str, list[Value]]) -> list[Value]:
        """Make the function; returns what it is handed besides its operands."""
        (region,) = recursion.regions
        name = recursion.attributes["function"]
        used = dict.fromkeys(free_values(replace(recursion, operands=())))
        for op in walk(region):
            if op.name == "recur" and op.attributes["function"] in around:
                used.update(dict.fromkeys(around[op.attributes["function"]]))
        builder = Builder(loc=recursion.loc)
        values: dict[Value, Value] = {}
        handed: list[Value] = []
        for value in used:
            producer = self.producer.get(value)
            if producer is not None and not producer.operands and producer.name in ("constant", "size"):
                builder.ops.append(clone_op(producer, values))
            else:
                values[value] = Value(value.type, value.name)
                handed.append(value)
        inside = self.region(region, values, {**around, name: handed})
        parameters = (*region.parameters, *(values[value] for value in handed))
        body = Region(parameters, (*builder.ops, *inside.ops))
        scalar = all(op.definition.layer in ("any", "loop") and op.name not in _OF_HOSTS for op in walk(body))
        attributes = {"called": True, "recursive": True, "owned": recursion.attributes.get("owned", ())}
        if scalar:
            attributes["scalar"] = True
        layer = "loop" if scalar else "host"
        self.functions.append(Function(name, body, (), layer, MappingProxyType(attributes)))
        return handed
