"""What is of one kind on one path and of another on another: both are kept, with a number that says which it is.

    if not mask.any():
        return None             `Alternatives` of None and of an f64
    return x[mask].mean()

The kinds have numbers of their own in a trace. Where paths meet, each brings the number of its kind and the values of
that kind; the values of other kinds are unbound on it. So merging (`merge.py`) and loops (`rolling.py`) treat the whole
as a structure like any other, and nothing is converted: 0 stays Python's int though the other path has a NumPy scalar.
What the program does with such a value is done once for each kind (`switching.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any, cast

from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.changing_lists import begin_anew_beside
from jitflow.frontend.control.leaves import flatten, option_of, parts_of
from jitflow.frontend.control.local_types import converted, kind_of
from jitflow.frontend.outside.pooled_objects import begin_anew_pooled, is_of_users_class
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.texts.building import can_be_built, is_text
from jitflow.frontend.texts.traced import is_text_value
from jitflow.frontend.tracers import Alternatives, Tracer, lift, wrap
from jitflow.frontend.tracers.alternatives import Kinds
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Tensor

__all__ = ["aligned", "described", "number_of", "of_own_kinds", "option", "released", "with_made_texts"]


def aligned(
    things: Sequence[Any], name: str, is_itself: Callable[[Any], bool] = lambda thing: False, *, grows: bool = False,
    is_part: bool = False,
) -> list[Any]:  # fmt: skip
    """The things that a local is on several paths, in one structure: of what differs in kind, alternatives.

    What cannot be kept apart is given back as it is. An object of which ``is_itself`` says so is a kind of its own.
    Where it ``grows``, the paths are turns of a loop, each of which may find what the last one has left. Whether
    something without numbers and arrays is bound, a number tells; of what ``is_part``, others tell.
    """
    bound = [thing for thing in things if thing is not UNBOUND]
    if any(map(is_text, bound)) and _are_one_text(bound, grows=grows):
        return [thing if thing is UNBOUND else surface.merged_text(thing) for thing in things]
    parts = [None if is_itself(thing) else parts_of(thing) for thing in bound]
    is_told = is_part or len(bound) == len(things) or any(flatten(thing).items for thing in bound)
    has_one_shape = len({None if part is None else repr(part.shape) for part in parts} - {None}) == 1
    if has_one_shape and None not in parts and is_told:
        return _aligned_parts(things, name, is_itself, grows) if type(bound[0]) is not Alternatives else list(things)
    if grows:
        _begin_anew_with_nodes(bound)
    begin_anew_beside(
        each for thing in bound for each in (thing.options.values() if type(thing) is Alternatives else [thing])
    )
    if not any(type(thing) is Alternatives for thing in bound):
        found = [option_of(thing, is_itself) for thing in bound]
        partly = len(bound) < len(things) and any(option is not None and option.has_constants for option in found)
        if None in found or (len({option.key for option in found if option is not None}) < 2 and not partly):
            return list(things)
    numbers: dict[int, Any] = {}
    words: dict[int, str] = {}
    chosen: list[Any] = []
    for thing in things:
        if thing is UNBOUND:
            chosen.append(None)
            continue
        if type(thing) is Alternatives:
            numbers.update(dict.fromkeys(thing.options))
            words |= thing.words
            chosen.append(thing.chosen)
            continue
        number = number_of(thing, is_itself)
        if number is None:
            return list(things)
        numbers[number] = None
        words.setdefault(number, f"{described(thing)} at {current_trace().here()}")
        chosen.append(number)
    absent = {number: UNBOUND if known.traced else known.leaves.rebuild(known.leaves.items)
              for number in sorted(numbers) for known in [current_trace().state(Kinds).options[number]]}  # fmt: skip
    result = []
    for thing, number in zip(things, chosen, strict=True):
        if type(thing) is Alternatives and len(thing.options) == len(numbers):
            result.append(thing)
            continue
        own = thing.options if type(thing) is Alternatives else {number: thing}
        result.append(thing if thing is UNBOUND else Alternatives(number, {**absent, **own}, name, words))
    return result


def _begin_anew_with_nodes(things: Sequence[Any]) -> None:
    """Start the trace anew where turns leave objects that hold others of their class, more with each turn."""
    for thing in things:
        several = thing.options.values() if type(thing) is Alternatives else (thing,)
        for one in (one for one in several if one is not UNBOUND and is_of_users_class(one)):
            if any(type(part) is type(one) for part in _inside(one)):
                begin_anew_pooled([one])


def _inside(thing: Any) -> Iterator[Any]:
    """What a structure holds, one level down, and what that may be."""
    parts = parts_of(thing)
    for part in () if parts is None else parts.items:
        yield from part.options.values() if type(part) is Alternatives else (part,)


_MOST_TEXTS = 4
"""How many known texts, or forms of text, a local may be of before it is made character by character."""


def _are_one_text(things: Sequence[Any], *, grows: bool) -> bool:
    """Whether texts of several paths are to be made character by character, and can be."""
    if all(map(is_text_value, things)):
        return False
    several = [thing.options.values() if type(thing) is Alternatives else (thing,) for thing in things]
    held = [one for options in several for one in options if one is not UNBOUND]
    if not all(map(can_be_built, held)):
        return False
    forms = {repr(flatten(one).shape) if type(one) is TracedText else one for one in held if not is_text_value(one)}
    if len(forms) > _MOST_TEXTS or any(map(is_text_value, held)):
        return True
    known = all(type(one) is str for one in held)
    return grows and len(forms) > 1 and (not known or any(map(_is_longer, forms, repeat(forms))))


def _is_longer(text: str, others: Iterable[str]) -> bool:
    """Whether a text is one of the others with something more."""
    return any(one and one != text and (text.startswith(one) or text.endswith(one)) for one in others)


def with_made_texts(thing: Any) -> Any:
    """What a call gives, of which the calls around it make more: text that grows is made character by character."""
    if type(thing) is TracedText or (type(thing) is Alternatives and is_text(thing)):
        forms = [thing, ""] if type(thing) is TracedText else [thing]
        return surface.merged_text(thing) if _are_one_text(forms, grows=True) else thing
    parts = parts_of(thing) if type(thing) in (tuple, list) else None
    if parts is None:
        return thing
    items = [*map(with_made_texts, parts.items)]
    return thing if all(map(operator.is_, items, parts.items)) else parts.make(items)


def _aligned_parts(things: Sequence[Any], name: str, is_itself: Callable[[Any], bool], grows: bool) -> list[Any]:
    """The same for each part of a structure that all of the things have."""
    taken = [None if thing is UNBOUND else parts_of(thing) for thing in things]
    count = next(len(parts.items) for parts in taken if parts is not None)
    columns = [aligned([UNBOUND if parts is None else parts.items[place] for parts in taken], f"{name}[{place}]",
                       is_itself, grows=grows, is_part=True)
               for place in range(count)]  # fmt: skip
    result = []
    rows = zip(*columns, strict=True) if columns else [()] * len(things)
    for thing, parts, row in zip(things, taken, rows, strict=True):
        same = parts is None or all(map(operator.is_, parts.items, row))
        result.append(thing if same or parts is None else parts.make(list(row)))
    return result


def number_of(thing: Any, is_itself: Callable[[Any], bool] = lambda thing: False) -> int | None:
    """The number of the kind of a thing; None for what cannot be one of several kinds."""
    trace, kind = current_trace(), option_of(thing, is_itself)
    if kind is None:
        return None
    number = trace.state(Kinds).numbers.setdefault(kind.key, len(trace.state(Kinds).options))
    if number == len(trace.state(Kinds).options):
        trace.state(Kinds).options.append(kind)
    return number


def option(thing: Alternatives, number: int) -> Any:
    """The thing of one kind: a number that is carried with others of its dtype is Python's or NumPy's again."""
    found, kind = thing.options[number], current_trace().state(Kinds).options[number].number
    if kind is None or kind_of(found) == kind:
        return found
    return wrap(converted(found, kind))


def of_own_kinds(thing: Alternatives, is_itself: Callable[[Any], bool]) -> Alternatives:
    """The same, of which the objects that ``is_itself`` says so of are kinds of their own from here on."""
    own = {number: cast("int", number_of(held, partial(operator.is_, held))) for number, held in thing.options.items()
           if is_itself(held)}  # fmt: skip
    numbers = {number: own.get(number, number) for number in thing.options}
    if all(map(operator.eq, numbers, numbers.values())):
        return thing
    chosen = thing.chosen
    if isinstance(chosen, Tracer):
        tag = as_weak(lift(chosen), I64)
        for number in (number for number in numbers if numbers[number] != number):
            is_chosen = values.emit("equal", values.cast(lift(chosen), I64), values.constant(number, I64))
            tag = values.select(is_chosen, values.known_int(numbers[number]), tag)
        chosen = wrap(tag)
    options = {numbers[number]: held for number, held in thing.options.items()}
    words = {numbers.get(number, number): word for number, word in thing.words.items()}
    return Alternatives(chosen if isinstance(chosen, Tracer) else numbers[chosen], options, thing.name, words)


def released(
    thing: Any, holds: Callable[[Any], bool], note: Callable[[Any, Any], None] = lambda thing, made: None
) -> Any:
    """What leaves a region: an object of one of several, which the region made, is a new one that holds the same.

    What the program has stored in one of several may have made it one of another kind. Each that is made anew is told
    by ``note``.
    """
    known = current_trace().state(Kinds).options
    if type(thing) is not Alternatives:
        parts = None if holds(thing) else parts_of(thing)
        items = [] if parts is None else [released(item, holds, note) for item in parts.items]
        if parts is None or all(map(operator.is_, items, parts.items)):
            return thing
        made = parts.make(items)
        note(thing, made)
        return made

    def is_made_inside(part: Any) -> bool:
        is_one = any(part is one for number in thing.options for one in known[number].objects)
        return is_one and parts_of(part) is not None and not holds(part)

    def renewed(held: Any) -> Any:
        parts = parts_of(held)
        if parts is None or holds(held):
            return held
        made = parts.make(parts.items)
        note(held, made)
        return made

    def is_of_its_kind(number: int) -> bool:
        held, kind = thing.options[number], known[number]
        are_objects = lambda part: any(part is one for one in kind.objects)  # noqa: E731 - as above
        return held is UNBOUND or kind.number is not None or number_of(held, are_objects) == number

    kept = all(map(is_of_its_kind, thing.options)) and not any(map(is_made_inside, thing.options.values()))
    return thing if kept else thing.each(renewed)


def described(thing: Any) -> str:
    """What something is, in words."""
    kind = kind_of(thing)
    if isinstance(kind, Tensor):
        name = str(kind.dtype.numpy)
        axes = "1 axis" if len(kind.dims) == 1 else f"{len(kind.dims)} axes"
        return f"an array of {name} with {axes}" if kind.dims else f"a 0-d array of {name}"
    if kind is not None:
        name = thing.__class__.__name__
        return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    return "None" if thing is None else f"a {thing.__class__.__name__}"
