"""What comes again is factored out: equal pieces of a program become calls of one function.

Layers that a loop over a list has written out, their reverse sweeps, helpers that are called in several places: what
follows (fusion, the plan, schedules, machine code) is done once for all of them. A piece is ops that only compute, in
the order in which they stand; checks, sizes and what callers see stay where they are (`movable.py`). Pieces are equal
if they do the same to what they are handed, whatever their sizes are called, and if these were the same at the first
call.

    %1 = matmul %x, %w0                               %1 = call %n, %m, %x, %w0 {function="block"}
    %2 = tanh %1                                      %2 = call %n, %m, %1, %w1 {function="block"}
    %3 = matmul %2, %w1                      ->
    %4 = tanh %3                                      func @block(%n: index[n], %m: index[m], %x: f32[n, m], ...) {

What is called gives arrays of its own, and kernels do not reach beyond it. So pieces begin where the least crosses;
what is stored is made outside, with the product or sum that it is made of; and what others need of a piece is the
cheapest cut between what costs something to compute and what they read (`analyses/mincut.py`): the rest is computed
again where it is read, in the same operations. Only what moves so much memory that a call takes no time beside it.

Rejected: functions while tracing (the rules of derivatives and every pass on values would have to know them, and layers
are all alike only behind those), and equal groups of kernels behind `fuse` (which then sees all layers).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from jitflow.ir.core import Builder, Function, Op, Region, Value, clone_op
from jitflow.ir.dims import Dim, substitute, symbol, symbols
from jitflow.ir.equality import Renaming, region_key
from jitflow.ir.records import Fact
from jitflow.ir.types import Index, Place, Scalar, Tensor, Variable, dims_of
from jitflow.passes.analyses.mincut import minimum_cut
from jitflow.passes.analyses.repeats import Repeats, find_repeats
from jitflow.passes.fusion.calling import Calling, Piece
from jitflow.passes.fusion.movable import Movable, reads_by_view
from jitflow.passes.schedule.cost import (
    FEWEST_FACTORED,
    FEWEST_PIECES,
    FEWEST_SAVED,
    LEAST_FACTORED,
    MOST_OPS_TWICE,
    NOT_HANDED_OVER,
    READ_AGAIN,
    WORTH_SAVING,
    cost_of,
)

__all__ = ["factor"]

_NEARLY = 1 - 1e-6
"""Of two cuts as cheap that is taken which does less again."""


def factor(function: Function) -> Function:
    """The function with calls of others, its ``functions``, for what comes again."""
    arrays = sum(1 for op in function.region.ops if op.results and isinstance(op.results[0].type, Tensor))
    return _Factoring(function).run() if arrays > MOST_OPS_TWICE else function


class _Factoring:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.movable = Movable(function)
        self.piece_of: dict[Op, Piece] = {}

    def run(self) -> Function:
        groups = [[Piece(ops) for ops in group] for group in self.groups()]
        for group in groups:
            self.decide_given(group)
        keys: dict[Piece, Hashable] = {}
        while groups != (kept := [equal for group in groups for equal in self.equal(group, keys)]):
            groups = kept
        while groups:
            functions = [self.function_of(group, number) for number, group in enumerate(groups)]
            calling = Calling(self.movable, self.function.parameters, self.piece_of)
            failed = calling.run()
            if failed is None:
                region = Region(self.function.parameters, tuple(calling.ops))
                attributes = {**self.function.attributes, "decisions": tuple(map(_said, groups))}
                return replace(
                    self.function, region=region, functions=tuple(functions), attributes=MappingProxyType(attributes)
                )
            self.give_up([failed])
            groups = [rest for group in groups if (rest := [piece for piece in group if piece is not failed])]
        return self.function

    # -- what looks alike

    def groups(self) -> Iterator[Sequence[Sequence[Op]]]:
        """Yield pieces that look alike."""
        members = self.movable.members
        items = [_looks(op) for op in members]
        is_free = [True] * len(items)
        while (found := find_repeats(items, is_free)) is not None and found.saved >= FEWEST_SAVED:
            if found.length >= FEWEST_FACTORED and self.is_worth_a_call(members[found.starts[0] :][: found.length]):
                found = self.turned(found, items, is_free)
                yield [members[start : start + found.length] for start in found.starts]
            for start in found.starts:
                is_free[start : start + found.length] = [False] * found.length

    def is_worth_a_call(self, ops: Sequence[Op]) -> bool:
        """Whether ops become several kernels, and a call takes no time beside what they do."""
        made = sum(self.movable.bytes(result) for op in ops for result in op.results)
        return made >= LEAST_FACTORED and sum(map(_ends_a_kernel, ops)) > 1

    def turned(self, found: Repeats, items: Sequence[Hashable], is_free: Sequence[bool]) -> Repeats:
        """Pieces that follow each other may begin anywhere among them: where they hand over the least."""
        if any(after - before != found.length for before, after in pairwise(found.starts)):
            return found
        crossing, length = self.crossing(found), found.length
        best, least = found, crossing[found.starts[1]]
        for turned in range(1, length):
            starts = [start + turned for start in found.starts]
            end = starts[-1] + length
            if end > len(items) or not is_free[end - 1] or items[end - 1] != items[end - 1 - length]:
                starts.pop()
                if len(starts) < max(FEWEST_PIECES, len(found.starts) - 1):
                    break
            if crossing[starts[1]] < least:
                best, least = Repeats(tuple(starts), length), crossing[starts[1]]
        return best

    def crossing(self, found: Repeats) -> Sequence[float]:
        """The bytes that cross in front of each member, of what members nearby hand to each other."""
        place = {op: number for number, op in enumerate(self.movable.members)}
        changes = [0.0] * (len(self.movable.members) + 1)
        for number, op in enumerate(self.movable.members):
            for result in op.results:
                places = (place.get(one, number) for one in self.movable.readers.get(result, ()))
                last = max((one for one in places if one <= number + found.length), default=number)
                if last > number:
                    changes[number + 1] += self.weight(result)
                    changes[last + 1] -= self.weight(result)
        crossing, total = [], 0.0
        for change in changes:
            total += change
            crossing.append(total)
        return crossing

    # -- what pieces hand over

    def weight(self, value: Value) -> float:
        """The bytes of a value. Storage cannot be handed over, and what only shows an array would have to be copied."""
        op = self.movable.producer.get(value)
        is_view = op is not None and "view" in op.definition.traits and op.name != "reshape"
        if is_view or not isinstance(value.type, Tensor | Scalar | Index):
            return NOT_HANDED_OVER
        return self.movable.bytes(value)

    def decide_given(self, pieces: Sequence[Piece]) -> None:
        """Decide what pieces hand over, all alike, of what others need."""
        places = sorted({place for piece in pieces for place in self.needed(piece)})
        first = pieces[0]
        if any(isinstance(first.ops[place].result.type, Variable | Place) for place in places):
            return  # what somebody outside works on, too
        where = {op: place for place, op in enumerate(first.ops)}
        needed = {first.ops[place].result for place in places}
        stored = set(_stored(first.ops))
        given_anyway = set(self.given_anyway(pieces, stored))

        def sources(value: Value) -> Sequence[Value] | None:
            """What a value is computed again of; None if it is there, or costs something."""
            op = self.movable.producer.get(value)
            return None if op not in where or value in given_anyway or not _is_cheap(op) else op.operands

        def weight(value: Value) -> float:
            """What is written anyway is only read. Of two cuts as cheap that is taken which does less again."""
            if value in given_anyway:
                return 0.0
            is_there = value in stored or self.movable.producer.get(value) not in where
            return self.weight(value) * (READ_AGAIN if is_there else 1.0) * (_NEARLY if value in needed else 1.0)

        kept = minimum_cut(needed, sources, weight)
        given = sorted(
            where[self.movable.producer[value]] for value in kept if self.movable.producer.get(value) in where
        )
        for piece in pieces:
            piece.given = tuple(piece.ops[place].result for place in given)
            self.piece_of.update(dict.fromkeys(piece.ops, piece))

    def needed(self, piece: Piece) -> Iterator[int]:
        """Yield the places of the ops that others read."""
        inside = {*piece.ops}
        for place, op in enumerate(piece.ops):
            if any(reader not in inside for result in op.results for reader in self.movable.readers.get(result, ())):
                yield place

    def given_anyway(self, pieces: Sequence[Piece], stored: Collection[Value]) -> Iterator[Value]:
        """Yield what the first piece makes and the next begins with, or what products take here and there."""
        inside = {*pieces[0].ops}
        others = {op for piece in pieces[1:] for op in piece.ops}
        for op in pieces[0].ops:
            for value in op.results if "view" not in op.definition.traits else ():
                readers = [reader for reader in reads_by_view(self.movable, value) if reader not in inside]
                is_taken = value in stored and any(map(_is_product, readers))
                if is_taken or not others.isdisjoint(readers):
                    yield value

    # -- which are equal

    def equal(self, pieces: Sequence[Piece], keys: dict[Piece, Hashable]) -> list[list[Piece]]:
        """Those that are equal, as far as functions are made of them; the others are no pieces any more.

        ``keys`` has those of pieces that were looked at before, and begins anew where what came along has gone.
        """
        equal: dict[Hashable, list[Piece]] = defaultdict(list)
        for piece in pieces:
            if piece.ops[0] in self.piece_of:
                if piece not in keys:
                    keys[piece] = self.close(piece)
                equal[keys[piece]].append(piece)
        kept = [
            these
            for these in equal.values()
            if self.are_worth_calls(these) and all(self.movable.works_alone(piece.ops) for piece in these)
        ]
        gone = {*pieces}.difference(*kept)
        self.give_up(gone)
        for piece in [piece for piece in keys if not gone.isdisjoint(piece.helpers)]:
            del keys[piece]
        return kept

    def give_up(self, pieces: Iterable[Piece]) -> None:
        """These are no pieces any more."""
        for piece in pieces:
            for op in piece.ops:
                self.piece_of.pop(op, None)

    def are_worth_calls(self, pieces: Sequence[Piece]) -> bool:
        """Whether enough is compiled once. Arrays that lie in another order would be copied by each call."""
        layouts = dict(zip(self.function.parameters, self.function.attributes.get("layouts", ()), strict=False))
        if any(layouts.get(self.movable.shown(value), "C") != "C" for piece in pieces for value in piece.operands):
            return False
        return (len(pieces) - 1) * len(pieces[0].ops) >= FEWEST_SAVED

    def close(self, piece: Piece) -> Hashable:
        """Make a region of a piece that uses nothing from around it; pieces of the same key are equal."""
        values: dict[Value, Value] = {}
        ops: list[Op] = []
        operands: list[Value] = []
        helpers: set[Piece] = set()

        def know(value: Value) -> None:
            """A value from outside: it is handed in, or comes along."""
            if value in values:
                return
            op = self.movable.producer.get(value)
            if op is not None and self.comes_along(op, value):
                if op in self.piece_of:
                    helpers.add(self.piece_of[op])
                do(op)
                return
            values[value] = Value(value.type, value.name)
            operands.append(value)

        def do(op: Op) -> None:
            for operand in op.operands:
                know(operand)
            ops.append(clone_op(op, values))

        for op in piece.ops:
            do(op)
        builder = Builder(loc=piece.ops[-1].loc)
        builder.ops = ops
        parameters = [values[value] for value in operands]
        piece.region = builder.region(parameters, [values[value] for value in piece.given])
        piece.operands, piece.helpers = tuple(operands), frozenset(helpers)
        sizes = Renaming()
        key = region_key(piece.region, sizes)
        piece.sizes = tuple(sizes.names)
        return key, tuple(map(self.movable.hints.get, piece.sizes)), self.facts(sizes.names)

    def comes_along(self, op: Op, value: Value) -> bool:
        """Whether an op outside is done inside as well: numbers that are known, views, and what nobody hands over."""
        if op.name == "constant":
            return not isinstance(value.type, Tensor)
        piece = self.piece_of.get(op)
        if piece is not None:
            return value not in piece.given
        return "view" in op.definition.traits and isinstance(value.type, Tensor)

    def facts(self, names: Mapping[str, Dim]) -> tuple[Fact, ...]:
        """What is known of some sizes alone, by other names."""
        return tuple(
            Fact(substitute(fact.left, names), fact.relation, substitute(fact.right, names))
            for fact in self.function.facts
            if names.keys() >= {*symbols(fact.left), *symbols(fact.right)}
        )

    def function_of(self, these: Sequence[Piece], number: int) -> Function:
        """The function that equal pieces call."""
        piece, name = these[0], "block" if number == 0 else f"block_{number}"
        own = {size: symbol(size) for size in piece.sizes}
        sizes = tuple(Value(Index(dim), size) for size, dim in own.items())
        parameters = (*sizes, *piece.region.parameters)
        hints = self.movable.hints
        attributes: dict[str, Any] = {
            "called": True,
            "layouts": ("C",) * len(parameters),
            "hints": tuple((size, hints[size]) for size in piece.sizes if size in hints),
        }
        if self.function.attributes.get("fastmath"):
            attributes["fastmath"] = True
        for one in these:
            one.function = name
        region = Region(parameters, piece.region.ops)
        return Function(name, region, self.facts(own), "tensor", MappingProxyType(attributes))


def _said(pieces: Sequence[Piece]) -> str:
    """What `explain` says of pieces."""
    first = pieces[0]
    lines = f"{first.ops[0].loc} to {first.ops[-1].loc}"
    return f"{first.function} is called {len(pieces)} times: {len(first.ops)} ops that come again ({lines})"


def _stored(ops: Sequence[Op]) -> Iterator[Value]:
    """What a piece writes to memory in any case: sums, products, and what these take."""
    producer = {result: op for op in ops for result in op.results}
    for op in ops:
        if not op.definition.traits & {"elementwise", "view"}:
            yield from op.results
        if _is_product(op):
            for operand in op.operands:
                value = operand
                while value in producer:
                    yield value
                    if "view" not in producer[value].definition.traits:
                        break
                    value = producer[value].operands[0]


def _ends_a_kernel(op: Op) -> bool:
    """Whether what reads an op is done by another kernel, as a rule: products and sums."""
    return _is_product(op) or "reduction" in op.definition.traits


def _is_product(op: Op) -> bool:
    return op.name in ("matmul", "contract")


def _is_cheap(op: Op) -> bool:
    traits = op.definition.traits
    return "view" in traits or ("elementwise" in traits and cost_of(op) <= WORTH_SAVING)


def _looks(op: Op) -> Hashable:
    """What equal ops have in common, whatever they work on."""
    kinds = [
        (type(result.type), getattr(result.type, "dtype", None), len(dims_of(result.type))) for result in op.results
    ]
    return op.name, len(op.operands), *kinds
