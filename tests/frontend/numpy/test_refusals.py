"""What is not compiled says so, at the user's line, with what to use instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

from jitflow.errors import UserNotImplementedError, UserTypeError
from tests.frontend.numpy.oracle import run, sample

X, N = sample("f8", 3, 4), 2


def f(program: Any, found: str, mend: str, *arguments: Any) -> Any:
    return pytest.param(program, found, mend, arguments or (X,))


@pytest.mark.parametrize(
    ("program", "found", "mend", "arguments"),
    [
        f(lambda x: np.histogramdd(x), "numpy.histogramdd", "other NumPy functions"),
        f(lambda x: np.nanmax(x), "fmax.reduce of complex numbers", "real and imaginary parts", X + 1j),
        f(lambda x: np.subtract.reduce(x, initial=3), "initial= or where=", "leave these out"),
        f(lambda x: np.ravel(x, order="K"), "order='K'", "order='C'"),
        f(lambda x: x.T.reshape(6, 2, copy=False), "copy=False", "leave copy= out"),
        f(lambda x: np.pad(x, 1, mode=print), "np.pad with mode=", "constant, linear_ramp"),
        f(lambda x: np.vecdot(x, x, axes=[(0,), (0,), ()]), "axes=", "np.moveaxis"),
        f(lambda x, s: np.roll(x, s), "an array of shifts", "one number", X, np.array([1, 2])),
        f(lambda x: scipy.special.erf(x), "erf of complex numbers", "jitflow.callback", X + 1j),
        f(lambda x: np.logspace(0, 1, base=x), "array of bases", "np.power"),
    ],
)
def test_refusals(program: Any, found: str, mend: str, arguments: tuple[Any, ...]):
    with pytest.raises(UserNotImplementedError) as caught:
        run(program, arguments)
    assert found in caught.value.message
    assert mend in caught.value.mend
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


def test_numbers_that_must_be_known():
    with pytest.raises(UserTypeError, match="axis to be known while tracing") as caught:
        run(lambda x, n: np.sum(x, axis=n), (X, 1))
    assert "static" in caught.value.mend
    with pytest.raises(UserTypeError, match="n to be known while tracing") as caught:
        run(lambda x, n: np.diff(x, n), (X, 1))
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


def test_dtypes_that_are_not_numbers():
    for dtype in ("U3", object, "M8[s]", ">f8", "i4,f4"):
        with pytest.raises(UserTypeError, match="expected a dtype of numbers"):
            run(lambda x, dtype=dtype: x.astype(dtype), (X,))


def test_arguments_that_a_function_lacks():
    with pytest.raises(UserTypeError, match="unexpected keyword argument 'color'"):
        run(lambda x: np.clip(x, 0, 1, color=3), (X,))
    with pytest.raises(UserTypeError, match="missing a required argument"):
        run(lambda x: x.astype(), (X,))


def test_writing_where_others_see():
    array = np.zeros((3, 4))
    with pytest.raises(UserNotImplementedError) as caught:
        run(lambda x: np.add(x, 1, out=array), (X,))
    assert "out=" in caught.value.mend
