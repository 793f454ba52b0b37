"""Tracing: run the user's function once on tracers, and keep what it did.

`trace` is the door of the frontend: a Python function and the arguments of one call in, a `TracedFunction` out, which
holds all that the compiler and the runtime need and no trace of the arguments' data.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import partial
from types import CellType, CodeType, FunctionType, MappingProxyType, TracebackType
from typing import Any

from jitflow.errors import CompilerBug, UserError, UserNotImplementedError, as_user_error
from jitflow.frontend.containers.lists import require_rows_apart
from jitflow.frontend.containers.pools import make_pools
from jitflow.frontend.containers.told_items import require_items_told
from jitflow.frontend.containers.untold import require_told
from jitflow.frontend.control import switching  # noqa: F401 - what a value of several kinds delegates to
from jitflow.frontend.control.handing_over import hand_over
from jitflow.frontend.control.identity import require_apart, require_unchanged
from jitflow.frontend.control.leaves import can_change
from jitflow.frontend.control.loop_report import LoopDecision, LoopReport
from jitflow.frontend.control.raising import EndOfPath, has_shown_something, raise_when_run
from jitflow.frontend.control.recursive import first_call
from jitflow.frontend.control.shown import require_shown
from jitflow.frontend.control.told import require_numbers, require_objects
from jitflow.frontend.entry import written  # noqa: F401 - the texts of jitflow's own that programs go through
from jitflow.frontend.entry.inputs import Inputs
from jitflow.frontend.entry.naming import Part, Wanted
from jitflow.frontend.entry.pins import Pins
from jitflow.frontend.entry.reads import Recorder
from jitflow.frontend.entry.result_tree import ResultTree
from jitflow.frontend.entry.results import Results, with_stores
from jitflow.frontend.numpy import dispatch  # noqa: F401 - the functions that tracers delegate to
from jitflow.frontend.numpy.generators import Made
from jitflow.frontend.outside.keys_of_sets import KeysOfSets
from jitflow.frontend.outside.pooled_objects import MadeInside, Pools
from jitflow.frontend.outside.proxies import ObjectProxy
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.python import announced  # noqa: F401 - what is called out
from jitflow.frontend.recording.choices import Choices, Restart, Site, StartAnew
from jitflow.frontend.recording.locate import (
    definition,
    in_pythons_words,
    innermost_place,
    is_bug,
    is_hidden,
    is_internal,
    is_of_the_program,
    package_of,
)
from jitflow.frontend.recording.preparations import Preparations
from jitflow.frontend.recording.trace import Decision, Trace, active_trace, current_trace, recording
from jitflow.frontend.syntax import rewritten
from jitflow.frontend.tracers.absent import NOT_GIVEN
from jitflow.interruptions import pass_interruption
from jitflow.ir.core import Function
from jitflow.ir.location import NOWHERE, Loc
from jitflow.records import dataclass
from jitflow.runtime.entry.plan import Argument, Cell, Check, Leaf, Read
from jitflow.runtime.objects.stores import StoreTable
from jitflow.runtime.preparation import Preparation, Slot
from jitflow.user_lines import with_user_frames

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
    makes_generators: bool = False
    """Whether it makes generators of random numbers."""
    is_storing: bool = False
    """Whether it stores to objects from outside."""
    stores: StoreTable | None = None
    """What calls note of it, if they do."""
    pins: tuple[str, ...] = ()
    """The numbers that Python asked for."""
    described: frozenset[str] = frozenset()
    """The sizes among the hints that nobody has seen yet, of a `Spec`."""
    computed: tuple[int, ...] = ()
    """The registers of arrays that the trace has computed, and which are no objects of the program's."""
    preparations: tuple[Preparation, ...] = ()
    """What was made ready outside."""
    slots: Mapping[int, Slot] = field(default_factory=dict)
    """Where the variables in registers are that are found by no path of the program's."""
    rewritten: frozenset[CodeType] = frozenset()
    """The code of those functions whose sets the trace has looked into."""
    changing_order: str = ""
    """A set among these whose order is another one in each process; empty if there is none."""


def trace(
    function: FunctionType, names: Sequence[str], arguments: Sequence[Any], *, static: Collection[str] = (),
    fetch: Sequence[str] | None = None, device: str = "", exact: bool = False,
    includes_ones: bool = False,
) -> TracedFunction:  # fmt: skip
    """Trace ``function`` at the flat ``arguments``: one for each of its parameters, which are called ``names``.

    ``*args`` and ``**kwargs`` are parameters that hold a tuple and a dict. ``fetch``: the function is one that
    `jitflow.compilation.naming` makes, and what is wanted are the values of these names. ``device``: where the function
    wants what stands in no scope of its own. ``exact``: what masks leave out is not computed. ``includes_ones``: sizes
    of arguments may also be 1, unless a decision rests on it that one is not.

    Raises `UserError` at the user's line for programs that cannot be compiled. What the program itself raises while it
    is traced is raised as a `UserError` of that class, or as it is where there is none for its class.
    """
    if active_trace() is not None:
        raise CompilerBug("a trace was started inside a trace", pass_name="trace")
    choices = Choices()
    refusal: UserError | None = None
    told: UserError | None = None
    while True:
        state = Trace(function.__name__, sys._getframe(), choices)
        state.exact, state.includes_ones = exact, includes_ones
        state.state(Wanted).part = None if fetch is None else Part(tuple(fetch))
        state.device = device
        try:
            return _recorded(state, function, tuple(names), arguments, frozenset(static))
        except Restart as restart:
            if not state.is_provisional or choices.is_new(restart):
                choices.learn(restart, state.restarts, is_doubtful=state.left_out > 0)
        except StartAnew:
            pass
        except UserError as error:
            if choices.take_back_guesses():
                continue
            if state.state(Pools).names and not error.is_mistake:  # which says more than that there can be no loop
                told = told or error
            if isinstance(error.pin, Site) and not choices.answer(error.pin):
                choices.learn(Restart(error.pin), state.restarts)
            elif choices.give_up_wishes(error):
                pass
            elif not error.is_mistake and (pooled := choices.with_pools(state.state(MadeInside))) is not None:
                refusal = choices.reason if choices.reason is not None and error.tells_least else error
                choices = pooled
            elif not error.is_mistake and choices.go_through_calls():
                refusal = choices.reason if choices.reason is not None and error.tells_least else error
            elif choices.mistake is not None:  # which is what Python says, however its loops are recorded
                raise choices.mistake from None
            elif told is not None and not error.is_mistake:
                raise told from None
            elif refusal is not None and not error.is_mistake:
                raise refusal from None
            elif choices.reason is not None and error.tells_least:
                raise choices.reason from None
            else:
                raise
        finally:
            state.end()


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
            except Exception as error:
                pass_interruption(error)
                state.begin_anew_now()
                require_unchanged(state)
                _raise_what_was_caught(state)
                raise
        except UserError as error:
            raise _told(error, function) from error.__cause__
        except CompilerBug:
            raise
        except Exception as error:
            pass_interruption(error)
            if is_bug(error):
                raise CompilerBug(
                    f"{type(error).__name__}: {error}", pass_name="trace", location=state.builder.loc
                ) from error
            raise _told(error, function) from error


def _told(error: Exception, root: FunctionType) -> UserError:
    """What the program raised while it was traced, with the user's lines that led there."""
    told = error if isinstance(error, UserError) else _user_error(error)
    if told.original is not None:
        told.original.__context__ = _context(told.original)
        if told.original.__cause__ is not None:
            told.original.__cause__ = _with_the_users_lines(told.original.__cause__)
    return _of_the_call(told.at(_place(error.__traceback__, root)) if told.location is None else told)


def _of_the_call(error: UserError) -> UserError:
    """What is refused inside of a library's function, told of the call of that function."""
    places = [] if error.location is None or error.is_mistake else [*error.location.chain()]
    packages = [package_of(place.file) for place in places]
    if not places or packages[0] == packages[-1]:
        return error
    call = packages.index(packages[-1])
    return UserNotImplementedError(
        f"{places[call - 1].function}() of {packages[call - 1]} is not compiled",
        found=f"what it does: {error.message}",
        mend="call it outside the compiled function, which it may be given to call; or from inside by jitflow.callback",
        location=places[call],
    )


def _context(error: BaseException) -> BaseException | None:
    """The exception that the program was handling when it raised another; what jitflow handled is none of it."""
    context = error.__context__
    while context is not None and not _was_handled_by_the_program(context):
        context = context.__context__
    return None if context is None else _with_the_users_lines(context)


def _was_handled_by_the_program(error: BaseException) -> bool:
    first = error.__traceback__
    return is_of_the_program(error) and first is not None and not is_hidden(first.tb_frame.f_code.co_filename)


def _with_the_users_lines(error: BaseException) -> BaseException:
    """An exception that another one comes from, as Python has it."""
    plain = error.as_raised() if isinstance(error, UserError) else error
    plain.__context__ = _context(error)
    return with_user_frames(plain, innermost_place(error.__traceback__)) if error.__traceback__ is not None else plain


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
    state.adopt_class = lambda kind: recorder.take(kind, Cell(CellType(kind)), kind.__qualname__)
    state.guard, state.origins = inputs.guard, recorder.origins
    stores, pins = state.state(Stores), Pins(state, inputs)
    state.pins = pins
    stores.inputs, stores.hand_over = inputs, partial(hand_over, stores)
    recorded = recorder.functions.root(function, function.__name__)
    make_pools()
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
        raise_when_run(_told(error, function))
        result = None
    _raise_what_was_caught(state)
    require_told()
    require_unchanged(state)
    state.begin_anew_now()
    stores.finish()
    inputs.finish()
    state.announced = None  # what makes results is none of the program's
    collected = Results(recorder.origins)
    tree = with_stores(result, stores, collected)
    if state.storage.imitations.of and (imitated := state.storage.imitations.returned(collected.shown)):
        collected = Results(recorder.origins, imitated)
        tree = with_stores(result, stores, collected)
    require_apart(state, {*map(id, collected.containers)})
    state.begin_anew_now()
    require_shown(state, collected.shown)
    state.begin_anew_now()
    require_numbers(state, collected.arrays, collected.kinds)
    require_items_told(collected.arrays, collected.lists)
    require_rows_apart(collected.things)
    require_objects(state, [*filter(can_change, collected.containers)])
    state.begin_anew_now()
    collected.share_memory()
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
        state.state(Made).any,
        stores.are_made or bool(stores.passed),
        stores.table if stores.is_noted else None,
        tuple(pins.texts),
        frozenset(state.described),
        tuple(inputs.computed_registers),
        tuple(state.state(Preparations).made),
        state.state(Preparations).slots,
        frozenset(state.rewritten),
        state.state(KeysOfSets).changing,
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
    state.begin_anew_now()
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
    return first_call(recorded)(*taken[:positional], *extra, **keywords, **more)


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
    error.args = tuple(one._jitflow_object if isinstance(one, ObjectProxy) else one for one in error.args)
    number = current_trace().refused_operand
    if type(error) is TypeError and (words := in_pythons_words(str(error), number)) != str(error):
        error = TypeError(words)
    return as_user_error(error)


def _place(traceback: TracebackType | None, root: FunctionType) -> Loc:
    """The innermost user line of a traceback, with the lines that led there from the function ``root``."""
    found = rewritten(root)
    code = root.__code__ if found is None else found.code
    # The recorded code is a copy of the root's: equal to it, though not the same.
    while traceback is not None and traceback.tb_frame.f_code != code:
        traceback = traceback.tb_next
    place = innermost_place(traceback)
    if place is None:  # what jitflow itself compiles is no line of the user's
        return NOWHERE if is_internal(root.__code__.co_filename) else definition(root.__code__)
    return place
