"""The hooks that rewritten control flow calls, in their plainest form: Python's meaning on Python's values.

They say what the rewriting means without any tracing, and the tests hold rewritten functions with them against the
functions as they were written.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from typing import Any, NoReturn

__all__ = ["again", "and_", "assert_", "attempt", "attempts", "attribute", "both", "bound", "caught", "caught_error",
           "chain", "choose", "compared", "consumed", "contains", "either", "exception", "finishing", "for_", "free",
           "gathered", "has_length", "if_", "in_arrays", "indexed", "is_", "is_mapping", "is_of", "is_sequence",
           "known_error", "listed", "made_container", "made_dict", "made_set", "managed", "method", "not_", "or_",
           "part_of", "percent", "raise_", "raised_again", "recursive", "repeated", "spread", "suppressing", "text",
           "trying", "unpacked", "watched", "while_"]  # fmt: skip

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "is": operator.is_, "is not": operator.is_not, "in": lambda item, container: item in container,
    "not in": lambda item, container: item not in container,
}  # fmt: skip


def if_(
    condition: Any, then: Callable[[], None], otherwise: Callable[[], None],
    state: tuple[str, ...], temporaries: tuple[str, ...],
) -> None:  # fmt: skip
    """``if condition: then() else: otherwise()``."""
    if condition:
        then()
    else:
        otherwise()


def while_(
    test: Callable[[], Any], body: Callable[[], None], state: tuple[str, ...], temporaries: tuple[str, ...]
) -> None:
    """``while test(): body()``."""
    while test():
        body()


def for_(
    source: Iterable[Any], body: Callable[[Any], None], test: Callable[[], Any] | None,
    state: tuple[str, ...], temporaries: tuple[str, ...],
) -> None:  # fmt: skip
    """``for item in source: body(item)``, as long as ``test`` says so before each turn."""
    items = iter(source)
    while test is None or test():
        try:
            item = next(items)
        except StopIteration:
            return
        body(item)


def attribute(thing: Any, name: str) -> Any:
    """``thing.name``."""
    return getattr(thing, name)


def indexed(thing: Any) -> Any:
    """``thing`` in ``thing[index]``."""
    return thing


def made_container(items: list[Any], name: str) -> list[Any]:
    """``name = items``."""
    return items


def made_dict(name: str, *parts: tuple[Any, ...]) -> dict[Any, Any]:
    """``{key: item, **others}``."""
    found: dict[Any, Any] = {}
    for part in parts:
        found.update([part] if len(part) > 1 else part[0])
    return found


def made_set(name: str, *parts: tuple[bool, Any]) -> set[Any]:
    """``{item, *items}``."""
    return {item for is_taken, thing in parts for item in (thing if is_taken else (thing,))}


def spread(thing: Any, before: int, behind: int | None, name: str = "") -> Any:
    """``x, *y, z = thing``."""
    if behind is None:
        return thing
    [*items] = thing
    if len(items) < before + behind:
        raise ValueError(f"not enough values to unpack (expected at least {before + behind}, got {len(items)})")
    last = len(items) - behind
    return (*items[:before], items[before:last], *items[last:])


def repeated(left: Any, right: Any, name: str) -> Any:
    """``left * right``, one of which is written as a list."""
    return left * right


def unpacked(name: str, *parts: tuple[bool, Any]) -> list[Any]:
    """``[*items, item]``."""
    return [item for is_taken, thing in parts for item in (thing if is_taken else (thing,))]


def and_(left: Any, right: Callable[[], Any]) -> Any:
    """``left and right()``."""
    return left and right()


def or_(left: Any, right: Callable[[], Any]) -> Any:
    """``left or right()``."""
    return left or right()


def both(left: Any, right: Callable[[], Any]) -> bool:
    """The truth of ``left and right()``."""
    return bool(left) and bool(right())


def either(left: Any, right: Callable[[], Any]) -> bool:
    """The truth of ``left or right()``."""
    return bool(left) or bool(right())


def not_(operand: Any) -> Any:
    """``not operand``."""
    return not operand


def compared(symbol: str, left: Any, right: Any) -> Any:
    """``left < right``."""
    return _COMPARISONS[symbol](left, right)


def is_(left: Any, right: Any) -> bool:
    """``left is right``."""
    return left is right


def gathered(function: Any, iterable: Any, item_of: Any, names: int, *rest: Any, **keywords: Any) -> Any:
    """``function([item_of(item) for item in iterable], ...)``."""
    return function([item_of(item) if names == 1 else item_of(*item) for item in iterable], *rest, **keywords)


def listed(iterable: Any, plain: Any, loop: Any, leaves_out: bool, name: str) -> Any:
    """A comprehension, as Python goes through it; a loop if it assigns names of the function around."""
    return loop(iterable) if plain is None else plain(iterable)


def consumed(
    function: Any, name: str, iterable: Any, plain: Any, loop: Any, leaves_out: bool, *others: Any, **keywords: Any
) -> Any:
    """A call with a generator expression, as Python makes it; of a loop if it assigns names of the function around."""
    if plain is not None:
        return function(plain(iterable), *others, **keywords)
    if name == "sum":
        return loop(iterable, *(others or (keywords.get("start", 0),)))
    if name == "next":
        return loop(iterable, *(others or (None,)))
    return loop(iterable) if name in ("all", "any") else function(loop(iterable), *others, **keywords)


def choose(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """``then() if condition else otherwise()``."""
    return then() if condition else otherwise()


def chain(left: Any, links: tuple[tuple[str, Callable[[], Any]], ...]) -> Any:
    """``left < a < b``, for the links ``('<', a), ('<', b)``."""
    result = None
    for index, (name, operand) in enumerate(links):
        right = operand()
        result = _COMPARISONS[name](left, right)
        if index == len(links) - 1 or not result:
            break
        left = right
    return result


def contains(container: Any, item: Any) -> Any:
    """``item in container``."""
    return item in container


def assert_(condition: Any, message: Callable[[], Any] | None = None) -> None:
    """``assert condition, message()``."""
    if not condition:
        raise AssertionError() if message is None else AssertionError(message())


def in_arrays(function: Any) -> Any:
    """What is called with ``out=...``."""
    return function


def raise_(error: Any, *cause: Any, context: Any = None) -> NoReturn:
    """``raise error from cause`` where ``context`` is handled."""
    if cause:
        raise error from cause[0]
    raise error


def suppressing(function: Any) -> None:
    """``with suppress(...)`` has become a ``try``."""


def exception(kind: Any) -> Any:
    """What ``raise kind(...)`` calls."""
    return kind


def attempts(number: int, about: str = "") -> bool:
    """Whether the ``try`` statement of a line is attempted part by part."""
    return False


def attempt(
    run: Callable[[], Any],
    handled: Callable[[], tuple[Any, ...]],
    numbers: tuple[int, ...],
    asking: tuple[int, ...] | None = None,
) -> tuple[Any, ...]:
    """What ``run`` gives, the number of the handler that is for what it raised, and that, if some are ``asking``."""
    kinds: Any = None
    count = 2 if asking is None else 3
    try:
        return (run(), 0, None)[:count]
    except BaseException as error:
        kinds = handled()
        for number, kind in zip(numbers, kinds, strict=True):
            if kind is ...:
                return None, -1, error
            if kind is None or isinstance(error, kind):
                return (None, number, error)[:count]
        raise


def caught_error(told: Any, handled: Any, first: int, last: int, is_needed: bool = True) -> Any:
    """What a handler has caught."""
    return told


def raised_again(told: Any, handled: Any, first: int, last: int, error: Any = None) -> Any:
    """``raise`` in a handler."""
    raise told


def known_error(error: BaseException) -> BaseException:
    """What a handler has caught while tracing."""
    return error


def again(waiting: tuple[int, Any], first: int, last: int) -> None:
    """Raise an error that has waited for ``finally``."""
    if waiting[0]:
        raise waiting[1]


def trying(handled: Callable[[], tuple[Any, ...]], number: int | None = None) -> Any:
    """The block around the body of ``try``, whose handlers are for what ``handled`` gives."""
    return nullcontext()


def text(*parts: Any) -> str:
    """An f-string."""
    convert = {-1: lambda thing: thing, ord("s"): str, ord("r"): repr, ord("a"): ascii}
    return "".join(part if isinstance(part, str) else format(convert[part[1]](part[0]), part[2]) for part in parts)


def percent(words: str, values: Any) -> str:
    """``words % values``."""
    return words % values


def recursive(function: Any) -> Any:
    return function


def managed(manager: Any) -> Any:
    """What ``with`` is given."""
    return manager


def method(thing: Any, name: str) -> Any:
    """``thing.name``, to be called."""
    return getattr(thing, name)


def watched() -> Any:
    """The block around what a ``finally`` block follows."""
    return nullcontext()


def finishing(jumps: bool, number: int | None = None) -> Any:
    """The block in a ``finally`` block, which may jump out of it."""
    return nullcontext()


def free(read: Callable[[], Any], name: str | None = None) -> Any:
    """What ``read`` finds in the name ``name`` of a function around."""
    return read()


def caught(handled: Callable[[], Any] = lambda: BaseException) -> Any:
    """The classes that a handler is for."""
    return handled()


def bound(read: Callable[[], Any], name: str | None = None) -> Any:
    """What ``read`` finds in the local name ``name``; without a name it is known that something is there."""
    if name is None:
        return read()
    with suppress(NameError):
        return read()
    raise UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")


def is_of(thing: Any, kind: Any, count: int, *names: str) -> bool:
    """``case kind(...)``."""
    if not isinstance(thing, kind):
        return False
    places = () if _holds_itself(kind) else kind.__match_args__[:count]
    return all(hasattr(thing, name) for name in (*places, *names))


def part_of(thing: Any, kind: Any, place: int) -> Any:
    """What a pattern at a place is about."""
    return thing if _holds_itself(kind) else getattr(thing, kind.__match_args__[place])


def is_sequence(thing: Any) -> bool:
    """``case [...]``."""
    match thing:
        case [*_]:
            return True
    return False


def is_mapping(thing: Any) -> bool:
    """``case {...}``."""
    match thing:
        case {}:
            return True
    return False


def has_length(thing: Any, count: int, or_more: bool) -> bool:
    """``case [first, *others]``."""
    return len(thing) >= count if or_more else len(thing) == count


def _holds_itself(kind: Any) -> bool:
    return kind in (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
