"""The pass that makes the plan of buffers: it walks the fused function once, as lowering does behind it.

A region gives back what is at home in it (`lifetimes.py`) after its last use. Memory that goes on to live elsewhere is
*taken*: a variable that starts as an array that nothing else uses takes that array's memory over, a loop takes over the
memory of what it carries, and a region hands out what it yields. Where the memory cannot be taken, because something
else shows it or it does not lie in C order, it is copied. What a kernel writes to memory that exists stands in
`in_place.py` and `destinations.py`.

What lies in memory here, lowering finds there; scratch of kernels, and copies that live as long as one op, are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.dims import product, symbol
from jitflow.ir.effects import Effects
from jitflow.ir.layout import Layout, contiguous, parameter_layout, view_layout
from jitflow.ir.types import Place as PlaceType
from jitflow.ir.types import Tape, Tensor, Variable, dims_of
from jitflow.passes.absorb import product_of, without_product
from jitflow.passes.axes import is_axis_view
from jitflow.passes.nest import Nest
from jitflow.passes.plan.destinations import find_destinations
from jitflow.passes.plan.in_place import early_pushes, early_stores, replaces_own_elements
from jitflow.passes.plan.lifetimes import Lifetimes
from jitflow.passes.plan.meeting import Meeting
from jitflow.passes.plan.numbers import is_number_work, looked_up
from jitflow.passes.plan.products import prefers_tiles
from jitflow.passes.plan.record import Block, Carried, Place, Plan, Product

__all__ = ["plan_buffers"]


def plan_buffers(function: Function, *, distributed: bool = False, tile: tuple[int, int] | None = None) -> Plan:
    """What of a fused function lies where, for a processor that is ``distributed`` and multiplies by tiles or not."""
    return _Planner(function, distributed, tile).run()


class _Planner:
    def __init__(self, function: Function, distributed: bool, tile: tuple[int, int] | None) -> None:
        self.function = function
        self.distributed = distributed
        self.tile = tile
        effects = Effects(function)
        self.lifetimes = Lifetimes(function)
        self.meeting = Meeting(function, self.lifetimes, effects)
        self.stores = early_stores(function, effects, self.meeting)
        self.pushes = early_pushes(function, effects)
        self.destinations, self.inside = find_destinations(function.region)
        self.reshaped = _find_reshaped(function.region)
        self.blocks: dict[Value, Block] = {}
        self.layouts: dict[Value, Layout] = {}
        self.freed: dict[Op | Region, tuple[Value, ...]] = {}
        self.taken_by: dict[Op, tuple[Value, ...]] = {}
        self.places: dict[Value, Place] = {}
        self.replaced: dict[Value, Value] = {}
        self.written: set[Op] = set()
        self.copied: set[Op] = set()
        self.numbers: dict[Op, tuple[int, ...]] = {}
        self.backwards: set[Op] = set()
        self.products: dict[Op, Product] = {}
        self.carried: dict[Op, tuple[Carried, ...]] = {}
        self.taken: dict[Value, None] = {}
        """Roots whose memory belongs to something else now."""
        self.path: list[tuple[Region, int]] = []
        """The regions that are open, outermost first, and the number of the op that is being looked at in each."""
        self.known: list[set[Value]] = [set()]
        """For each open region, what lies in memory and has been read, as the only number there."""
        self.strides = 0

    def run(self) -> Plan:
        classes = self.function.attributes.get("layouts")
        for position, parameter in enumerate(self.function.parameters):
            type = parameter.type
            if isinstance(type, Tensor | Variable):
                kind = "C" if classes is None else str(classes[position])
                layout = parameter_layout(position, Tensor(type.dtype, type.dims), kind)
                self.give(parameter, Block(parameter.name, type.dtype, type.dims, position), layout)
        self.region(self.function.region)
        started = frozenset(op.operands[0] for op in walk(self.function.region) if op.name == "variable")
        return Plan(
            self.blocks, self.layouts, self.freed, self.taken_by, self.places, self.replaced,
            frozenset(self.written), frozenset(self.copied), self.numbers, frozenset(self.backwards),
            self.products, self.carried, frozenset(self.inside), started, self.lifetimes,
        )  # fmt: skip

    # Regions

    def region(self, region: Region) -> None:
        """The ops of a region, which is then at its ``yield``, until `end`."""
        ending = self.lifetimes.ending(region)
        self.path.append((region, -1))
        self.free(region, ending.get(-1, ()))
        for number, op in enumerate(region.body):
            self.path[-1] = (region, number)
            self.op(op)
            self.free(op, ending.get(number, ()))
        self.path[-1] = (region, len(region.body))

    def end(self) -> None:
        """Give back what the innermost region has yielded copies of."""
        region, number = self.path[-1]
        self.free(region.ops[-1], self.lifetimes.ending(region).get(number, ()))
        self.path.pop()

    def free(self, at: Op | Region, roots: Iterable[Value]) -> None:
        """Give back at a point of the program what belongs to it, and to nothing else by now."""
        freed = tuple(root for root in roots if root not in self.taken and self.is_own(root))
        if freed:
            self.freed[at] = (*self.freed.get(at, ()), *freed)

    def is_own(self, root: Value) -> bool:
        return isinstance(root.type, Tape) or (root in self.blocks and self.blocks[root].owned)

    # Memory

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
        block = Block(value.name, type.dtype, type.dims, owned=owned, kept=kept)
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

    # Ops

    def op(self, op: Op) -> None:
        rule = _RULES.get(op.name)
        if rule is not None:
            rule(self, op)
        elif "view" in op.definition.traits:
            self.view(op)
        elif op.name in _MAKING or "accumulation" in op.definition.traits:
            for result in op.results:
                if isinstance(result.type, Tensor):
                    self.make(result)
        else:
            self.read(op.operands)

    def read(self, values: Iterable[Value]) -> None:
        """The program reads numbers."""
        self.known[-1].update(value for value in values if value in self.blocks)

    def is_known(self, value: Value) -> bool:
        """Whether the program has the number that an array consists of."""
        return value not in self.blocks or (not dims_of(value.type) and any(value in known for known in self.known))

    def view(self, op: Op) -> None:
        operand = op.operands[0]
        if op.result in self.inside or op.result in self.blocks or operand not in self.blocks:
            return
        type = operand.type
        assert isinstance(type, Tensor | Variable | PlaceType)
        layout = view_layout(op, self.layouts[operand], type.dtype.itemsize)
        assert layout is not None, f"{op.name} of {type} needs a copy"
        self.give(op.result, self.blocks[operand], layout)

    def load(self, op: Op) -> None:
        self.show(op.result, op.operands[0])
        if not dims_of(op.result.type):
            self.read(op.results)

    def variable(self, op: Op) -> None:
        (value,) = op.operands
        kept = op.result in self.lifetimes.kept
        self.make(op.result, owned=not kept, kept=kept)
        if isinstance(value.type, Tensor) and not kept and self.take(op, value):
            self.blocks[op.result] = self.blocks[value]

    def store(self, op: Op) -> None:
        place, value = op.operands
        if op not in self.written and value in self.blocks and self.meeting.may_meet(value, place):
            self.copied.add(op)

    def scatter(self, op: Op) -> None:
        self.read(op.operands[1:-1])

    def pop(self, op: Op) -> None:
        if dims_of(op.result.type):
            self.make(op.result, owned=op.result not in self.lifetimes.lender)

    def message(self, op: Op) -> None:
        """An array goes, and comes, as memory that the message owns."""
        for value in op.operands:
            if dims_of(value.type):
                self.take(op, value)
            else:
                self.read(op.operands)
        for result in op.results:
            if dims_of(result.type):
                self.make(result)

    # Control flow

    def branch(self, op: Op) -> None:
        self.read(op.operands)
        carried = self.flow(op, [op.results])
        before = dict(self.taken)
        taken: list[dict[Value, None]] = []
        for region in op.regions:
            self.taken = dict(before)
            self.inner(region, carried)
            taken.append({root: None for root in self.taken if root not in before})
        self.taken = dict(before)
        for region, own in zip(op.regions, taken, strict=True):
            others = {root: None for other in taken for root in other if root not in own}
            self.free(region.ops[-1], (root for root in others if self.is_open(self.lifetimes.home[root])))
        for own in taken:
            self.taken.update(own)
        self.receive(op.results, carried)

    def is_open(self, region: Region) -> bool:
        """Whether the ops of a region are being looked at, or those of one inside it."""
        return any(region is other for other, _ in self.path)

    def for_loop(self, op: Op) -> None:
        (region,) = op.regions
        parameters = region.parameters[1:]
        carried = self.flow(op, [parameters, op.results])
        self.send(op, op.operands[3:], carried)
        self.inner(region, carried, parameters)
        self.receive(op.results, carried)

    def while_loop(self, op: Op) -> None:
        test, turn = op.regions
        carried = self.flow(op, [test.parameters, turn.parameters, op.results])
        self.send(op, op.operands, carried)
        self.receive(test.parameters, carried, owned=False)
        self.inner(test, ())
        self.inner(turn, carried, turn.parameters)
        self.receive(op.results, carried)

    def inner(self, region: Region, carried: Sequence[Carried], parameters: Sequence[Value] = ()) -> None:
        """A region inside an op, which hands out what it yields."""
        self.known.append(set())
        self.receive(parameters, carried)
        self.region(region)
        self.send(region.ops[-1], region.yielded, carried)
        self.end()
        self.known.pop()

    def flow(self, op: Op, targets: Sequence[Sequence[Value]]) -> tuple[Carried, ...]:
        """What flows, for values that receive it: parameters of regions, results of the op."""
        columns = [[values[position] for values in targets] for position in range(len(targets[0]))]
        self.carried[op] = tuple(Carried(self.always_shown(values), self.strided(values)) for values in columns)
        return self.carried[op]

    def always_shown(self, values: Sequence[Value]) -> Value | None:
        """The variable that a place always shows, all of it."""
        if not isinstance(values[0].type, Variable | PlaceType):
            return None
        roots = frozenset().union(*map(self.lifetimes.roots, values))
        whole = len(roots) == 1 and all(map(self.lifetimes.is_whole, values))
        return next(iter(roots)) if whole else None

    def strided(self, values: Sequence[Value]) -> bool:
        """Whether the strides of a place flow with it."""
        return isinstance(values[0].type, Variable | PlaceType) and not all(map(self.lifetimes.is_plain, values))

    def send(self, op: Op, values: Sequence[Value], carried: Sequence[Carried]) -> None:
        for value, _ in zip(values, carried, strict=False):
            if isinstance(value.type, Tensor):
                self.take(op, value)

    def receive(self, values: Sequence[Value], carried: Sequence[Carried], *, owned: bool = True) -> None:
        for value, how in zip(values, carried, strict=False):
            kind = value.type
            if not isinstance(kind, Tensor | Variable | PlaceType):
                continue
            if how.variable is not None:
                self.show(value, how.variable)
                continue
            layout = self.new_strides(len(kind.dims)) if how.strided else None
            self.make(value, layout, owned=owned and isinstance(kind, Tensor))

    def new_strides(self, rank: int) -> Layout:
        """Strides that only the running program knows."""
        first, self.strides = self.strides + 1, self.strides + rank
        return Layout(0, tuple(symbol(f"stride${number}") for number in range(first, self.strides + 1)))

    # Kernels

    def fusion(self, op: Op) -> None:
        if product_of(op) is not None:
            multiplied, rest = without_product(op)
            choice = prefers_tiles(multiplied, self.layouts, self.tile)
            self.products[op] = Product(multiplied, rest, choice)
            self.make(multiplied.result)
            self.kernel(rest, () if choice == 0 else multiplied.operands, in_order=choice != 0)
        elif is_number_work(op) and not (self.distributed and any(operand in self.blocks for operand in op.operands)):
            self.number_work(op)
        else:
            self.kernel(op)

    def number_work(self, op: Op) -> None:
        (region,) = op.regions
        for parameter, operand in zip(region.parameters, op.operands, strict=True):
            self.show(parameter, operand)
        for inner in region.body:
            if "view" in inner.definition.traits:
                self.view(inner)
        for result, value in zip(op.results, region.yielded, strict=True):
            self.show(result, value)

    def kernel(self, op: Op, factors: Sequence[Value] = (), *, in_order: bool = False) -> None:
        """A kernel's results; the ``factors`` are read while they are written, which then are ``in_order``."""
        numbers = self.find_numbers(op)
        if numbers:
            self.numbers[op] = numbers
        layouts = {
            parameter: self.layouts[operand]
            for position, (operand, parameter) in enumerate(zip(op.operands, op.regions[0].parameters, strict=True))
            if operand in self.blocks and position not in numbers
        }
        placed: dict[Value, Layout] = {}
        for result, inside in zip(op.results, op.regions[0].yielded, strict=True):
            place = self.place_of(op, result, inside, factors, layouts)
            if place is not None:
                self.places[result], placed[inside] = place, place.layout
                if place.op.name != "concatenate":
                    self.written.add(place.op)
        nest = None if in_order else self.backwards_nest(op, layouts, placed)
        if nest is not None:
            self.backwards.add(op)
        for result, inside in zip(op.results, op.regions[0].yielded, strict=True):
            if result in self.places and self.places[result].op.name == "push":
                self.make(result, owned=False)
            elif isinstance(result.type, Tensor) and result not in self.places:
                self.make(result, None if nest is None else nest.result_layout(inside, True))
                if nest is None and not in_order:
                    self.replace(op, result, inside, layouts)

    def replace(self, op: Op, result: Value, inside: Value, layouts: dict[Value, Layout]) -> None:
        """Let a result have the memory of an operand that nothing uses any more, if it replaces its elements."""
        for operand, parameter in zip(op.operands, op.regions[0].parameters, strict=True):
            if parameter not in layouts or not dims_of(operand.type) or operand.type != result.type:
                continue
            if self.takeable(operand) is None or not replaces_own_elements(
                op, layouts, parameter, inside, self.layouts[result], lambda _: False
            ):
                continue
            self.take(op, operand)
            self.replaced[result], self.blocks[result] = operand, self.blocks[operand]
            return

    def find_numbers(self, op: Op) -> tuple[int, ...]:
        """The operands that are arrays, and nothing but a number that the program has."""
        (region,) = op.regions
        found = [
            place
            for place, (operand, parameter) in enumerate(zip(op.operands, region.parameters, strict=True))
            if isinstance(parameter.type, Tensor) and self.is_known(operand)
        ]
        if any(op.operands[place] in self.blocks for place in found):
            memory = looked_up(region)
            found = [p for p in found if region.parameters[p] not in memory or op.operands[p] not in self.blocks]
        return tuple(found)

    def backwards_nest(self, op: Op, layouts: Mapping[Value, Layout], placed: Mapping[Value, Layout]) -> Nest | None:
        """The nest of a kernel, if its loops run backwards."""
        (region,) = op.regions
        if not _may_run_backwards(region, layouts):
            return None
        nest = Nest(region, dict(layouts))
        keep_order = any(result in self.reshaped for result in op.results)
        return nest if nest.runs_backwards(placed, keep_order) else None

    def place_of(
        self, op: Op, result: Value, inside: Value, factors: Sequence[Value], layouts: dict[Value, Layout]
    ) -> Place | None:
        """Where a result goes that gets no memory of its own: a concatenation, the place it is stored to, a tape."""
        if result in self.destinations:
            return Place(*self.destinations[result])
        if result in self.pushes:
            assert isinstance(result.type, Tensor)
            return Place(self.pushes[result], contiguous(result.type.dims, result.type.dtype.itemsize))
        early = self.stores.get(result)
        if early is None:
            return None
        for view in early.views:
            self.view(view)
        place = early.store.operands[0]
        block, layout = self.blocks[place], self.layouts[place]
        if any(self.meeting.may_meet(factor, place) for factor in factors):
            return None
        apart = partial(self.meeting.never_meet_in, op, place)
        for operand, parameter in zip(op.operands, op.regions[0].parameters, strict=True):
            if parameter not in layouts or not self.meeting.may_meet(operand, place):
                continue
            same = self.blocks[operand] is block
            if not same or not replaces_own_elements(op, layouts, parameter, inside, layout, apart):
                return None
        return Place(early.store, layout, early.views)


_RULES: Mapping[str, Callable[[_Planner, Op], None]] = {
    "if": _Planner.branch,
    "for": _Planner.for_loop,
    "while": _Planner.while_loop,
    "fusion": _Planner.fusion,
    "load": _Planner.load,
    "store": _Planner.store,
    "variable": _Planner.variable,
    "pop": _Planner.pop,
    "scatter": _Planner.scatter,
    "send": _Planner.message,
    "recv": _Planner.message,
}
_MAKING = frozenset({"constant", "empty", "concatenate", "matmul", "host_call"})
"""Ops whose arrays get memory of their own."""


def _may_run_backwards(region: Region, layouts: Mapping[Value, Layout]) -> bool:
    """Whether a kernel is worth the look: it reads something along an axis that is not its last."""
    if not any(len(dims_of(value.type)) > 1 for value in region.yielded):
        return False
    if any("reduction" in op.definition.traits for op in region.body):
        return False
    for value, layout in layouts.items():
        assert isinstance(value.type, Tensor)
        strides = [stride for stride, dim in zip(layout.strides, value.type.dims, strict=True) if dim != 1]
        if len(strides) > 1 and strides[-1] != value.type.dtype.itemsize:
            return True
    return any(_turns_axes(op) for op in region.body)


def _turns_axes(op: Op) -> bool:
    """Whether a view has its axes in another order."""
    if op.name == "broadcast":
        axes = op.attributes["axes"]
        return list(axes) != sorted(axes)
    return op.name in ("transpose", "diagonal")


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
