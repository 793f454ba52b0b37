"""What of a program may become part of a function that it calls: ops that only compute, in the order of the program.

Checks, sizes, and what callers see being written stay where they are. An array that the program makes for itself goes
along with all that is done to it. From the first write to a variable that outlives the program on nothing may move: the
program cannot fail any more then, and a call takes memory (`passes/lower/settle.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from jitflow.ir.core import Function, Op, Value
from jitflow.ir.effects import is_pure, is_removable
from jitflow.ir.types import Place, Scalar, Tensor, dims_of
from jitflow.passes.analyses.mincut import bytes_of, likely_sizes
from jitflow.passes.analyses.order import bound_sizes, reads_of

__all__ = ["Movable", "reads_by_view"]

_ON_STORAGE = ("variable", "load", "store")
_NEVER_MOVED = ("constant", "size", "load", "call")


class Movable:
    """The ops of a function that may move, and what is known of all of its ops."""

    def __init__(self, function: Function) -> None:
        self.private = _touching(function.region.ops)
        """What works on an array that the program makes for itself, and the op that makes it."""
        self.ops = _gathered(function.region.ops, self.private)
        self.producer = {result: op for op in self.ops for result in op.results}
        self.readers: Mapping[Value, Sequence[Op]] = _readers(self.ops)
        computing = _computing(self.ops)
        ends = self._ends(computing)
        before = self.ops[: _first_write(self.ops, function)]
        self.members = [op for op in before if op in self.private or (op in computing and op not in ends)]
        self.hints = dict(function.attributes.get("hints", ()))
        self._sizes = likely_sizes(self.hints.items())
        self._bytes: dict[Value, int] = {}

    def bytes(self, value: Value) -> int:
        """What an array takes, by the sizes of the first call."""
        if value not in self._bytes:
            self._bytes[value] = bytes_of(value, self._sizes) if isinstance(value.type, Tensor | Scalar) else 0
        return self._bytes[value]

    def shown(self, value: Value) -> Value:
        """What a load shows."""
        op = self.producer.get(value)
        return op.operands[0] if op is not None and op.name == "load" else value

    def works_alone(self, ops: Sequence[Op]) -> bool:
        """Whether nothing else touches the arrays that some ops work on."""
        inside = {*ops}
        makers = {self.private[op] for op in ops if op in self.private}
        return all(op in inside for op, maker in self.private.items() if maker in makers)

    def _ends(self, computing: Collection[Op]) -> set[Op]:
        """What only stores are made of, up to the product or sum that it works on: that is where it is written."""
        found: set[Op] = set()
        closed: set[Op] = set()
        for op in reversed(self.ops):
            if op not in computing:
                continue
            readers = self.readers.get(op.result, ())
            if not readers or not closed.isdisjoint(readers):
                continue
            if all(one in found or (one.name == "store" and one not in self.private) for one in readers):
                found.add(op)
                if not op.definition.traits & {"elementwise", "view"}:
                    closed.add(op)
        return found


def reads_by_view(movable: Movable, value: Value) -> list[Op]:
    """The ops that read a value, or what shows it otherwise, without those that only do the latter."""
    frontier = [*movable.readers.get(value, ())]
    for reader in frontier:
        if "view" in reader.definition.traits:
            frontier += movable.readers.get(reader.result, ())
    return [reader for reader in frontier if "view" not in reader.definition.traits]


def _readers(ops: Sequence[Op]) -> Mapping[Value, Sequence[Op]]:
    found: dict[Value, list[Op]] = defaultdict(list)
    for op in ops:
        for value in dict.fromkeys(reads_of(op)):
            found[value].append(op)
    return found


def _computing(ops: Sequence[Op]) -> set[Op]:
    """What computes an array, or a number of arrays, and does nothing else."""
    found: set[Op] = set()
    numbers: set[Value] = set()
    for op in ops:
        if op.regions or len(op.results) != 1 or op.name in _NEVER_MOVED or not (is_pure(op) or op.name == "empty"):
            continue
        is_array = isinstance(op.result.type, Tensor) and bool(op.result.type.dims)
        is_number = isinstance(op.result.type, Tensor | Scalar) and not is_array
        if is_number and any(dims_of(one.type) or one in numbers for one in op.operands):
            numbers.add(op.result)
        if is_array or op.result in numbers:
            found.add(op)
    return found


def _touching(ops: Sequence[Op]) -> Mapping[Op, Op]:
    """What works on an array that is made here and that nobody else sees, and the op that makes it."""
    makers: dict[Value, Op] = {}
    touching: dict[Op, list[Op]] = {}
    seen: set[Op] = set()
    for op in ops:
        is_place = len(op.results) == 1 and isinstance(op.result.type, Place)
        for value in dict.fromkeys(reads_of(op)):
            if value in makers:
                touching[makers[value]].append(op)
                if is_place:
                    makers[op.result] = makers[value]
                elif op.name not in _ON_STORAGE:
                    seen.add(makers[value])
        if op.name == "variable":
            makers[op.result] = op
            touching[op] = [op]
    return {op: maker for maker, these in touching.items() if maker not in seen for op in these}


def _first_write(ops: Sequence[Op], function: Function) -> int:
    """The place of the first op that may write to a variable that outlives the program; behind all if there is none."""
    lasting = {function.parameters[position] for position in function.attributes.get("variables", ())}
    for place, op in enumerate(ops):
        if lasting.isdisjoint(reads_of(op)):
            continue
        if not is_removable(op):
            return place
        lasting.update(result for result in op.results if isinstance(result.type, Place))
    return len(ops)


def _gathered(ops: Sequence[Op], private: Collection[Op]) -> Sequence[Op]:
    """The ops, where what becomes a result alone stands behind what it is made of: new weights with their gradients.

    It overtakes nothing that has effects, or binds a size that it mentions.
    """
    readers = _readers(ops)
    ending = {ops[-1]}
    for op in reversed(ops[:-1]):
        is_simple = op.definition.traits & {"elementwise", "view"} and is_pure(op)
        if is_simple and all(reader in ending for result in op.results for reader in readers.get(result, ())):
            ending.add(op)
    ending.discard(ops[-1])
    places: dict[Op, float] = {}
    made: dict[Value | str, float] = {}
    effect = -1.0
    for place, op in enumerate(ops):
        needed: tuple[Value | str, ...] = (*op.operands, *op.sizes)
        before = max([effect, *(made.get(one, -1.0) for one in needed)])
        places[op] = before if op in ending else float(place)
        effect = effect if is_removable(op) or op in private else float(place)
        made.update(dict.fromkeys((*op.results, *bound_sizes(op)), places[op]))
    return sorted(ops, key=places.__getitem__)
