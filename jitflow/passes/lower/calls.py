"""Calls of the functions that what comes again has become (`fusion/factor.py`).

A function is handed sizes, numbers and arrays in C order, which it reads, and gives arrays of its own, which are the
caller's from then on. It has a ledger of its own, and shares kernels with all others of the program.
"""

from __future__ import annotations

from collections.abc import Mapping

from jitflow.ir.core import Op, Value
from jitflow.ir.layout import contiguous
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.lower.control import ALONE, Flow
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage

__all__ = ["give_called", "lower_call"]


def lower_call(host: OwningProgram, op: Op) -> None:
    """Call the function, which is lowered where it is called first."""
    name = op.attributes["function"]
    if name not in host.called:
        (function,) = (one for one in host.function.functions if one.name == name)
        host.called[name] = host.lower_called(function)
    operands: list[Value] = []
    copies: list[Storage] = []
    for value in op.operands:
        if not isinstance(value.type, Tensor):
            operands.append(host.number(value))
        elif _lies_in_order(host, value):
            operands.append(host.storage[value].buffer)
        else:
            copies.append(host.contiguous_copy(value))
            operands.append(copies[-1].buffer)
    given = Flow(host, op, [op.results], carried=[ALONE] * len(op.results))
    found = host.builder.add("call", *operands, types=given.types(), function=name, frames=0)
    for copy in copies:
        host.free(copy)
    given.receive(op.results, found)


def give_called(host: OwningProgram) -> list[Value]:
    """What a called function gives: numbers, and arrays with memory of their own, what it has made or a copy."""
    results = host.function.results
    given: dict[Value, Storage] = {}
    shows = {op.result: op.operands[0] for op in host.function.region.body if op.name in ("reshape", "load")}
    found: list[Value] = []
    for value in results:
        if not isinstance(value.type, Tensor):
            found.append(host.number(value))
            continue
        storage = host.storage.get(value)
        if storage is None or storage.buffer in given or not _is_all_of_its_own(host, value, shows):
            storage = host.contiguous_copy(value)
        given[storage.buffer] = storage
        found.append(storage.buffer)
    shown = {host.storage[value].buffer: host.storage[value] for value in results if value in host.storage}
    for buffer, storage in shown.items():
        if buffer not in given and storage.bytes is not None:
            host.free(storage)
    return found


def _is_all_of_its_own(host: OwningProgram, value: Value, shows: Mapping[Value, Value]) -> bool:
    """Whether a value is all of some memory of the function, in C order."""
    if host.storage[value].bytes is None or not _lies_in_order(host, value):
        return False
    while value in shows:
        value = shows[value]
    return value in host.plan.lifetimes.roots(value)


def _lies_in_order(host: OwningProgram, value: Value) -> bool:
    if host.is_number(value):
        return False
    dtype = host.storage[value].dtype
    return host.layouts[value] == contiguous(dims_of(value.type), dtype.itemsize)
