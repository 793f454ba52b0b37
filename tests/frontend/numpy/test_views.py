"""Views and copies: what is written through ``ravel``, ``reshape``, ``.real``, ``.flat`` and the like.

A program gives what NumPy gives, or refuses, where only the running program could know whether NumPy copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.compare import assert_same

LINE = np.arange(48.0)
ARRAYS: dict[str, Callable[[], Any]] = {
    "in C order": lambda: LINE.reshape(6, 8).copy(),
    "in F order": lambda: np.asfortranarray(LINE.reshape(6, 8)),
    "columns with gaps": lambda: LINE.copy().reshape(4, 12)[:, ::2],
    "rows with gaps": lambda: LINE.copy().reshape(4, 12)[:, :6],
    "rows": lambda: LINE.copy().reshape(8, 6)[:4],
    "turned axes": lambda: LINE.copy().reshape(2, 4, 6).transpose(1, 0, 2),
    "complex": lambda: (LINE * (1 + 2j)).reshape(6, 8),
    "complex with gaps": lambda: (LINE * (1 + 2j)).reshape(4, 12)[:, ::2],
    "a line": lambda: LINE.copy(),
    "a line with gaps": lambda: LINE.copy()[::2],
    "a line backwards": lambda: LINE.copy()[::-1],
}
REAL = [name for name in ARRAYS if "complex" not in name]
PROGRAMS: list[Callable[..., Any]] = []
REFUSED: dict[str, str] = {}


def program(*refused: str) -> Callable[[Any], Any]:
    """A program of one array, which is ``refused`` for some."""

    def note(function: Any) -> Any:
        PROGRAMS.append(function)
        REFUSED.update(dict.fromkeys((f"{function.__name__} of {name}" for name in refused), function.__name__))
        return function

    return note


GAPS = ("columns with gaps", "turned axes", "complex with gaps")


@program()
def ravel_and_write(x):
    y = x.ravel()
    y[1] = 99
    return x * 1, y * 1


@program()
def ravel_in_f_order_and_write(x):
    y = x.ravel(order="F")
    y[1] = 99
    return x * 1, y * 1


@program()
def write_after_ravel(x):
    y = np.ravel(x)
    x[0] = 7
    return y * 1


@program("turned axes")
def ravel_a_slice(x):
    y = x[1:].ravel()
    y[1] = 5
    return x * 1


@program(*GAPS)
def reshape_and_write(x):
    y = x.reshape(-1)
    y[1] = 99
    return x * 1


@program("turned axes")
def reshape_within_rows(x):
    y = x.reshape(x.shape[0], -1, 1)
    y[1] = 99
    return x * 1


@program()
def contiguous_and_write(x):
    y = np.ascontiguousarray(x)
    y[0] = 99
    return x * 1, y * 1


@program()
def in_f_order_and_write(x):
    y = np.asfortranarray(x)
    y[0] = 99
    return x * 1, y * 1


@program()
def flatten_and_write(x):
    y = x.flatten()
    y[0] = 99
    return x * 1


@program()
def write_by_flat(x):
    x.flat[1] = 99
    x.flat[2:7:2] = 4
    x.flat[np.array([3, 5])] = np.array([1, 2])
    i = 9
    while i < 14:
        x.flat[i] += i
        i += 3
    return x.flat[3], x.flat[1:5]


@program()
def write_all_by_flat(x):
    x.flat = 3
    return x * 1


@program()
def put(x):
    np.put(x, [1, 9], [7, 8])
    return x * 1


@program()
def write_to_the_transposed(x):
    y = x.T
    y[0] = 99
    z = y.view()
    z[1] = 98
    return x * 1


@program()
def write_to_the_real_part(x):
    y = x.real
    y[0] = 99
    y[1:3] += 2
    np.real(x)[3] = 8
    return x * 1, y * 1


@program()
def read_the_real_part_after_a_write(x):
    y, z = x.real, x.real[1:]
    for i in range(3):
        x[i] = 5 + i
        y[1] += 1
    return y * 1, z * 1


@program(*REAL)
def write_to_the_imaginary_part(x):
    y = x.imag
    y[0] = 99
    x.imag += 5
    x.imag[1] *= 2
    x.real = 4
    return x * 1, y * 1


@program(*(name for name in ARRAYS if name.startswith(("in F", "columns", "rows with", "turned", "complex with"))))
def ravel_a_new_array(x):
    y = x * 2
    z = y.ravel()
    z[1] = 5
    return y


@program()
def ravel_a_copy(x):
    y = x.copy()
    z = y.ravel()
    z[1] = 5
    w = np.zeros(x.shape).reshape(-1)
    w[2] = z[1].real
    return y, w


@program()
def what_only_is_read(x):
    y = x.reshape(-1)
    total = (x * 2).ravel().sum() + y.sum()
    x[0] = 4
    return total


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except Exception as error:
        return error


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_views(function, name):
    theirs, ours = ARRAYS[name](), ARRAYS[name]()
    expected, found = outcome(lambda: function(theirs)), outcome(lambda: jitflow.function(function)(ours))
    if isinstance(expected, Exception):
        assert isinstance(found, type(expected))
    elif f"{function.__name__} of {name}" in REFUSED:
        assert isinstance(found, NotImplementedError), found
    else:
        assert_same(found, expected)
        assert_same(ours, theirs)


def flags_of(x: Any) -> Any:
    found = []
    for array in (x, x.T, x[1:], x[:0], x.copy(), x.ravel(), np.ascontiguousarray(x.T)):
        flags = array.flags
        found.append((flags.c_contiguous, flags.f_contiguous, flags["C"], flags["F_CONTIGUOUS"], flags.forc, flags.fnc))
    return found


@pytest.mark.parametrize("name", ARRAYS)
def test_flags(name: str) -> None:
    try:
        found = jitflow.function(flags_of)(ARRAYS[name]())
    except NotImplementedError:
        assert name in ("turned axes", "rows with gaps", "columns with gaps", "complex with gaps")
    else:
        assert found == flags_of(ARRAYS[name]())
    with pytest.raises(NotImplementedError, match="owndata"):
        jitflow.function(lambda x: x.flags.owndata)(ARRAYS[name]())


def asks_whether_it_may_write(x: Any) -> Any:
    if not x.flags.writeable:
        x = x.copy()
    x[0] = 5.0
    return x, x.T.flags["W"], (x + 1).flags.writeable, np.broadcast_to(x, (2, 3)).flags.writeable


def test_whether_an_array_may_be_written_to_is_asked_at_each_call() -> None:
    compiled = jitflow.function(asks_whether_it_may_write)
    for read_only in (False, True, False):
        ours, theirs = np.arange(3.0), np.arange(3.0)
        ours.flags.writeable = theirs.flags.writeable = not read_only
        np.testing.assert_equal(compiled(ours), asks_whether_it_may_write(theirs))
        np.testing.assert_array_equal(ours, theirs)

    def sets(x: Any) -> Any:
        y = x + 1
        y.flags.writeable = False
        return y

    with pytest.raises(NotImplementedError, match="writeable = False"):
        jitflow.function(sets)(np.arange(3.0))


def asks_for_memory(x: Any, y: Any) -> Any:
    z, turned, shares = x + 1, x[None].T, np.shares_memory
    told = np.min_scalar_type(x), np.min_scalar_type(x.shape[0]), np.min_scalar_type(300), np.min_scalar_type("f4")
    made = x.__array__(), x.__array__(np.float32), x.__array__(dtype=float, copy=True), x.__array__() is x
    views = shares(x, x[1:]), shares(turned, x), shares(z[1:], z), shares(x, z), shares(x[:1], z), shares(x, x.copy())
    return told, made, views, shares(x, y), np.may_share_memory(x, y)


def test_memory_that_arrays_share_is_known_or_asked_for() -> None:
    memory = np.arange(8.0)
    pairs = [(memory, memory[:]), (memory[::2], memory[1::2]), (memory[:4], memory[4:]), (memory[:0], memory)]
    for x, y in [*pairs, (memory, memory.copy()), *pairs]:
        np.testing.assert_equal(jitflow.function(asks_for_memory)(x, y), asks_for_memory(x, y))
    with pytest.raises(NotImplementedError, match="of these views"):
        jitflow.function(lambda x: np.shares_memory(x[:2], x[1:]))(memory)


def test_an_imitated_view_is_not_read_after_a_write():
    def read_late(x):
        y = x.reshape(-1)
        x[0] = 7
        return y.sum()

    def read_in_a_loop(x, n):
        y, total = x.reshape(-1), 0.0
        for i in range(n):
            total += y[i]
            x[0] = i
        return total

    x = ARRAYS["turned axes"]()
    with pytest.raises(NotImplementedError, match="what reshape gives is read after a write"):
        jitflow.function(read_late)(x)
    with pytest.raises(NotImplementedError, match="what reshape gives is read"):
        jitflow.function(read_in_a_loop)(x, 3)


def test_the_shape_is_set_without_a_copy():
    def set_shape(x, rows):
        y = x * 2
        y.shape = (rows, -1)
        y[0] = 1
        return y

    def of_the_caller(x):
        x.shape = (3, 4)

    def of_a_slice(x):
        y = x[1:]
        y.shape = (-1,)
        y[0] = 1

    def on_a_path(x):
        y = x * 2
        if x[0] > 0:
            y.shape = (3, 4)
        return y

    def in_a_turn(x):
        for i in range(x.shape[0]):
            y = x * i
            y.shape = (3, 4)
        return y

    x = np.arange(12.0)
    assert_same(jitflow.function(set_shape)(x, 3), set_shape(x, 3))
    assert_same(jitflow.function(in_a_turn)(x), in_a_turn(x))
    with pytest.raises(NotImplementedError, match="new shape, in a branch"):
        jitflow.function(on_a_path)(x)
    with pytest.raises(NotImplementedError, match="new shape"):
        jitflow.function(set_shape)(np.asfortranarray(x.reshape(4, 3)), 3)
    with pytest.raises(NotImplementedError, match="new shape for an array of the caller"):
        jitflow.function(of_the_caller)(x)
    with pytest.raises(AttributeError, match="Incompatible shape"):
        jitflow.function(of_a_slice)(np.asfortranarray(x.reshape(4, 3)))


@pytest.mark.parametrize("name", ARRAYS)
def test_what_may_not_be_copied_is_a_view_or_an_error_or_refused(name: str):
    for shape in ((-1,), (4, -1, 2)):

        def not_copied(x, shape=shape):
            return x.reshape(shape, copy=False)

        x = ARRAYS[name]()
        try:
            found = jitflow.function(not_copied, static="shape")(x)
        except UserNotImplementedError as refusal:
            assert "copy=False" in str(refusal)
            assert not x.flags.c_contiguous
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)):
                not_copied(x)
        else:
            assert_same(found, not_copied(x))
            assert np.shares_memory(found, x)


@pytest.mark.parametrize("m", [0, 1, 3])
def test_slices_along_an_axis_of_size_one(m: int) -> None:
    def rows(a: Any, m: int) -> Any:
        return (a[None] * 2)[:m]

    def columns(a: Any, m: int) -> Any:
        return (a[:, None] * a)[:, m : m + 2], (a[:, None] * 2)[:, 0:0]

    line = np.arange(5.0)
    assert_same(jitflow.function(rows)(line, m), rows(line, m))
    for ours, theirs in zip(jitflow.function(columns)(line, m), columns(line, m), strict=True):
        assert_same(ours, theirs)


MADE_OF_FLAT = (
    np.array, np.asarray, np.copy, np.ravel, np.transpose, lambda y: np.array(y, copy=True, ndmin=2),
    lambda y: np.array(y, np.int64), lambda y: y.copy(), lambda y: np.sqrt(y), lambda y: np.array([y, y]),
)  # fmt: skip


@pytest.mark.parametrize("made", MADE_OF_FLAT)
@pytest.mark.parametrize("name", REAL)
def test_an_array_made_of_flat_shows_what_lies_in_order(made, name):
    compiled = jitflow.function(lambda x: made(x.flat))
    x, y = ARRAYS[name](), ARRAYS[name]()
    found, expected = compiled(x), made(y.flat)
    assert_same(found, expected)
    assert np.shares_memory(found, x) == np.shares_memory(expected, y)
    assert found.flags.writeable == expected.flags.writeable


@pytest.mark.parametrize("function", [np.squeeze, np.ravel, np.transpose, np.atleast_2d, np.asarray, np.real])
def test_an_array_of_a_list_of_one_is_no_view_of_it(function):
    def program(x):
        y = function([x])
        y[...] = 7
        return y

    found, expected = LINE.copy(), LINE.copy()
    assert_same(jitflow.function(program)(found), program(expected))
    assert_same(found, expected)
    assert not np.shares_memory(jitflow.function(lambda x: function([x]))(found), found)


def test_dlpack_shows_the_array():
    def doubled(x):
        y = np.from_dlpack(x)
        y *= 2
        return np.from_dlpack(x, copy=True), np.from_dlpack(x[1:]) + 1

    found, expected = LINE.copy(), LINE.copy()
    assert_same(jitflow.function(doubled)(found), doubled(expected))
    assert_same(found, expected)
    with pytest.raises(AttributeError, match="'float' object has no attribute '__dlpack__'"):
        jitflow.function(lambda x: np.from_dlpack(x))(2.0)


@pytest.mark.parametrize("function", [np.asarray, np.asanyarray, np.ascontiguousarray, np.atleast_1d])
def test_a_written_array_is_itself(function):
    def program(x, n):
        x[1] = 5
        y = function(x)
        return y if n else None, y is x, function(x)

    x = np.arange(3.0)
    found = jitflow.function(program)(x, 2)
    assert [found[0] is x, found[1], found[2] is x] == [True, True, True]


def test_a_view_or_a_new_array_that_only_the_run_sizes_is_refused():
    def program(x, n, axis):
        sizes = list(x.shape)
        if n <= sizes[axis]:
            return x[:n]
        sizes[axis] = n
        return np.zeros(sizes)

    with pytest.raises(UserNotImplementedError, match="shows another array on one path"):
        jitflow.function(program)(np.arange(4.0), 3, 0)


def test_a_view_or_a_new_array_is_either():
    compiled, x = jitflow.function(lambda x, n: x[:n] if n <= len(x) else np.zeros(n)), np.arange(4.0)
    assert np.shares_memory(compiled(x, 3), x)
    np.testing.assert_array_equal(compiled(x, 5), np.zeros(5))


def without_first_columns(x, n):
    for _ in range(n):
        kept = np.ones(x.shape[:2], dtype=bool)
        kept[:, 0] = False
        x = x[kept].reshape(x.shape[0], x.shape[1] - 1, x.shape[2])
    return x


def doubled_and_turned(x, n):
    for _ in range(n):
        x = (x * 2).reshape(x.shape[1], x.shape[0], x.shape[2])
    return x


@pytest.mark.parametrize("program", [without_first_columns, doubled_and_turned])
def test_a_view_of_what_a_turn_makes_is_returned(program):
    """Nobody can tell it from a copy: the caller has nothing else that it shows."""
    compiled = jitflow.function(program)
    for x in (np.arange(24.0).reshape(2, 4, 3), np.arange(24.0).reshape(4, 3, 2).T):
        for n in (0, 1, 3):
            assert_same(compiled(x, n), program(x, n))


def test_what_turns_carry_may_be_a_view_of_itself():
    def flattened(x, n):
        for _ in range(n):
            x = x.reshape(-1).reshape(x.shape[1], x.shape[0])
        return x

    with pytest.raises(jitflow.UserError, match="what reshape gives is returned behind a branch or loop"):
        jitflow.function(flattened)(np.arange(6.0).reshape(2, 3), 1)
