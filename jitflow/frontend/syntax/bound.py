"""Definite assignment: which reads of local names may find nothing there.

Java's rule, on Python's statements: a name is definitely assigned where every path from the start of the function
assigns it. Reads of other names ask for Python's `UnboundLocalError`. Runs on the function as it was written, jumps
included, because flags would hide that a path ends. Functions inside run at any time after they are defined, so what
was not assigned before may be unbound there.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext

from jitflow.frontend.syntax.build import children, is_constant
from jitflow.frontend.syntax.names import (
    COMPREHENSIONS,
    FUNCTIONS,
    AnyFunction,
    Scope,
    body_of,
    inner_blocks,
    mangled,
    parameters_of,
    uses_of,
)

__all__ = ["maybe_unbound"]

_ARE_FUNCTIONS = sys.version_info < (3, 12)
"""Whether comprehensions are functions (PEP 709 has them in line)."""

_State = set[str] | None
"""The names that are assigned for certain; None where no path leads."""


def maybe_unbound(body: Iterable[ast.AST], scope: Scope) -> set[ast.Name]:
    """The reads and deletions of local names that may be unbound, reads in functions inside included.

    Those in what Python takes for a function that has no statements, a generator expression, are marked ``is_free``.
    """
    body = list(body)
    analysis = _Analysis(scope, _deleted(body))
    state: _State = set(scope.parameters)
    for node in body:
        state = analysis.statement(node, state) if isinstance(node, ast.stmt) else analysis.expression(node, state)
    return analysis.found


def _meet(*states: _State) -> _State:
    reached = [state for state in states if state is not None]
    return set.intersection(*reached) if reached else None


class _Analysis:
    def __init__(self, scope: Scope, deleted: set[str]) -> None:
        self.scope, self.deleted = scope, {scope.spell(name) for name in deleted}
        self.found: set[ast.Name] = set()
        self._in_expression = False
        """Whether this looks at an expression that Python takes for a function."""
        self._breaks: list[list[_State]] = []
        self._continues: list[list[_State]] = []

    # -- statements -------------------------------------------------------------------------------

    def block(self, statements: Iterable[ast.stmt], state: _State) -> _State:
        for statement in statements:
            state = self.statement(statement, state)
        return state

    def statement(self, statement: ast.stmt, state: _State) -> _State:
        match statement:
            case ast.Return() | ast.Raise():
                self.children(statement, state)
                return None
            case ast.Break():
                self._breaks[-1].append(state)
                return None
            case ast.Continue():
                self._continues[-1].append(state)
                return None
            case ast.If(test=test, body=body, orelse=orelse):
                state = self.expression(test, state)
                return _meet(self.block(body, state), self.block(orelse, state))
            case ast.While() | ast.For():
                return self._loop(statement, state)
            case ast.Try() | ast.TryStar():
                return self._try(statement, state)
            case ast.With(items=items, body=body):
                for item in items:
                    state = self.expression(item.context_expr, state)
                    state = self.expression(item.optional_vars, state)
                end = self.block(body, state)
                return _meet(end, self._without(state, _deleted(body)))  # the manager may swallow an exception
            case ast.Match():
                return self._match(statement, state)
            case ast.Assign(targets=targets, value=value):
                return self._each([value, *targets], state)
            case ast.AugAssign(target=ast.Name() as target, value=value):
                self._read(target, state)
                return self._each([value, target], state)
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            outside = [*statement.decorator_list]
            if isinstance(statement, ast.ClassDef):
                outside += [*statement.bases, *(keyword.value for keyword in statement.keywords)]
            else:
                outside += [*statement.args.defaults, *filter(None, statement.args.kw_defaults)]
            state = self._assigned(self._each(outside, state), statement.name)
            self._later(statement, self._without(state, self.deleted))
            return state
        return self.children(statement, state)

    def _loop(self, loop: ast.For | ast.While, state: _State) -> _State:
        if isinstance(loop, ast.For):
            state = self.expression(loop.iter, state)
        head = state
        while True:
            self._breaks.append([])
            self._continues.append([])
            after_test = head if isinstance(loop, ast.For) else self.expression(loop.test, head)
            start = self.expression(loop.target, after_test) if isinstance(loop, ast.For) else after_test
            end = self.block(loop.body, start)
            breaks, continues = self._breaks.pop(), self._continues.pop()
            again = _meet(head, end, *continues)
            if again == head:
                break
            head = again  # something was deleted in the body
        endless = isinstance(loop, ast.While) and is_constant(loop.test, True)
        exhausted = None if endless else self.block(loop.orelse, after_test)
        return _meet(exhausted, *breaks)

    def _try(self, statement: ast.Try | ast.TryStar, state: _State) -> _State:
        anywhere = self._without(state, _deleted([*statement.body, *statement.orelse]))
        ends = [self.block(statement.orelse, self.block(statement.body, state))]
        for handler in statement.handlers:
            start = self.expression(handler.type, anywhere)
            end = self.block(handler.body, self._assigned(start, handler.name) if handler.name else start)
            ends.append(self._without(end, {self.scope.spell(handler.name)}) if handler.name else end)
        if not statement.finalbody:
            return _meet(*ends)
        handled = [*statement.handlers, *statement.body, *statement.orelse]
        self.block(statement.finalbody, self._without(state, _deleted(handled)))
        return self.block(statement.finalbody, _meet(*ends))

    def _match(self, statement: ast.Match, state: _State) -> _State:
        state = self.expression(statement.subject, state)
        ends: list[_State] = []
        for case in statement.cases:
            start = self.children(case.pattern, state)
            start = self.expression(case.guard, start)
            ends.append(self.block(case.body, start))
            if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None:
                return _meet(*ends)
        return _meet(*ends, state)

    # -- expressions, in the order in which Python computes them -----------------------------------------

    def expression(self, node: ast.AST | None, state: _State) -> _State:
        match node:
            case None:
                return state
            case ast.Name(ctx=ast.Store()):
                return self._assigned(state, node.id)
            case ast.Name(ctx=ast.Del()):
                self._read(node, state)
                return self._without(state, {self.scope.spell(node.id)})
            case ast.Name():
                self._read(node, state)
                return state
            case ast.NamedExpr(target=target, value=value):
                return self._each([value, target], state)
            case ast.BoolOp(values=[first, *others]):
                state = self.expression(first, state)
                self._each(others, state)
                return state
            case ast.IfExp(test=test, body=body, orelse=orelse):
                state = self.expression(test, state)
                return _meet(self.expression(body, state), self.expression(orelse, state))
            case ast.Compare(left=left, comparators=[second, *others]):
                state = self._each([left, second], state)
                self._each(others, state)
                return state
            case ast.Lambda(args=arguments):
                state = self._each([*arguments.defaults, *filter(None, arguments.kw_defaults)], state)
                self._later(node, self._without(state, self.deleted))
                return state
            case ast.GeneratorExp(elt=element, generators=[first, *others]):
                state = self.expression(first.iter, state)
                inside = self._without(state, self.deleted)
                if inside is not None:
                    inside |= uses_of([generator.target for generator in node.generators], self.scope.owner).writes
                with self._function():
                    for part in (*first.ifs, *others, element):
                        self._later(part, inside)
                return state
            case ast.ListComp(generators=generators) | ast.SetComp(generators=generators):
                return self._comprehension([node.elt], generators, state)
            case ast.DictComp(key=key, value=value, generators=generators):
                return self._comprehension([key, value], generators, state)
        return self.children(node, state)

    def _comprehension(self, elements: list[ast.expr], generators: list[ast.comprehension], state: _State) -> _State:
        state = self.expression(generators[0].iter, state)
        if state is not None:  # its own variables are bound inside, and may hide ours
            targets = uses_of([generator.target for generator in generators], self.scope.owner).writes
            inside = state | targets
            with self._function() if _ARE_FUNCTIONS else nullcontext():
                for generator in generators:
                    self._each([generator.iter] if generator is not generators[0] else [], inside)
                    self._each(generator.ifs, inside)
                self._each(elements, inside)
        return state

    def children(self, node: ast.AST, state: _State) -> _State:
        if isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
            name = node.rest if isinstance(node, ast.MatchMapping) else node.name
            state = self._each(children(node), state)
            return self._assigned(state, name) if name else state
        if isinstance(node, ast.alias):
            return self._assigned(state, node.asname or node.name.partition(".")[0])
        return self._each(children(node), state)

    def _each(self, nodes: Iterable[ast.AST], state: _State) -> _State:
        for node in nodes:
            state = self.expression(node, state)
        return state

    # -- functions inside -----------------------------------------------------------------------------

    def _later(self, node: ast.AST, state: _State) -> None:
        """Look for reads of names that are not in ``state`` in what runs later, or in a scope of its own."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                parts, hidden = body_of(node), self._locals(node)
            case ast.ClassDef(body=body):
                self._class_body(body, state)
                return
            case ast.AugAssign(target=ast.Name() as target):
                self._read(target, state)
                parts, hidden = [node.value], set()
            case _ if isinstance(node, COMPREHENSIONS):
                targets = [generator.target for generator in node.generators]
                parts, hidden = children(node), uses_of(targets, self.scope.owner).writes
            case ast.Name(ctx=ast.Load() | ast.Del()):
                self._read(node, state)
                return
            case _:
                parts, hidden = children(node), set()
        inside = None if state is None else state | hidden
        for part in parts:
            self._later(part, inside)

    def _class_body(self, body: Iterable[ast.stmt], state: _State) -> None:
        """Names that a class binds are not those of the function, but for its methods."""
        in_class = None if state is None else state | uses_of(body, self.scope.owner).writes
        with self._function():
            for part in body:
                self._later(part, state if isinstance(part, FUNCTIONS) else in_class)

    @contextmanager
    def _function(self) -> Iterator[None]:
        """Within, names are read in what Python takes for a function."""
        before, self._in_expression = self._in_expression, True
        yield
        self._in_expression = before

    def _locals(self, function: AnyFunction) -> set[str]:
        uses = uses_of(body_of(function), self.scope.owner)
        own = uses.writes - uses.declared_nonlocal - uses.declared_global
        return own | {mangled(name, self.scope.owner) for name in parameters_of(function)}

    # -- names ------------------------------------------------------------------------------------

    def _read(self, node: ast.Name, state: _State) -> None:
        name = self.scope.spell(node.id)
        if state is not None and name in self.scope.bound and name not in state:
            self.found.add(node)
            node.is_free = self._in_expression  # type: ignore[attr-defined]

    def _assigned(self, state: _State, name: str) -> _State:
        return None if state is None else state | {self.scope.spell(name)}

    def _without(self, state: _State, names: set[str]) -> _State:
        return None if state is None else state - {self.scope.spell(name) for name in names}


def _deleted(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that are unbound somewhere in statements: deleted, or those of a handled exception."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Delete):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
        if isinstance(node, ast.ExceptHandler):
            found.update(filter(None, [node.name]), _deleted(node.body))
        elif isinstance(node, ast.stmt):
            for block in inner_blocks(node):
                found |= _deleted(block)
            found |= _deleted(getattr(node, "handlers", ()))
    return found
