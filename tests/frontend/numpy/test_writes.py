"""Writing to arrays, compared with NumPy: results, views and the arguments themselves."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same
from tests.frontend.interpreted import interpreted
from tests.frontend.numpy.both import check_compiled


def item(x, k):
    x[k] = 3.5
    return x[k]


def rows(x, k):
    x[k] = x[0] + 1
    x[:k] *= 2
    x[-1, ::2] = 7


def through_views(x, k):
    view = x.T[1:]
    view[0] += 10
    other = view[:, k]
    other[...] = -1
    return view, other


def local(x, k):
    y = np.zeros(5)
    y[k] = 1
    z = y[::-1]
    z += 2
    y[1:3] = z[:2]
    return y, z


def masks(x, k):
    x[x > 0.5] = 0
    x[x[:, 0] == 0] = -1
    y = x.copy()
    y[y < 0] += 1
    return y


def integer_arrays(x, k):
    positions = np.array([2, 0, 2])
    x[positions, 1] = np.array([1.0, 2.0, 3.0])
    x[:, [0, 2]] = 9
    total = np.zeros(4)
    np.add.at(total, np.array([1, 1, 3]), 1.5)
    return total


def functions(x, k):
    np.copyto(x, 2.0, where=x > 0.5)
    np.add(x, 1, out=x)
    np.fill_diagonal(x, 0)
    np.fill_diagonal(x[:, 1:], [4, 5])
    x.fill(3) if x.shape[0] == 7 else None
    y = np.empty(3)
    np.put(y, [0, 1, 2], [5, 6, 7])
    return y


def overlapping(x, k):
    x[1:] = x[:-1]
    x[:, :-1] += x[:, 1:]


def repeated(x, k):
    y = x
    y += 1
    x -= 0.5
    return y


def broadcast_values(x, k):
    x[...] = np.arange(4.0)
    x[1:3] = np.ones((1, 1, 4)) * 2
    x[0] = [1, 2, 3, 4]


PROGRAMS = [item, rows, through_views, local, masks, integer_arrays, functions, overlapping, repeated, broadcast_values]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("k", [0, 2, -1])
def test_writes(program: Any, k: int):
    function = interpreted(program)
    for shape in ((4, 4), (4, 4)):
        given = np.random.default_rng(1).random(shape)
        expected_x, found_x = given.copy(), given.copy()
        expected, found = program(expected_x, k), function(found_x, k)
        assert_same(found_x, expected_x)
        if expected is not None:
            assert_same(found, expected)


def test_a_read_only_argument():
    x = np.zeros(3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        interpreted(item)(x, 0)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(9, 1),
        lambda x: x.__iadd__(1),
        lambda x: np.add(x, 1, out=x),
        lambda x: np.copyto(x, 1, where=x > 0),
        lambda x: x.sort(),
        lambda x: x.partition(1),
        lambda x: np.put(x, [0], []),
        lambda x: np.putmask(x, x > 0, 1),
        lambda x: np.place(x, x > 0, 1),
        lambda x: np.maximum.at(x, slice(None), 1),
        lambda x: np.fill_diagonal(x, 1),
        lambda x: np.broadcast_to(x, (2, 3)).__setitem__([0], 1),
    ],
)
def test_what_is_said_of_read_only_arrays(write: Any):
    x = np.arange(3.0)
    x.flags.writeable = False
    with pytest.raises(ValueError) as expected:
        write(x)
    with pytest.raises(ValueError, match=f"^{re.escape(str(expected.value))}$"):
        interpreted(lambda x: write(x))(x)


def stores_itself(x):
    x.T[...] = x


def stores_into_the_line(x):
    x.flat[:] = x


def stores_one_of_two(x):
    v = x if len(x) > 2 else x + 1
    v[:] = v


def shuffles_nothing(x):
    np.random.shuffle(x[:0])


def does_not_fit(x):
    np.add(x, x[:2], out=x)


def stores_another_dtype(x):
    x += 1j


def takes(x):
    np.take(x, [0, 1, 2], out=x)


def copies_itself(x):
    np.copyto(x, x)


@pytest.mark.parametrize(
    "program",
    [
        stores_itself,
        stores_into_the_line,
        stores_one_of_two,
        shuffles_nothing,
        does_not_fit,
        stores_another_dtype,
        takes,
        copies_itself,
    ],
)
def test_a_read_only_argument_after_one_that_is_not(program: Any):
    """Stores that were left out, or failed for another reason, did not ask whether the array may be written to."""
    compiled = jitflow.function(program)
    for may_write in (True, False, True):
        said = []
        for function in (program, compiled):
            x = np.arange(3.0)
            x.flags.writeable = may_write
            try:
                function(x)
                said.append("nothing")
            except (ValueError, TypeError) as error:
                said.append(str(error).partition("\n")[0])
        assert said[0] == said[1]


def turned_lines(x):
    x.T.flat[::2] = 1
    x.T.ravel()[...] = 2
    np.put(x.T, [], 3)
    return x


@pytest.mark.parametrize("shape", [(0, 0), (0, 0, 0), (1, 1), (0, 1), (1, 3, 1), (2, 3)])
def test_nothing_lies_in_any_order(shape: tuple[int, ...]):
    check_compiled(turned_lines, np.zeros(shape))


@pytest.mark.parametrize("shape", [(2, 3), (7, 2), (3, 3, 3), (2, 2, 2, 2), (2, 3, 2), (0, 0), (3,)])
def test_diagonals_are_filled(shape: tuple[int, ...]):
    for number, wrap in itertools.product((1, [1.0, 2.0]), (False, True)):

        def fill(x: Any, number: Any = number, wrap: bool = wrap) -> Any:
            np.fill_diagonal(x, number, wrap)
            np.fill_diagonal(x.T, 9)
            return x

        check_compiled(fill, np.zeros(shape))


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (lambda x: x.__setitem__(9, 1), "index 9 is out of bounds for axis 0 with size 4"),
        (lambda x: x.__setitem__(slice(0, 2), np.zeros(3)), "could not broadcast input array"),
        (lambda x: x.__setitem__((0, 0, 0), 1), "too many indices"),
    ],
)
def test_mistakes(write: Any, error: str):
    with pytest.raises((IndexError, ValueError), match=error):
        interpreted(lambda x: write(x))(np.zeros((4, 4)))


def behind_the_first(x, y, n):
    x[1:] += y


def a_first_element(x, y, n):
    for k in range(n):
        x[:1] += y[: k + 1]


def prefixes(x, y, n):
    for k in range(n):
        total = x[:k] @ y[:k]
        x[:k] += y[:k] * total


@pytest.mark.parametrize(
    ("program", "sizes"),
    [
        *((behind_the_first, sizes) for sizes in ((2, 7, 0), (8, 7, 0), (9, 1, 0), (2, 1, 0), (2, 2, 0), (1, 1, 0))),
        *((a_first_element, sizes) for sizes in ((5, 5, 1), (5, 5, 3), (5, 1, 3))),
        *((prefixes, sizes) for sizes in ((7, 7, 6), (7, 4, 4))),
    ],
)
def test_an_output_does_not_repeat(program: Any, sizes: tuple[int, int, int]):
    """An element of an array of size 1 cannot take in several, whoever finds out about the sizes, and when."""
    results = []
    for function in (program, interpreted(program)):
        x, y = np.arange(1.0, sizes[0] + 1), np.arange(1.0, sizes[1] + 1)
        try:
            function(x, y, sizes[2])
        except ValueError as error:
            results.append((str(error).splitlines()[0], x))
        else:
            results.append(("", x))
    assert results[1][0] == results[0][0]
    np.testing.assert_array_equal(results[1][1], results[0][1])


def _parts(z: Any, v: Any) -> Any:
    z.real = v
    z[1:].imag = 7
    return z


def test_a_part_is_written_alone():
    """What the other part is does not matter: neither inf nor nan."""
    z = np.array([complex(1, np.inf), complex(np.nan, 2), complex(np.inf, 3)])
    ours, plain = z.copy(), z.copy()
    assert_same(jitflow.function(_parts)(ours, np.arange(3.0)), _parts(plain, np.arange(3.0)))
    assert_same(ours, plain)


def stored(x, y, i, v):
    x[i] = v
    y[i, i * 1] = v
    y[i.T, 1] = v.T * 2
    np.put(x, i, v + 1)


@pytest.mark.parametrize("orders", ["CC", "FF", "CF", "FC"])
def test_of_repeated_positions_the_last_in_the_order_of_iteration_stays(orders: str):
    random = np.random.default_rng(5)
    for shape in ((2, 3), (3, 2), (2, 3, 2)):
        positions = np.array(random.integers(0, 2, shape), order=orders[0])
        given = np.array(np.arange(float(positions.size)).reshape(shape), order=orders[1])
        found, expected = ((np.zeros(5), np.zeros((2, 2))) for _ in range(2))
        interpreted(stored)(*found, positions, given)
        stored(*expected, positions, given)
        assert_same(found, expected)


@pytest.mark.parametrize("given", [[1.0], [1.0, 2.0], [1.0, 2.0, 3.0, 4.0], []])
def test_what_is_put_is_repeated(given: list[float]):
    def program(x, i, v):
        np.put(x, i, v)
        return x

    arguments = np.array([[0, 3], [1, 0]]), np.array(given)
    assert_same(interpreted(program)(np.zeros((3, 2)), *arguments), program(np.zeros((3, 2)), *arguments))


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap"])
@pytest.mark.parametrize("step", [1, 2])
def test_where_put_puts_what_is_out_of_range(mode: str, step: int):
    def program(x, i):
        np.put(x[::step], i, [1.0, 2.0], mode=mode)
        return x * 1

    compiled = jitflow.function(program)
    for size in (5, 0):
        for places in ([1, -1, 0], [7, 2, -9], [], [True, False]):
            given = np.array(places, None if places else np.int64)
            if size and (mode != "raise" or 7 not in places):
                assert_same(compiled(np.zeros(size), given), program(np.zeros(size), given))
            elif size or places:
                with pytest.raises(IndexError) as expected:
                    program(np.zeros(size), given)
                with pytest.raises(IndexError, match=re.escape(str(expected.value))):
                    compiled(np.zeros(size), given)


def test_positions_are_looked_at_once():
    traced = jitflow.function(lambda x, i: np.put(x, i, 1.0))
    text = traced.ir(np.zeros(9), np.arange(3), stage="optimized")
    assert "scatter" in text
    assert "gather" not in text


@pytest.mark.parametrize("condition", [True, False])
def test_a_leading_axis_of_size_one_that_the_program_finds_is_dropped(condition: bool) -> None:
    def program(a: Any, c: Any) -> Any:
        w, v = np.zeros(2), np.zeros(2)
        np.copyto(w, a[c])
        v[:] = a[c]
        return w, v

    found = []
    for function in (jitflow.function(program), program):
        try:
            found.append(repr(function(np.array([3.0]), condition)))
        except ValueError as error:
            found.append(str(error).splitlines()[0])
    assert found[0] == found[1]


def test_rows_of_a_few_numbers_are_written_number_by_number() -> None:
    def program(x: Any, a: Any, n: int) -> Any:
        rows, bytes, turned, mixed = np.zeros((n, 3)), np.zeros((n, 2), np.int8), np.zeros(3), np.zeros((2, 2), complex)
        for k in range(n):
            rows[k] = k, a * k, x[k % 4]
            bytes[k] = [k, 2 * k]
            turned[::-1] = turned[0] + 1, turned[1], k
            turned[:] = (turned[1], turned[2], turned[0])
        x[:2] = x[1], x[0]
        mixed[:, 1] = np.float32(2), 2j
        x[n - 4 : n - 2] = a, True
        return rows, bytes, turned, mixed, x

    for a in (0.5, 3):
        assert_same(jitflow.function(program)(np.arange(4.0), a, 5), program(np.arange(4.0), a, 5))
    written = str(jitflow.function(program).ir(np.arange(4.0), 0.5, 5, stage="traced"))
    assert written.count(" concatenate ") == 2, "those of a size that the run knows"
