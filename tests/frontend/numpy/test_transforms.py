"""`numpy.fft` against NumPy, which computes it: bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend.numpy.both import check_both
from tests.frontend.numpy.oracle import check, check_sizes, sample

LINE, MATRIX, CUBE = sample("f8", 8), sample("c16", 4, 6), sample("f8", 3, 4, 5)
TRANSFORMS = [np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft]
OF_SEVERAL = [np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2, np.fft.fftn, np.fft.ifftn, np.fft.rfftn,
              np.fft.irfftn]  # fmt: skip


def _applied(function: Any, *more: Any, **keywords: Any) -> Any:
    return lambda x: function(x, *more, **keywords)


@pytest.mark.parametrize("function", TRANSFORMS, ids=lambda function: function.__name__)
def test_transforms(function: Any):
    real = function in (np.fft.rfft, np.fft.ihfft)
    for kind in ("?", "i4", "f2", "f4", "f8", *(() if real else ("c8", "c16"))):
        check(_applied(function), sample(kind, 6))
    source = CUBE if real else MATRIX
    for more in ((), (4,), (9,), (None, 0), (3, 0), (5, -2), (None, 7), (0,), (-1,)):
        check(_applied(function, *more), source)
    for norm in ("ortho", "forward", "backward", "odd"):
        check(_applied(function, norm=norm), source)
    for array in (LINE[:1], LINE[:0], np.asarray(2.0), source[::-1, ::2]):
        check(_applied(function), array)
    check(lambda x, n: function(x, n.shape[0]), LINE, LINE[:5])
    check_both(_both(function), LINE)
    check_sizes(_applied(function), lambda n: (sample("f8", n),), (6, 5, 2, 9))


def _both(function: Any) -> Any:
    return lambda x: function(x * 2, axis=-1) + 1


@pytest.mark.parametrize("function", OF_SEVERAL, ids=lambda function: function.__name__)
def test_transforms_of_several_axes(function: Any):
    name = function.__name__
    source = CUBE if name.startswith("rfft") else CUBE + 1j
    for array in (source, source[0], source.astype("f4" if name.startswith("rfft") else "c8"), source[..., ::-2],
                  CUBE.astype("f2")):  # fmt: skip
        check(_applied(function), array)
    for axes in ((0, 1), (1,), (-1, 0), (0, 5)):
        check(_applied(function, axes=axes), source)
    check(_applied(function, (4, 7), (0, 1)), source)
    check(_applied(function, (4, -1), (0, 1)), source)
    check(_applied(function, (4,), (0, 1)), source)
    check(_applied(function, axes=(0, 1), norm="ortho"), source)
    check(_applied(function, axes=()), source)
    check(lambda x, n: function(x, (n.shape[0], 4), (0, 2)), source, LINE[:5])
    check_both(_applied(function), source)


def test_a_filter():
    def smooth(x: Any) -> Any:
        spectrum = np.fft.rfft(x)
        frequency = np.arange(spectrum.shape[0])
        return np.fft.irfft(np.where(frequency < 3, spectrum, 0), x.shape[0])

    np.testing.assert_allclose(smooth(LINE), __import__("jitflow").function(smooth)(LINE))
