"""What holds of every function of the IR. This list is the specification; each number has its tests of invalid IR.

 1. *Layers.* The ops of a function belong to its layer or to any; the functions that it calls have none of their own.
 2. *Shape of an op.* It has as many operands and regions as its row says, and no attributes that its row does not know;
    `device` may stand on every op.
 3. *Dominance.* An operand is a parameter of an enclosing region or a result of an op before it in one of these.
 4. *Single assignment.* A value is defined once.
 5. *Regions* end with ``yield``, which stands nowhere else.
 6. *Typing.* The row's rule accepts the operands and gives the types of the results. Of a size the result may know more
    or less than the rule. In a host program promotion is over: a number of Python's is one of its dtype.
 7. *Control flow.* What flows along an edge into or out of a region, or into a called function, has the type that
    awaits it. A place awaits variables too. A size that is bound where the value arrives accepts every size.
 8. *Sizes.* Whatever mentions a size (types, attributes, facts) stands where it is bound: by a parameter of the
    function or of an enclosing region, or by an earlier op that has ``binds``, or no typing rule and not the trait
    ``sized``.
 9. *Sizes are bound once*, and their names can be told from other words of the text form.
10. *Facts* relate sizes by ``==``, ``!=``, ``>=`` or ``<``.
11. *Storage.* Variables, places and tapes go only to ops that read or write them, to views, and through regions and
    calls.
12. *Calls.* ``call`` and ``launch`` name a function of this program and give it the arguments that it takes. A
    ``recur`` stands in a ``recursion`` of its name, whose region takes what both give, and gives what both take.
13. *Messages.* In a tensor function a ``send`` takes one value or none, a ``recv`` gives one or none, never storage,
    ``meet`` and ``progress`` take nothing, and a channel has one ``send`` and one ``recv`` at most. (What holds of
    several partitions together, `jitflow.passes.partition` says.)
14. *Devices.* A host program reads and writes elements of the host's memory alone; the rest goes through ``transfer``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn, get_args

from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Region, TypeRuleError, Value, kernel_operands
from jitflow.ir.dims import Dim, Expression, symbols
from jitflow.ir.dtypes import BOOL, DTYPES, F32, I64
from jitflow.ir.effects import calls_again
from jitflow.ir.ops.derivative import example_of, stacked_of
from jitflow.ir.printer import LAYER_WORDS, Names, names_of, print_function, print_op
from jitflow.ir.types import Buffer, Index, Place, Scalar, Tape, Tensor, Type, Variable, dims_of, without_kinds

__all__ = ["verify"]

UNIVERSAL_ATTRIBUTES = frozenset({"device"})
_ELEMENT_OPS = ("read", "read_pair", "write", "write_pair")
RELATIONS = ("==", "!=", ">=", "<")

_RESERVED = frozenset({"true", "false", "none", "nan", "inf", "min", "max", "complex", *DTYPES})
_SIZE_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_.$]*\Z")
_TYPES = get_args(Type)
_MOST_VALUES = {"send": (1, 0), "recv": (0, 1), "meet": (0, 0), "progress": (0, 0)}
"""How many operands and results the ops between partitions have at most."""


def verify(function: Function, pass_name: str = "") -> None:
    """Raise `CompilerBug` unless every invariant above holds; ``pass_name`` says who made the function."""
    beside = {called.name: called for called in function.functions}
    for called in function.functions:
        _Verifier(called, pass_name, beside if called.attributes.get("recursive") else {}).run()
        if called.functions:
            raise CompilerBug(f"{called.name}: expected no functions inside a called one", pass_name=pass_name)
    _Verifier(function, pass_name, beside).run()


class _Verifier:
    def __init__(self, function: Function, pass_name: str, callees: dict[str, Function]) -> None:
        self.function = function
        self.pass_name = pass_name
        self.callees = callees
        self.defined: set[Value] = set()
        self.channels: set[tuple[str, int]] = set()
        self.recursions: list[str] = []
        """The names of those that are around the op that is looked at."""

    def run(self) -> None:
        function = self.function
        if function.layer not in LAYER_WORDS:
            self.fail(f"expected a layer ({', '.join(LAYER_WORDS)}), got {function.layer!r}")
        visible: set[Value] = set()
        sizes: set[str] = set()
        self.define(function.parameters, visible, sizes, binding=None)
        for fact in function.facts:
            if fact.relation not in RELATIONS:
                self.fail(f"expected a fact with {', '.join(RELATIONS)}, got {fact.relation!r}")
            self.check_sizes((fact.left, fact.right), sizes, f"the fact {fact}")
        self.ops(function.region, visible, sizes)

    def fail(self, message: str, op: Op | None = None) -> NoReturn:
        raise CompilerBug(
            f"{self.function.name}: {message}",
            pass_name=self.pass_name,
            operation=print_op(op, self.names()) if op else "",
            surrounding=print_function(self.function),
            location=op.loc if op else None,
        )

    def names(self) -> Names:
        return names_of(self.function)

    def name(self, value: Value) -> str:
        return "%" + self.names()[value]

    def plain(self, type: Type) -> Type:
        """A type as far as the layer tells it from others."""
        return type if self.function.layer == "tensor" else without_kinds(type)

    # Definitions

    def define(
        self, values: Sequence[Value], visible: set[Value], sizes: set[str], binding: set[str] | None,
        op: Op | None = None,
    ) -> set[str]:  # fmt: skip
        """Enter values and the sizes that their types bind; return these. ``binding`` limits them, None allows all."""
        for value in values:
            if value in self.defined:
                self.fail(f"expected {self.name(value)} to be defined once", op)
            self.defined.add(value)
            visible.add(value)
        named = {str(dim) for value in values for dim in _dims(value.type) if _is_symbol(dim)}
        bound = named - sizes if binding is None else named & binding
        for name in sorted(bound):
            if not _SIZE_NAME.match(name) or name in _RESERVED:
                self.fail(f"expected a name for a size, got {name!r}", op)
        sizes |= bound
        for value in values:
            self.check_sizes(_dims(value.type), sizes, str(value.type), op)
        return bound

    def check_sizes(self, dims: Iterable[Dim], sizes: set[str], where: str, op: Op | None = None) -> None:
        for dim in dims:
            for name in symbols(dim):
                if name not in sizes:
                    self.fail(f"expected a size that is bound before, got {name} in {where}", op)

    # Regions and ops

    def region(self, region: Region, op: Op, visible: set[Value], sizes: set[str]) -> set[str]:
        """Verify a region; return the sizes that its parameters bind."""
        inner_visible, inner_sizes = set(visible), set(sizes)
        bound = self.define(region.parameters, inner_visible, inner_sizes, None, op)
        self.ops(region, inner_visible, inner_sizes)
        return bound

    def ops(self, region: Region, visible: set[Value], sizes: set[str]) -> None:
        if not region.ops or region.ops[-1].name != "yield":
            self.fail("expected a region that ends with yield", region.ops[-1] if region.ops else None)
        for op in region.body:
            if op.name == "yield":
                self.fail("expected yield only at the end of a region", op)
        for op in region.ops:
            self.op(op, visible, sizes)

    def op(self, op: Op, visible: set[Value], sizes: set[str]) -> None:
        self.check_shape(op)
        for operand in op.operands:
            if operand not in visible:
                self.fail(f"expected {self.name(operand)} to be defined before its use", op)
        for key, value in op.attributes.items():
            self.check_sizes(_dims_inside(value), sizes, f"the attribute {key}", op)
        self.check_storage(op)
        if op.name in _MOST_VALUES and self.function.layer == "tensor":
            self.check_message(op)
        self.check_types(op)
        if op.name == "recursion":
            self.recursions.append(op.attributes["function"])
        arriving = [self.region(region, op, visible, sizes) for region in op.regions]
        if op.name == "recursion":
            self.recursions.pop()
        binding: set[str] | None = None
        if op.definition.infer is not None or "sized" in op.definition.traits:
            binding = {op.attributes["binds"]} if "binds" in op.attributes else set()
            if binding & sizes:
                self.fail(f"expected a new name for a size, got {op.attributes['binds']} again", op)
        bound = self.define(op.results, visible, sizes, binding, op)
        self.check_flow(op, arriving, bound)

    def check_shape(self, op: Op) -> None:
        if op.name == "recur" and op.attributes.get("function") not in self.recursions:
            self.fail(f"recur: expected a recursion around it, got {op.attributes.get('function')}", op)
        definition = op.definition
        if definition.layer not in ("any", self.function.layer):
            self.fail(f"expected ops of the {self.function.layer} layer, got {op.name} ({definition.layer})", op)
        if definition.arity is not None and len(op.operands) != definition.arity:
            self.fail(f"{op.name}: expected {_count(definition.arity, 'operand')}, got {len(op.operands)}", op)
        if len(op.regions) != definition.regions:
            self.fail(f"{op.name}: expected {_count(definition.regions, 'region')}, got {len(op.regions)}", op)
        for key in op.attributes:
            if key not in definition.attributes and key not in UNIVERSAL_ATTRIBUTES:
                self.fail(f"{op.name}: expected no attribute {key}", op)
        if op.name in _ELEMENT_OPS and self.function.layer == "host":
            memory = op.operands[0].type
            if isinstance(memory, Buffer) and memory.device != "cpu":
                self.fail(f"{op.name}: expected memory of the host, got {memory}; transfer it first", op)

    def check_storage(self, op: Op) -> None:
        if "view" in op.definition.traits or op.regions or op.name in ("yield", "call", "launch"):
            return
        touched = {effect.operand for effect in op.own_effects if effect.kind in ("reads", "writes")}
        for position, operand in enumerate(op.operands):
            if isinstance(operand.type, Variable | Place | Tape) and position not in touched:
                self.fail(f"{op.name}: expected a value, got {operand.type}; load it first", op)

    def check_message(self, op: Op) -> None:
        most = _MOST_VALUES[op.name]
        for values, count, what in ((op.operands, most[0], "operand"), (op.results, most[1], "result")):
            if len(values) > count:
                self.fail(f"{op.name}: expected {_count(count, what)} at most, got {len(values)}", op)
        for value in op.results:
            if not isinstance(value.type, Tensor | Scalar | Index):
                self.fail(f"recv: expected a value, got {value.type}; storage stays on its device", op)
        if op.name in ("send", "recv"):
            end = (op.name, op.attributes["channel"])
            if end in self.channels:
                self.fail(f"expected one {op.name} on channel {end[1]}, got another one", op)
            self.channels.add(end)

    def check_types(self, op: Op) -> None:
        if op.name in ("pop", "peek"):
            self.check_pop(op)
        if op.definition.infer is None:
            return
        try:
            inferred = op.definition.infer([self.plain(operand.type) for operand in op.operands], op.attributes)
        except TypeRuleError as error:
            self.fail(str(error), op)
        except KeyError as error:
            self.fail(f"{op.name}: expected the attribute {error.args[0]}", op)
        given = tuple(result.type for result in op.results)
        if len(inferred) != len(given):
            self.fail(f"{op.name}: expected {_count(len(inferred), 'result')}, got {len(given)}", op)
        for rule, result in zip(inferred, given, strict=True):
            if self.plain(rule) != self.plain(result) and not (
                isinstance(rule, Index) and isinstance(result, Index) and None in (rule.dim, result.dim)
            ):
                self.fail(f"{op.name}: expected a result of type {rule}, got {result}", op)

    def check_pop(self, op: Op) -> None:
        tape, types = op.operands[0].type, [result.type for result in op.results]
        kind = types[0] if len(types) == 1 else None
        if not isinstance(tape, Tape) or not isinstance(kind, Tensor | Scalar) or kind.dtype != tape.dtype:
            self.fail(f"{op.name}: expected a value of the dtype of {tape}, got {', '.join(map(str, types))}", op)
        if op.name == "peek" and not (isinstance(kind, Scalar) and op.operands[1].type == Scalar(I64)):
            self.fail(f"peek: expected a number, and a count from the end of a tape, got {kind}", op)

    # Control flow

    def check_flow(self, op: Op, arriving: Sequence[set[str]], bound: set[str]) -> None:
        """Compare the types on every edge; ``arriving`` are the sizes that each region's parameters bind."""
        operands, results = op.operands, op.results
        if op.name == "if":
            self.check_condition(op, operands)
            for region in op.regions:
                self.flow(op, "the parameters", (), region.parameters, set())
                self.flow(op, "the results", region.yielded, results, bound)
        elif op.name == "for":
            (body,), (fresh,) = op.regions, arriving
            if len(operands) < 3 or not all(isinstance(operand.type, Index) for operand in operands[:3]):
                self.fail("for: expected start, stop and step of type index", op)
            if not body.parameters or not isinstance(body.parameters[0].type, Index):
                self.fail("for: expected a position of type index as the region's first parameter", op)
            position = body.parameters[0].type.dim
            if position is not None and str(position) not in fresh:
                self.fail(f"for: expected a new name for a size, got {position} again", op)
            for source in (operands[3:], body.yielded):
                self.flow(op, "the carried values", source, body.parameters[1:], fresh)
                self.flow(op, "the results", source, results, bound)
        elif op.name == "overlap_block":
            (body,) = op.regions
            self.flow(op, "the row and the column", operands[-2:], body.parameters, set())
            self.flow(op, "the results", body.yielded, results, bound)
        elif op.name == "multiply_tile":
            (body,) = op.regions
            element = (*operands[-2:], Value(Scalar(F32)))
            self.flow(op, "the row, the column and the number", element, body.parameters, set())
            self.flow(op, "the results", body.yielded, results, bound)
        elif op.name == "attend":
            number = Value(Scalar(F32))
            for region, taken in zip(op.regions, ((operands[-1], operands[-1], number), (number,)), strict=True):
                self.flow(op, "what is taken", taken, region.parameters, set())
                self.flow(op, "the number", region.yielded, (number,), bound)
        elif op.name == "share":
            (body,) = op.regions
            self.flow(op, "the span and the thread", (*operands, operands[0]), body.parameters, set())
            self.flow(op, "the results", body.yielded, results, bound)
        elif op.name == "while":
            condition, body = op.regions
            self.check_condition(op, condition.yielded)
            for source in (operands, body.yielded):
                for region, fresh in zip(op.regions, arriving, strict=True):
                    self.flow(op, "the carried values", source, region.parameters, fresh)
                self.flow(op, "the results", source, results, bound)
        elif op.name == "recursion":
            self.check_recursion(op, arriving[0], bound)
        elif op.name == "fusion":
            self.flow(op, "the parameters", operands, op.regions[0].parameters, arriving[0])
            self.flow(op, "the results", op.regions[0].yielded, results, bound)
        elif op.name in ("vjp", "jvp"):
            (body,) = op.regions
            inputs = op.attributes["inputs"]
            self.flow(op, "the parameters", operands[:inputs], body.parameters, arriving[0])
            self.flow(op, "the results", body.yielded, results[: len(body.yielded)], bound)
        elif op.name == "vmap":
            self.check_batch(op, arriving[0], bound)
        elif op.name in ("call", "launch"):
            self.check_call(op)

    def check_batch(self, op: Op, fresh: set[str], bound: set[str]) -> None:
        (body,) = op.regions
        if not op.operands or any(not dims_of(operand.type) for operand in op.operands):
            self.fail("vmap: expected arrays with an axis for the examples", op)
        count, stacked = dims_of(op.operands[0].type)[0], len(op.results) - op.attributes.get("shared", 0)
        taken = [Value(example_of(operand.type)) for operand in op.operands]
        given = [Value(stacked_of(value.type, count)) for value in body.yielded[:stacked]]
        self.flow(op, "the examples", taken, body.parameters, fresh)
        self.flow(op, "the results", (*given, *body.yielded[stacked:]), op.results, bound)

    def check_recursion(self, op: Op, fresh: set[str], bound: set[str]) -> None:
        (body,) = op.regions
        self.flow(op, "the parameters", op.operands, body.parameters, fresh)
        self.flow(op, "the results", body.yielded, op.results, bound)
        for again in calls_again(op):
            self.flow(again, "the parameters", again.operands, body.parameters, fresh)
            own = {str(dim) for value in again.results for dim in _dims(value.type) if _is_symbol(dim)}
            self.flow(again, "the results", body.yielded, again.results, own)

    def check_condition(self, op: Op, values: Sequence[Value]) -> None:
        types = [value.type for value in values]
        if len(types) != 1 or not isinstance(types[0], Scalar) or types[0].dtype != BOOL:
            self.fail(f"{op.name}: expected a condition of type bool, got {', '.join(map(str, types))}", op)

    def flow(self, op: Op, what: str, source: Sequence[Value], target: Sequence[Value], fresh: set[str]) -> None:
        types = [[self.plain(value.type) for value in side] for side in (source, target)]
        if len(source) != len(target) or not all(_accepts(b, a, fresh) for a, b in zip(*types, strict=True)):
            given, awaited = (f"({', '.join(map(str, side))})" for side in types)
            self.fail(f"{op.name}: expected {what} to have the types {awaited}, got {given}", op)

    def check_call(self, op: Op) -> None:
        name = op.attributes.get("function" if op.name == "call" else "kernel")
        if name not in self.callees:
            self.fail(f"{op.name}: expected a function of this program, got {name}", op)
        callee = self.callees[name]
        # Sizes of the called function are its own, so every one of its dims accepts every size.
        own = {str(dim) for value in callee.parameters for dim in _dims(value.type)}
        given = kernel_operands(op, op.operands)
        if "block" in op.attributes:  # a kernel takes memory of the device that it runs on
            given = [Value(Buffer(v.type.dtype)) if isinstance(v.type, Buffer) else v for v in given]
        self.flow(op, "the arguments", given, callee.parameters, own)


def _accepts(target: Type, source: Type, fresh: set[str]) -> bool:
    """Whether a value of type ``source`` may arrive where ``target`` awaits it, which binds the sizes ``fresh``."""
    if isinstance(target, Index) and isinstance(source, Index):
        return target.dim in (None, source.dim) or str(target.dim) in fresh
    if isinstance(target, Place) and isinstance(source, Variable):
        source = Place(source.dtype, source.dims)
    if not isinstance(target, Tensor | Variable | Place):
        return target == source
    return (
        isinstance(source, type(target))
        and target.dtype == source.dtype
        and len(target.dims) == len(source.dims)
        and all(a == b or str(a) in fresh for a, b in zip(target.dims, source.dims, strict=True))
    )


def _dims(kind: Type) -> tuple[Dim, ...]:
    if isinstance(kind, Index):
        return () if kind.dim is None else (kind.dim,)
    return dims_of(kind)


def _is_symbol(dim: Dim) -> bool:
    return isinstance(dim, Expression) and dim.is_symbol


def _dims_inside(value: Any) -> Iterator[Dim]:
    """The dims in an attribute."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _dims_inside(item)
    elif isinstance(value, _TYPES) and not isinstance(value, Buffer):
        yield from _dims(value)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
