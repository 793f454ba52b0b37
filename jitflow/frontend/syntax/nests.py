"""Long chains of branches are cut into pieces that follow each other, which ask a flag.

What comes last in a branch may as well come behind the statement, where a flag says that control arrived there. So
chains of ``elif``, the cases of a ``match``, and early returns one below the other, of which each becomes the ``else``
of the one before, are as deep as a piece is, however long they are::

    if a:                           rest__1 = False
        x = 1                       if a:
    elif b:                             x = 1
        x = 2               ->      elif b:
    elif c:                             x = 2
        x = 3                       else:
    else:                               rest__1 = True
        x = 4                       if rest__1:
                                        if c:
                                            x = 3
                                        else:
                                            x = 4

Chains of usual lengths stay whole: in a branch it is known what the tests in front of it have found.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from jitflow.frontend.syntax.build import assign, constant, load, placed
from jitflow.frontend.syntax.names import inner_blocks

__all__ = ["without_deep_nests"]

_DEEPEST = 64
"""How deep branches lie in each other that stay whole."""
_PIECE = 32
"""How deep they lie in a piece."""


def without_deep_nests(body: list[ast.stmt], local: Callable[[str], str]) -> list[ast.stmt]:
    """The statements of a block without jumps, with deep nests of branches cut. ``local`` makes names."""
    return [part for statement in body for part in _without_deep_nest(statement, local)]


def _without_deep_nest(statement: ast.stmt, local: Callable[[str], str]) -> list[ast.stmt]:
    flags: list[ast.stmt] = []
    pieces = [statement]
    for piece in pieces:
        nest = piece.body[0] if piece is not statement and isinstance(piece, ast.If) else piece
        ends = _blocks_at(nest, _PIECE) if _blocks_at(nest, _DEEPEST) else []
        for end in ends:
            name, last = local("rest"), end[-1]
            end[-1] = placed(assign(name, constant(True)), last)
            flags.append(placed(assign(name, constant(False)), statement))
            pieces.append(placed(ast.If(load(name), [last], []), last))
        _cut_inside(nest, local)
    return [*flags, *pieces]


def _cut_inside(nest: ast.stmt, local: Callable[[str], str]) -> None:
    """Cut the nests in the blocks of a nest, of which it is itself no longer one."""
    waiting = [nest]
    for statement in waiting:
        for block in inner_blocks(statement):
            last = block[-1] if block and isinstance(statement, ast.If) and isinstance(block[-1], ast.If) else None
            block[:] = [*without_deep_nests(block[: len(block) - (last is not None)], local), *([last] if last else [])]
            if last is not None:
                waiting.append(last)


def _blocks_at(statement: ast.stmt, depth: int) -> list[list[ast.stmt]]:
    """The blocks so deep in a nest that end with a branch: of each statement's branches the last one is looked into."""
    nests = [statement]
    for _ in range(depth):
        blocks = [block for nest in nests if isinstance(nest, ast.If) for block in (nest.body, nest.orelse)]
        blocks = [block for block in blocks if block and isinstance(block[-1], ast.If)]
        nests = [block[-1] for block in blocks]
    return blocks
