"""`jitflow.function(check="nan")` raises where NumPy under ``errstate`` does: at the same line, or nowhere.

The oracle knows nothing of gradients and products, for which the line and the text are written down.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow


def raised_line(call: Callable[..., Any], *arguments: Any) -> tuple[int, str]:
    """The line of this file at which a call raises, and the text; -1 if nowhere."""
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            call(*arguments)
    except FloatingPointError as error:
        frames = traceback.extract_tb(error.__traceback__)
        return [frame for frame in frames if frame.filename == __file__][-1].lineno or 0, str(error)
    return -1, ""


def straight(x: Any) -> Any:
    y = x * 2
    z = np.log(y)
    w = np.sqrt(y - 1) + z
    return w / (x - 3)


def loop(x: Any) -> Any:
    lowest = np.inf
    total = np.float64(0)
    for i in range(len(x)):
        lowest = min(lowest, x[i])
        total += 1 / (x[i] - 2)
    return total, lowest


def branch(x: Any) -> Any:
    if x[0] > 0:
        return np.log(x[1])
    return np.sqrt(x[1])


def chosen(x: Any) -> Any:
    far = np.full(3, np.inf)
    far[0] = np.exp(x[0] * 300)
    return np.where(far > 2, far, np.nan)


def added(x: Any) -> Any:
    y = np.zeros(4)
    np.add.at(y, np.array([0, -1, 0]), x * 1e308)
    return y.sum(axis=0)


def helped(x: Any) -> Any:
    return straight(x + 1)


def narrowed(x: Any) -> Any:
    return (x * 1e30).astype(np.float32) * np.float32(1e9)


def complex_numbers(x: Any) -> Any:
    z = x + 1j * (x - 1)
    return 1 / z, np.log(z - 1)


def by_rows(x: Any) -> Any:
    m = np.outer(x, x) * 6e153
    return (m * m).sum(axis=1), np.cumsum(x * 1e308)


def under_masks(x: Any) -> Any:
    used = x > 0
    halves = np.zeros_like(x)
    halves[used] = np.log(1 / x[used])
    out = np.divide(1.0, x, out=np.zeros(3), where=used)
    out += np.log(np.outer(x, x), out=np.ones((3, 3)), where=used)[0]
    np.add(out, 1 / (x - 4), out=out, where=x[0] > 2)
    return halves, out, (1 / x[used]).sum(), (x[~used] / x[~used]).max(initial=0.0)


PROGRAMS = (under_masks, straight, loop, branch, chosen, added, helped, narrowed, complex_numbers, by_rows)
ARGUMENTS = ([1, 2, 5], [0, 1, 2], [3, 4, 3], [-1, -1, -1], [1, 0, 0], [np.nan, 4, 4], [np.inf, 4, -4], [1, 1.5, 1.7],
             [5, 6, 7])  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_stops_where_numpy_does(program: Callable[..., Any]) -> None:
    compiled = jitflow.function(program, check="nan")
    for argument in ARGUMENTS if program is not complex_numbers else ARGUMENTS[:5]:
        x = np.array(argument, np.float64)
        line, _ = raised_line(program, x.copy())
        assert raised_line(compiled, x)[0] == line, argument


def test_the_oracle_stops_and_passes() -> None:
    lines = {raised_line(program, np.array(a, np.float64))[0] for program in PROGRAMS for a in ARGUMENTS}
    assert len(lines) > len(PROGRAMS)
    assert -1 in lines


@pytest.mark.parametrize(
    ("program", "arguments", "text"),
    [
        (straight, [1.0, 0.0], "log made -inf of 0.0, at [1] of an array of shape (2,)"),
        (straight, [[1.0, 3.0]], "divide made inf of 4.0278.* and 0.0, at [0, 1] of an array of shape (1, 2)"),
        (loop, [1.0, 2.0], "divide made inf of 1.0 and 0.0"),
        (complex_numbers, [1.0], "log made complex(-inf, 0.0) of complex(0.0, 0.0), at [0] of an array of shape (1,)"),
        (by_rows, [1.29, 1.29], "sum made inf of an array of shape (2, 2), at [0] of an array of shape (2,)"),
    ],
)
def test_it_says_what_was_made_of_what(program: Callable[..., Any], arguments: Any, text: str) -> None:
    import re

    with pytest.raises(FloatingPointError) as caught:
        jitflow.function(program, check="nan")(np.array(arguments))
    assert re.search(re.escape(text).replace(r"\.\*", ".*"), str(caught.value))


def test_products_and_routines() -> None:
    @jitflow.function(check="nan")
    def product(a: Any, b: Any) -> Any:
        return a @ b

    big = np.full((3, 4), 1e200)
    with pytest.raises(FloatingPointError, match=r"matmul made inf of an array of shape \(3, 4\) and an array"):
        product(big, big.T)
    assert np.isnan(product(np.full((2, 2), np.nan), np.ones((2, 2)))).all()

    @jitflow.function(check="nan")
    def transform(a: Any) -> Any:
        return np.fft.fft(a)

    with pytest.raises(FloatingPointError, match=r"numpy.fft.fft made .*, at \[0\] of an array of shape \(3,\)"):
        transform(np.full(3, 1e308))


def test_the_reverse_sweep_has_the_lines_of_the_forward_one() -> None:
    def loss(x: Any) -> Any:
        root = np.sqrt(x)
        return (root * 3).sum()

    gradient = jitflow.grad(jitflow.function(loss, check="nan"))
    with pytest.raises(FloatingPointError, match=r"divide made inf .*, at \[1\]") as caught:
        gradient(np.array([1.0, 0.0]))
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__) if frame.name == "loss"]
    assert lines == ["root = np.sqrt(x)"]
    np.testing.assert_allclose(gradient(np.array([1.0, 4.0])), [1.5, 0.75])


def test_a_gradient_takes_one_way_of_a_branch() -> None:
    @jitflow.function(check="nan")
    def chosen(x: Any) -> Any:
        if x > 0:
            return np.log(x)
        return x * 2

    assert jitflow.grad(chosen)(-1.0) == 2.0
    assert jitflow.grad(chosen)(0.5) == 2.0


def test_variables_stay_as_they_were() -> None:
    weights = jitflow.Variable(np.ones(2))

    @jitflow.function(check="nan")
    def step(x: Any) -> None:
        weights[:] = weights + x
        weights[:] = weights * np.exp(x)

    with pytest.raises(FloatingPointError, match="exp made inf of 1000"):
        step(np.array([1.0, 1000.0]))
    assert weights[:].tolist() == [1.0, 1.0]
    step(np.zeros(2))
    assert weights[:].tolist() == [1.0, 1.0]


def test_a_try_inside_is_passed_over() -> None:
    @jitflow.function(check="nan")
    def careful(x: Any) -> Any:
        try:
            y = 1 / x
        except FloatingPointError:
            y = x
        return y

    with pytest.raises(FloatingPointError):
        careful(np.zeros(2))


def test_other_checks_are_refused() -> None:
    with pytest.raises(ValueError, match="expected check to be 'nan' or None"):
        jitflow.function(straight, check="inf")


def test_without_it_nothing_changes() -> None:
    plain, checked = jitflow.function(straight), jitflow.function(straight, check="nan")
    spec = jitflow.Spec.parse("f64[n]")
    assert "FloatingPointError" not in plain.ir(spec, stage="optimized")
    assert "FloatingPointError" in checked.ir(spec, stage="optimized")
    assert "FloatingPointError" not in checked.ir(spec, stage="traced")
