"""Counting: a ``while`` that counts up to a bound becomes a ``for``, whose number of turns is known before the first.

    %i, %s = while %zero, %t (%i: i64, %s: f64) {        %i, %s = for %zero, %n, %1, %zero, %t (%0, %i: i64, %s: f64) {
      %more = less %i, %n                                  ...
      yield %more                                    ->    %next = add %i, %one
    } (%i: i64, %s: f64) {                                 yield %next, %more
      ...                                                }
      %next = add %i, %one
      yield %next, %more
    }

The number that is compared, with ``< <= > >=``, goes by a constant each turn towards a bound from outside of the loop,
and does not wrap around before. It is carried as before; that it is a position as well LLVM finds out.

Where more than the bound ends the loop (``while j >= 0 and x[j] > key``) it stays a ``while``, whose attribute
``counts`` says which number goes by how much. The bound becomes a number that the loop carries, the last one, and that
stays what it is: the code of the loop may set it nearer, and further again when the number has come there.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.types import Index, Scalar
from jitflow.records import dataclass

__all__ = ["count"]

_DIRECTION = {"less": 1, "less_equal": 1, "greater": -1, "greater_equal": -1}
_LARGE = 1 << 62
_FREE = frozenset((*_DIRECTION, "constant", "size", "cast"))


def count(host: Function) -> Function:
    """The host program and its kernels, with a ``for`` where a ``while`` counts."""
    if not any(op.name == "while" for function in (host, *host.kernels) for op in walk(function.region)):
        return host
    functions = tuple(
        replace(function, region=_Counting(function).region(function.region)) for function in host.functions
    )
    return replace(host, region=_Counting(host).region(host.region), functions=functions)


@dataclass(frozen=True, slots=True)
class _Count:
    """The carried value ``number``, the bound it is compared with, how, and what each turn adds."""

    number: int
    bound: Value
    comparison: str
    step: int


class _Counting:
    def __init__(self, function: Function) -> None:
        self.producer = {result: op for op in walk(function.region) for result in op.results}
        self.launches = function.layer == "host"

    def region(self, region: Region) -> Region:
        builder = Builder()
        for op in region.ops:
            if op.regions:
                op = replace(op, regions=tuple(map(self.region, op.regions)))
            if op.name == "while":
                op = _with_short_test(op, builder)
            found = self.find(op) if op.name == "while" else None
            if found is None:
                builder.ops.append(op)
            elif self.decides_alone(op):
                self.rewrite(op, found, builder)
            else:
                builder.ops.append(op if self.launches else self.with_bound(op, found))
        return Region(region.parameters, tuple(builder.ops))

    def find(self, op: Op) -> _Count | None:
        """How a ``while`` counts, if it ends at the latest where a number has come to its bound."""
        test, turn = op.regions
        compare = self.deciding(test)
        if compare is None or compare.name not in _DIRECTION or compare not in test.body:
            return None
        value, bound = compare.operands
        if value not in test.parameters or not _is_long(value):
            return None
        number = test.parameters.index(value)
        step = self.step(turn.yielded[number], turn.parameters[number])
        if step * _DIRECTION[compare.name] <= 0 or not self.is_outside(bound, test):
            return None
        return _Count(number, bound, compare.name, step)

    def deciding(self, test: Region) -> Op | None:
        """The comparison without which a test does not hold."""
        op = self.uncast(test.yielded[0])
        if op is not None and op.name == "logical_and":
            return self.uncast(op.operands[0])
        if op is not None and op.name == "if":
            first, otherwise = self.uncast(op.operands[0]), self.uncast(op.regions[1].yielded[0])
            never = otherwise is not None and otherwise.attributes.get("value") is False
            return first if first is not None and (otherwise is first or never) else None
        return op

    def uncast(self, value: Value) -> Op | None:
        op = self.producer.get(value)
        while op is not None and op.name == "cast":
            op = self.producer.get(op.operands[0])
        return op

    def decides_alone(self, op: Op) -> bool:
        """Whether nothing but a comparison with the bound ends a loop, and the bound is known exactly."""
        test = op.regions[0]
        compare = self.uncast(test.yielded[0])
        if compare is None or compare.name not in _DIRECTION or any(inner.name not in _FREE for inner in test.body):
            return False
        value, bound = compare.operands
        start = op.operands[test.parameters.index(value)]
        return compare.name in ("less", "greater") or self.is_small(start) or self.is_small(bound)

    def step(self, value: Value, carried: Value) -> int:
        """What a turn adds to a carried number, without wrapping around on the way to a bound; 0 if unknown."""
        op = self.producer.get(value)
        if op is None or op.name not in ("add", "subtract") or op.operands[0] is not carried:
            return 0
        step = self.constant(op.operands[1]) or 0
        safe = abs(step) == 1 or op.attributes.get("checked") or getattr(value.type, "weak", False)
        return (step if op.name == "add" else -step) if safe else 0

    def is_outside(self, bound: Value, test: Region) -> bool:
        return bound not in test.parameters and all(bound not in inner.results for inner in test.body)

    def is_small(self, value: Value) -> bool:
        """Whether a number is known, and so are its neighbours."""
        number = self.constant(value)
        return number is not None and abs(number) < _LARGE

    def constant(self, value: Value) -> int | None:
        op = self.producer.get(value)
        number = None if op is None else op.attributes.get({"constant": "value", "size": "dim"}.get(op.name, ""))
        return number if isinstance(number, int) else None

    def rewrite(self, op: Op, found: _Count, builder: Builder) -> None:
        """The ``for`` in the place of the ``while``."""
        builder.loc = op.loc
        turn = op.regions[1]
        start, bound = (self.position(value, builder) for value in (op.operands[found.number], found.bound))
        if found.comparison.endswith("equal"):  # one turn more: the number that is known moves away from the other one
            first, last = self.constant(op.operands[found.number]), self.constant(found.bound)
            further = _DIRECTION[found.comparison]
            if first is not None and self.is_small(op.operands[found.number]):
                start = builder.make("constant", value=first - further, type=Index())
            elif last is not None:
                bound = builder.make("constant", value=last + further, type=Index())
        step = builder.make("constant", value=found.step, type=Index())
        body = Region((Value(Index(), "position"), *turn.parameters), turn.ops)
        types = [value.type for value in op.results]
        builder.add("for", start, bound, step, *op.operands, types=types, regions=(body,))
        builder.ops[-1] = replace(builder.ops[-1], results=op.results)

    def with_bound(self, op: Op, found: _Count) -> Op:
        """The ``while`` that carries its bound as the last number, if looking twice at its test does no harm."""
        test, turn = op.regions
        compare = self.deciding(test)
        if compare is None or any(e.kind not in ("reads", "check") for inner in walk(test) for e in inner.own_effects):
            return op
        bound = found.bound
        edge, same = Value(bound.type, "bound"), Value(bound.type, "bound")
        asked = replace(compare, operands=(compare.operands[0], edge))
        test = Region((*test.parameters, edge), tuple(asked if inner is compare else inner for inner in test.ops))
        last = replace(turn.ops[-1], operands=(*turn.yielded, same))
        return replace(
            op,
            operands=(*op.operands, bound),
            results=(*op.results, Value(bound.type, "bound")),
            regions=(test, Region((*turn.parameters, same), (*turn.body, last))),
            attributes=MappingProxyType({**op.attributes, "counts": (found.number, found.step)}),
        )

    def position(self, value: Value, builder: Builder) -> Value:
        """A number from outside of the loop as an index; one that is known may stand inside."""
        known = self.constant(value)
        if known is not None:
            return builder.make("constant", value=known, type=Index())
        return value if isinstance(value.type, Index) else builder.make("to_index", value)


def _with_short_test(op: Op, builder: Builder) -> Op:
    """A ``while`` with the sizes and constants of its test before it."""
    test, turn = op.regions
    varying = set(test.parameters)
    kept: list[Op] = []
    for inner in test.ops:
        if inner.name in ("constant", "size", "cast") and varying.isdisjoint(inner.operands):
            builder.ops.append(inner)
        else:
            kept.append(inner)
            varying.update(inner.results)
    return replace(op, regions=(Region(test.parameters, tuple(kept)), turn)) if len(kept) < len(test.ops) else op


def _is_long(value: Value) -> bool:
    return isinstance(value.type, Index) or (isinstance(value.type, Scalar) and value.type.dtype.name == "i64")
