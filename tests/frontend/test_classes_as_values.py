"""Classes of Python's and NumPy's as values: compared, looked for, returned, and asked for attributes."""

from __future__ import annotations

import datetime
import itertools
import numbers
import random
import types
from collections.abc import Hashable, Iterable, Iterator, Sequence, Sized
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from jitflow import function
from tests.compare import assert_same

X = np.array([3.75, -2.5, 0.0, 7.0])
KINDS = [np.bool_, np.float32, np.float64]


def dtypes_and_classes(x: Any, dtype: Any) -> Any:
    kind = x.dtype.type
    return (
        [kind is np.float64, np.float64 is kind, kind is not np.float64, dtype.type is float],
        [dtype == np.float64, np.float64 == dtype, np.float64 != dtype, np.int32 == dtype],
        [
            dtype in KINDS,
            dtype in (int, float),
            float == x.dtype,
            kind in KINDS,
            KINDS.index(dtype),
            KINDS.count(np.dtype(int)),
        ],
    )


def returned_classes(x: Any, dtype: Any) -> Any:
    kinds = {"first": np.float32, int: float, np.int8: [bool, list]}
    return kinds, np.float64 if x[0] > 3 else np.float32, np.int64 if x[0] < 3 else np.int32


def attributes_that_some_lack(x: Any, dtype: Any) -> Any:
    items, text = [1, 2], str(int(x[0]))
    if x[0] > 1:
        items.append(4)
    found = []
    for thing in (x, items, len(x), text, f"{x[0]}", x[0]):
        try:
            found.append(thing.dtype)
        except AttributeError:
            found.append(getattr(thing, "__of_nobody__", None))
    return found


NAMES = ("__iter__", "__len__", "__index__", "__float__", "__array__", "__matmul__", "__call__", "__dict__", "shape",
         "is_integer", "append", "keys", "foo")  # fmt: skip


def attributes_that_some_have(x: Any, dtype: Any) -> Any:
    items = [0, 1, 2]
    if x[0] > 1:
        items.append(3)
    things = (x, x[0], x[0] > 1, x.shape[0], float(x[0]), int(x[0]), items, range(int(x[0])), f"{x[0]}", {1: 2}, dtype)
    found = [[hasattr(thing, name) for name in NAMES] for thing in things]
    return found, getattr(int(x[0]), "__iter__", None), getattr(x[0], "keys", dtype)


NUMBER = int | float
KINDS_OF_VALUES = (Iterable, Sized, Iterator, Hashable, Sequence, numbers.Real, numbers.Integral, (NUMBER, list), str)


def values_of_kinds(x: Any, dtype: Any) -> Any:
    items = [0, 1, 2]
    if x[0] > 1:
        items.append(3)
    things = (x, x[0], x[0] > 1, x.shape[0], float(x[0]), int(x[0]), items, range(int(x[0])), f"{x[0]}", {1: 2}, dtype)
    return [[isinstance(thing, kind) for kind in KINDS_OF_VALUES] for thing in things], isinstance(x.size, NUMBER)


def iterators(x: Any, dtype: Any) -> Any:
    things = (zip(x, x, strict=False), enumerate(x), map(abs, x), filter(None, x), reversed(x), itertools.chain(x, x),
              itertools.chain.from_iterable([x]), itertools.pairwise(x), itertools.accumulate(x), np.ndindex(x.size),
              itertools.combinations(x, 2), itertools.combinations((1, 2), 1))  # fmt: skip
    kinds = (zip, enumerate, map, filter, reversed, itertools.chain, itertools.pairwise, itertools.accumulate,
             np.ndindex, itertools.combinations, Iterator, Sized)  # fmt: skip
    found = [[isinstance(thing, kind) for kind in kinds] for thing in things]
    return found, type(things[0]) is zip, hasattr(things[2], "__next__"), type(things[6]).__name__


def indices(x: Any, index: Any) -> Any:
    made = np.zeros((4, 4))
    if not hasattr(index, "__iter__"):
        index = (index,) * 2
    made[index] = 1
    return made


@pytest.mark.parametrize(
    "program",
    [
        dtypes_and_classes,
        returned_classes,
        attributes_that_some_lack,
        attributes_that_some_have,
        values_of_kinds,
        iterators,
    ],
)
def test_it_is_as_in_python(program: Any) -> None:
    assert_same(function(program)(X, X.dtype), program(X, X.dtype))


def test_indices_that_are_numbers_or_tuples() -> None:
    for index in (2, (1, 3), [1]):
        assert_same(function(indices)(X, index), indices(X, index))


def test_returned_classes_are_the_very_ones() -> None:
    kinds, first, second = function(returned_classes)(X, X.dtype)
    assert kinds["first"] is np.float32
    assert [type(key) for key in kinds] == [str, type, type]
    assert (first, second) == (np.float64, np.int32)
    assert type(first) is type


def test_lists_that_are_passed_lack_attributes() -> None:
    def dtype_of(thing: Any) -> Any:
        try:
            return thing.dtype
        except AttributeError:
            return np.dtype(int)

    for thing in ([1, 2], [[1, 2], [3, 4]], [[1], []], {1: 2}, 3, "a", X):
        assert function(dtype_of)(thing) == dtype_of(thing)


class Plain:
    pass


def test_classes_of_generators() -> None:
    def program(thing: Any) -> Any:
        kinds = np.random.Generator | np.random.RandomState
        return (
            [
                isinstance(thing, kinds),
                isinstance(thing, Plain | np.random.Generator),
                isinstance(thing, random.Random),
            ],
            [type(thing) is np.random.Generator, type(thing) is random.Random, type(thing) is Plain],
            [np.random.Generator is np.random.Generator, type(thing)],
        )

    for thing in (np.random.default_rng(0), np.random.RandomState(0), random.Random(0), Plain(), 3):
        assert function(program)(thing) == program(thing)


class Box:
    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def unchecked(cls, value: Any) -> Box:
        made = object.__new__(cls)
        made.value = np.asarray(value)
        return made

    def doubled(self) -> Box:
        made = self.__class__.unchecked(self.value)
        made.value = made.value * 2
        return made


def test_objects_whose_constructor_does_not_run() -> None:
    def program(x: Any) -> Any:
        box = Box.unchecked(x)
        for _ in range(3):
            box = box.doubled()
        return box.value, type(box) is Box, type(object()) is object

    assert_same(function(program)(X), program(X))


def test_classes_that_the_program_derives() -> None:
    def program(x: Any) -> Any:
        class Base(object):  # noqa: UP004 - written as a user writes it
            def __init__(self, value: Any) -> None:
                self.value = value

        class Items(list[int]):
            def total(self) -> int:
                return sum(self)

        return Base(x).value, isinstance(Base(x), object), Items([1, 2]).total()

    assert_same(function(program)(X), program(X))


def test_classes_whose_objects_the_program_may_not_make() -> None:
    sizes, kinds = {int: 1, Decimal: 2, float: 3}, (Decimal, datetime.date, int | Decimal, (datetime.datetime, Decimal))

    def program(thing: Any) -> Any:
        kind = type(thing)
        return (
            [isinstance(thing, each) for each in kinds],
            [kind is Decimal, kind in (int, datetime.date), sizes.get(kind), Decimal is datetime.date],
            [issubclass(kind, Decimal), issubclass(Decimal, numbers.Number), isinstance(thing, np.nditer)],
            [kind == other for other in (Decimal, datetime.date)],
            Decimal.__name__,
        )

    for thing in (3, 0.5, Decimal("1.5"), datetime.datetime(2016, 11, 2), "a", None, X):
        assert function(program)(thing) == program(thing)


def test_objects_of_classes_in_c_are_not_made() -> None:
    from scipy.spatial import cKDTree

    with pytest.raises(NotImplementedError, match="is made while tracing"):
        function(lambda x: cKDTree(x).n)(np.ones((3, 2)))


def test_what_arrays_are_made_of() -> None:
    def copied(x: Any, copy: Any = None) -> Any:
        return np.array(x, copy=np._CopyMode.IF_NEEDED if copy is None else copy)

    assert function(copied)(X) is X
    assert function(copied)(X, True) is not X


@pytest.mark.parametrize(
    "program",
    [
        lambda x, n: x.dtype.type(n) * x,
        lambda x, n: [kind(n) for kind in (x.dtype.type, np.result_type(x, 1.0).type, np.dtype(np.int8).type)],
        lambda x, n: getattr(x.dtype, "type")(x[0]),  # noqa: B009
        lambda x, n: np.subtract(x, n, dtype=type(x.dtype)),
        lambda x, n: np.full(2, n, np.dtypes.Int16DType),
        lambda x, n: types.SimpleNamespace(type=n).type,
    ],
)
def test_the_class_of_a_dtype_takes_numbers_of_the_program(program: Any) -> None:
    for dtype, n in ((np.float32, 3), (np.float64, 2.5)):
        x = X.astype(dtype)
        assert_same(function(program)(x, n), program(x, n))
