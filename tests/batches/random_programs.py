"""Random programs for many examples at once, against Python's loop over the examples.

Two kinds: programs with statements, and straight ones over the surface of NumPy. All arrays, and all numbers but ints,
are mapped; examples differ in their values, not in their sizes. Where some example raises, the batch must raise what
one of them does. Where results differ in shape, it must say so. Where the data decides on dtypes, a batch has the
common one of all that there may be. What jitflow does not compile is passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jitflow
from jitflow.errors import CompilerBug, UserError, UserNotImplementedError
from tests.gradients.random_programs import PassedOver, Wrong
from tests.gradients.straight_programs import program_of as straight_program_of
from tests.truth.programs import evaluate
from tests.truth.quiet import quiet
from tests.truth.run import define
from tests.truth.whole.kinds import Array
from tests.truth.whole.programs import program_of

__all__ = ["check_statements", "check_straight"]

_EXAMPLES = 4


def check_statements(seed: int, length: int = 3) -> None:
    """Check the program with statements of a seed. Raises `Wrong`, or `PassedOver`."""
    text, _ = program_of(seed, length)
    random = np.random.default_rng(seed)
    sizes = {"n": 4 + seed % 3, "m": 3}
    arguments: list[Any] = []
    axes: list[int | None] = []
    for kind in text.parameters.values():
        if isinstance(kind, Array):
            shape = (_EXAMPLES, *(sizes[length] for length in kind.lengths))
            arguments.append((random.standard_normal(shape) * 3).astype(kind.dtype))
        elif kind.kind in ("int", "bool"):
            arguments.append(int(random.integers(0, 4)) if kind.kind == "int" else bool(random.integers(2)))
            axes.append(None)
            continue
        else:
            arguments.append(random.standard_normal(_EXAMPLES) * 2)
        axes.append(0)
    _compare(define(text.source), arguments, axes, text.source)


def check_straight(seed: int, statements: int = 4) -> None:
    """Check the straight program of a seed. Raises `Wrong`, or `PassedOver`."""
    program = straight_program_of(seed, statements)
    if program.outside:
        raise PassedOver("it reads from outside")
    first = evaluate(program.calls[0])
    lines = [f"def program({', '.join(first)}):"]
    with quiet():
        known, names = dict(first), []
        for statement in program.statements:
            if statement.closeness == "error":
                continue
            known[statement.name] = value = eval(statement.text, {"np": np}, known)
            if not isinstance(value, np.ndarray | np.generic | int | float | complex):
                raise PassedOver("it gives something else than numbers")
            lines.append(f"    {statement.name} = {statement.text}")
            names.append(statement.name)
    source = "\n".join([*lines, f"    return {', '.join(names)},"])
    random = np.random.default_rng(seed)
    arguments, axes = [], []
    for value in first.values():
        is_mapped = np.asarray(value).dtype.kind in "fc"
        axes.append(0 if is_mapped else None)
        others = [np.asarray(value) * random.uniform(0.5, 1.5, np.shape(value)) for _ in range(_EXAMPLES - 1)]
        stacked = np.stack([np.asarray(value), *others])
        arguments.append(stacked.astype(np.asarray(value).dtype) if is_mapped else value)
    _compare(define(source), arguments, axes, source)


def _compare(program: Callable[..., Any], arguments: list[Any], axes: list[int | None], source: str) -> None:
    if all(axis is None for axis in axes):
        raise PassedOver("nothing to map")

    def of_example(number: int) -> list[Any]:
        mapped = [value if axis is None else value[number] for value, axis in zip(arguments, axes, strict=True)]
        return [np.copy(value) if isinstance(value, np.ndarray) else value for value in mapped]

    found, errors = [], []
    with quiet():
        for number in range(_EXAMPLES):
            try:
                result = program(*of_example(number))
                found.append(result if isinstance(result, tuple) else (result,))
            except Exception as error:
                errors.append(error)
        try:
            result = jitflow.vmap(program, tuple(axes))(*(np.copy(one) if isinstance(one, np.ndarray) else one
                                                         for one in arguments))  # fmt: skip
        except UserNotImplementedError as error:
            raise PassedOver(f"not compiled: {error}") from None
        except Exception as error:
            raised = [type(one) for one in errors]
            if isinstance(error, tuple(raised)) or (isinstance(error, UserError) and not errors and _differ(found)):
                return
            if isinstance(error, UserError) or not _is_compiled(program, of_example(0)):
                raise PassedOver(f"not compiled: {error}") from None
            raise Wrong(f"expected {raised or 'no error'}, got {error!r}\n{source}") from error
    if errors:
        raise Wrong(f"expected {errors[0]!r}, got a result\n{source}")
    items = result if isinstance(result, tuple) else (result,)
    for position, (item, column) in enumerate(zip(items, zip(*found, strict=True), strict=True)):
        if item is None or any(one is None for one in column):
            continue
        expected = np.stack(column)
        if type(item) is np.ndarray and item.dtype == np.result_type(item, expected):
            expected = expected.astype(item.dtype)
        if type(item) is not np.ndarray or item.dtype != expected.dtype or item.shape != expected.shape:
            given = f"{expected.dtype}{expected.shape}"
            raise Wrong(f"result {position}: expected {given}, got {item.dtype}{item.shape}\n{source}")
        exponent = 2e-4 if expected.dtype in (np.float32, np.complex64, np.float16) else 1e-7
        if expected.dtype.kind in "fc":
            scale = np.nanmax(np.abs(expected[np.isfinite(expected)]), initial=1.0)
            if not np.allclose(item, expected, rtol=exponent, atol=exponent * scale * 1e-2, equal_nan=True):
                raise Wrong(f"result {position}: expected {expected}, got {item}\n{source}")
        elif not np.array_equal(item, expected):
            raise Wrong(f"result {position}: expected {expected}, got {item}\n{source}")


def _is_compiled(program: Callable[..., Any], example: list[Any]) -> bool:
    """Whether jitflow compiles the program of one example."""
    try:
        jitflow.function(program)(*example)
    except CompilerBug:
        return False
    except Exception:
        return True
    return True


def _differ(found: list[tuple[Any, ...]]) -> bool:
    """Whether results of examples differ in shape, or are not numbers, and so cannot be stacked."""
    kinds = [[np.shape(item) if isinstance(item, np.ndarray | np.generic | float | int | complex) else None
              for item in result] for result in found]  # fmt: skip
    return any(kind != kinds[0] or None in kind for kind in kinds)
