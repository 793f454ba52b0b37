"""Paths: what the program does where a condition holds or does not, traced into a region of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from jitflow.errors import (
    UserError,
    UserIndexError,
    UserNotImplementedError,
    UserOverflowError,
    UserValueError,
    UserZeroDivisionError,
)
from jitflow.frontend.control.implications import assume, assume_ends, holds_if
from jitflow.frontend.control.leaves import flatten
from jitflow.frontend.control.merge import resolved
from jitflow.frontend.control.raising import EndOfPath, fail_with
from jitflow.frontend.control.returning import RETURNED, leaves_the_function
from jitflow.frontend.control.trying import Statements
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.slots import Slotted
from jitflow.frontend.recording.choices import Restart
from jitflow.frontend.recording.locate import innermost_place, is_bug
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import ArrayTracer
from jitflow.frontend.tracers.alternatives import Alternatives
from jitflow.frontend.tracers.base import located
from jitflow.interruptions import is_interruption
from jitflow.ir.core import Region, Value
from jitflow.ir.location import Loc
from jitflow.records import dataclass

__all__ = ["RAISED_BY_PYTHON", "Path", "lead_on", "trace_path"]

_RAISED_BY_PROGRAMS = (UserIndexError, UserValueError, UserZeroDivisionError, UserOverflowError)
"""What a program raises when it runs: on a path that may not be taken it is no mistake to be told now."""
RAISED_BY_PYTHON = (
    ArithmeticError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    StopIteration,
    TypeError,
    ValueError,
)
"""What Python raises of values that are known, on a path that may not be taken."""


@dataclass(eq=False)
class Path:
    """One traced path: its ops, whether it ends by raising, and what its locals are then."""

    scope: Scope
    ended: bool
    result: Any
    locals: dict[str, Any]
    mistake: Exception | None = None
    """What ends it, if Python and NumPy raise that for the types of its values."""
    region: Region | None = None
    """Its region, if it ends inside of another one."""
    slots: Sequence[str] = ()
    """What the region yields, by name."""


def trace_path(
    run: Callable[[], Any],
    read: Callable[[], dict[str, Any]],
    scope: Scope | None = None,
    *,
    assuming: tuple[Value, bool] | None = None,
    mistakes: tuple[type[Exception], ...] = (),
    is_whole: bool = False,
) -> Path:
    """Trace one path into a region.

    It is taken if a condition holds or does not, as ``assuming`` says. The ``mistakes`` are raised when the program
    runs and comes to them. One that has to be ``whole`` is of no use if a part of it is left out.
    """
    trace = current_trace()
    left_out = trace.left_out
    refusals = len(trace.refusals)
    mistake: Exception | None = None
    told: tuple[type[Exception], ...] = (UserError, *mistakes)
    with trace.region(scope) as inside:
        inside.is_branch = assuming is not None
        if assuming is not None:
            assume(holds_if(*assuming))
        ended, result = False, None
        try:
            result = run()
        except EndOfPath:
            ended = True
        except Restart as restart:
            if is_whole or not trace.leaves_out(restart):
                raise
            ended = True
        except told as error:
            is_mistake = isinstance(error, UserError) and error.is_mistake and isinstance(error, RAISED_BY_PYTHON)
            is_raised = is_mistake or isinstance(error, (*_RAISED_BY_PROGRAMS, *mistakes))
            if not is_raised or (len(trace.refusals) > refusals and not mistakes):
                raise
            del trace.refusals[refusals:]
            ended = True
            mistake = error if isinstance(error, mistakes) else None
            _raise_later(error)
        except RAISED_BY_PYTHON as error:
            if not _is_raised(error):
                raise
            ended = True
            _raise_later(error)
        left = {name: _settled(thing) if name.startswith(RETURNED) else thing for name, thing in read().items()}
        for leaf in (leaf for thing in (result, *left.values()) for leaf in flatten(resolved(thing)).items):
            if isinstance(leaf, ArrayTracer):
                leaf.finish()
    if is_whole and trace.left_out > left_out:
        raise trace.restarts[-1]
    return Path(inside, ended, result, left, mistake)


def lead_on(paths: Sequence[Path]) -> None:
    """Go on behind the paths of a branch: with what is known on those that lead there. Raises if none does."""
    ends = [path.scope.knowledge for path in paths if not path.ended]
    if not ends:
        raise EndOfPath
    assume_ends(ends)


def _is_raised(error: Exception) -> bool:
    """Whether what Python raised is the program's: a handler of its is for it, or it is no mistake of jitflow's."""
    handlers = current_trace().state(Statements).handled
    is_handled = any(handles(type(error)) for handles in handlers) and not is_interruption(error)
    return is_handled or not is_bug(error)


def _settled(thing: Any) -> Any:
    """What is returned, if it leaves the compiled function: no list that grows, for its memory is that of a path."""
    if isinstance(thing, Recorded):
        return thing.returned() if not thing.flows and leaves_the_function() else thing
    if type(thing) not in (tuple, list):
        return thing
    kinds = [item.options.values() if type(item) is Alternatives else (item,) for item in thing]
    lists = [[held for held in several if isinstance(held, Recorded) and not (held.flows or isinstance(held, Slotted))]
             for several in kinds]  # fmt: skip
    found = [id(one) for several in lists for one in several]
    chosen = any(several and type(item) is Alternatives for item, several in zip(thing, lists, strict=True))
    if found and leaves_the_function() and (chosen or len({*found}) < len(found)):
        raise located(UserNotImplementedError(
            "a list that the running program changes, returned by two names where it decides what is returned",
            mend="return it once, or return at one place, behind the branch or loop",
        ))  # fmt: skip
    return type(thing)(map(_settled, thing)) if found else thing


def _raise_later(error: Exception) -> None:
    place = error.location if isinstance(error, UserError) else None
    if not isinstance(place, Loc):
        place = innermost_place(error.__traceback__, current_trace().here(with_callers=True))
    with suppress(EndOfPath):
        fail_with(error, place)
