"""Items of Python's lists and tuples at an index that only the running program knows."""

from __future__ import annotations

import bisect
import heapq

import numpy as np
import pytest

import jitflow
from tests.truth.whole.same import assert_does_what_python_does

U = np.array([3.0, 0.5, 4.0])


def takes_a_number(u, k):
    numbers = [1.5, -2.0]
    if k > 9:
        return 0.0
    return numbers[k]


def takes_one_of_several_types(u, k):
    items = (1, 2.5, u, None)
    if k > 9:
        return 0
    return items[k]


def stores_a_number(u, k):
    items = [1, 2.5, np.float32(3), u]
    if k > 9:
        return items
    items[k] = 7.5
    items[-k] = u[0]
    return items


def counts_along_a_list(u, k):
    items, place, total = [1, 2.5, np.float32(3)], 0, 0.0
    while place < k:
        total += items[place]
        place += 1
    return total


def writes_to_the_item(u, k):
    rows = [u, u * 2, u * 3]
    for row in rows:
        rows[k][0] += row[1]
        rows[k] += row
    return rows


def takes_out_of_many(u, k):
    squares = [number * number for number in range(40)]
    if k > 50:
        return 0
    return squares[k] + u[0]


def takes_what_one_of_many_keys_is_for(u, k):
    pairs = {number * 3 - 30: (number, u[0] * number) for number in range(40)}
    names = {5: 0.0, 3: 1.5, -2: 2.5, 17: 3.0, 20: 4.0, 21: 5.5, 22: 6.0, 23: 7.0, 24: 8.0, 25: 9.5, 26: 0.5, 27: 1.0,
             28: 2.0, 29: 3.5, 30: 4.5, 31: 5.0, 32: 6.5, 33: 7.5}  # fmt: skip
    return pairs[k * 3], names[k + 4]


def falls_back(u, k):
    items = (5, 6, 7) if k > 2 else (5, 6, 8)
    try:
        found = items[k]
    except IndexError:
        found = -1
    return found, items[k == 1], items[np.asarray(k > 0) + 0]


def takes_from_an_empty_list(u, k):
    items = []
    if k == 1:
        return items
    return items[k]


def takes_at_no_integer(u, k):
    if k > 0:
        return (1, 2)[u[0]]
    return (1, 2)[k > 3]


def looks_a_number_up(u, k):
    names = {0: 1.5, 2: u, "three": 3, 3.0: None, -1: 2}
    if k > 9:
        return 0
    try:
        return names[k]
    except KeyError:
        return names[k + 1]


PROGRAMS = [
    takes_a_number, takes_one_of_several_types, stores_a_number, counts_along_a_list, writes_to_the_item,
    takes_out_of_many, takes_what_one_of_many_keys_is_for, falls_back, takes_from_an_empty_list, takes_at_no_integer,
    looks_a_number_up,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_it_does_what_python_does(program):
    assert_does_what_python_does(program, [(U, k) for k in (0, 1, 2, 3, -1, -2, -3, -4, 39)])


def takes_one_of_many_arrays(u, k):
    rows = [u * number for number in range(20)]
    return 0.0 if k > 50 else rows[k]


def test_what_would_take_many_branches_is_a_list_of_the_program():
    assert_does_what_python_does(takes_one_of_many_arrays, [(U, k) for k in (2, -1, 20, 51)])


def test_turns_that_can_be_written_out_know_their_items():
    def scaled(u, k):
        rows, total = [u * number for number in range(6)], u * 0
        for place in range(6):
            total = total + rows[place]
        return total

    assert np.array_equal(jitflow.function(scaled)(U, 1), scaled(U, 1))


def puts_points_where_they_are_nearest(points):
    centres = points[:3].copy()
    for _ in range(50):
        parts = [[] for _ in range(3)]
        for place in range(len(points)):
            best, least = 0, np.inf
            for number in range(3):
                distance = ((points[place] - centres[number]) ** 2).sum()
                if distance < least:
                    best, least = number, distance
            parts[best].append(place)
        before = centres
        centres = np.array([points[part].mean(axis=0) for part in parts])
        if not (centres - before).any():
            break
    return parts, centres


def test_an_index_that_data_says_is_not_asked_for_its_number():
    compiled = jitflow.function(puts_points_where_they_are_nearest)
    for seed, count in ((0, 24), (1, 17), (2, 40)):
        points = np.random.default_rng(seed).normal(size=(count, 2))
        assert repr(compiled(points)) == repr(puts_points_where_they_are_nearest(points))


ROADS = {
    "Ulm": {"Bern": 3, "Graz": 5},
    "Bern": {"Ulm": 3, "Lyon": 2},
    "Graz": {"Ulm": 5, "Linz": 1, "Lyon": 9},
    "Linz": {"Graz": 1},
    "Lyon": {},
    "Nice": {"Lyon": 4},
}


def shortest_way(roads, start, end):
    heap, seen = [(0, start)], set()
    while heap:
        length, town = heapq.heappop(heap)
        if town in seen:
            continue
        seen.add(town)
        if town == end:
            return length
        for other in roads[town]:
            if other not in seen:
                heapq.heappush(heap, (length + roads[town][other], other))
    return -1


def test_a_dict_that_a_text_of_the_run_chooses_is_asked_for_its_own_keys():
    compiled = jitflow.function(shortest_way)
    for start, end in (("Ulm", "Linz"), ("Nice", "Ulm"), ("Linz", "Bern")):
        assert compiled(ROADS, start, end) == shortest_way(ROADS, start, end)


def next_name(names, name):
    place = bisect.bisect(names, name)
    return names[place % len(names)], bisect.bisect_left(names, "c")


def test_places_in_lists_of_texts_are_known():
    for name in ("a", "c", "z"):
        assert jitflow.function(next_name)(["c", "f", "j"], name) == next_name(["c", "f", "j"], name)
