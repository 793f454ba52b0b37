"""The records of the IR.

``Value, OpDef, Op, Region, Function``: frozen, ordered, and nothing else. Program order *is* effect order. Values
compare by identity and get their names in the printer (``name`` is a hint). There are no use-lists: a pass that needs
uses computes them (`uses`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from operator import is_
from types import MappingProxyType
from typing import Any, TypeVar

from jitflow.ir.dims import Dim, Expression, substitute, symbols
from jitflow.ir.location import NOWHERE, Loc
from jitflow.ir.types import Place, Tensor, Type, Variable, map_dims, sizes_of_type
from jitflow.records import cached, dataclass

__all__ = ["NO_ATTRIBUTES", "Attributes", "Effect", "Fact", "Function", "Op", "OpDef", "Region", "TypeRuleError",
           "Value", "clone_op", "free_values", "kernel_operands", "renamed_op", "renamed_region",
           "uses", "walk", "walk_inside", "walk_loops", "walk_ops", "with_sizes"]  # fmt: skip

Attributes = Mapping[str, Any]
NO_ATTRIBUTES: Attributes = MappingProxyType({})


class TypeRuleError(Exception):
    """An op's operands or attributes break its typing rule; the message says what was expected and what was got."""


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A result of an op or a parameter of a region. Two values are the same only if they are the same object."""

    type: Type
    name: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """What an op does beyond computing its results.

    ``kind``: ``reads`` or ``writes`` the place that is operand ``operand``; ``check`` may raise; ``allocates``;
    ``external`` is ordered with everything (calls out, printing, send and receive, the random counter).

    Of a container ``part`` says what is read or written: the ``items`` alone, or which ``entries`` there are; both if
    it is empty.
    """

    kind: str
    operand: int = -1
    part: str = ""


@dataclass(frozen=True, eq=False)
class OpDef:
    """One row of the table of operations: everything about an op that does not belong to one layer.

    ``infer(operand types, attributes)`` is the typing rule: it gives the result types or raises `TypeRuleError`.
    Where the result type cannot be computed (a control-flow op, a parameter), it is None and ops carry their types.
    ``evaluate(operand values, attributes, result types)`` is the meaning in NumPy, for one op without regions.
    ``traits`` are facts that passes ask for: ``elementwise``, ``view``, ``reduction``, ``accumulation``,
    ``commutative``, ``creation``, ``terminator``, ``sized`` (ops carry their types, but bind no size in them).
    """

    name: str
    doc: str
    layer: str
    arity: int | None
    infer: Callable[[Sequence[Type], Attributes], tuple[Type, ...]] | None
    evaluate: Callable[..., Any] | None = None
    effects: Callable[[Attributes], tuple[Effect, ...]] | tuple[Effect, ...] = ()
    traits: frozenset[str] = frozenset()
    attributes: tuple[str, ...] = ()
    regions: int = 0

    def __repr__(self) -> str:
        return f"<op {self.name}>"


@dataclass(frozen=True, eq=False)
class Op:
    """One operation in a region."""

    definition: OpDef
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: Attributes = field(default_factory=lambda: NO_ATTRIBUTES)
    regions: tuple[Region, ...] = ()
    loc: Loc = NOWHERE
    name: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.__dict__["name"] = self.definition.name  # it is asked for everywhere

    @cached
    def sizes(self) -> tuple[str, ...]:
        """The sizes that its types and attributes mention, those in its regions apart."""
        found: dict[str, None] = {}
        for values in (self.operands, self.results):
            for value in values:
                found.update(dict.fromkeys(sizes_of_type(value.type)))
        for attribute in self.attributes.values():
            found.update(dict.fromkeys(_sizes_inside(attribute)))
        return tuple(found)

    @property
    def result(self) -> Value:
        """The only result."""
        (result,) = self.results
        return result

    @cached
    def own_effects(self) -> tuple[Effect, ...]:
        """Effects of this op itself; those of its regions come from `jitflow.ir.effects`."""
        effects = self.definition.effects
        return effects(self.attributes) if callable(effects) else effects


@dataclass(frozen=True, eq=False)
class Region:
    """Ops in order; the last one is ``yield``, whose operands are the region's results."""

    parameters: tuple[Value, ...]
    ops: tuple[Op, ...]

    @property
    def yielded(self) -> tuple[Value, ...]:
        return self.ops[-1].operands

    @cached
    def body(self) -> tuple[Op, ...]:
        """The ops without the closing ``yield``."""
        return self.ops[:-1]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that the guards establish about sizes: ``left relation right``; relation is ``== != >= <``."""

    left: Dim
    relation: str
    right: Dim

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


@dataclass(frozen=True, eq=False)
class Function:
    """A named region with the facts that hold on entry. ``layer`` is ``tensor``, ``loop`` (a kernel) or ``host``."""

    name: str
    region: Region
    facts: tuple[Fact, ...] = ()
    layer: str = "tensor"
    attributes: Attributes = field(default_factory=lambda: NO_ATTRIBUTES)
    functions: tuple[Function, ...] = field(default=())
    """Functions that this one calls: the kernels of a host program."""

    @property
    def parameters(self) -> tuple[Value, ...]:
        return self.region.parameters

    @property
    def results(self) -> tuple[Value, ...]:
        return self.region.yielded

    @cached
    def kernels(self) -> tuple[Function, ...]:
        """The functions that are launched; those with the attribute ``called`` are called for their results."""
        return tuple(function for function in self.functions if not function.attributes.get("called"))

    def with_ops(self, ops: Iterable[Op]) -> Function:
        """The same function with other ops."""
        return replace(self, region=Region(self.region.parameters, tuple(ops)))


def _sizes_inside(attribute: Any) -> tuple[str, ...]:
    if isinstance(attribute, Expression):
        return symbols(attribute)
    if isinstance(attribute, tuple):
        return tuple([name for item in attribute for name in _sizes_inside(item)])
    return sizes_of_type(attribute) if isinstance(attribute, Tensor | Variable | Place) else ()


_Operand = TypeVar("_Operand")


def kernel_operands(launch: Op, operands: Sequence[_Operand]) -> Sequence[_Operand]:
    """Those of the operands of a launch that the kernel takes; behind them stands how it is launched."""
    beside = 4 + bool(launch.attributes.get("recorded")) if "block" in launch.attributes else 0
    return operands[: len(operands) - beside]


def walk(region: Region) -> Iterator[Op]:
    """Every op of a region and of the regions inside it, in order, outer ops first."""
    return walk_ops(region.ops)


def walk_ops(ops: Iterable[Op]) -> Iterator[Op]:
    """The ops, and those of the regions inside them, in order, outer ops first."""
    waiting = [iter(ops)]  # a generator in a generator would hand each op through as many as there are regions around
    while waiting:
        for op in waiting[-1]:
            yield op
            if op.regions:
                waiting += [iter(region.ops) for region in reversed(op.regions)]
                break
        else:
            waiting.pop()


def walk_inside(op: Op) -> Iterator[Op]:
    """Every op of the regions of an op."""
    for region in op.regions:
        yield from walk_ops(region.ops)


def walk_loops(region: Region) -> Iterator[Op]:
    """Every op that stands in a loop."""
    for op in region.ops:
        for inner in op.regions:
            yield from walk(inner) if op.name in ("for", "while") else walk_loops(inner)


def uses(region: Region) -> Counter[Value]:
    """How often each value is an operand, inner regions included."""
    return Counter(operand for op in walk(region) for operand in op.operands)


def free_values(op: Op) -> list[Value]:
    """What an op with regions reads from outside, in the order of first use."""
    found: dict[Value, None] = {}
    _add_free_values(op, set(), found)
    return list(found)


def _add_free_values(op: Op, defined: set[Value], found: dict[Value, None]) -> None:
    for operand in op.operands:
        if operand not in defined:
            found[operand] = None
    for region in op.regions:
        defined.update(region.parameters)
        for nested in region.ops:
            _add_free_values(nested, defined, found)
    defined.update(op.results)


def clone_op(
    op: Op, values: dict[Value, Value], sizes: Mapping[str, Dim] | None = None, operands: Sequence[Value] | None = None
) -> Op:
    """A copy of ``op`` with operands mapped through ``values`` (which learns the copy's results) and sizes renamed."""

    def retype(type: Type) -> Type:
        return map_dims(type, lambda dim: substitute(dim, sizes)) if sizes else type

    def fresh(value: Value) -> Value:
        values[value] = Value(retype(value.type), value.name)
        return values[value]

    mapped = tuple(values.get(operand, operand) for operand in (op.operands if operands is None else operands))
    regions = tuple(
        Region(
            tuple(fresh(parameter) for parameter in region.parameters),
            tuple(clone_op(inner, values, sizes) for inner in region.ops),
        )
        for region in op.regions
    )
    results = tuple(fresh(result) for result in op.results)
    return Op(op.definition, mapped, results, with_sizes(op.attributes, sizes or {}), regions, op.loc)


def renamed_op(op: Op, values: dict[Value, Value], sizes: Mapping[str, Dim] | None = None) -> Op:
    """``op`` in a place where values and sizes have other names: what mentions none of them stays the object it is.

    So do results; where their types mention such sizes, ``values`` learns what stands for them.
    """
    regions = tuple([renamed_region(region, values, sizes) for region in op.regions])
    stays = values.keys().isdisjoint(op.operands)
    if not sizes or sizes.keys().isdisjoint(op.sizes):
        results, attributes = op.results, op.attributes
        if stays and all(map(is_, regions, op.regions)):
            return op
    else:
        results, attributes = _renamed_values(op.results, values, sizes), with_sizes(op.attributes, sizes)
    operands = op.operands if stays else tuple([values.get(operand, operand) for operand in op.operands])
    return Op(op.definition, operands, results, attributes, regions, op.loc)


def renamed_region(region: Region, values: dict[Value, Value], sizes: Mapping[str, Dim] | None = None) -> Region:
    """The same for the ops of a region, and for its parameters."""
    parameters = _renamed_values(region.parameters, values, sizes) if sizes else region.parameters
    ops = tuple([renamed_op(op, values, sizes) for op in region.ops])
    stays = parameters == region.parameters and all(map(is_, ops, region.ops))
    return region if stays else Region(parameters, ops)


def _renamed_values(
    given: tuple[Value, ...], values: dict[Value, Value], sizes: Mapping[str, Dim]
) -> tuple[Value, ...]:  # fmt: skip
    for value in given:
        kind = map_dims(value.type, lambda dim: substitute(dim, sizes))
        if kind != value.type:
            values[value] = Value(kind, value.name)
    return tuple([values.get(value, value) for value in given])


def with_sizes(attributes: Attributes, sizes: Mapping[str, Dim]) -> Attributes:
    """Attributes whose sizes have other names; those that are given where none of them has."""
    if not sizes or not attributes:
        return attributes
    renamed = {key: _substitute(value, sizes) for key, value in attributes.items()}
    same = all(renamed[key] is value for key, value in attributes.items())
    return attributes if same else MappingProxyType(renamed)


def _substitute(value: Any, sizes: Mapping[str, Dim]) -> Any:
    if isinstance(value, Expression):
        return substitute(value, sizes)
    if isinstance(value, tuple):
        found = tuple([_substitute(item, sizes) for item in value])
        return value if all(map(is_, found, value)) else found
    return value
