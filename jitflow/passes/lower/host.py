"""The host program: one straight native function that takes the arguments, runs the kernels and hands out results.

It walks the fused function once. Views become layouts, sizes become index arithmetic, scalar arithmetic stays as it
is, a ``fusion`` becomes the allocation of its results and a launch. Memory is given back after its last use; the
entry point makes arrays of what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.dims import product
from jitflow.ir.types import Scalar, Tensor, dims_of
from jitflow.passes.axes import is_axis_view
from jitflow.passes.layout import view_layout
from jitflow.passes.lower.concatenation import find_destinations, parts_of
from jitflow.passes.lower.kernel import lower_nest
from jitflow.passes.lower.library import lower_matmul
from jitflow.passes.lower.packing import packed_layouts
from jitflow.passes.lower.program import HostProgram, ResultPlace, Storage
from jitflow.passes.lower.scan import lower_accumulation
from jitflow.passes.lower.short import short_sizes, with_sizes
from jitflow.passes.lower.target import CPU, Target

__all__ = ["Lowered", "lower"]


@dataclass(frozen=True, slots=True)
class Lowered:
    """The host program with its kernels, and where its results come out."""

    host: Function
    places: tuple[ResultPlace, ...]
    result_slots: int


def lower(function: Function, target: Target = CPU) -> Lowered:
    """Lower a fused tensor function to loops and a host program, for a kind of processor.

    The attribute ``layouts`` holds the layout class of each parameter (``C F unit general``); arrays are expected in
    argument slots in parameter order, 1 + 2 * rank slots each, scalars in one slot, c128 in two.
    """
    return HostLowering(function, target).run()


class HostLowering(HostProgram):
    """Walks the fused function once; `library.py` and `scan.py` lower what takes more than a few lines."""

    def __init__(self, function: Function, target: Target) -> None:
        super().__init__(function, target)
        self.last_use = self._find_last_uses()
        self.concatenations: dict[Op, Storage] = {}
        self.destinations, self.written_in_place = find_destinations(function)
        self.reshaped = _find_reshaped(function.region)

    def run(self) -> Lowered:
        self.take_arguments()
        short = {} if self.target.distributed else short_sizes(self.function)
        if short:
            places, slots = self._versions(short)
        else:
            places, slots = self._body()
        self.builder.add("yield")
        host = Function(
            self.function.name, Region((), tuple(self.builder.ops)), (), "host",
            MappingProxyType({}), tuple(self.kernels),
        )  # fmt: skip
        return Lowered(host, places, slots)

    def _body(self) -> tuple[tuple[ResultPlace, ...], int]:
        """Everything between the arguments and the end."""
        for number, op in enumerate(self.function.region.body):
            self.builder.loc = op.loc
            self._lower(op)
            self._free_after(number)
        return self.give_results()

    def _versions(self, short: dict[str, int]) -> tuple[tuple[ResultPlace, ...], int]:
        """The body twice: for sizes that are short as they were at the first call, and for all others."""
        build = self.builder.make
        fits = [build("equal", self.sizes[name], self.dim(size)) for name, size in short.items()]
        condition = fits[0]
        for other in fits[1:]:
            condition = build("logical_and", condition, other)
        masked = replace(self.target, masked=True)  # one copy of each loop: this version is for the rare call
        versions = [
            self._version(with_sizes(self.function, short), self.target, "_short"),
            self._version(self.function, masked, ""),
        ]
        (first, places, slots), (second, *_) = versions
        self.builder.add("if", condition, types=(), regions=(first, second))
        return places, slots

    def _version(self, function: Function, target: Target, suffix: str) -> tuple[Region, tuple[ResultPlace, ...], int]:
        version = HostLowering(function, target)
        version.suffix = suffix
        version.kernels, version.sizes, version.dim_values = self.kernels, dict(self.sizes), dict(self.dim_values)
        for position, (own, other) in enumerate(zip(self.function.parameters, function.parameters, strict=True)):
            if own in self.scalars:
                version.scalars[other] = self.scalars[own]
            else:
                version.take_array(position, other, self.storage[own].buffer)
        places, slots = version._body()
        return version.builder.region((), ()), places, slots

    # Ops

    def _lower(self, op: Op) -> None:
        if op.name == "fusion":
            self._fusion(op)
        elif "view" in op.definition.traits:
            self._view(op)
        elif op.name == "matmul":
            lower_matmul(self, op)
        elif op.name == "concatenate":
            self._concatenate(op)
        elif "accumulation" in op.definition.traits:
            lower_accumulation(self, op)
        elif op.name == "constant" and isinstance(op.result.type, Tensor):
            self._constant(op)
        elif op.name == "size":
            self.scalars[op.result] = self.dim(op.attributes["dim"])
        elif op.name == "broadcast_dims":
            self._broadcast_dims(op)
        else:
            self._scalar(op)

    def _scalar(self, op: Op) -> None:
        """Arithmetic on numbers and checks: the host program does it itself."""
        operands = [self.scalar(operand) for operand in op.operands]
        types = [result.type for result in op.results]
        name = "cast" if op.name == "copy" else op.name
        attributes = dict(op.attributes)
        if op.name == "copy":
            (type,) = types
            assert isinstance(type, Scalar)
            attributes["dtype"] = type.dtype
        results = self.builder.add(name, *operands, types=types, **attributes)
        self.scalars.update(zip(op.results, results, strict=True))

    def _view(self, op: Op) -> None:
        operand = op.operands[0]
        if op.result in self.written_in_place:
            return
        if operand in self.storage:
            assert isinstance(operand.type, Tensor)
            layout = view_layout(op, self.layouts[operand], operand.type.dtype.itemsize)
            assert layout is not None, f"{op.name} of {operand.type} needs a copy"
            self.storage[op.result] = self.storage[operand]
            self.layouts[op.result] = layout
        else:
            self.number_views[op.result] = operand

    def _broadcast_dims(self, op: Op) -> None:
        """Fold the sizes: 1 gives way, otherwise they must be equal."""
        build = self.builder.make
        sizes = [self.scalar(operand) for operand in op.operands]
        one = self.dim(1)
        common, *rest = sizes
        message = op.attributes.get("message") or "operands could not be broadcast together with sizes {} and {}"
        for size in rest:
            fits = build("logical_or", build("equal", common, size), build("equal", size, one))
            fits = build("logical_or", fits, build("equal", common, one))
            shown = sizes if message.count("{}") == len(sizes) else [common, size]
            self.builder.add("check", fits, *shown, error="ValueError", message=message)
            common = build("select", build("equal", common, one), size, common)
        self.scalars[op.result] = common
        self.sizes[op.attributes["binds"]] = common

    def _find_last_uses(self) -> dict[int, list[Value]]:
        """For each op the values that nothing reads after it, views followed to what they show."""
        root: dict[Value, Value] = {}
        last: dict[Value, int] = {}
        for number, op in enumerate(self.function.region.body):
            reads = [*op.operands, *(operand for region in op.regions for o in walk(region) for operand in o.operands)]
            for operand in reads:
                last[root.get(operand, operand)] = number
            for result in op.results:
                if "view" in op.definition.traits:
                    root[result] = root.get(op.operands[0], op.operands[0])
                else:
                    last.setdefault(result, number)
        for value in self.function.results:
            last.pop(root.get(value, value), None)
        by_op: dict[int, list[Value]] = {}
        for value, number in last.items():
            by_op.setdefault(number, []).append(value)
        return by_op

    def _free_after(self, number: int) -> None:
        for value in self.last_use.get(number, ()):
            storage = self.storage.get(value)
            if storage is not None and storage.parameter < 0:
                self.free(storage)

    # Kernels

    def _fusion(self, op: Op) -> None:
        reshaped = any(result in self.reshaped for result in op.results)
        layouts = [
            self.layouts[operand] if isinstance(operand.type, Tensor) else None for operand in op.operands
        ]  # fmt: skip
        self._check_not_empty(op)
        packed = packed_layouts(op, layouts)
        stored = [self.storage.get(operand) for operand in op.operands]
        for position, layout in packed.items():
            operand = op.operands[position]
            assert isinstance(operand.type, Tensor)
            stored[position] = target = self.allocate(operand.type.dtype, operand.type.dims, layout)
            self.copy_into(operand, target, layout)
            layouts[position] = layout
        into = {
            position: self.destinations[result][1]
            for position, result in enumerate(op.results)
            if result in self.destinations
        }
        name = op.attributes["kernel"] + self.suffix
        kernel = lower_nest(op, layouts, self.target, name=name, keep_order=reshaped, into=into)
        outputs = [
            self._part_of(self.destinations[result][0])
            if result in self.destinations
            else self.allocate(result.type.dtype, dims_of(result.type), layout)  # type: ignore[union-attr]
            for result, layout in zip(op.results, kernel.layouts, strict=True)
        ]
        self.launch(kernel, op.operands, outputs, stored)
        for position in packed:
            copied = stored[position]
            assert copied is not None
            self.free(copied)
        for result, storage in zip(op.results, outputs, strict=True):
            if isinstance(result.type, Scalar):
                self.scalars[result] = self.builder.make("read", storage.buffer, self.dim(0), lanes=0)
                self.free(storage)
            elif result not in self.destinations:
                self.give(result, storage)

    def _check_not_empty(self, op: Op) -> None:
        """A maximum of nothing is an error, unless there is no result to hold it."""
        for inner in op.regions[0].body:
            if not inner.definition.traits & {"reduction"} or not inner.own_effects:
                continue
            operand = inner.operands[0]
            folded = product([dims_of(operand.type)[axis] for axis in inner.attributes["axes"]])
            if isinstance(folded, int) and folded > 0:
                continue
            kept = product(dims_of(inner.result.type))
            name = inner.name.removeprefix("reduce_")
            message = (
                f"attempt to get {name} of an empty sequence"
                if name.startswith("arg")
                else f"zero-size array to reduction operation {name} which has no identity"
            )
            self.builder.loc = inner.loc
            zero = self.dim(0)
            holds = self.builder.make("greater", self.dim(folded), zero)
            if kept != 1:
                holds = self.builder.make("logical_or", holds, self.builder.make("equal", self.dim(kept), zero))
            self.builder.add("check", holds, error="ValueError", message=message)
            self.builder.loc = op.loc

    def _concatenate(self, op: Op) -> None:
        """Copy the parts that no kernel has written in place."""
        storage = self._part_of(op)
        for operand, layout in parts_of(op):
            if operand not in self.written_in_place:
                self.copy_into(operand, storage, layout)
        self.give(op.result, storage)

    def _part_of(self, op: Op) -> Storage:
        """The memory of a concatenation, made when its first part is."""
        if op not in self.concatenations:
            type = op.result.type
            assert isinstance(type, Tensor)
            self.concatenations[op] = self.allocate(type.dtype, type.dims)
        return self.concatenations[op]

    def _constant(self, op: Op) -> None:
        """A small array written element by element."""
        type = op.result.type
        assert isinstance(type, Tensor)
        storage = self.allocate(type.dtype, type.dims)
        for number, item in enumerate(_flat(op.attributes["value"], type.rank)):
            value = self.builder.make("constant", value=item, type=Scalar(type.dtype))
            self.builder.add("write", storage.buffer, self.dim(number * type.dtype.itemsize), value)
        self.give(op.result, storage)


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


def _flat(value: object, rank: int) -> list[object]:
    if rank == 0:
        return [value]
    assert isinstance(value, tuple)
    return [item for part in value for item in _flat(part, rank - 1)]
