"""Functions whose kernels go in blocks, end early, or write what they make where it belongs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.frontend.numpy.both import check_compiled

RANDOM = np.random.default_rng(5)


@jitflow.function
def decided(x: Any) -> Any:
    return (
        np.any(x), np.all(x), np.any(x > 3), np.all(x > 0), x.argmax(), x.argmin(), (x > 3).argmax(), (x > 3).argmin(),
        np.array_equal(x, x), np.any(x[::2] > 0), x[::-1].argmax(),
    )  # fmt: skip


@jitflow.function
def decided_by_row(x: Any) -> Any:
    return (
        x.argmax(axis=1), x.argmin(axis=0), (x > 1).argmax(axis=1), np.all(x > 0, axis=1), np.any(x.T > 1, axis=1),
        x[1:, 1:].argmin(), np.any(x[1:, 1:] > 2), x.T.argmax(),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "f4", "f8"])
def test_blocks_behind_the_one_that_decides(dtype: str) -> None:
    """Extremes and flags at the ends of blocks, several equal ones, nan, and nothing but the least number."""
    for size in (1, 33, 1024, 1025, 4097, 9000):
        lines = [RANDOM.uniform(0, 5, size), np.zeros(size), RANDOM.integers(0, 3, size)]
        for place in {0, size - 1, size // 2, min(1024, size - 1), min(4096, size - 1)}:
            lines.append(np.zeros(size))
            lines[-1][place:] = 7
        found = [line.astype(dtype) for line in lines]
        if dtype == "i1":
            found.append(np.full(size, -128, dtype))
        if dtype.startswith("f"):
            found += [np.full(size, -np.inf, dtype), lines[0].astype(dtype)]
            found[-1][size // 2 :: 3] = np.nan
        for line in found:
            assert_equal(decided(line), decided.__wrapped__(line))
    for shape in ((2, 3), (3, 1030), (40, 100)):
        table = RANDOM.uniform(0, 4, shape).astype(dtype)
        assert_equal(decided_by_row(table), decided_by_row.__wrapped__(table))


def assert_equal(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)


def test_what_is_decided_hides_no_error() -> None:
    positions = np.zeros(9000, np.int64)
    positions[-1] = 10
    check_compiled(lambda x, k: np.any(x[k] > 0), np.ones(10), positions)


def test_a_reduction_beside_a_located_one() -> None:
    check_compiled(lambda x: (x.argmax(), x.sum(), x.argmin(), np.any(x > 3), x.max()), np.arange(5000, dtype="f4"))


def nested(a: Any, b: Any) -> Any:
    return (
        np.block([[a, b + 1], [b * 2, a]]),
        np.stack([np.concatenate((a + 1, b)), np.concatenate((b, a * 2))]),
        np.stack([np.stack((a, b + 1), -1), np.stack((a * 2, b), -1)]) + 1,
        np.pad(a, ((1, 2), (3, 0)), constant_values=((1, 2), (3, 4))),
        np.concatenate((np.concatenate((a[a > 3], b.ravel())), a[a > 5])),
        np.pad(np.pad(a, 1, mode="edge"), 9, mode="reflect"),
        np.pad(b, ((0, 9), (7, 0)), mode="wrap"),
        np.pad(a, 5, mode="symmetric"),
    )


def test_concatenations_in_concatenations() -> None:
    matrix = np.arange(12.0).reshape(3, 4)
    program = jitflow.function(nested)
    for a, b in ((matrix, matrix + 100), (matrix.T, matrix.T * 2), (np.ones((1, 4)), np.ones((1, 4)))):
        check_compiled(program, a, b)
    plan = jitflow.function(lambda a: np.block([[a, a + 1], [a * 2, a]])).ir(np.ones((50, 40)), stage="planned")
    assert plan.count(" bytes") == 2, "the argument and the result"


@pytest.mark.parametrize("name", ["vstack", "hstack", "dstack", "column_stack", "stack", "concatenate"])
def test_parts_of_two_sizes_are_copied_once(name: str) -> None:
    """Only the running program knows that the arrays are of one size."""
    join = getattr(np, name)
    program = jitflow.function(lambda a, b: join((a, b)))
    check_compiled(program, np.arange(3.0), np.arange(3.0) + 5)
    computed = jitflow.function(lambda a, b: join((a * 2, np.sqrt(b))))
    check_compiled(computed, np.arange(3.0), np.arange(3.0) + 5)
    for function in (program, computed):
        plan = function.ir(np.ones(30), np.ones(30), stage="planned")
        assert plan.count(" bytes") == 3, "the arguments and the result"
    if name not in ("hstack", "concatenate"):
        with pytest.raises(ValueError, match=r"dimension|shape"):
            computed(np.ones(3), np.ones(4))


def test_a_part_of_a_part_is_written_behind_the_checks_of_both() -> None:
    program = jitflow.function(lambda a, b, c: np.stack((np.concatenate((a * 2, b + 1)), np.sqrt(c))))
    check_compiled(program, np.arange(3.0), np.arange(2.0), np.arange(5.0))
    with pytest.raises(ValueError, match="same shape"):
        program(np.ones(100_000), np.ones(100_000), np.ones(5))
    check_compiled(program, np.arange(3.0), np.arange(2.0), np.arange(5.0))


@pytest.mark.parametrize("mode", ["edge", "wrap", "reflect", "symmetric"])
@pytest.mark.parametrize("widths", [3, ((0, 0), (2, 1), (0, 9)), ((4, 0), (0, 0), (1, 2)), ((0, 0), (0, 0), (0, 0))])
def test_what_is_padded_is_copied_once(mode: str, widths: Any) -> None:
    program = jitflow.function(lambda a: np.pad(a, widths, mode=mode))
    for shape in ((2, 3, 4), (1, 5, 1), (4, 1, 2)):
        check_compiled(program, np.arange(float(np.prod(shape))).reshape(shape))
    plan = program.ir(np.ones((20, 30, 40)), stage="planned")
    assert plan.count("from concatenate") <= 1, "arrays beside the result"


def repeated(x: Any, m: Any) -> Any:
    y = np.repeat(x, 3)
    y[1] = 7
    for k in range(3):
        x = np.tile(x + k, 2)
        x[0] = 5
    return y, x, np.repeat(m, 2, axis=1) * 2, m.T.reshape(-1).copy(), np.tile(m, (2, 3)), np.repeat(m, 4)


def test_what_is_repeated_is_made_once() -> None:
    matrix = np.arange(12.0).reshape(3, 4)
    check_compiled(repeated, np.arange(4.0), matrix)
    check_compiled(repeated, np.arange(8.0)[::2], matrix.T)
    for program in (lambda m: np.repeat(m, 3), lambda m: np.repeat(m, 2, axis=1)):
        function = jitflow.function(program)
        assert function(matrix).base is None
        assert function.ir(matrix, stage="fused").count("= fusion") == 1


def stretches(x: Any, i: Any) -> Any:
    for k in range(3):
        x = np.insert(np.delete(x, i), k, [x[0], k])
    return x, np.delete(x, -1), np.insert(x, -1, 3), np.insert(x, len(x), 2.5), np.delete(np.outer(x, x), i, axis=1)


@pytest.mark.parametrize("index", [0, 2, -1, -5, 5, -6, np.int32(3), np.array(1), 1.5])
def test_one_position_is_taken_out_or_filled(index: Any) -> None:
    check_compiled(stretches, np.arange(5.0), index)
    check_compiled(lambda x, i: np.delete(x, i), np.zeros(0), index)
    check_compiled(lambda x, i: np.insert(x, i, 1), np.arange(4), index)


@pytest.mark.parametrize("shapes", [((3, 4), (4, 5), (5,)), ((4,), (4, 5), (5, 2), (2, 3)), ((2, 9), (9, 2), (2, 9))])
def test_products_of_several(shapes: Any) -> None:
    arrays = [RANDOM.integers(0, 9, shape).astype(float) for shape in shapes]
    check_compiled(lambda *given: np.linalg.multi_dot(given), *arrays)
