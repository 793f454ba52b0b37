"""Convolutions and pooling: values by a loop over the places of the result, derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import nn
from tests.compare import REDUCTION, assert_same
from tests.sampled import in_turn, sampled

RANDOM = np.random.default_rng(3)
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "one axis": ((2, 3, 9), (4, 3, 3), {}),
    "two axes": ((2, 3, 7, 9), (4, 3, 3, 2), {"padding": (1, 0)}),
    "three axes": ((1, 2, 5, 4, 6), (3, 2, 2, 3, 2), {"padding": "same"}),
    "stride": ((2, 3, 9, 8), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
    "stride beyond the kernel": ((1, 2, 11, 10), (3, 2, 2, 1), {"stride": (3, 4)}),
    "dilation": ((2, 3, 9, 9), (4, 3, 3, 2), {"dilation": (2, 3)}),
    "stride and dilation": ((1, 2, 14, 13), (3, 2, 3, 4), {"stride": (2, 3), "dilation": (3, 2), "padding": 2}),
    "groups": ((2, 6, 6, 5), (4, 3, 3, 3), {"groups": 2, "padding": 1}),
    "each channel": ((2, 3, 6, 5), (3, 1, 3, 3), {"groups": 3, "stride": 2}),
    "pairs": ((1, 2, 5, 6), (3, 2, 3, 3), {"padding": ((0, 2), (1, 0))}),
    "same with a stride": ((1, 2, 7, 8), (3, 2, 3, 3), {"padding": "same", "stride": 2}),
    "one element": ((2, 3, 4, 5), (6, 3, 1, 1), {}),
    "one window among zeros": ((2, 3, 2, 2), (4, 3, 2, 2), {"stride": 3, "padding": 1}),
}


def last(x: np.ndarray) -> np.ndarray:
    """Channels as the last axis."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def drawn(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape)


def pairs_of(x: np.ndarray, kernel: tuple[int, ...], options: dict[str, Any]) -> list[tuple[int, int]]:
    count = len(kernel)
    padding = options.get("padding", 0)
    if padding == "same":
        found = []
        for axis, size in enumerate(kernel):
            step, n = options.get("stride", 1), x.shape[2 + axis]
            missing = max((-(-n // step) - 1) * step + size - n, 0)
            found.append((missing // 2, missing - missing // 2))
        return found
    each = padding if isinstance(padding, tuple) else (padding,) * count
    return [one if isinstance(one, tuple) else (one, one) for one in each]


def each(given: Any, count: int) -> tuple[int, ...]:
    return given if isinstance(given, tuple) else (given,) * count


def convolved(x: np.ndarray, weight: np.ndarray, **options: Any) -> np.ndarray:
    """The definition, place by place."""
    kernel, groups = weight.shape[2:], options.get("groups", 1)
    strides, dilations = (each(options.get(name, 1), len(kernel)) for name in ("stride", "dilation"))
    padded = np.pad(x, [(0, 0), (0, 0), *pairs_of(x, kernel, options)])
    spans = [(size - 1) * apart + 1 for size, apart in zip(kernel, dilations, strict=True)]
    sizes = [(n - span) // step + 1 for n, span, step in zip(padded.shape[2:], spans, strides, strict=True)]
    found = np.zeros((x.shape[0], weight.shape[0], *sizes))
    for output in range(weight.shape[0]):
        group = output // (weight.shape[0] // groups)
        inputs = slice(group * weight.shape[1], (group + 1) * weight.shape[1])
        for place in product(*map(range, sizes)):
            window = tuple(
                slice(at * step, at * step + span, apart)
                for at, step, span, apart in zip(place, strides, spans, dilations, strict=True)
            )
            found[(slice(None), output, *place)] = (padded[(slice(None), inputs, *window)] * weight[output]).sum(
                tuple(range(1, x.ndim))
            )
    return found


def check_gradient(function: Callable[..., Any], *arguments: np.ndarray) -> None:
    """Derivatives in all arguments along random directions."""
    direction = drawn(*function(*arguments).shape)
    compiled = jitflow.function(
        jitflow.grad(lambda *given: (function(*given) * direction).sum(), tuple(range(len(arguments))))
    )
    for number, gradient in enumerate(compiled(*arguments)):
        change = drawn(*arguments[number].shape)

        def moved(by: float, number: int = number, change: np.ndarray = change) -> float:
            given = [one + by * change if place == number else one for place, one in enumerate(arguments)]
            return float((function(*given) * direction).sum())

        expected = (moved(1e-4) - moved(-1e-4)) / 2e-4
        assert np.isclose((gradient * change).sum(), expected, rtol=1e-6, atol=1e-6), number


@pytest.mark.parametrize(("name", "layout"), sampled(in_turn(CASES, ["NCHW", "NHWC"]), 2))
def test_convolutions(name: str, layout: str) -> None:
    of_x, of_weight, options = CASES[name]
    x, weight, bias = drawn(*of_x), drawn(*of_weight), drawn(of_weight[0])

    def function(x: Any, weight: Any, bias: Any) -> Any:
        return nn.conv(x, weight, bias, layout=layout, **options)

    expected = convolved(x, weight, **options) + bias.reshape(-1, *(1,) * (x.ndim - 2))
    if layout == "NHWC":
        x, expected = last(x), last(expected)
    assert_same(function(x, weight, bias), expected, REDUCTION)
    assert_same(jitflow.function(function)(x, weight, bias), expected, REDUCTION)
    single = [one.astype(np.float32) for one in (x, weight, bias)]
    assert_same(jitflow.function(function)(*single), function(*single), REDUCTION)
    check_gradient(function, x, weight, bias)


@pytest.mark.parametrize(
    "name", sampled([name for name, (*_, options) in CASES.items() if options.get("padding") != "same"], 2)
)
def test_the_transpose_is_the_adjoint(name: str) -> None:
    of_x, of_weight, options = CASES[name]
    x, weight = drawn(*of_x), drawn(*of_weight)
    cotangent = drawn(*nn.conv(x, weight, **options).shape)
    (expected,) = jitflow.vjp(lambda x: nn.conv(x, weight, **options), x)[1](cotangent)
    got = nn.conv_transpose(cotangent, weight, **options)
    room = tuple(n - m for n, m in zip(of_x[2:], got.shape[2:], strict=True))

    def function(y: Any, weight: Any) -> Any:
        return nn.conv_transpose(y, weight, output_padding=room, **options)

    assert_same(function(cotangent, weight), expected, REDUCTION)
    assert_same(jitflow.function(function)(cotangent, weight), expected, REDUCTION)
    turned = jitflow.function(
        lambda y, weight: nn.conv_transpose(y, weight, output_padding=room, layout="NHWC", **options)
    )
    assert_same(turned(last(cotangent), weight), last(expected), REDUCTION)
    check_gradient(function, cotangent, weight)


POOLS: dict[str, dict[str, Any]] = {
    "2": {"size": 2},
    "3 by 2 with a padding": {"size": (3, 2), "stride": 2, "padding": 1},
    "overlapping": {"size": 3, "stride": (1, 2)},
    "apart": {"size": (1, 2), "stride": 3},
}


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("pool", [nn.max_pool, nn.avg_pool])
def test_pooling(pool: Callable[..., Any], name: str) -> None:
    options, x = POOLS[name], drawn(2, 3, 6, 7)
    sizes, steps = each(options["size"], 2), each(options.get("stride", options["size"]), 2)
    before = options.get("padding", 0)
    around = -np.inf if pool is nn.max_pool else 0.0
    padded = np.pad(x, [(0, 0), (0, 0), (before, before), (before, before)], constant_values=around)
    rows, columns = ((n - size) // step + 1 for n, size, step in zip(padded.shape[2:], sizes, steps, strict=True))
    expected = np.zeros((2, 3, rows, columns))
    for row, column in product(range(rows), range(columns)):
        top, left = row * steps[0], column * steps[1]
        window = padded[:, :, top : top + sizes[0], left : left + sizes[1]]
        expected[:, :, row, column] = window.max((2, 3)) if pool is nn.max_pool else window.mean((2, 3))

    def function(x: Any) -> Any:
        return pool(x, **options)

    assert_same(function(x), expected, REDUCTION)
    assert_same(jitflow.function(function)(x), expected, REDUCTION)
    turned = jitflow.function(lambda x: pool(x, layout="NHWC", **options))
    assert_same(turned(last(x)), last(expected), REDUCTION)
    check_gradient(function, x)
    assert pool(x.astype(np.float32), **options).dtype == np.float32


def test_normalisation() -> None:
    x, scale, shift = drawn(4, 3, 5, 6), drawn(3), drawn(3)

    def batch(x: Any, scale: Any, shift: Any) -> Any:
        return nn.batch_norm(x, scale, shift)

    column = (1, 3, 1, 1)
    centred = x - x.mean((0, 2, 3), keepdims=True)
    normal = centred / np.sqrt((centred**2).mean((0, 2, 3), keepdims=True) + 1e-5)
    expected = normal * scale.reshape(column) + shift.reshape(column)
    assert_same(jitflow.function(batch)(x, scale, shift), expected, REDUCTION)
    assert_same(nn.batch_norm(last(x), scale, shift, layout="NHWC"), last(expected), REDUCTION)
    check_gradient(batch, x, scale, shift)
    running = jitflow.function(lambda x, mean, variance: nn.batch_norm(x, mean=mean, variance=variance))
    assert_same(
        running(x, scale, shift**2), (x - scale.reshape(column)) / np.sqrt(shift.reshape(column) ** 2 + 1e-5), REDUCTION
    )

    def response(x: Any) -> Any:
        return nn.local_response_norm(x, 5, alpha=0.3, k=2.0)

    many = drawn(2, 7, 3)
    sums = np.stack([(many[:, max(c - 2, 0) : c + 3] ** 2).sum(1) for c in range(7)], axis=1)
    assert_same(jitflow.function(response)(many), many / (2 + 0.3 / 5 * sums) ** 0.75, REDUCTION)
    check_gradient(response, many)


def test_what_does_not_fit() -> None:
    x, weight = drawn(1, 4, 6, 6), drawn(2, 4, 3, 3)
    mistakes: dict[str, Callable[..., Any]] = {
        "expected a layout": lambda x, weight: nn.conv(x, weight, layout="CHW"),
        "windows slide": lambda x, weight: nn.conv(x[0, 0], weight),
        "the weights of a convolution": lambda x, weight: nn.conv(x, weight[0]),
        "the channels of a convolution": lambda x, weight: nn.conv(x, weight, groups=2),
        "the bias of a convolution": lambda x, weight: nn.conv(x, weight, weight[0, :3, 0, 0]),
        "stride does not fit": lambda x, weight: nn.conv(x, weight, stride=(1, 2, 3)),
        "dilation does not fit": lambda x, weight: nn.conv(x, weight, dilation=0),
        "expected a padding": lambda x, weight: nn.conv(x, weight, padding="full"),
        "a window is larger": lambda x, weight: nn.max_pool(x, 7),
        "what normalises a batch": lambda x, weight: nn.batch_norm(x, weight[:, 0, 0, 0]),
    }
    for message, wrong in mistakes.items():
        for run in (wrong, jitflow.function(wrong)):
            with pytest.raises(ValueError, match=message):
                run(x, weight)
    with pytest.raises(TypeError, match="expected stride in integers"):
        nn.conv(x, weight, stride=1.5)
    with pytest.raises(TypeError, match="expected integers or floats"):
        nn.max_pool(x > 0, 2)


def test_a_peer() -> None:
    """The numbers mean what they mean in the library that most networks are written for."""
    torch = pytest.importorskip("torch")
    for name in ("stride and dilation", "groups"):
        of_x, of_weight, options = CASES[name]
        x, weight = drawn(*of_x), drawn(*of_weight)
        function = getattr(torch.nn.functional, f"conv{len(of_x) - 2}d")
        given, factors = (torch.from_numpy(one).requires_grad_() for one in (x, weight))
        expected = function(given, factors, **options)
        cotangent = drawn(*expected.shape)
        expected.backward(torch.from_numpy(cotangent))
        found, back = jitflow.vjp(lambda x, weight, options=options: nn.conv(x, weight, **options), x, weight)
        assert_same(found, expected.detach().numpy(), REDUCTION)
        for got, wanted in zip(back(cotangent), (given.grad, factors.grad), strict=True):
            assert_same(got, wanted.numpy(), REDUCTION)
