"""Which arrays in returned lists are one object: where the caller may tell, numbers do.

    best = y               an array that is an item of the list as well
    return history, best

An item of a list is a copy, which is as good as the array while the program runs (`taped_lists`). The caller could
tell. So where one array may be in two places of what is returned, the trace starts anew, and the items of these lists
have numbers, as arrays have that paths merge (`control/same.py`): what has one number leaves as one object.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.control.changing_lists import ProgramLists, begin_anew_with_slots
from jitflow.frontend.control.same import EACH, Numbers
from jitflow.frontend.control.told import Origin, numbered_sites
from jitflow.frontend.recording.choices import Restart, Site
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value

__all__ = ["Given", "Giver", "give", "give_again", "may_hold", "number_of_item", "require_items_told",
           "require_nothing_passed", "with_givers"]  # fmt: skip


class Giver(Protocol):
    """A list that has copies of arrays."""

    name: str
    made_at: Site
    numbered: Site
    """Where it is chosen that its items have numbers."""
    put: list[tuple[Value, Scope]]
    """The arrays, and the regions in which they were put there."""

    @property
    def is_numbered(self) -> bool:
        """Whether its items have numbers."""
        raise NotImplementedError


class Given(dict[Value, tuple[Giver, bool]]):
    """By what lies behind the copies of items that lists have given: which list, and whether they stay in it."""


def give(array: Any, giver: Giver, *, stays: bool) -> None:
    """An array is a copy of an item of a list, or of several of them."""
    trace = current_trace()
    trace.state(Given).update(dict.fromkeys(trace.storage.behind(array._value), (giver, stays)))


def give_again(array: Any, whole: Any) -> None:
    """An array is a copy of an item of an array of all items of a list."""
    storage, given = current_trace().storage, current_trace().state(Given)
    for value in storage.behind(whole._value) & given.keys():
        give(array, given[value][0], stays=True)


def _givers(values: Iterable[Value]) -> list[Giver]:
    """The lists that have given arrays, or what is in those that have."""
    trace = current_trace()
    given, behind = trace.state(Given), trace.storage.behind
    found: dict[int, Giver] = {}
    waiting = [*values]
    while waiting:
        givers = {id(given[one][0]): given[one][0] for one in behind(*waiting) if one in given}
        new = {number: giver for number, giver in givers.items() if number not in found}
        found |= new
        waiting = [value for giver in new.values() for value, _ in giver.put]
    return [*found.values()]


def with_givers(giver: Giver) -> list[Giver]:
    """A list, and those that have given what is in it."""
    others = _givers([value for value, _ in giver.put])
    return [giver, *(other for other in others if other is not giver)]


def may_hold(givers: Sequence[Giver]) -> set[Value]:
    """What lies behind the arrays that may be among the items of lists."""
    return current_trace().storage.behind(*(value for giver in givers for value, _ in giver.put))


def require_nothing_passed(givers: Sequence[Giver]) -> None:
    """Raise where an argument may be among the items of lists, of which the caller would get a copy."""
    if any(map(current_trace().storage.is_parameter, may_hold(givers))):
        begin_anew_with_slots(givers[0].made_at)
        raise refusal(
            f"a list that the running program changes, {givers[0].name}, which is returned and has an argument in it",
            "append a copy of it, x.copy(), or return np.array of the list",
        )


def require_items_told(returned: Sequence[tracers.ArrayTracer], lists: Sequence[Any]) -> None:
    """Start the trace anew where the caller may get one array in two places, one of them a list, and no number tells.

    ``lists`` are arrays of all items of the returned ones. Raises where no number could tell.
    """
    if not current_trace().state(Given):
        return
    held = [_givers([array._value]) for array in lists]
    held = [givers for givers in held if givers]
    asked: dict[Site, None] = {}
    for givers in held:
        require_nothing_passed(givers)
        if any(map(_may_repeat, givers)):
            asked |= _sites(givers)
    for givers, others in itertools.combinations(held, 2):
        if may_hold(givers) & may_hold(others):
            asked |= _sites([*givers, *others])
    arrays: list[tuple[tracers.ArrayTracer, list[Giver], bool]] = []
    for array in (array for array in returned if not any(array is whole for whole in lists)):
        asked |= _told_by(array, held, returned, arrays)
    trace = current_trace()
    unasked = [site for site in asked if not trace.choices.is_settled(site)]
    if unasked:
        raise trace.begin_anew(Restart(unasked[0], EACH, others=unasked[1:]))
    _require_told(asked, held, arrays)


def number_of_item(array: tracers.ArrayTracer) -> Any:
    """The number of an array that may be an item of a list whose items have numbers; None if it is none."""
    trace = current_trace()
    if id(array) not in trace.state(Numbers).known:
        return None
    behind = trace.storage.behind(array._value)
    for giver in (giver for giver in trace.state(ProgramLists).growing if giver.is_numbered):
        if _is_among(giver, _givers(behind)) or behind & may_hold(with_givers(giver)):
            return trace.state(Numbers).of(array, each=True)
    return None


def _told_by(
    array: tracers.ArrayTracer, held: Sequence[list[Giver]], returned: Sequence[Any], arrays: list[Any]
) -> dict[Site, None]:
    """The sites that tell whether an array is an item of one of the lists, or of one that has given it."""
    trace = current_trace()
    behind, given, asked = trace.storage.behind(array._value), trace.state(Given), dict[Site, None]()
    own = _givers([array._value])
    if own:
        items = sum(bool(given.keys() & trace.storage.behind(other._value)) for other in returned)
        passed = any(map(trace.storage.is_parameter, may_hold(own)))
        asked |= _sites(own) | dict.fromkeys(numbered_sites(array)) if items > 1 or passed else {}
        arrays.append((array, own, passed))
    for givers in held:
        stays = any(given[one][1] and _is_among(given[one][0], givers) for one in behind & given.keys())
        if stays or behind & may_hold(givers):
            asked |= _sites(givers) | dict.fromkeys(numbered_sites(array))
            arrays.append((array, givers, True))
    return asked


def _is_among(giver: Giver, givers: Iterable[Giver]) -> bool:
    return any(giver is other for other in givers)  # they are lists, which compare otherwise


def _sites(givers: Iterable[Giver]) -> dict[Site, None]:
    """Where it is chosen that what is in lists has numbers: where the lists are made, and where paths merge arrays."""
    trace, found = current_trace(), dict[Site, None]()
    for giver in givers:
        found[giver.numbered] = None
        for value, _ in giver.put:
            found |= Origin(trace, value).sites
    return found


def _may_repeat(giver: Giver) -> bool:
    """Whether a list may hold an array twice. Views are told by themselves: those of a loop are of other elements."""
    trace, seen = current_trace(), set[Value]()
    for value, scope in giver.put:
        behind = {value} if is_part(value) else trace.storage.behind(value)
        if len(behind) > 1 or behind & seen or behind & trace.state(Given).keys() or _is_made_before(value, scope):
            return True
        seen |= behind
    return False


def _is_made_before(value: Value, scope: Scope) -> bool:
    """Whether an array was made before a loop in which a list gets it."""
    storage = current_trace().storage
    home = storage.homes.get(value if is_part(value) else storage.root(value))
    inside = itertools.takewhile(lambda around: around is not home and around.outer is not None, scope.around())
    return any(not (around.once or around.is_branch) for around in inside)


def is_part(value: Value) -> bool:
    """Whether an array is a view, and not the very array that the program has by another name."""
    source = current_trace().storage.source(value)
    while isinstance(source, Value):
        source = current_trace().storage.source(source)
    return source is not None


def _require_told(
    asked: dict[Site, None], held: Sequence[list[Giver]], arrays: Sequence[tuple[Any, list[Giver], bool]]
) -> None:
    """Raise where a list or array that needs a number has none, or an array is a view, which has no number."""
    storage = current_trace().storage
    for giver in (giver for givers in held for giver in givers):
        if giver.numbered in asked:
            is_view = any(is_part(value) for value, _ in giver.put)
            if is_view or not giver.is_numbered:
                raise _refusal(giver, "a returned list")
    for array, givers, is_told in arrays:
        is_view = any(map(storage.is_view_of_argument, (value for giver in givers for value, _ in giver.put)))
        if is_view or (is_told and not current_trace().state(Numbers).tell(array)):
            raise _refusal(givers[0], "an argument" if is_view else "a returned list")


def _refusal(giver: Giver, what: str) -> UserNotImplementedError:
    begin_anew_with_slots(giver.made_at)
    return refusal(
        f"an item of a list that the running program changes, {giver.name}, which is returned, and is that of "
        f"{what} as well",
        "return a copy of it: x.copy()",
    )
