"""Statements that decide on truth become calls of hooks, and their blocks become functions.

::

    if t:                   def then__1():
        x = a                   nonlocal x
    else:                       x = a
        x = b               def else__1():
                                nonlocal x
                                x = b
                            jit__.if_(t, then__1, else__1, ('x',), ())

    while x < n:            def test__1():
        x = 2 * x               return x < n
                            def body__1():
                                nonlocal x
                                x = 2 * x
                            jit__.while_(test__1, body__1, ('x',), ())

    for y in ys:            def body__1(item__):
        x = x + y               nonlocal x, y
                                y = item__
                                x = x + y
                            jit__.for_(ys, body__1, None, ('x',), ('y',))

The names are the *state*, which the statement assigns and somebody may read afterwards (or in the next turn), and the
*temporaries*, which it assigns as well. Both functions of a statement declare all of them, so that a hook finds their
cells in either. ``assert t, m`` becomes ``jit__.assert_(t, lambda: m)``, ``raise x from y`` ``jit__.raise_(x, y)``,
``raise C(x)`` ``jit__.raise_(jit__.exception(C)(x))``; the body of a ``try`` stands in a block
``with jit__.trying(lambda: (ValueError,), None)``, and ``except ValueError`` becomes
``except jit__.caught(lambda: ValueError)``, which leaves to the compiler what is the compiler's. ``with m`` becomes
``with jit__.managed(m)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jitflow.frontend.syntax.bound import maybe_unbound
from jitflow.frontend.syntax.build import CELL, ITEM, assign, block, constant, load, negated, placed, returned, spelled
from jitflow.frontend.syntax.conditions import mark_conditions
from jitflow.frontend.syntax.displays import counts_of_targets, drop_star, name_containers
from jitflow.frontend.syntax.expressions import Expressions
from jitflow.frontend.syntax.handled import note_handled
from jitflow.frontend.syntax.jumps import leaves, without_jumps
from jitflow.frontend.syntax.liveness import Liveness, assigned
from jitflow.frontend.syntax.names import FUNCTIONS, AnyFunction, Fresh, Scope, is_suspendable, scope_of, uses_of
from jitflow.frontend.syntax.nests import without_deep_nests
from jitflow.frontend.syntax.prepare import assigns, prepared

__all__ = ["rewrite_function"]


def rewrite_function(
    function: AnyFunction, owner: str | None, fresh: Fresh, has_class: bool, around: Expressions | None = None
) -> bool:
    """Rewrite the body of ``function`` in place. Returns whether anything was changed but the form of a statement.

    ``owner`` is the class whose private names it uses, ``around`` what is known of the function that it stands in.
    Raises `Unusable` for what cannot be rewritten.
    """
    scope = scope_of(function, owner, None if around is None else around.scope)
    return _Rewriting(scope, fresh, has_class, around).function(function)


class _Rewriting:
    """The rewriting of one function; functions inside it get one of their own."""

    def __init__(self, scope: Scope, fresh: Fresh, has_class: bool, around: Expressions | None) -> None:
        self._scope = scope
        self._around = around
        self._fresh = fresh
        self._has_class = has_class
        self._is_block = False
        self._defined: list[ast.stmt] = []
        """Functions that go in front of the statement that is being rewritten."""

    def function(self, function: AnyFunction) -> bool:
        scope = self._scope
        if isinstance(function, ast.Lambda):
            self._expressions = self._make_expressions(maybe_unbound([function.body], scope), set(), has_place=False)
            name_containers([function.body])
            function.body = self._expression(function.body)
            return self._expressions.changed
        body = list(function.body)
        self._node = function
        head = [body.pop(0)] if _is_docstring(body[0]) else []
        self._is_block = isinstance(function, ast.FunctionDef) and function.name in self._fresh.blocks
        body = prepared(body, scope, self._fresh)
        unbound = maybe_unbound(body, scope)
        body, self._stops = without_jumps(body, scope, self._fresh)
        body = without_deep_nests(body, lambda name: scope.local(name, self._fresh))
        overtaken = maybe_unbound(body, scope) - unbound
        self._expressions = self._make_expressions(unbound, overtaken)
        self._live = Liveness(body, scope, self._stops).live
        body = self._block(body) or [ast.Pass()]
        function.body = [placed(part, function) for part in (*head, *self._declarations(body), *body)]
        return self._expressions.changed

    def _make_expressions(
        self, unbound: set[ast.Name], overtaken: set[ast.Name], has_place: bool = True
    ) -> Expressions:
        return Expressions(
            self._scope, unbound, overtaken, self._fresh, self._inner_lambda, self._has_class, self._around,
            self._is_block, self._define if has_place else None,
        )  # fmt: skip

    def _declarations(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """What makes names that only blocks assign names of this function: an annotation, which runs no code."""
        scope = self._scope
        statements: list[ast.stmt] = []
        if scope.declared_global:
            statements.append(ast.Global(sorted(scope.declared_global)))
        if scope.declared_nonlocal:
            statements.append(ast.Nonlocal(sorted(scope.declared_nonlocal)))
        for name in sorted(scope.bound - set(scope.parameters) - uses_of(body, scope.owner).writes):
            statements.append(ast.AnnAssign(ast.Name(name, ast.Store()), constant(None), None, 1))
        return statements

    # -- statements -------------------------------------------------------------------------------

    def _block(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        return [new for statement in statements for new in self._statement(statement)]

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        around, self._defined = self._defined, []
        found = self._one_statement(statement)
        defined, self._defined = self._defined, around
        return [*defined, *found]

    def _define(self, function: ast.FunctionDef) -> None:
        self._inner(function)
        self._defined.append(function)

    def _one_statement(self, statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.If():
                return self._if(statement)
            case ast.While():
                return self._while(statement)
            case ast.For():
                return self._for(statement)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._inner_function(statement)
            case ast.ClassDef():
                return self._inner_class(statement)
            case ast.Raise(exc=ast.expr() as error, cause=cause):
                if isinstance(error, ast.Call):
                    error.func = self._expressions.hook("exception", error.func, error.func)
                parts = [self._expression(part) for part in (error, cause) if part is not None]
                call = self._expressions.hook("raise_", statement, *parts)
                if (name := getattr(statement, "handled", None)) is not None:
                    call.keywords = [placed(ast.keyword("context", load(name)), statement)]
                return [placed(ast.Expr(call), statement)]
            case ast.Assert(test=test, msg=message) if __debug__ and not (message is not None and assigns(message)):
                parts = [self._condition(test)]
                if message is not None:
                    parts.append(self._expressions.lazy(self._expression(message)))
                return [placed(ast.Expr(self._expressions.hook("assert_", test, *parts)), statement)]
            case ast.Try(finalbody=[_, *_]) | ast.TryStar(finalbody=[_, *_]):
                return self._finally(statement)
            case ast.Try() | ast.TryStar():
                return self._try(statement)
            case ast.Assign() as assignment:
                return self._others(self._listed(assignment))
            case ast.Return(value=ast.expr() as value):
                name_containers([value])
            case ast.AugAssign(target=ast.Name() as target) if self._expressions.needs_proof(target):
                return [self._proved(target), *self._others(statement)]
            case ast.Delete(targets=targets):
                names = [target for target in targets if isinstance(target, ast.Name)]
                unbound = [name for name in names if self._expressions.needs_proof(name)]
                return [*map(self._proved, unbound), *self._others(statement)]
        return self._others(statement)

    def _others(self, statement: ast.stmt) -> list[ast.stmt]:
        """A statement that stays Python's, with what is inside rewritten."""
        for name, value in ast.iter_fields(statement):
            if isinstance(statement, ast.ClassDef) and name == "body":
                continue
            if isinstance(value, ast.expr):
                setattr(statement, name, self._expression(value))
            elif isinstance(value, list):
                setattr(statement, name, [part for item in value for part in self._part(item)])
        return [statement]

    def _part(self, item: object) -> list[object]:
        match item:
            case ast.stmt():
                return list(self._statement(item))
            case ast.expr():
                return [self._expression(item)]
            case ast.withitem():
                self._expressions.visit(item)
                item.context_expr = self._expressions.hook("managed", item.context_expr, item.context_expr)
            case ast.keyword():
                self._expressions.visit(item)
            case ast.ExceptHandler(type=kind):
                classes = [] if kind is None else [self._expressions.lazy(self._expression(kind))]
                item.type = self._expressions.hook("caught", item, *classes)
                if item.name is not None:
                    note_handled(item.body, item.name)
                item.body = self._block(item.body)
                if item.name is not None:
                    error = self._expressions.hook("known_error", item, load(item.name))
                    item.body.insert(0, placed(assign(item.name, error), item))
            case ast.match_case(guard=guard):
                item.guard = None if guard is None else self._condition(guard)
                item.body = self._block(item.body)
        return [item]

    def _expression(self, node: ast.expr) -> ast.expr:
        mark_conditions(node)
        return self._expressions.rewrite(node)

    def _condition(self, node: ast.expr) -> ast.expr:
        mark_conditions(node, is_asked=True)
        return self._expressions.rewrite(node)

    def _listed(self, statement: ast.Assign) -> ast.stmt:
        """``x = jit__.made_container([], 'x')`` for ``x = []``: it may become one of the running program."""
        (target, *_), value = statement.targets, statement.value
        name_containers([value], ast.unparse(target))
        if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple) and len(target.elts) == len(value.elts):
            for item, name in zip(value.elts, target.elts, strict=True):
                name_containers([item], ast.unparse(name))
        return self._spread(statement)

    def _spread(self, statement: ast.Assign) -> ast.Assign:
        """``x, y = jit__.spread(z, 1, 0, 'y')`` for ``x, *y = z``."""
        if (counts := counts_of_targets(statement)) is not None:
            before, behind = counts
            told: list[object] = [before, behind]
            if behind is not None:
                told.append(ast.unparse(statement.targets[0]))
                drop_star(statement.targets[0], before)
            statement.value = self._expressions.hook("spread", statement, statement.value, *map(constant, told))
        return statement

    def _proved(self, target: ast.Name) -> ast.stmt:
        """``x = jit__.bound(lambda: x, 'x')``: what follows reads and unbinds a name that is bound."""
        return placed(assign(self._scope.spell(target.id), self._expressions.bound(target)), target)

    def _try(self, statement: ast.Try | ast.TryStar) -> list[ast.stmt]:
        kinds = [constant(None) if handler.type is None else handler.type for handler in statement.handlers]
        handled = self._expressions.lazy(self._expression(placed(ast.Tuple(kinds, ast.Load()), statement)))
        self._others(statement)
        number = constant(getattr(statement, "attempted", None))
        watching = ast.withitem(self._expressions.hook("trying", statement, handled, number))
        statement.body = [placed(ast.With([watching], statement.body), statement)]
        return [statement]

    def _finally(self, statement: ast.Try | ast.TryStar) -> list[ast.stmt]:
        """``with jit__.watched():`` around what the block follows, ``with jit__.finishing():`` around the block."""
        inner, final, number = statement.body, statement.finalbody, constant(getattr(statement, "attempted", None))
        if statement.handlers:
            statement.finalbody = []
            inner = [statement]
        jumps = constant(bool(leaves(final, False)))
        outer = ast.Try(self._watched("watched", inner), [], [], self._watched("finishing", final, jumps, number))
        return [placed(outer, statement)]

    def _watched(self, name: str, body: list[ast.stmt], *told: ast.expr) -> list[ast.stmt]:
        watching = ast.withitem(self._expressions.hook(name, body[0], *told))
        return [placed(ast.With([watching], self._block(body)), body[0])]

    # -- branches and loops -----------------------------------------------------------------------

    def _if(self, statement: ast.If) -> list[ast.stmt]:
        names = assigned([*statement.body, *statement.orelse], self._scope)
        state, temporaries = self._split(statement, names)
        test = self._condition(statement.test)
        then, otherwise = self._fresh.block("then", "else")
        call = self._expressions.hook("if_", test, test, load(then), load(otherwise), state, temporaries)
        like = statement.orelse[0] if statement.orelse else statement.test
        return [
            placed(self._lend(then, names, self._block(statement.body)), statement.body[0]),
            placed(self._lend(otherwise, names, self._block(statement.orelse)), like),
            placed(ast.Expr(call), statement),
        ]

    def _while(self, statement: ast.While) -> list[ast.stmt]:
        names = assigned([statement.test, *statement.body], self._scope)
        state, temporaries = self._split(statement, names)
        test, body = self._fresh.block("test", "body")
        value = self._condition(statement.test)
        call = self._expressions.hook("while_", value, load(test), load(body), state, temporaries)
        return [
            placed(self._lend(test, assigned([value], self._scope), [returned(value)]), value),
            placed(self._lend(body, names, self._block(statement.body)), statement.body[0]),
            placed(ast.Expr(call), statement),
        ]

    def _for(self, statement: ast.For) -> list[ast.stmt]:
        names = assigned([statement.target, *statement.body], self._scope)
        state, temporaries = self._split(statement, names)
        source = self._expression(statement.iter)
        target = self._expression(statement.target)
        test, body = self._fresh.block("test", "body")
        stop = self._stops.get(statement)
        first = self._spread(placed(ast.Assign([target], load(ITEM)), target))
        asked = constant(None) if stop is None else load(test)
        call = self._expressions.hook("for_", source, source, load(body), asked, state, temporaries)
        result: list[ast.stmt] = [
            placed(self._lend(body, names, [placed(first, target), *self._block(statement.body)], ITEM), target),
            placed(ast.Expr(call), statement),
        ]
        if stop is not None:
            goes_on = placed(self._expression(placed(negated(load(stop)), source)), source)
            result.insert(0, placed(self._lend(test, (), [returned(goes_on)]), source))
        return result

    def _split(self, statement: ast.stmt, names: set[str]) -> tuple[ast.Tuple, ast.Tuple]:
        """The names that a statement assigns, as its state and its temporaries."""
        live = self._live[statement] | self._scope.always_live
        return spelled(sorted(names & live)), spelled(sorted(names - live))

    def _lend(self, name: str, names: Iterable[str], body: list[ast.stmt], *parameters: str) -> ast.FunctionDef:
        """A block as a function that shares ``names`` with this one."""
        head: list[ast.stmt] = []
        if self._scope.declared_global:
            head.append(ast.Global(sorted(self._scope.declared_global)))
        if names:
            head.append(ast.Nonlocal(sorted(names)))
        return block(name, parameters, [*head, *body])

    # -- functions inside -------------------------------------------------------------------------

    def _inner_function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
        function.decorator_list = [self._expression(decorator) for decorator in function.decorator_list]
        self._expressions.visit(function.args)
        if not is_suspendable(function):
            may_recur = function.name not in self._fresh.blocks and self._may_recur(function)
            self._inner(function)
            if may_recur:
                function.decorator_list.append(placed(ast.Attribute(load(CELL), "recursive", ast.Load()), function))
        return [function]

    def _may_recur(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether a function mentions itself, or another one of those here, which may call it."""
        used = {part.id for part in ast.walk(function) if isinstance(part, ast.Name)}
        return any(isinstance(part, ast.FunctionDef) and part.name in used for part in ast.walk(self._node))

    def _inner_class(self, node: ast.ClassDef) -> list[ast.stmt]:
        """A class with its methods rewritten; what else its body says runs in Python, once for each class."""
        for position, part in enumerate(node.body):
            if isinstance(part, ast.FunctionDef) and not is_suspendable(part):
                self._inner(part, node.name)
            elif not isinstance(part, FUNCTIONS):
                node.body[position] = _Bound(self._expressions).visit(part)
        return self._others(node)

    def _inner_lambda(self, function: ast.Lambda) -> ast.Lambda:
        self._inner(function)
        return function

    def _inner(self, function: AnyFunction, class_name: str | None = None) -> None:
        owner, has_class = (class_name or self._scope.owner), class_name is not None or self._has_class
        if rewrite_function(function, owner, self._fresh, has_class, self._expressions):
            self._expressions.changed = True


class _Bound(ast.NodeTransformer):
    """Asks for names that may be unbound, and leaves all else as Python has it."""

    def __init__(self, expressions: Expressions) -> None:
        self._expressions = expressions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._expressions.visit_Name(node)


def _is_docstring(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False
