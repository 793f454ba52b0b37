"""Runs a program in every way there is, and compares.

1. compiled, returning every value: each is judged by `judge.judge`; class, dtype, shape, memory shared with arguments;
2. compiled, returning some of them: the same bits, however differently it was fused;
3. the trace in the reference interpreter, judged as the compiled code is;
4. the output of every pass in the interpreter: the same bits as the trace.
"""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow
from jitflow.aligned import aligned_item
from jitflow.errors import UserNotImplementedError
from jitflow.ir.core import Function, walk
from jitflow.ir.interpreter import interpret
from jitflow.ir.verifier import verify
from jitflow.passes.pipeline import FUSION_PIPELINE, run_passes, tensor_pipeline
from tests.compare import EXACT, assert_same
from tests.frontend.interpreted import Interpreted, _match
from tests.truth.judge import judge
from tests.truth.programs import Program, evaluate
from tests.truth.quiet import quiet

__all__ = ["Refused", "check_compiled", "check_interpreted", "define"]

_counter = itertools.count()
_PART = re.compile(r"real|imag")
"""The parts of a complex array are copies here, where NumPy gives views."""
_BY_LAYOUT = re.compile(r"ravel|contiguous|%")
"""NumPy copies here if the array is not contiguous, or reads an index that we know only at run time as a view."""
_FREE_WORDS = re.compile(r"non-empty take|broadcast|remapped|tuple index|where=|matmul|divmod")
"""Exceptions whose class alone is promised."""


class Refused(Exception):
    """Jitflow said that it does not compile this; no wrong answer."""


def define(source: str, function: str = "program") -> Any:
    """A function of a source text, with a namespace of its own."""
    name = f"<program {next(_counter)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), namespace)
    return namespace[function]


def check_compiled(program: Program, fewer: bool = True) -> None:
    """Compile the program and compare every call."""
    plain = define(program.source())
    function = jitflow.function(define(program.source()))
    part = jitflow.function(define(program.source(program.kept))) if fewer else None
    for call in program.calls:
        arguments = evaluate(call)
        expected, problem = _outcome(plain, program, arguments)
        if isinstance(problem, MemoryError) or _unfit(expected):
            continue
        results, found = _outcome(function, program, arguments)
        compare(program, arguments, (expected, problem), (results, found))
        before = function.cache_info().misses
        if found is None:
            _outcome(function, program, arguments)
            assert function.cache_info().misses == before, "the same call compiled again"
        if part is not None and problem is None:
            some, other = _outcome(part, program, arguments)
            assert other is None, f"returning {program.kept} raised {other!r}"
            for name, value in zip(program.kept, some, strict=True):
                assert_same(value, results[program.names.index(name)], EXACT, f"{name}, of {program.kept} only")


def check_interpreted(program: Program, passes: bool = True) -> None:
    """Trace the program, interpret it and the output of each pass, and compare every call."""
    plain = define(program.source())
    function = Interpreted(define(program.source()))
    for call in program.calls:
        arguments = evaluate(call)
        expected, problem = _outcome(plain, program, arguments)
        if isinstance(problem, MemoryError) or _unfit(expected):
            continue
        arguments = {name: aligned_item(argument) for name, argument in arguments.items()}
        results, found = _outcome(function, program, arguments)
        compare(program, arguments, (expected, problem), (results, found), views=False)
        if problem is None and passes:
            flat = tuple(arguments[name] for name in program.parameters if name not in program.outside)
            for traced in reversed(function.traced):
                binding = _match(traced, flat)
                if binding is not None:
                    _check_passes(traced, [binding.register(leaf.register) for leaf in traced.leaves])
                    break


def _check_passes(traced: Any, leaves: Sequence[Any]) -> None:
    layouts = tuple(getattr(leaf, "layout", "C") for leaf in traced.leaves)
    function: Function = replace(traced.function, attributes=MappingProxyType({"layouts": layouts}))
    # x ** 3 becomes two products, within 2 ulp; NumPy's products of complex numbers depend on the operands' order.
    cubes = any(
        op.name == "power" or (op.name == "multiply" and np.iscomplexobj(np.zeros((), op.result.type.dtype.numpy)))
        for op in walk(function.region)
        if op.name in ("power", "multiply") and hasattr(op.result.type, "dtype")
    )
    with quiet():
        expected = interpret(function, *leaves)
        for name in (*tensor_pipeline(function), *FUSION_PIPELINE):
            halves = name == "contract" and _multiplies_halves(function)
            function = run_passes(function, (name,))
            verify(function, name)
            if halves:  # written out, their sums are folded in another order before they are rounded to half floats
                expected = interpret(function, *leaves)
                continue
            for position, (got, want) in enumerate(zip(interpret(function, *leaves), expected, strict=True)):
                if not cubes:
                    assert_same(got, want, EXACT, f"result {position} after {name}")


def _multiplies_halves(function: Function) -> bool:
    return any(op.name == "matmul" and op.result.type.dtype.bits == 16 for op in walk(function.region))  # type: ignore[union-attr]


def compare(program: Program, arguments: dict[str, Any], numpy: Any, ours: Any, views: bool = True) -> None:
    """Compare what came out, values or exceptions."""
    (expected, problem), (results, found) = numpy, ours
    if problem is not None:
        _compare_problems(program, problem, found, results)
        return
    if isinstance(found, UserNotImplementedError):
        raise Refused(str(found))
    if found is not None:
        raise AssertionError(f"got {found!r}{_note(found)}") from found
    values = dict(arguments)
    for statement, value in zip(program.statements, results, strict=True):
        judge(statement, value, values)
        values[statement.name] = value
    if views:
        _compare_memory(program, arguments, expected, results)


def _compare_problems(program: Program, problem: Exception, found: Exception | None, results: Any) -> None:
    """The same class and message; but what tracing or the sizes tell may be found before what an earlier line does."""
    where = _statement_of(problem)
    what = f"{program.statements[where].text}: expected {problem!r}"
    assert found is not None, f"{what}, got {results!r}"
    if isinstance(found, UserNotImplementedError):
        raise Refused(str(found))
    line = getattr(getattr(found, "location", None), "line", 0)
    if line - 2 > where or _statement_of(found) > where:
        return
    if "out=" in program.statements[where].text:
        return  # a dtype and a shape that do not fit: either may be said
    wanted = next(kind for kind in type(problem).__mro__ if kind.__module__ in ("builtins", "numpy.exceptions"))
    assert isinstance(found, wanted), f"{what}, got {found!r}{_note(found)}"
    if not _FREE_WORDS.search(f"{problem} {program.statements[where].text}"):
        assert str(found) == str(problem), f"{what}, got {found!r}{_note(found)}"


def _statement_of(error: Exception) -> int:
    """Which statement raised, by the traceback."""
    place, traceback = 0, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.startswith("<program"):
            place = traceback.tb_lineno - 2
        traceback = traceback.tb_next
    return max(place, 0)


def _note(error: Exception) -> str:
    return "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))


def _compare_memory(
    program: Program, arguments: dict[str, Any], expected: Sequence[Any], results: Sequence[Any]
) -> None:
    for statement, want, got in zip(program.statements, expected, results, strict=True):
        if not isinstance(want, np.ndarray):
            continue
        for name, argument in arguments.items():
            if not isinstance(argument, np.ndarray) or not argument.flags.aligned:
                continue  # unaligned arguments are copied, and nobody may write to what is returned of them
            shares = np.shares_memory(want, argument)
            what = f"{statement.text}, {name}"
            parts = argument.dtype.kind == "c" and _PART.search(statement.text)
            if not parts and not _BY_LAYOUT.search(statement.text):
                assert np.shares_memory(got, argument) == shares, f"{what}: memory is shared: {not shares}"
                assert (got is argument) == (want is argument), f"{what}: it is the same array: {got is argument}"
        lent = any(isinstance(argument, np.ndarray) and not argument.flags.aligned and np.shares_memory(want, argument)
                   for argument in arguments.values())  # fmt: skip
        if want.flags.writeable > got.flags.writeable and not lent and not _BY_LAYOUT.search(statement.text):
            raise AssertionError(f"{statement.text} cannot be written to")


def _outcome(function: Callable[..., Any], program: Program, arguments: dict[str, Any]) -> tuple[Any, Any]:
    namespace = getattr(function, "__wrapped__", function).__globals__
    namespace.update({name: arguments[name] for name in program.outside})
    given = [arguments[name] for name in program.parameters if name not in program.outside]
    with quiet():
        try:
            return function(*given), None
        except (Exception, jitflow.CompilerBug) as error:
            return None, error


def _unfit(results: Any) -> bool:
    """Whether a call went beyond what programs are made of: Python ints too large, arrays of other dtypes."""
    from tests.truth.programs import usable

    return results is not None and not all(usable(result) for result in results)
