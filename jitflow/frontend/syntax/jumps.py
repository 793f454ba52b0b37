"""Loops and branches without jumps: ``break``, ``continue`` and early ``return`` become flags, or vanish.

Blocks are about to become functions of their own, which nobody can jump out of. Where one branch of an ``if`` always
leaves, the statements that follow move into the other branch, and a jump to where control arrives anyway is none::

    for x in xs:                        for x in xs:
        if x < 0:                           if x < 0:
            continue                            pass
        total += x              ->          else:
                                                total += x

What is left sets a flag, which the statements that follow ask, and the loop before each turn::

    for row in rows:                    ret__1 = False
        for x in row:                   for row in rows:                # while not ret__1
            if x < 0:           ->          for x in row:               # while not ret__1
                return x                        if x < 0:
        count += 1                                  value__1 = x
    return count                                    ret__1 = True
                                            if not ret__1:
                                                count += 1
                                        if not ret__1:
                                            value__1 = count
                                        return value__1

A jump sets the flags of all that it leaves, so that each place asks one flag. A ``return`` that no block surrounds
stays; so does one inside of ``try`` and ``with``, which remain Python's. If an exception overtakes a jump on its way
out of these, the flags are set back. A branch that only raises moves nothing: the
rest of the program stays out of blocks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace

from jitflow.frontend.syntax.build import assign, constant, is_constant, load, negated, placed, returned
from jitflow.frontend.syntax.names import FUNCTIONS, Fresh, Scope, inner_blocks
from jitflow.records import dataclass

__all__ = ["Unusable", "ends", "leaves", "without_jumps"]

_TRIES = (ast.Try, ast.TryStar)
_PYTHONS = (*_TRIES, ast.With, ast.Match)
"""Statements that stay Python's, in the function that they stand in."""


class Unusable(Exception):
    """The function cannot be rewritten; the message says why."""


def without_jumps(body: list[ast.stmt], scope: Scope, fresh: Fresh) -> tuple[list[ast.stmt], dict[ast.For, str]]:
    """The statements of a function without jumps, and the flags that stop its ``for`` loops.

    Raises `Unusable` for a jump out of a ``finally`` block.
    """
    removal = _Removal(body, scope, fresh)
    return removal.block(body, _Context()), removal.stops


@dataclass(frozen=True)
class _Context:
    """Where a block stands, and what a jump in it has to set."""

    direct: bool = True
    """In the function itself, where ``return`` returns."""
    returns: bool = True
    """Control that arrives at the end of the block returns from the function."""
    loop: _Loop | None = None
    on_continue: tuple[str, ...] = ()
    on_break: tuple[str, ...] = ()
    on_return: tuple[str, ...] = ()
    ready: bool = False
    """The flag of ``return`` has been set to False."""

    def guarded(self, flag: str) -> _Context:
        """Followed by statements that ask ``flag``."""
        return replace(
            self,
            on_continue=_with(self.on_continue, flag),
            on_break=_with(self.on_break, flag),
            on_return=_with(self.on_return, flag),
        )


@dataclass
class _Loop:
    stop: str | None
    skip: str | None = None
    """The flag of ``continue``."""


class _Removal:
    def __init__(self, body: list[ast.stmt], scope: Scope, fresh: Fresh) -> None:
        self.scope = scope
        self.fresh = fresh
        self.stops: dict[ast.For, str] = {}
        self._ret: str | None = None
        self._value: str | None = None
        if leaves(body, direct=True) and _returns_something(body):
            self._value = self._local("value")

    # -- blocks -----------------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt], context: _Context) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for index, statement in enumerate(statements):
            rest = list(statements[index + 1 :])
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                return result + self._jump(statement, context)
            if isinstance(statement, ast.Raise):
                return [*result, statement]
            if isinstance(statement, (ast.For, ast.While)):
                stop = self._stop_of(statement)
                otherwise, statement.orelse = statement.orelse, []
                # Nothing at all follows a loop that returned, so only `break` needs to be told apart.
                if otherwise and "break" in leaves(statement.body, direct=False):
                    assert stop is not None
                    rest = [placed(ast.If(negated(load(stop)), otherwise, []), otherwise[0]), *rest]
                else:
                    rest = [*otherwise, *rest]
                return result + self._leaving(statement, rest, context, stop)
            if leaves([statement], context.direct):
                return result + self._leaving(statement, rest, context, None)
            result += self._inside(statement, replace(context, returns=False), None)
        return result + self._end(statements, context)

    def _end(self, statements: Sequence[ast.stmt], context: _Context) -> list[ast.stmt]:
        """What happens at the end of a block."""
        if context.direct or not context.returns or self._value is None:
            return []
        like = statements[-1] if statements else None
        nothing = assign(self._value, constant(None))
        return [placed(nothing, like) if like is not None else nothing]

    def _jump(self, statement: ast.Return | ast.Break | ast.Continue, context: _Context) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        match statement:
            case ast.Return() if context.direct:
                return [statement]
            case ast.Return(value=value):
                if self._value is not None:
                    result.append(assign(self._value, value or constant(None)))
                flags = context.on_return
            case ast.Break():
                flags = context.on_break
            case ast.Continue():
                flags = context.on_continue
        result += [assign(flag, constant(True)) for flag in flags]
        return [placed(part, statement) for part in result]

    def _leaving(
        self, statement: ast.stmt, rest: list[ast.stmt], context: _Context, stop: str | None
    ) -> list[ast.stmt]:
        """A statement out of which jumps may lead, or a loop, and the statements after it."""
        kinds = leaves([statement], context.direct)
        if isinstance(statement, ast.If) and rest:
            if _always_jumps(statement.body):
                statement.orelse, rest = [*statement.orelse, *rest], []
            elif _always_jumps(statement.orelse):
                statement.body, rest = [*statement.body, *rest], []
        indirect = replace(context, direct=False)
        handed_on = isinstance(statement, ast.If) and not rest
        is_endless = _is_endless(statement)
        follows = not is_endless and (bool(rest) or (not handed_on and bool(self._end([], indirect))))
        orelse = isinstance(statement, _TRIES) and statement.orelse and leaves(statement.body, context.direct)
        flag = self._flag_for(kinds, context) if kinds and (follows or orelse) else None
        result: list[ast.stmt] = []
        if not context.ready and self._ret is not None and self._ret in (flag, stop):
            result.append(placed(assign(self._ret, constant(False)), statement))
            context = replace(context, ready=True)
        if isinstance(statement, _TRIES) and orelse and flag:
            statement.orelse = [placed(ast.If(negated(load(flag)), statement.orelse, []), statement)]
        inner = context if flag is None else context.guarded(flag)
        result += self._inside(statement, inner if handed_on else replace(inner, returns=False), stop)
        after = replace(context, direct=context.direct and flag is None)
        if flag is None:
            result += [] if handed_on or is_endless else self.block(rest, after)
        else:
            guarded = self.block(rest, after) if follows else []
            if guarded:
                guard = ast.If(negated(load(flag)), guarded, [])
                result.append(placed(guard, rest[0] if rest else statement))
        if context.direct and context.returns and "return" in kinds and self._value is not None:
            result.append(placed(returned(load(self._value)), statement))
        return result

    def _inside(self, statement: ast.stmt, context: _Context, stop: str | None) -> list[ast.stmt]:
        """The statement with its own blocks rewritten."""
        if isinstance(statement, (ast.For, ast.While)):
            return self._loop(statement, context, stop)
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            return [statement]
        direct = context.direct and isinstance(statement, _PYTHONS)
        if isinstance(statement, _TRIES) and leaves(statement.finalbody, direct):
            raise Unusable("it jumps out of a finally block")
        inner = replace(context, direct=direct, returns=context.returns and not isinstance(statement, _PYTHONS))
        overtaken = self._overtaken(statement, inner) if isinstance(statement, (*_TRIES, ast.With)) else ()
        for holder in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(holder, name, None)
                if block or (isinstance(holder, ast.If) and inner.returns):
                    setattr(holder, name, self._filled(block or [], inner, statement))
        return self._taken_back(statement, overtaken) if overtaken else [statement]

    def _overtaken(self, statement: ast.Try | ast.TryStar | ast.With, context: _Context) -> tuple[str, ...]:
        """The flags of jumps that an exception may overtake, which is handled or swallowed by ``statement``.

        The exception is raised on the way out of a ``with`` or ``finally`` inside, and the jump is off then.
        """
        if not _raises_on_the_way(statement.body):
            return ()
        kinds = leaves(statement.body, context.direct)
        flags = {"continue": context.on_continue, "break": context.on_break, "return": context.on_return}
        return _with((), *(flag for kind in sorted(kinds) for flag in flags[kind]))

    def _taken_back(self, statement: ast.stmt, flags: tuple[str, ...]) -> list[ast.stmt]:
        """The statement, which sets ``flags`` back if an exception ends its body."""
        if isinstance(statement, _TRIES):
            for handler in statement.handlers:
                resets = [placed(assign(flag, constant(False)), handler.body[0]) for flag in flags]
                handler.body = [*resets, *handler.body]
            return [statement]
        assert isinstance(statement, ast.With)
        done = self._local("done")
        statement.body.append(placed(assign(done, constant(True)), statement))
        resets = [assign(flag, constant(False)) for flag in flags]
        after = ast.If(negated(load(done)), list(resets), [])
        return [placed(assign(done, constant(False)), statement), statement, placed(after, statement)]

    def _filled(self, block: list[ast.stmt], context: _Context, like: ast.stmt) -> list[ast.stmt]:
        statements = self.block(block, context) or [ast.Pass()]
        return [placed(statement, like) for statement in statements]

    # -- loops and flags --------------------------------------------------------------------------

    def _stop_of(self, loop: ast.For | ast.While) -> str | None:
        kinds = leaves(loop.body, direct=False)
        if "break" in kinds:
            return self._local("brk")
        return self._return_flag() if "return" in kinds else None

    def _loop(self, loop: ast.For | ast.While, context: _Context, stop: str | None) -> list[ast.stmt]:
        own = _Loop(stop)
        stops = () if stop is None else (stop,)
        inner = _Context(
            False, False, own, on_break=stops, on_return=_with(context.on_return, *stops), ready=context.ready
        )
        loop.body = self._filled(loop.body, inner, loop)
        if own.skip is not None:
            loop.body.insert(0, placed(assign(own.skip, constant(False)), loop.body[0]))
        if stop is None:
            return [loop]
        if isinstance(loop, ast.For):
            self.stops[loop] = stop
        elif is_constant(loop.test, True):
            loop.test = placed(negated(load(stop)), loop.test)
        else:
            loop.test = placed(ast.BoolOp(ast.And(), [negated(load(stop)), loop.test]), loop.test)
        if stop == self._ret:
            return [loop]
        return [placed(assign(stop, constant(False)), loop), loop]

    def _flag_for(self, kinds: set[str], context: _Context) -> str:
        loop = context.loop
        if loop is None:
            return self._return_flag()
        if "continue" not in kinds:
            assert loop.stop is not None
            return loop.stop
        if loop.skip is None:
            loop.skip = self._local("cont")
        return loop.skip

    def _return_flag(self) -> str:
        if self._ret is None:
            self._ret = self._local("ret")
        return self._ret

    def _local(self, prefix: str) -> str:
        return self.scope.local(prefix, self.fresh)


def _with(flags: tuple[str, ...], *more: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*flags, *more)))


# -- what a block may do ---------------------------------------------------------------------------


def leaves(statements: Iterable[ast.stmt], direct: bool) -> set[str]:
    """The kinds of jumps that lead out of statements and need more than Python's own ``return``."""
    found: set[str] = set()
    for statement in statements:
        match statement:
            case ast.Return():
                return found if direct else {*found, "return"}
            case ast.Break():
                return {*found, "break"}
            case ast.Continue():
                return {*found, "continue"}
            case ast.Raise():
                return found
            case ast.For(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
                found |= (leaves(body, False) & {"return"}) | leaves(orelse, False)
            case _:
                inner = direct and isinstance(statement, _PYTHONS)
                for block in inner_blocks(statement):
                    found |= leaves(block, inner)
    return found


def _raises_on_the_way(statements: Iterable[ast.stmt]) -> bool:
    """Whether jumps lead out of a ``with`` or ``finally`` inside."""
    for statement in statements:
        finalised = isinstance(statement, ast.With) or (isinstance(statement, _TRIES) and statement.finalbody)
        if (finalised and leaves([statement], False)) or any(map(_raises_on_the_way, inner_blocks(statement))):
            return True
    return False


def _returns_something(statements: Iterable[ast.stmt]) -> bool:
    """Whether some ``return`` has a value other than None."""
    for statement in statements:
        if isinstance(statement, ast.Return):
            if statement.value is not None and not (
                isinstance(statement.value, ast.Constant) and statement.value.value is None
            ):
                return True
        elif any(_returns_something(block) for block in inner_blocks(statement)):
            return True
    return False


def _is_endless(statement: ast.stmt) -> bool:
    """Whether control never arrives behind a loop: it is left by ``return`` or an exception alone."""
    if not isinstance(statement, ast.While) or not is_constant(statement.test, True):
        return False
    return "break" not in leaves(statement.body, direct=False)


def _always_jumps(statements: Sequence[ast.stmt]) -> bool:
    return ends(statements) and bool(leaves(statements, False))


def ends(statements: Iterable[ast.stmt]) -> bool:
    """Whether control never arrives at the end of the statements."""
    for statement in statements:
        match statement:
            case ast.Return() | ast.Break() | ast.Continue() | ast.Raise():
                return True
            case ast.If(body=body, orelse=orelse) if ends(body) and ends(orelse):
                return True
            case ast.While(test=test, body=body) if is_constant(test, True) and "break" not in leaves(body, False):
                return True
            case ast.Try() | ast.TryStar():
                if ends(statement.finalbody):
                    return True
                handled = all(ends(handler.body) for handler in statement.handlers)
                if handled and (ends(statement.body) or ends(statement.orelse)):
                    return True
    return False
