"""Behind a branch: the locals of its paths, joined in the op and bound to what comes out of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.alternatives import aligned, of_own_kinds, released
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.changing_lists import drain_lists, is_made_inside
from jitflow.frontend.control.identity import (
    is_chosen_by_identity,
    remember_choice,
    remember_made_of,
    remember_renewed,
    remember_torn,
    shown_by_others,
    with_contents,
)
from jitflow.frontend.control.implications import note_chosen
from jitflow.frontend.control.leaves import can_change, flatten, parts_of
from jitflow.frontend.control.merge import (
    MaybeUnbound,
    Slot,
    Way,
    agreeing,
    common_kind,
    is_there_before,
    names_of,
    resolved,
    result_of,
    shown_name,
    word,
)
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.paths import Path
from jitflow.frontend.control.possible_kinds import narrowed
from jitflow.frontend.control.returning import is_returned_itself
from jitflow.frontend.control.same import is_numbered
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import Alternatives
from jitflow.frontend.tracers.alternatives import Kinds
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL
from jitflow.ir.types import Place, Scalar, Tensor, Type

__all__ = ["join", "outside_type", "whether_bound"]

LeftIn = Callable[[Path, Any], Any]


def join(
    condition: Value,
    paths: Sequence[Path],
    names: Sequence[str],
    key: tuple[str, int],
    before: Mutables | None = None,
    left_in: LeftIn = lambda path, thing: thing,
    inside: Sequence[Path] = (),
) -> dict[str, Any]:
    """Append the ``if`` op, and return what the locals are behind it; ``before`` are the objects that others know.

    ``left_in`` gives what a path has left in one. Paths that end ``inside`` of others have regions that yield the same.
    """
    trace = current_trace()
    own, paths = len(paths), (*paths, *inside)
    home, before = trace.scope, before or Mutables(())
    yielded: list[list[Value]] = [[] for _ in paths]
    slots: list[Slot] = []
    arriving: list[list[Value]] = []
    decided: dict[int, Sequence[Any]] = {}
    """The bools that say something of the condition, and of what they are on the paths of a branch."""
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
        bound = [thing for thing in live if thing is not UNBOUND]
        flags = [path.ended or thing is not UNBOUND for path, thing in zip(paths, things, strict=True)]
        whether: Value | None = (
            None if lacking or all(flags) else condition if flags[0] else values.emit("logical_not", condition)
        )

        def where_bound(thing: Any) -> Any:
            return thing if whether is None else MaybeUnbound(thing, whether)

        is_known = is_there_before(bound[0]) or _is_known(before, paths, bound[0])
        if len(bound) < len(live) and is_known and all(thing is bound[0] for thing in bound):
            return lambda results: where_bound(bound[0])
        kind = common_kind(name, [UNBOUND if path.ended else thing for path, thing in zip(paths, things, strict=True)],
                           lambda: trace.size("size"))  # fmt: skip
        site = Site(Choice.MERGED_AS_MEMORY, *key, name)
        as_place = isinstance(kind, Tensor) and trace.storage.is_place(site)
        slot = Slot(name, kind, site, as_place, is_branch=not trace.storage.is_in_a_loop)
        for number, (path, thing) in enumerate(zip(paths, things, strict=True)):
            yielded[number].append(slot.incoming(UNBOUND if path.ended else thing, path.scope, ways[number]))
        slots.append(slot)
        arriving.append([thing._value for thing in live if isinstance(thing, tracers.ArrayTracer)])
        position = len(slots) - 1
        if isinstance(kind, Scalar) and kind.dtype == BOOL and all(path.scope.is_branch for path in paths):
            decided[position] = things
        return lambda results: where_bound(results[position])

    left: dict[tuple[Path, int], Any] = {}

    def leaving(path: Path, thing: Any) -> Any:
        """What leaves a path: one object by all its names."""
        if (path, id(thing)) not in left:
            left[path, id(thing)] = _released(path, thing, before)
            remember_renewed(thing, left[path, id(thing)])
        return left[path, id(thing)]

    partly: list[str] = []
    known_objects: dict[Any, tuple[Sequence[Any], Callable[[Sequence[Any]], Any]]] = {}
    for name in names:
        things = [path.locals.get(name, UNBOUND) for path in paths]
        settled = _of_known_kinds(paths, [*map(resolved, things)])
        known = [leaving(path, thing) for path, thing in zip(paths, settled, strict=True)]
        site = Site(Choice.CHOSEN_BY_IDENTITY, *key, name)
        finish[name] = _by_leaves(site, known, paths, merge, before, known_objects, left_in)
        if any(isinstance(thing, MaybeUnbound) for path, thing in zip(paths, things, strict=True) if not path.ended):
            partly.append(name)
    for items, path in zip(yielded, paths, strict=True):
        with trace.region(path.scope):
            items += [whether_bound(True if path.ended else path.locals.get(name, UNBOUND)) for name in partly]
            drain_lists()
    for path, items in zip(inside, yielded[own:], strict=True):
        path.region, path.slots = path.scope.close((), items), [slot.name for slot in slots]
    regions = tuple(path.scope.close((), items) for path, items in zip(paths[:own], yielded, strict=False))
    types = [*(outside_type(slot.type) for slot in slots), *(Scalar(BOOL) for _ in partly)]
    hints = [word(name) for name in (*(slot.name for slot in slots), *(f"{name} is bound" for name in partly))]
    found = trace.add("if", condition, types=types, regions=regions, names=hints)
    ends = [None if path.ended else path.scope.knowledge for path in paths]
    for position, bools in decided.items():
        note_chosen(condition, ends, bools, found[position])
    results = []
    for slot, value, arrays in zip(slots, found[: len(slots)], arriving, strict=True):
        trace.storage.arrive(value, arrays)
        if isinstance(value.type, Tensor | Place):
            slot.kind = Tensor(value.type.dtype, value.type.dims)
        results.append(result_of(slot, value))
    made = {name: make(results) for name, make in finish.items()}
    is_left = [not path.ended for path in paths]
    remember_torn(
        (([*itertools.compress(kinds, is_left)], make(results)) for kinds, make in known_objects.values()),
        before,
    )
    bits = zip(partly, found[len(slots) :], strict=True)
    return made | {name: MaybeUnbound(resolved(made[name]), bit) for name, bit in bits}


def _of_known_kinds(paths: Sequence[Path], things: Sequence[Any]) -> Sequence[Any]:
    """What the paths leave under a name: of a value that only some of them have, the one kind that it has on a path."""
    if all(thing is things[0] for thing in things):
        return things
    found = []
    for path, thing in zip(paths, things, strict=True):
        with current_trace().region(path.scope):
            found.append(narrowed(thing))
    return found


def _released(path: Path, thing: Any, before: Mutables) -> Any:
    if path.ended or thing is UNBOUND:
        return thing
    with current_trace().region(path.scope):
        return released(thing, partial(_is_known, before, [path]), remember_made_of)


def _as_left(path: Path, thing: Any, left_in: LeftIn, before: Mutables, others: Mutables) -> Any:
    """What leaves a path: objects that are no kinds of their own are merged with what the path has left in them.

    Those that have ``others`` for names are kinds of their own from here on.
    """
    if path.ended or type(thing) is not Alternatives:
        return thing
    with current_trace().region(path.scope):
        thing = of_own_kinds(thing, lambda held: _is_known(before, [path], held)
                             and any(map(others.holds, with_contents([held]))))  # fmt: skip
    kinds = current_trace().state(Kinds).options
    own = {number: any(held is one for one in kinds[number].objects) for number, held in thing.options.items()}
    options = {number: held if own[number] else left_in(path, held) for number, held in thing.options.items()}
    if all(options[number] is held for number, held in thing.options.items()):
        return thing
    left = Alternatives(thing.chosen, options, thing.name, thing.words)
    remember_renewed(thing, left)
    return left


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
    known_objects: dict[Any, tuple[Sequence[Any], Callable[[Sequence[Any]], Any]]],
    left_in: LeftIn,
) -> Callable[[Sequence[Any]], Any]:
    """Merge a local, tuples and the like item by item if they have one shape on all paths, or are brought into one.

    ``known_objects`` are those that other names have on the paths: what is one object on each of them stays one.
    """
    name = site.name.removesuffix(" is")
    live = [thing for thing, path in zip(things, paths, strict=True) if not path.ended]
    is_one = bool(live) and live[0] is not UNBOUND and all(thing is live[0] for thing in live)
    if is_one and (len(live) == len(paths) or _is_known(before, paths, live[0])):
        return lambda results: live[0]
    if chosen_by_identity := is_chosen_by_identity(site):
        others = shown_by_others(name)
        things = [_as_left(path, thing, left_in, before, others) for path, thing in zip(paths, things, strict=True)]
        live = [thing for thing, path in zip(things, paths, strict=True) if not path.ended]
    keeps_objects = current_trace().storage.keeps_objects((site.file, site.line), name)
    is_returned = current_trace().is_passed if keeps_objects else is_returned_itself(name)

    def is_chosen(thing: Any) -> bool:
        return chosen_by_identity and not is_made_inside(thing) and _is_known(before, paths, thing)

    found: list[Any] = []
    if is_numbered((site.file, site.line), name):  # which tells which array it is
        found = aligned(live, shown_name(name), is_chosen)
    if not found or any(type(thing) is Alternatives for thing in found):
        found = aligned(live, shown_name(name), lambda thing: is_returned(thing) or is_chosen(thing))
    arriving = iter(found)
    whole = [UNBOUND if path.ended else next(arriving) for path in paths]

    def by_parts(
        name: str, things: Sequence[Any], kinds: Sequence[Any], lacking: bool
    ) -> Callable[[Sequence[Any]], Any]:
        if all(kind is kinds[0] for kind in kinds) and _is_known(before, paths, kinds[0]):
            return lambda results: kinds[0]
        bound = [thing for thing in things if thing is not UNBOUND]
        is_known = bool(bound) and _is_known(before, paths, bound[0])
        if 0 < len(bound) < len(live) and is_known and all(thing is bound[0] for thing in bound):
            return merge(name, list(things), lacking)
        if not any(can_change(kind) or type(kind) is Alternatives for kind in kinds):
            return made_of_parts(name, things, kinds, lacking)
        key = (*map(id, kinds), lacking, chosen_by_identity)
        if key not in known_objects:
            known_objects[key] = kinds, _once(made_of_parts(name, things, kinds, lacking))
        return known_objects[key][1]

    def made_of_parts(
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
        # Of a value of several kinds, the number that is chosen tells whether it is bound.
        makers = [by_parts(f"{name}[{number}]", column, known, lacking or (several and number > 0))
                  for number, (column, known) in enumerate(
                      zip(zip(*rows, strict=True), zip(*before_aligned, strict=True), strict=True))]  # fmt: skip

        def make_all(results: Sequence[Any]) -> Any:
            made = [make(results) for make in makers]
            partial = [thing for thing in made if isinstance(thing, MaybeUnbound)]
            thing = first.make([resolved(part) for part in made])
            for left in (*things, *kinds):
                remember_made_of(left, thing, site, alone=True)
            remember_choice(site, kinds, [thing], before)
            return MaybeUnbound(thing, partial[0].condition) if partial else thing

        return make_all

    return by_parts(name, whole, things, lacking=False)


def _once(make: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    """What makes an object once, however many names it has."""
    made: list[Any] = []

    def make_once(results: Sequence[Any]) -> Any:
        if not made:
            made.append(make(results))
        return made[0]

    return make_once


def _is_known(before: Mutables, paths: Sequence[Path], thing: Any) -> bool:
    """Whether others may know an object: it was there before, and no path has made it."""
    return before.holds(thing) and not _is_made_in(paths, thing)


def _is_made_in(paths: Sequence[Path], thing: Any) -> bool:
    """Whether the ops of a path have made it, as a dict of the running program: nothing else has its reference."""
    if not isinstance(thing, Recorded):
        return False
    made = [leaf.value for leaf in flatten(thing).items if isinstance(leaf, tracers.Tracer)]
    return any(value in op.results for value in made for path in paths for op in path.scope.builder.ops)


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
