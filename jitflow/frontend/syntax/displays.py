"""Displays: what is written as a list, dict or set, and is made anew."""

from __future__ import annotations

import ast

from jitflow.frontend.syntax.build import constant

__all__ = ["is_container", "is_frozen", "items_of"]


def items_of(node: ast.List | ast.Set) -> list[ast.expr]:
    """The items of a display, each with whether it is one whose items are taken."""
    return [
        ast.Tuple(
            [constant(True), item.value] if isinstance(item, ast.Starred) else [constant(False), item], ast.Load()
        )
        for item in node.elts
    ]


def is_frozen(node: ast.Set) -> bool:
    """Whether Python makes a set of one that is known when it compiles, which decides on the order."""
    known = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.unaryop, ast.Load)
    return len(node.elts) > 2 and all(isinstance(part, known) for item in node.elts for part in ast.walk(item))


def is_container(node: ast.expr) -> bool:
    """Whether an expression is written as a container, which it makes anew."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return isinstance(node.left, ast.List) or isinstance(node.right, ast.List)
    return isinstance(node, ast.List | ast.Dict | ast.Set)
