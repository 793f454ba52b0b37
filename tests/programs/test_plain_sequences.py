"""Programs on sequences, as plain Python, against exhaustive search and recursion."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from tests.gallery import example, plain


def test_needleman_wunsch() -> None:
    a, b, substitution, gap = example("needleman_wunsch")

    @cache
    def best(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return -gap * (i + j)
        match = best(i - 1, j - 1) + int(substitution[a[i - 1], b[j - 1]])
        return max(match, best(i - 1, j) - gap, best(i, j - 1) - gap)

    score, alignment = plain("needleman_wunsch")(a, b, substitution, gap)
    assert score == best(len(a), len(b))
    np.testing.assert_array_equal(alignment[0][alignment[0] >= 0], a)
    np.testing.assert_array_equal(alignment[1][alignment[1] >= 0], b)
    columns = [-gap if min(x, y) < 0 else int(substitution[x, y]) for x, y in alignment.T]
    assert sum(columns) == score


def test_smith_waterman() -> None:
    a, b, match, mismatch, gap = example("smith_waterman")

    @cache
    def ending(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return 0
        diagonal = ending(i - 1, j - 1) + (match if a[i - 1] == b[j - 1] else -mismatch)
        return max(0, diagonal, ending(i - 1, j) - gap, ending(i, j - 1) - gap)

    best, end_a, end_b = plain("smith_waterman")(a, b, match, mismatch, gap)
    assert best == max(ending(i, j) for i in range(len(a) + 1) for j in range(len(b) + 1))
    assert ending(end_a, end_b) == best


def test_levenshtein() -> None:
    def as_bytes(word: str) -> np.ndarray:
        return np.frombuffer(word.encode(), np.uint8)

    distance = plain("levenshtein")
    for one, other, expected in (("kitten", "sitting", 3), ("flaw", "lawn", 2), ("", "abc", 3), ("abc", "", 3)):
        assert distance(as_bytes(one), as_bytes(other)) == expected
    assert distance(as_bytes("intention"), as_bytes("execution")) == 5


def test_nussinov() -> None:
    sequence = example("nussinov")[0][:9]

    @cache
    def best(i: int, j: int) -> int:
        """With base i unpaired, or paired with some base that is not beside it."""
        if j <= i:
            return 0
        partners = [k for k in range(i + 2, j + 1) if sequence[i] + sequence[k] == 3]
        return max([best(i + 1, j), *(1 + best(i + 1, k - 1) + best(k + 1, j) for k in partners)])

    table = plain("nussinov")(sequence)
    for i, j in itertools.combinations(range(len(sequence)), 2):
        assert table[i, j] == best(i, j)
    np.testing.assert_array_equal(np.tril(table), 0)


def test_viterbi() -> None:
    observations, start, transition, emission = example("viterbi")
    observations = observations[:6]

    def probability(path: tuple[int, ...]) -> float:
        moves = sum(transition[one, other] for one, other in itertools.pairwise(path))
        return float(start[path[0]] + moves + sum(emission[path, observations]))

    path, score = plain("viterbi")(observations, start, transition, emission)
    likeliest = max(itertools.product(range(len(start)), repeat=6), key=probability)
    assert tuple(path) == likeliest
    np.testing.assert_allclose(score, probability(likeliest))


def test_knapsack() -> None:
    values, weights, capacity = example("knapsack")
    choices = [np.array(choice) for choice in itertools.product([False, True], repeat=len(values))]
    fitting = [values[choice].sum() for choice in choices if weights[choice].sum() <= capacity]
    best, chosen = plain("knapsack")(values, weights, capacity)
    assert best == max(fitting) == values[chosen].sum()
    assert weights[chosen].sum() <= capacity
    assert plain("knapsack")(np.array([5, 7]), np.array([100, 3]), 4)[0] == 7


def test_sieve() -> None:
    for n in (10, 49, 50, 1000):
        expected = [k for k in range(2, n) if all(k % d for d in range(2, int(k**0.5) + 1))]
        assert plain("sieve")(n).tolist() == expected


def test_crc16() -> None:
    got = plain("crc16")(np.frombuffer(b"123456789", np.uint8), 0x8408)
    assert got == 0x6E90  # the check value 0x906E of the catalogue, low byte first


def test_insertion_sort() -> None:
    (x,) = example("insertion_sort")
    inversions = sum(one > other for one, other in itertools.combinations(x, 2))
    expected = np.sort(x)
    assert plain("insertion_sort")(x) == inversions
    np.testing.assert_array_equal(x, expected)


def test_collatz() -> None:
    longest, steps = plain("collatz")(100)
    assert longest == 97
    assert steps[97] == 118
    assert steps[27] == 111
    assert steps[[1, 2, 3]].tolist() == [0, 1, 7]
