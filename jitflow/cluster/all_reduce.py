"""Steps without servers: each replica steps along the sums of gradients, and makes a part of them (`reducer.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.cluster.exchange import Exchanges
from jitflow.cluster.groups import Group
from jitflow.cluster.rounds import Contribution
from jitflow.cluster.shard import Memories
from jitflow.runtime.variable import Variable

__all__ = ["AllReduce"]


class AllReduce(Exchanges):
    """Sums of all replicas' gradients, which each replica steps along by itself."""

    def __init__(self, model: Any, part: int) -> None:
        super().__init__(model, part)
        self._memories = Memories()
        self._halves: dict[int, int] = {}

    def combined(self, optimiser: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> list[Any] | None:
        """As in `jitflow.replication.Exchange`."""
        return list(self._call(optimiser, gradients, variables))

    def _bytes_of(self, group: Group) -> int:
        return 2 * group.size

    def _start(self, group: Group) -> int:
        """In one half of the block after the other: where the last ones lay some may still read the sums."""
        half = self._halves[group.number] = 1 - self._halves.get(group.number, 1)
        return half * group.size

    def _hold(self, group: Group, optimiser: Any, variables: list[Variable]) -> None:
        count = len(self.peers.machines)
        self.peers.answers([self._ask(where, "know", self.part, group) for where in range(count)])

    def _run(self, number: int, *gradients: Any) -> Any:
        group, round_ = self.groups[number], self._next_round()
        given, pieces = self._lay_down(group, gradients), group.pieces(len(self.peers.machines))
        asked = []
        for where, mine in enumerate(pieces):
            own = None if self._shared[where] else [*map(np.ascontiguousarray, group.cut(gradients, mine))]
            asked.append(self._ask(where, "reduce", round_, number, given, own))
        answers = self.peers.answers(asked)
        if isinstance(first := answers[0], Contribution) and all(answer == first for answer in answers):
            return tuple(self._memories.laid_down(group, first))
        sums = [np.empty(shape, dtype) for shape, dtype in zip(group.shapes, group.dtypes, strict=True)]
        for mine, answer in zip(pieces, answers, strict=True):
            found = (
                group.cut(self._memories.laid_down(group, answer), mine) if isinstance(answer, Contribution) else answer
            )
            for place, part in zip(group.cut(sums, mine), found, strict=True):
                place[...] = part
        return tuple(sums)
