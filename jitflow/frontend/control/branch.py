"""Branches: ``if``, conditional expressions, ``and`` and ``or`` on decisions that the running program makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from jitflow.frontend.control.alternatives import aligned, leaves_the_function
from jitflow.frontend.control.cells import NONE, UNBOUND, Cells
from jitflow.frontend.control.changing_lists import begin_anew_with
from jitflow.frontend.control.kinds import kind_of
from jitflow.frontend.control.logic import OnlyTruth, as_bool, as_python_bool, truth
from jitflow.frontend.control.merge import (
    RETURNED,
    Leaves,
    MaybeNone,
    MaybeUnbound,
    Slot,
    Way,
    agreeing,
    common_kind,
    flatten,
    is_none_somewhere,
    names_of,
    resolved,
    result_of,
    shown_name,
    value_of,
    word,
)
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.raising import EndOfPath, fail
from jitflow.frontend.locate import is_internal
from jitflow.frontend.numpy import selections, values
from jitflow.frontend.objects import Recorded
from jitflow.frontend.scopes import Scope
from jitflow.frontend.storage import Site
from jitflow.frontend.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL
from jitflow.ir.location import Loc
from jitflow.ir.types import Place, Scalar, Tensor, Type

__all__ = ["Path", "and_", "bound", "choose", "decide", "if_", "is_array", "is_none", "join", "none", "or_",
           "outside_type", "require_common_rank", "trace_path", "whether_bound"]  # fmt: skip

_RAISED_BY_PROGRAMS = (UserIndexError, UserValueError, UserZeroDivisionError, UserOverflowError)
"""What a program raises when it runs: on a path that may not be taken it is no mistake to be told now."""
_RAISED_BY_PYTHON = (ArithmeticError, LookupError, ValueError)
"""What Python raises of values that are known, on a path that may not be taken."""


@dataclass(eq=False)
class Path:
    """One traced path: its ops, whether it ends by raising, and what its locals are then."""

    scope: Scope
    ended: bool
    result: Any
    locals: dict[str, Any]


def trace_path(run: Callable[[], Any], read: Callable[[], dict[str, Any]], scope: Scope | None = None) -> Path:
    """Trace one path into a region."""
    trace = current_trace()
    refusals = len(trace.refusals)
    with trace.region(scope) as inside:
        ended, result = False, None
        try:
            result = run()
        except EndOfPath:
            ended = True
        except _RAISED_BY_PROGRAMS as error:
            if isinstance(error, UserNotImplementedError) or len(trace.refusals) > refusals:
                raise
            ended = True
            _raise_later(error)
        except _RAISED_BY_PYTHON as error:
            handled = any(handles(type(error)) for handles in trace.handled)
            if isinstance(error, UserError) or not (handled or _is_of_the_program(error)):
                raise
            ended = True
            _raise_later(error)
        left = {name: _settled(thing) if name.startswith(RETURNED) else thing for name, thing in read().items()}
        selections.find_pending(leaf for thing in (result, *left.values()) for leaf in flatten(resolved(thing)).items)
    return Path(inside, ended, result, left)


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
        fail(kind, error.message if isinstance(error, UserError) else str(error))
    except EndOfPath:
        if isinstance(error, UserError) and isinstance(error.location, Loc):
            builder.relocate_last(error.location)


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
    before, mutables = cells.read(names), Mutables(cells.contents())
    paths = []
    for run in (then, orelse):
        cells.write(before)
        paths.append(trace_path(run, lambda: cells.read(state)))
        _require_unchanged(mutables)
    merged = join(answer, paths, state, key)
    cells.write({**merged, **dict.fromkeys(temporaries, UNBOUND)})
    if all(path.ended for path in paths):
        raise EndOfPath


def _require_unchanged(mutables: Mutables) -> None:
    changed = mutables.changed()
    if changed:
        begin_anew_with(mutables.changed_list())
        mutables.restore()
        raise located(
            UserNotImplementedError(
                f"{changed} that changes on a decision that only the running program makes",
                mend="decide on the elements: use np.where, or an array that is written to",
            )
        )


def choose(test: Any, then: Callable[[], Any], orelse: Callable[[], Any], *calls: Callable[[], Any]) -> Any:
    """``then() if test else orelse()``, which call ``calls``."""
    answer = truth(test)
    if isinstance(answer, bool):
        return then() if answer else orelse()
    functions = [run for run in (then, orelse, *calls) if isinstance(run, FunctionType)]
    written = [run for run in functions if not is_internal(run.__code__.co_filename)]
    mutables, paths = Mutables(Cells(*written).contents()), []
    for run in (then, orelse):
        paths.append(trace_path(run, dict))
        _require_unchanged(mutables)
    for path in paths:
        path.locals = {"the value": path.result}
    here = current_trace().here()
    key = (here.file, here.line)
    found = join(answer, paths, ("the value",), key)["the value"]
    if all(path.ended for path in paths):
        raise EndOfPath
    return found


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
    thing = _read(read, name)
    if isinstance(thing, MaybeNone):
        message = f"{name} is None here: compiled code looks for that in `{name} is None` and `return {name}` alone"
        current_trace().add("check", thing.condition, error="NotImplementedError", message=message)
        return thing.thing
    return None if thing is NONE else thing


def _read(read: Callable[[], Any], name: str) -> Any:
    message = f"cannot access local variable '{name}' where it is not associated with a value"
    try:
        thing = read()
    except NameError:
        if current_trace().scope is not current_trace().root:
            fail(UnboundLocalError, message)  # on a path that may not be taken
        raise UnboundLocalError(message) from None
    if isinstance(thing, MaybeUnbound) and not isinstance(thing, MaybeNone):
        current_trace().add("check", thing.condition, error="UnboundLocalError", message=message)
        return thing.thing
    return thing


def none() -> Any:
    """What a local is bound to that is None for now."""
    return NONE


def is_none(read: Callable[[], Any], name: str) -> Any:
    """``x is None`` of such a local."""
    thing = _read(read, name)
    if isinstance(thing, MaybeNone):
        return as_python_bool(values.emit("logical_not", thing.condition))
    return thing is NONE or thing is None


# -- joining ------------------------------------------------------------------------------------------------


def join(condition: Value, paths: Sequence[Path], names: Sequence[str], key: tuple[str, int]) -> dict[str, Any]:
    """Append the ``if`` op, and return what the locals are behind it."""
    trace = current_trace()
    home = trace.scope
    yielded: list[list[Value]] = [[] for _ in paths]
    slots: list[Slot] = []
    arriving: list[list[Value]] = []
    ways = [Way(home, names_of(resolved(path.locals.get(name, UNBOUND)) for name in names), reused=True)
            for path in paths]  # fmt: skip
    finish: dict[str, Callable[[Sequence[Any]], Any]] = {}

    def merge(name: str, things: list[Any]) -> Callable[[Sequence[Any]], Any]:
        """Decide on one leaf; returns what makes the program's object of the results."""
        live = [thing for path, thing in zip(paths, things, strict=True) if not path.ended]
        if all(thing is UNBOUND for thing in live):
            return lambda results: UNBOUND
        if len(live) == len(paths) and agreeing(live):
            return lambda results: live[0]
        if len(live) < len(paths) and _is_visible(live[0]):
            return lambda results: live[0]
        flags = [path.ended or thing is not UNBOUND for path, thing in zip(paths, things, strict=True)]
        require_common_rank(name, live)
        kind = common_kind(name, [UNBOUND if path.ended else thing for path, thing in zip(paths, things, strict=True)],
                           lambda: trace.size("size"))  # fmt: skip
        site = Site(*key, name)
        slot = Slot(name, kind, site, as_place=site in trace.storage.place_sites and isinstance(kind, Tensor))
        for number, (path, thing) in enumerate(zip(paths, things, strict=True)):
            yielded[number].append(slot.incoming(UNBOUND if path.ended else thing, path.scope, ways[number]))
        slots.append(slot)
        arriving.append([thing._value for thing in live if isinstance(thing, tracers.ArrayTracer)])
        position = len(slots) - 1
        if all(flags):
            return lambda results: results[position]
        holds = condition if flags[0] else values.emit("logical_not", condition)
        return lambda results: MaybeUnbound(results[position], holds)

    partly: list[str] = []
    nones: list[str] = []
    for name in names:
        things = [path.locals.get(name, UNBOUND) for path in paths]
        if is_none_somewhere(thing for path, thing in zip(paths, things, strict=True) if not path.ended):
            nones.append(name)
        finish[name] = _by_leaves(name, [*map(value_of if name in nones else resolved, things)], paths, merge)
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
    made |= {name: MaybeUnbound(resolved(made[name]), bit) for name, bit in bits}
    return made | {name: MaybeNone(made[name].thing, made[name].condition) for name in nones}


def whether_bound(thing: Any) -> Value:
    """Whether what a local holds is bound, as a value."""
    if isinstance(thing, MaybeUnbound):
        found = thing.condition
        return values.emit("cast", found, dtype=BOOL) if values.is_weak(found) else found
    return values.constant(thing is not UNBOUND and thing is not NONE, BOOL)


def is_array(thing: Any) -> bool:
    """Whether it is an array, or the type of one, that has axes."""
    kind = kind_of(thing)
    return isinstance(kind, Tensor) and bool(kind.dims)


def require_common_rank(name: str, things: Sequence[Any]) -> None:
    """Raise `UserTypeError` for a number that would become an array: the program may ask which it is."""
    kinds = [kind for kind in map(kind_of, things) if kind is not None]
    ranks = {len(kind.dims) if isinstance(kind, Tensor) else 0 for kind in kinds}
    if len(ranks) == 2 and 0 in ranks:
        raise located(
            UserTypeError(
                f"{shown_name(name)} is a number on one path and an array on another",
                found=" and ".join(map(str, kinds)),
                mend="make an array of the number: np.full(x.shape, number)",
            )
        )


def _by_leaves(
    name: str,
    things: list[Any],
    paths: Sequence[Path],
    merge: Callable[[str, list[Any]], Callable[[Sequence[Any]], Any]],
) -> Callable[[Sequence[Any]], Any]:
    """Merge a local, tuples and the like item by item if they have one shape on all paths."""
    given = things
    if name.startswith(RETURNED) and leaves_the_function():
        arriving = iter(aligned([thing for thing, path in zip(things, paths, strict=True) if not path.ended]))
        things = [thing if path.ended else next(arriving) for thing, path in zip(things, paths, strict=True)]
    several = any(thing is not other for thing, other in zip(things, given, strict=True))
    leaves: list[Leaves] = [flatten(thing) for thing in things]
    live = [leaf for leaf, path in zip(leaves, paths, strict=True) if not path.ended and not leaf.is_unbound]
    shapes = {repr(leaf.shape) for leaf in live}
    if not live or live[0].shape is None or len(shapes) != 1:
        return merge(name, things)
    count = len(live[0].items)
    items = [leaf.items if leaf in live else (UNBOUND,) * count for leaf in leaves]
    makers = [merge(f"{name}[{number}]", [parts[number] for parts in items]) for number in range(count)]

    def make_all(results: Sequence[Any]) -> Any:
        made = [make(results) for make in makers]
        partial = [thing for thing in made if isinstance(thing, MaybeUnbound)]
        whole = live[0].rebuild([resolved(thing) for thing in made])
        if several:  # kinds that are not the chosen one are unbound, and nobody asks for what is not returned
            partial = []
        return MaybeUnbound(whole, partial[0].condition) if partial else whole

    return make_all


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
