"""The exceptions of handlers, by their names: what a ``try`` that is attempted part by part asks for in each."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jitflow.frontend.syntax.build import cloned, placed
from jitflow.frontend.syntax.names import FUNCTIONS, Fresh, Scope

__all__ = ["Naming", "NoForm", "is_asked_for", "name_handled", "note_handled", "raises_another"]


class NoForm(Exception):
    """The statement cannot be attempted part by part."""


def name_handled(node: ast.AST, scope: Scope, fresh: Fresh) -> None:
    """Give the exceptions of handlers that raise another one a name: they are its context."""
    if isinstance(node, ast.ExceptHandler) and node.name is None and raises_another(node):
        node.name = scope.local("handled", fresh)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, FUNCTIONS):
            name_handled(child, scope, fresh)


def raises_another(handler: ast.ExceptHandler) -> bool:
    """Whether a handler raises another exception, as it is written."""
    return any(isinstance(node, ast.Raise) for statement in handler.body for node in ast.walk(statement))


def is_asked_for(handler: ast.ExceptHandler) -> bool:
    """Whether a handler uses the exception."""
    for statement in handler.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Raise) and node.exc is None:
                return True
            if isinstance(node, ast.Name) and node.id == handler.name:
                return True
    return False


def note_handled(body: Sequence[ast.AST], name: str) -> None:
    """Note in the ``raise`` statements of a handler what its exception is called."""
    for part in body:
        if isinstance(part, ast.Raise):
            part.handled = name  # type: ignore[attr-defined]
        elif not isinstance(part, ast.ExceptHandler | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            note_handled([*ast.iter_child_nodes(part)], name)


class Naming(ast.NodeTransformer):
    """Gives the exception of a handler another name: Python's is gone behind the handler. A ``raise`` says what of."""

    def __init__(self, name: str | None, other: str, again: ast.expr | None = None) -> None:
        self._name, self._other, self._again = name, other, again

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return placed(ast.Name(self._other, node.ctx), node) if node.id == self._name else node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if node.exc is None and self._again is not None:
            return placed(ast.Raise(cloned(self._again)), node)
        return self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> ast.Try:
        """The handlers inside have exceptions of their own."""
        node.body, node.orelse, node.finalbody = (
            [self.visit(part) for part in body] for body in (node.body, node.orelse, node.finalbody)
        )
        for handler in node.handlers:
            inner = Naming(None if handler.name == self._name else self._name, self._other)
            handler.body = [inner.visit(part) for part in handler.body]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if any(isinstance(part, ast.Raise) and part.exc is None for part in ast.walk(node)):
            raise NoForm
        return self.generic_visit(node)
