"""Steps without servers: each replica steps along the sums of gradients, and makes a part of them (`reducer.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.cluster.exchange import Exchanges
from jitflow.cluster.memory import Address, mapped
from jitflow.cluster.reducer import laid_out

__all__ = ["AllReduce"]

Array = np.ndarray[Any, Any]


class AllReduce(Exchanges):
    """Sums of all replicas' gradients, which each replica steps along by itself."""

    def __init__(self, model: Any, part: int) -> None:
        super().__init__(model, part)
        self._mapped: dict[Address, Array] = {}

    def combined(self, optimiser: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> list[Any] | None:
        """As in `jitflow.replication.Exchange`."""
        return list(self._call(optimiser, gradients, variables))

    def _run(self, number: int, *gradients: Any) -> Any:
        group, round_ = self.groups[number], self._next_round()
        given, count = self._lay_down(group, gradients), len(self.peers.machines)
        pieces = group.pieces(count)
        asked = []
        for where in range(count):
            own = None if self._shared[where] else [*map(np.ascontiguousarray, group.cut(gradients, pieces[where]))]
            asked.append(self.peers.ask(where, "shard", "reduce", self.generation, round_, group, given, own))
        sums = [np.empty(shape, dtype) for shape, dtype in zip(group.shapes, group.dtypes, strict=True)]
        for mine, answer in zip(pieces, self.peers.answers(asked), strict=True):
            if isinstance(answer, Address):
                lengths = [(piece.stop - piece.start, group.dtypes[piece.place]) for piece in mine]
                answer = laid_out(lengths, self._at(answer))
            for place, part in zip(group.cut(sums, mine), answer, strict=True):
                place[...] = part
        return tuple(sums)

    def _at(self, address: Address) -> Array:
        if address not in self._mapped:
            self._mapped[address] = mapped(address)
        return self._mapped[address]
