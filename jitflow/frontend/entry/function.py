"""Tracing: run the user's function once on tracers, and keep what it did.

`trace` is the door of the frontend: a Python function and the arguments of one call in, a `TracedFunction` out, which
holds all that the compiler and the runtime need and no trace of the arguments' data.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, MappingProxyType, TracebackType
from typing import Any

from jitflow.errors import (
    USER_ERRORS,
    CompilerBug,
    UserError,
    UserNotImplementedError,
    as_user_error,
    with_user_frames,
)
from jitflow.frontend.control import switching  # noqa: F401 - what a value of several kinds delegates to
from jitflow.frontend.control.handing_over import hand_over
from jitflow.frontend.control.identity import require_apart, require_unchanged
from jitflow.frontend.control.loop_report import LoopDecision, LoopReport
from jitflow.frontend.control.raising import EndOfPath, has_shown_something, raise_when_run
from jitflow.frontend.control.same import require_numbers
from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.entry.naming import Part, Wanted
from jitflow.frontend.entry.pins import Pins
from jitflow.frontend.entry.reads import Recorder
from jitflow.frontend.entry.results import Results, ResultTree, with_stores
from jitflow.frontend.numpy import dispatch  # noqa: F401 - the functions that tracers delegate to
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording.choices import Choices, Restart, Site
from jitflow.frontend.recording.locate import Locator, definition, in_pythons_words, is_bug, is_internal
from jitflow.frontend.recording.trace import Decision, Trace, active_trace, current_trace, recording
from jitflow.frontend.syntax import is_block, rewritten
from jitflow.frontend.tracers.absent import NOT_GIVEN
from jitflow.ir.core import Function
from jitflow.ir.location import NOWHERE, Loc
from jitflow.runtime.plan import Argument, Check, Leaf, Read
from jitflow.runtime.stores import StoreTable

__all__ = ["TracedFunction", "trace"]


_RAISED_BY_PYTHON = (LookupError, ValueError, ArithmeticError, AttributeError, NameError, TypeError)
"""What jitflow raises where Python or NumPy would, if it is told in their words."""


@dataclass(frozen=True, eq=False)
class TracedFunction:
    """One traced function.

    ``leaves[k]`` says where the k-th parameter of ``function`` comes from and in which slots it lies. A dim of a
    parameter that is a number other than 1, or a size that occurs twice, holds by the caller's word (`Spec`), and so
    the guard must test it, as it must test ``function.facts``.
    """

    function: Function
    parameter_names: tuple[str, ...]
    reads: tuple[Read, ...]
    paths: tuple[str, ...]
    checks: tuple[Check, ...]
    leaves: tuple[Leaf, ...]
    argument_slots: int
    results: ResultTree
    decisions: tuple[Decision, ...]
    loops: tuple[LoopDecision, ...]
    hints: Mapping[str, int]
    """The sizes that were seen at the call that caused the trace."""
    numbers: Mapping[int, int] = field(default_factory=dict)
    """The whole numbers that were seen there, by their parameters' positions."""
    is_storing: bool = False
    """Whether it stores to objects from outside."""
    stores: StoreTable | None = None
    """What calls note of it, if they do."""
    pins: tuple[str, ...] = ()
    """The numbers that Python asked for."""


def trace(
    function: FunctionType, names: Sequence[str], arguments: Sequence[Any], *, static: Collection[str] = (),
    fetch: Sequence[str] | None = None, device: str = "", exact: bool = False,
) -> TracedFunction:  # fmt: skip
    """Trace ``function`` at the flat ``arguments``: one for each of its parameters, which are called ``names``.

    ``*args`` and ``**kwargs`` are parameters that hold a tuple and a dict. ``fetch``: the function is one that
    `jitflow.naming` makes, and what is wanted are the values of these names. ``device``: where the function wants what
    stands in no scope of its own. ``exact``: what masks leave out is not computed.

    Raises `UserError` at the user's line for programs that cannot be compiled. What the program itself raises while it
    is traced is raised as a `UserError` of that class, or as it is where there is none for its class.
    """
    if active_trace() is not None:
        raise CompilerBug("a trace was started inside a trace", pass_name="trace")
    choices = Choices()
    mistake: UserError | None = None
    while True:
        state = Trace(function.__name__, sys._getframe(), choices)
        state.exact = exact
        state.state(Wanted).part = None if fetch is None else Part(tuple(fetch))
        state.device = device
        try:
            return _recorded(state, function, tuple(names), arguments, frozenset(static))
        except Restart as restart:
            choices.learn(restart, state.restarts)
        except UserError as error:
            if isinstance(error.pin, Site) and not choices.answer(error.pin):
                choices.learn(Restart(error.pin), state.restarts)
            elif choices.give_up_wishes():
                mistake = mistake or (error if error.is_mistake else None)
            elif mistake is None:
                raise
            else:  # which is what Python says, however its loops are recorded
                raise mistake from None


def _recorded(
    state: Trace,
    function: FunctionType,
    names: tuple[str, ...],
    arguments: Sequence[Any],
    static: frozenset[str],
) -> TracedFunction:
    with recording(state):
        try:
            try:
                return _trace(state, function, names, arguments, static)
            except Exception:
                _raise_what_was_caught(state)
                raise
        except UserError as error:
            raise _placed(error, error.__traceback__, function) from error.__cause__
        except CompilerBug:
            raise
        except Exception as error:
            if is_bug(error):
                raise CompilerBug(
                    f"{type(error).__name__}: {error}", pass_name="trace", location=state.builder.loc
                ) from error
            told, places = _told(error, function)
            if isinstance(told, UserError):
                raise told from error
            raise with_user_frames(told, *places) from error.__cause__


def _told(error: Exception, root: FunctionType) -> tuple[Exception, tuple[Loc, tuple[Loc, ...]]]:
    """What the program raised while it was traced as the caller gets it, and the user's lines that led there."""
    places = _places(error.__traceback__, root)
    if isinstance(error, UserError):
        return _placed(error, error.__traceback__, root), places
    if not isinstance(error, RecursionError) and type(error) not in USER_ERRORS:
        return error, places
    return _placed(_user_error(error), error.__traceback__, root), places


def _trace(
    state: Trace,
    function: FunctionType,
    names: tuple[str, ...],
    arguments: Sequence[Any],
    static: frozenset[str],
) -> TracedFunction:
    inputs = Inputs(state)
    recorder = Recorder(inputs)
    state.capture, state.adopt, state.pin = inputs.computed, recorder.adopt_variable, recorder.pin
    state.guard, state.origins = inputs.guard, recorder.origins
    stores, pins = state.state(Stores), Pins(state, inputs)
    state.pins = pins
    stores.inputs, stores.hand_over = inputs, partial(hand_over, stores)
    recorded = recorder.functions.root(function, function.__name__)
    taken = []
    for index, (name, argument) in enumerate(zip(names, arguments, strict=True)):
        take = recorder.constant if name in static and argument is not NOT_GIVEN else recorder.take
        taken.append(take(argument, Argument(index), name))
    try:
        result = _call(recorded, taken)
    except EndOfPath:  # whatever the running program decides, it raises
        result = None
    except Exception as error:
        if not _is_raised_behind_others(state, error):
            raise
        told, (place, _) = _told(error, function)
        raise_when_run(told, place)
        result = None
    _raise_what_was_caught(state)
    require_unchanged(state)
    stores.finish()
    inputs.finish()
    collected = Results(recorder.origins)
    tree = with_stores(collected.tree(result), stores, collected)
    require_apart(state, collected.containers)
    state.storage.require_shown([thing._value for thing in collected.arrays])
    require_numbers(state, collected.arrays)
    region = state.root.close(state.parameters, collected.values)
    attributes: dict[str, Any] = {} if not inputs.overlap else {"overlap": True}
    if inputs.variables:
        attributes["variables"] = tuple(inputs.variables)
    if inputs.placed:
        attributes["devices"] = tuple(inputs.placed.get(position, "") for position in range(len(inputs.leaves)))
    return TracedFunction(
        Function(_ir_name(function), region, state.facts, attributes=MappingProxyType(attributes)),
        names,
        tuple(inputs.reads),
        tuple(inputs.path(register) for register in range(len(inputs.reads))),
        tuple(inputs.checks),
        tuple(inputs.leaves),
        inputs.slots,
        tree,
        tuple(state.decisions),
        tuple(dict.fromkeys(state.state(LoopReport))),
        MappingProxyType(dict(state.hints)),
        MappingProxyType(inputs.numbers),
        stores.are_made,
        stores.table if stores.is_noted else None,
        tuple(pins.texts),
    )


def _is_raised_behind_others(state: Trace, error: Exception) -> bool:
    """Whether Python would raise an exception here, after things that can be seen from outside.

    Not what jitflow alone raises, which leaves everything as it was; nor what is found in the middle of a loop.
    """
    if isinstance(error, UserError):
        is_of_the_program = isinstance(error, _RAISED_BY_PYTHON) and error.is_mistake
    else:
        is_of_the_program = not isinstance(error, CompilerBug | RecursionError) and not is_bug(error)
    return is_of_the_program and error is not state.left_by and has_shown_something(state)


def _raise_what_was_caught(state: Trace) -> None:
    """Raise what was raised for the compiler alone, in case that code which is not rewritten has caught it."""
    if state.restarts:
        raise state.restarts[0]
    if state.refusals:
        raise state.refusals[0]


def _call(recorded: FunctionType, taken: list[Any]) -> Any:
    """Call the function with one object for each of its parameters, ``*args`` and ``**kwargs`` included."""
    code = recorded.__code__
    positional, keyword_only = code.co_argcount, code.co_kwonlyargcount
    rest = taken[positional + keyword_only :]
    names = code.co_varnames[positional : positional + keyword_only]
    keywords = dict(zip(names, taken[positional:], strict=False))
    extra = tuple(rest.pop(0)) if code.co_flags & 0x04 else ()  # CO_VARARGS
    more = dict(rest.pop(0)) if code.co_flags & 0x08 else {}  # CO_VARKEYWORDS
    current_trace().caller = sys._getframe()
    return recorded(*taken[:positional], *extra, **keywords, **more)


def _ir_name(function: FunctionType) -> str:
    name = function.__name__
    return name if name.isidentifier() else "function"


def _user_error(error: Exception) -> UserError:
    """What the program raised while it was traced, as a user error of the same class."""
    if isinstance(error, RecursionError):
        return UserNotImplementedError(
            "recursion deeper than Python allows while tracing",
            mend="a compiled function is traced to its end: recurse on static values only, or write a loop",
        )
    if type(error) is TypeError:
        error = TypeError(in_pythons_words(str(error)))
    return as_user_error(error)


def _placed(error: UserError, traceback: TracebackType | None, root: FunctionType) -> UserError:
    """The error at the innermost user line of its traceback, unless it knows its place already."""
    return error if error.location is not None else error.at(*_places(traceback, root))


def _places(traceback: TracebackType | None, root: FunctionType) -> tuple[Loc, tuple[Loc, ...]]:
    """The innermost user line of a traceback, and the lines that led there from the function ``root``."""
    locator = Locator()
    places: list[Loc] = []
    inside = False
    found = rewritten(root)
    code = root.__code__ if found is None else found.code
    while traceback is not None:
        # The recorded code is a copy of the root's: equal to it, though not the same.
        inside = inside or traceback.tb_frame.f_code == code
        place = locator.place_in_traceback(traceback) if inside else None
        if place is not None:
            if is_block(traceback.tb_frame.f_code):
                places.pop()  # the place in the same function that led into the block
            places.append(place)
        traceback = traceback.tb_next
    if not places:  # what jitflow itself compiles is no line of the user's
        return NOWHERE if is_internal(root.__code__.co_filename) else definition(root.__code__), ()
    # Recursion shows each of its lines once.
    return places[-1], tuple(dict.fromkeys(places[-2::-1]))
