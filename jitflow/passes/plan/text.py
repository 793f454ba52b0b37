"""The plan of buffers as text: a line for each block of memory, and what lies in it from when to when."""

from __future__ import annotations

from collections.abc import Iterator

from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.dims import product
from jitflow.ir.printer import names_of
from jitflow.passes.plan.record import Block, Plan

__all__ = ["plan_text"]


def plan_text(function: Function, plan: Plan) -> str:
    """Every block in the order in which it is first used, what kernels write where memory is, and the results."""
    text = "\n".join([f"plan of @{function.name}", *_Text(function, plan).lines()]) + "\n"
    if plan.short is None:
        return text
    sizes = ", ".join(f"{name} = {size}" for name, size in plan.short.sizes.items())
    return f"{text}\nfor {sizes}: {plan_text(plan.short.function, plan.short.plan)}"


class _Text:
    def __init__(self, function: Function, plan: Plan) -> None:
        self.function = function
        self.plan = plan
        self.names = names_of(function)
        self.inside: dict[Block, list[Value]] = {}
        self.start: dict[Block, str] = {}
        self.end: dict[Block, str] = {}
        self._look()

    def _look(self) -> None:
        self._hold(self.function.parameters, "the call")
        for op in walk(self.function.region):
            where = _name(op)
            for region in op.regions if op.name != "fusion" else ():
                self._hold(region.parameters, where)
                self._give_back(region, where)
            for value in self.plan.taken.get(op, ()):
                self.end[self.plan.blocks[value]] = f"{where}, which takes it over"
            self._hold(op.results, where)
            self._give_back(op, where)

    def _hold(self, values: tuple[Value, ...], where: str) -> None:
        for value in values:
            block = self.plan.blocks.get(value)
            if block is not None:
                self.inside.setdefault(block, []).append(value)
                self.end.pop(block, None)
                self.start.setdefault(block, where)

    def _give_back(self, at: Op | Region, where: str) -> None:
        for root in self.plan.freed.get(at, ()):
            if root in self.plan.blocks:
                self.end[self.plan.blocks[root]] = where

    def lines(self) -> Iterator[str]:
        for block, values in self.inside.items():
            names = ", ".join(f"%{self.names[value]}" for value in values)
            size = product(block.dims) * block.dtype.itemsize
            yield f"  {block.device}  {size} bytes, {self._lives(block)}: {names}"
        for result, place in self.plan.places.items():
            yield f"  %{self.names[result]} is written for {_name(place.op)} by its kernel"
        for op in walk(self.function.region):
            if op in self.plan.copied:
                yield f"  {_name(op)} copies its value first"
        for value, planned in zip(self.function.results, self.plan.results, strict=True):
            if planned.copied:
                yield f"  %{self.names[value]} is copied for the caller"
            elif planned.kind in ("argument", "result"):
                yield f"  %{self.names[value]} comes out as a view of {planned.kind} {planned.source}"
            elif planned.kind == "one of":
                shown = (f"{'argument' if one.is_argument else 'result'} {one.index}" for one in planned.sources)
                yield f"  %{self.names[value]} comes out as a view of {' or '.join(shown)}"

    def _lives(self, block: Block) -> str:
        if block.parameter >= 0:
            return f"argument {block.parameter}"
        end = "the end" if block.kept else self.end.get(block, "the end")
        return f"from {self.start[block]} to {end}"


def _name(op: Op) -> str:
    """What an op is called: by its kernel, if it is one, and its place in the source."""
    name = op.attributes.get("kernel", op.name)
    return f"{name} ({op.loc})" if op.loc.line else str(name)
