"""``match`` statements whose patterns are values become chains of ``if``, so that the running program may choose.

::

    match n % 3:                    match__1 = n % 3
        case 0 | 1:                 if match__1 == 0 or match__1 == 1:
            ...                         ...
        case k if k > x:    ->      else:
            ...                         k = match__1
        case _:                         if k > x:
            ...                             ...
                                        else:
                                            ...

Patterns are literals, dotted names, alternatives of them, names and ``_``; if the subject is written as a tuple, also
tuples of these of the same length. All other statements stay Python's, which asks for types, lengths and keys.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field

from jitflow.frontend.syntax.build import assign, load, placed
from jitflow.records import dataclass

__all__ = ["branches_of"]


class _Other(Exception):
    """A pattern that asks for more than equality."""


@dataclass
class _Tried:
    """What a pattern asks of the subject, and the names that it binds."""

    tests: list[ast.expr] = field(default_factory=list)
    names: list[ast.stmt] = field(default_factory=list)


def branches_of(statement: ast.Match, local: Callable[[str], str]) -> list[ast.stmt] | None:
    """The chain of ``if`` that does the same; None if there is none. ``local`` makes names."""
    is_tuple = isinstance(statement.subject, ast.Tuple)
    items = statement.subject.elts if isinstance(statement.subject, ast.Tuple) else [statement.subject]
    if any(isinstance(item, ast.Starred) for item in items):
        return None
    names = [local("match") for _ in items]
    try:
        chain = _chain(statement.cases, names, is_tuple)
    except _Other:
        return None
    first = [placed(assign(name, item), item) for name, item in zip(names, items, strict=True)]
    return [*first, *(placed(part, statement) for part in chain)]


def _chain(cases: list[ast.match_case], names: list[str], is_tuple: bool) -> list[ast.stmt]:
    if not cases:
        return [ast.Pass()]
    case, *others = cases
    tried = _case(case.pattern, names, is_tuple)
    if case.guard is not None and tried.tests and tried.names:
        raise _Other  # the cases behind it would stand in two places
    tests = [*tried.tests, *([case.guard] if case.guard is not None else [])]
    if not tests:
        return [*tried.names, *case.body]
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    branch = ast.If(placed(test, case.pattern), case.body, _chain(others, names, is_tuple))
    if not tried.tests:
        return [*tried.names, placed(branch, case.pattern)]
    branch.body = [*tried.names, *case.body]
    return [placed(branch, case.pattern)]


def _case(pattern: ast.pattern, names: list[str], is_tuple: bool) -> _Tried:
    tried = _Tried()
    if not is_tuple:
        _ask(pattern, names[0], tried)
    elif isinstance(pattern, ast.MatchSequence) and len(pattern.patterns) == len(names):
        for part, name in zip(pattern.patterns, names, strict=True):
            _ask(part, name, tried)
    elif not (isinstance(pattern, ast.MatchAs) and pattern.name is None):
        raise _Other
    return tried


def _ask(pattern: ast.pattern, name: str, tried: _Tried) -> None:
    match pattern:
        case ast.MatchAs(pattern=None, name=None):
            return
        case ast.MatchAs(pattern=None, name=str() as bound):
            tried.names.append(placed(assign(bound, load(name)), pattern))
        case ast.MatchOr(patterns=patterns):
            tried.tests.append(placed(ast.BoolOp(ast.Or(), [_value(part, name) for part in patterns]), pattern))
        case _:
            tried.tests.append(_value(pattern, name))


def _value(pattern: ast.pattern, name: str) -> ast.expr:
    match pattern:
        case ast.MatchValue(value=value):
            return placed(ast.Compare(load(name), [ast.Eq()], [value]), pattern)
        case ast.MatchSingleton(value=value):
            return placed(ast.Compare(load(name), [ast.Is()], [ast.Constant(value)]), pattern)
    raise _Other
