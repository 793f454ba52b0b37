"""Groups and counts by names that the run chooses, by ``defaultdict``, ``Counter``, dicts; lists that others keep."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import jitflow

X = np.array([3.0, 1.0, 5.0, 2.0, 1.0])


def groups(a):
    found, second = collections.defaultdict(list), collections.defaultdict(float)
    for v in a:
        found["big" if v > 2 else "small"].append(v)
        if v > 4:
            second["huge"] += v
    copied = found.copy()
    copied["new"].append(1.0)
    return found, dict(second), copied, second["none"], len(second), "big" in found, found.get("no"), type(copied)


def puts_lists_where_there_are_none(a):
    first, second = {}, {}
    for v in a:
        name = "big" if v > 2 else "small"
        if name not in first:
            first[name] = []
        first[name].append(v)
        try:
            second[name].append(v)
        except KeyError:
            second[name] = [v]
    return first, second


def counts(a):
    found = collections.Counter()
    for v in a:
        found["big" if v > 2 else "small"] += 1
    found.update({"big": 2})
    found.subtract({"small": 1})
    found.update(["x", "big"])
    del found["nothing"]
    return found, found["nothing"], found.total(), found.most_common(1), [*found], isinstance(found, dict)


def counts_what_is_gone_through(a):
    return collections.Counter("big" if v > 2 else "small" for v in a)


def sets_and_functions_as_defaults(a):
    kinds, starts = collections.defaultdict(set), collections.defaultdict(lambda: 5.0)
    for v in a:
        if v > 2:
            kinds["big"].add(int(v))
            starts["big"] += v
    return kinds, starts["big"], starts["other"], len(starts)


def keeps_lists_in_dicts(a):
    found, pair = {"big": [], "small": [], "n": 0}, ([], {})
    for v in a:
        found["big" if v > 2 else "small"].append(v)
        found["n"] += 1
        if v > 2:
            pair[0].append(v)
            pair[1]["last"] = v
    return found, pair


class Node:
    def __init__(self, children, names):
        self.children, self.names = children, names


def hands_lists_to_others(a):
    def fresh():
        return []

    def collect(into, v):
        if v > 2:
            into.append(v)
        return into

    node, own = Node([], names={"all": []}), fresh()
    for v in a:
        collect(node.children, v)
        if v < 2:
            own.append(v)
            node.names["all"].append(v)
    return node.children, node.names, own, collect([1.0], a[0])


@pytest.mark.parametrize(
    "program",
    [groups, puts_lists_where_there_are_none, counts, counts_what_is_gone_through, sets_and_functions_as_defaults,
     keeps_lists_in_dicts, hands_lists_to_others],
)  # fmt: skip
def test_it_does_what_python_does(program) -> None:
    compiled = jitflow.function(program)
    for numbers in (X.tolist(), X[::-1].tolist(), [0.0, 0.0, 0.0, 0.0, 9.0]):
        assert repr(compiled(numbers)) == repr(program(numbers))
    assert repr(compiled(X)) == repr(program(X))


def test_arithmetic_of_counters_is_refused() -> None:
    def added(x):
        found = collections.Counter()
        if x > 2:
            found["a"] += 1
        return found + collections.Counter("b")

    with pytest.raises(NotImplementedError, match="arithmetic of a Counter"):
        jitflow.function(added)(3.0)


def sums_to(coins, wanted):
    found = []

    def go(first, left, path):
        if left == 0:
            found.append(path[:])
            return
        for k in range(first, len(coins)):
            if coins[k] <= left:
                path.append(coins[k])
                go(k, left - coins[k], path)
                path.pop()

    go(0, wanted, [])
    return found


def test_a_list_that_a_call_is_handed_grows_through_calls_of_itself() -> None:
    compiled = jitflow.function(sums_to)
    for wanted in (8, 7, 1):
        assert repr(compiled([2, 3, 5], wanted)) == repr(sums_to([2, 3, 5], wanted))
    as_tuples = jitflow.function(lambda coins, wanted: [tuple(one) for one in sums_to(coins, wanted)])
    assert as_tuples([2, 3, 5], 8) == [(2, 2, 2, 2), (2, 3, 3), (3, 5)]
