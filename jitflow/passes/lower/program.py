"""What a host program is made of: sizes, arguments, memory, launches and results.

`HostProgram` offers these to the lowering of each kind of op (`host.py`, `library.py`, `scan.py`). Sizes become index
arithmetic, views are layouts of memory that something else owns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from jitflow.ir.core import Builder, Function, Value
from jitflow.ir.dims import Call, Dim, Expression, Symbol, lower_bound, product
from jitflow.ir.dtypes import BOOL, C128, DType
from jitflow.ir.types import Buffer, Index, Scalar, Tensor, dims_of
from jitflow.passes.layout import Layout, contiguous, parameter_layout, stride_name
from jitflow.passes.lower.kernel import Kernel, lower_nest
from jitflow.passes.lower.target import Target

__all__ = ["HostProgram", "ResultPlace", "Storage"]


@dataclass(frozen=True, slots=True)
class ResultPlace:
    """How a result of the function comes out of `run`.

    ``kind``: ``new`` array, ``argument`` (a view of parameter ``source``), ``result`` (a view of place ``source``), or
    ``scalar``. ``slot`` is its first result slot. Places behind the function's own results are new arrays that only
    own the memory of a view.
    """

    kind: Literal["new", "argument", "result", "scalar"]
    slot: int
    dtype: DType
    rank: int
    source: int = -1


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
        self.target = target
        self.suffix = ""
        """What is appended to the names of this version's kernels."""
        self.builder = Builder()
        self.kernels: list[Function] = []
        self.sizes: dict[str, Value] = {}
        self.dim_values: dict[Dim, Value] = {}
        self.scalars: dict[Value, Value] = {}
        self.storage: dict[Value, Storage] = {}
        self.layouts: dict[Value, Layout] = {}
        self.number_views: dict[Value, Value] = {}

    # Sizes

    def dim(self, dim: Dim) -> Value:
        """A dim as an index value of the host program."""
        if dim not in self.dim_values:
            self.dim_values[dim] = self._compute_dim(dim)
        return self.dim_values[dim]

    def _compute_dim(self, dim: Dim) -> Value:
        if isinstance(dim, int):
            return self.builder.make("size", dim=dim)
        total: Value | None = None
        for monomial, coefficient in dim.terms:
            term: Value | None = None if coefficient == 1 and monomial else self.dim(coefficient)
            for atom in monomial:
                factor = self.sizes[atom.name] if isinstance(atom, Symbol) else self._call(atom)
                term = factor if term is None else self.builder.make("multiply", term, factor)
            assert term is not None
            total = term if total is None else self.builder.make("add", total, term)
        assert total is not None
        return total

    def _call(self, call: Call) -> Value:
        names = {"//": "floor_divide", "%": "remainder", "min": "minimum", "max": "maximum"}
        if call.operator in ("//", "%") and _divides_plainly(*call.operands):
            names = {"//": "divide_truncated", "%": "remainder_truncated"}
        first, *rest = [self.dim(operand) for operand in call.operands]
        for other in rest:
            first = self.builder.make(names[call.operator], first, other)
        return first

    # Arguments

    def take_arguments(self) -> None:
        slot = 0
        for position, parameter in enumerate(self.function.parameters):
            type, names = parameter.type, (parameter.name,)
            if isinstance(type, Tensor):
                buffer = self.builder.make("argument", types=(Buffer(type.dtype),), names=names, slot=slot)
                self._bind_sizes(position, type, slot + 1)
                self.take_array(position, parameter, buffer)
                slot += 1 + 2 * type.rank
            else:
                self.scalars[parameter] = self.builder.make("argument", types=(type,), names=names, slot=slot)
                slot += 2 if isinstance(type, Scalar) and type.dtype == C128 else 1

    def take_array(self, position: int, parameter: Value, buffer: Value) -> None:
        type = parameter.type
        assert isinstance(type, Tensor)
        layout = parameter_layout(position, type, self._layout_class(position))
        self.storage[parameter] = Storage(buffer, None, position, type.dtype, type.dims, layout)
        self.layouts[parameter] = layout

    def _layout_class(self, position: int) -> str:
        classes = self.function.attributes.get("layouts")
        return "C" if classes is None else str(classes[position])

    def _bind_sizes(self, position: int, type: Tensor, slot: int) -> None:
        for axis, dim in enumerate(type.dims):
            if isinstance(dim, Expression) and dim.is_symbol:
                name = str(dim)
                if name not in self.sizes:
                    self.sizes[name] = self._index_argument(slot + axis, name)
            stride = slot + type.rank + axis
            name = stride_name(position, axis)
            if dim != 1 and any(name == str(s) for s in self._parameter_strides(position, type)):
                self.sizes[name] = self._index_argument(stride, name)

    def _parameter_strides(self, position: int, type: Tensor) -> tuple[Dim, ...]:
        return parameter_layout(position, type, self._layout_class(position)).strides

    def _index_argument(self, slot: int, name: str) -> Value:
        return self.builder.make("argument", types=(Index(),), names=(name,), slot=slot)

    # Values

    def scalar(self, value: Value) -> Value:
        """A number on the host: a scalar value, or the element of a 0-d array."""
        if value in self.scalars:
            return self.scalars[value]
        if value in self.number_views:
            return self.scalar(self.number_views[value])
        assert all(dim == 1 for dim in dims_of(value.type)), str(value.type)
        read = self.builder.make("read", self.storage[value].buffer, self.dim(self.layouts[value].offset), lanes=0)
        self.scalars[value] = read
        return read

    # Memory

    def allocate(self, dtype: DType, dims: tuple[Dim, ...], layout: Layout | None = None) -> Storage:
        """New memory for an array, in C order if no layout is given."""
        layout = contiguous(dims, dtype.itemsize) if layout is None else layout
        nbytes = self.dim(product(dims) * dtype.itemsize)
        buffer = self.builder.make("alloc", nbytes, dtype=dtype)
        return Storage(buffer, nbytes, -1, dtype, dims, layout)

    def give(self, value: Value, storage: Storage) -> None:
        """``value`` is what this memory holds."""
        self.storage[value], self.layouts[value] = storage, storage.layout

    def free(self, storage: Storage) -> None:
        assert storage.bytes is not None
        self.builder.add("free", storage.buffer, storage.bytes)

    def copy_into(self, source: Value, storage: Storage, layout: Layout) -> None:
        """Copy the elements of ``source`` to ``layout`` in existing memory."""
        assert isinstance(source.type, Tensor)
        inner = Builder(loc=self.builder.loc)
        parameter = Value(source.type, source.name)
        copied = inner.make("copy", parameter)
        region = inner.region((parameter,), (copied,))
        outer = Builder(loc=self.builder.loc)
        outer.add("fusion", source, types=(source.type,), regions=(region,))
        (op,) = outer.ops
        name = f"copy_{len(self.kernels)}"
        kernel = lower_nest(op, [self.layouts[source]], self.target, name=name, into={0: layout})
        self.launch(kernel, (source,), (storage,))

    def contiguous_copy(self, value: Value) -> Storage:
        """The elements of ``value`` in C order, in memory that the caller frees."""
        assert isinstance(value.type, Tensor)
        storage = self.allocate(value.type.dtype, value.type.dims)
        self.copy_into(value, storage, storage.layout)
        return storage

    # Kernels

    def launch(
        self,
        kernel: Kernel,
        operands: Sequence[Value],
        outputs: Sequence[Storage],
        stored: Sequence[Storage | None] | None = None,
    ) -> None:
        """Call a kernel, with scratch memory for the time of the call; ``stored`` is where its operands lie."""
        stored = [self.storage.get(operand) for operand in operands] if stored is None else stored
        arguments: list[Value] = []
        scratch: list[tuple[Value, Value]] = []
        for argument in kernel.arguments:
            if argument.kind == "operand":
                storage = stored[argument.position]
                assert storage is not None
                arguments.append(storage.buffer)
            elif argument.kind == "scalar":
                arguments.append(self.scalar(operands[argument.position]))
            elif argument.kind == "output":
                arguments.append(outputs[argument.position].buffer)
            elif argument.kind == "size":
                arguments.append(self.dim(argument.dim))
            else:
                nbytes = self.dim(argument.dim)
                buffer = self.builder.make("alloc", nbytes, dtype=argument.dtype)
                scratch.append((buffer, nbytes))
                arguments.append(buffer)
        self.kernels.append(kernel.function)
        self.builder.add("launch", *arguments, kernel=kernel.function.name)
        for buffer, nbytes in scratch:
            self.builder.add("free", buffer, nbytes)

    # Results

    def give_results(self) -> tuple[tuple[ResultPlace, ...], int]:
        places: list[ResultPlace] = []
        owners: dict[Storage, int] = {}
        results = self.function.results
        for value in results:
            storage = self.storage.get(value)
            if storage is not None and self._is_whole(value, storage) and storage not in owners:
                owners[storage] = results.index(value)
        bases: list[Storage] = []
        slot = 0
        for position, value in enumerate(results):
            if not isinstance(value.type, Tensor):
                type = value.type
                assert isinstance(type, Scalar)
                self.builder.add("result", self.scalar(value), slot=slot)
                places.append(ResultPlace("scalar", slot, type.dtype, 0))
                slot += 2 if type.dtype == C128 else 1
                continue
            storage = self.storage[value]
            if storage.parameter >= 0:
                place = ResultPlace("argument", slot, value.type.dtype, value.type.rank, storage.parameter)
            elif owners.get(storage) == position:
                place = ResultPlace("new", slot, value.type.dtype, value.type.rank)
            else:
                if storage not in owners:
                    owners[storage] = len(results) + len(bases)
                    bases.append(storage)
                place = ResultPlace("result", slot, value.type.dtype, value.type.rank, owners[storage])
            places.append(place)
            slot = self._give_array(storage, self.layouts[value], value.type.dims, slot)
        for storage in bases:
            places.append(ResultPlace("new", slot, storage.dtype, len(storage.dims)))
            slot = self._give_array(storage, storage.layout, storage.dims, slot)
        return tuple(places), slot

    def _is_whole(self, value: Value, storage: Storage) -> bool:
        return storage.parameter < 0 and self.layouts[value] == storage.layout and value.type.dims == storage.dims  # type: ignore[union-attr]

    def _give_array(self, storage: Storage, layout: Layout, dims: tuple[Dim, ...], slot: int) -> int:
        buffer = storage.buffer
        if layout.offset != 0:
            buffer = self.builder.make("offset", buffer, self.dim(layout.offset))
        for value in (buffer, *(self.dim(dim) for dim in dims), *(self.dim(stride) for stride in layout.strides)):
            self.builder.add("result", value, slot=slot)
            slot += 1
        return slot


def _divides_plainly(left: Dim, right: Dim) -> bool:
    """Whether rounding down is rounding towards zero, and the divisor is no trap."""
    bound = lower_bound(left)
    return isinstance(right, int) and right > 0 and bound is not None and bound >= 0
