"""Arrays in returned lists: what is one object in plain Python is one, in however many places of the result."""

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.frontend.same_objects import check_objects

TABLE = np.arange(36.0).reshape(18, 2) % 7


def in_two_lists(x, n):
    rows, some = [], []
    for i in range(n):
        row = x[i] * 2
        rows.append(row)
        if row[0] > 3:
            some.append(row)
    return rows, some


def beside_the_list(x, n):
    rows, best = [], None
    for i in range(n):
        row = x[i] * 2
        rows.append(row)
        if best is None or row[0] > best[0]:
            best = row
    return {"best": best, "rows": rows}


def the_last_of_them(x, n):
    last = x[0] + 1
    rows = [last]
    for _ in range(n):
        last = last + 1
        rows.append(last)
    return rows, last, rows[0]


def twice_in_one(x, n):
    rows = []
    row = x[0] * 2
    for i in range(n):
        rows.append(row)
        if x[i, 0] > 3:
            row = row + 1
    rows.append(rows[0])
    return rows


def swapped(x, n):
    ours, theirs = [], []
    one, other = x[0] * 1, x[1] * 1
    for _ in range(n):
        ours.append(one)
        theirs.append(other)
        one, other = other, one
    return ours, theirs


def copies_of_the_list(x, n):
    rows = [x[i] * 2 for i in range(n)]
    return rows, rows[::-1], rows[1:3], list(rows), rows + rows


def those_that_were_chosen(x, n):
    rows = [x[i] * 2 for i in range(n)]
    return [row for row in rows if row[1] > 4], rows, min(rows, key=lambda row: row[0])


def written_over(x, n):
    rows = [x[i] * 2 for i in range(n)]
    for i in range(1, n, 2):
        rows[i] = rows[0]
    return rows


def taken_from_a_list_that_is_dropped(x, n):
    rows = [x[i] * 2 for i in range(n)]
    return [rows[int(x[i, 1]) % n] for i in range(n)], rows[0]


@pytest.mark.parametrize("n", [3, 17])
@pytest.mark.parametrize(
    "program",
    [in_two_lists, beside_the_list, the_last_of_them, twice_in_one, swapped, copies_of_the_list,
     those_that_were_chosen, written_over, taken_from_a_list_that_is_dropped],
)  # fmt: skip
def test_items_are_the_objects_that_were_put_there(program, n):
    """They were copies in each place."""
    check_objects(jitflow.function(program), program, lambda: (TABLE.copy(),), (n,))


def rows_and_one_of_them(x):
    rows = list(x)
    return rows, rows[0]


def rows_and_their_reverse(x):
    rows = list(x + 1)
    return rows, rows[::-1]


def parts_and_the_whole(x):
    whole = x * 2
    rows = [whole[i] for i in range(len(x)) if x[i, 0] > 2]
    return rows, whole


@pytest.mark.parametrize("program", [rows_and_one_of_them, rows_and_their_reverse, parts_and_the_whole])
def test_views_that_would_be_two_objects_are_refused(program):
    with pytest.raises(UserNotImplementedError, match="returned"):
        jitflow.function(program)(TABLE)


def rows_alone(x):
    return list(x)


def test_a_list_of_rows_alone_is_returned():
    check_objects(jitflow.function(rows_alone), rows_alone, lambda: (TABLE.copy(),))
