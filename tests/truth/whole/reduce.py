"""``python -m tests.truth.whole.reduce SEED [LENGTH]`` prints a small program that goes wrong as the seed's does."""

from __future__ import annotations

import ast
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from tests.truth.whole.arguments import Call
from tests.truth.whole.check import Refused, Wrong, check
from tests.truth.whole.programs import program_of
from tests.truth.whole.writer import Text

__all__ = ["reduced", "way"]

SECONDS = 20
Place = list[tuple[str, int | None]]


def way(source: str, text: Text, calls: Sequence[Call]) -> str:
    """In which way a program goes wrong; an empty string if it does not."""
    try:
        check(source, text.parameters, calls)
    except Refused as problem:
        return f"refused {problem}".splitlines()[0]
    except Wrong as problem:
        for start in ("expected <class", "CompilerBug", "compiled again", "expected None, got"):
            if start in str(problem):
                return start + str(problem).partition(start)[2][:35]
        return "wrong"
    except SyntaxError:
        return ""
    return ""


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


def reduced(text: Text, calls: Sequence[Call]) -> tuple[str, Sequence[Call], str]:
    """The smallest program found that goes wrong in the same way, and the calls that it needs."""
    how = way(text.source, text, calls)
    for some in [*([one] for one in calls), calls[:2]]:
        if len(some) < len(calls) and way(text.source, text, some) == how:
            calls = some
            break
    source = text.source
    progress = bool(how)
    while progress:
        before, place = source, 0
        while (candidate := next(islice(_smaller(source), place, None), None)) is not None:
            if len(candidate) < len(source) and _goes_wrong(candidate, text, calls) == how:
                source = candidate
            else:
                place += 1
        progress = source != before  # once more from the start, for what could not go before
    return source, calls, how


def _goes_wrong(source: str, text: Text, calls: Sequence[Call]) -> str:
    signal.alarm(SECONDS)  # a loop may have lost what ends it
    try:
        return way(source, text, calls)
    except Exception:
        return ""
    finally:
        signal.alarm(0)


def _give_up(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Reduce the program of a seed."""
    signal.signal(signal.SIGALRM, _give_up)
    text, calls = program_of(*map(int, sys.argv[1:]))
    source, calls, how = reduced(text, calls)
    print(f"{source}\n{calls}\n{how or 'nothing is wrong'}")
    try:
        check(source, text.parameters, calls)
    except (Wrong, Refused) as problem:
        print(f"{type(problem).__name__}: {problem}")


if __name__ == "__main__":
    main()
