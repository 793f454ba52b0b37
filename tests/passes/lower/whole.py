"""Compiles IR with regions and storage, and compares what it does with what the interpreter does.

Written arguments are compared as well as results, and so is what memory a result shares.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from jitflow.ir.core import Function
from jitflow.ir.interpreter import interpret
from jitflow.ir.parser import parse
from jitflow.ir.types import Place, Variable
from jitflow.ir.verifier import verify
from jitflow.runtime.native.pool import memory_stats
from tests.execute import Compiled, layouts_of

__all__ = ["RANGE", "check", "compiled", "element", "fails", "put"]

RANGE = "%zero: index[0] = size {dim=0}\n%one: index[1] = size {dim=1}\n"


def compiled(text: str, *arguments: Any) -> Compiled:
    """The program for the layout classes of these arguments, its kernels made region by region."""
    function = parse(text)
    verify(function)
    made = Compiled(function, layouts_of(arguments))
    verify(made.lowered.host)
    verify(made.expanded)
    return made


def check(text: str, *calls: tuple[Any, ...], exact: bool = True) -> Compiled:
    """Run a program compiled and interpreted on each tuple of arguments; results and written arguments must agree."""
    function = parse(text)
    code = compiled(text, *calls[0])
    for arguments in calls:
        ours, theirs = (tuple(_copy(argument) for argument in arguments) for _ in range(2))
        expected = interpret(function, *theirs)
        in_use = memory_stats()["bytes_in_use"]
        _compare_all(function, code(*ours), expected, ours, theirs, exact)
        assert memory_stats()["bytes_in_use"] == in_use, "memory was not given back"
    return code


def _compare_all(function: Function, results: Any, expected: Any, ours: Any, theirs: Any, exact: bool) -> None:
    for value, got, wanted in zip(function.results, results, expected, strict=True):
        _compare(got, wanted, exact)
        for own, other in zip(ours, theirs, strict=True):
            if isinstance(own, np.ndarray) and isinstance(value.type, Variable | Place):
                assert np.shares_memory(own, got) == np.shares_memory(other, np.asarray(wanted))
    for own, other in zip(ours, theirs, strict=True):
        _compare(own, other, exact)


def fails(text: str, error: type[Exception], message: str, *arguments: Any) -> None:
    """The program raises this, compiled as interpreted; what it has written by then shows, and no memory is lost."""
    function = parse(text)
    code = compiled(text, *arguments)
    ours, theirs = (tuple(_copy(argument) for argument in arguments) for _ in range(2))
    in_use = memory_stats()["bytes_in_use"]
    for call, given in ((code, ours), (lambda *a: interpret(function, *a), theirs)):
        try:
            call(*given)
        except error as raised:
            assert str(raised) == message
        else:
            raise AssertionError(f"expected {error.__name__}")
    for own, other in zip(ours, theirs, strict=True):
        _compare(own, other, True)
    assert memory_stats()["bytes_in_use"] == in_use, "memory was not given back"


_number = count()


def element(name: str, place: str, dtype: str, *at: str) -> str:
    """The ops that read one element of a variable as a number."""
    view, text = _element_place(place, dtype, *at)
    loaded = f"%loaded{next(_number)}"
    return f"{text}\n{loaded}: {dtype}[] = load {view}\n{name}: {dtype} = cast {loaded} {{dtype={dtype}}}"


def put(place: str, dtype: str, value: str, *at: str) -> str:
    """The ops that write a number to one element of a variable."""
    view, text = _element_place(place, dtype, *at)
    return f"{text}\nstore {view}, {value}"


def _element_place(place: str, dtype: str, *at: str) -> tuple[str, str]:
    number, ones = next(_number), ", ".join("1" * len(at))
    sliced = f"slice {place} {{starts=[{', '.join(at)}], sizes=[{ones}], steps=[{ones}]}}"
    text = f"%sliced{number}: place {dtype}[{ones}] = {sliced}\n"
    return f"%place{number}", text + f"%place{number}: place {dtype}[] = reshape %sliced{number} {{dims=[]}}"


def _copy(argument: Any) -> Any:
    """A copy with the same layout."""
    if not isinstance(argument, np.ndarray):
        return argument
    base = argument if argument.base is None else argument.base
    assert isinstance(base, np.ndarray)
    fresh = base.copy(order="K")
    offset = argument.ctypes.data - base.ctypes.data
    return np.ndarray(argument.shape, argument.dtype, fresh, offset, argument.strides)


def _compare(got: Any, wanted: Any, exact: bool) -> None:
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    if exact:
        np.testing.assert_array_equal(got, wanted)
    else:
        np.testing.assert_allclose(got, wanted, rtol=1e-9 if got.dtype.itemsize == 8 else 1e-5)
