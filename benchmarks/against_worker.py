"""One process of `benchmarks.against`: it measures the checkout that it runs in, and tells what it is asked for.

It is run by its path with whatever jitflow, benchmarks and gallery are found first, so it relies on little of them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

ENOUGH = 2e-3
"""Seconds that a measurement takes at least, as far as calls can be repeated."""
MOST_CALLS = 200
TRIES = 5
"""The least of so many measurements counts."""


def cases() -> list[tuple[str, str]]:
    """All that can be asked for."""
    from benchmarks.gallery import PROGRAMS
    from benchmarks.training_cases import CASES
    from benchmarks.workloads import WORKLOADS

    compiled = [*PROGRAMS, *WORKLOADS]
    calls = [("call", name) for name in (*compiled, *(f"{name} step" for name in CASES))]
    large = [("large call", name) for name in PROGRAMS]
    return [*calls, *large, *((kind, name) for kind in ("first call", "front") for name in compiled)]


@cache
def program(name: str, size: str = "small") -> tuple[Any, Any]:
    """A plain function, and what makes its arguments; workloads have one size."""
    from benchmarks.gallery import PROGRAMS, load
    from benchmarks.workloads import WORKLOADS

    if name in PROGRAMS:
        module = load(name, lambda function: function)
        return getattr(module, name), lambda: module.example(size, 0)
    workload = WORKLOADS[name]
    return workload.function, lambda: workload.make_inputs(np.random.default_rng(0), False)


@cache
def compiled(name: str, size: str) -> Any:
    """The compiled function, which has been called."""
    import jitflow

    function, arguments = program(name, size)
    made = jitflow.function(function)
    made(*arguments())
    return made


def call(name: str, size: str = "small") -> float:
    """The seconds of a call."""
    if name.endswith(" step"):
        return training_step(name.removesuffix(" step"))
    function, arguments = compiled(name, size), program(name, size)[1]
    given = [arguments()]
    function(*arguments())
    start = time.process_time()
    function(*given[0])
    once = max(time.process_time() - start, 1e-7)
    least = once
    count = max(1, min(MOST_CALLS, int(ENOUGH / once)))
    for _ in range(TRIES):
        given = [arguments() for _ in range(count)]
        start = time.process_time()
        for one in given:
            function(*one)
        least = min(least, (time.process_time() - start) / count)
    return least


@cache
def training(name: str) -> Any:
    """A training step that has been made a few times."""
    from benchmarks.training_session import TrainingSession

    session = TrainingSession("jitflow")
    measured = session.prepare(name, True)
    if measured.error:
        raise RuntimeError(measured.error)
    return session


def training_step(name: str) -> float:
    """The seconds of a training step."""
    return float(training(name).turn())


def first_call(name: str) -> float:
    """The seconds of a first call."""
    return compiling(name, lambda made, given: made(*given))


def front(name: str) -> float:
    """The seconds of all stages of a compilation in front of LLVM."""
    from jitflow.compilation.compiler import lower

    return compiling(name, lambda made, given: lower(made._trace(made._bind(given, {}))))


def compiling(name: str, work: Callable[[Any, Any], object]) -> float:
    """The seconds that the work on a function takes which nobody has compiled yet, with its arguments."""
    import jitflow

    function, arguments = program(name)
    found = []
    for _ in range(TRIES):
        given, made = arguments(), jitflow.function(function)
        start = time.process_time()
        work(made, given)
        found.append(time.process_time() - start)
    return min(found)


def large_call(name: str) -> float:
    """The seconds of a call with large arguments."""
    return call(name, "large")


ASKED = {"call": call, "large call": large_call, "first call": first_call, "front": front}


def answer(kind: str, name: str) -> dict[str, Any]:
    """What was asked for, or why there is no answer."""
    try:
        return {"found": cases() if kind == "cases" else ASKED[kind](name)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answer question after question, a line each."""
    sys.path.pop(0)  # this file's folder, which is not that of the checkout
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
