"""Loops: rolled into a region where that can be (`rolling`), and unrolled where the body needs to know its turn.

Objects keep their form in a rolled body, so Python's lists their length, and its positions are no numbers there. A loop
whose number of turns the arguments decide is unrolled where that does not do, and compiled for this number; so is one
of few turns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.control.asked_items import begin_anew_choosing, begin_anew_with_asked, writing_out
from jitflow.frontend.control.branch import and_, decide
from jitflow.frontend.control.cells import Cells, statement_of, within
from jitflow.frontend.control.changing_lists import SLOTTED, begin_anew_with, go_on_with_others
from jitflow.frontend.control.known_iterators import as_count, as_product
from jitflow.frontend.control.lessons import Lessons, Nest
from jitflow.frontend.control.logic import as_bool, not_, truth
from jitflow.frontend.control.loop_report import LoopReport, note_rolled, note_unrolled, what_it_runs_over
from jitflow.frontend.control.mutables import Mutables, is_held
from jitflow.frontend.control.raising import EndOfPath
from jitflow.frontend.control.rolling import Body, CannotRoll, KindsChange, Rolling, Test
from jitflow.frontend.control.sources import Sequenced, as_source
from jitflow.frontend.control.splitting import MOST_SPLITS, Pieces
from jitflow.frontend.control.steps import Source
from jitflow.frontend.control.stepwise import attempted_step, is_stepwise, iterator_of
from jitflow.frontend.control.switching import for_each_kind
from jitflow.frontend.control.tried_loops import Tried, TriedSteps
from jitflow.frontend.control.turns import NeedsUnrolling
from jitflow.frontend.control.woven import Woven
from jitflow.frontend.control.written_out import turns_site, unrolled
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording.choices import Restart
from jitflow.frontend.recording.trace import MOST_TURNS, current_trace
from jitflow.frontend.tracers import Alternatives
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface

__all__ = ["for_", "own_loop", "while_"]

MANY_TURNS = 24
"""A loop of more turns that only a list keeps from being one native loop is one, with a list of the running program."""
FEW_TURNS = 4
"""A loop of so many turns is unrolled, so that they fuse."""


def for_(iterable: Any, body: Body, test: Test | None, state: Sequence[str], temporaries: Sequence[str]) -> None:
    """``for target in iterable: ...``; ``test`` says before each turn whether to go on, if a turn may end the loop."""
    if type(iterable) is Tried:
        _tried(iterable, body, test, state, temporaries)
        return
    if type(iterable) is Alternatives:
        for_each_kind(iterable, Cells(body, test), state, temporaries, _key(body),
                      lambda thing: for_(thing, body, test, state, temporaries))  # fmt: skip
        return
    iterable = iterator_of(iterable)
    if isinstance(iterable, Woven):
        _woven(iterable, body, test, state, temporaries)
        return
    if is_stepwise(iterable):
        _stepwise(iterable, body, test, state, temporaries)
        return
    if isinstance(iterable, Recorded) and (known := iterable.known_items()) is not None:
        _through_pythons(known, Rolling(Cells(body, test), state, temporaries, _key(body)), body, test)
        return
    if isinstance(iterable, Recorded) and iterable.may_change:
        _through_a_list(iterable, body, test, state, temporaries)
        return
    cells = Cells(body, test)
    loop = Rolling(cells, state, temporaries, _key(body))
    counted = as_count(iterable) if test is not None else None
    if counted is not None:
        _counting(*counted, body, test, state, temporaries)
        return
    source = as_source(iterable)
    if source is None and (source := as_product(iterable, test)) is not None and is_held(iterable):
        deque(iterable, 0)  # which Python leaves at its end
    if source is None:
        _through_pythons(iterable, loop, body, test)
        return
    source.begin()
    if test is not None:
        source.require_end()
    try:
        _as_guessed(cells, lambda: _over(source, loop, body, test))
    finally:
        source.end()


def _as_guessed(cells: Cells, record: Callable[[], None]) -> None:
    """Record a loop, or leave it out where the trace has to start anew for it, and go on as far as that can be."""
    trace = current_trace()
    left_out, known = trace.left_out, len(trace.restarts)
    try:
        record()
    except Restart as restart:
        if not trace.leaves_out(restart):
            raise
    if trace.left_out > left_out:
        go_on_with_others(cells, known)


_FRESH = (list, tuple, enumerate, zip, reversed)
"""What Python goes through that can be gone through at once; an iterator only if the program has no name for it."""


def _through_pythons(iterable: Any, loop: Rolling, body: Body, test: Test | None) -> None:
    """A loop over what Python goes through: written out, unless that is one of numbers in a nest of many copies."""
    trace = current_trace()
    is_rolled = trace.choices.answer(turns_site(loop.key))
    if is_rolled and type(iterable) in _FRESH and not is_held(iterable):
        iterable = items = iterable if isinstance(iterable, list | tuple) else [*iterable]
        with suppress(CannotRoll):
            carried = loop.roll(partial(_with_item, items, body), test, Sequenced(items)) if items else []
            note_rolled(body, "for", len(items), carried)
            return
    with trace.budget.listing(loop.key):
        turns = unrolled(loop, iter(iterable), body, test, is_counted=not is_rolled)
    note_unrolled(body, "for", turns, f"it runs over {what_it_runs_over(iterable)}")


def _with_item(items: Sequence[Any], body: Body, position: Any) -> None:
    """A turn for the item at a position of the run. Raises `NeedsUnrolling` where items are no numbers of one type."""
    item = surface.chosen_item(items, position)
    if item is None:
        raise NeedsUnrolling("its items are of several kinds")
    body(item)


def own_loop(iterable: Any, body: Body, *state: str) -> None:
    """A loop of jitflow's own, such as the one that finds where a mask holds: `explain` does not tell of it."""
    current_trace().state(LoopReport).own.add(body.__code__)
    for_(iterable, body, None, state, ())


def _key(body: Body) -> tuple[str, int]:
    code = statement_of(body).__code__
    return code.co_filename, code.co_firstlineno


def _through_a_list(
    items: Any, body: Body, test: Test | None, state: Sequence[str], temporaries: Sequence[str]
) -> None:
    """A loop over a list that its turns may change: Python asks before each of them whether there is another item."""
    position__: Any = 0
    items = items.entered()

    def goes_on() -> Any:
        there_is_one = items.holds_position(position__)
        return there_is_one if test is None else and_(test(), lambda: there_is_one)

    def turn() -> None:
        nonlocal position__
        position__ += 1
        body(items.item(position__ - 1))

    _while(goes_on, turn, Cells(turn, body, test), ("position__", *state), temporaries, body)


def _stepwise(iterator: Any, body: Body, test: Test | None, state: Sequence[str], temporaries: Sequence[str]) -> None:
    """A loop over an iterator of the program's own classes, which takes a step in each turn, the last one in vain."""
    ended__ = False

    def goes_on() -> Any:
        answer = not_(ended__)
        return answer if test is None else and_(test(), lambda: answer)

    def turn() -> None:
        nonlocal ended__
        item, failed = iterator.attempted() if isinstance(iterator, TriedSteps) else attempted_step(iterator)

        def go() -> None:
            body(item)

        def end() -> None:
            nonlocal ended__
            ended__ = True

        answer = truth(failed == 0)
        if isinstance(answer, bool):
            (go if answer else end)()
        else:
            decide(answer, go, end, Cells(go, end, body), ("ended__", *state), temporaries, _key(body))

    _while(goes_on, turn, Cells(turn, goes_on, body, test), ("ended__", *state), temporaries, body)


def _tried(tried: Tried, body: Body, test: Test | None, state: Sequence[str], temporaries: Sequence[str]) -> None:
    """A loop in a ``try`` that is attempted."""
    if type(tried.things) is Alternatives:
        for_each_kind(tried.things, Cells(body, test), state, temporaries, _key(body),
                      lambda thing: _tried(tried.of(thing), body, test, state, temporaries))  # fmt: skip
        return
    with tried.watching():
        items, block, asked = tried.loop(body, test, state, temporaries)
        for_(items, block, asked, state, temporaries)


def _woven(woven: Woven, body: Body, test: Test | None, state: Sequence[str], temporaries: Sequence[str]) -> None:
    """A loop over what an iterator goes through, whose turns run the block for what that gives."""
    woven.begin()
    is_over__: Any = woven.ended

    def goes_on() -> Any:
        answer = not_(is_over__)
        return answer if test is None else and_(test(), lambda: answer)

    def turn(item: Any) -> None:
        gives, thing = woven.sifted(item)

        def go() -> None:
            body(thing)

        def otherwise() -> None:
            nonlocal is_over__
            is_over__ = woven.ends

        answer = truth(gives)
        if isinstance(answer, bool):
            (go if answer else otherwise)()
        else:
            decide(answer, go, otherwise, Cells(go, otherwise, body), names, temporaries, _key(body))

    names = ("is_over__", *state) if woven.ends else state
    asked = within(goes_on, test or body) if woven.ends else test
    for_(woven.items, within(turn, body), asked, names, temporaries)


def _counting(
    start: Any, step: Any, body: Body, test: Test | None, state: Sequence[str], temporaries: Sequence[str]
) -> None:
    """A loop that counts until a turn ends it."""
    number__: Any = start

    def turn() -> None:
        nonlocal number__
        number__ += step
        body(number__ - step)

    assert test is not None
    _while(test, turn, Cells(turn, body, test), ("number__", *state), temporaries, body)


def _over(
    source: Source, loop: Rolling, body: Body, test: Test | None, splits: int = MOST_SPLITS,
    piece: Lessons | None = None,
) -> None:  # fmt: skip
    """A loop over a source that the program has begun to go through."""
    count = source.count
    budget = current_trace().budget
    is_small = isinstance(count, int) and count <= FEW_TURNS
    if isinstance(count, int) and is_small and _may_be_written_out(loop.key, count):
        with budget.unrolling(loop.key, count):
            turns = unrolled(loop, map(source.item, range(count)), body, test)
        note_unrolled(body, "for", turns, "these are few")
        return
    if current_trace().known(count, ">=", 1) is False:
        note_unrolled(body, "for", 0, "there are none")
        return
    try:
        carried = loop.roll(
            lambda position: body(source.item(position)),
            test,
            source,
            splits=splits > 0 and current_trace().state(Nest).splits_left > 0,
            piece=piece,
        )
    except KindsChange as found:
        turn = lambda position: body(source.item(position))  # noqa: E731 - as above
        pieces = Pieces(loop, turn, test, source, found.changes, found.lessons)
        pieces.record(lambda rest, *known: _over(rest, loop, body, test, *known), splits)
    except CannotRoll as problem:
        trace, why = current_trace(), "a loop that cannot be one native loop"
        if trace.is_open(count) or (problem.grows and not isinstance(count, int)):
            raise _refused(problem) from None
        if trace.number_of(count, why) > MOST_TURNS:
            _refused(problem)
            raise _too_many_turns(problem.error, trace.number_of(count, why)) from None
        is_many = not isinstance(count, int) or count > MANY_TURNS
        if not isinstance(count, int) if problem.held == SLOTTED else is_small or is_many:
            begin_anew_with(problem.changed, problem.held, is_wish=True)
        begin_anew_with_asked(problem.error, count if isinstance(count, int) else None)
        number = trace.fix(count, why)
        with writing_out(number, problem.error):
            turns = unrolled(loop, map(source.item, range(number)), body, test)
        note_unrolled(body, "for", turns, problem.reason)
    else:
        note_rolled(body, "for", count, carried)


def _may_be_written_out(key: tuple[str, int], turns: int) -> bool:
    """Whether a loop of few turns is one of few in its nest as well.

    Of a nest that is too large the outer loops become native loops, so that what is inside still fuses. The trace
    starts anew for that, though not before it has come to its end and found all of them.
    """
    trace = current_trace()
    if trace.choices.answer(turns_site(key)):
        return False
    budget = trace.budget
    while not budget.allows(turns):
        trace.begin_anew(Restart(turns_site(budget.give_up())))
    return True


def _too_many_turns(error: UserError, count: int) -> UserError:
    """The error for a loop that would be unrolled if it were shorter."""
    mend = error.mend.partition(", or loop over")[0]
    return located(UserNotImplementedError(f"{error.message}, and {count} turns are too many to write them out",
                                           expected=f"at most {MOST_TURNS} turns", mend=mend))  # fmt: skip


def while_(test: Test, body: Body, state: Sequence[str], temporaries: Sequence[str]) -> None:
    """``while test(): ...``."""
    cells = Cells(body, test)
    _as_guessed(cells, lambda: _while(test, body, cells, state, temporaries, body))


def _while(
    test: Test, body: Body, cells: Cells, state: Sequence[str], temporaries: Sequence[str], statement: Body,
    splits: int = MOST_SPLITS, piece: Lessons | None = None,
) -> None:  # fmt: skip
    """``while test(): body()``; ``statement`` is the user's block, which says where the loop stands."""
    loop = Rolling(cells, state, temporaries, _key(statement))
    before, mutables = cells.read([*cells.names()]), Mutables(cells.contents(), with_stores=True, own=cells.own())
    try:
        with current_trace().region():
            never = truth(test()) is False
    except (Exception, EndOfPath):
        mutables.restore()
        truth(test())  # which Python asks before the first turn: it raises here, behind what was stored before
        raise
    if mutables.changed() or any(cells.get(name) is not thing for name, thing in before.items()):
        mutables.restore()  # it was asked once more than the program asks
        cells.write(before)
        _asked_behind(test, body, state, temporaries, statement)
        return
    if never:
        truth(test())  # which may raise, as Python asks once
        return
    try:
        may_split = splits > 0 and current_trace().state(Nest).splits_left > 0
        carried = loop.roll(lambda position: body(), test, None, splits=may_split, piece=piece)
    except KindsChange as found:
        pieces = Pieces(loop, lambda position: body(), test, None, found.changes, found.lessons)
        pieces.record(lambda _, *known: _while(test, body, cells, state, temporaries, statement, *known), splits)
    except CannotRoll as problem:
        trace = current_trace()
        left_out = trace.left_out
        for turns in range(MOST_TURNS):
            answer = truth(test())
            if trace.left_out > left_out:
                raise trace.restarts[-1] from None
            if not isinstance(answer, bool):
                raise _refused(problem) from None
            if not answer:
                note_unrolled(statement, "while", turns, problem.reason)
                return
            body()
        raise _refused(problem) from None
    else:
        note_rolled(statement, "while", None, carried)


def _asked_behind(test: Test, body: Body, state: Sequence[str], temporaries: Sequence[str], statement: Body) -> None:
    """A loop whose test changes objects: it is asked in front of the loop, and at the end of each turn."""
    goes_on__ = as_bool(test())

    def turn() -> None:
        nonlocal goes_on__
        body()
        goes_on__ = as_bool(test())

    _while(lambda: goes_on__, turn, Cells(turn, body, test), ("goes_on__", *state), temporaries, statement)


def _refused(problem: CannotRoll) -> UserError:
    """The error for a loop that can neither be rolled nor written out. Starts the trace anew where that may help."""
    begin_anew_with(problem.changed, problem.held)
    begin_anew_with_asked(problem.error, None)
    begin_anew_choosing(problem.error)
    return problem.error
