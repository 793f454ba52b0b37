"""Lists that grow and shrink where the running program decides."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.frontend.same_objects import check_objects
from tests.truth.whole.same import assert_does_what_python_does

U = np.array([3.0, -1.0, 4.0, 0.0, -5.0, 2.0])
CALLS = [(U, 2), (-U, 0), (U[:1], 1), (np.arange(40.0), 7), (-1 - np.arange(9.0), 3)]


def keeps_what_is_positive(u, k):
    kept = []
    for i in range(len(u)):
        if u[i] > 0:
            kept.append(u[i] * k)
    return np.array(kept), len(kept)


def returns_a_list_of_ints(u, k):
    places = [k]
    for i, item in enumerate(u):
        if item > k:
            places.append(i)
    return places


def returns_a_list_of_scalars(u, k):
    records, best = [], -np.inf
    for item in u:
        if item > best:
            best = item
            records.append(best)
    return records, k


def collatz(u, k):
    n, visited = k * 9 + 1, []
    while n != 1:
        visited.append(n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    return visited, len(visited)


def works_through_a_stack(u, k):
    stack, turns = [k * 2], 0
    while stack:
        n = stack.pop()
        turns += 1
        if n > 1:
            stack.append(n - 1)
            stack.append(n - 2)
    return turns, len(stack)


def looks_at_the_last(u, k):
    hull = []
    for item in u:
        while len(hull) > 1 and hull[-1] > item:
            hull.pop()
        hull.append(item)
    return hull, hull[-1]


def pops_too_much(u, k):
    items = [1.5]
    for item in u:
        if item > 0:
            items.append(float(item))
    total = 0.0
    for _ in range(k + 2):
        total += items.pop()
    return total


def has_two_names(u, k):
    ours = theirs = []
    for item in u:
        if item > k:
            ours.append(item)
        else:
            theirs.append(-item)
    return len(ours), theirs


def has_a_helper(u, k):
    def add(items, item):
        if item > 0:
            items.append(item)

    kept = []
    for item in u:
        add(kept, item + k)
    return np.asarray(kept) ** 2


def makes_a_list_in_each_turn(u, k):
    total = 0.0
    for row in np.outer(u, u):
        kept = []
        for item in row:
            if item > k:
                kept.append(item)
        if kept:
            total += max(kept) - min(kept) + len(kept)
    return total


def goes_through_what_it_kept(u, k):
    kept = [1.0]
    for item in u:
        if item > 0:
            kept.append(float(item))
    total = sum(kept)
    for i, item in enumerate(kept):
        total += i * item
    for item, other in zip(kept, u, strict=False):
        total += item * other * k
    return total, sorted(kept), max(kept)


def returns_early(u, k):
    if u[0] > 3:
        return []
    kept = []
    for item in u:
        if item > 0:
            kept.append(item)
            if len(kept) > k:
                return kept
    return kept


def returns_lists_in_a_tuple(u, k):
    kept, left = [], []
    for i, item in enumerate(u):
        if item > 0:
            kept.append(i)
        else:
            left.append(item)
    return (kept, np.array(left)), k


def keeps_bools_and_complex_numbers(u, k):
    bits, points = [], []
    for item in u:
        if item != 0:
            bits.append(bool(item > 0))
            points.append(complex(item, k))
    return bits, points


def begins_with_a_number(u, k):
    times, t = [0.0], 0.0
    while t < u.sum():
        t += 1.5
        times.append(t)
    return np.array(times), len(times)


def catches_what_is_raised(u, k):
    kept = []
    try:
        for item in u:
            kept.append(1 / float(item - 4))
    except ZeroDivisionError:
        kept.append(-1.0)
    return kept


def reads_until_it_fails(u, k):
    kept = [1.0]
    try:
        while True:
            kept.append(float(u[len(kept)]))
    except IndexError:
        pass
    return kept


def picks_and_stores(u, k):
    kept = [1.5]
    for item in u:
        if item > 0:
            kept.append(float(item))
    kept[-1] = kept[0] + kept[k % len(kept)]
    kept[len(kept) // 2] -= 0.5
    return kept, kept[-1], kept[:2], kept[k]


def works_through_a_queue(u, k):
    queue, seen = [k], np.zeros(50, dtype=bool)
    for n in queue:
        if n < 40 and not seen[n]:
            seen[n] = True
            queue.append(2 * n + 1)
            queue.append(3 * n + 2)
    return queue, seen.sum()


def leaves_its_queue(u, k):
    queue, last = [k], -1
    for n in queue:
        if n > 30:
            last = n
            break
        queue.append(n + 7)
    return queue, last


def takes_from_the_front(u, k):
    queue, turns = [k, 1], 0
    while len(queue) > 0 and turns < 20:
        n = queue.pop(0)
        turns += 1
        if n > 1:
            queue.append(n // 2)
            queue.insert(1, n // 3)
        del queue[k % 5]
    return turns


def changes_all_of_it(u, k):
    kept, others = [], [0.5]
    for item in u:
        if item > k:
            kept.append(float(item))
            others += [0.25]
    kept.extend(others)
    kept.insert(-1, 7.0)
    kept.reverse()
    first = kept[0]
    kept.sort()
    others.clear()
    return kept, first, others, len(others)


def decides_on_lists(u, k):
    stack, found = [], 0
    for item in u:
        while stack and stack[-1] > item:
            stack.pop()
            found += 1
        if not (stack or item < 0) or k == 2:
            found += 10
        if item > 0 and stack:
            found += 100
        stack.append(item)
    return found, stack


def keeps_complex_numbers(u, k):
    points = [1j]
    for item in u:
        if item > 0:
            points.append(points[-1] * complex(item, k))
    points[0] = points[-1] + points[0]
    return points


def keeps_states(u, k):
    states, state, t = [u], u.copy(), 0.0
    while t < k:
        state = state * 1.5 + t
        t += 0.5
        states.append(state)
    return np.array(states), len(states), states[-1], states[0][1]


def asks_for_its_last_state(u, k):
    states = [u]
    while np.abs(states[-1]).max() > 0.5:
        states.append(states[-1] * 0.6)
    return len(states), states[-1], states[len(states) // 2]


def keeps_rows_that_it_fills(u, k):
    rows = []
    for i in range(k + 2):
        row = np.zeros((2, 3))
        for j in range(6):
            row[j // 3, j % 3] = u[j % len(u)] * i
        if row[0, 0] >= -6:
            rows.append(row)
    total = rows[0] * 2
    for row in rows:
        total = total + row
    last = rows.pop()
    return rows, total, last, len(rows)


def keeps_copies(u, k):
    rows, state = [], u.copy()
    for _ in range(k):
        state[1:] += state[:-1]
        if state[-1] > 1:
            rows.append(state.copy())
    return rows


def halves_intervals(u, k):
    stack, turns, total = [(0, len(u))], 0, 0.0
    while stack:
        low, high = stack.pop()
        turns += 1
        if high - low <= 1:
            total += u[low] * turns
            continue
        middle = (low + high) // 2
        stack.append((low, middle))
        stack.append((middle, high))
    return turns, total


def keeps_tuples(u, k):
    found = [(0, u[0], 0.5)]
    for i, item in enumerate(u):
        if item > 0:
            found.append((i, item, float(item) * k))
    total = 0.0
    for i, item, _ in found:
        total += i * item
    for n, (i, item, _) in enumerate(found):
        total += n * i * item
    found[0] = found[-1]
    return found, np.array(found), total


def spreads_on_a_grid(u, k):
    queue, order = [(0, 0)], []
    seen = np.zeros((k + 2, 4), dtype=bool)
    seen[0, 0] = True
    while queue:
        i, j = queue.pop(0)
        order.append(i * 10 + j)
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            a, b = i + di, j + dj
            if 0 <= a < k + 2 and 0 <= b < 4 and not seen[a, b]:
                seen[a, b] = True
                queue.append((a, b))
    return order


def lets_numpy_compute(u, k):
    kept, places = [0.5], [0]
    for i, item in enumerate(u):
        if item > 0:
            kept.append(float(item))
            places.append(i)
    return np.sqrt(kept), np.add(kept, kept), u[places], np.median(kept), kept[0] + u


def keeps_small_numbers(u, k):
    kept = []
    for item in (u * k).astype(np.int8):
        if item != 0:
            kept.append(item)
    return kept, bool(kept), not kept, any(kept), all(kept)


def mixes_types(u, k):
    kept = [0]
    for item in u:
        if item > 0:
            kept.append(float(item))
    return kept


def mixes_types_later(u, k):
    kept = [1.0]
    while kept.pop() > u[0]:
        kept.append(-100)
    return len(kept)


def divides_by_zero_on_a_path(u, k):
    kept = []
    try:
        for item in u:
            kept.append(1 / float(item) if item != 4 else 1 / 0)
    except ZeroDivisionError:
        kept.append(-1.0)
    return kept


def mixes_more_types(u, k):
    kept, total = [1.0, 2], 0
    for i in range(len(u)):
        if u[i] > 1:
            kept.append(u[i])
        elif i == k:
            kept.insert(1, u.any())
        else:
            kept.append(i)
    for item in kept:
        total += item
    kept[-1] = k if u[0] > 0 else 2.5
    return kept, total, len(kept), kept[k]


def looks_into_what_was_chosen(u, k):
    above, others, last = [], [], {}
    for item in u:
        kept = above if item > k else others
        kept.append(item)
        last[0] = item
    if not above:
        raise ValueError("nothing")
    return above[0], others[-1:], sum(above) / len(above), min(above), last[0]


def extends_one_of_two(u, k):
    p, q = [1, 2], [np.float32(1.5), 0.5]
    (p if k == 0 else q).extend([1.0, 7.0])
    p.insert(0, k)
    return p, q, q[-1], q.pop()


PROGRAMS = [
    mixes_types, mixes_types_later, mixes_more_types, extends_one_of_two, divides_by_zero_on_a_path,
    keeps_what_is_positive, returns_a_list_of_ints, returns_a_list_of_scalars, collatz, works_through_a_stack,
    looks_at_the_last, pops_too_much, has_two_names, has_a_helper, makes_a_list_in_each_turn,
    goes_through_what_it_kept, returns_early, returns_lists_in_a_tuple, keeps_bools_and_complex_numbers,
    begins_with_a_number, keeps_small_numbers, catches_what_is_raised, reads_until_it_fails, picks_and_stores,
    works_through_a_queue, leaves_its_queue, takes_from_the_front, changes_all_of_it, decides_on_lists,
    keeps_complex_numbers, keeps_states, keeps_rows_that_it_fills, keeps_copies, halves_intervals, keeps_tuples,
    spreads_on_a_grid, lets_numpy_compute, asks_for_its_last_state, looks_into_what_was_chosen,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_it_does_what_python_does(program):
    assert_does_what_python_does(program, CALLS)


def test_a_new_length_compiles_nothing():
    compiled = jitflow.function(keeps_what_is_positive)
    for length in (2, 3, 17, 4000):
        found, number = compiled(np.arange(float(length)), 1)
        assert number == found.size == length - 1
    assert compiled.cache_info().currsize == 1


def keeps_a_history(u, k):
    history = []
    for i in range(20 * k):
        u = u + 0.1 * np.sin(u)
        history.append(u.sum() * i)
    return np.array(history), history[:3]


def test_a_loop_of_many_turns_is_one_loop():
    compiled = jitflow.function(keeps_a_history)
    for k in (3, 2, 7, 3):
        found, expected = compiled(U, k), keeps_a_history(U, k)
        np.testing.assert_allclose(found[0], expected[0])
        assert [type(item) for item in found[1]] == [np.float64] * 3
    assert compiled.cache_info().misses == 1


def keeps_many_words(u, k):
    found = []
    for i in range(30):
        found.append((i, "word", u[0] * i))
    return found[3][2] * k, found[-1], len(found)


def test_what_only_python_can_hold_is_written_out():
    assert_does_what_python_does(keeps_many_words, [(U, 2), (-U, 29)])


def returns_its_argument(u, k):
    kept = []
    for item in u:
        if item > 0:
            kept.append(u)
    return kept


def test_an_argument_in_a_list_is_not_returned():
    with pytest.raises(UserNotImplementedError, match="has an argument in it"):
        jitflow.function(returns_its_argument)(U, 1)


def keeps_bytes(u):
    kept = []
    for item in u:
        if item > 0:
            kept.append(b"positive")
    return kept


def leaves_its_branch(u):
    kept = [1]
    if u[0] > 0:
        kept = []
        for item in u:
            if item > 1:
                kept.append(2)
    return len(kept)


def changes_while_it_is_gone_through(u):
    kept = [u[0]]
    for i, item in enumerate(kept):
        if item < 10:
            kept.append(item * i)
    return kept


def prints(u):
    kept = []
    for item in u:
        if item > 0:
            kept.append(item)
    print(kept)


def keeps_what_it_writes_to_later(u):
    rows, state = [], u.copy()
    for _ in range(u.size):
        state[1:] += 1
        if state[0] > 0:
            rows.append(state)
    return np.array(rows)


def adds_to_what_it_has_kept(u):
    rows = []
    for i in range(u.size):
        row = u * i
        if row[0] >= 0:
            rows.append(row)
        row += 1
    return np.array(rows)


def writes_to_an_item(u):
    rows = []
    for i in range(u.size):
        row = u * i
        if row[0] >= 0:
            rows.append(row)
    rows[0][1] = 5.0
    return np.array(rows)


def doubles_the_last(u):
    rows = []
    for i in range(u.size):
        row = u * i
        if row[0] >= 0:
            rows.append(row)
    last = rows[-1]
    last *= 2
    return np.array(rows)


def keeps_a_view(u):
    rows = []
    for i in range(u.size):
        if u[i] >= 0:
            rows.append(u[1:])
    u[2] = 7.0
    return np.array(rows)


def swaps_what_it_keeps(u):
    rows, now, before = [], u.copy(), np.zeros_like(u)
    for i in range(u.size):
        before[:] = now * 0.5 + i
        now, before = before, now
        if now[0] > 0:
            rows.append(now)
    return np.array(rows)


def keeps_one_of_two(u):
    rows, one, other = [], u + 1, u * 2
    for i in range(u.size):
        if u[0] > 0:
            rows.append(one if u[i] > 0 else other)
    one[0] = 100.0
    return np.array(rows)


def keeps_rows_of_several_sizes(u):
    rows = []
    for i in range(u.size):
        if u[i] > 0:
            rows.append(u[:i])
    return len(rows)


def mixes_numbers_and_arrays(u):
    kept = [0.0]
    if u[0] > 0:
        kept.append(u)
    return kept


def keeps_rows_of_the_callers_lists(u):
    return [np.array(row) for row in u]


REFUSED = {
    mixes_numbers_and_arrays: "among which is an argument",
    prints: "the text of a list",
    keeps_bytes: "of other items than numbers",
    keeps_what_it_writes_to_later: "a write to an array that is an item",
    adds_to_what_it_has_kept: "a write to an array that is an item",
    writes_to_an_item: "a write to an array that is an item",
    doubles_the_last: "a write to an array that is an item",
    swaps_what_it_keeps: "a write to an array that is an item",
    keeps_one_of_two: "a write to an array that is an item",
    keeps_a_view: "a write to an array that is an item",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_what_would_be_something_else_is_refused(program):
    with pytest.raises((UserNotImplementedError, TypeError), match=REFUSED[program]):
        jitflow.function(program)(U)


def test_sizes_of_rows_may_be_found_later():
    assert jitflow.function(keeps_rows_of_several_sizes)(U) == keeps_rows_of_several_sizes(U)
    lists = [[1.0, 2.0], [3.0]]
    found, wanted = jitflow.function(keeps_rows_of_the_callers_lists)(lists), keeps_rows_of_the_callers_lists(lists)
    assert [row.tolist() for row in found] == [row.tolist() for row in wanted]


def makes_ints(u):
    kept = []
    for item in u:
        if item > 0:
            kept.append(int(item))
    return np.array(kept)


def test_an_array_of_an_empty_list_has_numpys_dtype():
    compiled = jitflow.function(makes_ints)
    assert compiled(U).tolist() == [3, 4, 2]
    with pytest.raises(NotImplementedError, match="which is empty"):
        compiled(-np.abs(U))


def says_of_which_dtype(u):
    kept, mixed = [], []
    for position, item in enumerate(u):
        if item > 0:
            kept.append(position)
            mixed.append(position if position % 2 else item)
    row, flags = np.full(5, -1), np.zeros(5, bool)
    row[: len(kept)], flags[: len(kept)] = kept, kept
    return np.array(kept, dtype=np.int32), row, flags, np.asarray(mixed, dtype=np.float32)


def test_an_array_of_a_dtype_that_is_said_may_be_of_an_empty_list():
    assert_does_what_python_does(says_of_which_dtype, [(U,), (-np.abs(U),), (U[:1],)])


def test_a_list_may_leave_its_branch():
    assert_does_what_python_does(leaves_its_branch, [(U,), (-np.abs(U),)])


def test_a_list_that_changes_in_a_loop_over_its_numbered_items_is_refused():
    with pytest.raises(NotImplementedError, match="changes while a loop goes through enumerate"):
        jitflow.function(changes_while_it_is_gone_through)(U)


def rows_of_a_display(u, k):
    rows, others, deep = [[1, 2], [3]], [[k], []], [[[1], [2]], [[3]]]
    if u[0] > k:
        rows.append([4])
        others[1].append(5)
        deep[0].append([])
    for item in u:
        if item > 0:
            rows[0].append(k)
            rows.append([])
    return rows, others, deep, len(rows), sum(rows[0])


def test_rows_that_are_written_in_a_display_may_grow():
    assert_does_what_python_does(rows_of_a_display, CALLS)


def averages_by_label(points, labels):
    labelled, sums, number = list(zip(points, labels, strict=True)), np.zeros(points.shape[1]), 0
    for point, label in labelled:
        if label:
            sums += point * label
            number += 1
    far = []
    for place, (point, label) in enumerate(labelled):
        if point @ point > 1:
            far.append((label, point - sums / max(number, 1), place))
    last = far.pop()
    far[0], far[1] = far[1], far[0]
    return sums, [(label, place) for label, _, place in far], last[1] * 1, far[0][1].sum(), labelled[-1][1]


def test_tuples_may_have_arrays_in_them():
    compiled = jitflow.function(averages_by_label)
    for seed, count in ((0, 30), (1, 80), (2, 31)):
        points, labels = np.random.default_rng(seed).normal(size=(count, 3)), np.arange(count) % 3
        assert repr(compiled(points, labels)) == repr(averages_by_label(points, labels))
    assert compiled.cache_info().misses == 1


def test_a_derivative_goes_through_tuples_with_arrays():
    def program(x):
        kept, total = [], 0.0
        for place, row in enumerate(x):
            if row.sum() > 0:
                kept.append((row * row, place * 1.0))
        for row, weight in kept:
            total += (row * weight).sum()
        return total

    x = np.random.default_rng(0).normal(size=(9, 2))
    weights = np.where(x.sum(1) > 0, np.arange(9.0), 0.0)
    np.testing.assert_allclose(jitflow.grad(program)(x), 2 * x * weights[:, None])


def test_what_shows_that_tuples_have_copies_is_refused():
    def writes(x):
        kept = []
        for place in range(len(x)):
            if x[place, 0] > 0:
                kept.append((x[place], place))
        x[0] = 7
        return sum(row.sum() * place for row, place in kept)

    with pytest.raises(UserNotImplementedError, match="a write to an array that is an item"):
        jitflow.function(writes)(np.ones((40, 2)))


def test_tuples_with_arrays_of_their_own_are_returned():
    def returns(x):
        kept = []
        for place, row in enumerate(x):
            kept.append((row * 2, place))
        return kept

    x = np.arange(80.0).reshape(40, 2)
    found, wanted = jitflow.function(returns)(x), returns(x)
    assert [(type(pair), type(pair[1]), pair[1]) for pair in found] == [(tuple, int, place) for _, place in wanted]
    np.testing.assert_array_equal([row for row, _ in found], [row for row, _ in wanted])


def returns_its_last_state(u, k):
    states = [u, u + 1]
    for _ in range(k):
        states.append(states[-1] * 2)
    largest = states[0]
    for state in states:
        if state.sum() > 60:
            largest = state
    return states[0], states[-1], states[1], largest


@pytest.mark.parametrize("k", [0, 1, 3])
def test_an_item_that_is_returned_is_the_object_that_was_put_there(k):
    """It was a copy, also of what the caller has passed."""
    check_objects(jitflow.function(returns_its_last_state), returns_its_last_state, lambda: (np.arange(6.0),), (k,))


def gives_a_row(u):
    rows = [row for row in u.reshape(-1, 1) if row[0] > 0]
    return rows[0]


def test_an_item_that_the_caller_would_know_by_another_name_is_refused():
    """It was a copy."""
    with pytest.raises(UserNotImplementedError, match=r"an item of a list that .* which is returned, and is that of"):
        jitflow.function(gives_a_row)(U)
