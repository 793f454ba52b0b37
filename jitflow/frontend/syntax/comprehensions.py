"""Names of comprehensions that are also names of their function.

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
from collections.abc import Collection

from jitflow.frontend.syntax.build import children
from jitflow.frontend.syntax.names import FUNCTIONS, Fresh, parameters_of

__all__ = ["Comprehension", "gathers", "names_of_items", "rename"]

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp


def gathers(node: ast.ListComp) -> bool:
    """Whether a comprehension is one loop that makes an item in each turn, of what no function keeps."""
    first, *others = node.generators
    inside = [
        part for part in ast.walk(node.elt) if isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, *FUNCTIONS))
    ]
    names = names_of_items(first.target)
    return not (others or first.ifs or first.is_async or inside) and len(names) == len(set(names)) > 0


def names_of_items(target: ast.expr) -> list[str]:
    """The names that an item is bound to; none if it is bound to something else."""
    parts = target.elts if isinstance(target, ast.Tuple) and len(target.elts) > 1 else [target]
    return (
        [part.id for part in parts if isinstance(part, ast.Name)]
        if all(isinstance(part, ast.Name) for part in parts)
        else []
    )


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
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
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
