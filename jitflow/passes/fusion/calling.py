"""Writes calls in place of pieces of a program: each behind all of its ops, and what reads it behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from jitflow.ir.core import Builder, Op, Region, Value, clone_op, renamed_op, walk_inside
from jitflow.ir.dims import symbol
from jitflow.ir.effects import is_pure
from jitflow.passes.analyses.order import bound_sizes, reads_of
from jitflow.passes.fusion.movable import Movable
from jitflow.records import dataclass

__all__ = ["Calling", "Piece"]


@dataclass(eq=False)
class Piece:
    """Some ops in order, and what a function of them takes and gives."""

    ops: Sequence[Op]
    given: tuple[Value, ...] = ()
    """What others need of it, but for what they compute again."""
    region: Region = field(init=False)
    """The ops with what comes along, using nothing from around them."""
    operands: tuple[Value, ...] = field(init=False)
    sizes: tuple[str, ...] = field(init=False)
    helpers: frozenset[Piece] = frozenset()
    """The pieces of which it computes something again."""
    function: str = ""


class Calling:
    """The ops of a function, of which some are called from now on."""

    def __init__(self, movable: Movable, parameters: Sequence[Value], piece_of: Mapping[Op, Piece]) -> None:
        self.movable = movable
        self.piece_of = piece_of
        self.ops: list[Op] = []
        """What was written so far."""
        self.known = {value: value for value in parameters}
        self.sizes: dict[str, Value] = {}
        self.waiting: list[Op] = []
        """What reads what has not been given yet."""
        self.unbound: dict[str, Op] = {}
        """The sizes that these bind."""

    def run(self) -> Piece | None:
        """Write all ops; gives a piece that cannot be called, since something has to happen inside of it."""
        for op in self.movable.ops:
            piece = self.piece_of.get(op)
            if piece is None:
                if not self.write(op):
                    if not is_pure(op):
                        return self.awaited(op)
                    self.waiting.append(op)
                    self.unbound.update(dict.fromkeys(bound_sizes(op), op))
            elif op is piece.ops[-1]:
                if not self.unbound.keys().isdisjoint(piece.sizes) or not all(map(self.value, piece.operands)):
                    return piece
                self.call(piece)
                waiting, self.waiting = self.waiting, []
                self.waiting += [one for one in waiting if not self.write(one)]
        return None

    def awaited(self, op: Op) -> Piece:
        """The piece that has not been called yet and gives what an op needs."""
        seen, waiting = {op}, [op]
        for one in waiting:
            makers = [self.movable.producer.get(value) for value in reads_of(one) if value not in self.known]
            for maker in (*makers, *self.awaited_binders(one)):
                if maker is None or maker in seen:
                    continue
                piece = self.piece_of.get(maker)
                if piece is not None and not set(piece.given).isdisjoint(maker.results):
                    return piece
                seen.add(maker)
                waiting.append(maker)
        raise AssertionError(f"{op.name}: expected a piece to wait for")

    def awaited_binders(self, op: Op) -> list[Op]:
        """What binds the sizes that an op mentions, and waits itself."""
        if not self.unbound:
            return []
        mentioned = dict.fromkeys(name for inner in (op, *walk_inside(op)) for name in inner.sizes)
        return [self.unbound[name] for name in mentioned if self.unbound.get(name, op) is not op]

    def write(self, op: Op) -> bool:
        """Write an op, if what it needs is known."""
        needed = dict.fromkeys(value for value in reads_of(op) if self.is_outside(value))
        if self.awaited_binders(op) or not all(map(self.value, needed)):
            return False
        new = {value: self.known[value] for value in needed if self.known[value] is not value}
        self.ops.append(renamed_op(op, new))
        self.known.update((result, result) for result in op.results)
        for name in bound_sizes(op):
            self.unbound.pop(name, None)
        return True

    def is_outside(self, value: Value) -> bool:
        return value in self.known or value in self.movable.producer

    def value(self, value: Value) -> bool:
        """Whether a value is known by now; what no piece gives is computed again."""
        if value in self.known:
            return True
        op = self.movable.producer[value]
        piece = self.piece_of.get(op)
        if piece is None or value in piece.given or self.awaited_binders(op):
            return False
        if not all(map(self.value, op.operands)):
            return False
        own = {operand: self.known[operand] for operand in op.operands}
        self.ops.append(clone_op(op, own))
        self.known[value] = own[value]
        return True

    def call(self, piece: Piece) -> None:
        loc = piece.ops[-1].loc
        builder = Builder(loc=loc)
        for name in piece.sizes:
            if name not in self.sizes:
                self.sizes[name] = builder.make("size", dim=symbol(name))
        operands = [*(self.sizes[name] for name in piece.sizes), *(self.known[value] for value in piece.operands)]
        types = [value.type for value in piece.given]
        builder.add("call", *operands, types=types, function=piece.function)
        *before, call = builder.ops
        self.ops += [*before, replace(call, results=piece.given)]
        self.known.update((value, value) for value in piece.given)
