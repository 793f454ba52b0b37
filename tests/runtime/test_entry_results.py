"""From result slots to Python objects: ownership, bases, containers, errors, the GIL."""

from __future__ import annotations

import gc
import sys
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from jitflow.runtime.entry import plan as p
from jitflow.runtime.native.llvm_text import FunctionText
from jitflow.runtime.native.pool import memory_stats
from jitflow.runtime.native.python_api import python_function
from tests.runtime.conftest import Make
from tests.runtime.fakes import (
    MULTIPLY_ADD,
    FailedError,
    Missed,
    copy_array,
    copy_words,
    fail_with,
    in_sequence,
    leaf_of,
    multiply_add,
    plan_of,
    vector_leaf,
)


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Record:
    first: Any
    second: Any


class Refusing:
    """A structure whose constructor raises."""

    def __init__(self, *children: Any) -> None:
        raise ValueError("refused")


VECTOR = vector_leaf(0, 0)


def new(slot: int = 0) -> p.NewArray:
    return p.NewArray(slot, "f32", 1)


def test_a_shared_container_is_made_once_wherever_it_comes_first(make: Make) -> None:
    inner = p.Shared(0, p.ListOf((p.SameResult(1), p.SameObject(0))))
    outer = p.Shared(1, p.DictOf(("x", "y"), (inner, inner)))
    chosen = p.OneOf(1, ((4, p.ListOf((outer, inner))), (0, p.ConstantObject(None))))
    results = p.TupleOf((chosen, new(), inner, outer))
    function = make(plan_of("x", (VECTOR,), results), copy_array(0, 0, 1, 4))
    for length in (4, 3):
        first, array, second, third = function(np.arange(length, dtype="f4"))
        assert second is third["x"] is third["y"]
        assert second[0] is array
        assert (first is None) == (length == 3)
        assert first is None or (first[0] is third and first[1] is second)
        expected = sys.getrefcount(object()) + 3 + (length == 4)
        assert sys.getrefcount(second) == expected


def test_a_new_array_owns_its_memory(make: Make) -> None:
    function = make(MULTIPLY_ADD, multiply_add)
    left, right = np.arange(1000, dtype="f4"), np.ones(1000, "f4")
    result = function(left, right)
    assert type(result) is np.ndarray
    assert result.dtype == np.dtype("f4")
    assert (result == left * right + left).all()
    assert result.base is None
    assert result.flags.owndata
    assert result.flags.writeable
    assert result.flags.c_contiguous
    result.resize(2000, refcheck=False)
    assert (result[:1000] == 2 * left).all()
    assert (result[1000:] == 0).all()
    assert function(left[:0], right[:0]).shape == (0,)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (1,), (3, 4), (2, 1, 3), (0, 3)])
def test_new_arrays_of_any_shape_and_order(make: Make, shape: tuple[int, ...], order: Any) -> None:
    array = np.asarray(np.arange(np.prod(shape)).reshape(shape), dtype="f8", order=order)
    rank = array.ndim
    function = make(plan_of("x", (leaf_of(array),), p.NewArray(0, "f64", rank)), copy_array(0, 0, rank, 8))
    result = function(array)
    assert result.tobytes() == array.tobytes()
    assert result.shape == array.shape
    assert result.strides == array.strides
    assert (result.flags.c_contiguous, result.flags.f_contiguous) == (
        array.flags.c_contiguous,
        array.flags.f_contiguous,
    )


def test_blocks_return_to_the_pool_when_arrays_die(make: Make) -> None:
    function = make(MULTIPLY_ADD, multiply_add)
    left = np.ones(100_000, "f4")
    function(left, left)
    gc.collect()
    before = memory_stats()
    for _ in range(100):
        function(left, left)
    after = memory_stats()
    assert after["bytes_in_use"] == before["bytes_in_use"]
    assert after["reuses"] - before["reuses"] == 100


def test_a_view_of_an_argument(make: Make) -> None:
    function = make(plan_of("x", (VECTOR,), p.ViewOfArgument(0, "f32", 1, 0)), copy_words(0, 0, 3))
    array = np.arange(5, dtype="f4")
    view = function(array)
    assert view.base is array
    assert not view.flags.owndata
    assert view.flags.writeable
    view[0] = 7
    assert array[0] == 7
    array.flags.writeable = False
    assert not function(array).flags.writeable
    part = np.arange(10, dtype="f4")[2:]
    assert function(part).base is part.base  # as NumPy, a view of a view has the owner as its base


def test_a_view_of_a_result(make: Make) -> None:
    body = in_sequence(copy_array(0, 0, 1, 4), copy_words(1, 4, 2))

    def add_view(function: Any) -> None:
        body(function)
        start = function.load("i64", "%results")
        function.store("i64", function.let(f"add i64 {start}, 4"), "%results", 24)
        length = function.load("i64", "%arguments", 8)
        function.store("i64", function.let(f"sub i64 {length}, 1"), "%results", 32)

    array = np.arange(5, dtype="f4")
    together = make(plan_of("x", (VECTOR,), p.TupleOf((p.ViewOfResult(3, "f32", 1, 1), new()))), add_view)
    view, base = together(array)
    assert view.base is base
    assert (view == array[1:]).all()
    base[1] = 9
    assert view[0] == 9
    alone = make(plan_of("x", (VECTOR,), p.ViewOfResult(3, "f32", 1, 1), bases=(new(),)), add_view)
    view = alone(array)
    assert (view == array[1:]).all()
    base = view.base
    assert type(base) is np.ndarray
    with_view = sys.getrefcount(base)
    del view
    assert sys.getrefcount(base) == with_view - 1


def test_the_same_objects_come_back(make: Make) -> None:
    array, other = np.arange(5, dtype="f4"), object()
    results = p.TupleOf((new(), p.SameResult(0), p.SameObject(0), p.SameObject(1), p.ConstantObject("constant")))
    function = make(plan_of("x y", (VECTOR,), results), copy_array(0, 0, 1, 4))
    first, again, argument, passed, constant = function(array, other)
    assert first is again
    assert argument is array
    assert passed is other
    assert constant == "constant"


def test_one_of_several_arrays_comes_back(make: Make) -> None:
    """The slot of the second argument says which: the new array, the argument, or a view of either."""
    alternatives = (
        (7, p.SameResult(1)),
        (3, p.SameObject(0)),
        (5, p.ViewOfArgument(3, "f32", 1, 0)),
        (0, p.ViewOfResult(7, "f32", 1, 1)),
    )

    def show_result(function: FunctionText) -> None:
        for word in range(3):
            function.store("i64", function.load("i64", "%results", 8 * word), "%results", 8 * (7 + word))

    plan = plan_of("x n", (VECTOR, p.ScalarLeaf(1, "i64", "python", 3)), p.OneOf(6, alternatives), bases=(new(),))
    bodies = copy_array(0, 0, 1, 4), copy_words(0, 3, 3), copy_words(3, 6), show_result
    function = make(plan, in_sequence(*bodies))
    array = np.arange(5, dtype="f4")
    assert function(array, 7).flags.owndata
    assert not np.shares_memory(function(array, 7), array)
    assert function(array, 3) is array
    assert function(array, 5).base is array
    view = function(array, 0)
    assert view.base is not array
    assert (view == array).all()
    before = [sys.getrefcount(array), memory_stats()["bytes_in_use"]]
    for number in (0, 3, 5, 7) * 500:
        function(array, number)
    assert [sys.getrefcount(array), memory_stats()["bytes_in_use"]] == before


def test_every_kind_of_container(make: Make) -> None:
    value = p.PythonScalar(0, "f64")
    results = p.TupleOf(
        (
            p.ListOf((value, p.TupleOf(()))),
            p.DictOf(("b", 1), (value, p.ListOf((value,)))),
            p.StructOf(Point, (value, p.ConstantObject(None))),
            p.StructOf(Record, (value, p.TupleOf((value,))), ("second", "first")),
        )
    )
    function = make(plan_of("x", (p.ScalarLeaf(0, "f64", "python", 0),), results), copy_words(0, 0))
    expected = ([2.5, ()], {"b": 2.5, 1: [2.5]}, Point(2.5, None), Record((2.5,), 2.5))
    result = function(2.5)
    assert result == expected
    assert list(result[1]) == ["b", 1]
    assert type(result[2]) is Point
    assert gc.is_tracked(result)


def test_a_constructor_that_raises_leaks_nothing(make: Make) -> None:
    results = p.TupleOf((new(), p.ListOf((new(3), p.StructOf(Refusing, (p.SameObject(0),)))), new(6)))
    body = in_sequence(*(copy_array(0, slot, 1, 4) for slot in (0, 3, 6)))
    function = make(plan_of("x", (VECTOR,), results), body)
    array = np.arange(5, dtype="f4")
    gc.collect()
    before, references = memory_stats()["bytes_in_use"], sys.getrefcount(array)
    for _ in range(50):
        with pytest.raises(ValueError, match="refused"):
            function(array)
    gc.collect()
    assert memory_stats()["bytes_in_use"] == before
    assert sys.getrefcount(array) == references


def test_references_are_exact(make: Make) -> None:
    key, constant = "a key of a dict", object()
    results = p.DictOf(
        (key, "view", "same"),
        (new(), p.TupleOf((p.ViewOfArgument(3, "f32", 1, 0), p.ConstantObject(constant))), p.SameObject(0)),
    )
    function = make(plan_of("x", (VECTOR,), results), in_sequence(copy_array(0, 0, 1, 4), copy_words(0, 3, 3)))
    array = np.arange(5, dtype="f4")
    watched = (array, key, constant, np.ndarray, array.dtype)
    function(array)
    before = [sys.getrefcount(thing) for thing in watched]
    for _ in range(3000):
        function(array)
    after = [sys.getrefcount(thing) for thing in watched]
    assert [abs(now - then) < 10 for now, then in zip(after, before, strict=True)] == [True] * 5


def test_a_failing_run_raises_what_the_handler_raises(make: Make) -> None:
    function = make(plan_of("x", (VECTOR,)), fail_with(3, 11, -12, 13))
    array = np.arange(5, dtype="f4")
    references = sys.getrefcount(array)
    for _ in range(100):
        with pytest.raises(FailedError) as caught:
            function(array)
        assert caught.value.args == (3, 11, -12, 13)
    del caught
    assert sys.getrefcount(array) == references


def test_a_handler_that_does_not_raise_is_an_error_of_its_own(make: Make) -> None:
    function = make(plan_of("x"), fail_with(1), raise_error=lambda status, address: None)
    with pytest.raises(SystemError, match="did not raise"):
        function(1)


def test_symbols_arrive_in_the_context(make: Make) -> None:
    def body(function: Any) -> None:
        function.store("ptr", function.load("ptr", "%context", 16), "%results")

    function = make(plan_of("", (), p.PythonScalar(0, "i64")), body, symbols=[1234])
    assert function() == 1234


@pytest.mark.parametrize(("threshold", "expected"), [(None, False), (0, True), (10**9, False)])
def test_the_gil_is_released_for_large_arrays_only(make: Make, threshold: int | None, expected: bool) -> None:
    def ask_whether_the_gil_is_held(function: Any) -> None:
        held = function.call("i32", function.load("ptr", "%context", 16))
        function.store("i64", function.let(f"sext i32 {held} to i64"), "%results")

    plan = plan_of("x", (VECTOR,), p.PythonScalar(0, "i64"), releases_gil_bytes=threshold)
    function = make(plan, ask_whether_the_gil_is_held, symbols=[python_function("PyGILState_Check")])
    assert function(np.ones(100, "f4")) == (0 if expected else 1)


def test_many_arrays_in_dicts(make: Make) -> None:
    names = tuple(f"weight_{number}" for number in range(20))
    reads = tuple(p.Item(0, name) for name in names)
    leaves = tuple(vector_leaf(1 + number, 3 * number) for number in range(20))
    results = p.DictOf(names, tuple(new(3 * number) for number in range(20)))
    body = in_sequence(*(copy_array(3 * number, 3 * number, 1, 4) for number in range(20)))
    function = make(plan_of("x", (p.KeysAre(0, names), *leaves), results, reads=reads), body)
    arrays = {name: np.full(3 + number, number, "f4") for number, name in enumerate(names)}
    before = [sys.getrefcount(array) for array in arrays.values()]
    for _ in range(20):
        result = function(arrays)
        assert list(result) == list(names)
        assert all((result[name] == arrays[name]).all() for name in names)
        assert isinstance(function(dict(reversed(arrays.items()))), Missed)
    assert [sys.getrefcount(array) for array in arrays.values()] == before


def test_large_results_in_many_threads(make: Make) -> None:
    function = make(MULTIPLY_ADD, multiply_add)
    failures: list[int] = []

    def work(seed: int) -> None:
        for length in range(seed, 60_000, 7001):
            left = np.arange(length + 2, dtype="f4")
            result = function(left, left)
            if not np.array_equal(result, left * left + left):
                failures.append(length)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
