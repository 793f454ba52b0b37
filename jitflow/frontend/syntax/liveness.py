"""Liveness: which names may be read after a statement, so that a branch or loop need not carry the others.

Runs backward over statements without jumps. Each statement is summed up once as what it reads before it writes
(*needs*) and what it writes on every path (*kills*); a second walk from the end of the function then hands down what is
live after each branch, and at the head and after the end of each loop. An exception may leave a ``try`` block anywhere,
so what its handlers need is live throughout.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from jitflow.frontend.syntax.names import FUNCTIONS, Scope, Uses, inner_blocks, uses_of
from jitflow.records import dataclass

__all__ = ["Liveness", "assigned"]

_NOTHING: frozenset[str] = frozenset()
_Names = frozenset[str]


@dataclass(frozen=True)
class _Effect:
    needs: _Names
    kills: _Names

    def before(self, live: _Names) -> _Names:
        return self.needs | (live - self.kills)


class Liveness:
    """The names that are live after the branches and loops of ``body``, and where the latter start again.

    ``stops`` maps ``for`` loops to the flags that end them.
    """

    def __init__(self, body: Sequence[ast.stmt], scope: Scope, stops: dict[ast.For, str]) -> None:
        self.live: dict[ast.stmt, _Names] = {}
        self._scope = scope
        self._stops = stops
        self._effects: dict[ast.stmt, _Effect] = {}
        self._walk(body, _NOTHING, _NOTHING)

    # -- what a statement does --------------------------------------------------------------------

    def _effect(self, statement: ast.stmt) -> _Effect:
        found = self._effects.get(statement)
        if found is None:
            found = self._effects[statement] = self._compute(statement)
        return found

    def _sequence(self, statements: Iterable[ast.stmt]) -> _Effect:
        needs, kills = _NOTHING, _NOTHING
        for statement in statements:
            effect = self._effect(statement)
            needs, kills = needs | (effect.needs - kills), kills | effect.kills
        return _Effect(needs, kills)

    def _compute(self, statement: ast.stmt) -> _Effect:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                first, second = self._sequence(body), self._sequence(orelse)
                needs = self._reads([test]) | first.needs | second.needs
                return _Effect(needs, first.kills & second.kills)
            case ast.While(test=test, body=body):
                return _Effect(self._reads([test]) | self._sequence(body).needs, _NOTHING)
            case ast.For(iter=source, target=target, body=body):
                turn = self._sequence(body)
                return _Effect(
                    self._reads([source, target]) | (turn.needs - self._writes([target])) | self._asked(statement),
                    _NOTHING,
                )
            case ast.With(items=items, body=body):
                inner = self._sequence(body)
                return _Effect(self._reads(items) | inner.needs, _NOTHING)
            case ast.Try(handlers=handlers) | ast.TryStar(handlers=handlers):
                needs = self._reads(handler.type for handler in handlers if handler.type is not None)
                for block in inner_blocks(statement):
                    needs |= self._sequence(block).needs
                return _Effect(needs, _NOTHING)
            case ast.Match(subject=subject, cases=cases):
                needs = self._reads([subject])
                for case in cases:
                    needs |= self._reads(filter(None, [case.pattern, case.guard]))
                for block in inner_blocks(statement):
                    needs |= self._sequence(block).needs
                return _Effect(needs, _NOTHING)
        uses = self._uses([statement])
        return _Effect(frozenset(uses.reads), self._kills(statement, uses))

    def _kills(self, statement: ast.stmt, uses: Uses) -> _Names:
        """The names that a simple statement writes in any case. An operand with ``:=`` may be skipped."""
        match statement:
            case ast.Assign(targets=targets):
                return self._writes(targets)
            case ast.AugAssign(target=target):
                return self._writes([target])
            case ast.Import() | ast.ImportFrom() | ast.Delete():
                return frozenset(uses.writes)
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            return frozenset({self._scope.spell(statement.name)})
        return _NOTHING

    def _asked(self, loop: ast.For) -> _Names:
        stop = self._stops.get(loop)
        return _NOTHING if stop is None else frozenset({stop})

    def _uses(self, nodes: Iterable[ast.AST]) -> Uses:
        return uses_of(nodes, self._scope.owner)

    def _reads(self, nodes: Iterable[ast.AST]) -> _Names:
        return frozenset(self._uses(nodes).reads)

    def _writes(self, nodes: Iterable[ast.AST]) -> _Names:
        return frozenset(self._uses(nodes).writes)

    # -- what is live where -----------------------------------------------------------------------

    def _walk(self, statements: Sequence[ast.stmt], after: _Names, thrown: _Names) -> None:
        """Note what is live after the statements' branches; ``thrown`` is needed wherever an exception leads to."""
        for statement in reversed(statements):
            self._walk_inside(statement, after | thrown, thrown)
            after = self._effect(statement).before(after) | thrown

    def _walk_inside(self, statement: ast.stmt, after: _Names, thrown: _Names) -> None:
        match statement:
            case ast.If(body=body, orelse=orelse):
                self.live[statement] = after
                self._walk(body, after, thrown)
                self._walk(orelse, after, thrown)
            case ast.For(body=body) | ast.While(body=body):
                head = self._effect(statement).before(after)
                self.live[statement] = head
                self._walk(body, head, thrown)
            case ast.With(body=body):
                self._walk(body, after, thrown | after)  # the manager may swallow an exception
            case ast.Match(cases=cases):
                for case in cases:
                    self._walk(case.body, after, thrown)
            case ast.Try() | ast.TryStar():
                final = self._sequence(statement.finalbody).before(after) | thrown
                self._walk(statement.finalbody, after, thrown)
                caught = final
                for handler in statement.handlers:
                    self._walk(handler.body, final, thrown | final)
                    caught |= self._sequence(handler.body).before(final) | self._reads(filter(None, [handler.type]))
                self._walk(statement.orelse, final, thrown | final)
                between = self._sequence(statement.orelse).before(final)
                self._walk(statement.body, between | caught, thrown | caught)


def assigned(nodes: Iterable[ast.AST], scope: Scope) -> set[str]:
    """The variables that may have another value, or none, after the nodes have run."""
    return (uses_of(nodes, scope.owner).writes & scope.variables) | scope.shared
