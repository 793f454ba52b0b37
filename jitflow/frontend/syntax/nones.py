"""Locals that are None until they are something else: ``best = None``, and in a loop ``if best is None or x > best``.

Whether such a local is None may be known only when the program runs. So it is not bound to None, but to a mark of its
own (``x = jit__.none()``), which a merge tells from a value (`jitflow.frontend.control.merge`), and each read of it is
a call of a hook that knows the mark. ``x is None`` asks for the mark; ``return x`` is two returns.

A local that functions inside may see is none of these: what they read is what the cell holds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from jitflow.frontend.syntax.build import children
from jitflow.frontend.syntax.names import FUNCTIONS, Scope

__all__ = ["bindings", "is_none", "may_be_none", "none_at_first"]


def none_at_first(body: Iterable[ast.AST], scope: Scope) -> frozenset[str]:
    """The locals that some statement binds to None, and that the function keeps to itself."""
    names: set[str] = set()
    elsewhere: set[str] = set(scope.parameters) | scope.shared | scope.declared_nonlocal | scope.declared_global
    for node in _walk(body):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            elsewhere |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        elif isinstance(node, ast.Delete):
            elsewhere |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target, value in bindings(node) if may_be_none(value)}
    return frozenset(name for name in names - elsewhere if name in scope.bound)


def bindings(statement: ast.Assign) -> list[tuple[ast.Name, ast.expr]]:
    """The names that an assignment binds, each with what it is bound to, where that can be seen."""
    match statement:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
            pairs = [*zip(targets, values, strict=True)]
        case _:
            pairs = [(target, statement.value) for target in statement.targets]
    return [(target, value) for target, value in pairs if isinstance(target, ast.Name)]


def may_be_none(node: ast.expr) -> bool:
    """Whether it is written as None, or as a choice of that and something else."""
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return may_be_none(body) or may_be_none(orelse)
    return is_none(node)


def is_none(node: ast.AST) -> bool:
    """Whether it is written as None."""
    return isinstance(node, ast.Constant) and node.value is None


def _walk(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All parts of a function, functions and classes inside as wholes."""
    for node in nodes:
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield from _walk(children(node))
