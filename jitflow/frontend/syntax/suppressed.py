"""``with suppress(...)`` is a ``try`` whose handler does nothing.

::

    with suppress(KeyError):        jit__.suppressing(suppress)
        del table[k]                try:
                                        del table[k]
                                    except (KeyError,):
                                        pass

So what it suppresses is caught as other handlers catch. The hook makes sure that it is `contextlib.suppress`.
"""

from __future__ import annotations

import ast
from typing import cast

from jitflow.frontend.syntax.build import assign, constant, hook, placed
from jitflow.frontend.syntax.names import FUNCTIONS

__all__ = ["without_suppress"]


def without_suppress(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements with a ``try`` in the place of each ``with suppress(...)``. Changes the nodes that it is given."""
    rewriting = _Rewriting()
    return [plain for statement in body for plain in rewriting.statements(statement)]


class _Rewriting(ast.NodeTransformer):
    def statements(self, statement: ast.stmt) -> list[ast.stmt]:
        found = self.visit(statement)
        return cast("list[ast.stmt]", found if isinstance(found, list) else [found])

    def visit(self, node: ast.AST) -> object:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.expr)):
            return node
        return super().visit(node)

    def visit_With(self, node: ast.With) -> object:
        self.generic_visit(node)
        number = next((number for number, item in enumerate(node.items) if _classes_in(item) is not None), None)
        if number is None:
            return node
        item, rest = node.items[number], node.items[number + 1 :]
        call = item.context_expr
        assert isinstance(call, ast.Call)
        body = self.statements(placed(ast.With(rest, node.body), node)) if rest else node.body
        handler = ast.ExceptHandler(ast.Tuple(call.args, ast.Load()), None, [ast.Pass()])
        found: list[ast.stmt] = [ast.Expr(hook("suppressing", call.func))]
        if isinstance(item.optional_vars, ast.Name):
            found.append(assign(item.optional_vars.id, constant(None)))
        found = [placed(part, node) for part in (*found, ast.Try(body, [handler], [], []))]
        return [placed(ast.With(node.items[:number], found), node)] if number else found


def _classes_in(item: ast.withitem) -> list[ast.expr] | None:
    """What a manager suppresses, if it is one that does that, as it is written."""
    match item:
        case ast.withitem(ast.Call(ast.Name("suppress") | ast.Attribute(attr="suppress"), args, []), target):
            return args if target is None or isinstance(target, ast.Name) else None
    return None
