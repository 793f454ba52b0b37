"""Where everything stands: the regions of a function as numbered blocks, and what binds the sizes that it mentions.

A *place* of the program is a block and a number: the gap in front of the op with that number. Only branches and loops
are looked into; any other op with regions is one thing, on one device.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from jitflow.ir.core import Function, Op, Region, Value, walk_inside
from jitflow.ir.dims import symbols
from jitflow.ir.types import Index, dims_of
from jitflow.passes.analyses.order import named_sizes
from jitflow.records import dataclass

__all__ = ["Block", "Blocks", "Place", "Size", "carried_by", "is_control"]


@dataclass(eq=False)
class Block:
    """A region that is looked into. ``index`` is that of ``owner`` in the block ``outer``."""

    region: Region
    number: int
    owner: Op | None = None
    outer: Block | None = None
    index: int = 0


Place = tuple[Block, int]


@dataclass(eq=False)
class Size:
    """A size by one of its names, and the values whose types bind it: parameters of ``block`` if ``index`` is -1."""

    name: str
    block: Block
    index: int
    binders: list[Value] = field(default_factory=list)


def is_control(op: Op) -> bool:
    """Whether an op may stand in several partitions."""
    return bool(op.regions) and op.name in ("if", "for", "while")


def carried_by(op: Op, region: Region) -> Sequence[Value]:
    """The parameters of a region of a loop that stand for what it carries round."""
    return region.parameters[1:] if op.name == "for" else region.parameters


class Blocks:
    """The blocks of a function in program order."""

    def __init__(self, function: Function) -> None:
        self.all: list[Block] = []
        self.of_op: dict[Op, list[Block]] = {}
        """The blocks of each branch and loop."""
        self.place: dict[Op, Place] = {}
        self.order: dict[Op, int] = {}
        """The number of each op in program order."""
        self.defined: dict[Value, Place] = {}
        """The block of a value and the number of its op, -1 for a parameter."""
        self.maker: dict[Value, Op] = {}
        self.sizes: dict[Op, list[Size]] = {}
        """What the results and attributes of an op mention, and everything inside of it that is not looked into."""
        self.sizes_of_value: dict[Value, list[Size]] = {}
        self.root = self._enter(function.region, {})

    def gap(self, place: Place, block: Block) -> int:
        """The number of the op of ``block`` that ``place`` belongs to: the op itself, or one around it."""
        inner, index = place
        while inner is not block:
            assert inner.outer is not None, "expected a value to be used inside the region that makes it"
            inner, index = inner.outer, inner.index
        return index

    def enclosing(self, block: Block, outermost: Block) -> Iterable[Op]:
        """The branches and loops around a block, up to those of the block ``outermost``."""
        while block is not outermost:
            assert block.owner is not None
            assert block.outer is not None
            yield block.owner
            block = block.outer

    def _enter(
        self,
        region: Region,
        known: dict[str, Size],
        owner: Op | None = None,
        outer: Block | None = None,
        index: int = 0,
    ) -> Block:
        block = Block(region, len(self.all), owner, outer, index)
        self.all.append(block)
        known = dict(known)
        binding = {name for value in region.parameters for name in named_sizes(value.type)}
        self._define(region.parameters, block, -1, known, binding - known.keys())
        for number, op in enumerate(region.ops):
            self.place[op] = (block, number)
            self.order[op] = len(self.order)
            if is_control(op):
                self.of_op[op] = [self._enter(inner, known, op, block, number) for inner in op.regions]
            binding = set()
            if "binds" in op.attributes:
                binding = {op.attributes["binds"]}
            elif op.definition.infer is None and "sized" not in op.definition.traits:
                binding = {name for value in op.results for name in named_sizes(value.type)}
            self._define(op.results, block, number, known, binding - known.keys())
            for value in op.results:
                self.maker[value] = op
            mentioned = set(op.sizes)
            if not is_control(op):
                for inner in walk_inside(op):
                    mentioned.update(inner.sizes)
            self.sizes[op] = [known[name] for name in sorted(mentioned) if name in known]
        return block

    def _define(
        self, values: Sequence[Value], block: Block, index: int, known: dict[str, Size], binding: set[str]
    ) -> None:
        for name in sorted(binding):
            known[name] = Size(name, block, index)
        for value in values:
            self.defined[value] = (block, index)
            dims = (value.type.dim,) if isinstance(value.type, Index) else dims_of(value.type)
            names = {name for dim in dims if dim is not None for name in symbols(dim)}
            self.sizes_of_value[value] = [known[name] for name in sorted(names) if name in known]
            for name in named_sizes(value.type):
                if name in binding:
                    known[name].binders.append(value)
