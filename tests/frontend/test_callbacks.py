"""`jitflow.callback`: order, arguments, results, exceptions, staleness, threads."""

from __future__ import annotations

import inspect
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError, UserTypeError

X = np.arange(-2.0, 3.0)
SEEN: list[Any] = []
FACTOR = 3.0
LENGTH = jitflow.Spec("f64", ("k",))


def record(*things: Any, **more: Any) -> None:
    SEEN.append((*things, *more.items()))


def positive(x: Any) -> Any:
    return x[x > 0]


@pytest.fixture(autouse=True)
def nothing_seen():
    SEEN.clear()


def test_outside_it_just_calls():
    assert jitflow.callback(positive, LENGTH)(X).tolist() == [1.0, 2.0]
    assert repr(jitflow.callback(positive, LENGTH)) == "<jitflow.callback positive>"


def test_order_and_arguments(capsys: pytest.CaptureFixture[str]):
    @jitflow.function
    def program(x, n, name):
        jitflow.callback(record)(x, n, name, 7, rows=x.shape[0])
        y = x * 2
        jitflow.callback(print)("y is", y)
        jitflow.callback(record)({"y": (y, [n, None])}, np.float32(2) * n)
        return y

    for n in (3, 4):
        SEEN.clear()
        program(X, n, "first")
        (x, got_n, name, seven, rows), (structure, scalar) = SEEN
        np.testing.assert_array_equal(x, X)
        assert (got_n, type(got_n), name, seven, rows) == (n, int, "first", 7, ("rows", 5))
        np.testing.assert_array_equal(structure["y"][0], X * 2)
        assert structure["y"][1] == [n, None]
        assert type(scalar) is np.float32
        assert scalar == 2 * n
    assert capsys.readouterr().out.splitlines()[0] == "y is [-4. -2.  0.  2.  4.]"
    assert program.cache_info().misses == 1


def test_what_it_gets_may_be_kept_and_changed():
    def change(x: Any) -> None:
        x[0] = 100
        SEEN.append(x)

    @jitflow.function
    def program(x):
        y = x + 1
        jitflow.callback(change)(y)
        jitflow.callback(change)(x)
        return y

    np.testing.assert_array_equal(program(X), X + 1)
    assert X[0] == -2
    assert [x[0] for x in SEEN] == [100, 100]


def test_results():
    def several(x: Any) -> Any:
        return x.sum(), [x[:2], (True, len(x))], np.float32(3)

    @jitflow.function
    def program(x):
        spec = (jitflow.Spec("float"), (jitflow.Spec("f64", (2,)), (jitflow.Spec("bool"), jitflow.Spec("int"))),
                jitflow.Spec("np.f32"))  # fmt: skip
        total, (first, (flag, count)), single = jitflow.callback(several, spec)(x)
        same = jitflow.callback(np.sort, jitflow.Spec("f64", x.shape))(x) + x
        found = jitflow.callback(positive, LENGTH)(x) * total
        nothing = jitflow.callback(record)(found)
        return total, first * 2, flag, count, single, same, found, found.shape[0], nothing

    total, first, flag, count, single, same, found, size, nothing = program(X[::-1])
    assert (total, type(total), flag, count, size, nothing) == (0.0, float, True, 5, 2, None)
    assert (single, type(single)) == (3, np.float32)
    assert first.tolist() == [4, 2]
    assert same.tolist() == [0, 0, 0, 0, 0]
    assert found.tolist() == [0, 0]


def test_results_that_are_not_as_declared():
    def returns(result: Any) -> Any:
        return lambda x: result

    for result, spec, found in (
        (np.zeros(3), jitflow.Spec("f64", (2,)), "of dtype float64 and shape (3,)"),
        (np.zeros(2, "f4"), jitflow.Spec("f64", (2,)), "of dtype float32"),
        (np.zeros((2, 2)), LENGTH, "shape (2, 2)"),
        (3, jitflow.Spec("float"), "number 3 of type int"),
        (None, jitflow.Spec("float"), "returned None"),
        ((1.0,), (jitflow.Spec("float"),) * 2, "returned 1 results"),
        ((np.zeros(2), np.zeros(3)), (LENGTH, LENGTH), "expected an array of dtype float64 and shape (2,)"),
    ):
        function = returns(result)

        @jitflow.function
        def program(x):
            return jitflow.callback(function, spec)(x)

        with pytest.raises(UserTypeError) as caught:
            program(X)
        assert found in caught.value.message
        assert caught.value.location.file == __file__


def test_exceptions_come_out_as_they_are():
    class OddError(Exception):
        pass

    def fails(x: Any) -> None:
        raise OddError("no", x.sum())

    @jitflow.function
    def program(x):
        y = x + 1
        jitflow.callback(fails)(y)
        return y

    before = None
    for _ in range(3):
        with pytest.raises(OddError) as caught:
            program(X)
        assert caught.value.args[1] == 5
        lines = [entry.tb_lineno for entry in _entries(caught.value.__traceback__) if _file(entry) == __file__]
        first = program.__wrapped__.__code__.co_firstlineno
        assert lines[-2:] == [first + 3, fails.__code__.co_firstlineno + 1]
        in_use = jitflow.memory_stats()["bytes_in_use"]
        assert before in (None, in_use)
        before = in_use


def _entries(traceback: Any) -> Any:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _file(entry: Any) -> str:
    return str(entry.tb_frame.f_code.co_filename)


def helper(x: Any) -> float:
    return float(x.sum())


def test_functions_are_never_stale(monkeypatch: pytest.MonkeyPatch):
    @jitflow.function
    def program(x):
        return jitflow.callback(helper, jitflow.Spec("float"))(x)

    assert program(X + 1) == 5
    monkeypatch.setitem(globals(), "helper", lambda x: -1.0)
    assert program(X + 1) == -1

    def remembers(x: Any) -> float:
        remembers.calls += 1
        return float(remembers.calls)

    for _ in range(2):  # the same code, but another function
        remembers = type(remembers)(remembers.__code__, globals(), "remembers", None, remembers.__closure__)
        remembers.calls = 0
        monkeypatch.setitem(globals(), "helper", remembers)
        assert [program(X), program(X)] == [1, 2]


class Recorder:
    def __init__(self) -> None:
        self.items: list[Any] = []

    def add(self, x: Any) -> int:
        self.items.append(x)
        return len(self.items)


def test_functions_of_every_kind():
    recorder, factor = Recorder(), 3.0
    stored = jitflow.callback(lambda x: factor * x, LENGTH)

    @jitflow.function
    def program(x):
        def nested(y):
            return helper(y) * FACTOR

        count = jitflow.callback(recorder.add, jitflow.Spec("int"))(x)
        now = jitflow.callback(time.time, jitflow.Spec("float"))()
        total = jitflow.callback(nested, jitflow.Spec("float"))(x)
        return count, now, total, stored(x), jitflow.callback(len, jitflow.Spec("int"))(x)

    for turn in (1, 2):
        count, now, total, tripled, length = program(X + 1)
        assert (count, total, length) == (turn, 15, 5)
        assert abs(now - time.time()) < 60
        np.testing.assert_array_equal(tripled, (X + 1) * 3)
    assert program.cache_info().misses == 1


def test_what_cannot_be_called():
    captured = {"x": X}

    @jitflow.function
    def closes(x):
        return jitflow.callback(lambda y: y + x, LENGTH)(x)

    @jitflow.function
    def calls(x):
        return jitflow.callback(captured, LENGTH)(x)

    @jitflow.function
    def returns(x):
        return jitflow.callback(positive, "f64")(x)

    @jitflow.function
    def passes(x):
        return jitflow.callback(positive, LENGTH)(Recorder)

    for program, error, message in (
        (closes, UserNotImplementedError, "closes over 'x'"),
        (calls, UserNotImplementedError, "an object of type dict"),
        (returns, UserTypeError, "result_spec"),
        (passes, UserTypeError, "object of type"),
    ):
        with pytest.raises(error, match=message) as caught:
            program(X)
        assert caught.value.mend


def test_threads():
    def half(x: Any) -> Any:
        return x[: len(x) // 2].copy()

    @jitflow.function
    def program(x):
        return jitflow.callback(half, LENGTH)(x * 2) + 1

    wrong: list[Any] = []

    def work(size: int) -> None:
        data = np.arange(float(size))
        for _ in range(50):
            found = program(data)
            if not np.array_equal(found, data[: size // 2] * 2 + 1):
                wrong.append(size)

    program(np.arange(4.0))
    threads = [threading.Thread(target=work, args=(size,)) for size in (2, 10, 1000, 20_000, 100_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_threads_keep_their_exceptions():
    def fails(number: int) -> None:
        time.sleep(0.0005)
        raise ValueError(number)

    @jitflow.function
    def program(x, n):
        jitflow.callback(fails)(n)
        return x

    wrong: list[Any] = []
    data = np.zeros(20_000)

    def work(number: int) -> None:
        for _ in range(10):
            try:
                program(data, number)
            except ValueError as error:
                if error.args != (number,):
                    wrong.append(error.args)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_callback_may_call_the_function_again():
    @jitflow.function
    def program(x, n):
        return jitflow.callback(again, jitflow.Spec("float"))(x, n)

    def again(x: Any, n: int) -> float:
        return float(x.sum()) if n == 0 else program(x + 1, n - 1)

    assert program(X, 3) == 15


def at_depth(depth: int, function: Any, *arguments: Any) -> Any:
    return function(*arguments) if depth == 0 else at_depth(depth - 1, function, *arguments)


@jitflow.function
def stores_around(call: Any, x: Any) -> Any:
    x[0] = 7
    jitflow.callback(call)(x)
    x[1] = 8


def recurse(x: Any) -> Any:
    return recurse(x)


def leave(x: Any) -> None:
    raise SystemExit(3)


def interrupt(x: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("call", "error"), [(recurse, RecursionError), (leave, SystemExit), (interrupt, KeyboardInterrupt)]
)
def test_what_stood_before_a_callback_that_fails_is_done(call: Any, error: Any):
    x = X.copy()
    with pytest.raises(error) as caught:
        stores_around(call, x)
    assert caught.traceback[-1].name == call.__name__
    assert x.tolist() == [7, *X[1:]]


def test_a_callback_without_room_on_the_stack_raises():
    stores_around(record, X.copy())
    room = sys.getrecursionlimit() - len(inspect.stack())
    for depth in range(room - 14, room):  # somewhere between all that is called on the way, and the callback itself
        with suppress(RecursionError):
            at_depth(depth, stores_around, record, X.copy())
    with pytest.raises(RecursionError):
        at_depth(room, stores_around, record, X.copy())


def test_a_call_of_a_turn_sees_what_the_turns_before_have_appended():
    seen, items = [], [0]

    @jitflow.callback
    def look(i):
        seen.append((int(i), len(items)))

    @jitflow.function
    def program(held, n):
        for i in range(n):
            look(i)
            held.append(i)

    program(items, 3)
    assert seen == [(0, 1), (1, 2), (2, 3)]
    assert items == [0, 0, 1, 2]


def called_in_a_branch(items, x, look):
    items.append(1)
    if x.sum() < 0:
        look([*items])


def called_in_a_loop(items, x, look):
    items[0] = "begun"
    for number in x:
        look(number)


def raised_in_a_branch(items, x, look):
    items.append(len(x))
    if x.sum() < 0:
        raise ValueError("negative", tuple(items))


@pytest.mark.parametrize("program", [called_in_a_branch, called_in_a_loop, raised_in_a_branch])
def test_lists_are_stored_to_where_a_path_that_is_not_taken_calls_out(program):
    def outcome(function, look, x):
        items = [2, 3]
        try:
            function(items, x, look)
        except ValueError as error:
            return items, error.args
        return items, None

    compiled, look = jitflow.function(program), jitflow.callback(lambda thing: None)
    for x in (np.ones(3), -np.ones(3), np.ones(0)):
        assert outcome(compiled, look, x) == outcome(program, print, x)
