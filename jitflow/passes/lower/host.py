"""The host program: one native function that takes the arguments, runs the kernels and hands out results.

It walks the fused function once. Views become layouts, sizes become index arithmetic, arithmetic on numbers and control
flow stay as they are, a ``fusion`` becomes the allocation of its results and a launch. Memory is given back after its
last use; the entry point makes arrays of what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.layout import view_layout
from jitflow.ir.types import Index, Scalar, Tensor, Variable, dims_of
from jitflow.passes.absorb import product_of
from jitflow.passes.axes import is_axis_view
from jitflow.passes.homebound import refuse_homebound
from jitflow.passes.lower.concatenation import find_destinations, parts_of
from jitflow.passes.lower.control import lower_control
from jitflow.passes.lower.count import count
from jitflow.passes.lower.fusions import lower_fusion
from jitflow.passes.lower.hoist import hoist
from jitflow.passes.lower.host_call import lower_host_call
from jitflow.passes.lower.in_place import early_stores
from jitflow.passes.lower.inside import inside
from jitflow.passes.lower.library import lower_matmul
from jitflow.passes.lower.outline import outline
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.paces import paces
from jitflow.passes.lower.poll import poll
from jitflow.passes.lower.products import lower_product
from jitflow.passes.lower.program import Storage, is_array
from jitflow.passes.lower.results import ResultPlace, give_results
from jitflow.passes.lower.scan import lower_accumulation
from jitflow.passes.lower.scatter import lower_scatter
from jitflow.passes.lower.scopes import Scopes
from jitflow.passes.lower.settle import settle
from jitflow.passes.lower.short import short_sizes, with_sizes
from jitflow.passes.lower.storing import lower_store, lower_variable
from jitflow.passes.lower.tapes import TAPE_OPS, early_pushes
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
    if target.distributed:
        refuse_homebound(function)
    return HostLowering(function, target).run()


class HostLowering(OwningProgram):
    """Walks the fused function once; the modules beside this one lower what takes more than a few lines."""

    def __init__(self, function: Function, target: Target) -> None:
        super().__init__(function, target)
        self.concatenations: dict[Op, Storage] = {}
        self.destinations, self.written_in_place = find_destinations(function.region)
        self.reshaped = _find_reshaped(function.region)
        self.early = early_stores(function)
        self.pushes = early_pushes(function)
        self.starts = {op.operands[0] for op in walk(function.region) if op.name == "variable"}
        """What variables start as."""
        self.stored: set[Op] = set()
        """Stores and pushes whose kernel has written their value."""

    def run(self) -> Lowered:
        self.take_arguments()
        short = {} if self.target.distributed else short_sizes(self.function)
        if short:
            places, slots = self._versions(short)
        else:
            places, slots = self._body()
        self.builder.add("yield")
        host = Function(
            self.function.name, Region((), tuple(self.builder.ops)), (), "host", functions=tuple(self.kernels.values()),
        )  # fmt: skip
        if self.target.distributed:
            host = poll(outline(host, reaching_memory=True))
        else:
            host = outline(hoist(host), overlap=bool(self.function.attributes.get("overlap")))
            host = poll(count(paces(inside(host))))
            host = settle(host, self._lasting())
        return Lowered(host, places, slots)

    def _lasting(self) -> set[Value]:
        """The memory of the variables that outlive the program and are written to."""
        parameters = map(self.function.parameters.__getitem__, self.function.attributes.get("variables", ()))
        return {self.storage[value].buffer for value in parameters if isinstance(value.type, Variable)}

    def _body(self) -> tuple[tuple[ResultPlace, ...], int]:
        """Everything between the arguments and the end."""
        self.lower_ops(self.function.region)
        return give_results(self)

    def _versions(self, short: dict[str, int]) -> tuple[tuple[ResultPlace, ...], int]:
        """The body twice: for sizes that are short as they were at the first call, and for all others."""
        build = self.builder.make
        sizes = self.scopes.open[0].sizes
        fits = [build("equal", sizes[name], self.dim(size)) for name, size in short.items()]
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
        version.kernels, version.scopes = self.kernels, Scopes(self.scopes.open[0])
        for position, (own, other) in enumerate(zip(self.function.parameters, function.parameters, strict=True)):
            number = self.scopes.number(own)
            if number is not None:
                version.set_number(other, number)
            else:
                version.take_array(position, other, self.storage[own].buffer)
        places, slots = version._body()
        return version.builder.region((), ()), places, slots

    # Ops

    def lower_op(self, op: Op) -> None:
        if op.name == "fusion":
            (lower_fusion if product_of(op) is None else lower_product)(self, op)
        elif op.name == "load":
            self._load(op)
        elif op.name == "store":
            lower_store(self, op)
        elif op.name in ("for", "while", "if"):
            lower_control(self, op)
        elif "view" in op.definition.traits:
            self.view(op)
        elif op.name == "variable":
            lower_variable(self, op)
        elif op.name == "scatter":
            lower_scatter(self, op)
        elif op.name in TAPE_OPS:
            TAPE_OPS[op.name](self, op)
        elif op.name == "matmul":
            lower_matmul(self, op)
        elif op.name == "host_call":
            lower_host_call(self, op)
        elif op.name == "concatenate":
            self._concatenate(op)
        elif "accumulation" in op.definition.traits:
            lower_accumulation(self, op)
        elif op.name == "constant" and isinstance(op.result.type, Tensor):
            self._constant(op)
        elif op.name == "empty":
            self.give(op.result, self.allocate(op.attributes["dtype"], op.attributes["dims"]))
        elif op.name == "size":
            self.set_number(op.result, self.dim(op.attributes["dim"]))
        elif op.name == "broadcast_dims":
            self._broadcast_dims(op)
        elif op.name == "to_index":
            self._to_index(op)
        else:
            self.arithmetic(op)

    def arithmetic(self, op: Op) -> None:
        """Arithmetic on numbers and checks: the host program does it itself."""
        operands = [self.number(operand) for operand in op.operands]
        types = [Scalar(type.dtype) if isinstance(type, Tensor) else type for type in (r.type for r in op.results)]
        name = "cast" if op.name == "copy" else op.name
        attributes = dict(op.attributes)
        if op.name == "copy":
            (type,) = types
            assert isinstance(type, Scalar)
            attributes["dtype"] = type.dtype
        results = self.builder.add(name, *operands, types=types, **attributes)
        for result, computed in zip(op.results, results, strict=True):
            self.set_number(result, computed)

    def _to_index(self, op: Op) -> None:
        index = self.builder.make("to_index", self.number(op.operands[0]), types=(Index(),))
        self.set_number(op.result, index)
        if "binds" in op.attributes:
            self.scopes.bind(op.attributes["binds"], index)

    def view(self, op: Op) -> None:
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

    def _load(self, op: Op) -> None:
        """A load is a layout of the variable's memory; one number is read here and now."""
        place = op.operands[0]
        self.storage[op.result], self.layouts[op.result] = self.storage[place], self.layouts[place]
        if not dims_of(op.result.type):
            self.number(op.result)

    def _broadcast_dims(self, op: Op) -> None:
        """Fold the sizes: 1 gives way, otherwise they must be equal."""
        build = self.builder.make
        sizes = [self.number(operand) for operand in op.operands]
        one = self.dim(1)
        common, *rest = sizes
        message = op.attributes.get("message") or "operands could not be broadcast together with sizes {} and {}"
        for size in rest:
            fits = build("logical_or", build("equal", common, size), build("equal", size, one))
            fits = build("logical_or", fits, build("equal", common, one))
            shown = sizes if message.count("{}") == len(sizes) else [common, size]
            self.builder.add("check", fits, *shown, error="ValueError", message=message)
            common = build("select", build("equal", common, one), size, common)
        self.set_number(op.result, common)
        self.scopes.bind(op.attributes["binds"], common)

    def _concatenate(self, op: Op) -> None:
        """Copy the parts that no kernel has written in place."""
        storage = self.part_of(op)
        for operand, layout in parts_of(op):
            if operand not in self.written_in_place:
                self.copy_into(operand, storage, layout)
        self.give(op.result, storage)

    def part_of(self, op: Op) -> Storage:
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
