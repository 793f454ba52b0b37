"""Every ufunc over dtypes, special numbers, kinds of operands and ways of calling it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import jitflow
from jitflow.frontend.numpy.linear import UFUNCS
from jitflow.frontend.numpy.ufuncs import LOOPS, SPECIAL_LOOPS
from tests.frontend.numpy.both import check_compiled
from tests.frontend.numpy.oracle import KINDS, check, sample, special

UNARY = sorted({u for u in LOOPS if u.nin == 1}, key=lambda u: u.__name__)
BINARY = sorted({u for u in LOOPS if u.nin == 2}, key=lambda u: u.__name__)
NAMES = {"ids": lambda item: getattr(item, "__name__", str(item))}


def supports(ufunc: np.ufunc, *kinds: str) -> bool:
    try:
        ufunc.resolve_dtypes((*(np.dtype(kind) for kind in kinds), *(None,) * ufunc.nout))
    except TypeError:
        return False
    return True


def test_every_ufunc_of_numpy_is_in_a_table():
    ufuncs = {value for value in vars(np).values() if isinstance(value, np.ufunc)}
    missing = {ufunc.__name__ for ufunc in ufuncs - set(LOOPS) - set(UFUNCS)}
    assert missing == {"isnat"}


@pytest.mark.parametrize("ufunc", UNARY, **NAMES)
def test_unary(ufunc: np.ufunc):
    for kind in KINDS:
        for shape in ((4,), (), (0, 3), (1, 2)):
            check(lambda x: ufunc(x), sample(kind, *shape), message=supports(ufunc, kind))
        check(lambda x: ufunc(x), sample(kind, 1)[0], message=supports(ufunc, kind))
    for value in (True, 3, 0.5, 1.5 + 1j):
        check(lambda x: ufunc(x), value, message=False)


@pytest.mark.parametrize("ufunc", UNARY, **NAMES)
@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_unary_on_special_numbers(ufunc: np.ufunc, kind: str):
    check(lambda x: ufunc(x), special(kind), message=supports(ufunc, kind))


@pytest.mark.parametrize("ufunc", BINARY, **NAMES)
def test_binary(ufunc: np.ufunc):
    for left in KINDS:
        for right in ("?", "u1", "i4", "u8", "f2", "f4", "c8", left):
            if ufunc is np.power and np.dtype(right).kind == "i":
                continue
            check(
                lambda x, y: ufunc(x, y),
                sample(left, 3, 1),
                sample(right, 4, seed=1),
                message=supports(ufunc, left, right),
            )


@pytest.mark.parametrize("ufunc", BINARY, **NAMES)
@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_binary_on_special_numbers(ufunc: np.ufunc, kind: str):
    numbers = special(kind)
    check(lambda x, y: ufunc(x, y), numbers[:, None], numbers, message=supports(ufunc, kind, kind))


@pytest.mark.parametrize("ufunc", BINARY, **NAMES)
@pytest.mark.parametrize("number", [True, 2, 0.5, 1 + 2j, np.float32(1.5), np.int8(3), np.float64(2.0)], ids=repr)
def test_binary_with_numbers(ufunc: np.ufunc, number: Any):
    """Known and traced numbers, on both sides, weak and strong."""
    for kind in ("?", "u1", "i4", "f2", "f4", "f8", "c8"):
        array = sample(kind, 3)
        compared = supports(ufunc, kind, np.asarray(number).dtype.str)
        check(lambda x, y: ufunc(x, y), array, number, message=compared)
        check(lambda x: ufunc(x, number), array, message=compared)
        if not (ufunc is np.power and kind == "i4"):
            check(lambda x, y: ufunc(y, x), array, number, message=compared)
            check(lambda x: ufunc(number, x), array, message=compared)
    for other in (3, 1.5, np.float32(2.5)):
        check(lambda x, y: ufunc(x, y), number, other, message=False)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.exp, np.maximum, np.power, np.less, np.sqrt], **NAMES)
def test_bfloat16(ufunc: np.ufunc):
    numbers = np.abs(sample("f4", 5)).astype(ml_dtypes.bfloat16)
    if ufunc.nin == 1:
        check(lambda x: ufunc(x), numbers)
        return
    for other in (numbers[::-1].copy(), 2, 0.5, sample("f4", 5), np.float16(2)):
        check(lambda x, y: ufunc(x, y), numbers, other)


@pytest.mark.parametrize("name", sorted(SPECIAL_LOOPS))
@pytest.mark.parametrize("kind", ["f4", "f8", "i4", "f2"])
def test_special_functions(name: str, kind: str):
    import scipy.special

    ufunc = getattr(scipy.special, name)
    arguments = [np.abs(sample(kind, 7)) if place == 0 else sample(kind, 7, seed=2) for place in range(ufunc.nin)]
    if name == "logit":
        arguments = [np.linspace(0, 1, 7).astype(kind)]
    from tests.compare import ELEMENTARY

    check(lambda *operands: ufunc(*operands), *arguments, tolerance=ELEMENTARY)


@pytest.mark.parametrize("exponent", [-2, -1, -0.5, 0, 0.5, 1, 2, 3, 2.0, 1.5, 2j, True])
@pytest.mark.parametrize("kind", ["?", "i4", "u1", "f2", "f4", "f8", "c8"])
def test_powers(kind: str, exponent: Any):
    if (kind, exponent) == ("?", 2):
        pytest.skip("NumPy's operator squares bools as i8, its function as i64; tracers see the function")
    for array in (sample(kind, 5), special(kind) if kind in ("f2", "f4", "f8") else sample(kind, 2, 2)):
        check(lambda x: x**exponent, array)


def test_mixed_signs_compare_by_value():
    left = np.array([-1, 0, 1, 2**63 - 1, -(2**63)])
    right = np.array([0, 1, 2**63, 2**64 - 1], np.uint64)
    for ufunc in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal):
        check(lambda x, y, ufunc=ufunc: ufunc(x[:, None], y), left, right)
        check(lambda x, y, ufunc=ufunc: ufunc(y[:, None], x), left, right)


@pytest.mark.parametrize("number", [-1, 0, 255, 256, -129, 2**31, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("kind", ["u1", "i1", "i4", "u4", "i8", "u8"])
def test_python_integers_out_of_range(kind: str, number: int):
    array = np.array([0, 1, 100], kind)
    for ufunc in (np.less, np.greater_equal, np.equal, np.not_equal):
        check(lambda x, y, ufunc=ufunc: ufunc(x, y), array, number)
        check(lambda x, y, ufunc=ufunc: ufunc(y, x), array, number)
        check(lambda x, ufunc=ufunc: ufunc(x, number), array)
        check(lambda x, ufunc=ufunc: ufunc(number, x), array)
    check(lambda x: x + number, array)
    check(lambda x, y: x + y, array, number)


def test_out_and_where():
    x, y = sample("f4", 3, 4), sample("f4", 4, seed=1)

    def into(x: Any, y: Any) -> Any:
        result = np.empty_like(x)
        np.add(x, y, out=result)
        np.multiply(result, 2, out=result, where=x > 0)
        return result

    def halves(x: Any) -> Any:
        fractions, wholes = np.empty_like(x), np.empty_like(x)
        np.modf(x, out=(fractions, wholes))
        return fractions, wholes

    check(into, x, y)
    check(halves, x)
    check(lambda x, y: np.add(x, y, np.zeros_like(x)), x, y)
    check(lambda x, y: np.add(x, y, out=np.zeros_like(y)), x, y)
    check(lambda x, y: np.add(x, y, out=np.zeros_like(x, dtype=int)), x, y, message=False)
    check(lambda x: np.sqrt(x, out=np.zeros_like(x), where=x > 0), x)


def test_dtype_casting_and_signature():
    x, y = sample("i4", 3), sample("f4", 3)
    check(lambda x: np.add(x, 1, dtype="f8"), x)
    check(lambda x: np.sqrt(x, dtype=np.float32), y)
    check(lambda x: np.add(x, 1.5, dtype="i4"), x, message=False)
    check(lambda x: np.add(x, x, dtype="i4", casting="unsafe"), y)
    check(lambda x: np.sqrt(x, signature="d->d"), x)
    check(lambda x: np.add(x, x, signature=(None, None, np.float64)), x)
    check(lambda x, y: np.copysign(x, y, dtype="f8"), x, y)


def test_outer():
    x, y = sample("f4", 3), sample("i4", 2, 2)
    check(lambda x, y: np.multiply.outer(x, y), x, y)
    check(lambda x, y: np.subtract.outer(y, x), x, y)
    check(lambda x: np.add.outer(x, 2.0), x)
    check(lambda x: np.add.outer(2.0, x), x)
    check(lambda x: np.equal.outer(x, x), x)


def test_wrong_calls():
    x = sample("f4", 3)
    check(lambda x: np.add(x), x, message=False)
    check(lambda x: np.add(x, x, where=x), x, message=False)
    check(lambda x: np.add(x, x, out=x.copy(), where=[0, 1, 2] + [0] * (len(x) - 3)), x)
    check(lambda x: (np.add(x, x, out=x.copy(), where=0), np.sum(x, where=1)), x)
    check(lambda x: np.bitwise_and(x, 1), x)
    check(lambda x: np.subtract(x > 0, x > 0), x)
    check(lambda x: -(x > 0), x)
    check(lambda x: np.sin(x, "a"), x, message=False)
    check(lambda x: np.add(x, "a"), x, message=False)
    check(lambda x: np.add(x, None), x, message=False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_which_of_two_zeros_is_taken(dtype: Any):
    """Where NumPy's answer does not depend on how many elements there are."""
    half = dtype is np.float16
    x = np.array([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, 0.0, -0.0, 0.5] * 3, dtype)

    def extremes(x, zero, nan):
        least = [np.fmax(x[1], zero), np.fmin(x[1], zero)] + ([np.fmax(x, -x), np.fmin(x, -x)] if half else [])
        bounds = [
            np.clip(x, zero, 1),
            np.clip(x, -1, -zero),
            np.clip(x, -zero, zero),
            np.clip(x, nan, 1),
            np.clip(x, 0, nan),
        ]
        return [*least, *bounds, np.maximum(x, -x), np.minimum(x, zero), np.clip(x, x, x), np.clip(x, zero, None)]

    arguments = x, dtype(0), dtype(np.nan)
    for found, expected in zip(jitflow.function(extremes)(*arguments), extremes(*arguments), strict=True):
        np.testing.assert_array_equal(found, expected)
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


def test_an_output_of_another_dtype_is_a_mistake_before_one_of_another_size():
    def sums(x: Any) -> Any:
        found = np.zeros(2, "u8")
        found += x
        return found

    with pytest.raises(TypeError, match="Cannot cast ufunc 'add'"):
        jitflow.function(sums)(np.ones(3))


def test_the_square_of_a_bool_array_by_the_operator_has_the_dtype_of_square():
    flags = np.array([[True, False]])
    for array in (flags, flags.T, np.array(True)):
        check(lambda x: (x**2, np.power(x, 2), x**3, x**2.0, x[..., :1] ** 2 if x.ndim else x[()] ** 2), array)


def test_the_power_of_a_bool_array_by_a_number_of_the_run_is_refused_as_it_decides_on_the_dtype():
    @jitflow.function
    def program(x, n):
        return x**n

    with pytest.raises(NotImplementedError, match="decides on the dtype") as caught:
        program(np.ones(3, bool), 3)
    assert "astype(np.int64) ** n" in caught.value.mend


@pytest.mark.parametrize("kind", [np.float32, np.bool_, np.int64])
def test_a_scalar_type_gives_an_array_of_its_dtype_itself(kind):
    compiled = jitflow.function(lambda x: kind(x))
    x, s = np.ones((2, 3), kind), np.array(1, kind)
    assert compiled(x) is x
    assert type(compiled(s)) is kind


def test_dots_for_an_output_ask_for_arrays():
    array = sample("f8", 4)
    check_compiled(lambda x: (np.add(x.sum(), 1, out=...), np.exp(x[0], out=...), np.sqrt(x, out=...)), array)
    check_compiled(lambda x: (np.divmod(x[0], 3.0, out=...), np.add.reduce(x, out=...), np.sin(3.0, out=...)), array)
    check_compiled(lambda x: (np.matmul(x, x, out=...), np.vecdot(x, x, out=...), np.vecdot(x, x, axis=-1)), array)
    check_compiled(lambda x: np.add.outer(x[0], x[1], out=...), array)
    check_compiled(lambda x: np.add(x[0], 1, out=(...,)), array)
    check_compiled(lambda x: np.sum(x, out=...), array)
    check(lambda x: np.vecdot(x, x, axis=None), array)
