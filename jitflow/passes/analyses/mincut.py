"""Which values to keep for the reverse sweep, and which to compute again: the cheapest cut between the two.

A value that the reverse sweep needs can be kept, or computed again of what its op takes, which in turn is kept or
computed again, down to what cannot be computed again, or costs more than reading it. Keeping costs memory.
So what is kept is a set of values that every path from those sources to what is needed goes through, of the least bytes
in all: a minimum cut (Ford and Fulkerson 1956; for reverse mode: Naumann 2008).
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise

from jitflow.ir.core import Value
from jitflow.ir.dims import evaluate
from jitflow.ir.types import Scalar, Tensor, dims_of

__all__ = ["bytes_of", "likely_sizes", "minimum_cut"]

_SOME = 100
"""How large a size is taken to be of which nothing is known."""
_SOURCE, _SINK = "source", "sink"
_ANYTHING = float("inf")
Node = Hashable


def minimum_cut(
    needed: Iterable[Value], operands: Callable[[Value], Sequence[Value] | None], weight: Callable[[Value], float]
) -> set[Value]:
    """The values to keep, so that all ``needed`` ones can be computed of them.

    ``operands`` gives what a value is computed again of, None if it cannot be; ``weight`` what keeping it costs.
    """
    capacity: dict[Node, dict[Node, float]] = defaultdict(lambda: defaultdict(float))
    seen: set[Value] = set()
    frontier = list(needed)
    for value in frontier:
        capacity[value, "out"][_SINK] = _ANYTHING
    while frontier:
        value = frontier.pop()
        if value in seen:
            continue
        seen.add(value)
        capacity[value, "in"][value, "out"] = weight(value)
        sources = operands(value)
        if sources is None:
            capacity[_SOURCE][value, "in"] = _ANYTHING
            continue
        for source in sources:
            capacity[source, "out"][value, "in"] = _ANYTHING
            frontier.append(source)
    reached = _saturate(capacity)
    return {value for value in seen if (value, "in") in reached and (value, "out") not in reached}


def likely_sizes(hints: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    """The sizes of the first call, and some number for each that it does not tell."""
    return defaultdict(lambda: _SOME, hints)


def bytes_of(value: Value, sizes: Mapping[str, int]) -> int:
    """The bytes that an array or a number takes."""
    kind = value.type
    assert isinstance(kind, Tensor | Scalar)
    return kind.dtype.itemsize * math.prod(evaluate(dim, sizes) for dim in dims_of(kind))


def _saturate(capacity: dict[Node, dict[Node, float]]) -> set[Node]:
    """Push flow along shortest paths until none is left; what the source still reaches (Edmonds and Karp 1972)."""
    while True:
        before: dict[Node, Node] = {_SOURCE: _SOURCE}
        frontier: deque[Node] = deque([_SOURCE])
        while frontier and _SINK not in before:
            node = frontier.popleft()
            for other, room in capacity[node].items():
                if room > 0 and other not in before:
                    before[other] = node
                    frontier.append(other)
        if _SINK not in before:
            return set(before)
        path: list[Node] = [_SINK]
        while path[-1] != _SOURCE:
            path.append(before[path[-1]])
        edges = [(start, end) for end, start in pairwise(path)]
        flow = min(capacity[start][end] for start, end in edges)
        for start, end in edges:
            capacity[start][end] -= flow
            capacity[end][start] += flow
