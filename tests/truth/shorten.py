"""Makes a program that goes wrong small: statement by statement, as long as it goes wrong in the same way."""

from __future__ import annotations

import ast
import signal
from collections.abc import Callable, Iterator
from itertools import islice

__all__ = ["shortened"]

SECONDS = 20
Place = list[tuple[str, int | None]]


def shortened(source: str, way: Callable[[str], str]) -> str:
    """The smallest program found for which ``way`` says what it says of ``source``; it says nothing of a good one."""
    how = way(source)
    progress = bool(how)
    while progress:
        before, place = source, 0
        candidates = _smaller(source)
        while (candidate := next(candidates, None)) is not None:
            if len(candidate) < len(source) and _in_time(way, candidate) == how:
                source = candidate
                candidates = islice(_smaller(source), place, None)
            else:
                place += 1
        progress = source != before  # once more from the start, for what could not go before
    return source


class _OutOfTimeError(BaseException):
    """No program catches it."""


def _in_time(way: Callable[[str], str], source: str) -> str:
    before = signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(SECONDS)  # a loop may have lost what ends it
    try:
        return way(source)
    except (Exception, _OutOfTimeError):
        return ""
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _give_up(*_: object) -> None:
    raise _OutOfTimeError


def _smaller(source: str) -> Iterator[str]:
    """Programs that have one statement or expression less; large cuts first."""
    tree = ast.parse(source)
    places = sorted(_places(tree), key=lambda place: -len(ast.dump(_at(tree, place))))
    for place in places:
        node = _at(tree, place)
        for change in _changes(node):
            again = ast.parse(source)
            try:
                _replace(again, place, change)
                yield ast.unparse(ast.fix_missing_locations(again)) + "\n"
            except (ValueError, AttributeError, TypeError, IndexError):
                continue


def _changes(node: ast.AST) -> list[Callable[[ast.AST], list[ast.AST]]]:
    """What may take the place of a node, as functions of the same node in another tree."""
    if isinstance(node, ast.stmt):
        found: list[Callable[[ast.AST], list[ast.AST]]] = [lambda node: [], lambda node: [ast.Pass()]]
        found += [
            lambda node, name=name: getattr(node, name) for name in ("body", "orelse") if getattr(node, name, None)
        ]
        if getattr(node, "orelse", None):
            found.append(_without_else)
        return found
    if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        inner = [place for place in _places(node) if len(place) == 1]
        return [
            lambda node, place=place: [_at(node, place)] for place in inner if isinstance(_at(node, place), ast.expr)
        ]
    return []


def _without_else(node: ast.AST) -> list[ast.AST]:
    node.orelse = []  # type: ignore[attr-defined]
    return [node]


def _places(tree: ast.AST) -> Iterator[Place]:
    for name, value in ast.iter_fields(tree):
        items = enumerate(value) if isinstance(value, list) else [(None, value)]
        for number, item in items:
            if isinstance(item, ast.AST):
                yield [(name, number)]
                for inner in _places(item):
                    yield [(name, number), *inner]


def _at(tree: ast.AST, place: Place) -> ast.AST:
    for name, number in place:
        tree = getattr(tree, name) if number is None else getattr(tree, name)[number]
    return tree


def _replace(tree: ast.AST, place: Place, change: Callable[[ast.AST], list[ast.AST]]) -> None:
    parent, (name, number) = _at(tree, place[:-1]), place[-1]
    new = change(_at(tree, place))
    if number is None:
        (only,) = new
        setattr(parent, name, only)
    else:
        getattr(parent, name)[number : number + 1] = new
