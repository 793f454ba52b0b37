"""Branches: ``if``, conditional expressions, ``and`` and ``or`` on decisions that the running program makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.cells import UNBOUND, Cells
from jitflow.frontend.control.changing_lists import go_on_with_others
from jitflow.frontend.control.contents import Changes
from jitflow.frontend.control.joining import join
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.logic import as_bool, truth
from jitflow.frontend.control.merge import (
    MaybeUnbound,
    resolved,
)
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.paths import Path, lead_on, trace_path
from jitflow.frontend.control.raising import fail
from jitflow.frontend.control.same import give_numbers, is_numbered, note_reached, number
from jitflow.frontend.control.sharing import traced_paths
from jitflow.frontend.recording.locate import is_internal, raising_for_the_program
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL
from jitflow.ir.types import Scalar

__all__ = ["and_", "both", "bound", "choose", "choose_path", "decide", "either", "if_", "or_"]


def if_(
    test: Any,
    then: Callable[[], None],
    orelse: Callable[[], None],
    state: Sequence[str],
    temporaries: Sequence[str],
) -> None:
    """``if test: ... else: ...``, whose blocks are ``then`` and ``orelse``."""
    answer = truth(test)
    if isinstance(answer, bool):
        (then if answer else orelse)()
        return
    key = (then.__code__.co_filename, then.__code__.co_firstlineno)
    decide(answer, then, orelse, Cells(then, orelse), state, temporaries, key)


def decide(
    answer: Value,
    then: Callable[[], None],
    orelse: Callable[[], None],
    cells: Cells,
    state: Sequence[str],
    temporaries: Sequence[str],
    key: tuple[str, int],
) -> None:
    """Trace both blocks, and merge the locals that they leave. ``key`` says where the statement stands."""
    names = (*state, *temporaries)
    before, objects = cells.read(names), Changes(cells.contents(), cells.own())
    note_reached(objects.before)
    trace = current_trace()
    left_out, known = trace.left_out, len(trace.restarts)

    def trace_one(run: Callable[[], Any], holds: bool) -> Path:
        cells.write(before)
        path = trace_path(run, lambda: cells.read(state), assuming=(answer, holds))
        objects.take_back(path)
        return path

    def join_here(paths: Sequence[Path], names: Sequence[str]) -> dict[str, Any]:
        return join(answer, paths, names, key, objects.before, objects.left_in)

    paths = traced_paths((then, orelse), trace_one, join_here, objects.before, key)
    contents = objects.as_locals(paths)
    numbered = number(paths, (*state, *contents), key)
    merged = join_here(paths, (*state, *contents, *numbered))
    give_numbers(merged, numbered)
    objects.write({name: merged.pop(name) for name in contents})
    cells.write({**merged, **dict.fromkeys(temporaries, UNBOUND)})
    if trace.left_out > left_out:
        go_on_with_others(cells, known)
    lead_on(paths)


def choose(test: Any, then: Callable[[], Any], orelse: Callable[[], Any], *reached: Any) -> Any:
    """``then() if test else orelse()``, which lead to what is ``reached``."""
    answer = truth(test)
    if isinstance(answer, bool):
        return then() if answer else orelse()
    functions = [run for run in (then, orelse, *reached) if type(run) is FunctionType]
    written = [run for run in functions if not is_internal(run.__code__.co_filename)]
    return choose_path(answer, then, orelse, [*Cells(*written).contents(), *reached])


def choose_path(
    answer: Value,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    reached: Iterable[Any],
    mistakes: tuple[type[Exception], ...] = (),
) -> Any:
    """`choose` where the running program decides. What is ``reached`` leads to all objects that the paths may change.

    ``mistakes`` are raised when the program comes to them, unless both paths end with the same.
    """
    reached, here = [*reached], current_trace().here()
    objects, key = Changes(reached), (here.file, here.line)
    is_told = is_numbered(key, "the value")  # which object it is, of all that jitflow's own functions have at hand
    note_reached(Mutables((*reached, *_held_by(then, orelse))) if is_told else objects.before)

    def trace_one(run: Callable[[], Any], holds: bool) -> Path:
        path = trace_path(run, dict, assuming=(answer, holds), mistakes=mistakes)
        objects.take_back(path)
        return path

    def join_here(paths: Sequence[Path], names: Sequence[str]) -> dict[str, Any]:
        return join(answer, paths, names, key, objects.before, objects.left_in)

    paths = traced_paths((then, orelse), trace_one, join_here, objects.before, key)
    for path in paths:
        path.locals = {"the value": path.result}
    contents = objects.as_locals(paths)
    first, second = (path.mistake for path in paths)
    if first is not None and (type(first), str(first)) == (type(second), str(second)):
        raise first
    numbered = number(paths, ("the value", *contents), key)
    found = join_here(paths, ("the value", *contents, *numbered))
    give_numbers(found, numbered)
    objects.write({name: found[name] for name in contents})
    lead_on(paths)
    return resolved(found["the value"])


def _held_by(*functions: Any) -> list[Any]:
    """Functions, and what they are given ahead of their calls."""
    given = (run for run in functions if type(run) is partial)
    return [*functions, *(thing for run in given for thing in (run.func, *run.args, *run.keywords.values()))]


def and_(left: Any, right: Callable[[], Any]) -> Any:
    """``left and right()``."""
    if not isinstance(left, tracers.Tracer):
        return choose(as_bool(left), right, lambda: left, left, right)
    other = _Other(right, settles=False)
    return other.of(left, choose(left, other, lambda: left, left, right))


def or_(left: Any, right: Callable[[], Any]) -> Any:
    """``left or right()``."""
    if not isinstance(left, tracers.Tracer):
        return choose(as_bool(left), lambda: left, right, left, right)
    other = _Other(right, settles=True)
    return other.of(left, choose(left, lambda: left, other, left, right))


def both(left: Any, right: Callable[[], Any]) -> Any:
    """The truth of ``left and right()``."""
    return and_(_as_condition(left), lambda: _as_condition(right()))


def either(left: Any, right: Callable[[], Any]) -> Any:
    """The truth of ``left or right()``."""
    return or_(_as_condition(left), lambda: _as_condition(right()))


def _as_condition(thing: Any) -> Any:
    return thing if kind_of(thing) == Scalar(BOOL, weak=True) else as_bool(thing)


class _Other:
    """The right operand of ``and`` or ``or``.

    Where it is known, and ``settles`` the whole, so is the whole: ``n < 0 or isinstance(n, float)``.
    """

    def __init__(self, right: Callable[[], Any], *, settles: bool) -> None:
        self._right, self._settles = right, settles
        self._is_settled = False

    def __call__(self) -> Any:
        thing = self._right()
        self._is_settled = thing is self._settles
        return thing

    def of(self, left: Any, found: Any) -> Any:
        """What the whole expression gives."""
        is_settled = self._is_settled and kind_of(left) == Scalar(BOOL, weak=True)
        return self._settles if is_settled else found


@raising_for_the_program
def bound(read: Callable[[], Any], name: str | None = None) -> Any:
    """A local that may be unbound. Raises UnboundLocalError as Python does, now or when the program runs.

    Without a ``name`` it is bound for certain, although some path that does not lead here leaves it unbound.
    """
    if name is None:
        return resolved(read())
    message = f"cannot access local variable '{name}' where it is not associated with a value"
    try:
        thing = read()
    except NameError:
        if current_trace().scope is not current_trace().root:
            fail(UnboundLocalError, message)  # on a path that may not be taken
        raise UnboundLocalError(message) from None
    if isinstance(thing, MaybeUnbound):
        current_trace().add("check", thing.condition, error="UnboundLocalError", message=message)
        return thing.thing
    return thing


# -- joining ------------------------------------------------------------------------------------------------
