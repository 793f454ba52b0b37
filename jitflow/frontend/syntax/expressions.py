"""Expressions that decide on truth, and those that make text, become calls of hooks.

=======================  =====================================================================
``a and b``, ``a or b``  ``jit__.and_(a, lambda: b)``, ``jit__.or_(a, ...)``; in conditions ``both``, ``either``
``not a``                ``jit__.not_(a)``
``x if t else y``        ``jit__.choose(t, lambda: x, lambda: y)``
``a < b < c``            ``jit__.chain(a, (('<', lambda: b), ('<', lambda: c)))``
``x in y``               ``jit__.contains(y, x)``
``x is y``               ``jit__.is_(x, y)``
``x < y``                ``jit__.compared('<', x, y)``, unless a side is written as what is no list or tuple
``f"x = {x:.2f}"``       ``jit__.text('x = ', (x, -1, '.2f'))``
``"%.2f" % x``           ``jit__.percent("%.2f", x)``
``s.join(x)``            ``jit__.method(s, 'join')(x)``; likewise the other `methods`
``x``, maybe unbound     ``jit__.bound(lambda: x, 'x')``, or ``free`` where it is of a function around; without the
                         name if it is unbound only on paths that a jump took elsewhere, before jumps were removed
``[*x, y]``              ``jit__.unpacked('[*x, y]', (True, x), (False, y))``
``{x, y}``               ``jit__.made_set('{x, y}', (False, x), (False, y))``, unless all of it are constants
``{x: y, **z}``          ``jit__.made_dict('{x: y, **z}', (x, y), (z,))``, unless all keys are constants
``x + [y]``              ``jit__.made_container(x + [y], 'x + [y]')``; also ``x[i:]``, and displays that others may keep
``x[i]``                 ``jit__.indexed(x)[i]``, where the index is not written as a number, text, slice or tuple
``x.name``               ``jit__.attribute(x, 'name')``, where what stands for values has something by that name; and
                         ``x.__class__``, of which Python itself knows the class of the object outside
``f(x, out=...)``        ``jit__.in_arrays(f)(x, out=...)``
``super()``              ``super(__class__, self)``, which also works in a block
=======================  =====================================================================

``np.array([f(x) for x in xs])`` becomes ``jit__.gathered(np.array, xs, lambda x: f(x), 1)``; other comprehensions have
a second form, a function with a loop, which is put in front of their statement (`comprehensions`).

The lambdas have a parameter ``*lazy__``, by which `restore` knows them. What assigns a name in an operand that may be
skipped stays Python's (see `prepare`), as a lambda's name would be its own. Comprehensions keep their form.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import reduce
from typing import Any, cast

from jitflow.frontend.syntax.build import COMPARISONS, constant, hook, lazy, load, placed
from jitflow.frontend.syntax.comprehensions import (
    Comprehension,
    can_loop,
    consumer,
    decides,
    flatten,
    gathers,
    loop_of,
    names_of_items,
    over_item,
    rename,
    with_place,
    with_rows,
)
from jitflow.frontend.syntax.conditions import in_pieces, is_condition
from jitflow.frontend.syntax.displays import (
    has_known_keys,
    has_open_bounds,
    is_list_sum,
    is_plain_set,
    items_of,
    may_be_sequence,
    may_keep,
    name_containers,
    pairs_of,
)  # fmt: skip
from jitflow.frontend.syntax.methods import HIDDEN, HOOKED_METHODS
from jitflow.frontend.syntax.names import Fresh, Scope, is_suspendable
from jitflow.frontend.syntax.prepare import assigns

__all__ = ["Expressions"]


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of one function.

    ``unbound`` are the reads of names that may be unbound, ``overtaken`` those that only seem so since jumps were
    removed. ``function`` rewrites a lambda. ``has_class`` says that the cell ``__class__`` is at hand. ``around``:
    those of the function around this one, of which this one is a part if it ``is_block``. ``define`` puts a function in
    front of the statement; a lambda has no place for one.
    """

    def __init__(
        self,
        scope: Scope,
        unbound: set[ast.Name],
        overtaken: set[ast.Name],
        fresh: Fresh,
        function: Callable[[ast.Lambda], ast.Lambda],
        has_class: bool,
        around: Expressions | None = None,
        is_block: bool = False,
        define: Callable[[ast.FunctionDef], None] | None = None,
    ) -> None:
        self.scope = scope
        self._fresh = fresh
        self._around = around
        # Marked on the nodes, because those in functions inside may be copied before these are rewritten.
        for node in unbound | overtaken:
            node.unbound = node in unbound  # type: ignore[attr-defined]
        self._function = function
        self._has_class = has_class
        self.is_block = is_block
        self._define = define
        self.changed = False

    def rewrite(self, node: ast.expr) -> ast.expr:
        """The expression in its new form. Changes the nodes that it is given."""
        result = self.visit(node)
        assert isinstance(result, ast.expr)
        return result

    def hook(self, name: str, like: ast.AST, *arguments: ast.expr) -> ast.Call:
        """A call of a hook that stands where ``like`` stands."""
        self.changed = True
        return placed(hook(name, *arguments), like)

    def made(self, value: ast.expr, name: str) -> ast.expr:
        """What may become a container of the running program, by a name for what it is."""
        if isinstance(value, ast.BinOp):
            return self.hook("repeated", value, value.left, value.right, constant(name))
        if isinstance(value, ast.Set) and not is_plain_set(value):
            return self.hook("made_set", value, constant(name), *items_of(value))
        if isinstance(value, ast.Dict) and not has_known_keys(value):
            return self.hook("made_dict", value, constant(name), *pairs_of(value))
        return self.hook("made_container", value, value, constant(name))

    def _named(self, node: ast.expr, found: ast.expr) -> ast.expr:
        """What is ``found`` for an expression, as what may become a container if somebody has named it."""
        name = getattr(node, "named", None)
        return found if name is None else self.made(found, name)

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            name_containers(item for item in node.elts if not hasattr(item, "named"))
        self.generic_visit(node)
        return node

    def lazy(self, value: ast.expr) -> ast.Lambda:
        """A lambda around an expression that has been rewritten."""
        return placed(lazy(value), value)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        skippable = any(assigns(value) for value in node.values[1:])
        self.generic_visit(node)
        if skippable:
            return node
        name = ("or_", "and_", "either", "both")[isinstance(node.op, ast.And) + 2 * is_condition(node)]
        pieces = [reduce(lambda rest, value: self.hook(name, node, value, self.lazy(rest)), reversed(operands))
                  for operands in in_pieces(node.values)]  # fmt: skip
        return reduce(lambda whole, piece: self.hook(name, node, whole, self.lazy(piece)), pieces)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return self.hook("not_", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        skippable = assigns(node.body) or assigns(node.orelse)
        self.generic_visit(node)
        if skippable:
            return node
        return self.hook("choose", node, node.test, self.lazy(node.body), self.lazy(node.orelse))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        assigning = [assigns(comparator) for comparator in node.comparators]
        for comparator in node.comparators:
            comparator.is_asked = True  # type: ignore[attr-defined]
        self.generic_visit(node)
        if len(node.ops) == 1:
            return self._one_comparison(node)
        if any(assigning[1:]):
            return node
        if not assigning[0]:
            return self._chain(node, node.left, node.ops, node.comparators)
        second = node.comparators[0]
        if not isinstance(second, ast.NamedExpr):
            return node
        # 0 < (n := f()) < 9 means 0 < (n := f()) and n < 9: the rest assigns nothing.
        first = ast.copy_location(ast.Compare(node.left, node.ops[:1], [second]), node)
        again = ast.copy_location(load(second.target.id), second)
        rest = ast.copy_location(ast.Compare(again, node.ops[1:], node.comparators[1:]), node)
        last = self._chain(rest, again, rest.ops, rest.comparators) if len(rest.ops) > 1 else self._one_comparison(rest)
        return self.hook("and_", node, self._one_comparison(first), self.lazy(last))

    def _chain(self, node: ast.expr, left: ast.expr, ops: list[ast.cmpop], comparators: list[ast.expr]) -> ast.expr:
        links: list[ast.expr] = [
            ast.Tuple([constant(COMPARISONS[type(op)]), self.lazy(comparator)], ast.Load())
            for op, comparator in zip(ops, comparators, strict=True)
        ]
        return self.hook("chain", node, left, ast.Tuple(links, ast.Load()))

    def _one_comparison(self, node: ast.Compare) -> ast.expr:
        """``in`` and ``not in``, ``is True``, and what may be tuples; other comparisons ask nobody for a truth."""
        operator, item, container = node.ops[0], node.left, node.comparators[0]
        if isinstance(operator, ast.Is | ast.IsNot):
            found = self.hook("is_", node, item, container)
        elif not isinstance(operator, ast.In | ast.NotIn):
            asks = may_be_sequence(item) and may_be_sequence(container)
            return self.hook("compared", node, constant(COMPARISONS[type(operator)]), item, container) if asks else node
        elif isinstance(item, ast.Constant) or (isinstance(container, ast.Constant | ast.Name) and not assigns(item)):
            found = self.hook("contains", node, container, item)
        else:  # Python computes the item first
            pair = ast.Tuple([item, container], ast.Load())
            backward = ast.Slice(step=ast.UnaryOp(ast.USub(), constant(1)))
            found = self.hook("contains", node, ast.Starred(ast.Subscript(pair, backward, ast.Load()), ast.Load()))
        return self.hook("not_", node, found) if isinstance(operator, ast.IsNot | ast.NotIn) else found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(ast.Attribute(attr="array" | "asarray"), [ast.ListComp() as items, *_]) if gathers(items):
                return self._gathered(node, with_rows(node, items))
        if name := consumer(node):
            return self._consumed(node, name)
        if may_keep(node.func):
            name_containers([*node.args, *(keyword.value for keyword in node.keywords)])
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="super"), args=[], keywords=[]) if (
                self._has_class and self.scope.receiver and "super" not in self.scope.bound
            ):
                node.args = [placed(load("__class__"), node), placed(load(self.scope.receiver), node)]
        node.func = self._method(node.func)
        if any(keyword.arg == "out" and ast.unparse(keyword.value) == "..." for keyword in node.keywords):
            node.func = self.hook("in_arrays", node.func, node.func)
        node.args = [*map(self._method, node.args)]
        for keyword in node.keywords:
            keyword.value = self._method(keyword.value)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        is_hidden = isinstance(node.ctx, ast.Load) and node.attr in HIDDEN
        return self.hook("attribute", node, node.value, constant(node.attr)) if is_hidden else node

    def _method(self, node: ast.expr) -> ast.expr:
        """A method that is called, or handed over."""
        if isinstance(node, ast.Attribute) and node.attr in HOOKED_METHODS:
            return self.hook("method", node, node.value, constant(node.attr))
        return node

    def _gathered(self, node: ast.Call, items: ast.ListComp) -> ast.expr:
        """``np.array([f(x) for x in xs])``: items that become those of an array."""
        self._comprehension(items)
        node.func, node.args[1:] = self.rewrite(node.func), [self.rewrite(other) for other in node.args[1:]]
        (generator,) = items.generators
        names = [ast.arg(name) for name in names_of_items(generator.target)]
        item_of = placed(ast.Lambda(ast.arguments([], names, None, [], [], None, []), items.elt), items)
        count = constant(len(names) if isinstance(generator.target, ast.Tuple) else 1)
        found = self.hook("gathered", node, node.func, generator.iter, item_of, count, *node.args[1:])
        found.keywords = [self.visit(keyword) for keyword in node.keywords]
        return found

    def visit_List(self, node: ast.List) -> ast.expr:
        name, found = ast.unparse(node), cast(ast.expr, node)
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and any(isinstance(item, ast.Starred) for item in node.elts):
            found = self.hook("unpacked", node, constant(name), *items_of(node))
        return self._named(node, found)

    def visit_Set(self, node: ast.Set | ast.Dict) -> ast.expr:
        name = ast.unparse(node)
        self.generic_visit(node)
        is_plain = is_plain_set(node) if isinstance(node, ast.Set) else has_known_keys(node)
        return self._named(node, node) if is_plain else self.made(node, name)

    visit_Dict = visit_Set  # noqa: N815 - a name of `ast`

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load):
            name = ast.unparse(node)
            self.generic_visit(node)
            if has_open_bounds(node.slice):
                node.value = self.hook("indexed", node.value, node.value)
            return self.made(node, name)
        self.generic_visit(node)
        sign = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
        parts = sign.elts if isinstance(sign, ast.Tuple) else [sign]
        is_key = not any(isinstance(part, ast.Slice) for part in parts)
        if is_key and not all(isinstance(part, ast.Constant) for part in parts):
            node.value = self.hook("indexed", node.value, node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        is_text = isinstance(node.left, ast.JoinedStr) or isinstance(getattr(node.left, "value", None), str)
        if is_list_sum(node):
            name = ast.unparse(node)
            self.generic_visit(node)
            return self.hook("made_container", node, node, constant(name))
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and is_text:
            return self.hook("percent", node, node.left, node.right)
        return self._named(node, node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.rewrite(part.value)
                specification = constant("") if part.format_spec is None else self.rewrite(part.format_spec)
                part = ast.Tuple([value, constant(part.conversion), specification], ast.Load())
            parts.append(part)
        if [type(part) for part in parts] == [ast.Constant]:
            return parts[0]
        return self.hook("text", node, *parts)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.bound(node) if self.needs_proof(node) and isinstance(node.ctx, ast.Load) else node

    def needs_proof(self, node: ast.Name) -> bool:
        """Whether a name that is read or deleted may be unbound, or seem to be."""
        return hasattr(node, "unbound")

    def bound(self, node: ast.Name) -> ast.expr:
        """A read of such a name."""
        is_free = getattr(node, "is_free", False) or not self._is_local(self.scope.spell(node.id))
        return self.hook("free" if node.unbound and is_free else "bound", node, *self._reading(node))  # type: ignore[attr-defined]

    def _is_local(self, name: str) -> bool:
        """Whether a name is one of the user's function, of which this may be a part."""
        if not self.is_block or self._around is None:
            return name in self.scope.bound
        return name in self.scope.bound or self._around._is_local(name)

    def _reading(self, node: ast.Name) -> list[ast.expr]:
        name = self.scope.spell(node.id)
        words: list[ast.expr] = [constant(name)] if getattr(node, "unbound", False) else []
        return [placed(lazy(load(name)), node), *words]

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.visit(node.args)
        if self._define is None or (function := with_place(node, self._fresh)) is None:
            return node if is_suspendable(node) else self._function(node)
        self._define(function)
        return placed(load(function.name), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        name_containers([node.elt])
        name = constant(ast.unparse(node))
        forms = self._forms(node)
        return self._comprehension(node) if forms is None else self.hook("listed", node, *forms, name)

    def _consumed(self, node: ast.Call, name: str) -> ast.expr:
        """``sum(f(x) for x in xs)``: ``jit__.consumed(sum, 'sum', xs, lambda item__: (...), each__1, False)``."""
        items, *others = node.args
        assert isinstance(items, ast.GeneratorExp)
        forms = self._forms(items, name, len(others))
        if forms is None:
            self.generic_visit(node)
            return node
        function = self.rewrite(node.func)
        if name == "join" and isinstance(function, ast.Attribute):
            function = self.hook("method", function, function.value, constant(name))
        found = self.hook("consumed", node, function, constant(name), *forms, *map(self.rewrite, others))
        found.keywords = [self.visit(keyword) for keyword in node.keywords]
        return found

    def _forms(
        self, node: Comprehension | ast.GeneratorExp, consumed_by: str = "", others: int = 0
    ) -> list[ast.expr] | None:
        """What a comprehension goes through, itself over an argument, its loop, and whether it leaves items out."""
        if self._define is None or not can_loop(node):
            return None
        source, leaves_out, plain = flatten(node, self._fresh), constant(decides(node)), over_item(node)
        if isinstance(plain, ast.Lambda):
            (self._inside if isinstance(node, ast.GeneratorExp) else self._comprehension)(plain.body)  # type: ignore[arg-type]
        loop = loop_of(node, consumed_by, others, self._fresh, self.scope.sharing)
        self._define(loop)
        return [self.rewrite(source), plain, load(loop.name), leaves_out]

    def visit_SetComp(self, node: ast.SetComp | ast.DictComp) -> ast.expr:
        name, forms = constant(ast.unparse(node)), self._forms(node)
        if forms is None:
            return self.hook("made_container", node, self._comprehension(node), name)
        forms[-1] = constant(None)  # how many keys there are it tells itself
        return self.hook("listed", node, *forms, name)

    visit_DictComp = visit_SetComp  # noqa: N815 - a name of `ast`

    def _comprehension(self, node: Comprehension) -> ast.expr:
        rename(node, self.scope.mentioned, self._fresh)
        return self._inside(node)

    def _inside(self, node: ast.expr) -> ast.expr:
        """What Python goes through itself: functions in front of the statement would not see its items."""
        define, self._define = self._define, None
        self.generic_visit(node)
        self._define = define
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        if any(isinstance(part, ast.Await) for part in ast.walk(node)) or any(
            generator.is_async for generator in node.generators
        ):
            return node
        return self._inside(node)

    def visit_arg(self, node: ast.arg) -> Any:
        """Annotations stay as they are."""
        return node
