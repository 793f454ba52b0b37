"""A generator function as a function that hands on what it would give: the block of a loop over it is what it calls.

::

    def upwards(n):                 def upwards(put__, n):
        k = 1                           k = 1
        while k < n:            ->      while k < n:
            yield k                         if put__(k):
            yield from upwards(k)               return True
            k *= 2                          if jit__.handed_on(put__, upwards(k)):
                                                return True
                                            k *= 2
                                        return False

``put__`` says whether the loop is left, and so does the function. What is suspended is then a call like others, and
the loops of both are one nest. Not so where a ``yield`` is asked for what it is sent, or stands in a ``try`` whose
handlers would see what the block of the loop raises.
"""

from __future__ import annotations

import ast
from typing import Any

from jitflow.frontend.syntax.build import PUT, cloned, constant, hook, load, negated, placed, returned
from jitflow.frontend.syntax.jumps import Unusable
from jitflow.frontend.syntax.names import FUNCTIONS, AnyFunction, inner_blocks

__all__ = ["gone_through", "pushed"]


def pushed(function: AnyFunction) -> ast.FunctionDef:
    """The function that calls ``put__``. Raises `Unusable` where it cannot be one."""
    if not isinstance(function, ast.FunctionDef):
        raise Unusable("it is asynchronous, or a lambda that is a generator")
    found: ast.FunctionDef = cloned(function)
    found.decorator_list, found.returns = [], None
    found.args.posonlyargs.insert(0, placed(ast.arg(PUT), function))
    found.body = [*_block(found.body), placed(returned(constant(False)), found.body[-1])]
    if any(map(_waits, found.body)):
        raise Unusable("it is a generator that is sent items")
    return found


def gone_through(function: Any) -> Any:
    """The function as Python goes through it while tracing, to which ``is`` would not say that it asks the run."""
    return _Asking().visit(cloned(function))


class _Asking(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        match node.ops:
            case [ast.Is()]:
                return placed(hook("is_", node.left, *node.comparators), node)
            case [ast.IsNot()]:
                return placed(negated(hook("is_", node.left, *node.comparators)), node)
        return node


def _block(statements: list[ast.stmt]) -> list[ast.stmt]:
    return [new for statement in statements for new in _statement(statement)]


def _statement(statement: ast.stmt) -> list[ast.stmt]:
    match statement:
        case ast.Expr(value=ast.Yield(value=value)):
            return [_leaving(ast.Call(load(PUT), [value or constant(None)], []), statement)]
        case ast.Expr(value=ast.YieldFrom(value=value)):
            return [_leaving(hook("handed_on", load(PUT), value), statement)]
        case ast.For(ast.Name(id=name), iter, [ast.Expr(ast.Yield(ast.Name(id=given)))], []) if name == given:
            kept = placed(ast.Assign([ast.Name(name, ast.Store())], constant(None)), statement)
            return [kept, _leaving(hook("handed_on", load(PUT), iter), statement)]
        case ast.Return(value=value):
            told = [] if value is None else [placed(ast.Expr(value), statement)]
            return [*told, placed(returned(constant(False)), statement)]
        case ast.Try(handlers=[_, *_]) | ast.TryStar() if any(map(_waits, statement.body)):
            raise Unusable("it is a generator that gives items in a try with handlers")
    if not isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        for block in inner_blocks(statement):
            block[:] = _block(block)
    return [statement]


def _leaving(call: ast.expr, statement: ast.stmt) -> ast.stmt:
    return placed(ast.If(call, [returned(constant(True))], []), statement)


def _waits(node: ast.AST) -> bool:
    """Whether something in a statement suspends the function that it stands in."""
    if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)):
        return True
    return not isinstance(node, (*FUNCTIONS, ast.ClassDef)) and any(map(_waits, ast.iter_child_nodes(node)))
