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

Patterns are literals, dotted names, classes, sequences and mappings with such patterns for what they hold,
``Point(x, y=0)``, ``[first, *others]``, alternatives of them, names and ``_``. A subject that is written as a tuple is
matched item by item, where all patterns are tuples of the same length. All other statements stay Python's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field

from jitflow.frontend.syntax.build import assign, cloned, constant, hook, load, negated, placed
from jitflow.records import dataclass

__all__ = ["branches_of"]


class _Other(Exception):
    """A pattern that no chain of ``if`` asks for."""


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
        chain = _chain(statement.cases, names, is_tuple, local)
    except _Other:
        return None
    first = [placed(assign(name, item), item) for name, item in zip(names, items, strict=True)]
    return [*first, *(placed(part, statement) for part in chain)]


def _chain(
    cases: list[ast.match_case], names: list[str], is_tuple: bool, local: Callable[[str], str]
) -> list[ast.stmt]:  # fmt: skip
    if not cases:
        return [ast.Pass()]
    case, *others = cases
    tried = _case(case.pattern, names, is_tuple)
    if case.guard is not None and tried.tests and tried.names:
        return _guarded(case, case.guard, tried, _chain(others, names, is_tuple, local), local("matched"))
    tests = [*tried.tests, *([case.guard] if case.guard is not None else [])]
    if not tests:
        return [*tried.names, *case.body]
    branch = ast.If(_all(tests, case.pattern), case.body, _chain(others, names, is_tuple, local))
    if not tried.tests:
        return [*tried.names, placed(branch, case.pattern)]
    branch.body = [*tried.names, *case.body]
    return [placed(branch, case.pattern)]


def _guarded(
    case: ast.match_case, guard: ast.expr, tried: _Tried, others: list[ast.stmt], name: str
) -> list[ast.stmt]:  # fmt: skip
    """A case that binds names for its guard: the cases behind it are tried if that does not hold either."""
    inner = placed(ast.If(guard, [placed(assign(name, constant(True)), guard), *case.body], []), guard)
    first = ast.If(_all(tried.tests, case.pattern), [*tried.names, inner], [])
    parts = [assign(name, constant(False)), first, ast.If(negated(load(name)), others, [])]
    return [placed(part, case.pattern) for part in parts]


def _all(tests: list[ast.expr], pattern: ast.pattern) -> ast.expr:
    """Whether all tests hold that a pattern asks for."""
    return placed(tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests), pattern)


def _case(pattern: ast.pattern, names: list[str], is_tuple: bool) -> _Tried:
    tried = _Tried()
    if not is_tuple:
        _ask(pattern, load(names[0]), tried)
    elif isinstance(pattern, ast.MatchSequence) and len(pattern.patterns) == len(names):
        for part, name in zip(pattern.patterns, names, strict=True):
            _ask(part, load(name), tried)
    elif not (isinstance(pattern, ast.MatchAs) and pattern.name is None):
        raise _Other
    return tried


def _ask(pattern: ast.pattern, subject: ast.expr, tried: _Tried) -> None:
    match pattern:
        case ast.MatchAs(pattern=None, name=None):
            return
        case ast.MatchAs(pattern=inner, name=str() as bound):
            if inner is not None:
                _ask(inner, subject, tried)
            tried.names.append(placed(assign(bound, cloned(subject)), pattern))
        case ast.MatchClass(cls=kind, patterns=parts, kwd_attrs=names, kwd_patterns=named):
            asked = hook("is_of", cloned(subject), cloned(kind), constant(len(parts)), *map(constant, names))
            tried.tests.append(placed(asked, pattern))
            for place, part in enumerate(parts):
                _ask(part, hook("part_of", cloned(subject), cloned(kind), constant(place)), tried)
            for name, part in zip(names, named, strict=True):
                _ask(part, ast.Attribute(cloned(subject), name, ast.Load()), tried)
        case ast.MatchSequence(patterns=parts):
            _ask_items(pattern, parts, subject, tried)
        case ast.MatchMapping(keys=keys, patterns=parts, rest=rest):
            tried.tests.append(placed(hook("is_mapping", cloned(subject)), pattern))
            tried.tests += [placed(ast.Compare(cloned(key), [ast.In()], [cloned(subject)]), pattern) for key in keys]
            for key, part in zip(keys, parts, strict=True):
                _ask(part, ast.Subscript(cloned(subject), cloned(key), ast.Load()), tried)
            if rest is not None:
                tried.names.append(placed(assign(rest, _without(subject, keys)), pattern))
        case _:
            tried.tests.append(_test(pattern, subject))


def _ask_items(pattern: ast.pattern, parts: list[ast.pattern], subject: ast.expr, tried: _Tried) -> None:
    starred = next((place for place, part in enumerate(parts) if isinstance(part, ast.MatchStar)), None)
    count = len(parts) - (starred is not None)
    length = hook("has_length", cloned(subject), constant(count), constant(starred is not None))
    tried.tests += [placed(test, pattern) for test in (hook("is_sequence", cloned(subject)), length)]
    for place, part in enumerate(parts):
        if not isinstance(part, ast.MatchStar):
            from_end = starred is not None and place > starred
            _ask(part, ast.Subscript(cloned(subject), constant(place - len(parts) * from_end), ast.Load()), tried)
        elif part.name is not None:
            behind = len(parts) - 1 - place
            items = ast.List([ast.Starred(cloned(subject), ast.Load())], ast.Load())
            between = ast.Slice(constant(place), constant(-behind) if behind else None)
            tried.names.append(placed(assign(part.name, ast.Subscript(items, between, ast.Load())), pattern))


def _without(subject: ast.expr, keys: list[ast.expr]) -> ast.expr:
    """The dict of what a mapping holds by other keys."""
    pair = ast.Tuple([ast.Name("match__key", ast.Store()), ast.Name("match__item", ast.Store())], ast.Store())
    is_another = ast.Compare(load("match__key"), [ast.NotIn()], [ast.Tuple([*map(cloned, keys)], ast.Load())])
    items = ast.Call(ast.Attribute(cloned(subject), "items", ast.Load()), [], [])
    return ast.DictComp(load("match__key"), load("match__item"), [ast.comprehension(pair, items, [is_another], 0)])


def _test(pattern: ast.pattern, subject: ast.expr) -> ast.expr:
    """What a pattern asks that binds nothing."""
    match pattern:
        case ast.MatchValue(value=value):
            return placed(ast.Compare(cloned(subject), [ast.Eq()], [value]), pattern)
        case ast.MatchSingleton(value=value):
            return placed(ast.Compare(cloned(subject), [ast.Is()], [ast.Constant(value)]), pattern)
        case ast.MatchOr(patterns=patterns):
            return placed(ast.BoolOp(ast.Or(), [_test(part, subject) for part in patterns]), pattern)
        case ast.MatchClass() | ast.MatchSequence() | ast.MatchMapping():
            tried = _Tried()
            _ask(pattern, subject, tried)
            if not tried.names:
                return _all(tried.tests, pattern)
    raise _Other
