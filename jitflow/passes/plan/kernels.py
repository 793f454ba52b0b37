"""What kernels write, and where: memory of their own, memory that exists, or that of an operand which they replace.

Where results go that belong to something else stands in `in_place.py` and `destinations.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.dims import evaluate_known
from jitflow.ir.effects import Effects
from jitflow.ir.layout import Layout, contiguous, view_layout
from jitflow.ir.types import Place as PlaceType
from jitflow.ir.types import Tensor, Variable, dims_of
from jitflow.passes.fusion.absorb import product_of, without_product
from jitflow.passes.fusion.axes import reshaped_values
from jitflow.passes.fusion.chain_products import chain_of
from jitflow.passes.fusion.nest import Nest
from jitflow.passes.plan.destinations import find_destinations
from jitflow.passes.plan.in_place import early_pushes, early_stores, replaces_own_elements
from jitflow.passes.plan.meeting import Meeting
from jitflow.passes.plan.memory import Memory
from jitflow.passes.plan.numbers import is_number_work, looked_up
from jitflow.passes.plan.products import factors_of, multiplies_by_blocks
from jitflow.passes.plan.record import Place, Product
from jitflow.passes.schedule.cost import LONG_ROW
from jitflow.passes.schedule.products import has_blocks
from jitflow.passes.schedule.target import Processor
from jitflow.passes.schedule.tiles import prefers_tiles

__all__ = ["Kernels"]


class Kernels(Memory):
    """The fusions of a function, for a processor that is ``distributed`` and has such a ``processor``."""

    def __init__(self, function: Function, device: str, distributed: bool, processor: Processor | None) -> None:
        super().__init__(function, device)
        self.distributed = distributed
        self.processor = processor
        effects = Effects(function)
        self.meeting = Meeting(function, self.lifetimes, effects)
        self.stores = early_stores(function, effects, self.meeting)
        self.pushes = early_pushes(function, effects)
        self.destinations, self.inside = find_destinations(function.region)
        self.reshaped = reshaped_values(function.region)
        self.looked_up = looked_up(function.region)
        self.places: dict[Value, Place] = {}
        self.replaced: dict[Value, Value] = {}
        self.written: set[Op] = set()
        self.numbers: dict[Op, tuple[int, ...]] = {}
        self.computed: set[Op] = set()
        self.backwards: set[Op] = set()
        self.products: dict[Op, Product] = {}
        self.nests: dict[Op, Nest] = {}
        self.facts = frozenset(function.facts)
        self.known: list[set[Value]] = [set()]
        """For each open region, what lies in memory and has been read, as the only number there."""

    # Numbers and views

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
        layout = view_layout(op, self.layouts[operand], type.dtype.itemsize, self.facts)
        assert layout is not None, f"{op.name} of {type} needs a copy"
        self.give(op.result, self.blocks[operand], layout)

    # Kernels

    def fusion(self, op: Op) -> None:
        if chain_of(op) is not None:
            self.make(op.result)
        elif product_of(op) is not None:
            multiplied, rest = without_product(op)
            is_own = self._prefers_own(multiplied)
            self.products[op] = Product(multiplied, rest, not is_own)
            self.make(multiplied.result)
            self.kernel(rest, multiplied.operands if is_own else (), in_order=is_own)
        elif is_number_work(op) and self.looked_up.isdisjoint(op.results) and not (
            self.distributed and any(operand in self.blocks for operand in op.operands)
        ):  # fmt: skip
            self.computed.add(op)
            self.number_work(op)
        else:
            self.kernel(op)

    def product(self, op: Op) -> None:
        """Products by blocks are made where they are stored to, if rows lie side by side there."""
        early, type = self.stores.get(op.result), op.result.type
        assert isinstance(type, Tensor)
        if early is not None and not self.distributed and multiplies_by_blocks(op, self.layouts, self.processor):
            for view in early.views:
                self.view(view)
            place = early.store.operands[0]
            layout = self.layouts[place]
            lies = type.dims[-1] == 1 or layout.strides[-1] == type.dtype.itemsize
            if lies and not any(self.meeting.may_meet(factor, place) for factor in op.operands):
                self.places[op.result] = Place(early.store, layout, early.views)
                self.written.add(early.store)
                return
        self.make(op.result)

    def _prefers_own(self, product: Op) -> bool:
        """Whether a product is made where it is worked on, and not by the library before."""
        if product.name == "contract":
            return True
        if not self.distributed:
            return "group" in product.attributes or has_blocks(factors_of(product, self.layouts), self.processor)
        fastmath = bool(self.function.attributes.get("fastmath"))
        return prefers_tiles(product, self.layouts, fastmath=fastmath)

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

        def nest() -> Nest:
            if op not in self.nests:
                self.nests[op] = Nest(op.regions[0], layouts)
            return self.nests[op]

        placed: dict[Value, Layout] = {}
        for result, inside in zip(op.results, op.regions[0].yielded, strict=True):
            place = self.place_of(op, nest, result, inside, factors)
            if place is not None:
                self.places[result], placed[inside] = place, place.layout
                if place.op.name != "concatenate":
                    self.written.add(place.op)
        asked = _asked_order(op.regions[0])
        backwards = not in_order and (asked == "F" or _may_run_backwards(op.regions[0], layouts))
        keep_order = not self.reshaped.isdisjoint(op.results) or asked == "C"
        if backwards and nest().runs_backwards(placed, keep_order, is_asked=asked == "F"):
            self.backwards.add(op)
        for result, inside in zip(op.results, op.regions[0].yielded, strict=True):
            if result in self.places and self.places[result].op.name == "push":
                self.make(result, owned=False)
            elif isinstance(result.type, Tensor) and result not in self.places:
                self.make(result, nest().result_layout(inside, True) if op in self.backwards else None)
                if op not in self.backwards and not in_order:
                    self.replace(op, nest, result, inside)

    def replace(self, op: Op, nest: Callable[[], Nest], result: Value, inside: Value) -> None:
        """Let a result have the memory of an operand that nothing uses any more, if it replaces its elements."""
        if not self.has_long_rows(result):
            return
        for operand, parameter in zip(op.operands, op.regions[0].parameters, strict=True):
            if operand.type != result.type or not dims_of(operand.type) or self.takeable(operand) is None:
                continue
            if replaces_own_elements(op, nest, parameter, inside, self.layouts[result], lambda _: False):
                self.take(op, operand)
                self.replaced[result], self.blocks[result] = operand, self.blocks[operand]
                return

    def has_long_rows(self, result: Value) -> bool:
        """Whether a row was no shorter than some vectors at the first call.

        Processors wait for the masked store at the end of a row before they read what lies behind it.
        """
        *rows, last = dims_of(result.type) or (1,)
        length = evaluate_known(last, dict(self.function.attributes.get("hints", ())))
        return not rows or length is None or length >= LONG_ROW

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

    def place_of(
        self, op: Op, nest: Callable[[], Nest], result: Value, inside: Value, factors: Sequence[Value]
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
        taken_as_numbers = self.numbers.get(op, ())
        for position, (operand, parameter) in enumerate(zip(op.operands, op.regions[0].parameters, strict=True)):
            in_memory = operand in self.blocks and position not in taken_as_numbers
            if not in_memory or not self.meeting.may_meet(operand, place):
                continue
            same = self.blocks[operand] is block
            if not same or not replaces_own_elements(op, nest, parameter, inside, layout, apart):
                return None
        return Place(early.store, layout, early.views)


def _asked_order(region: Region) -> str:
    """The order that the program has asked for of a result, if of any."""
    asked = (op for op in region.body if op.name == "copy" and op.result in region.yielded)
    return next((str(op.attributes["order"]) for op in asked if "order" in op.attributes), "")


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
