"""What a fusion is as a loop nest: its loops, where each operand lies along them, and the order of its sweeps.

A nest has *outer* loops, and *reduced* loops when it holds reductions. A value that varies along a reduced loop lives
inside a sweep over these loops; a reduction's result lives outside. Sweep k runs the reductions whose operands need
the results of k earlier sweeps: in a softmax the maximum is found in sweep 0, the sum of exponentials in sweep 1, and
the quotients are written in sweep 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jitflow.ir.core import Op, Region, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import DType
from jitflow.ir.layout import Layout, contiguous, view_layout
from jitflow.ir.types import Scalar, Tensor, dims_of
from jitflow.passes.fusion.axes import Axes, Axis, is_axis_view
from jitflow.records import cached, dataclass

__all__ = ["Access", "Loop", "NeedsCopyError", "Nest", "is_folded", "nest_of", "rounds"]


class NeedsCopyError(Exception):
    """A view of ``parameter`` cannot be read in place (a reshape of strided memory): it must be copied first."""

    def __init__(self, view: Value) -> None:
        super().__init__(str(view.type))
        self.view = view


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """One loop: how often it runs, and whether reductions fold it.

    ``in_order``: what one of its turns gives is a result, and what the next one goes on from: a running accumulation.
    """

    dim: Dim
    reduced: bool
    in_order: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Access:
    """How an array in memory is read or written in the nest: byte offset, and byte stride for each loop.

    ``pattern`` is the byte stride of an operand that repeats along the lanes (`Schedule.period`), 0 for every other.
    """

    buffer: Value
    dtype: DType
    offset: Dim
    strides: dict[Loop, Dim]
    pattern: Dim = 0


class Nest:
    """The analysis of one fusion region. ``layouts`` gives the layout of each tensor parameter."""

    def __init__(self, region: Region, layouts: dict[Value, Layout]) -> None:
        self.region = region
        self.producer = {result: op for op in region.body for result in op.results}
        self.computed = [op for op in region.body if not _is_view(op) and op.name not in ("constant", "size")]
        self.axes = Axes()
        self._relate()
        self.layouts = dict(layouts)
        self._extend_layouts()
        self.loop_of: dict[Axis, Loop] = {}
        self.order = self._find_loops()

    # Axes and loops

    def _relate(self) -> None:
        for op in self.computed:
            self.axes.relate(op)
            for operand in op.operands:
                view = self.producer.get(operand)
                while view is not None and is_axis_view(view) and self._is_computed(view):
                    self.axes.relate(view)
                    view = self.producer.get(view.operands[0])

    def _is_computed(self, view: Op) -> bool:
        """Whether a chain of axis views starts at a computed value rather than in memory, or at a number."""
        source: Op | None = view
        while source is not None and _is_view(source):
            source = self.producer.get(source.operands[0])
        return source is not None and source.name not in ("constant", "size")

    def _find_loops(self) -> list[Loop]:
        dims: dict[Axis, Dim] = {}
        spans: dict[tuple[Axis, ...], None] = {}
        reduced: set[Axis] = set()
        in_order: set[Axis] = set()
        for op in self.computed:
            sources = op.operands[1:] if op.name == "gather" else op.operands
            for value in (*op.results, *sources):
                if isinstance(value.type, Tensor):
                    classes = self.axes.classes(value)
                    dims.update(zip(classes, (dim for dim in value.type.dims if dim != 1), strict=True))
                    spans[classes] = None
            folded = {self.axes.find((op.operands[0], axis)) for axis in _folded_axes(op)}
            reduced |= folded
            in_order |= folded if _runs(op) else set()
        ordered = self._order_of(spans, reduced)
        for axis in ordered:
            self.loop_of[axis] = Loop(dims[axis], axis in reduced, axis in in_order)
        return [self.loop_of[axis] for axis in ordered]

    def _order_of(self, spans: Iterable[tuple[Axis, ...]], reduced: set[Axis]) -> list[Axis]:
        """The axes of the first value that spans all loops so that every narrower result spans the outer ones."""
        rank = max(map(len, spans), default=0)
        results = [classes for value in self.region.yielded if len(classes := self.axes.classes(value)) < rank]
        for widest in (classes for classes in spans if len(classes) == rank):
            outer = [axis for axis in widest if axis not in reduced]
            if all(set(classes) == set(outer[: len(classes)]) for classes in results):
                return [*outer, *(axis for axis in widest if axis in reduced)]
        assert not rank, "a result that spans no outer loops cannot be stored"
        return []

    def loops_of(self, value: Value) -> tuple[Loop, ...]:
        """The loops of a value's axes that are longer than 1, in axis order."""
        return tuple(self.loop_of[axis] for axis in self.axes.classes(value))

    # Memory

    def _extend_layouts(self) -> None:
        """Give every view of a parameter its layout."""
        for op in self.region.body:
            if _is_view(op) and op.operands[0] in self.layouts:
                operand = op.operands[0]
                assert isinstance(operand.type, Tensor)
                layout = view_layout(op, self.layouts[operand], operand.type.dtype.itemsize)
                if layout is None:
                    raise NeedsCopyError(op.result)
                self.layouts[op.result] = layout

    def buffer_of(self, value: Value) -> Value:
        """The parameter that a view shows."""
        while value in self.producer:
            value = self.producer[value].operands[0]
        return value

    def access(self, value: Value, loops: tuple[Loop | None, ...] | None = None) -> Access:
        """How a value in memory is addressed; ``loops`` names the loop of each axis where they are not its own."""
        assert isinstance(value.type, Tensor)
        layout = self.layouts[value]
        if loops is None:
            loops = tuple(
                None if dim == 1 else self.loop_of[self.axes.find((value, axis))]
                for axis, dim in enumerate(value.type.dims)
            )
        strides: dict[Loop, Dim] = {}
        for loop, stride in zip(loops, layout.strides, strict=True):
            if loop is not None:
                strides[loop] = strides.get(loop, 0) + stride
        return Access(self.buffer_of(value), value.type.dtype, layout.offset, strides)

    @cached
    def loads(self) -> tuple[Access, ...]:
        """How everything that is read from memory is read."""
        found: list[Access] = []
        seen: set[Value] = set()
        for op in self.computed:
            for position, operand in enumerate(op.operands):
                if op.name == "gather" and position == 0:
                    found.append(self.access(operand, self.gather_loops(op)))
                elif operand in self.layouts and operand not in seen:
                    seen.add(operand)
                    found.append(self.access(operand))
        return tuple(found)

    # Results

    def strides_of(self, value: Value, layout: Layout) -> dict[Loop, Dim]:
        """The byte stride along each loop of a result that lies as ``layout`` says."""
        strides = [stride for stride, dim in zip(layout.strides, dims_of(value.type), strict=True) if dim != 1]
        return dict(zip(self.loops_of(value), strides, strict=True))

    def runs_backwards(self, placed: Mapping[Value, Layout], keep_order: bool, *, is_asked: bool = False) -> bool:
        """Whether the loops run in reversed order: if all that spans them lies in Fortran order, or that ``is_asked``.

        Results lie as the loops run, unless they have to be in C order, or are ``placed`` where there is memory.
        """
        order, yielded = self.order, self.region.yielded
        fixed = bool(placed or keep_order) and len(placed) < len(yielded)
        if len(order) < 2 or fixed or any(loop.reduced for loop in order):
            return False
        if any(len(self.loops_of(value)) < len(order) for value in yielded):
            return False  # narrower results are stored outside of the inner loops
        accesses = [(load.strides, load.dtype.itemsize) for load in self.loads]
        accesses += [(self.strides_of(value, layout), _itemsize(value)) for value, layout in placed.items()]
        return (is_asked and not placed) or _lie_backwards(accesses, order)

    def access_alone(self, value: Value, read: Iterable[Access]) -> Access:
        """How a value is addressed, or would be if it was an array of its own, computed of what is ``read``."""
        if value in self.layouts:
            return self.access(value)
        loops = self.loops_of(value)
        backwards = _lie_backwards([(load.strides, load.dtype.itemsize) for load in read], loops)
        assert isinstance(value.type, Tensor)
        dims, dtype = value.type.dims, value.type.dtype
        layout = contiguous(dims, dtype.itemsize, tuple(reversed(range(len(dims)))) if backwards else None)
        return Access(value, dtype, 0, self.strides_of(value, layout))

    def result_layout(self, value: Value, backwards: bool) -> Layout:
        """Results are contiguous: in C order, or in the order of loops that run backwards."""
        dims, order = dims_of(value.type), None
        if backwards:
            position = {loop: number for number, loop in enumerate(reversed(self.order))}
            ranks = [
                -1 if dim == 1 else position[self.loop_of[self.axes.find((value, axis))]]
                for axis, dim in enumerate(dims)
            ]
            order = tuple(sorted(range(len(dims)), key=ranks.__getitem__))
        return contiguous(dims, _itemsize(value), order)

    # Sweeps

    @cached
    def varying(self) -> dict[Value, frozenset[Loop]]:
        """The loops along which each value really changes (a broadcast does not vary along its new axes)."""
        table: dict[Value, frozenset[Loop]] = {}
        for op in self.region.body:
            for result in op.results:
                table[result] = self._varying(op, result, table)
        return table

    def _varying(self, op: Op, result: Value, table: dict[Value, frozenset[Loop]]) -> frozenset[Loop]:
        if op.name == "iota":
            axis = op.attributes["axis"]
            along = self.loop_of.get(self.axes.find((result, axis)))
            return frozenset() if along is None else frozenset((along,))
        if result in self.layouts:
            return self._varying_in_memory(result)
        if op.name == "gather":
            source_loops = self.gather_loops(op)
            inner = frozenset(loop for loop in source_loops if loop is not None)
            return inner.union(*(self._lookup(operand, table) for operand in op.operands[1:]))
        union: frozenset[Loop] = frozenset().union(*(self._lookup(operand, table) for operand in op.operands))
        if "reduction" in op.definition.traits:
            return frozenset(loop for loop in union if not loop.reduced)
        return union.union(self.loop_of[self.axes.find((result, axis))] for axis in _folded_axes(op) if _runs(op))

    def _lookup(self, value: Value, table: dict[Value, frozenset[Loop]]) -> frozenset[Loop]:
        if value in table:
            return table[value]
        return self._varying_in_memory(value) if value in self.layouts else frozenset()

    def _varying_in_memory(self, value: Value) -> frozenset[Loop]:
        if value not in self._used:
            return frozenset()
        strides = self.access(value).strides
        return frozenset(loop for loop, stride in strides.items() if stride != 0)

    @cached
    def _used(self) -> set[Value]:
        """Values that computing ops read directly (a gather's source is read its own way)."""
        return {
            operand
            for op in self.computed
            for position, operand in enumerate(op.operands)
            if not (op.name == "gather" and position == 0)
        }

    def gather_loops(self, op: Op) -> tuple[Loop | None, ...]:
        """For each axis of a gather's source the loop that runs along it; None for the gathered axes."""
        source, *indices = op.operands
        start, count = op.attributes["axis"], len(indices)
        index_rank = max((len(dims_of(index.type)) for index in indices), default=0)
        loops: list[Loop | None] = []
        for axis, dim in enumerate(dims_of(source.type)):
            if start <= axis < start + count or dim == 1:
                loops.append(None)
            else:
                target = axis if axis < start else axis - count + index_rank
                loops.append(self.loop_of[self.axes.find((op.result, target))])
        return tuple(loops)

    @cached
    def stage(self) -> dict[Value, int]:
        """How many sweeps must have run before a value can be computed."""
        table: dict[Value, int] = {}
        for op in self.region.body:
            needed = max((table.get(operand, 0) for operand in op.operands), default=0)
            step = 1 if "reduction" in op.definition.traits else 0
            for result in op.results:
                table[result] = needed + step
        return table

    def origin(self, value: Value) -> Value:
        """The value that axis views of a computed value show."""
        while value not in self.layouts:
            op = self.producer.get(value)
            if op is None or not _is_view(op):
                return value
            value = op.operands[0]
        return value


def nest_of(op: Op, layouts: Iterable[Layout | None]) -> Nest:
    """The nest of a fusion whose operands lie as ``layouts`` says; None for numbers."""
    (region,) = op.regions
    return Nest(region, {p: layout for p, layout in zip(region.parameters, layouts, strict=True) if layout is not None})


def _itemsize(value: Value) -> int:
    assert isinstance(value.type, Tensor | Scalar)
    return value.type.dtype.itemsize


def _lie_backwards(accesses: Iterable[tuple[Mapping[Loop, Dim], int]], order: Sequence[Loop]) -> bool:
    """Whether all that spans some loops lies in Fortran order."""
    if len(order) < 2:
        return False
    spanning = [
        (along[order[0]] == size, along[order[-1]] == size)
        for along, size in accesses
        if all(along.get(loop, 0) != 0 for loop in order)
    ]
    return bool(spanning) and all(first and not last for first, last in spanning)


def is_folded(op: Op) -> bool:
    """Whether an op takes one element after the other into what it comes to."""
    return bool(op.definition.traits & {"reduction", "accumulation"})


def rounds(op: Op) -> bool:
    """Whether an op is a reduction, and what it comes to depends on the order in which it takes elements."""
    if op.name not in ("reduce_add", "reduce_multiply", "reduce_m2"):
        return False
    kind = op.operands[0].type
    assert isinstance(kind, Tensor)
    return kind.dtype.kind in "fc"


def _runs(op: Op) -> bool:
    """Whether what an op has come to is a result after each element."""
    return "accumulation" in op.definition.traits


def _folded_axes(op: Op) -> list[int]:
    """The axes along which it does, as far as they are longer than 1."""
    axes = [op.attributes["axis"]] if _runs(op) else op.attributes["axes"] if is_folded(op) else []
    return [axis for axis in axes if dims_of(op.operands[0].type)[axis] != 1]


def _is_view(op: Op) -> bool:
    return "view" in op.definition.traits
