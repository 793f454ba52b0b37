"""Words for building syntax: names, assignments, calls of hooks; and where in the user's file they stand."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

__all__ = ["CELL", "COMPARISONS", "ITEM", "LAMBDA", "LAZY", "assign", "block", "children", "cloned", "constant",
           "hook", "is_constant", "lazy", "load", "negated", "no_type_parameters", "placed", "returned",
           "spelled"]  # fmt: skip

CELL = "jit__"
"""The free variable of rewritten code that holds the hooks."""
LAZY = "lazy__"
"""The parameter ``*lazy__`` (always empty) tells the lambdas of the rewriting from the user's own."""
ITEM = "item__"
"""The parameter of the body of a ``for`` loop."""
LAMBDA = "lambda"
"""What a lambda is called that became a function in front of its statement: ``lambda__1``, to the user ``<lambda>``."""

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
"""How comparisons are written."""

AnyNode = TypeVar("AnyNode", bound=ast.AST)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node: `ast.iter_child_nodes`, twice as fast."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def cloned(node: Any) -> Any:
    """A copy of a node, or of a list of nodes, that may be changed, several times as fast as `copy.deepcopy`."""
    if isinstance(node, list):
        return [cloned(item) for item in node]
    if not isinstance(node, ast.AST) or not node._fields:  # contexts and operators have none
        return node
    new = type(node).__new__(type(node))
    for name, value in vars(node).items():
        setattr(new, name, cloned(value) if isinstance(value, list | ast.AST) else value)
    return new


def load(name: str) -> ast.Name:
    """``name``, as an expression."""
    return ast.Name(name, ast.Load())


def constant(value: object) -> ast.Constant:
    """A literal."""
    return ast.Constant(value)  # type: ignore[arg-type]


def spelled(names: Iterable[str]) -> ast.Tuple:
    """A tuple of strings."""
    return ast.Tuple([constant(name) for name in names], ast.Load())


def assign(name: str, value: ast.expr) -> ast.Assign:
    """``name = value``."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


def returned(value: ast.expr) -> ast.Return:
    """``return value``."""
    return ast.Return(value)


def negated(value: ast.expr) -> ast.UnaryOp:
    """``not value``."""
    return ast.UnaryOp(ast.Not(), value)


def hook(name: str, *arguments: ast.expr) -> ast.Call:
    """``jit__.name(arguments)``."""
    return ast.Call(ast.Attribute(load(CELL), name, ast.Load()), list(arguments), [])


def lazy(value: ast.expr) -> ast.Lambda:
    """A function of the rewriting that gives ``value``."""
    parameters = ast.arguments(
        posonlyargs=[], args=[], vararg=ast.arg(LAZY), kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )
    return ast.Lambda(parameters, value)


def block(name: str, parameters: Sequence[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """``def name(parameters): body``."""
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(parameter) for parameter in parameters], vararg=None, kwonlyargs=[],
        kw_defaults=[], kwarg=None, defaults=[],
    )  # fmt: skip
    return ast.FunctionDef(name, arguments, body or [ast.Pass()], [], **no_type_parameters(ast.FunctionDef))


def no_type_parameters(kind: type[ast.AST]) -> dict[str, Any]:
    """The field for type parameters, which exists since Python 3.12 and may not be left out there."""
    return {"type_params": []} if "type_params" in kind._fields else {}


def placed(node: AnyNode, like: ast.AST) -> AnyNode:
    """``node``, with the place of ``like`` wherever it has none yet."""
    if "lineno" in node._attributes:
        if hasattr(node, "lineno"):
            return node
        ast.copy_location(node, like)
        if isinstance(node, ast.Attribute):  # a call of what ends on a later line would be on that line
            node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    for child in children(node):
        placed(child, like)
    return node


def is_constant(node: ast.expr, truth: bool) -> bool:
    """Whether an expression is a literal that Python takes for ``truth``."""
    return isinstance(node, ast.Constant) and bool(node.value) is truth
