"""Lists of objects, texts and arguments of which the run decides which items are there: the caller's and others."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from tests.frontend.same_objects import check_objects
from tests.frontend.test_slotted_dicts import caught

PROGRAMS = []
NUMBERS = (-1.0, 1.0, 3.0)


class Row:
    def __init__(self, v):
        self.v = v

    def __repr__(self):
        return f"Row({self.v})"


def program(*make):
    """Enter a program of a number and of what each of some functions makes."""

    def enter(function):
        PROGRAMS.append((function, make or (lambda: ["a", "b", "c"], lambda: ["z", "b", "a", "b"])))
        return function

    return enter


@program(lambda: ([Row(1), Row(2)], []), lambda: ([Row(4)], [Row(0)]))
def kept_objects(given, x):
    rows, kept = given
    for row in rows:
        if row.v > x:
            kept.append(row)
    own = []
    for row in rows:
        if row.v < x:
            own.append(row)
    for row in kept:
        row.v += 1
    return len(kept), own, bool(own), [row for row in rows if row.v > x]


@program(lambda: [{"v": 1}, {"v": -2.5}])
def removed_rows(rows, x):
    for row in list(rows):
        if row["v"] < x:
            rows.remove(row)
    if rows:
        rows[0]["v"] = 9
    return rows


@program(lambda: [np.arange(2.0), np.arange(3.0)])
def kept_arrays(arrays, x):
    kept = []
    for array in arrays:
        if array.sum() > x:
            kept.append(array)
    for array in arrays:
        array += 1
    return kept, [array.sum() for array in kept]


@program()
def positions(items, x):
    if x > 0:
        items.append("z")
    if x > 2:
        items.pop(0)
    if x < 0:
        items.insert(0, "q")
        items.remove("a")
    items.insert(1, "new")
    items[-1] = "end"
    if x > 0:
        del items[1]
    return (
        items[0],
        items[-2],
        items[int(x)],
        "z" in items,
        len(items),
        items.count("new"),
        items == ["q", "new", "end"],
    )


@program()
def whole_lists(items, x):
    if x > 0:
        items.append("z")
    elif x < 0:
        items.reverse()
    found = []
    for i, item in enumerate(items):
        if item == "z":
            found.append(i)
    end = ["e"]
    return items + end, end + items, list(items), [*items, "t"], found, [i for i in items if i != "a"]


@program(lambda: ["a", "b"], list)
def what_fails(items, x):
    if x > 0:
        items.append("c")
    if x > 2:
        raise ValueError(items[0])
    items.pop()
    items.pop()
    if x < 0:
        items.remove("c")
    return items


@program(lambda: [["a"]] * 2, lambda: [["a"], ["a"]])
def one_by_two_paths(lists, x):
    one, other = lists
    if x > 0:
        one.append("c")
    chosen = one if x > 2 else other
    chosen.append("d")
    return len(one), len(other), chosen is one, chosen


@program(lambda: ["c", "a", "b"])
def in_loops(items, x):
    if x > 0:
        items.sort()
    n = 0
    while items:
        if items.pop() == "a":
            break
        n += 1
    return n


@program(lambda: {"errors": [], "seen": ["old"]})
def notes(state, x):
    if x < 0:
        state["errors"].append("negative")
    if x > 2:
        state["errors"].append(f"too large: {x}")
        state["seen"].append(None)
    state["ok"] = not state["errors"]
    return len(state["seen"])


@program(lambda: ["a", 2, None], list)
def inserted_and_nothing_else(items, x):
    items.insert(int(x), "new")
    return 7


@program(lambda: ["a"], list)
def itself_or_another(items, x):
    if items:
        return items
    items.append("new")
    return x


@pytest.mark.parametrize(("run", "make"), PROGRAMS, ids=[run.__name__ for run, _ in PROGRAMS])
def test_lists_are_pythons(run, make):
    compiled = caught(jitflow.function(run))
    for each in make:
        for x in NUMBERS:
            check_objects(compiled, caught(run), lambda each=each: (each(),), (x,))
