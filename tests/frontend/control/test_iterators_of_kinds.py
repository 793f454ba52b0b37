"""Lists of several lengths, dicts of several keys, which a branch chooses: each kind is gone through by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.truth.whole.same import assert_does_what_python_does


def lists(n, x):
    names, items = (["a", "b"], [x, 2.0]) if n > 1 else (["c", "b", "a"], [x, 3.0, 4.0])
    found = 0.0
    for name, item in zip(names, items, strict=True):
        if name == "a":
            found += item
    for place, (_, item) in enumerate(zip(names, items, strict=True), 1):
        found -= place * item
    for item in reversed(items):
        found = 2 * found + item
    pairs = sum(a * b for a, b in zip(items[1:], items, strict=False))
    return found, pairs, [name for name, item in zip(names, items, strict=True) if item > 2], [*enumerate(items)]


def what_changes_meanwhile(n, x):
    items = [x, 2.0] if n > 1 else [x, 3.0, 4.0]
    for place, item in enumerate(items):
        items[place] = 2 * item
        if place + 1 < len(items):
            items[place + 1] += 1.0
    return items


def by_a_name(n, x):
    items = [x, 2.0] if n > 1 else [x, 3.0, 4.0]
    places = enumerate(items)
    first = next(places)
    found = 1.0 if x > 1 else 2.0
    for _ in range(n):
        found += 1.0
    for place, item in places:
        found += place * item
    return found, first


def dicts(n, x):
    items = {"a": x, "b": 2.0} if n > 1 else {"c": x}
    found = 0.0
    for place, (key, item) in enumerate(items.items()):
        found += place + item + items[key]
    return found, [key for key in items], {key: 2 * item for key, item in items.items()}, sum(items.values())  # noqa: C416


def arrays_and_lists(n, x):
    items = np.array([x, 2.0]) if n > 1 else [np.array([x, 3.0, 4.0]), np.array([1.0])]
    found = 0.0
    for place, item in enumerate(items):
        found = found + place * np.sum(item)
    return found


def none(n, x):
    items = [x, 2.0] if n > 1 else None
    found = 0.0
    for place, item in enumerate(items):
        found += place * item
    return found


def grown_lists(n, x):
    items = []
    if n > 1:
        for step in range(n):
            items.append(step)
    else:
        for step in range(n + 2):
            items.append(x * step)
    found = 0
    for place, item in enumerate(items):
        found += place * item
    for one, other in zip(items, items[2:], strict=False):
        found -= one * other
    rest = enumerate(items)
    first = next(rest)
    largest, doubled = max(items), [2 * item for item in reversed(items)]
    return found, first, largest, doubled, [*map(lambda item: item + 1, items)], sum(items)  # noqa: C417


def grown_dicts(n, x):
    table = {}
    if n > 1:
        for step in range(n):
            table[step] = step
    else:
        for step in range(n + 1):
            table[step] = x * step
    found = 0
    for key, item in table.items():
        found += key * item
    pairs = table.items()
    return found, [*enumerate(table.values())], [*zip(table, pairs, strict=True)], [*pairs], sum(table.values())


def lists_in_lists(n, x):
    rows = []
    for step in range(n + 1):
        if step % 2:
            rows.append([step, n])
        else:
            rows.append([x, step * x])
    found = 0
    for row in rows:
        for place, item in enumerate(row):
            found += place * item
    return found, [*zip(rows[0], rows[-1], strict=True)], rows


@pytest.mark.parametrize("program", [grown_lists, grown_dicts, lists_in_lists])
def test_one_kind_is_empty_where_the_running_program_has_another(program: Any) -> None:
    assert_does_what_python_does(program, [(2, 1.5), (0, 2.0), (3, 0.5), (1, 0.5)])


def taken_apart(n, x):
    pair = [n, 2] if n > 1 else [x, 2.0]
    some = [n, 1] if n > 2 else [x, 2.0, 3.0]
    first, second = pair
    head, *rest = some
    one, other = some
    return first, second, head, rest, one, other


def methods(n, x):
    items, table = [], {}
    if n > 1:
        for step in range(n + 1):
            items.append(step)
            table[step] = step
    else:
        for step in range(n + 3):
            items.append(x * step)
            table[step] = x * step
    before, table_before = items.copy(), table.copy()
    items.insert(0, 2)
    items.sort(reverse=True)
    found = items.count(2), items.index(2), table.get(0), table.get(9, 2), table.pop(1), table.setdefault(1, 5)
    return found, before, table_before, items, table


@pytest.mark.parametrize("program", [taken_apart, methods])
def test_each_kind_has_its_own_methods_and_is_taken_apart_by_itself(program: Any) -> None:
    assert_does_what_python_does(program, [(2, 1.5), (3, 0.5), (0, 2.0), (1, 0.5)])


def passed(rows, n):
    found, rows[n % 2] = 0, [n, 2 * n]
    for place, item in enumerate(rows[0]):
        found += place * item
    return found, rows


def test_lists_of_either_kind_that_the_caller_passes() -> None:
    assert_does_what_python_does(passed, [([[1, 2, 3], [1.5, 2.5]], 3), ([[1, 2], [0.5], [3.5]], 2)])


@pytest.mark.parametrize("program", [lists, what_changes_meanwhile, by_a_name, dicts, arrays_and_lists, none])
def test_they_are_gone_through_as_in_python(program: Any) -> None:
    assert_does_what_python_does(program, [(2, 1.5), (0, 2.0), (3, 0.5)])
