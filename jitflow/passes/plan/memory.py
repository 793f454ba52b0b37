"""Memory while it is planned: what lies in which block, who owns that, and who takes it over."""

from __future__ import annotations

from collections.abc import Iterable

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.dims import product
from jitflow.ir.layout import Layout, contiguous
from jitflow.ir.types import Place as PlaceType
from jitflow.ir.types import Tape, Tensor, Variable, dims_of
from jitflow.passes.plan.lifetimes import Lifetimes
from jitflow.passes.plan.record import Block

__all__ = ["Memory"]


class Memory:
    """The blocks of a function, up to the op that is being looked at."""

    def __init__(self, function: Function, device: str) -> None:
        self.function = function
        self.device = device
        self.lifetimes = Lifetimes(function)
        self.blocks: dict[Value, Block] = {}
        self.layouts: dict[Value, Layout] = {}
        self.freed: dict[Op | Region, tuple[Value, ...]] = {}
        self.taken_by: dict[Op, tuple[Value, ...]] = {}
        self.taken: dict[Value, None] = {}
        """Roots whose memory belongs to something else now."""
        self.path: list[tuple[Region, int]] = []
        """The regions that are open, outermost first, and the number of the op that is being looked at in each."""

    def give(self, value: Value, block: Block, layout: Layout) -> None:
        self.blocks[value], self.layouts[value] = block, layout

    def show(self, value: Value, other: Value) -> None:
        """Let one value be what another is."""
        if other in self.blocks:
            self.give(value, self.blocks[other], self.layouts[other])

    def make(self, value: Value, layout: Layout | None = None, *, owned: bool = True, kept: bool = False) -> None:
        """Memory for a value, in C order if no layout is given."""
        type = value.type
        assert isinstance(type, Tensor | Variable | PlaceType)
        block = Block(value.name, type.dtype, type.dims, self.device, owned=owned, kept=kept)
        self.give(value, block, contiguous(type.dims, type.dtype.itemsize) if layout is None else layout)

    def take(self, op: Op, value: Value) -> bool:
        """Whether an op takes the memory of an operand over; else it gets a copy."""
        root = self.takeable(value)
        if root is None:
            return False
        self.taken[root] = None
        self.taken_by[op] = (*self.taken_by.get(op, ()), value)
        return True

    def takeable(self, value: Value) -> Value | None:
        """The root whose memory ``value`` shows, if it is whole, in C order, and used by nothing but the present op."""
        block, roots = self.blocks.get(value), self.lifetimes.roots(value)
        if block is None or not block.owned or len(roots) != 1:
            return None
        (root,) = roots
        dims = dims_of(self.lifetimes.whole.get(value, value).type)
        whole = contiguous(dims, block.dtype.itemsize) == self.layouts[value]
        if not whole or product(dims) != product(block.dims) or root in self.taken:
            return None
        return root if self.ends_here(root) else None

    def ends_here(self, root: Value) -> bool:
        """Whether the present op is the only and last use of a root on the way that the program takes.

        A root from outside may end in a branch, where the branch is its last use; the other branch gives it back.
        """
        home = self.lifetimes.home.get(root)
        level = next((level for level, (region, _) in enumerate(self.path) if region is home), None)
        if level is None:
            return False
        *around, (region, number) = self.path[level:]
        if any(r.ops[n].name != "if" or self.lifetimes.last_use(root, r) != n for r, n in around):
            return False
        return self.lifetimes.last_use(root, region) == number and self.lifetimes.uses(root, region.ops[number]) == 1

    def free(self, at: Op | Region, roots: Iterable[Value]) -> None:
        """Give back at a point of the program what belongs to it, and to nothing else by now."""
        freed = tuple(root for root in roots if root not in self.taken and (self.is_own(root) or is_held(root)))
        if freed:
            self.freed[at] = (*self.freed.get(at, ()), *freed)

    def is_own(self, root: Value) -> bool:
        return isinstance(root.type, Tape) or (root in self.blocks and self.blocks[root].owned)


def is_held(root: Value) -> bool:
    """Whether a root is an array of the heap, which is not collected as long as somebody uses its memory."""
    return isinstance(root.type, PlaceType)
