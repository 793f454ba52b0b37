"""``try`` statements whose body the running program may leave anywhere: as statements that are attempted one by one.

::

    try:                            def tried__1():
        y = f(x[k])                     return f(x[k])
        return y + 1                value__1, fail__1 = jit__.attempt(tried__1, lambda: (IndexError,), (1,))
    except IndexError:              if not fail__1:
        return 0                        y = value__1
                                        def tried__2():
                                            return y + 1
                                        value__2, fail__1 = jit__.attempt(tried__2, lambda: (IndexError,), (1,))
                                        if not fail__1:
                                            return value__2
                                    if fail__1 == 1:
                                        return 0

An attempt says which handler is for what was raised, 0 if nothing was: one of this statement's, or of those around it
that are attempted too, which have numbers of their own. A name is assigned when its value is there, so a handler finds
what Python's would find. Which form of a statement runs is decided while tracing, by `attempts`: Python's
own does as long as nothing is caught that the running program raises.

Where there is a ``finally``, whatever is raised in front of it is caught, waits, and is raised again behind it::

    try:                            waiting__1 = 0, (0, 0)
        u[k] = 1                    try:
    finally:                            ...
        u[0] = 5                        value__1, fail__1, told__1 = jit__.attempt(tried__1, lambda: (...,), (1,), True)
                                        if fail__1 < 0:
                                            waiting__1, fail__1 = (fail__1, told__1), 0
                                    finally:
                                        u[0] = 5
                                    jit__.again(waiting__1)

A handler that asks for the exception begins with ``told__2 = told__1``, and ``error__1 = jit__.caught_error(told__2,
...)``, which has the handler's name in it; its ``raise`` is ``raise jit__.raised_again(told__2, ...)``.

Bodies with ``with`` and ``else`` of loops in them have no such form, nor have ``finally`` blocks that jump out.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import count
from typing import Any, cast

from jitflow.frontend.syntax.build import (
    assign,
    block,
    cloned,
    constant,
    hook,
    lazy,
    load,
    negated,
    placed,
    returned,
    spelled,
)  # fmt: skip
from jitflow.frontend.syntax.handled import Naming, NoForm, is_asked_for, name_handled, note_handled, raises_another
from jitflow.frontend.syntax.jumps import ends, leaves
from jitflow.frontend.syntax.matching import branches_of
from jitflow.frontend.syntax.names import Fresh, Scope, uses_of

__all__ = ["attempted"]


_BINDING = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
"""What would mean something else in a function of its own."""


_NOTHING = (-1, 0, 0, 0.0, 0.0)
"""What is told of no exception (`jitflow.frontend.control.telling`)."""


def attempted(statement: ast.Try, scope: Scope, fresh: Fresh) -> ast.stmt | None:
    """A choice between the forms of a ``try`` statement; None if there is one only."""
    if not (statement.handlers or statement.finalbody):
        return None
    name_handled(statement, scope, fresh)
    number, plain, about = constant(statement.lineno), statement, []
    if statement.finalbody:
        about = [constant("finally")]
        inner = placed(ast.Try(statement.body, statement.handlers, statement.orelse, []), statement)
        choice = attempted(inner, scope, fresh)
        if choice is not None:
            plain = placed(ast.Try([choice], [], [], statement.finalbody), statement)
    try:
        form = _Attempts(statement, scope, fresh).statements()
    except NoForm:
        return None if plain is statement else _known(plain, None)
    return placed(ast.If(hook("attempts", number, *about), form, [_known(plain, number.value)]), statement)


def _known(statement: ast.Try, number: Any) -> ast.Try:
    """A ``try`` statement that is in a form already; ``number`` names it if there is another one."""
    statement.attempted = number  # type: ignore[attr-defined]
    return statement


def _may_fail(statement: ast.stmt) -> bool:
    """Whether a statement may raise something, as it is written."""
    return any(isinstance(node, _FAILING) for node in ast.walk(statement))


_FAILING = (ast.Call, ast.Subscript, ast.Raise, ast.Assert, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Delete)


class _Attempts:
    def __init__(self, statement: ast.Try, scope: Scope, fresh: Fresh) -> None:
        self.statement, self.scope, self.fresh = statement, scope, fresh
        self.fail = self._local("fail")
        inside = [*ast.walk(statement)]
        has_final = any(isinstance(part, ast.Try) and part.finalbody for part in inside)
        asks = any(
            isinstance(part, ast.ExceptHandler) and (is_asked_for(part) or raises_another(part)) for part in inside
        )
        self.told = self._local("told") if has_final or asks else None
        """What is told of an exception."""
        self._asking: list[int] = []
        """The numbers of the handlers that ask for it."""
        self._numbers = count(1)
        self._around: list[list[tuple[int, ast.expr]]] = []
        """The handlers of the statements around, with their numbers; those of the outermost first."""

    def statements(self) -> list[ast.stmt]:
        first = placed(assign(self.fail, constant(0)), self.statement)
        return [first, *self._attempted(self.statement)]

    def _attempted(self, statement: ast.Try) -> list[ast.stmt]:
        handlers = statement.handlers
        if statement.finalbody:
            return self._finished(statement)
        numbers = [next(self._numbers) for _ in handlers]
        kinds = [handler.type or placed(constant(None), handler) for handler in handlers]
        self._around.append(list(zip(numbers, kinds, strict=True)))
        self._asking += [number for number, handler in zip(numbers, handlers, strict=True) if is_asked_for(handler)]
        bodies = [self._handler(handler, statement) for handler in handlers]
        body = self.block(statement.body)
        self._around.pop()
        rest = self.block(statement.orelse)
        if rest and self._around:
            rest = [placed(ast.If(negated(load(self.fail)), rest, []), statement)]
        for number, handler, (asked, answer) in reversed(list(zip(numbers, handlers, bodies, strict=True))):
            if handler is handlers[-1] and ends(statement.body) and not self._around:
                rest = [*asked, *self.block(answer)]  # control that arrives here has failed
                continue
            caught = ast.Compare(load(self.fail), [ast.Eq()], [constant(number)])
            done = [placed(assign(self.fail, constant(0)), handler)] if self._around else []
            rest = [placed(ast.If(caught, [*asked, *done, *self.block(answer)], rest), handler)]
        return [*body, *rest]

    def _handler(self, handler: ast.ExceptHandler, statement: ast.Try) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """What asks for the exception that a handler has caught, and the handler's body, in which that has a name."""
        unbind = [] if handler.name is None else self._unbind(handler.name, handler)
        if not (is_asked_for(handler) or raises_another(handler)):
            return [], [*unbind, *handler.body]
        error, told = self._local("error"), self._local("told")
        lines = constant(statement.lineno), constant(statement.body[-1].end_lineno)
        kind = lazy(cloned(handler.type) if handler.type is not None else constant(None))
        named = [] if handler.name is None else [load(error)]
        naming = Naming(handler.name, error, hook("raised_again", load(told), kind, *lines, *named))
        body = [*unbind, *(naming.visit(part) for part in cloned(handler.body))]
        if handler.name is not None:
            note_handled(body, error)
        asked: list[ast.stmt] = [assign(told, load(str(self.told)))]
        if handler.name is not None:
            for_context = [] if is_asked_for(handler) else [constant(False)]
            found = hook("caught_error", load(told), cloned(kind), *map(cloned, lines), *for_context)
            asked.append(assign(error, found))
        return [placed(part, handler) for part in asked], body

    @staticmethod
    def _unbind(name: str, like: ast.ExceptHandler) -> list[ast.stmt]:
        """The name of a handler's exception has no value behind the handler, where another name stands for it."""
        parts: list[Any] = [assign(name, constant(None)), ast.Delete([ast.Name(name, ast.Del())])]
        for part in parts:
            part.cannot_fail = True
        return [placed(part, like) for part in parts]

    def _finished(self, statement: ast.Try) -> list[ast.stmt]:
        """A statement with ``finally``: whatever is raised waits until that is done, and is raised again."""
        if leaves(statement.finalbody, False):
            raise NoForm  # what jumps out takes back what was raised
        jumps = leaves(
            [*statement.body, *statement.orelse, *(each for one in statement.handlers for each in one.body)], False
        )
        if self._around and jumps and any(map(_may_fail, statement.finalbody)):
            raise NoForm  # what is raised takes back the jump
        waiting, nothing = self._local("waiting"), ast.Tuple([constant(number) for number in _NOTHING], ast.Load())
        lines = constant(statement.lineno), constant(statement.end_lineno)
        inner = placed(ast.Try(statement.body, statement.handlers, statement.orelse, []), statement)
        self._around.append([(next(self._numbers), placed(constant(...), statement))])
        body = self.block([inner] if statement.handlers else statement.body)
        self._around.pop()
        told = ast.Tuple([load(self.fail), load(str(self.told))], ast.Load())
        keep: list[ast.stmt] = [assign(waiting, told), assign(self.fail, constant(0))]
        body.append(ast.If(ast.Compare(load(self.fail), [ast.Lt()], [constant(0)]), keep, []))
        final = _known(ast.Try(body, [], [], self.block(statement.finalbody) or [ast.Pass()]), None)
        rest = self.block([placed(ast.Expr(hook("again", load(waiting), *lines)), statement)])
        if self._around:
            rest = [ast.If(negated(load(self.fail)), rest, [])]
        first = assign(waiting, ast.Tuple([constant(0), nothing], ast.Load()))
        return [placed(part, statement) for part in (first, final, *rest)]

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        if not self._around:
            return cast("list[ast.stmt]", cloned(list(body)))
        result: list[ast.stmt] = []
        for place, statement in enumerate(body):
            if isinstance(statement, ast.Pass):
                continue
            if hasattr(statement, "cannot_fail"):
                result.append(statement)
                continue
            if isinstance(statement, ast.Break | ast.Continue):
                result.append(cloned(statement))
                break
            if isinstance(statement, ast.Match):
                branches = branches_of(cloned(statement), self._local)
                if branches is None:
                    raise NoForm
                return [*result, *self.block([*branches, *body[place + 1 :]])]
            then = self.attempt(statement, result)
            rest = self.block(body[place + 1 :])
            if rest and isinstance(statement, ast.If | ast.For):
                rest = [placed(ast.If(negated(load(self.fail)), rest, []), statement)]
            then += rest
            if then:
                result.append(placed(ast.If(negated(load(self.fail)), then, []), statement))
            break
        return result

    def attempt(self, statement: ast.stmt, result: list[ast.stmt]) -> list[ast.stmt]:
        """Append the attempt of a statement; returns what follows if it does not fail."""
        match statement:
            case ast.Try():
                result += self._attempted(statement)
                return []
            case ast.FunctionDef():
                result.append(cloned(statement))
                return []
            case ast.Assign(targets=targets, value=value) if all(isinstance(target, ast.Name) for target in targets):
                return [placed(ast.Assign(cloned(targets), self.value(value, result)), statement)]
            case ast.Assign(targets=[pattern], value=value) if _is_plain(pattern):
                return [self._unpacked(pattern, value, statement, result)]
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                mine = self.fresh.name("value")
                steps: list[ast.stmt] = [
                    assign(mine, load(name)),
                    ast.AugAssign(ast.Name(mine, ast.Store()), op, cloned(value)),
                ]
                found = self.run([*steps, returned(load(mine))], statement, result)
                return [placed(assign(name, found), statement)]
            case (
                ast.Assign(targets=[ast.Subscript() | ast.Attribute()])
                | ast.Delete(targets=[ast.Subscript() | ast.Attribute()])
                | ast.AugAssign() | ast.Expr() | ast.Raise(exc=ast.expr()) | ast.Assert()
            ):  # fmt: skip
                self.run([cloned(statement)], statement, result)
                return []
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self.attempt(placed(ast.Assign([target], value), statement), result)
            case ast.Return(value=value):
                found = constant(None) if value is None else self.value(value, result)
                return [placed(returned(found), statement)]
            case ast.For(target=target, iter=source, body=body, orelse=[]) if _is_plain(target):
                turn = [*self.block(body), self._leave(statement)]
                items = self._handled("tried_items", self.value(source, result), spelled(self._failing))
                return [placed(ast.For(cloned(target), items, turn, [], None), statement)]
            case ast.While(test=test, body=body, orelse=[]):
                turn = []
                ends = self.value(placed(negated(test), test), turn)  # whose truth may fail
                goes_on = placed(ast.If(ends, [ast.Break()], self.block(body)), statement)
                turn += [self._leave(statement), goes_on, self._leave(statement)]
                result.append(placed(ast.While(constant(True), turn, []), statement))
                return []
            case ast.If(test=test, body=body, orelse=orelse):
                fails = self.value(placed(negated(test), test), result)
                return [placed(ast.If(fails, self.block(orelse) or [ast.Pass()], self.block(body)), statement)]
        raise NoForm

    def _unpacked(
        self, pattern: ast.expr, value: ast.expr, like: ast.stmt, result: list[ast.stmt]
    ) -> ast.stmt:  # fmt: skip
        """The assignment of several names at once: that there are as many items is attempted, too."""
        made = {part.id: self.fresh.name("value") for part in ast.walk(pattern) if isinstance(part, ast.Name)}
        inside = cloned(pattern)
        for part in ast.walk(inside):
            if isinstance(part, ast.Name):
                part.id = made[part.id]
        items = ast.Tuple([load(name) for name in made.values()], ast.Load())
        found = self.run([ast.Assign([inside], cloned(value)), returned(items)], like, result)
        target = ast.Tuple([ast.Name(name, ast.Store()) for name in made], ast.Store())
        return placed(ast.Assign([target], found), like)

    def _leave(self, like: ast.stmt) -> ast.stmt:
        """What leaves a loop that has failed; its turns hand on what tells of it."""
        kept = [assign(name, load(name)) for name in self._failing]
        return placed(ast.If(load(self.fail), [*kept, ast.Break()], []), like)

    @property
    def _failing(self) -> list[str]:
        """The names of what an attempt gives beside its value."""
        return [self.fail] if self.told is None else [self.fail, self.told]

    def value(self, value: ast.expr, result: list[ast.stmt]) -> ast.expr:
        return self.run([placed(returned(cloned(value)), value)], value, result)

    def run(self, body: list[ast.stmt], like: ast.AST, result: list[ast.stmt]) -> ast.expr:
        """Append ``value, fail = jit__.attempt(tried, ...)``; returns ``value``."""
        if any(isinstance(node, _BINDING) for part in body for node in ast.walk(part)):
            raise NoForm
        (tried,), value = self.fresh.block("tried"), self._local("value")
        self.scope.bound.add(tried)
        # The function looks at the names when it is called: they must be there, whoever else reads them.
        self.scope.always_live |= uses_of(body, self.scope.owner).reads
        targets = ast.Tuple([ast.Name(name, ast.Store()) for name in (value, *self._failing)], ast.Store())
        call = self._handled("attempt", load(tried))
        result += [placed(block(tried, [], body), like), placed(ast.Assign([targets], call), like)]
        return load(value)

    def _handled(self, name: str, what: ast.expr, *more: ast.expr) -> ast.expr:
        """The call of a hook that is given all handlers around, and which of them ask for the exception."""
        handlers = [handler for handlers in reversed(self._around) for handler in handlers]
        kinds = ast.Tuple([cloned(kind) for _, kind in handlers], ast.Load())
        numbers = ast.Tuple([constant(number) for number, _ in handlers], ast.Load())
        asking = [number for number, _ in handlers if number in self._asking]
        tells = [] if self.told is None else [ast.Tuple([constant(number) for number in asking], ast.Load())]
        return hook(name, what, lazy(kinds), numbers, *more, *tells)

    def _local(self, prefix: str) -> str:
        name = self.fresh.name(prefix)
        self.scope.bound.add(name)
        return name


def _is_plain(target: ast.expr) -> bool:
    """Whether an assignment to the target is one to names."""
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_is_plain, target.elts))
    return isinstance(target, ast.Name)
