"""Comprehensions as loops, and their names.

Where the running program decides which items there are, or how many, a comprehension is the function that Python's
reference says it is, and so is a generator expression that a function goes through::

    [f(x) for x in xs if t(x)]        def each__1(item__):
                                          made__1 = []
                                          for x in item__:
                                              if t(x):
                                                  made__1.append(f(x))
                                          return made__1

    jit__.listed(xs, lambda item__: [f(x) for x in item__ if t(x)], each__1, True)

A lambda has no place for such a function, so one that holds a comprehension becomes a function itself, in front of its
statement.

``any``, ``all``, ``sum`` and ``next`` of a generator expression have loops of their own, without a list. What assigns
a name of the function around (``:=``) is a loop alone, which says that the name is not its own.

Since Python 3.12 a comprehension is compiled into its function, and its variables are saved and restored around it. For
a name that the function has from outside, as blocks have the names of the function that they were part of, CPython 3.12
and 3.13 do not restore it for closures that are made later::

    def f():
        c = 1
        def g():
            [c for c in range(3)]
            return (lambda: c)()    # NameError
        return g()

So such a variable gets a name of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from jitflow.frontend.syntax.build import (
    ITEM,
    LAMBDA,
    assign,
    block,
    children,
    cloned,
    constant,
    hook,
    lazy,
    load,
    negated,
    no_type_parameters,
    placed,
    returned,
)
from jitflow.frontend.syntax.names import FUNCTIONS, Fresh, is_suspendable, parameters_of

__all__ = ["Comprehension", "can_loop", "consumer", "decides", "flatten", "gathers", "loop_of", "names_of_items",
           "over_item", "rename", "with_place", "with_rows"]  # fmt: skip

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CONSUMERS = frozenset(
    """
    all any Counter deque dict fsum join list max min next prod set sorted sum tuple
    """.split()
)
"""What goes through a generator expression up to its end, or to the item that decides."""


def consumer(node: ast.Call) -> str:
    """The name of a function that is called with a generator expression to go through; empty if it is another call."""
    match node:
        case ast.Call(ast.Name(id=name) | ast.Attribute(attr=name), [ast.GeneratorExp(), *_]) if name in _CONSUMERS:
            return name
    return ""


def can_loop(node: Comprehension | ast.GeneratorExp) -> bool:
    """Whether a comprehension may become a function: it does not wait."""
    kept = (ast.Await, ast.Yield, ast.YieldFrom)
    return not any(isinstance(part, kept) or getattr(part, "is_async", 0) for part in ast.walk(node))


def with_place(function: ast.Lambda, fresh: Fresh, is_defined_here: bool = True) -> ast.FunctionDef | None:
    """A lambda as a function, if it holds a comprehension. One that is defined here computes its defaults here."""
    defaults = (*function.args.defaults, *function.args.kw_defaults) if is_defined_here else ()
    wants = any(isinstance(part, _COMPREHENSIONS) for part in ast.walk(function.body))
    if not wants or is_suspendable(function) or not all(isinstance(value, ast.Constant | None) for value in defaults):
        return None
    body: list[ast.stmt] = [returned(function.body)]
    found = ast.FunctionDef(fresh.name(LAMBDA), function.args, body, [], **no_type_parameters(ast.FunctionDef))
    return placed(found, function)


def decides(node: ast.AST) -> bool:
    """Whether a comprehension, or one in it, leaves items out, or goes through what its items are."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.comprehension)]
    return len(parts) > 1 or any(part.ifs for part in parts)


def _assigned_by(node: ast.AST) -> set[str]:
    """The names of the function around that a comprehension assigns by ``:=``."""
    if isinstance(node, FUNCTIONS):
        return set()
    own = {node.target.id} if isinstance(node, ast.NamedExpr) else set()
    return own.union(*map(_assigned_by, children(node)))


def over_item(node: Comprehension | ast.GeneratorExp) -> ast.Lambda | ast.Constant:
    """``lambda item__: [f(x) for x in item__]``: the comprehension over what it is given.

    None for one that assigns names of the function around, which would be the lambda's.
    """
    if _assigned_by(node):
        return placed(constant(None), node)
    plain = cloned(node)
    plain.generators[0].iter = placed(load(ITEM), node)
    found = placed(lazy(plain), node)
    found.args.args.append(placed(ast.arg(ITEM), node))
    return found


def loop_of(
    node: Comprehension | ast.GeneratorExp,
    consumed_by: str,
    others: int,
    fresh: Fresh,
    sharing: Callable[[set[str]], list[ast.stmt]],
) -> ast.FunctionDef:
    """The comprehension as a function; ``sum`` and ``next`` also get what they begin with, if there are ``others``.

    ``sharing`` says which names are those of the function around.
    """
    (name,), made = fresh.block("each"), fresh.name("made")
    item, parameters = node.value if isinstance(node, ast.DictComp) else node.elt, [ITEM]
    head: list[ast.stmt] = []
    leaf: list[ast.stmt]
    tail: list[ast.stmt]
    match consumed_by:
        case "any" | "all":
            stops = consumed_by == "any"
            test = item if stops else placed(negated(item), item)
            leaf, tail = [ast.If(test, [returned(constant(stops))], [])], [returned(constant(not stops))]
        case "sum":
            parameters.append(made)
            leaf, tail = [assign(made, ast.BinOp(load(made), ast.Add(), item))], [returned(load(made))]
        case "next":
            parameters.append(made)
            leaf = [returned(item)]
            tail = [returned(load(made)) if others else ast.Raise(load("StopIteration"))]
        case _:
            empty, put = _empty_and_put(node, made)
            head, leaf, tail = [assign(made, empty)], [put], [returned(load(made))]
    node.generators[0].iter = load(ITEM)
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            leaf = [placed(ast.If(test, leaf, []), test)]
        leaf = [placed(ast.For(generator.target, generator.iter, leaf, []), generator.target)]
    return placed(block(name, parameters, [*sharing(_assigned_by(node)), *head, *leaf, *tail]), node)


def _empty_and_put(node: ast.GeneratorExp | Comprehension, made: str) -> tuple[ast.expr, ast.stmt]:
    """What a comprehension begins with, and how it puts an item there."""
    name = constant(ast.unparse(node))
    if isinstance(node, ast.DictComp):
        entry = ast.Subscript(hook("indexed", load(made)), node.key, ast.Store())
        return hook("made_container", ast.Dict([], []), name), ast.Assign([entry], node.value)
    is_set = isinstance(node, ast.SetComp)
    empty = hook("made_set", name) if is_set else hook("made_container", ast.List([], ast.Load()), name)
    owner = hook("method", load(made), constant("add")) if is_set else ast.Attribute(load(made), "append", ast.Load())
    return empty, ast.Expr(ast.Call(owner, [node.elt], []))


def gathers(node: ast.ListComp) -> bool:
    """Whether a comprehension is one loop that makes an item in each turn, of what no function keeps."""
    first, *others = node.generators
    inside = [
        part for part in ast.walk(node.elt) if isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, *FUNCTIONS))
    ]
    names = names_of_items(first.target)
    return not (others or first.ifs or first.is_async or inside) and len(names) == len(set(names)) > 0


def with_rows(node: ast.Call, items: ast.ListComp) -> ast.ListComp:
    """Let the lists in ``np.array([[f(x, y) for y in ys] for x in xs])`` become arrays as well."""
    match node.func, items.elt:
        case ast.Attribute(value=ast.Name()) as function, ast.ListComp() as inner if gathers(inner):
            rows = ast.Attribute(hook("rows", cloned(function)), "array", ast.Load())
            items.elt = placed(ast.Call(placed(rows, node), [inner], []), inner)
    return items


def names_of_items(target: ast.expr) -> list[str]:
    """The names that an item is bound to; none if it is bound to something else."""
    parts = target.elts if isinstance(target, ast.Tuple) and len(target.elts) > 1 else [target]
    return (
        [part.id for part in parts if isinstance(part, ast.Name)]
        if all(isinstance(part, ast.Name) for part in parts)
        else []
    )


def flatten(node: Comprehension | ast.GeneratorExp, fresh: Fresh) -> ast.expr:
    """``f(x) for x in (g(y) for y in ys if t(y))`` as ``f(x) for y in ys if t(y) for x in (g(y),)``, in place.

    Returns what it goes through first.
    """
    place = 0
    while place < len(node.generators):
        inner = node.generators[place].iter
        if not isinstance(inner, ast.GeneratorExp):
            place += 1
            continue
        _rename_inside(inner, {name: fresh.name("each") for name in sorted(_targets(inner))})
        node.generators[place].iter = placed(ast.Tuple([inner.elt], ast.Load()), inner)
        node.generators[place:place] = inner.generators
    return node.generators[0].iter


def rename(node: Comprehension, mentioned: Collection[str], fresh: Fresh) -> None:
    """Rename the variables of a comprehension that are among the names ``mentioned`` otherwise, in place."""
    taken = sorted(_targets(node) & set(mentioned))
    if taken:
        _rename_inside(node, {name: fresh.name("each") for name in taken})


def _targets(node: ast.AST) -> set[str]:
    """The names that the comprehension itself binds, as they are written."""
    found: set[str] = set()
    for generator in node.generators:  # type: ignore[attr-defined]
        names = (part for part in ast.walk(generator.target) if isinstance(part, ast.Name))
        found |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return found


def _rename_inside(node: ast.AST, names: dict[str, str]) -> None:
    """Rename in all that runs within a comprehension: the first thing it runs over is computed outside."""
    first: ast.comprehension = node.generators[0]  # type: ignore[attr-defined]
    for child in children(node):
        for part in [first.target, *first.ifs] if child is first else [child]:
            _rename(part, names)


def _rename(node: ast.AST, names: dict[str, str]) -> None:
    if isinstance(node, ast.Name):
        node.id = names.get(node.id, node.id)
    elif isinstance(node, _COMPREHENSIONS):
        _rename(node.generators[0].iter, names)
        _rename_inside(node, _without(names, _targets(node)))
    elif isinstance(node, FUNCTIONS):
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                _rename(default, names)
        if isinstance(node, ast.Lambda):
            _rename(node.body, _without(names, set(parameters_of(node))))
    else:
        for child in children(node):
            _rename(child, names)


def _without(names: dict[str, str], hidden: set[str]) -> dict[str, str]:
    return {name: new for name, new in names.items() if name not in hidden}
