"""Kernels that threads share: the same bits for any number of threads, whoever calls, also in forked processes."""

from __future__ import annotations

import ctypes
import math
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.runtime.parallel.threads import num_threads, share_address
from tests.sampled import in_turn, sampled

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no POSIX threads")

Program = Callable[..., Any]


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = num_threads()
    yield
    jitflow.set_num_threads(before)


def elementwise(x: Any) -> Any:
    return np.tanh(x) * x[::-1] + 1


def standardised_rows(x: Any) -> Any:
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def row_and_column_sums(x: Any) -> Any:
    return np.exp(x).sum(axis=1), (x * x).sum(axis=0), x.sum()


def in_place(x: Any) -> Any:
    u = x.copy()
    for _ in range(3):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def transposed(x: Any) -> Any:
    return np.ascontiguousarray(x.T) + 2, x.T.copy() * x[0, 0]


def products(x: Any) -> Any:
    return np.maximum(x.T[:, :200] @ x[:200, :64] + 1, 0)


def pictures(x: Any) -> Any:
    return x.reshape(-1, 3) * np.array([0.5, 1.0, 2.0])


def whole_sums(x: Any) -> Any:
    narrow = x.astype(np.float32)
    return x.sum(), (x * x).mean(), narrow.var(), np.prod(1 + narrow / 1e7), np.sum(x > 0), x[::2].std()


def whole_extremes(x: Any) -> Any:
    narrow = (x * 20).astype(np.int8)
    return x.max(), x.argmin(), narrow.argmax(), np.fmax.reduce(x.ravel()), (x > 6).any(), x.T.argmax()


def standardised(x: Any) -> Any:
    powers = np.exp(x - x.max())
    return powers / powers.sum(), (x - x.mean()) / x.std()


def turns_of_a_loop(x: Any) -> Any:
    rows, columns = x.shape
    sums, doubled, pairs = np.zeros(rows), np.zeros((rows, columns)), np.zeros(2 * rows)
    for i in range(rows):
        total = 0.0
        for j in range(columns):
            total += math.sin(x[i, j]) * j
            doubled[i, j] = 2 * x[i, j]
        sums[i] = total
    for i in range(rows):
        pairs[2 * i] = x[i, 0]
        pairs[2 * i + 1] = pairs[2 * i] - x[i, 1]
    return sums, doubled, pairs


def triangles(x: Any) -> Any:
    size = min(x.shape[0], 1003)
    lower, upper = np.zeros((size, size)), np.zeros((size, size + 2))
    for i in range(size):
        for j in range(i + 1):
            lower[i, j] = x[i, 0] * x[j, 1]
    for i in range(1, size):
        for j in range(size - i, size):
            upper[i, j + 2] = x[i, 0] - x[j, 1]
    return lower, upper


def turns_that_meet(x: Any) -> Any:
    shifted, turned, running = np.zeros(x.size + 1), np.zeros(x.T.shape), np.zeros(x.size)
    for i in range(x.size):
        shifted[i] += x.flat[i]
        shifted[i + 1] += 2 * x.flat[i]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            turned[j, i] = x[i, j]
    for i in range(x.shape[0]):
        for j in range(i + 1):
            shifted[i + j] = shifted[j] + x[i, 0]
    for i in range(1, x.size):
        running[i] = running[i - 1] * 0.5 + x.flat[i]
    return shifted, turned, running


def stacked(x: Any) -> Any:
    return x.ravel()[: 150 * 30 * 30].reshape(150, 30, 30)


def attention(x: Any) -> Any:
    q = stacked(x)
    heads = q.reshape(50, 3, 30, 30)
    weights = np.exp(heads @ heads.transpose(0, 1, 3, 2) / 30 - 1)
    return np.exp(q @ np.swapaxes(q, 1, 2) / 30) @ q, (weights @ heads).transpose(0, 2, 1, 3)


def turns_of_products(x: Any) -> Any:
    q = stacked(x)
    y = np.empty(q.shape)
    for i in range(len(q)):
        y[i] = np.exp(q[i] @ q[i].T / 30) @ q[i]
    return y


PROGRAMS = [elementwise, standardised_rows, softmax, row_and_column_sums, in_place, transposed, products, pictures,
            whole_sums, whole_extremes, standardised, turns_of_a_loop, triangles, turns_that_meet, attention,
            turns_of_products]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "shape"),
    sampled(in_turn(PROGRAMS, [(2003, 303), (3, 60001), (90001, 3)]), 3),
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_any_number_of_threads_gives_the_same_bits(program: Program, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    results = []
    for count in (1, 2, 3, 7):
        jitflow.set_num_threads(count)
        found = jitflow.function(program)(x)
        results.append([np.asarray(part).tobytes() for part in (found if isinstance(found, tuple) else (found,))])
    assert all(result == results[0] for result in results)


def columns_of_a_table(x: Any) -> Any:
    y = np.where(x[:, :1] > 2, np.nan, 0) + x
    return (
        (x - x.mean(axis=0)) / x.std(axis=0),
        np.exp(y).var(axis=0),
        (x * x).mean(axis=0),
        x.sum(axis=0) + x.max(axis=0),
    )


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
def test_threads_share_the_rows_of_few_columns(dtype: str) -> None:
    """Blocks of rows are summed up by whoever comes, and joined in order, with whatever a later call brings."""
    x = np.random.default_rng(0).standard_normal((40007, 20)).astype(dtype)
    x[:, 3], x[5000, 4], x[-1, 5], x[:, 6] = -0.0, np.inf, np.nan, 1e30
    program = (lambda x: (x - x.mean(axis=0), x.sum(axis=0))) if dtype == "c8" else columns_of_a_table
    results: list[list[bytes]] = []
    for count in (1, 2, 3, 7):
        jitflow.set_num_threads(count)
        compiled = jitflow.function(program)
        given = [x, x[:5], x[:1025, :7], x[:4096], x.reshape(20, -1)]
        results.append([part.tobytes() for one in given for part in compiled(one)])
        if count == 2 and dtype != "c8":
            text = jitflow.function(lambda x: x / x.std(axis=0)).ir(x, stage="scheduled")
            assert len(re.findall("for j by (1024|1) in threads of", text)) == 2
            assert "1024 in threads" not in jitflow.function(lambda x: x.std(axis=0)).ir(x[:999], stage="scheduled")
    assert all(result == results[0] for result in results)


def own(x: Any) -> Any:
    y = np.empty(x.size)
    for i in range(x.size):
        y[i] = math.sqrt(x[i])
    return y


def given(x: Any, y: Any) -> None:
    for i in range(x.size):
        y[i] = math.sqrt(x[i])


def given_surely(x: Any, y: Any) -> None:
    for i in range(min(x.size, y.size)):
        y[i] = x[i] * 2.0


def meeting(x: Any) -> Any:
    y = np.zeros(x.size + 1)
    for i in range(x.size):
        y[i] = x[i]
        y[i + 1] = 0.0
    return y


def in_a_triangle(x: Any) -> Any:
    y = np.zeros((x.size, x.size))
    for i in range(x.size):
        for j in range(i, x.size):
            y[i, j] = x[i] * x[j]
    return y


def handing_on(x: Any) -> Any:
    y, total = np.zeros(x.size), 0.0
    for i in range(x.size):
        total += x[i]
        y[i] = total
    return y


def summed_products(x: Any) -> Any:
    total = np.zeros((1, 1))
    for i in range(x.size):
        total = total @ total + x[i]
    return total


def overlapping_products(x: Any) -> Any:
    y = np.zeros((x.size + 1, x.size))
    for i in range(x.size):
        y[i : i + 2] = y[i : i + 2] @ np.exp(x[:, None] * x)
    return y


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (lambda x: attention(np.broadcast_to(x[0], (150, 900))), "shared by threads"),
        (lambda x: turns_of_products(np.broadcast_to(x[0], (150, 900))), "shared by threads"),
        (summed_products, "turns hand on what they have computed"),
        (overlapping_products, "turns may write where others read or write"),
        (own, "shared by threads"),
        (given_surely, "shared by threads"),
        (in_a_triangle, "shared by threads"),
        (given, "a turn may fail, and who calls would see what later ones have written"),
        (meeting, "turns may write where others read or write"),
        (handing_on, "turns hand on what they have computed"),
    ],
)
def test_explain_says_which_loops_are_shared(program: Program, said: str) -> None:
    jitflow.set_num_threads(2)
    x = np.ones(50)
    arguments = (x, np.zeros(50))[: program.__code__.co_argcount]
    lines = jitflow.function(program).explain(*arguments).threads
    assert lines
    assert all(line.endswith(said) for line in lines)


def test_the_first_turn_that_fails_raises() -> None:
    x = np.ones(3_000_000)
    x[2_500_000:] = -1.0
    for count in (1, 3):
        jitflow.set_num_threads(count)
        with pytest.raises(ValueError, match=r"^math domain error"):
            jitflow.function(own)(x)


def test_the_first_turn_of_products_that_fails_raises() -> None:
    q, places = np.ones((150, 30, 30)), np.arange(150)
    places[[70, 140]] = 1000, 2000

    def program(q: Any, places: Any) -> Any:
        y = np.empty(q.shape)
        for i in range(len(q)):
            y[i] = q[places[i]] @ q[i]
        return y

    for count in (1, 3):
        jitflow.set_num_threads(count)
        compiled = jitflow.function(program)
        for _ in range(5):
            with pytest.raises(IndexError, match=r"^index 1000 is out of bounds"):
                compiled(q, places)


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 256 * 65_536 + 3])
def test_whole_arrays_are_reduced_in_chunks(size: int) -> None:
    jitflow.set_num_threads(3)
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    program = jitflow.function(lambda x: (x.sum(), (x * x).sum(), x.max(initial=-9), np.argmax(np.append(x, 2.0))))
    found = program(x)
    expected = x.sum(dtype=float), (x * x).sum(dtype=float), x.max(initial=-9), np.argmax(np.append(x, 2.0))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * max(size, 1) ** 0.5)


def test_outermost_loops_are_shared() -> None:
    jitflow.set_num_threads(2)
    text = jitflow.function(elementwise).ir(np.ones((1000, 1000)), stage="kernels")
    assert text.count("share %") == 1
    assert "{step=1, threads=2, worth=262144} (%first: index, %last: index, %worker: index)" in text
    assert "{step=1, threads=2, worth=262144}" in jitflow.function(softmax).ir(np.ones((1000, 1000)), stage="kernels")


def test_a_kernel_that_only_shares_is_written_out_where_it_is_launched() -> None:
    jitflow.set_num_threads(2)
    text = jitflow.function(elementwise).ir(np.ones((1000, 1000)), stage="llvm")
    assert re.findall(r'^define hidden \w+ @"(\w+)"', text, re.MULTILINE) == ["kernel_0_part0"]
    _, _, run = text.partition("@run(")
    assert len(re.findall(r'call void @"kernel_0_part0"', run)) == 1
    reduced = jitflow.function(lambda x: (x * 2).sum()).ir(np.ones(1000), stage="llvm")
    assert re.findall(r'^define hidden \w+ @"(\w+)"', reduced, re.MULTILINE) == ["kernel_0_part0", "kernel_0"]


@pytest.mark.parametrize("places", [(1_999_999,), (5, 1_999_999), (1_200_000, 1_200_001, 1_100_000, 1_500_000)])
def test_the_first_error_of_a_shared_kernel_is_raised(places: tuple[int, ...]) -> None:
    x, positions = np.linspace(0.0, 1.0, 1000), np.arange(2_000_000) % 1000
    for number, place in enumerate(places):
        positions[place] = 5000 + number
    for count in (1, 3):
        jitflow.set_num_threads(count)
        program = jitflow.function(lambda x, positions: np.tanh(x[positions]) + 1)
        for _ in range(5):
            with pytest.raises(IndexError, match=f"^index {positions[min(places)]} is out of bounds"):
                program(x, positions)


def test_more_threads_compile_anew_and_fewer_do_not() -> None:
    jitflow.set_num_threads(1)
    program, x = jitflow.function(lambda x: x + 1), np.ones(500_000)
    for count, misses in ((1, 1), (2, 2), (1, 2), (2, 2), (3, 3), (2, 3)):
        jitflow.set_num_threads(count)
        np.testing.assert_array_equal(program(x), x + 1)
        assert program.cache_info().misses == misses


@pytest.mark.parametrize(
    ("last", "step", "least"), [(1000, 1, 10), (1001, 32, 32), (7, 1, 1), (0, 1, 1), (10**6, 8, 99)]
)
def test_spans_meet_without_gap(last: int, step: int, least: int) -> None:
    jitflow.set_num_threads(3)
    spans: list[tuple[int, int]] = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)
    run = function(lambda _, first, behind, worker: spans.append((first, behind)) if 0 <= worker < 2 else None)
    share = ctypes.CFUNCTYPE(None, function, ctypes.c_void_p, *[ctypes.c_int64] * 4)(share_address())
    share(run, None, last, step, least, 2)
    spans.sort()
    assert [first for first, _ in spans] == [0, *(behind for _, behind in spans[:-1])]
    assert spans[-1][1] == last
    assert all(first % step == 0 for first, _ in spans)
    assert len(spans) <= max(last // least, 1)


def test_callers_at_the_same_time() -> None:
    jitflow.set_num_threads(3)
    program = jitflow.function(elementwise)
    inputs = [np.random.default_rng(seed).standard_normal((500, 700)) for seed in range(4)]
    expected = [program(x) for x in inputs]
    barrier = threading.Barrier(4)

    def call(number: int) -> None:
        barrier.wait()
        for _ in range(50):
            np.testing.assert_array_equal(program(inputs[number]), expected[number])

    with ThreadPoolExecutor(4) as executor:
        for future in [executor.submit(call, number) for number in range(4)]:
            future.result()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_works_alone_until_it_asks_for_threads() -> None:
    jitflow.set_num_threads(3)
    program, x = jitflow.function(elementwise), np.random.default_rng(0).standard_normal((800, 900))
    expected = program(x)
    child = os.fork()
    if child == 0:
        right = np.array_equal(program(x), expected)
        jitflow.set_num_threads(2)
        right = right and np.array_equal(program(x), expected)
        os._exit(0 if right else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    np.testing.assert_array_equal(program(x), expected)
