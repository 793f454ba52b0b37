"""All-reduce: each replica sums one part of the gradient of all, and all read the sums.

Reduce-scatter and all-gather in one message to each replica: it asks to be answered when the part is summed. Every sum
adds the contributions in the order of the replicas, so each has the same bits, wherever it was made. On the machine of
the first replica all sums are made in place of its gradients, so that together they lie there as the group is laid out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.cluster.groups import Group, add_up
from jitflow.cluster.memory import Block, can_share
from jitflow.cluster.rounds import Contribution, Fenced, Round
from jitflow.cluster.shard import Memories
from jitflow.errors import UserRuntimeError, UserValueError

__all__ = ["Reducer"]

Array = np.ndarray[Any, Any]


class Reducer(Fenced):
    """Sums the pieces of part ``number`` of ``count``. Any thread may call any method."""

    def __init__(self, number: int, count: int) -> None:
        super().__init__()
        self.number, self.count = number, count
        self._groups: dict[int, Group] = {}
        self._own: dict[int, tuple[Block | None, Array]] = {}
        self._sums: dict[int, tuple[Contribution, Sequence[Array]]] = {}
        self._memories = Memories()
        self._waiting: dict[Round, dict[int, tuple[Contribution, Sequence[Array] | None]]] = {}
        self._groups_of: dict[Round, int] = {}
        self._done: dict[int, Round] = {}

    def _clear(self, step: int) -> None:
        self._waiting, self._groups_of, self._done = {}, {}, {}

    def know(self, generation: int, part: int, group: Group) -> None:
        """Sum a part of this group from now on. Raises ValueError if a replica has it of other shapes."""
        with self._changed:
            self._require(generation)
            if self._groups.setdefault(group.number, group).kinds != group.kinds:
                raise UserValueError(f"replica {part} has variables of other shapes than the others")

    def reduce(
        self, generation: int, round_: Round, number: int, given: Contribution, pieces: Sequence[Array] | None
    ) -> Contribution | Sequence[Array]:
        """Wait until all replicas have brought their gradients by a group, and give the sums of this part.

        Replicas of this machine are told where the pieces lie, as the group is laid out there; the others, who bring
        their ``pieces`` along, get the sums themselves. They hold until all have come to the next round.
        """
        with self._changed:
            self._require(generation)
            waiting = self._waiting.setdefault(round_, {})
            if self._groups_of.setdefault(round_, number) != number:
                raise UserRuntimeError("two replicas step along different variables at the same time")
            waiting[given.part] = (given, pieces)
            if len(waiting) == self.count:
                self._sum(self._groups[number], [waiting[part] for part in range(self.count)])
                self._done[number] = round_
                del self._waiting[round_], self._groups_of[round_]
                self._changed.notify_all()
            while self._done.get(number, Round(-1, 0)) < round_:
                self._changed.wait()
                self._require(generation)
            place, sums = self._sums[number]
            return sums if place.block is None or pieces is not None else place

    def _sum(self, group: Group, given: Sequence[tuple[Contribution, Sequence[Array] | None]]) -> None:
        mine = group.pieces(self.count)[self.number]
        found = [
            group.cut(self._memories.laid_down(group, one), mine) if pieces is None else pieces for one, pieces in given
        ]
        first, sent = given[0]
        if sent is None:
            place, sums = first, found[0]
        else:
            block, memory = self._own_memory(group)
            place = Contribution(self.number, None if block is None else block.address)
            sums = group.cut(group.arrays(memory), mine)
        add_up(sums, found)
        self._sums[group.number] = place, sums

    def _own_memory(self, group: Group) -> tuple[Block | None, Array]:
        if group.number not in self._own:  # memory that nobody writes to is none
            block = Block(group.size) if can_share() else None
            self._own[group.number] = block, np.empty(group.size, np.uint8) if block is None else block.bytes
        return self._own[group.number]
