"""The idioms of ``docs/idioms.md``: programs, the arguments of their calls, and what is said where they are refused."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.documents import Block, blocks

__all__ = ["PAGE", "Idiom", "idioms"]

PAGE = Path(__file__).parents[1] / "docs" / "idioms.md"
SOURCE = "idioms.py"
"""What the page's code is called in messages; its lines are those of the page."""


@dataclass(frozen=True)
class Idiom:
    program: Callable[..., Any]
    calls: list[tuple[Any, ...]]
    code: Block
    refusal: Block | None
    """The block behind the code, which holds the message."""


def idioms() -> dict[str, Idiom]:
    """The idioms by the names of their programs.

    All code of the page is one module. A block that ends in calls is an idiom; others hold what several need.
    """
    page, found = list(blocks(PAGE)), [block for block in blocks(PAGE) if block.language == "python"]
    text = _code_alone(PAGE.read_text(), found)
    linecache.cache[SOURCE] = len(text), None, text.splitlines(keepends=True), SOURCE
    tree = ast.parse(text)
    calls = [statement for statement in tree.body if _is_call(statement)]
    tree.body = [statement for statement in tree.body if not _is_call(statement)]
    namespace: dict[str, Any] = {"__name__": "idioms"}
    exec(compile(tree, SOURCE, "exec", dont_inherit=True), namespace)
    table: dict[str, Idiom] = {}
    for block, behind in zip_longest(page, page[1:]):
        own = [call for call in calls if block.first_line <= call.lineno <= block.last_line]
        if own:
            (name,) = {call.value.func.id for call in own}
            assert name not in table, f"two idioms are called {name}"
            arguments = [_evaluated(call.value.args, namespace) for call in own]
            refusal = behind if behind is not None and behind.language == "text" else None
            table[name] = Idiom(namespace[name], arguments, block, refusal)
    return table


def _code_alone(text: str, found: list[Block]) -> str:
    """The page with its code where it stands, and empty lines for all else."""
    lines = [""] * (text.count("\n") + 1)
    for block in found:
        lines[block.first_line - 1 : block.last_line] = block.text.splitlines()
    return "\n".join(lines) + "\n"


def _is_call(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def _evaluated(arguments: list[ast.expr], namespace: dict[str, Any]) -> tuple[Any, ...]:
    expression = ast.Expression(ast.Tuple(arguments, ast.Load()))
    return eval(compile(ast.fix_missing_locations(expression), SOURCE, "eval", dont_inherit=True), namespace)
