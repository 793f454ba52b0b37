"""All-reduce: each replica sums one part of the gradient of all, and all read the sums.

Reduce-scatter and all-gather in one message to each replica: it asks to be answered when the part is summed. Every sum
adds the contributions in the order of the replicas, so each has the same bits, wherever it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Condition
from typing import Any

import numpy as np

from jitflow.cluster.groups import Group, add_up
from jitflow.cluster.memory import Address, Block, can_share
from jitflow.cluster.rounds import Aborted, Contribution, Round
from jitflow.cluster.shard import Memories
from jitflow.errors import UserRuntimeError, UserValueError

__all__ = ["Reducer"]

Array = np.ndarray[Any, Any]


class Reducer:
    """Sums the pieces of part ``number`` of ``count``. Any thread may call any method."""

    def __init__(self, number: int, count: int) -> None:
        self.number, self.count = number, count
        self.generation = 0
        self._groups: dict[int, Group] = {}
        self._sums: dict[int, tuple[Block | None, list[Array]]] = {}
        self._waiting: dict[Round, dict[int, tuple[Contribution, Sequence[Array] | None]]] = {}
        self._groups_of: dict[Round, int] = {}
        self._done: dict[int, Round] = {}
        self._memories = Memories()
        self._changed = Condition()

    def begin(self, generation: int) -> None:
        """Wait for the first round of a run."""
        with self._changed:
            self.generation, self._waiting, self._groups_of, self._done = generation, {}, {}, {}
            self._changed.notify_all()

    def abort(self, why: str) -> None:
        """Answer nobody any more."""
        with self._changed:
            self.generation = -1
            self._changed.notify_all()

    def reduce(
        self, generation: int, round_: Round, group: Group, given: Contribution, pieces: Sequence[Array] | None
    ) -> Address | Sequence[Array] | None:
        """Wait until all replicas have brought their gradients, and give the sums of this part.

        Replicas of this machine get the address of a block, in which the pieces lie one behind the other; the others,
        who bring their ``pieces`` along, the sums themselves. They hold until all have come to the next round.
        """
        with self._changed:
            self._require(generation)
            known = self._groups.setdefault(group.number, group)
            if known.kinds != group.kinds:
                raise UserValueError(f"replica {given.part} has variables of other shapes than the others")
            waiting = self._waiting.setdefault(round_, {})
            if self._groups_of.setdefault(round_, group.number) != group.number:
                raise UserRuntimeError("two replicas step along different variables at the same time")
            waiting[given.part] = (given, pieces)
            if len(waiting) == self.count:
                self._sum(group, [waiting[part] for part in range(self.count)])
                self._done[group.number] = round_
                del self._waiting[round_], self._groups_of[round_]
                self._changed.notify_all()
            while self._done.get(group.number, Round(-1, 0)) < round_:
                self._changed.wait()
                self._require(generation)
            block, sums = self._sums[group.number]
            return sums if block is None or pieces is not None else block.address

    def _require(self, generation: int) -> None:
        if generation != self.generation:
            raise Aborted("the run has begun anew")

    def _sum(self, group: Group, given: Sequence[tuple[Contribution, Sequence[Array] | None]]) -> None:
        mine = group.pieces(self.count)[self.number]
        if group.number not in self._sums:
            self._sums[group.number] = _room(group, mine)
        _, sums = self._sums[group.number]
        found = []
        for contribution, pieces in given:
            if pieces is None:
                assert contribution.block is not None
                pieces = group.cut(group.arrays(self._memories.at(contribution.block)), mine)
            found.append(pieces)
        add_up(sums, found)


def _room(group: Group, mine: Sequence[Any]) -> tuple[Block | None, list[Array]]:
    """Memory for the sums of some pieces, one behind the other."""
    lengths = [(piece.stop - piece.start, group.dtypes[piece.place]) for piece in mine]
    block = Block(sum(length * dtype.itemsize + 64 for length, dtype in lengths)) if can_share() else None
    return block, laid_out(lengths, block.bytes if block else None)


def laid_out(lengths: Sequence[tuple[int, np.dtype[Any]]], memory: Array | None) -> list[Array]:
    """Arrays of these lengths and dtypes, one behind the other in some memory, or anywhere."""
    if memory is None:
        return [np.empty(length, dtype) for length, dtype in lengths]
    found, start = [], 0
    for length, dtype in lengths:
        found.append(memory[start : start + length * dtype.itemsize].view(dtype))
        start += -(-length * dtype.itemsize // 64) * 64
    return found
