"""Shapes: reshape and its like, joining, splitting, rearranging."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.frontend.numpy.both import check_compiled
from tests.frontend.numpy.oracle import check, check_function, check_sizes, sample

CUBE = sample("f4", 2, 3, 4)
MATRIX = sample("i4", 3, 4)
LINE = sample("f8", 5)
POINT = np.asarray(2.5)


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x: x.reshape(6, 4), CUBE),
        f(lambda x: x.reshape((6, -1)), CUBE),
        f(lambda x: x.reshape(-1), CUBE),
        f(lambda x: np.reshape(x, (3, -1, 2)), CUBE),
        f(lambda x: np.reshape(x, shape=(4, 6), order="F"), CUBE),
        f(lambda x: x.reshape((4, 6), order="F"), CUBE),
        f(lambda x: x.reshape(x.shape[0], -1), CUBE),
        f(lambda x: x.reshape(-1, x.shape[-1]), CUBE),
        f(lambda x: x.reshape(x.shape[1], x.shape[0], x.shape[2]), CUBE),
        f(lambda x: x.reshape(5, -1), CUBE),
        f(lambda x: x.reshape(5, 5), CUBE),
        f(lambda x: x.reshape(-1, -1), CUBE),
        f(lambda x: x.reshape(0, -1), CUBE),
        f(lambda x: x.reshape(1), POINT),
        f(lambda x: x.reshape(()), POINT),
        f(lambda x: x.reshape(-1), CUBE[:, :0]),
        f(lambda x: x.reshape(x.shape[0], -1), CUBE[:0]),
        f(lambda x: x[0, 0, 0].reshape(1, 1), CUBE),
        f(lambda x: np.reshape(x, 24, copy=True), CUBE),
        f(lambda x: np.reshape(np.ones((4, 6)) + x[0, 0, 0], 24, copy=False), CUBE),
        f(lambda x: x.ravel(), CUBE),
        f(lambda x: np.ravel(x, order="F"), CUBE),
        f(lambda x: x.flatten(), CUBE),
        f(lambda x: x.flatten("F"), CUBE),
        f(lambda x: np.ravel(x), POINT),
        f(lambda x: x.T, CUBE),
        f(lambda x: x.mT, CUBE),
        f(lambda x: x.mT, LINE),
        f(lambda x: np.matrix_transpose(x), CUBE),
        f(lambda x: x.transpose(1, 0, 2), CUBE),
        f(lambda x: x.transpose((2, 0, -2)), CUBE),
        f(lambda x: x.transpose(None), CUBE),
        f(lambda x: np.transpose(x, (0, 1)), CUBE),
        f(lambda x: np.transpose(x, (0, 1, 1)), CUBE),
        f(lambda x: np.transpose(x, (0, 1, 3)), CUBE),
        f(lambda x: np.permute_dims(x, (2, 1, 0)), CUBE),
        f(lambda x: np.swapaxes(x, 0, -1), CUBE),
        f(lambda x: x.swapaxes(0, 3), CUBE),
        f(lambda x: np.moveaxis(x, 0, -1), CUBE),
        f(lambda x: np.moveaxis(x, [0, 1], [-1, -2]), CUBE),
        f(lambda x: np.moveaxis(x, [0, 1], [0]), CUBE),
        f(lambda x: np.moveaxis(x, range(3), range(3)), CUBE),
        f(lambda x: x.item(0, 1), CUBE),
        f(lambda x: x.item((0,)), POINT),
        f(lambda x: np.roll(x, (1, 2)), CUBE),
        f(lambda x: np.unstack(x, axis=3), CUBE),
        f(lambda x: np.moveaxis(x, np.int64(0), np.int32(-1)), CUBE),
        f(lambda x: np.broadcast_arrays(x, x[..., :2]), CUBE),
        f(lambda x: x.sum()[::2], CUBE),
        f(lambda x: np.rollaxis(x, 2), CUBE),
        f(lambda x: [np.rollaxis(x, axis, start) for axis in range(-3, 3) for start in range(-3, 4)], CUBE),
        f(lambda x: np.rollaxis(x, 0, -4), CUBE),
        f(lambda x: np.rollaxis(x, 0, 4), CUBE),
        f(lambda x: np.rollaxis(x, 0, 3), CUBE),
        f(lambda x: np.expand_dims(x, 1), CUBE),
        f(lambda x: np.expand_dims(x, (0, -1)), CUBE),
        f(lambda x: np.expand_dims(x, 5), CUBE),
        f(lambda x: np.squeeze(x[:, None, :, None]), CUBE),
        f(lambda x: np.squeeze(x[:, None], axis=1), CUBE),
        f(lambda x: x[:1].squeeze(0), CUBE),
        f(lambda x: np.squeeze(x, axis=0), CUBE),
        f(lambda x: np.squeeze(x), LINE[:1]),
        f(lambda x: np.atleast_1d(x, x[0], x[0, 0, 0]), CUBE),
        f(lambda x: np.atleast_2d(x[0, 0, 0], x[0, 0], x[0], x), CUBE),
        f(lambda x: np.atleast_3d(x[0, 0, 0], x[0, 0], x[0], x), CUBE),
        f(lambda x: np.broadcast_to(x, (2, 5)), LINE),
        f(lambda x: np.broadcast_to(x[:, None], (5, 3)), LINE),
        f(lambda x: np.broadcast_to(x, 3), POINT),
        f(lambda x: np.broadcast_to(x, (2, 4)), LINE),
        f(lambda x: np.broadcast_to(x, ()), LINE),
        f(lambda x, y: np.broadcast_arrays(x, y[:, None], 3), LINE, sample("i4", 2)),
        f(lambda x, y: np.broadcast_to(x, y.shape), LINE, sample("i4", 2, 5)),
    ],
)
def test_shape(program: Any, arguments: tuple[Any, ...]):
    check(program, *arguments, message="broadcast_to" not in str(program.__code__.co_names))


def test_shapes_of_many_sizes():
    check_sizes(lambda x: x.reshape(-1, 2), lambda n: (sample("f4", 2 * n),))
    check_sizes(lambda x: x.reshape(2, -1), lambda n: (sample("f4", n),))
    check_sizes(lambda x: x.reshape(-1, x.shape[1]), lambda n: (sample("f4", 2, n, 2),))
    check_sizes(lambda x: x.T.reshape(-1), lambda n: (sample("f4", 3, n),))
    check_sizes(lambda x: np.squeeze(x), lambda n: (sample("f4", n, 1, 3),))
    check_sizes(lambda x, y: x + y, lambda n: (sample("f4", n), sample("f4", 5)))
    check_sizes(lambda x, y: x[1:] + y, lambda n: (sample("f4", n), sample("f4", 4)))
    check_sizes(lambda x: x[1:] - x[:-1], lambda n: (sample("f4", n),))
    check_sizes(lambda x, y: x[:, None] * y, lambda n: (sample("f4", n), sample("f4", 3)))


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x: np.concatenate([x, x]), MATRIX),
        f(lambda x: np.concatenate((x, x[:, :2]), axis=-1), MATRIX),
        f(lambda x, y: np.concatenate([x, y], axis=None), MATRIX, LINE),
        f(lambda x, y: np.concatenate([x[0], y, [1, 2]]), MATRIX, LINE),
        f(lambda x, y: np.concat([x, y]), MATRIX, MATRIX.astype("f4")),
        f(lambda x: np.concatenate([x, x], dtype="f8"), MATRIX),
        f(lambda x: np.concatenate([x, x], out=np.zeros_like(x.reshape(2, 6).reshape(6, 2).repeat(2, 1))), MATRIX),
        f(lambda x, y: np.concatenate([x, y]), MATRIX, sample("i4", 3, 5)),
        f(lambda x, y: np.concatenate([x, y]), MATRIX, LINE),
        f(lambda x: np.concatenate([x]), MATRIX),
        f(lambda x: np.concatenate([x[0, 0], x[0, 1]]), MATRIX),
        f(lambda x: np.concatenate(x), CUBE[:1]),
        f(lambda x: np.concatenate([x, x], axis=2), MATRIX),
        f(lambda x: np.stack([x, x + 0.5], axis=1), MATRIX),
        f(lambda x: np.stack([x[0, 0], x[1, 1], 3]), MATRIX),
        f(lambda x: np.stack([x, x], axis=-1, dtype="f4"), MATRIX),
        f(lambda x: np.stack([x, x[0]]), MATRIX),
        f(lambda x, y: np.stack([x, y]), MATRIX, sample("i4", 3, 5)),
        f(lambda x: np.hstack([x, x]), MATRIX),
        f(lambda x: np.hstack([x, x]), LINE),
        f(lambda x: np.hstack([x[0], 1.0]), LINE),
        f(lambda x: np.vstack([x, x[0]]), MATRIX),
        f(lambda x: np.vstack([x, x]), LINE),
        f(lambda x: np.dstack([x, x]), MATRIX),
        f(lambda x: np.dstack([x, x]), LINE),
        f(lambda x: np.column_stack([x, x]), LINE),
        f(lambda x: np.column_stack([x, x[:, 0]]), MATRIX),
        f(lambda x: np.split(x, 2, axis=1), MATRIX),
        f(lambda x: np.split(x, 3), MATRIX),
        f(lambda x: np.split(x, 2), MATRIX),
        f(lambda x: np.split(x, [1, 3]), LINE),
        f(lambda x: np.split(x, [3, 1, 9]), LINE),
        f(lambda x: np.array_split(x, 3), LINE),
        f(lambda x: np.array_split(x, 7), LINE),
        f(lambda x: np.array_split(x, [2], axis=1), MATRIX),
        f(lambda x: np.array_split(x, 0), LINE),
        f(lambda x: np.hsplit(x, 2), MATRIX),
        f(lambda x: np.hsplit(x, [2]), LINE),
        f(lambda x: np.vsplit(x, 3), MATRIX),
        f(lambda x: np.vsplit(x, 3), LINE),
        f(lambda x: np.dsplit(x, 2), CUBE),
        f(lambda x: np.unstack(x, axis=1), CUBE),
        f(lambda x: np.unstack(x), LINE),
        f(lambda x: np.unstack(x), POINT),
        f(lambda x, y: np.array([x[0], y, 1]), LINE, 2),
        f(lambda x, y: np.array([[x[0], y], [1, x[1]]]), LINE, 2.5),
        f(lambda x: np.array([x[0], x[1]]), MATRIX),
        f(lambda x: x + [1, 2, 3, 4, 5], LINE),  # noqa: RUF005 - an array plus a list
        f(lambda x: np.add(x, [[1.5], [2]]), LINE),
    ],
)
def test_joining(program: Any, arguments: tuple[Any, ...]):
    from unittest import mock

    from jitflow.frontend.numpy.dispatch import REPLACEMENTS

    with mock.patch.object(np, "array", _either(np.array, REPLACEMENTS[np.array])):
        check(program, *arguments)


def _either(plain: Any, traced: Any) -> Any:
    """The function of NumPy outside a trace, its replacement inside, as a compiled function sees it."""
    from jitflow.frontend.recording.trace import active_trace

    return lambda *args, **kwargs: (plain if active_trace() is None else traced)(*args, **kwargs)


def test_joining_of_many_sizes():
    check_sizes(lambda x, y: np.concatenate([x, y]), lambda n: (sample("f4", n, 2), sample("f4", 3, 2)))
    check_sizes(lambda x: np.concatenate([x[:1], x[-1:]]), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.array_split(x, 3), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.split(x, 2), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.split(x, [1, -1]), lambda n: (sample("f4", n),))


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x: np.flip(x), CUBE),
        f(lambda x: np.flip(x, 1), CUBE),
        f(lambda x: np.flip(x, (0, -1)), CUBE),
        f(lambda x: np.flip(x), POINT),
        f(lambda x: np.flip(x, 0.5), MATRIX),
        f(lambda x: np.fliplr(x), MATRIX),
        f(lambda x: np.fliplr(x), LINE),
        f(lambda x: np.flipud(x), MATRIX),
        f(lambda x: np.roll(x, 2), LINE),
        f(lambda x: np.roll(x, -7), MATRIX),
        f(lambda x: np.roll(x, 1, axis=1), MATRIX),
        f(lambda x: np.roll(x, (1, -1), axis=(0, 1)), MATRIX),
        f(lambda x: np.roll(x, 1, axis=(0, 1)), MATRIX),
        f(lambda x: np.roll(x, (1, 2), axis=0), MATRIX),
        f(lambda x, n: np.roll(x, n), LINE, 3),
        f(lambda x, n: np.roll(x, n, axis=0), MATRIX, -1),
        f(lambda x: np.roll(x, 1, axis=2), MATRIX),
        f(lambda x: np.rot90(x), CUBE),
        f(lambda x: np.rot90(x, 2, (1, 2)), CUBE),
        f(lambda x: np.rot90(x, -1, (2, 0)), CUBE),
        f(lambda x: np.rot90(x, 4), CUBE),
        f(lambda x: np.rot90(x, 1, (0, 0)), CUBE),
        f(lambda x: np.repeat(x, 3), MATRIX),
        f(lambda x: np.repeat(x, 2, axis=0), MATRIX),
        f(lambda x: x.repeat(0, axis=1), MATRIX),
        f(lambda x: x.repeat([1, 0, 2], axis=0), MATRIX),
        f(lambda x: x.repeat([2], axis=0), MATRIX),
        f(lambda x: x.repeat([2, 3], axis=0), MATRIX),
        f(lambda x: np.repeat(x, -1), MATRIX),
        f(lambda x: np.repeat(x, 3), POINT),
        f(lambda x: np.tile(x, 2), MATRIX),
        f(lambda x: np.tile(x, (2, 3)), LINE),
        f(lambda x: np.tile(x, (2, 1, 2)), MATRIX),
        f(lambda x: np.tile(x, 3), POINT),
        f(lambda x: np.tile(x, ()), MATRIX),
        f(lambda x: np.tile(x, -1), LINE),
        f(lambda x: np.pad(x, 2), MATRIX),
        f(lambda x: np.pad(x, (1, 2), constant_values=7), LINE),
        f(lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=((1, 2), (3, 4))), MATRIX),
        f(lambda x: np.pad(x, (1, 2), mode="edge"), MATRIX),
        f(lambda x: np.pad(x, 3, mode="wrap"), MATRIX),
        f(lambda x: np.pad(x, 7, mode="wrap"), MATRIX),
        f(lambda x: np.pad(x, 2, mode="reflect"), MATRIX),
        f(lambda x: np.pad(x, 9, mode="reflect"), MATRIX),
        f(lambda x: np.pad(x, 9, mode="symmetric"), MATRIX),
        f(lambda x: np.pad(x, -1), MATRIX),
        f(lambda x: np.fft.fftshift(x), MATRIX),
        f(lambda x: np.fft.ifftshift(x, axes=1), MATRIX),
        f(lambda x: np.fft.ifftshift(np.fft.fftshift(x)), LINE),
    ],
)
def test_rearranging(program: Any, arguments: tuple[Any, ...]):
    check(program, *arguments)


def test_rearranging_many_sizes():
    check_sizes(lambda x: np.flip(x), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.roll(x, 2), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.roll(x, -1, axis=0), lambda n: (sample("f4", n, 2),))
    check_sizes(lambda x: np.repeat(x, 2), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.tile(x, 2), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.pad(x, 1), lambda n: (sample("f4", n),))


@pytest.mark.parametrize("mode", ["linear_ramp", "maximum", "mean", "median", "minimum"])
def test_padding_by_numpy(mode: str):
    check(lambda x: np.pad(x, 2, mode), sample("f8", 3, 4))
    check(lambda x: np.pad(x, ((1, 2), (0, 3)), mode), sample("i4", 3, 4))
    check(lambda x: np.pad(x, (0, 2), mode), sample("u1", 7) % 5)
    if mode != "linear_ramp":
        check(lambda x: np.pad(x, 1, mode), np.array([2**62 + 1, 2**62 + 1, 2**62 + 1]))


def test_options_of_padding():
    check(lambda x: np.pad(x, 2, "linear_ramp", end_values=(3, 4)), sample("f8", 3))
    check(lambda x: np.pad(x, 2, "mean", stat_length=2), sample("f8", 5))
    check(lambda x: np.pad(x, 2, "reflect", reflect_type="odd"), sample("f8", 5))
    check(lambda x: np.pad(x, 2, "empty")[2:-2], sample("f8", 5))
    check(lambda x: np.pad(x, 2, "empty", constant_values=0), sample("f8", 5))
    check(lambda x: np.pad(x, 2, "odd"), sample("f8", 5))


@pytest.mark.parametrize("casting", ["no", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("function", [np.concatenate, np.stack, np.hstack, np.vstack])
def test_arrays_are_joined_by_rules_of_casting(function: Any, casting: str):
    whole, rough = np.arange(3), np.arange(3) + 0.5
    for dtype in (None, "i8", "f4", "c16"):
        check(lambda x, y: function((x, y), dtype=dtype, casting=casting), whole, rough)
        if dtype and function in (np.concatenate, np.stack):
            check(
                lambda x, y: function((x, y), out=np.zeros_like(function((x, y)), dtype), casting=casting), whole, rough
            )


@pytest.mark.parametrize("mode", ["constant", "edge", "linear_ramp"])
@pytest.mark.parametrize(
    "widths",
    [[1, 2], ((1,), (2,)), ((1, 2),), ((1, 2), (3, 4)), np.uint8(2), {0: 1}, {-1: (1, 2)}, {2: 1}, True, 1.5, 1j, "a",
     None, (), ((1, 2, 3), (1, 2, 3)), [[1], [2], [3]], ((1, 2), (3,)), (((1,), (2,)), ((3,), (4,))),
     ((1, -2), (3, 4))],
    ids=str,
)  # fmt: skip
def test_what_says_how_much_is_padded(widths: Any, mode: str):
    check(lambda x: np.pad(x, widths, mode), MATRIX)


def test_widths_of_padding_in_an_array():
    for widths in (np.array([[1, 2], [3, 4]]), np.array([1, 2]), np.array(3), np.array([1, -2]), np.array(2.0)):
        check(lambda x, w: np.pad(x, w, "wrap"), MATRIX, widths)
    for behind in (0, 1):  # an axis without elements is padded with none
        check(lambda x, n: np.pad(x, ((1, 1), (0, n)), "edge"), sample("f8", 2, 0), behind)


def test_padding_by_sizes():
    for mode in ("constant", "edge", "reflect", "wrap", "symmetric"):
        check(lambda x, y: np.pad(x, y.shape[0], mode), sample("f8", 5), sample("f8", 2))
        check_compiled(lambda x, n: np.pad(x, ((0, n), (n, 1)), mode), sample("f8", 4, 5), 3)
        padded = jitflow.function(lambda x, n: np.pad(x, n, mode))
        for width in (2, 0, -1):
            check_compiled(padded, sample("f8", 5), width)


@pytest.mark.parametrize("rows", [-1, 0, 2, 3, 4, -2])
def test_reshape_with_numbers_that_the_run_decides(rows: int):
    line = np.arange(6.0)
    check_function(lambda x, n: x.reshape(n, 2), line, rows)
    check_function(lambda x, n: np.reshape(x, (3, -1, n)), line, rows)
    check_function(lambda x, n: x[:0].reshape(2, n), line, rows)
    for columns in (-1, 3):
        check_function(lambda x, n, m: x.reshape((n, m)), line, rows, columns)
    check_function(lambda x, v: x.reshape(v[0], v[1]).sum(axis=0), line, np.array([rows, 2]))
    check_function(lambda x, y: x.reshape(y.shape[0] - 4, 2), line, np.ones(rows + 4))


def filled_columns(x, w):
    """A convolution as one product."""
    rows, columns = x.shape[1] - w.shape[0] + 1, x.shape[2] - w.shape[1] + 1
    patches, place = np.empty((x.shape[0], rows, columns, w.size // w.shape[3])), 0
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            patches[..., place : place + x.shape[3]] = x[:, i : i + rows, j : j + columns]
            place += x.shape[3]
    flat = patches.reshape(x.shape[0] * rows * columns, -1).dot(w.reshape(-1, w.shape[3]))
    return flat.reshape(x.shape[0], rows, columns, -1)


def test_what_is_left_of_sizes_that_may_be_nothing():
    arguments = np.arange(70.0).reshape(2, 5, 7, 1), np.arange(8.0).reshape(2, 2, 1, 2), np.ones((2, 2, 2, 1))
    twice = jitflow.function(lambda x, one, other: filled_columns(filled_columns(x, one), other))
    assert "alloc" in twice.ir(*arguments, stage="kernels")

    def in_turns(x, y, count):
        total = 0.0
        for turn in range(count):
            total += np.cumsum(x.reshape(y.shape[0], -1) * turn, axis=1)[0, 0]
        return total

    for size in (0, 2):
        check_compiled(in_turns, np.arange(12.0), np.ones(size), 2)


@pytest.mark.parametrize("part", [np.s_[:1], np.s_[:, :1], np.s_[0]], ids=["rows", "columns", "rank"])
def test_lists_of_arrays_of_several_shapes(part: Any):
    check_compiled(lambda x: np.array([x, x[part]]), CUBE)
