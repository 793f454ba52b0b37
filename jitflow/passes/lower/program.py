"""What a host program is made of: sizes, arguments, memory and launches.

`HostProgram` offers these to the lowering of each kind of op (`host.py` and the modules that it names). Sizes become
index arithmetic, views are layouts of memory that something else owns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from jitflow.ir.core import Builder, Function, Region, Value, walk
from jitflow.ir.dims import Dim, Expression, evaluate, maximum, product, symbol, symbols
from jitflow.ir.dtypes import BOOL, C128, DType
from jitflow.ir.equality import Renaming, region_key
from jitflow.ir.layout import Layout, contiguous, stride_name
from jitflow.ir.types import Buffer, Index, Place, Scalar, Tensor, Variable, dims_of
from jitflow.passes.fusion.nest import nest_of
from jitflow.passes.lower.figures import Procedures
from jitflow.passes.lower.kernels.kernel import Kernel, KernelArgument
from jitflow.passes.lower.kernels.ways import lower_nest
from jitflow.passes.lower.notes import noted
from jitflow.passes.lower.scopes import Scopes
from jitflow.passes.schedule.scheduled import Readable
from jitflow.passes.schedule.target import Target
from jitflow.records import dataclass

__all__ = ["HostProgram", "Storage", "is_array"]


def is_array(value: Value) -> bool:
    """Whether a value has elements in memory: a tensor, or storage that the program writes to."""
    return isinstance(value.type, Tensor | Variable | Place)


@dataclass(eq=False, slots=True)
class Storage:
    """A block of memory: an argument's (``parameter`` is its position) or an allocation."""

    buffer: Value
    bytes: Value | None = None
    parameter: int = -1
    dtype: DType = BOOL
    dims: tuple[Dim, ...] = ()
    layout: Layout = field(default_factory=lambda: Layout(0, ()))


class HostProgram:
    """A host program under construction, for one function and one kind of processor."""

    def __init__(self, function: Function, target: Target) -> None:
        self.function = function
        self.target = replace(target, sizes=tuple(function.attributes.get("hints", ())))
        self.suffix = ""
        """What is appended to the names of this version's kernels."""
        self.scopes = Scopes()
        self.kernels: dict[str, Function] = {}
        self.procedures = Procedures(self.kernels)
        self.with_parts: dict[Function, bool] = {}
        self.scheduled: dict[str, Readable] = {}
        """What they are made of, those that are nests."""
        self.storage: dict[Value, Storage] = {}
        self.layouts: dict[Value, Layout] = {}
        self.heap: Value | None = None
        """What its containers are made of."""
        self.tapes: dict[Value, Value] = {}
        """The host's tape for each of the tensor function."""
        self.number_views: dict[Value, Value] = {}
        self.is_noting = False
        """Whether what is lowered stands between a clock and a note."""

    @property
    def builder(self) -> Builder:
        """Where the ops of the innermost open region go."""
        return self.scopes.builder

    def dim(self, dim: Dim) -> Value:
        """A dim as an index value of the host program."""
        return self.scopes.dim(dim)

    # Arguments

    def take_arguments(self) -> None:
        slot = 0
        for position, parameter in enumerate(self.function.parameters):
            type, names = parameter.type, (parameter.name,)
            if "slots" in self.function.attributes:
                slot = self.function.attributes["slots"][position]
            if isinstance(type, Tensor | Variable):
                buffer = self.builder.make("argument", types=(Buffer(type.dtype),), names=names, slot=slot)
                self._bind_sizes(position, parameter, slot + 1)
                self.take_array(position, parameter, buffer)
                slot += 1 + 2 * len(type.dims)
            else:
                self.take_number(parameter, self.builder.make("argument", types=(type,), names=names, slot=slot))
                slot += 2 if isinstance(type, Scalar) and type.dtype == C128 else 1

    def take_parameters(self) -> list[Value]:
        """The parameters of a function that is called: buffers in C order, sizes and numbers."""
        found = []
        for position, parameter in enumerate(self.function.parameters):
            type = parameter.type
            found.append(Value(Buffer(type.dtype) if isinstance(type, Tensor) else type, parameter.name))
            if isinstance(type, Tensor):
                self.take_array(position, parameter, found[-1])
            else:
                self.take_number(parameter, found[-1])
        return found

    def take_number(self, parameter: Value, value: Value) -> None:
        self.scopes.set_number(parameter, value)
        if isinstance(parameter.type, Index) and parameter.type.dim is not None:
            self.scopes.bind(str(parameter.type.dim), value)

    def take_array(self, position: int, parameter: Value, buffer: Value) -> None:
        type = parameter.type
        assert isinstance(type, Tensor | Variable)
        self.give(parameter, Storage(buffer, None, position, type.dtype, type.dims, self.layouts[parameter]))

    def _bind_sizes(self, position: int, parameter: Value, slot: int) -> None:
        type = parameter.type
        assert isinstance(type, Tensor | Variable)
        strides = {str(stride) for stride in self.layouts[parameter].strides}
        for axis, dim in enumerate(type.dims):
            if isinstance(dim, Expression) and dim.is_symbol and not self.scopes.knows(str(dim)):
                self._bind_argument(str(dim), slot + axis)
            name = stride_name(position, axis)
            if dim != 1 and name in strides:
                self._bind_argument(name, slot + len(type.dims) + axis)

    def _bind_argument(self, name: str, slot: int) -> None:
        self.scopes.bind(name, self.builder.make("argument", types=(Index(),), names=(name,), slot=slot))

    # Numbers

    def number(self, value: Value) -> Value:
        """A number on the host: a scalar value, or the element of an array that has one."""
        known = self.scopes.number(value)
        if known is not None:
            return known
        if value in self.number_views:
            return self.number(self.number_views[value])
        assert all(dim == 1 for dim in dims_of(value.type)), str(value.type)
        read = self.builder.make("read", self.storage[value].buffer, self.dim(self.layouts[value].offset), lanes=0)
        self.scopes.set_number(value, read)
        return read

    def set_number(self, value: Value, computed: Value) -> None:
        """What the host has computed for a number of the tensor function."""
        self.scopes.set_number(value, computed)

    def is_number(self, value: Value) -> bool:
        """Whether a value is nothing but a number: it, or what it repeats, lies in no memory."""
        return value not in self.storage

    # Memory

    def allocate(
        self, dtype: DType, dims: tuple[Dim, ...], layout: Layout | None = None, *, kept: bool = False
    ) -> Storage:
        """New memory for an array, in C order if no layout is given. ``kept``: until the program ends."""
        layout = contiguous(dims, dtype.itemsize) if layout is None else layout
        nbytes = self._bytes(product(dims) * dtype.itemsize)
        if kept:
            buffer = self.builder.make("alloc", nbytes, dtype=dtype, kept=True)
            return Storage(buffer, None, -1, dtype, dims, layout)
        buffer = self.builder.make("alloc", nbytes, dtype=dtype)
        return Storage(buffer, nbytes, -1, dtype, dims, layout)

    def _bytes(self, size: Dim) -> Value:
        """The size of an allocation: hoisted out of a loop without turns, it may lack what holds inside."""
        names = symbols(size)
        samples = [dict.fromkeys(names, 0), *({**dict.fromkeys(names, 0), name: 1 << 20} for name in names)]
        may_be_negative = len(self.scopes.open) > 1 and any(_is_negative(size, sample) for sample in samples)
        return self.dim(maximum(size, 0) if may_be_negative else size)

    def give(self, value: Value, storage: Storage) -> None:
        """``value`` is what this memory holds."""
        self.storage[value], self.layouts[value] = storage, storage.layout

    def free(self, storage: Storage) -> None:
        assert storage.bytes is not None
        self.builder.add("free", storage.buffer, storage.bytes)

    def copy_into(self, source: Value, storage: Storage, layout: Layout, dims: tuple[Dim, ...] | None = None) -> None:
        """Copy the elements of ``source`` to ``layout`` in existing memory; a number fills all of ``dims``."""
        dims = dims_of(source.type) if dims is None else dims
        with noted(self, "kernel", "copy", 2 * product(dims) * storage.dtype.itemsize):
            self._copy_into(source, storage, layout, dims)

    def _copy_into(self, source: Value, storage: Storage, layout: Layout, dims: tuple[Dim, ...]) -> None:
        if self.is_number(source) or not dims_of(source.type):
            self._fill(source, storage, layout, dims)
            return
        parameter = Value(Tensor(storage.dtype, dims_of(source.type)), source.name)
        inner = Builder(loc=self.builder.loc)
        copied = inner.make("copy", parameter)
        self._launch_into((source,), inner.region((parameter,), (copied,)), "copy", storage, layout)

    def _fill(self, source: Value, storage: Storage, layout: Layout, dims: tuple[Dim, ...]) -> None:
        number = self.number(source)
        if all(dim == 1 for dim in dims):
            self.builder.add("write", storage.buffer, self.dim(layout.offset), number)
            return
        parameter = Value(Scalar(storage.dtype), source.name)
        inner = Builder(loc=self.builder.loc)
        repeated = inner.make("broadcast", parameter, dims=dims, axes=())
        filled = inner.make("copy", repeated)
        self.set_number(parameter, number)
        self._launch_into((parameter,), inner.region((parameter,), (filled,)), "fill", storage, layout)

    def _launch_into(
        self, operands: Sequence[Value], region: Region, name: str, storage: Storage, layout: Layout
    ) -> None:
        """Run a region with one result as a kernel that writes it to ``layout``."""
        outer = Builder(loc=self.builder.loc)
        outer.add("fusion", *operands, types=[value.type for value in region.yielded], regions=(region,))
        (op,) = outer.ops
        layouts = [self.layouts.get(operand) for operand in operands]

        def make() -> Kernel:
            nest = nest_of(op, layouts)
            backwards = nest.runs_backwards({region.yielded[0]: layout}, False)
            own = self.kernel_name(f"{name}_{len(self.kernels)}")
            return lower_nest(op, nest, self.target, name=own, backwards=backwards, into={0: layout})

        self.launch(self.once(make, *layouts, layout, region=region), operands, (storage,))

    def contiguous_copy(self, value: Value) -> Storage:
        """The elements of ``value`` in C order, in memory that the caller frees."""
        assert isinstance(value.type, Tensor | Variable | Place)
        storage = self.allocate(value.type.dtype, value.type.dims)
        self.copy_into(value, storage, storage.layout)
        return storage

    # Kernels

    def once(self, make: Callable[[], Kernel], *about: object, region: Region | None = None) -> Kernel:
        """The kernel for a region and what it hangs on besides: if one was made, maybe for other sizes, it is that.

        Of values their types count, so how they lie must be said.
        """
        sizes = Renaming()
        key = None if region is None else region_key(region, sizes), sizes(about)
        names = tuple(sizes.names)
        kernel, own = self.scopes.once(key, lambda: (make(), names), everywhere=True)
        return kernel if own == names else kernel.for_sizes(dict(zip(own, map(symbol, names), strict=True)))

    def kernel_name(self, base: str) -> str:
        """A name that no other kernel of this program has."""
        name, number = base, 0
        while name in self.kernels or name in self.scheduled:
            name, number = f"{base}_{number}", number + 1
        return name

    def launch(
        self,
        kernel: Kernel,
        operands: Sequence[Value],
        outputs: Sequence[Storage],
        stored: Sequence[Storage | None] | None = None,
    ) -> None:
        """Call a kernel, with scratch memory for the time of the call; ``stored`` is where its operands lie."""
        stored = [self.storage.get(operand) for operand in operands] if stored is None else stored
        if kernel.scheduled is not None:
            self.scheduled.setdefault(kernel.known_as or kernel.function.name, kernel.scheduled)
        if kernel.instead is None:
            self._launch(kernel, operands, outputs, stored)
            return
        condition, regions = self.builder.make("greater", self.dim(kernel.choice), self.dim(0)), []
        for way in (replace(kernel, instead=None), replace(kernel.instead, scheduled=None)):
            self.scopes.enter(self.builder.loc)
            self.launch(way, operands, outputs, stored)
            regions.append(self.scopes.leave().builder.region((), ()))
        self.builder.add("if", condition, types=(), regions=tuple(regions))

    def _has_parts(self, function: Function) -> bool:
        """Whether a kernel shares its scratch memory among threads."""
        if function not in self.with_parts:
            self.with_parts[function] = any(op.name == "share" for op in walk(function.region))
        return self.with_parts[function]

    def _launch(
        self, kernel: Kernel, operands: Sequence[Value], outputs: Sequence[Storage], stored: Sequence[Storage | None]
    ) -> None:
        """Call a kernel, and those that follow it."""
        parts = {"parts": True} if self._has_parts(kernel.function) else {}
        scratch = [
            (self.builder.make("alloc", nbytes, dtype=argument.dtype, **parts), nbytes)
            for argument in kernel.arguments if argument.kind == "scratch" for nbytes in [self._bytes(argument.dim)]
        ]  # fmt: skip

        def given(argument: KernelArgument, rooms: Iterator[tuple[Value, Value]]) -> Value:
            if argument.kind == "operand":
                storage = stored[argument.position]
                assert storage is not None
                return storage.buffer
            if argument.kind == "scalar":
                return self.number(operands[argument.position])
            if argument.kind == "output":
                return outputs[argument.position].buffer
            return self.dim(argument.dim) if argument.kind == "size" else next(rooms)[0]

        for one in (kernel, *kernel.following):
            self.kernels[one.function.name] = one.function
            rooms = iter(scratch)
            arguments = [given(argument, rooms) for argument in one.arguments]
            self.builder.add("launch", *arguments, types=(), kernel=one.function.name)
        for buffer, nbytes in scratch:
            self.builder.add("free", buffer, nbytes)


def _is_negative(size: Dim, sample: Mapping[str, int]) -> bool:
    """Whether a size is below 0, or has no value, for these sizes in it."""
    try:
        return evaluate(size, sample) < 0
    except ZeroDivisionError:
        return True
