"""The one runner of passes: it times each, verifies what each leaves, and lets others look on in between.

With ``JITFLOW_VERIFY=1`` the verifier looks at what each pass leaves; ``observe`` sees every function in between, which
is how dumps and the explorer work.

A pass is pure, so where it has found nothing to do, it finds nothing until another one has changed something: it is not
asked again. `SETTLING` leave nothing to do for themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from jitflow.config import CONFIG
from jitflow.errors import CompilerBug, JitflowError
from jitflow.interruptions import pass_interruption
from jitflow.ir.core import Function
from jitflow.ir.equality import or_before
from jitflow.ir.printer import print_function
from jitflow.ir.verifier import verify
from jitflow.records import dataclass

__all__ = ["Observer", "Pass", "Step", "run"]

Pass = Callable[[Function], Function]

SETTLING = frozenset(("simplify", "cse", "dce"))
"""Passes that go on until they find nothing more to do; what one of them has changed may be more for the others."""


@dataclass(frozen=True, slots=True)
class Step:
    """One pass that ran: what it left, and how long it took in seconds. One that was ``idle`` was not asked."""

    name: str
    function: Function
    seconds: float
    idle: bool = False


Observer = Callable[[Step], None]


def run(function: Function, passes: Iterable[tuple[str, Pass]], observe: Observer | None = None) -> Function:
    """Run named passes one after the other; ``observe`` is called after each.

    Raises `CompilerBug`, which names the pass, where one fails.
    """
    idle: set[str] = set()
    for name, run_pass in passes:
        start = time.perf_counter()
        try:
            rests = name in idle
            result = function if rests else or_before(function, run_pass(function))
        except JitflowError:
            raise
        except Exception as error:
            pass_interruption(error)
            raise CompilerBug(
                f"{type(error).__name__}: {error}", pass_name=name, surrounding=print_function(function)
            ) from error
        seconds = time.perf_counter() - start
        if result is not function:
            idle.clear()
        if result is function or name in SETTLING:
            idle.add(name)
        if CONFIG.verify:
            verify(result, name)
        if observe is not None:
            observe(Step(name, result, seconds, rests))
        function = result
    return function
