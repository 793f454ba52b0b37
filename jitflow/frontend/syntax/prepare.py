"""The plain form of a function's body, from which the rewriting starts.

- ``global`` and ``nonlocal`` statements go: they speak for the whole function, and are put at its head again, and at
  the head of each block that becomes a function.
- ``x: int = 1`` becomes ``x = 1``: annotations of local names are never computed, and a name with one cannot be a cell
  of another function.
- ``return x if t else y`` becomes an ``if`` statement with two returns, and so does ``return x and y``: each return
  leaves what it leaves, of whatever kind.
- ``with suppress(...)`` is a ``try`` (`suppressed`).
- A ``try`` statement has a second form, in which its parts are attempted (`attempts`).
- A ``match`` whose patterns are values becomes a chain of ``if`` (`matching`).
- ``while (x := f()) > 0:`` becomes ``while True:`` with the test, and a ``break``, in its body: the turn uses ``x``.
- An assignment inside an operand that may be skipped, as in ``t and (x := f())``, becomes an ``if`` statement where the
  expression is computed first in its statement, so that it is seen that ``x`` is assigned on one of two paths::

      if t and (x := f()):        ->      and__1 = t
          ...                             if and__1:
                                              and__1 = (x := f())
                                          if and__1: ...
"""

from __future__ import annotations

import ast

from jitflow.frontend.syntax.attempts import attempted
from jitflow.frontend.syntax.build import assign, children, constant, load, negated, placed, returned
from jitflow.frontend.syntax.matching import branches_of
from jitflow.frontend.syntax.names import FUNCTIONS, Fresh, Scope
from jitflow.frontend.syntax.suppressed import without_suppress

__all__ = ["assigns", "prepared"]


def prepared(body: list[ast.stmt], scope: Scope, fresh: Fresh) -> list[ast.stmt]:
    """The statements in plain form. Changes the nodes that it is given."""
    return _Preparation(scope, fresh).block(without_suppress(body))


def assigns(node: ast.AST) -> bool:
    """Whether an expression assigns a name of the function that it stands in."""
    if isinstance(node, ast.NamedExpr):
        return True
    return not isinstance(node, FUNCTIONS) and any(assigns(child) for child in children(node))


class _Preparation:
    def __init__(self, scope: Scope, fresh: Fresh) -> None:
        self.scope = scope
        self.fresh = fresh
        self.is_final = False
        """Whether the statements stand in a ``finally``, which no block may jump out of."""

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [plain for statement in statements for plain in self.statement(statement)]

    def statement(self, statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.Global() | ast.Nonlocal():
                return []
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return [statement]
            case ast.AnnAssign(target=ast.Name() as target, value=None):
                return []
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self.statement(ast.copy_location(ast.Assign([target], value), statement))
            case ast.Return() if not self.is_final:
                return self._returned(statement)
            case ast.Try() if not hasattr(statement, "attempted"):
                choice = attempted(statement, self.scope, self.fresh)
                if choice is not None:
                    return self.statement(choice)
            case ast.Match():
                branches = branches_of(statement, self._local)
                if branches is not None:
                    return self.block(branches)
            case ast.While(test=test) if assigns(test) and not statement.orelse:
                leave = ast.If(negated(test), [ast.Break()], [])
                statement.test, statement.body = constant(True), [leave, *statement.body]
                placed(statement.test, test)
                placed(leave, test)
                leave.test = placed(negated(test), test)
        for name in ("body", "orelse", "finalbody"):
            if isinstance(getattr(statement, name, None), list):
                before, self.is_final = self.is_final, self.is_final or name == "finalbody"
                setattr(statement, name, self.block(getattr(statement, name)))
                self.is_final = before
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            part.body = self.block(part.body)
        return [*self._hoist_from(statement), statement]

    def _returned(self, statement: ast.Return) -> list[ast.stmt]:
        """A ``return`` that chooses, as a choice between two."""
        match statement.value:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                then, otherwise = (placed(returned(value), value) for value in (body, orelse))
                return self.statement(placed(ast.If(test, [then], [otherwise]), statement))
            case ast.BoolOp(op=op, values=[first, *others]) as value if not _skips_assignment(value):
                name = self._local("and" if isinstance(op, ast.And) else "or")
                rest = others[0] if len(others) == 1 else placed(ast.BoolOp(op, others), others[0])
                test = load(name) if isinstance(op, ast.And) else negated(load(name))
                branch = ast.If(test, [placed(returned(rest), rest)], [placed(returned(load(name)), first)])
                return [placed(assign(name, first), first), *self.statement(placed(branch, value))]
        return [*self._hoist_from(statement), statement]

    def _hoist_from(self, statement: ast.stmt) -> list[ast.stmt]:
        """Move assignments out of the expression that the statement computes first."""
        before: list[ast.stmt] = []
        match statement:
            case ast.If(test=test):
                statement.test = self._hoisted(test, before)
            case ast.Assign(value=value):
                statement.value = self._hoisted(value, before)
            case ast.Expr(value=value):
                statement.value = self._hoisted(value, before)
            case ast.Return(value=ast.expr() as value):
                statement.value = self._hoisted(value, before)
        return before

    def _hoisted(self, value: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """What is left of an expression when ``before`` has run."""
        if not _skips_assignment(value):
            return value
        match value:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                value.operand = self._hoisted(operand, before)
                return value
            case ast.BoolOp(op=op, values=[first, *others]):
                name = self._local("and" if isinstance(op, ast.And) else "or")
                rest = others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(op, others), others[0])
                before.append(placed(assign(name, self._hoisted(first, before)), value))
                more: list[ast.stmt] = []
                more.append(placed(assign(name, self._hoisted(rest, more)), rest))
                test = load(name) if isinstance(op, ast.And) else negated(load(name))
                before.append(placed(ast.If(test, more, []), value))
                return placed(load(name), value)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                name = self._local("choice")
                branches: list[list[ast.stmt]] = []
                for branch in (body, orelse):
                    more = []
                    more.append(placed(assign(name, self._hoisted(branch, more)), branch))
                    branches.append(more)
                before.append(placed(ast.If(self._hoisted(test, before), *branches), value))
                return placed(load(name), value)
        return value

    def _local(self, prefix: str) -> str:
        return self.scope.local(prefix, self.fresh)


def _skips_assignment(value: ast.expr) -> bool:
    """Whether the expression itself may skip an operand that assigns a name."""
    match value:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _skips_assignment(operand)
        case ast.BoolOp(values=[first, *others]):
            return _skips_assignment(first) or any(assigns(other) for other in others)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return assigns(body) or assigns(orelse) or _skips_assignment(test)
    return False
