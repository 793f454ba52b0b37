"""Conditions: expressions that are asked for their truth alone.

``if a and b`` does not ask what ``a and b`` is, which the program need not compute then: a list and a number have no
value in common, but each of the two has a truth.
"""

from __future__ import annotations

import ast

__all__ = ["in_pieces", "is_condition", "mark_conditions"]

_PIECE = 16
"""Of how many operands each stands in the function for those before it."""


def mark_conditions(node: ast.expr, is_asked: bool = False) -> None:
    """Mark the conditions in an expression, which is one itself if it ``is_asked`` for its truth."""
    for part in ast.walk(node):
        match part:
            case ast.UnaryOp(op=ast.Not(), operand=test) | ast.IfExp(test=test):
                _mark(test)
            case ast.comprehension(ifs=tests):
                for test in tests:
                    _mark(test)
    if is_asked:
        _mark(node)


def is_condition(node: ast.BoolOp) -> bool:
    """Whether it has been marked as one."""
    return hasattr(node, "is_condition")


def in_pieces(operands: list[ast.expr]) -> list[list[ast.expr]]:
    """The operands of a chain of ``and`` or ``or``, in pieces of which each follows the whole of those before it.

    Python gives the same for ``(a and b) and (c and d)``, and branches lie no deeper in each other than a piece is.
    """
    return [operands[at : at + _PIECE] for at in range(0, len(operands), _PIECE)]


def _mark(node: ast.expr) -> None:
    parts: list[ast.expr] = []
    match node:
        case ast.BoolOp(values=parts):
            node.is_condition = True  # type: ignore[attr-defined]
        case ast.IfExp(body=body, orelse=orelse):
            parts = [body, orelse]
    for part in parts:
        _mark(part)
