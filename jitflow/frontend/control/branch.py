"""Branches: ``if``, conditional expressions, ``and`` and ``or`` on decisions that the running program makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import (
    UserError,
    UserIndexError,
    UserNotImplementedError,
    UserOverflowError,
    UserTypeError,
    UserValueError,
    UserZeroDivisionError,
)
from jitflow.frontend.control.alternatives import aligned, released
from jitflow.frontend.control.cells import UNBOUND, Cells
from jitflow.frontend.control.contents import Changes
from jitflow.frontend.control.identity import is_chosen_by_identity, remember_choice
from jitflow.frontend.control.leaves import flatten, parts_of
from jitflow.frontend.control.logic import OnlyTruth, as_bool, truth
from jitflow.frontend.control.merge import (
    MaybeUnbound,
    Slot,
    Way,
    agreeing,
    common_kind,
    names_of,
    resolved,
    result_of,
    shown_name,
    word,
)
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.raising import EndOfPath, fail
from jitflow.frontend.control.returning import RETURNED, is_returned_itself, leaves_the_function
from jitflow.frontend.control.sharing import Path, traced_paths
from jitflow.frontend.control.trying import Statements
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.locate import in_pythons_words, innermost_place, is_internal
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import Alternatives, ArrayTracer
from jitflow.frontend.tracers.alternatives import Kinds
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL
from jitflow.ir.location import Loc
from jitflow.ir.types import Place, Scalar, Tensor, Type

__all__ = ["Path", "and_", "bound", "choose", "choose_path", "decide", "if_", "join", "or_",
           "outside_type", "trace_path", "whether_bound"]  # fmt: skip

_RAISED_BY_PROGRAMS = (UserIndexError, UserTypeError, UserValueError, UserZeroDivisionError, UserOverflowError)
"""What a program raises when it runs: on a path that may not be taken it is no mistake to be told now."""
_RAISED_BY_PYTHON = (ArithmeticError, LookupError, TypeError, ValueError)
"""What Python raises of values that are known, on a path that may not be taken."""


def trace_path(
    run: Callable[[], Any],
    read: Callable[[], dict[str, Any]],
    scope: Scope | None = None,
    *,
    assuming: tuple[Value, bool] | None = None,
    mistakes: tuple[type[Exception], ...] = (),
) -> Path:
    """Trace one path into a region.

    It is taken if a condition holds or does not, as ``assuming`` says. The ``mistakes`` are raised when the program
    runs and comes to them.
    """
    trace = current_trace()
    refusals = len(trace.refusals)
    mistake: Exception | None = None
    raised: tuple[type[Exception], ...] = (*_RAISED_BY_PROGRAMS, *mistakes)
    with trace.region(scope) as inside:
        if assuming is not None and assuming[0] in (implied := trace.state(Kinds).implied):
            tag, *numbers = implied[assuming[0]]
            inside.assumed[tag] = numbers[0] if assuming[1] else numbers[1]
        ended, result = False, None
        try:
            result = run()
        except EndOfPath:
            ended = True
        except raised as error:
            refused = isinstance(error, UserTypeError | UserNotImplementedError) and not error.is_mistake
            if (refused and not isinstance(error, mistakes)) or (len(trace.refusals) > refusals and not mistakes):
                raise
            del trace.refusals[refusals:]
            ended = True
            mistake = error if isinstance(error, mistakes) else None
            _raise_later(error)
        except _RAISED_BY_PYTHON as error:
            if isinstance(error, UserError) or not _is_raised(error):
                raise
            ended = True
            _raise_later(error)
        left = {name: _settled(thing) if name.startswith(RETURNED) else thing for name, thing in read().items()}
        for leaf in (leaf for thing in (result, *left.values()) for leaf in flatten(resolved(thing)).items):
            if isinstance(leaf, ArrayTracer):
                leaf.finish()
    return Path(inside, ended, result, left, mistake)


def _is_raised(error: Exception) -> bool:
    """Whether what Python raised is the program's: a handler of its is for it, or a line of its raised it."""
    handlers = current_trace().state(Statements).handled
    return any(handles(type(error)) for handles in handlers) or _is_of_the_program(error)


def _is_of_the_program(error: Exception) -> bool:
    """Whether a line of the user's raised it, and no function that it calls."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and not is_internal(at.tb_frame.f_code.co_filename)


def _settled(thing: Any) -> Any:
    """What is returned, if it leaves the compiled function: no list that grows, for its memory is that of a path."""
    if isinstance(thing, Recorded):
        return thing.returned() if leaves_the_function() else thing
    if type(thing) in (tuple, list) and any(isinstance(item, Recorded) for item in thing):
        return type(thing)(map(_settled, thing))
    return thing


def _raise_later(error: Exception) -> None:
    kind = next(base for base in type(error).__mro__ if base.__module__ == "builtins")
    builder = current_trace().builder
    try:
        fail(kind, error.message if isinstance(error, UserError) else in_pythons_words(str(error)))
    except EndOfPath:
        place = error.location if isinstance(error, UserError) else innermost_place(error)
        if isinstance(place, Loc):
            builder.relocate_last(place)


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
    before, objects = cells.read(names), Changes(cells.contents())

    def trace_one(run: Callable[[], Any]) -> Path:
        cells.write(before)
        path = trace_path(run, lambda: cells.read(state), assuming=(answer, run is then))
        objects.take_back(path)
        return path

    def join_here(paths: Sequence[Path], names: Sequence[str]) -> dict[str, Any]:
        return join(answer, paths, names, key, objects.before)

    paths = traced_paths((then, orelse), trace_one, join_here, objects.before, key)
    contents = objects.as_locals(paths)
    merged = join_here(paths, (*state, *contents))
    objects.write({name: merged.pop(name) for name in contents})
    cells.write({**merged, **dict.fromkeys(temporaries, UNBOUND)})
    if all(path.ended for path in paths):
        raise EndOfPath


def choose(test: Any, then: Callable[[], Any], orelse: Callable[[], Any], *calls: Callable[[], Any]) -> Any:
    """``then() if test else orelse()``, which call ``calls``."""
    answer = truth(test)
    if isinstance(answer, bool):
        return then() if answer else orelse()
    functions = [run for run in (then, orelse, *calls) if isinstance(run, FunctionType)]
    written = [run for run in functions if not is_internal(run.__code__.co_filename)]
    return choose_path(answer, then, orelse, Cells(*written).contents())


def choose_path(
    answer: Value,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    reached: Iterable[Any],
    mistakes: tuple[type[Exception], ...] = (),
) -> Any:
    """`choose` where the running program decides. What is ``reached`` leads to all objects that the paths may change.

    ``mistakes`` are raised when the program comes to them, unless both paths end with one.
    """
    objects, here = Changes(reached), current_trace().here()
    key = (here.file, here.line)

    def trace_one(run: Callable[[], Any]) -> Path:
        path = trace_path(run, dict, assuming=(answer, run is then), mistakes=mistakes)
        objects.take_back(path)
        return path

    def join_here(paths: Sequence[Path], names: Sequence[str]) -> dict[str, Any]:
        return join(answer, paths, names, key, objects.before)

    paths = traced_paths((then, orelse), trace_one, join_here, objects.before, key)
    for path in paths:
        path.locals = {"the value": path.result}
    contents = objects.as_locals(paths)
    first = paths[0].mistake
    if first is not None and paths[1].mistake is not None:
        raise first
    found = join_here(paths, ("the value", *contents))
    objects.write({name: found[name] for name in contents})
    if all(path.ended for path in paths):
        raise EndOfPath
    return found["the value"]


def and_(left: Any, right: Callable[[], Any]) -> Any:
    """``left and right()``."""
    if isinstance(left, Recorded):
        return OnlyTruth(choose(as_bool(left), lambda: as_bool(right()), lambda: False, right))
    if not isinstance(left, tracers.Tracer):
        return choose(left, right, lambda: left)
    other = _Other(right)
    return other.of(choose(left, other, lambda: left, right))


def or_(left: Any, right: Callable[[], Any]) -> Any:
    """``left or right()``."""
    if isinstance(left, Recorded):
        return OnlyTruth(choose(as_bool(left), lambda: True, lambda: as_bool(right()), right))
    if not isinstance(left, tracers.Tracer):
        return choose(left, lambda: left, right)
    other = _Other(right)
    return other.of(choose(left, lambda: left, other, right))


class _Other:
    """The right operand of ``and`` or ``or``; of a list only its truth."""

    def __init__(self, right: Callable[[], Any]) -> None:
        self._right, self._is_list = right, False

    def __call__(self) -> Any:
        thing = self._right()
        self._is_list = isinstance(thing, Recorded) or type(thing) is list
        return as_bool(thing) if self._is_list else thing

    def of(self, found: Any) -> Any:
        """What the whole expression gives."""
        return OnlyTruth(found) if self._is_list else found


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


def join(
    condition: Value,
    paths: Sequence[Path],
    names: Sequence[str],
    key: tuple[str, int],
    before: Mutables | None = None,
) -> dict[str, Any]:
    """Append the ``if`` op, and return what the locals are behind it; ``before`` are the objects that others know."""
    trace = current_trace()
    home = trace.scope
    yielded: list[list[Value]] = [[] for _ in paths]
    slots: list[Slot] = []
    arriving: list[list[Value]] = []
    ways = [Way(home, names_of(resolved(path.locals.get(name, UNBOUND)) for name in names), reused=True)
            for path in paths]  # fmt: skip
    finish: dict[str, Callable[[Sequence[Any]], Any]] = {}

    def merge(name: str, things: list[Any], lacking: bool) -> Callable[[Sequence[Any]], Any]:
        """Decide on one leaf; returns what makes the program's object of the results.

        Where it is ``lacking``, it is unbound because the whole is of another kind.
        """
        live = [thing for path, thing in zip(paths, things, strict=True) if not path.ended]
        if all(thing is UNBOUND for thing in live):
            return lambda results: UNBOUND
        if len(live) == len(paths) and agreeing(live):
            return lambda results: live[0]
        if len(live) < len(paths) and _is_visible(live[0]):
            return lambda results: live[0]
        flags = [path.ended or thing is not UNBOUND for path, thing in zip(paths, things, strict=True)]
        kind = common_kind(name, [UNBOUND if path.ended else thing for path, thing in zip(paths, things, strict=True)],
                           lambda: trace.size("size"))  # fmt: skip
        site = Site(Choice.MERGED_AS_MEMORY, *key, name)
        as_place = isinstance(kind, Tensor) and trace.storage.is_place(site)
        slot = Slot(name, kind, site, as_place, is_branch=not trace.storage.is_in_a_loop)
        for number, (path, thing) in enumerate(zip(paths, things, strict=True)):
            yielded[number].append(slot.incoming(UNBOUND if path.ended else thing, path.scope, ways[number]))
        slots.append(slot)
        came = [thing._value for thing in live if isinstance(thing, tracers.ArrayTracer)]
        arriving.append([value for value in came if value not in slot.copied])
        position = len(slots) - 1
        if lacking or all(flags):
            return lambda results: results[position]
        holds = condition if flags[0] else values.emit("logical_not", condition)
        return lambda results: MaybeUnbound(results[position], holds)

    partly: list[str] = []
    for name in names:
        things = [path.locals.get(name, UNBOUND) for path in paths]
        known = [_released(path, resolved(thing), before) for path, thing in zip(paths, things, strict=True)]
        site = Site(Choice.CHOSEN_BY_IDENTITY, *key, name)
        finish[name] = _by_leaves(site, known, paths, merge, before or Mutables(()))
        if any(isinstance(thing, MaybeUnbound) for path, thing in zip(paths, things, strict=True) if not path.ended):
            partly.append(name)
    for items, path in zip(yielded, paths, strict=True):
        with trace.region(path.scope):
            items += [whether_bound(True if path.ended else path.locals.get(name, UNBOUND)) for name in partly]
    regions = tuple(
        path.scope.close((), items) for path, items in zip(paths, yielded, strict=True)
    )  # fmt: skip
    types = [*(outside_type(slot.type) for slot in slots), *(Scalar(BOOL) for _ in partly)]
    hints = [word(name) for name in (*(slot.name for slot in slots), *(f"{name} is bound" for name in partly))]
    found = trace.add("if", condition, types=types, regions=regions, names=hints)
    results = []
    for slot, value, arrays in zip(slots, found[: len(slots)], arriving, strict=True):
        trace.storage.arrive(value, arrays)
        if isinstance(value.type, Tensor | Place):
            slot.kind = Tensor(value.type.dtype, value.type.dims)
        results.append(result_of(slot, value))
    made = {name: make(results) for name, make in finish.items()}
    bits = zip(partly, found[len(slots) :], strict=True)
    return made | {name: MaybeUnbound(resolved(made[name]), bit) for name, bit in bits}


def _released(path: Path, thing: Any, before: Mutables | None) -> Any:
    if path.ended or thing is UNBOUND:
        return thing
    with current_trace().region(path.scope):
        return released(thing, (lambda thing: False) if before is None else before.holds)


def whether_bound(thing: Any) -> Value:
    """Whether what a local holds is bound, as a value."""
    if isinstance(thing, MaybeUnbound):
        found = thing.condition
        return values.emit("cast", found, dtype=BOOL) if values.is_weak(found) else found
    return values.constant(thing is not UNBOUND, BOOL)


def _by_leaves(
    site: Site,
    things: list[Any],
    paths: Sequence[Path],
    merge: Callable[[str, list[Any], bool], Callable[[Sequence[Any]], Any]],
    before: Mutables,
) -> Callable[[Sequence[Any]], Any]:
    """Merge a local, tuples and the like item by item if they have one shape on all paths, or are brought into one."""
    name = site.name.removesuffix(" is")
    live = [thing for thing, path in zip(things, paths, strict=True) if not path.ended]
    if len(live) == len(paths) and live[0] is not UNBOUND and all(thing is live[0] for thing in live):
        return lambda results: live[0]
    by_identity = is_chosen_by_identity(site)
    keeps_objects = current_trace().storage.keeps_objects((site.file, site.line), name)
    is_returned = current_trace().is_passed if keeps_objects else is_returned_itself(name)
    is_itself = lambda thing: is_returned(thing) or (by_identity and before.holds(thing))  # noqa: E731 - two questions
    arriving = iter(aligned(live, shown_name(name), is_itself))
    whole = [UNBOUND if path.ended else next(arriving) for path in paths]

    def by_parts(
        name: str, things: Sequence[Any], kinds: Sequence[Any], lacking: bool
    ) -> Callable[[Sequence[Any]], Any]:
        taken = [parts_of(thing) for thing in things]
        bound = [parts for parts, thing in zip(taken, things, strict=True) if thing is not UNBOUND]
        first = bound[0] if bound else None
        if first is None or any(parts is None or repr(parts.shape) != repr(first.shape) for parts in bound):
            return merge(name, list(things), lacking)
        several = type(next(thing for thing in things if thing is not UNBOUND)) is Alternatives
        rows = [[UNBOUND] * len(first.items) if parts is None else parts.items for parts in taken]
        before_aligned = [row if parts is None or repr(parts.shape) != repr(first.shape) else parts.items
                          for row, parts in zip(rows, map(parts_of, kinds), strict=True)]  # fmt: skip
        makers = [by_parts(f"{name}[{number}]", column, known, lacking or several)
                  for number, (column, known) in enumerate(
                      zip(zip(*rows, strict=True), zip(*before_aligned, strict=True), strict=True))]  # fmt: skip

        def make_all(results: Sequence[Any]) -> Any:
            made = [make(results) for make in makers]
            partial = [] if several else [thing for thing in made if isinstance(thing, MaybeUnbound)]
            thing = first.make([resolved(part) for part in made])
            if not by_identity:
                remember_choice(site, kinds, [thing], before)
            return MaybeUnbound(thing, partial[0].condition) if partial else thing

        return make_all

    return by_parts(name, whole, things, lacking=False)


def _is_visible(thing: Any) -> bool:
    """Whether what a path left may be used behind the branch as it is: the other paths never come here."""
    passed = current_trace().is_passed
    made = any(isinstance(leaf, tracers.Tracer) and not passed(leaf) for leaf in flatten(thing).items)
    return not made and thing is not UNBOUND


def outside_type(kind: Type) -> Type:
    """A type whose sizes are known outside of the region: new names for those that are not."""
    trace = current_trace()
    if not isinstance(kind, Tensor | Place):
        return kind
    visible = trace.is_visible_in(trace.scope)
    return replace(kind, dims=tuple(dim if visible(dim) else trace.size("size") for dim in kind.dims))
