"""cupy's library functions on the stand-in, by NumPy: with cupy's signatures, demands and differences.

A function does first what was given to its stream, and nothing of any other; then it is done at once, which no stream
forbids. What is written into memory of the program waits in the stream like all other work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.backends.cuda.ptx import PtxError

if TYPE_CHECKING:
    from tests.backends.cuda.stand_in import StandIn

__all__ = ["Held", "Routines"]

Array = Any


class Held(np.ndarray[Any, Any]):
    """An array that a function of cupy's has made."""

    __cuda_array_interface__: Any = None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _held(getattr(ufunc, method)(*map(_plain, inputs), **kwargs))


def _held(thing: Any) -> Any:
    if isinstance(thing, tuple):
        return tuple(map(_held, thing))
    return np.asarray(thing).view(Held)


def _plain(thing: Any) -> Any:
    """The content of an array of cupy's, which takes none of NumPy's beside its own."""
    if isinstance(thing, Held):
        return np.asarray(thing)
    if type(thing) is np.ndarray:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(thing, tuple):
        return tuple(map(_plain, thing))
    return thing if not hasattr(thing, "content") else np.asarray(thing.content())


class Routines:
    """The namespaces ``cupy`` and ``cupyx``, as far as programs use them."""

    def __init__(self, device: StandIn) -> None:
        self.device = device
        self._state = threading.local()
        self.cupyx = SimpleNamespace(errstate=self._errstate)
        same = "where isnan isfinite take take_along_axis concatenate ones broadcast_to"
        self.functions = {name: self._function(name, getattr(np, name)) for name in same.split()}
        self.functions |= {name: self._function(name, function) for name, function in _ORDER.items()}
        self.functions["asarray"] = self._as_array
        self.functions["asnumpy"] = self._to_host
        self.functions["fft"] = SimpleNamespace(
            **{name: self._function(name, _transform(name)) for name in _TRANSFORMS},
        )
        self.functions["linalg"] = SimpleNamespace(
            **{name: self._function(name, self._decomposition(function)) for name, function in _LINALG.items()}
        )

    @property
    def raises(self) -> bool:
        """Whether functions look if they have failed, in this thread: ``cupyx.errstate(linalg="raise")``."""
        return getattr(self._state, "raises", False)

    def _function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def called(*arguments: Any, **keywords: Any) -> Any:
            self.device.counts[f"cupy {name}"] += 1
            given = [_plain(argument) for argument in arguments]
            if any(isinstance(argument, np.ndarray) and not argument.size for argument in given):
                raise PtxError(f"{name} of an array without elements")
            with np.errstate(all="ignore"):
                return _held(function(*given, **keywords))

        return called

    def _as_array(self, thing: Any) -> Any:
        """What a routine makes, or memory that is somebody's."""
        if hasattr(thing, "__cuda_array_interface__"):
            return thing
        return np.asarray(thing).view(Held) if self.raises else self.device.array(np.asarray(thing))

    def _to_host(self, array: Any) -> Array:
        self.device.counts["cupy asnumpy"] += 1
        return _plain(array)

    @contextmanager
    def _errstate(self, *, linalg: str) -> Iterator[None]:
        before, self._state.raises = self.raises, linalg == "raise"
        try:
            yield
        finally:
            self._state.raises = before

    def _decomposition(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Without anybody looking, what fails leaves something."""

        @wraps(function)
        def decomposed(*arguments: Any, **keywords: Any) -> Any:
            if any(argument.dtype.char not in "dD" for argument in arguments if isinstance(argument, np.ndarray)):
                raise PtxError("a decomposition in another precision than NumPy's")
            try:
                return function(*arguments, **keywords)
            except np.linalg.LinAlgError as error:
                if "must be square" in str(error) or self.raises:
                    raise np.linalg.LinAlgError("Error reported by cuSOLVER") from None
                raise PtxError("a failed decomposition that nobody heard of") from None

        return decomposed


# -- order


def _radix(a: Array) -> Array:
    """What is sorted by radix: a nan whose sign is set would come first."""
    if a.dtype.kind == "f" and (np.signbit(a) & np.isnan(a)).any():
        raise PtxError("a nan with a sign is sorted")
    return a


def _sort(a: Array, axis: int = -1, kind: None = None) -> Array:
    return np.sort(_radix(a), axis, "stable")


def _argsort(a: Array, axis: int = -1, kind: None = None) -> Array:
    return np.argsort(_radix(a), axis, "stable")


def _searchsorted(a: Array, v: Array, side: str = "left", sorter: None = None) -> Array:
    if a.dtype != v.dtype:
        raise PtxError("numbers are compared as C++ does")
    return np.searchsorted(a, v, side)


def _unique(
    ar: Array, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: None = None,
    *, equal_nan: bool = True,
) -> Any:  # fmt: skip
    return np.unique(_radix(ar), return_index, return_inverse, return_counts, axis, equal_nan=equal_nan)


def _isin(element: Array, test_elements: Array, assume_unique: bool = False, invert: bool = False) -> Array:
    if element.dtype != test_elements.dtype:
        raise PtxError("numbers are compared as C++ does")
    return np.isin(element, _radix(test_elements), invert=invert)


def _bincount(x: Array, weights: None = None, minlength: int = 0) -> Array:
    if (x < 0).any():
        raise ValueError("The first argument of bincount must be non-negative")
    return np.bincount(x, weights, minlength)


_ORDER = {
    "sort": _sort, "argsort": _argsort, "searchsorted": _searchsorted, "unique": _unique, "isin": _isin,
    "bincount": _bincount,
}  # fmt: skip


# -- Fourier transforms

_TRANSFORMS = "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 fftn ifftn rfftn".split()


def _transform(name: str) -> Callable[..., Array]:
    function = getattr(np.fft, name)
    if name.endswith(("2", "n")):
        return lambda a, s=None, axes=None, norm=None: function(a, s, axes, norm)

    def transform(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
        if type(n) not in (int, type(None)):
            raise PtxError("a number of points that is none of Python's")
        try:
            return function(a, n, axis, norm)
        except ValueError:
            raise PtxError("a plan of no points") from None

    return transform


# -- matrices


def _or_nan(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that goes through nan where LAPACK fails, or fails in a way of its own."""

    @wraps(function)
    def called(a: Array, *arguments: Any, **keywords: Any) -> Any:
        if np.isfinite(a).all():
            return function(a, *arguments, **keywords)
        if function not in (_solve, _inv, _cholesky, _qr):
            raise RuntimeError("CUSOLVER_STATUS_EXECUTION_FAILED")
        sample = function(np.broadcast_to(np.eye(*a.shape[-2:], dtype=a.dtype), a.shape), *arguments, **keywords)
        unknown = tuple(np.full_like(item, np.nan) for item in (sample if isinstance(sample, tuple) else (sample,)))
        return unknown if isinstance(sample, tuple) else unknown[0]

    return called


def _solve(a: Array, b: Array) -> Array:
    if b.ndim > 1 and a.shape[:-1] != b.shape[:-1]:
        raise ValueError("a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b")
    return np.linalg.solve(a, b)


def _inv(a: Array) -> Array:
    return np.linalg.inv(a)


def _cholesky(a: Array) -> Array:
    return np.linalg.cholesky(a)


def _qr(a: Array, mode: str = "reduced") -> Any:
    return np.linalg.qr(a, mode)


def _svd(a: Array, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    return np.linalg.svd(a, full_matrices, compute_uv)


def _eigh(a: Array, UPLO: str = "L") -> Any:  # noqa: N803
    if UPLO not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return np.linalg.eigh(a, UPLO)


def _eigvalsh(a: Array, UPLO: str = "L") -> Array:  # noqa: N803
    return _eigh(a, UPLO)[0]


def _det(a: Array) -> Array:
    return np.linalg.det(a)


def _slogdet(a: Array) -> Any:
    sign, logarithm = np.linalg.slogdet(a)
    return np.where(np.isnan(logarithm), 1, sign), logarithm


def _lstsq(a: Array, b: Array, rcond: float | None = None) -> Any:
    x, residuals, rank, sizes = np.linalg.lstsq(a, b, rcond)
    return x, residuals, np.int32(rank), sizes


def _pinv(a: Array, rcond: float = 1e-15) -> Array:
    return np.linalg.pinv(a, rcond)


_LINALG = {
    "solve": _or_nan(_solve), "inv": _or_nan(_inv), "cholesky": _or_nan(_cholesky), "qr": _or_nan(_qr),
    "svd": _or_nan(_svd), "eigh": _or_nan(_eigh), "eigvalsh": _or_nan(_eigvalsh), "det": _det, "slogdet": _slogdet,
    "lstsq": _or_nan(_lstsq), "pinv": _or_nan(_pinv),
}  # fmt: skip
