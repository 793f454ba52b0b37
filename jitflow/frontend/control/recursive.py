"""Which functions call themselves on a decision of the running program.

Written out where they are called they would never end. Where a trace comes to know that, it starts anew, and they are
functions of the program (`recursion.py`). A function that mentions its own name is watched: it calls itself, and what
it is given then is known no better than before. Functions that call each other show by the branches and loops that lie
in each other (`Regions.region`). One whose end what is known does tell, a number that is smaller each time, is written
out some calls deep before the other way is tried, and so is one that only sizes end, which guards can test.

What a function gives may hold what its calls give: a tree, or a list of moves. No type says that, so Python goes
through the calls then, as far as numbers end them, which are guarded by their values.

A derivative is taken of what is written out alone. So is the outermost call of a function whose further calls are given
something of another structure than it is given itself: parts of the caller's list, in lists of the program.
"""

from __future__ import annotations

import inspect
from collections import Counter
from functools import partial, wraps
from types import CodeType, FunctionType
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.function_cells import is_same_function
from jitflow.frontend.control.leaves import flatten
from jitflow.frontend.control.recursion import Recursion
from jitflow.frontend.control.running import Running
from jitflow.frontend.control.written_out import turns_site
from jitflow.frontend.recording.budget import MOST_COPIES, spent
from jitflow.frontend.recording.choices import GONE_THROUGH, WRITTEN_OUT, Restart, Site
from jitflow.frontend.recording.regions import MOST_WRITTEN_OUT, Scope, is_known_to_change, recursion_site
from jitflow.frontend.recording.trace import Undoable, current_trace

_MOST_CALLS = 10_000

__all__ = ["first_call", "names_itself", "recursive"]


def recursive(function: Any) -> Any:
    """A function of the program as it is to be called: itself, unless it may call itself when it runs."""
    if not isinstance(function, FunctionType):
        return function
    choices, site = current_trace().choices, recursion_site(function.__code__)
    if choices.answer(site) == GONE_THROUGH:
        record = partial(_gone_through, function)
    elif choices.answer(site):
        record = partial(_called, function)
    elif not choices.is_settled(site) and names_itself(function.__code__, function.__name__):
        record = partial(_watched, function, site)
    else:
        return function

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(scope.is_differentiated for scope in current_trace().scope.around()):
            return function(*args, **kwargs)
        return record(args, kwargs)

    return call


def first_call(function: FunctionType) -> Any:
    """The function that is compiled. Where it gives arrays, its first call is written out: they may be the caller's."""
    site = recursion_site(function.__code__)
    answer = current_trace().choices.answer(site)
    if answer is None:
        return recursive(function)
    call = recursive(function)

    @wraps(function)
    def first(*args: Any, **kwargs: Any) -> Any:
        result = call(*args, **kwargs)
        if answer not in (WRITTEN_OUT, GONE_THROUGH) and any(
            isinstance(item, tracers.ArrayTracer) for item in flatten(result).items
        ):
            raise current_trace().begin_anew(Restart(site, WRITTEN_OUT))
        return result

    return first


def names_itself(code: CodeType, name: str) -> bool:
    """Whether a function mentions its own name."""
    inside = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return name in code.co_names or name in code.co_freevars or any(names_itself(inner, name) for inner in inside)


class _Calls(dict[Site, list[tuple[Scope, tuple[Any, ...]]]]):
    """What functions that mention themselves are given where they call themselves, and where, outer calls first."""


class _Copies(Counter[Site], Undoable):
    """How many calls of such functions are written out in branches and loops of the run, in calls of themselves."""

    def mark(self) -> Any:
        known = Counter(self)

        def forget() -> None:
            self.clear()
            self.update(known)

        return forget


def _watched(function: FunctionType, site: Site, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that is written out, unless it calls itself and nothing that is known now says that this ends.

    What sizes decide, guards could decide as well. One that calls itself in several branches doubles with each call.
    """
    trace = current_trace()
    calls = trace.state(_Calls).setdefault(site, [])
    given = (*args, *kwargs.values())
    if calls:
        may_end, copies = is_known_to_change(given, calls[-1][1]), trace.state(_Copies)
        copies[site] += trace.scope is not calls[0][0]  # of what is known alone Python makes as many calls as there are
        if not may_end or len(calls) >= MOST_WRITTEN_OUT or copies[site] > MOST_COPIES:
            raise trace.begin_anew(Restart(site, is_wish=may_end or trace.scope is calls[0][0]))
    calls.append((trace.scope, given))
    try:
        return function(*args, **kwargs)
    finally:
        calls.pop()


class _Count:
    """How many calls Python has gone through."""

    calls = 0


def _gone_through(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with the numbers that are known if they are guarded."""
    count = current_trace().state(_Count)
    count.calls += 1
    if count.calls > _MOST_CALLS:
        raise tracers.located(spent(function.__name__, ""))
    return function(*map(_known, args), **{name: _known(thing) for name, thing in kwargs.items()})


def _known(thing: Any) -> Any:
    """A Python number itself, guarded, where it is to be had; all else as it is."""
    pins = current_trace().pins
    is_number = isinstance(thing, tracers.ScalarTracer | tracers.SizeTracer) and thing.is_python_number
    number = pins.asked(tracers.lift(thing)) if is_number and pins is not None else None
    return thing if number is None else number


def _called(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call of a function that calls itself when it runs: the first, or a further one in its body."""
    running = current_trace().state(Running)
    site = recursion_site(function.__code__)
    if current_trace().choices.answer(site) == WRITTEN_OUT and site not in running.written_out:
        running.written_out.add(site)
        try:
            return function(*args, **kwargs)
        finally:
            running.written_out.remove(site)
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return function(*args, **kwargs)  # which raises as Python does
    bound.apply_defaults()
    for body in reversed(running.bodies):
        if is_same_function(body.function, function):
            return body.recur(bound.arguments)
    _call_in_one_turn()
    return Recursion(function, bound, running).call()


def _call_in_one_turn() -> None:
    """Let the loops be native ones that are being written out here: each of their turns would trace the function."""
    trace = current_trace()
    for key in trace.budget.give_up_all():
        trace.begin_anew(Restart(turns_site(key), is_wish=True))
