"""Who owns memory, and until when.

A region gives back what is at home in it (`lifetimes.py`) after its last use. Memory that goes on to live elsewhere is
*taken*: a variable that starts as an array that nothing else uses takes that array's memory over, a loop takes over the
memory of what it carries, and a region hands out what it yields. Where the memory cannot be taken, because something
else shows it or it does not lie in C order, it is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.dims import product
from jitflow.ir.effects import Effects
from jitflow.ir.layout import contiguous, view_layout
from jitflow.ir.types import dims_of
from jitflow.passes.axes import is_axis_view
from jitflow.passes.lower.program import HostProgram, Storage, is_array
from jitflow.passes.lower.target import Target
from jitflow.passes.plan.destinations import find_destinations
from jitflow.passes.plan.disjoint import Disjoint
from jitflow.passes.plan.in_place import early_pushes, early_stores
from jitflow.passes.plan.lifetimes import Lifetimes

__all__ = ["OwningProgram"]


class OwningProgram(HostProgram):
    """A host program that knows the region and the op at which it is."""

    def __init__(
        self, function: Function, target: Target, table: Mapping[str, Callable[[OwningProgram, Op], None]]
    ) -> None:
        """``table`` says how each op is lowered, by its name."""
        super().__init__(function, target)
        self.table = table
        self.lifetimes = Lifetimes(function)
        self.roles = Effects(function).roles
        self.disjoint = Disjoint(function)
        self.taken: set[Value] = set()
        """Roots whose memory belongs to something else now."""
        self._path: list[tuple[Region, int]] = []
        """The regions that are open, outermost first, and the number of the op that is being lowered in each."""

        results = (self.lifetimes.roots(value) for value in function.results)
        self.knows_roots = any(len(roots) > 1 for roots in results)
        """Whether a place that may show one of several variables carries the number of which one it does."""
        self._numbers: dict[Value, int] = {}
        self._shown: dict[Value, Value] = {}
        self.concatenations: dict[Op, Storage] = {}
        self.destinations, self.written_in_place = find_destinations(function.region)
        self.reshaped = _find_reshaped(function.region)
        self.early = early_stores(function)
        self.pushes = early_pushes(function)
        self.starts = {op.operands[0] for op in walk(function.region) if op.name == "variable"}
        """What variables start as."""
        self.stored: set[Op] = set()
        """Stores and pushes whose kernel has written their value."""

    # Which variable a place shows

    def root_number(self, root: Value) -> int:
        """The number by which a program tells a root from others."""
        return self._numbers.setdefault(root, len(self._numbers))

    def root_of(self, place: Value) -> Value:
        """The number of the root that a place shows, as the running program knows it."""
        roots = self.lifetimes.roots(place)
        if len(roots) == 1:
            return self.dim(self.root_number(*roots))
        while place not in self._shown:
            place = self.lifetimes.shown[place]
        return self._shown[place]

    def set_root(self, place: Value, number: Value) -> None:
        """A place has come out of a region, with the number of its root."""
        self._shown[place] = number

    # Regions

    def lower_ops(self, region: Region) -> None:
        """Lower the ops of a region, which is then at its ``yield``, until `end_region`."""
        ending = self.lifetimes.ending(region)
        self._path.append((region, -1))
        self._give_back(ending.get(-1, ()))
        for number, op in enumerate(region.body):
            self._path[-1] = (region, number)
            self.builder.loc = op.loc
            if op.name not in self.table:
                raise CompilerBug(f"{op.name} has no lowering", location=op.loc)
            self.table[op.name](self, op)
            self._give_back(ending.get(number, ()))
        self._path[-1] = (region, len(region.body))

    def end_region(self) -> None:
        """Give back what the region has yielded copies of."""
        region, number = self._path[-1]
        self._give_back(self.lifetimes.ending(region).get(number, ()))
        self._path.pop()

    def is_open(self, region: Region) -> bool:
        """Whether a region is being lowered, or holds one that is."""
        return any(region is other for other, _ in self._path)

    def _give_back(self, roots: Iterable[Value]) -> None:
        for root in roots:
            if root not in self.taken:
                self.give_back(root)

    def give_back(self, root: Value) -> None:
        """Free the memory of a root, if it is the program's."""
        if root in self.tapes:
            self.builder.add("clear", self.tapes[root])
        storage = self.storage.get(root)
        if storage is not None and storage.bytes is not None:
            self.free(storage)

    def may_overlap(self, value: Value, place: Value) -> bool:
        """Whether writing to a place could change what a value in memory shows."""
        if self.roles is not None and self.roles.apart(self.roles.of(value), self.roles.of(place)):
            return False
        if self.disjoint.never_meet(value, place):
            return False
        ours, theirs = self.lifetimes.roots(value), self.lifetimes.roots(place)
        if not ours.isdisjoint(theirs):
            return True
        parameters = frozenset(self.function.parameters)
        overlap = bool(self.function.attributes.get("overlap"))
        return overlap and not ours.isdisjoint(parameters) and not theirs.isdisjoint(parameters)

    # Views

    def view(self, op: Op) -> None:
        """A view of memory is a layout; one of a number is that number."""
        operand = op.operands[0]
        if op.result in self.written_in_place or op.result in self.storage:
            return
        if operand in self.storage:
            assert is_array(operand)
            layout = view_layout(op, self.layouts[operand], operand.type.dtype.itemsize)  # type: ignore[union-attr]
            assert layout is not None, f"{op.name} of {operand.type} needs a copy"
            self.storage[op.result] = self.storage[operand]
            self.layouts[op.result] = layout
        else:
            self.number_views[op.result] = operand

    # Taking

    def take(self, value: Value) -> Storage:
        """Memory in C order with the elements of ``value``, which belongs to the caller."""
        root = self._takeable(value)
        if root is None:
            return self.contiguous_copy(value)
        self.taken.add(root)
        storage, dims = self.storage[value], dims_of(value.type)
        layout = contiguous(dims, storage.dtype.itemsize)
        return Storage(storage.buffer, storage.bytes, -1, storage.dtype, dims, layout)

    def _takeable(self, value: Value) -> Value | None:
        """The root whose memory ``value`` shows, if it is whole, in C order, and used by nothing but the present op."""
        storage, roots = self.storage.get(value), self.lifetimes.roots(value)
        if storage is None or storage.bytes is None or len(roots) != 1:
            return None
        (root,) = roots
        dims = dims_of(self.lifetimes.whole.get(value, value).type)
        whole = contiguous(dims, storage.dtype.itemsize) == self.layouts[value]
        if not whole or product(dims) != product(storage.dims) or root in self.taken:
            return None
        return root if self._ends_here(root) else None

    def _ends_here(self, root: Value) -> bool:
        """Whether the op that is being lowered is the only and last use of a root on the way that the program takes.

        A root from outside may end in a branch, where the branch is its last use; the other branch gives it back.
        """
        home = self.lifetimes.home.get(root)
        level = next((level for level, (region, _) in enumerate(self._path) if region is home), None)
        if level is None:
            return False
        *around, (region, number) = self._path[level:]
        if any(r.ops[n].name != "if" or self.lifetimes.last_use(root, r) != n for r, n in around):
            return False
        return self.lifetimes.last_use(root, region) == number and self.lifetimes.uses(root, region.ops[number]) == 1


def _find_reshaped(region: Region) -> set[Value]:
    """The values whose elements are read through a reshape that relies on C order, here or in a kernel."""
    shown: dict[Value, Value] = {}
    found: set[Value] = set()
    for op in walk(region):
        if op.name == "fusion":
            shown.update(zip(op.regions[0].parameters, op.operands, strict=True))
        elif "view" in op.definition.traits:
            shown[op.result] = value = op.operands[0]
            if op.name == "reshape" and not is_axis_view(op):
                while value in shown:
                    value = shown[value]
                found.add(value)
    return found
