"""Puts a ``copy`` where an array must lie in memory in a way in which it does not.

Three places need one: a result that is a view of a number (``np.ones(n)``), an operand of a library call that is, and
a reshape of memory that has gaps, for which NumPy copies too. Relies on the layout classes of the parameters, which
stand in the function's attribute ``layouts``; computed arrays are taken to be in C order (`lower` keeps them so where
they are reshaped). Everything else about layouts is decided in `lower`.

    %0: f32[n, m] = broadcast 1.0          %0: f32[n, m] = broadcast 1.0
    yield %0                         ->    %1: f32[n, m] = copy %0
                                           yield %1
"""

from __future__ import annotations

from jitflow.ir.core import Builder, Function, Op, Value, clone_op
from jitflow.ir.types import Tensor
from jitflow.passes.axes import is_axis_view
from jitflow.passes.layout import Layout, contiguous, parameter_layout, view_layout

__all__ = ["materialize"]


def materialize(function: Function) -> Function:
    """Insert the copies that lowering relies on."""
    return _Materializing(function).run()


class _Materializing:
    def __init__(self, function: Function) -> None:
        self.function = function
        kinds = function.attributes.get("layouts", ("C",) * len(function.parameters))
        self.layouts: dict[Value, Layout] = {
            parameter: parameter_layout(position, parameter.type, kind)
            for position, (parameter, kind) in enumerate(zip(function.parameters, kinds, strict=True))
            if isinstance(parameter.type, Tensor)
        }
        self.of_number: set[Value] = set()
        self.renamed: dict[Value, Value] = {}
        self.builder = Builder()

    def run(self) -> Function:
        for op in self.function.region.body:
            self._visit(op)
        last = self.function.region.ops[-1]
        results = tuple(self._in_memory(self.renamed.get(value, value)) for value in last.operands)
        self.builder.add("yield", *results)
        return self.function.with_ops(self.builder.ops)

    def _visit(self, op: Op) -> None:
        operands = [self.renamed.get(operand, operand) for operand in op.operands]
        if "view" in op.definition.traits:
            self.builder.loc = op.loc
            if op.name == "reshape" and operands[0] in self.layouts and self._has_gaps(op, operands[0]):
                operands = [self._copy(operands[0])]
        elif not op.definition.traits & {"elementwise", "reduction"}:
            self.builder.loc = op.loc
            operands = [self._in_memory(operand) for operand in operands]
        changed = any(new is not old for new, old in zip(operands, op.operands, strict=True))
        new = clone_op(op, self.renamed, operands=operands) if changed else op
        self.builder.ops.append(new)
        self._note(new)

    def _note(self, op: Op) -> None:
        for result in op.results:
            if not isinstance(result.type, Tensor):
                continue
            if "view" not in op.definition.traits:
                self.layouts[result] = contiguous(result.type.dims, result.type.dtype.itemsize)
            elif op.operands[0] in self.layouts:
                layout = view_layout(op, self.layouts[op.operands[0]], result.type.dtype.itemsize)
                assert layout is not None
                self.layouts[result] = layout
            else:
                self.of_number.add(result)

    def _has_gaps(self, op: Op, operand: Value) -> bool:
        assert isinstance(operand.type, Tensor)
        if is_axis_view(op):
            return False
        return view_layout(op, self.layouts[operand], operand.type.dtype.itemsize) is None

    def _in_memory(self, value: Value) -> Value:
        return self._copy(value) if value in self.of_number else value

    def _copy(self, value: Value) -> Value:
        copied = self.builder.make("copy", value)
        self._note(self.builder.ops[-1])
        return copied
