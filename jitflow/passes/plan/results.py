"""How the results of a function come out of it: as new arrays, as views of what the caller has or gets, or as numbers.

A result that shows what nobody else shows, but was made inside a branch or loop, or that is a number which repeats,
becomes a copy. What several results show, or one of them a part of, belongs to the first that shows all of it; where
none does, to a place of its own behind the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Value
from jitflow.ir.layout import contiguous
from jitflow.ir.types import Place, Tensor, Variable, dims_of
from jitflow.passes.plan.memory import Memory
from jitflow.passes.plan.record import Block, Result, Source

__all__ = ["plan_results"]


def plan_results(memory: Memory) -> tuple[tuple[Result, ...], tuple[Value, ...]]:
    """How each result comes out, and the roots whose memory no result shows all of.

    Raises `UserNotImplementedError` for one that nobody can tell the owner of.
    """
    results = _Results(memory)
    return tuple(results.results()), tuple(results.bases)


class _Results:
    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.lifetimes = memory.lifetimes
        self.region = memory.function.region
        self.values = memory.function.results
        self.reshaped = {op.result for op in self.region.body if op.name == "reshape" and op.attributes.get("owned")}
        self.copied: dict[Value, int] = {}
        """The first place of each value that is copied."""
        self.owners: dict[Block, int] = {}
        """The place that owns the memory, for each block that is given out."""
        self.bases: list[Value] = []
        for position, value in enumerate(self.values):
            if _is_array(value) and self._needs_copy(value):
                self.copied.setdefault(value, position)
            elif _is_array(value) and self._owns(value):
                self.owners.setdefault(memory.blocks[value], position)

    def results(self) -> Iterator[Result]:
        for position, value in enumerate(self.values):
            yield self._result(position, value) if _is_array(value) else Result("scalar")

    def _result(self, position: int, value: Value) -> Result:
        first = self.copied.get(value)
        if first == position:
            return Result("new", copied=True, freed=self._freed(value))
        if first is not None:
            return Result("result", first, self.lifetimes.is_whole(value))
        block = self.memory.blocks[value]
        if self._is_chosen(value):
            return Result("one of", sources=tuple(self._sources(value)))
        if block.parameter >= 0:
            return Result("argument", block.parameter, self.lifetimes.is_whole(value))
        if self.owners.get(block) == position:
            return Result("new")
        (root,) = self.lifetimes.roots(value)
        return Result("result", self._owner(root), self.lifetimes.is_whole(value))

    # Copies

    def _needs_copy(self, value: Value) -> bool:
        """Whether a value is no memory, or what some branch or loop made, and no other result shows it."""
        if value not in self.memory.blocks:
            return True
        roots = self.lifetimes.roots(value)
        inside = any(self.lifetimes.home[root] is not self.region for root in roots)
        if not inside or not roots.isdisjoint(self.region.parameters):
            return False
        return all(other is value or roots.isdisjoint(self.lifetimes.roots(other)) for other in self.values)

    def _freed(self, value: Value) -> tuple[Value, ...]:
        """What nobody needs once a place is copied; what regions made is given back at the end of the program."""
        if not isinstance(value.type, Place) or value not in self.memory.blocks:
            return ()
        roots = self._in_order(self.lifetimes.roots(value))
        return tuple(root for root in roots if self.lifetimes.home[root] is self.region and self.memory.is_own(root))

    # Owners

    def _is_chosen(self, value: Value) -> bool:
        """Whether a place came out of a branch or loop, and shows what others own."""
        blocks, roots = self.memory.blocks, self.lifetimes.roots(value)
        return len(roots) > 1 or any(blocks.get(root) is not blocks[value] for root in roots)

    def _owns(self, value: Value) -> bool:
        """Whether a value is all of the memory that it shows, as it lies there, and that is not the caller's.

        A reshape that owns what it shows has dims of its own.
        """
        if self.memory.blocks[value].parameter >= 0 or self._is_chosen(value):
            return False
        (root,) = self.lifetimes.roots(value)
        layouts = self.memory.layouts
        if value in self.reshaped:
            return layouts[root] == contiguous(dims_of(root.type), self.memory.blocks[root].dtype.itemsize)
        return layouts[value] == layouts[root] and dims_of(value.type) == dims_of(root.type)

    def _owner(self, root: Value) -> int:
        """The place that owns a root's memory; behind the results, if none of them does."""
        block = self.memory.blocks[root]
        if block not in self.owners:
            self.owners[block] = len(self.values) + len(self.bases)
            self.bases.append(root)
        return self.owners[block]

    def _sources(self, value: Value) -> Iterator[Source]:
        """The variables of which a place may show one: the program knows which."""
        viewed = self.lifetimes.viewed_by(value)
        for root in self._in_order(self.lifetimes.roots(value)):
            block = self.memory.blocks.get(root)
            if block is None or self.lifetimes.home[root] is not self.region:
                raise self._shows_what_a_region_made(value)
            argument = block.parameter >= 0
            index = block.parameter if argument else self._owner(root)
            yield Source(root, argument, index, root not in viewed)

    def _in_order(self, roots: frozenset[Value]) -> Sequence[Value]:
        return sorted(roots, key=self.lifetimes.number)

    def _shows_what_a_region_made(self, value: Value) -> UserNotImplementedError:
        ops = self.region.body or self.region.ops
        return UserNotImplementedError(
            "a result that may be an array of its own, or one that the caller knows by another name",
            found=f"{value.name or 'a result'}: an argument, another result, or an array that a branch or loop makes",
            mend="return a copy of it: x.copy()",
            location=ops[-1].loc,
        )


def _is_array(value: Value) -> bool:
    return isinstance(value.type, Tensor | Variable | Place)
