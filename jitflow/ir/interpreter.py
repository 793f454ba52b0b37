"""The reference: runs any function of the IR, op by op, with NumPy as the table of operations says.

Every pass and every backend is compared with it, and it with plain NumPy, so it is written to be plainly right, not
fast. It serves all three layers: a kernel and a host program run on byte buffers (`jitflow.ir.ops.memory`), so that
lowering can be checked without a code generator.

================  ====================================================================
type              what stands for a value
================  ====================================================================
tensor            ``numpy.ndarray`` (0-d included), never written to
scalar            a NumPy scalar; a Python number if weak
index             ``int``
variable, place   the ``numpy.ndarray`` itself, and views of it
tape              a ``list``
container         `jitflow.ir.ops.containers.Entries`
vector            a 1-d ``numpy.ndarray`` of its lanes
buffer            `Memory`; arrays are accepted as arguments
================  ====================================================================

Sizes are bound where a type first mentions them: by the shapes of arguments, by the parameters of a region, by the
results of an op. Inside a region they are its own, so that each turn of a loop binds them anew. Whatever else a type
says about a value is checked, and a contradiction is a `CompilerBug`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jitflow.errors import CompilerBug
from jitflow.ir.channels import Channels
from jitflow.ir.core import Attributes, Function, Op, Region, Value, kernel_operands
from jitflow.ir.dims import Dim, Expression, evaluate, substitute, symbols
from jitflow.ir.ops.memory import Memory
from jitflow.ir.ops.products import multiply_block
from jitflow.ir.printer import print_op
from jitflow.ir.python_numbers import CHECKED_ARITHMETIC
from jitflow.ir.types import Buffer, Container, Index, Place, Scalar, Tensor, Type, Variable, Vector, dims_of, map_dims

__all__ = ["interpret"]

Results = Sequence[Any]
Library = Callable[..., Any]


def interpret(
    function: Function,
    *arguments: Any,
    libraries: Mapping[str, Library] | None = None,
    channels: Channels | None = None,
    record: list[int] | None = None,
) -> tuple[Any, ...]:
    """Run ``function`` and return its results; those of a host program in the order of their slots.

    Variables among the arguments are written to in place. ``libraries`` stands for the symbols that ``library`` ops
    call; ``channels`` and ``record`` are those of a partition that runs with others. Raises what the program raises,
    ValueError for arguments that do not fit the parameters, and `CompilerBug` for IR that contradicts itself.
    """
    interpreter = _Interpreter(function, libraries or {})
    interpreter.channels = channels or interpreter.channels
    interpreter.record = interpreter.record if record is None else record
    if function.layer == "host":
        interpreter.arguments = arguments
        results = interpreter.run(function, ())
        return tuple(interpreter.results[slot] for slot in sorted(interpreter.results)) or results
    return interpreter.run(function, arguments)


class _Interpreter:
    def __init__(self, function: Function, libraries: Mapping[str, Library]) -> None:
        self.functions = {inner.name: inner for inner in function.functions}
        self.libraries = libraries
        self.values: dict[Value, Any] = {}
        self.recursions: dict[str, tuple[Op, dict[str, int]]] = {}
        """Those that are running, and the sizes around them."""
        self.arguments: Sequence[Any] = ()
        self.results: dict[int, Any] = {}
        self.channels = Channels(patience=0.0)
        self.record: list[int] = []

    def run(self, function: Function, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results of a function with values and sizes of its own."""
        if len(arguments) != len(function.parameters):
            raise ValueError(f"{function.name}: expected {len(function.parameters)} arguments, got {len(arguments)}")
        sizes: dict[str, int] = {}
        types = [parameter.type for parameter in function.parameters]
        values = [_as_type(argument, type) for argument, type in zip(arguments, types, strict=True)]
        problem = _bind(types, values, sizes)
        if problem:
            raise ValueError(f"{function.name}: {problem}")
        for fact in function.facts:
            if not _RELATIONS[fact.relation](evaluate(fact.left, sizes), evaluate(fact.right, sizes)):
                raise ValueError(f"{function.name}: expected sizes with {fact}, got {sizes}")
        outer, self.values = self.values, dict(zip(function.parameters, values, strict=True))
        try:
            return self.ops(function.region, sizes)
        finally:
            self.values = outer

    def region(self, op: Op, region: Region, arguments: Sequence[Any], sizes: dict[str, int]) -> tuple[Any, ...]:
        """The results of a region, in which new sizes are its own."""
        inner = dict(sizes)
        self.define(op, region.parameters, arguments, inner)
        return self.ops(region, inner)

    def ops(self, region: Region, sizes: dict[str, int]) -> tuple[Any, ...]:
        for op in region.body:
            self.op(op, sizes)
        return tuple(self.values[value] for value in region.yielded)

    def op(self, op: Op, sizes: dict[str, int]) -> None:
        operands = [self.values[operand] for operand in op.operands]
        special = _SPECIAL.get(op.name)
        results = special(self, op, operands, sizes) if special else _evaluate(op, operands, sizes)
        self.define(op, op.results, results, sizes)

    def define(self, op: Op, names: Sequence[Value], results: Results, sizes: dict[str, int]) -> None:
        """Give values to results or parameters, and bind the sizes that their types mention first."""
        types = [value.type for value in names]
        if len(results) != len(names):
            raise CompilerBug(f"expected {len(names)} results, got {len(results)}", operation=print_op(op))
        values = [_as_type(result, type) for result, type in zip(results, types, strict=True)]
        problem = _bind(types, values, sizes)
        if problem:
            raise CompilerBug(problem, operation=print_op(op), location=op.loc)
        self.values.update(zip(names, values, strict=True))

    # Ops that need more than their operands' values

    def if_(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        return self.region(op, op.regions[0 if operands[0] else 1], (), sizes)

    def for_(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        start, stop, step, *carried = operands
        for position in range(start, stop, step):
            carried = list(self.region(op, op.regions[0], (position, *carried), sizes))
        return carried

    def overlap_block(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        *multiplied, steps, start, stop = operands
        for row in range(start, stop):
            for column in range(0, op.attributes["columns"], op.attributes["lanes"]):
                self.region(op, op.regions[0], (row, column), sizes)
        counts = op.attributes["rows"], op.attributes["columns"], steps, 0, 0
        multiply_block([*multiplied, *counts], op.attributes, ())
        return ()

    def multiply_tile(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        left, left_start, *left_strides, right, right_start, right_step, right_column = operands[:8]
        rows, columns, steps, top, edge = operands[8:]
        dtype, tile, count = op.attributes["dtype"], op.attributes["tile"], np.arange(steps)

        def line(memory: Memory, start: int, stride: int) -> Any:
            return memory.read(start + stride * count, dtype, np.ones(steps, np.bool_)).astype(np.float64)

        for row in range(top, min(top + tile, rows)):
            numbers = line(left, left_start + row * left_strides[0], left_strides[1])
            for column in range(edge, min(edge + tile, columns)):
                total = np.float32(numbers @ line(right, right_start + column * right_column, right_step))
                self.region(op, op.regions[0], (row, column, total), sizes)
        return ()

    def attend(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        left, right, third, (out, out_start, out_row) = (operands[place : place + 3] for place in (0, 3, 6, 9))
        rows, columns, steps, values, top = operands[12:]
        itemsize = op.attributes["dtype"].itemsize

        def row(of: Sequence[Any], number: int, count: int) -> Any:
            memory, start, stride = of
            places = start + number * stride + itemsize * np.arange(count)
            return memory.read(places, op.attributes["dtype"], np.ones(count, np.bool_)).astype(np.float64)

        for at in range(top, min(top + op.attributes["tile"], rows)):
            products = [row(left, at, steps) @ row(right, column, steps) for column in range(columns)]
            scores = [self.region(op, op.regions[0], (at, column, np.float32(number)), sizes)[0]
                      for column, number in enumerate(products)]  # fmt: skip
            most = max(scores, default=np.float32(0))
            powers = np.array([self.region(op, op.regions[1], (score - most,), sizes)[0] for score in scores])
            sums = sum((power * row(third, number, values) for number, power in enumerate(powers)), np.zeros(values))
            made = (sums / powers.sum()).astype(op.attributes["out"].numpy)
            places = out_start + at * out_row + op.attributes["out"].itemsize * np.arange(values)
            out.write(places, made, np.ones(values, np.bool_))
        return ()

    def share(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        self.region(op, op.regions[0], (0, operands[0], 0), sizes)
        return ()

    def while_(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        condition, body = op.regions
        carried = operands
        while self.region(op, condition, carried, sizes)[0]:
            carried = self.region(op, body, carried, sizes)
        return carried

    def recursion(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        outer = self.recursions.get(op.attributes["function"])
        self.recursions[op.attributes["function"]] = op, dict(sizes)
        try:
            return self.region(op, op.regions[0], operands, sizes)
        finally:
            if outer is not None:
                self.recursions[op.attributes["function"]] = outer

    def recur(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        recursion, around = self.recursions[op.attributes["function"]]
        outer, self.values = self.values, dict(self.values)  # which are those of this call alone
        try:
            return self.region(recursion, recursion.regions[0], operands, around)
        finally:
            self.values = outer

    def fusion(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        return self.region(op, op.regions[0], operands, sizes)

    def call(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        name = op.attributes["kernel" if op.name == "launch" else "function"]
        if name not in self.functions:
            raise CompilerBug(f"expected a function of this program, got {name}", operation=print_op(op))
        return self.run(self.functions[name], kernel_operands(op, operands))

    def library(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        symbol = op.attributes["symbol"]
        if symbol not in self.libraries:
            raise NotImplementedError(f"the library symbol {symbol}: pass what stands for it in libraries=")
        self.libraries[symbol](*operands)
        return ()

    def argument(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        return (self.arguments[op.attributes["slot"]],)

    def result(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        self.results[op.attributes["slot"]] = operands[0]
        return ()

    def send(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        self.channels.send(op.attributes["channel"], tuple(operands))
        return ()

    def recv(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        message: Results = self.channels.receive(op.attributes["channel"])
        return message

    def meet(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        self.channels.meet()
        return ()

    def vmap(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        stacked = len(op.results) - op.attributes.get("shared", 0)
        examples = [self.region(op, op.regions[0], example, sizes) for example in zip(*operands, strict=True)]
        columns = list(zip(*examples, strict=True)) or [()] * len(op.results)
        found: list[Any] = []
        for number, (result, column) in enumerate(zip(op.results, columns, strict=True)):
            dims = tuple(evaluate(dim, sizes) for dim in dims_of(result.type))
            found.append(np.stack(column) if number < stacked and column else column[0] if column else np.zeros(dims))
        return found

    def progress(self, op: Op, operands: Results, sizes: dict[str, int]) -> Results:
        level = op.attributes["level"]
        before = self.record[level] if len(self.record) > level else 0
        self.record[level:] = [op.attributes.get("order", before + 1)]
        return ()


_SPECIAL: dict[str, Callable[[_Interpreter, Op, Results, dict[str, int]], Results]] = {
    "if": _Interpreter.if_,
    "for": _Interpreter.for_,
    "overlap_block": _Interpreter.overlap_block,
    "multiply_tile": _Interpreter.multiply_tile,
    "attend": _Interpreter.attend,
    "share": _Interpreter.share,
    "while": _Interpreter.while_,
    "recursion": _Interpreter.recursion,
    "recur": _Interpreter.recur,
    "fusion": _Interpreter.fusion,
    "recompute": _Interpreter.fusion,
    "custom_vjp": _Interpreter.fusion,
    "vmap": _Interpreter.vmap,
    "call": _Interpreter.call,
    "launch": _Interpreter.call,
    "library": _Interpreter.library,
    "argument": _Interpreter.argument,
    "result": _Interpreter.result,
    "send": _Interpreter.send,
    "recv": _Interpreter.recv,
    "meet": _Interpreter.meet,
    "progress": _Interpreter.progress,
}

_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    ">=": lambda left, right: left >= right,
    "<": lambda left, right: left < right,
}


def _evaluate(op: Op, operands: Results, sizes: Mapping[str, int]) -> Results:
    """The results of an op by its row in the table."""
    definition = op.definition
    if definition.evaluate is None:
        raise CompilerBug(f"{op.name} has no reference evaluation", operation=print_op(op))
    if op.attributes.get("checked") and op.name in CHECKED_ARITHMETIC:
        return (CHECKED_ARITHMETIC[op.name](*operands),)
    if "elementwise" in definition.traits:
        operands = [_strong(value, operand.type) for value, operand in zip(operands, op.operands, strict=True)]
    attributes = concrete_attributes(op.attributes, sizes)
    results = definition.evaluate(operands, attributes, [result.type for result in op.results])
    if not op.results:
        return ()
    shown = operands[0].elements if op.name == "show_items" else operands[0] if operands else None
    if isinstance(op.results[0].type, Place) and results.size and not np.may_share_memory(results, shown):
        raise CompilerBug("expected a view of the place, got a copy", operation=print_op(op), location=op.loc)
    return (results,) if len(op.results) == 1 else tuple(results)


def concrete_attributes(attributes: Attributes, sizes: Mapping[str, int]) -> Attributes:
    """The attributes with every dim turned into a number."""

    def concrete(value: Any) -> Any:
        if isinstance(value, Expression):
            return evaluate(value, sizes)
        if isinstance(value, tuple):
            return tuple(map(concrete, value))
        if isinstance(value, Tensor):
            return map_dims(value, lambda dim: evaluate(dim, sizes))
        return value

    return {key: concrete(value) for key, value in attributes.items()}


def _strong(value: Any, type: Type) -> Any:
    """A Python number as the NumPy scalar that has its bits, so that NumPy computes in the op's dtype."""
    return type.dtype.numpy.type(value) if isinstance(type, Scalar) and type.weak else value


def _as_type(value: Any, type: Type) -> Any:
    """The value in the form that stands for its type; see the table at the top."""
    if isinstance(type, Container):
        return value
    if isinstance(type, Scalar):
        number = np.asarray(value, dtype=type.dtype.numpy)[()]
        return number.item() if type.weak else number
    if isinstance(type, Tensor):
        return np.asarray(value, dtype=type.dtype.numpy)
    if isinstance(type, Index):
        return int(value)
    if isinstance(type, Vector):
        return np.asarray(value, dtype=type.dtype.numpy)
    if isinstance(type, Buffer) and isinstance(value, np.ndarray):
        return Memory.of_array(value)
    return value


def _bind(types: Sequence[Type], values: Sequence[Any], sizes: dict[str, int]) -> str:
    """Bind the sizes that the types name alone, and say how a value contradicts its type, if one does."""
    known: list[tuple[Type, Dim, int]] = []
    for type, value in zip(types, values, strict=True):
        if isinstance(type, Tensor | Variable | Place):
            if np.ndim(value) != len(type.dims):
                return f"expected {type}, got an array of shape {np.shape(value)}"
            known += [(type, dim, size) for dim, size in zip(dims_of(type), np.shape(value), strict=True)]
            if value.dtype != type.dtype.numpy:
                return f"expected {type}, got an array of dtype {value.dtype}"
        elif isinstance(type, Index) and type.dim is not None:
            known.append((type, type.dim, value))
        elif isinstance(type, Vector) and np.shape(value) != (type.lanes,):
            return f"expected {type}, got {np.shape(value)} lanes"
    for _, dim, size in known:
        if isinstance(dim, Expression) and dim.is_symbol:
            sizes.setdefault(str(dim), size)
    for type, dim, size in known:
        expected = substitute(dim, sizes)
        if expected != size and all(name in sizes for name in symbols(dim)):
            return f"expected {type} with {dim} = {expected}, got {size}"
    return ""
