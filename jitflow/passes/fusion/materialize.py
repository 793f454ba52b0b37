"""Puts a ``copy`` where an array must lie in memory in a way in which it does not.

Three places need one: a result that is a view of a number (``np.ones(n)``), an operand of a library call that is, and
a reshape of memory that has gaps, for which NumPy copies too. At the edges of a region there is a fourth: tensors
that flow into it or out of it lie in C order from the start of their memory on, so that one layout serves every turn
and both branches. What is pushed onto a tape, or put away in memory that began empty, is copied anyway, unless a
kernel writes it there: as an op the copy may be part of a kernel that reads the array as well. Relies on the layout
classes of the parameters, which stand in the function's attribute ``layouts``; computed arrays are taken to be in C
order (`lower` keeps them so where they are reshaped). A copy of a reshape that was copied for it, as in ``np.repeat``,
is that array by another name, and so is one of a product that nobody else reads. Everything else about layouts is
decided in `lower`.

    %0: f32[n, m] = broadcast 1.0          %0: f32[n, m] = broadcast 1.0
    yield %0                         ->    %1: f32[n, m] = copy %0
                                           yield %1
"""

from __future__ import annotations

from dataclasses import replace

from jitflow.ir.core import Builder, Function, Op, Region, Value, clone_op, uses, walk
from jitflow.ir.dims import symbol
from jitflow.ir.layout import Layout, contiguous, parameter_layout, view_layout
from jitflow.ir.types import Place, Tensor, Variable
from jitflow.passes.fusion.axes import is_axis_view

__all__ = ["materialize"]


def materialize(function: Function) -> Function:
    """Insert the copies that lowering relies on."""
    return _Materializing(function).run()


class _Materializing:
    def __init__(self, function: Function) -> None:
        self.function = function
        kinds = function.attributes.get("layouts", ("C",) * len(function.parameters))
        self.layouts: dict[Value, Layout] = {}
        for position, (parameter, kind) in enumerate(zip(function.parameters, kinds, strict=True)):
            if isinstance(parameter.type, Tensor):
                self.layouts[parameter] = parameter_layout(position, parameter.type, kind)
            elif isinstance(parameter.type, Variable):
                array = Tensor(parameter.type.dtype, parameter.type.dims)
                self.layouts[parameter] = parameter_layout(position, array, kind)
            else:
                self._note_flowing(parameter)
        self.of_number: set[Value] = set()
        self.computed: set[Value] = set()
        """What kernels of the present region compute."""
        self.read: set[Value] = set()
        """What kernels of the present region read."""
        self.empty: set[Value] = set()
        """Memory that began empty: arrays, variables, and places in them."""
        self.copied: set[Value] = set()
        """What one op of the present region reads, which copies it."""
        self.owned: set[Value] = set()
        """What shows a copy that was made for it alone."""
        self.renamed: dict[Value, Value] = {}
        self.builder = Builder()

    def run(self) -> Function:
        self.counts = uses(self.function.region)
        self.products = {op.result for op in walk(self.function.region) if "contraction" in op.definition.traits}
        self.read, self.copied = _read_by_kernels(self.function.region), self._only_copied(self.function.region)
        for op in self.function.region.body:
            self._visit(op)
        last = self.function.region.ops[-1]
        results = tuple(self._in_memory(self.renamed.get(value, value)) for value in last.operands)
        self.builder.add("yield", *results)
        return self.function.with_ops(self.builder.ops)

    def _visit(self, op: Op) -> None:
        self.builder.loc = op.loc
        operands = [self.renamed.get(operand, operand) for operand in op.operands]
        if "view" in op.definition.traits:
            if op.name == "reshape" and isinstance(operands[0].type, Tensor) and self._has_gaps(op, operands[0]):
                operands = [self._copy(operands[0])]
                if op.result in self.copied:
                    self._own(op, operands[0])
                    return
            elif op.name == "reshape" and op.result in self.copied and self._is_a_product(op.operands[0]):
                self._own(op, operands[0])
                return
        elif op.name == "copy" and operands[0] in self.owned and "order" not in op.attributes:
            self.renamed[op.result] = operands[0]
            return
        elif op.regions:
            self._visit_regions(op, operands)
            return
        elif op.definition.traits & {"elementwise", "reduction"}:
            self.computed.update(op.results)
        elif op.name == "push" or self._puts_away(op):
            operands = [operands[0], self._put_away(operands[1])]
        else:
            operands = [self._in_memory(operand) for operand in operands]
        changed = any(new is not old for new, old in zip(operands, op.operands, strict=True))
        new = clone_op(op, self.renamed, operands=operands) if changed else op
        self.builder.ops.append(new)
        self._note(new)

    def _own(self, reshape: Op, copied: Value) -> None:
        """The array that a reshape shows, which the copy of it need not copy again."""
        attributes = {**reshape.attributes, "owned": True}
        shown = self.builder.make("reshape", copied, **attributes)
        self._note(self.builder.ops[-1])
        self.renamed[reshape.result] = shown
        self.owned.add(shown)

    def _is_a_product(self, value: Value) -> bool:
        """Whether a value has memory of its own, which only one op reads."""
        return value in self.products and self.counts[value] == 1

    def _only_copied(self, region: Region) -> set[Value]:
        copies = (op.operands[0] for op in region.body if op.name == "copy")
        return {value for value in copies if self.counts[value] == 1}

    def _visit_regions(self, op: Op, operands: list[Value]) -> None:
        operands = [self._at_edge(operand) for operand in operands]
        regions = tuple(map(self._region, op.regions))
        self.builder.ops.append(replace(op, operands=tuple(operands), regions=regions))
        for result in op.results:
            self._note_flowing(result)

    def _region(self, region: Region) -> Region:
        outer, self.builder = (self.builder, self.computed, self.read, self.copied), Builder()
        self.computed, self.read, self.copied = set(), _read_by_kernels(region), self._only_copied(region)
        for parameter in region.parameters:
            self._note_flowing(parameter)
        for op in region.body:
            self._visit(op)
        yielded = [self._at_edge(self.renamed.get(value, value)) for value in region.yielded]
        inner = self.builder.region(region.parameters, yielded)
        self.builder, self.computed, self.read, self.copied = outer
        return inner

    def _at_edge(self, value: Value) -> Value:
        """The value as it flows into a region or out of it."""
        if not isinstance(value.type, Tensor) or not value.type.rank:
            return value
        expected = contiguous(value.type.dims, value.type.dtype.itemsize)
        return value if self.layouts.get(value) == expected else self._copy(value)

    def _note_flowing(self, value: Value) -> None:
        """A parameter or result of a region; only the running program knows how a place lies."""
        kind = value.type
        if isinstance(kind, Tensor):
            self.layouts[value] = contiguous(kind.dims, kind.dtype.itemsize)
        elif isinstance(kind, Place):
            strides = tuple(symbol(f"$stride_{axis}") for axis in range(len(kind.dims)))
            self.layouts[value] = Layout(symbol("$offset"), strides)

    def _note(self, op: Op) -> None:
        shows = op.name == "variable" or _shows_memory(op)
        if op.name == "empty" or (shows and op.operands[0] in self.empty):
            self.empty.add(op.result)
        for result in op.results:
            kind = result.type
            if not isinstance(kind, Tensor | Variable | Place):
                continue
            if op.name == "load":
                if op.operands[0] in self.layouts:
                    self.layouts[result] = self.layouts[op.operands[0]]
            elif "view" not in op.definition.traits:
                self.layouts[result] = contiguous(kind.dims, kind.dtype.itemsize)
            elif op.operands[0] in self.layouts:
                layout = view_layout(op, self.layouts[op.operands[0]], kind.dtype.itemsize)
                if layout is not None:
                    self.layouts[result] = layout
            elif isinstance(kind, Tensor) and (
                op.operands[0] in self.of_number or not isinstance(op.operands[0].type, Tensor)
            ):
                self.of_number.add(result)

    def _has_gaps(self, op: Op, operand: Value) -> bool:
        assert isinstance(operand.type, Tensor)
        if operand in self.of_number or is_axis_view(op):
            return False
        layout = self.layouts.get(operand)
        return layout is None or view_layout(op, layout, operand.type.dtype.itemsize) is None

    def _puts_away(self, op: Op) -> bool:
        """Whether an op stores what a kernel reads to memory that began empty."""
        return op.name == "store" and op.operands[0] in self.empty and op.operands[1] in self.read

    def _put_away(self, value: Value) -> Value:
        """The value as a kernel computes it for a tape; numbers go there as they are."""
        if not isinstance(value.type, Tensor) or not value.type.rank or value in self.computed:
            return value
        return self._copy(value)

    def _in_memory(self, value: Value) -> Value:
        return self._copy(value) if value in self.of_number else value

    def _copy(self, value: Value) -> Value:
        copied = self.builder.make("copy", value)
        self._note(self.builder.ops[-1])
        return copied


def _shows_memory(op: Op) -> bool:
    """Whether an op shows a part of memory, and not what it holds."""
    return "view" in op.definition.traits and isinstance(op.result.type, Place)


def _read_by_kernels(region: Region) -> set[Value]:
    """What elementwise ops and reductions of a region read."""
    computing = {"elementwise", "reduction"}
    return {operand for op in region.body if op.definition.traits & computing for operand in op.operands}
