"""Is what jitflow computed what NumPy computes? Statement by statement, and therefore sharply.

A value that went through an exponential and a sum may differ from NumPy's by rounding, and a comparison after it may
then differ entirely. So each statement is judged by itself: NumPy computes it *from the values that jitflow computed*
for its operands. What the statement may differ by then depends on it alone:

==================  ========================================================================================
``exact``           bit for bit; products and quotients of complex numbers within 4 epsilons of their size
``elementary``      2 ulp from the truth (NumPy's own functions may be up to 4), complex: 8 epsilons of the size
``extremum``        equal; zeros of both signs are one
``linear``          sums: within ``(4 + log2 n)`` epsilons of the sum of the magnitudes, from the truth
``product of...``   the same with ``4 + n``: BLAS folds in any order, and so do running sums
``product``         ``4 + n`` epsilons of the truth
``spread``          variances: 16 epsilons of the truth, and what the mean's rounding adds
``norm``            ``4 + n`` epsilons of the truth
``libm``            4 ulp from the truth
``cancelling``      4 epsilons of what the statement gives for the magnitudes
``composite``       8 ulp from NumPy: formulas that are badly conditioned themselves
==================  ========================================================================================

The truth is the same statement, evaluated by NumPy on operands of twice the precision. Where it leaves the range of the
dtype, or where operands are infinite or nan, NumPy's own result says what is expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tests.compare import EXACT, assert_same
from tests.truth.programs import GLOBALS, Statement
from tests.truth.quiet import quiet

__all__ = ["judge", "same_bits"]

_WIDER = {"f2": "f8", "f4": "f8", "f8": "g", "c8": "c16", "c16": "G"}
_WIDER_TEXT = {
    "np.float16": "np.float64", "np.float32": "np.float64", "np.float64": "np.longdouble",
    "np.complex64": "np.complex128", "np.complex128": "np.clongdouble",
}  # fmt: skip


def judge(statement: Statement, got: Any, values: Mapping[str, Any]) -> None:
    """Assert that ``got`` is what NumPy makes of the statement when its operands are ``values``."""
    with quiet():
        expected = eval(statement.text, GLOBALS, dict(values))
        what = f"{statement.name} = {statement.text}"
        assert type(got) is type(expected), f"{what}: expected {type(expected)}, got {type(got)}"
        wanted, found = np.asarray(expected), np.asarray(got)
        assert found.dtype == wanted.dtype, f"{what}: expected dtype {wanted.dtype}, got {found.dtype}"
        assert found.shape == wanted.shape, f"{what}: expected shape {wanted.shape}, got {found.shape}"
        if same_bits(found, wanted):
            return
        used = [value for name, value in values.items() if re.search(rf"\b{name}\b", statement.text)]
        kind = wanted.dtype.kind
        if kind in "iu" and _CONVERTS.search(statement.text) and any(_leaves_range(value) for value in used):
            return  # C leaves open what becomes of a float that does not fit: NumPy's answer depends on the processor
        if statement.closeness == "extremum":
            # Which zero is the extreme one of zeros of both signs depends on the order.
            np.testing.assert_array_equal(found, wanted, what)
            return
        inexact = kind in "fc" and (statement.closeness != "exact" or any(np.iscomplexobj(value) for value in used))
        if not inexact:
            assert_same(got, expected, EXACT, what)
        close = "elementary" if statement.closeness == "exact" and kind == "f" else statement.closeness
        truth, allowed = _allowed(statement, close, wanted, values)
        overflows = close not in ("exact", "elementary") and _may_overflow(used, wanted)
        if close == "product" and _may_leave_range(used, wanted):
            return  # the order of multiplying decides, and NumPy's own depends on the processor's vectors
        _assert_close(found, wanted, truth, allowed, overflows, what)


_CONVERTS = re.compile(r"np\.u?int|\bint\b|dtype|round\(\w+, -")


def _leaves_range(value: Any) -> bool:
    value = np.asarray(value)
    return value.dtype.kind in "fc" and not bool(np.all((np.abs(value) < 100) & (value.real >= 0)))


def _may_overflow(used: list[Any], wanted: Any) -> bool:
    """Whether products of elements, summed in another order, may leave the range of the result's dtype."""
    largest = max((float(np.max(np.abs(_finite(value)), initial=0)) for value in used), default=0.0)
    return largest > float(np.sqrt(np.finfo(wanted.dtype).max)) / 100


def _may_leave_range(used: list[Any], wanted: Any) -> bool:
    """Whether some elements multiplied may be too large or too small for the result's dtype, though all are not."""
    limits = np.finfo(wanted.dtype)
    for value in map(_finite, used):
        sizes = np.abs(value[value != 0]).astype(np.longdouble)
        exponents = np.log2(sizes) if sizes.size else np.zeros(1)
        above, below = np.sum(exponents[exponents > 0]), np.sum(exponents[exponents < 0])
        if above > np.log2(limits.max) - 2 or below < np.log2(limits.tiny) + 2:
            return True
    return False


def same_bits(got: Any, wanted: Any) -> bool:
    """Equal to the last bit; all nan are one."""
    try:
        assert_same(got, wanted, EXACT)
    except AssertionError:
        return False
    return True


def _allowed(statement: Statement, closeness: str, wanted: Any, values: Mapping[str, Any]) -> tuple[Any, Any]:
    """The truth, and how far from it a result may be."""
    wide = {name: _widen(value) for name, value in values.items() if re.search(rf"\b{name}\b", statement.text)}
    text = re.sub(r"np\.(float|complex)\d+", lambda match: _WIDER_TEXT[match.group()], statement.text)
    try:
        truth = np.asarray(eval(text, GLOBALS, wide))
    except Exception:
        truth = wanted
    if truth.shape != wanted.shape:
        truth = wanted
    epsilon = float(np.finfo(wanted.dtype).eps)
    size = np.abs(truth)
    spacing = np.spacing(np.minimum(size, float(np.finfo(wanted.dtype).max)).astype(np.abs(wanted).dtype)).astype(
        size.dtype
    )
    spacing = np.abs(spacing)
    largest = max((np.size(value) for value in wide.values()), default=1)
    folded = max(1, largest // max(1, wanted.size)) if closeness != "running" else largest
    if closeness == "product of matrices":
        # (m, k) and (k, n) give (m, n): k is the root of what the sizes' quotient is.
        folded = max(folded, int(np.sqrt(_size_of_two(wide.values()) / max(1, wanted.size))))
    is_complex = wanted.dtype.kind == "c"
    match closeness:
        case "exact":
            return truth, 4 * epsilon * size + 2 * spacing
        case "elementary":
            if not is_complex:
                return truth, 2.5 * spacing
            # The exponent of exp2 and of powers is a product that was rounded.
            scale = max((float(np.max(np.abs(_finite(value)), initial=0)) for value in wide.values()), default=0)
            conditioned = 4 * scale if re.search(r"exp2|power|\*\*", statement.text) else 0
            return truth, (8 + conditioned) * epsilon * size + 2 * spacing
        case "libm":
            return truth, 4.5 * spacing
        case "composite":
            return wanted, 8 * spacing
        case "linear":
            factor = 4 + np.log2(folded)
        case "cancelling":
            factor = 4.0
        case "product of matrices" | "running":
            factor = 4 + folded
        case "product" | "running product" | "norm":
            return truth, (4 + largest) * epsilon * size + 4 * spacing
        case "spread":
            scale = max((float(np.max(np.abs(_finite(value)), initial=0)) for value in wide.values()), default=0)
            mean_rounding = np.square(np.float64(4 * epsilon * scale))
            if "std" in statement.text:
                return truth, 16 * epsilon * size + 4 * epsilon * scale
            return truth, 16 * epsilon * size + 4 * spacing + mean_rounding + 4 * epsilon * scale * np.sqrt(size)
        case _:
            raise AssertionError(closeness)
    # Integers may be positions, whose signs matter, but not among the factors of a matrix product.
    kinds = "iufc" if closeness == "product of matrices" else "fc"
    magnitudes = {name: _magnitude(value, kinds) for name, value in wide.items()}
    try:
        magnitude = np.abs(np.asarray(eval(text, GLOBALS, magnitudes)))
    except Exception:
        magnitude = size
    return truth, factor * epsilon * magnitude + 2 * spacing


def _size_of_two(values: Iterable[Any]) -> int:
    """The size of the largest operand, twice: a statement may name the same one on both sides."""
    return max((np.size(value) for value in values), default=1) ** 2


def _finite(value: Any) -> Any:
    value = np.asarray(value)
    return value[np.isfinite(value)] if value.dtype.kind in "fc" else value


def _magnitude(value: Any, kinds: str = "fc") -> Any:
    """The magnitudes, of what is of another kind of dtype the value itself."""
    array = np.asarray(value)
    if array.dtype.kind not in kinds:
        return value
    return np.abs(array.astype(np.float64) if array.dtype.kind in "iu" else array)  # -128 has none in 8 bits


def _widen(value: Any) -> Any:
    if not isinstance(value, np.ndarray | np.generic):
        return value
    code = f"{value.dtype.kind}{value.dtype.itemsize}"
    return value.astype(_WIDER[code]) if code in _WIDER else value


def _assert_close(found: Any, wanted: Any, truth: Any, allowed: Any, overflows: bool, what: str) -> None:
    both_nan = np.isnan(found) & np.isnan(wanted)
    close = both_nan | (found == wanted)
    limit = float(np.finfo(wanted.dtype).max)
    with np.errstate(all="ignore"):
        wide = truth.dtype
        distance = np.abs(found.astype(wide) - truth)
        close |= (distance <= allowed) & np.isfinite(found)
        # Near the end of the range rounding decides whether a result is infinite.
        edge = (np.abs(truth) + allowed > limit / 4) & np.isfinite(np.abs(truth))
        close |= edge
        if overflows:
            close |= ~np.isfinite(found) | ~np.isfinite(wanted)
        if wanted.dtype.kind == "c":
            # How infinities and nan spread over the two parts is settled in tests of their own.
            close |= ~np.isfinite(wanted) & ~np.isfinite(found)
    if not np.all(close):
        where = tuple(int(index) for index in np.argwhere(~close)[0])
        raise AssertionError(
            f"{what}: expected {wanted[where]!r} (truth {truth[where]!r}, "
            f"allowed {np.broadcast_to(allowed, truth.shape)[where]!r}), "
            f"got {found[where]!r} at {list(where)}; {np.count_nonzero(~close)} of {close.size} differ"
        )
