"""Displays and slices: what is written as a list, dict or set, and is made anew."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

from jitflow.frontend.syntax.build import CELL, constant

__all__ = ["counts_of_targets", "drop_star", "has_known_keys", "has_open_bounds", "is_container", "is_list_sum",
           "is_plain_set", "items_of", "may_be_sequence", "may_keep", "name_containers", "pairs_of"]  # fmt: skip


def items_of(node: ast.List | ast.Set) -> list[ast.expr]:
    """The items of a display, each with whether it is one whose items are taken."""
    return [
        ast.Tuple(
            [constant(True), item.value] if isinstance(item, ast.Starred) else [constant(False), item], ast.Load()
        )
        for item in node.elts
    ]


def pairs_of(node: ast.Dict) -> list[ast.expr]:
    """The keys and items of a display, and the dicts whose keys and items are taken, each alone."""
    return [
        ast.Tuple([item] if key is None else [key, item], ast.Load())
        for key, item in zip(node.keys, node.values, strict=True)
    ]


def has_known_keys(node: ast.Dict) -> bool:
    """Whether all keys are constants."""
    return all(isinstance(key, ast.Constant) for key in node.keys)


def counts_of_targets(node: ast.Assign) -> tuple[int, int | None] | None:
    """How many names an assignment takes a thing apart into, before and behind one with a star; None if it does not."""
    match node.targets:
        case [ast.Tuple(elts=targets) | ast.List(elts=targets)] if not isinstance(node.value, ast.Tuple | ast.List):
            stars = [place for place, target in enumerate(targets) if isinstance(target, ast.Starred)]
            return (stars[0], len(targets) - stars[0] - 1) if stars else (len(targets), None)
    return None


def drop_star(target: ast.expr, place: int) -> None:
    """Let the name with a star be one like the others."""
    assert isinstance(target, ast.Tuple | ast.List)
    star = target.elts[place]
    assert isinstance(star, ast.Starred)
    target.elts[place] = star.value


def has_open_bounds(node: ast.Slice) -> bool:
    """Whether a bound of a slice is not written as a number."""
    bounds = (node.lower, node.upper, node.step)
    return not all(bound is None or isinstance(bound, ast.Constant | ast.UnaryOp) for bound in bounds)


def is_plain_set(node: ast.Set) -> bool:
    """Whether it stays Python's: of constants which are only asked for, or which Python makes one of as it compiles.

    That decides on the order.
    """
    known = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.unaryop, ast.Load)
    is_plain = hasattr(node, "is_asked") or len(node.elts) > 2
    return is_plain and all(isinstance(part, known) for item in node.elts for part in ast.walk(item))


def is_container(node: ast.expr) -> bool:
    """Whether an expression is written as a container, which it makes anew."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return isinstance(node.left, ast.List) or isinstance(node.right, ast.List)
    return isinstance(node, ast.List | ast.Dict | ast.Set)


def is_list_sum(node: ast.expr) -> bool:
    """Whether an expression is a sum of which a part is written as a list: ``x[:i] + [y] + x[i:]``."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return False
    return any(isinstance(part, ast.List | ast.ListComp) or is_list_sum(part) for part in (node.left, node.right))


def may_keep(called: ast.expr) -> bool:
    """Whether a function may keep a list that it is given, and change it later: NumPy's and most of Python's do not."""
    while isinstance(called, ast.Attribute):
        called = called.value
    return not isinstance(called, ast.Name) or called.id not in _KEEPS_NOTHING


_KEEPS_NOTHING = ({*dir(builtins)} - {"dict", "list", "tuple"}) | {CELL, "np", "numpy", "math"}


def name_containers(parts: Iterable[ast.expr], name: str = "") -> None:
    """Give those parts of an expression a name that are written as containers, which may be changed later."""
    for part in parts:
        if is_container(part):
            part.named = name or ast.unparse(part)  # type: ignore[attr-defined]
            inside = part.elts if isinstance(part, ast.List) else part.values if isinstance(part, ast.Dict) else ()
            name_containers(inside, f"an item of {part.named}")  # type: ignore[attr-defined]
        elif isinstance(part, ast.IfExp):  # each by itself: they may be of different classes
            name_containers((part.body, part.orelse))
        elif isinstance(part, ast.BoolOp):  # of dicts it has the value, if the run decides which one that is
            name_containers(value for value in part.values if isinstance(value, ast.List))


def may_be_sequence(node: ast.expr) -> bool:
    """Whether it may be a tuple or list, as it is written."""
    return not isinstance(node, ast.Constant | ast.UnaryOp | ast.JoinedStr | ast.Lambda | ast.Compare)
