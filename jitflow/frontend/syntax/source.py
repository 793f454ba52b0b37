"""The syntax tree of a function that is running.

A file may have been edited since it was imported, so its text is believed only if it still compiles to the code that is
running: the function's node is compiled alone, with the same free variables and in a class of the same name (for
``super()`` and private names), and everything that decides what the code does is compared. That also tells several
functions on a line apart.

Two texts are tried beside the file's: the one that a function brought along from another process, and the file's as
pytest rewrites its assertions, which must give the code that runs; what the user wrote is then what is meant.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import CodeType
from typing import Any

from jitflow.frontend.syntax.build import children, no_type_parameters, placed
from jitflow.frontend.syntax.names import FUNCTIONS, AnyFunction
from jitflow.records import dataclass

__all__ = ["Unreadable", "bring", "compiled", "find", "text_of"]

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag
_LAMBDA = "<lambda>"


class Unreadable(Exception):
    """There is no source that can be used; the message says why."""


@dataclass(frozen=True)
class Found:
    """The node of a function, which is shared and must not be changed, and the class that it stands in.

    ``imported`` are the names that its module imports: Python compiles ``np.sum(x)`` in another way where it knows that
    ``np`` is a module.
    """

    node: AnyFunction
    owner: str | None
    imported: tuple[str, ...] = ()


_brought: dict[str, str] = {}
"""Texts of files by their names, from other processes."""


def text_of(file: str) -> str:
    """The text of a file as it is now, or as Python was told by who made it."""
    linecache.checkcache(file)
    return "".join(linecache.getlines(file)) or _brought.get(file, "")


def bring(texts: Mapping[str, str]) -> None:
    """Know the texts of files where functions of another process were written, which may not be on this machine."""
    for file, text in texts.items():
        _brought[file] = text
        if not linecache.getlines(file):
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


def find(code: CodeType) -> Found:
    """The syntax tree that ``code`` was compiled from. Raises `Unreadable`."""
    file = code.co_filename
    text = text_of(file)
    if not text:
        raise Unreadable(f"the source of {file} cannot be read")
    brought = _brought.get(file, text)
    try:
        found = _written(_index(text), code) or (_written(_index(brought), code) if brought != text else None)
        found = found or _written_for_pytest(text, code)
    except (SyntaxError, ValueError) as error:
        raise Unreadable(f"{file} cannot be parsed") from error
    if found is None:
        raise Unreadable(f"the text of {file} is not what was compiled: it was edited, or rewritten on import")
    return found


_Index = dict[tuple[int, str], list[Found]]


def _written(index: _Index, code: CodeType) -> Found | None:
    """The function that compiles to ``code``."""
    candidates = index.get((code.co_firstlineno, code.co_name), [])
    equal: list[Found] = []
    for candidate in candidates:
        try:
            again = compiled(candidate.node, candidate.owner, code, imported=candidate.imported)
        except (SyntaxError, ValueError):
            continue
        if _same(again, code):
            if len(candidates) == 1 or list(again.co_positions()) == list(code.co_positions()):
                return candidate
            equal.append(candidate)
    return equal[0] if equal else None


def _written_for_pytest(text: str, code: CodeType) -> Found | None:
    """The function as it is written that compiles to ``code`` when pytest has rewritten its assertions."""
    pytest: Any = sys.modules.get("_pytest.assertion.rewrite")
    hooks = (
        () if pytest is None else [hook for hook in sys.meta_path if isinstance(hook, pytest.AssertionRewritingHook)]
    )
    for hook in hooks:
        found = _written(_index_for_pytest(text, code.co_filename, hook), code)
        if found is not None:
            others = _index(text)[code.co_firstlineno, code.co_name]
            return next(other for other in others if other.node.col_offset == found.node.col_offset)
    return None


@lru_cache(maxsize=16)
def _index_for_pytest(text: str, file: str, hook: Any) -> _Index:
    """Of the functions of a file, what pytest makes of them on import."""
    tree = ast.parse(text)
    sys.modules["_pytest.assertion.rewrite"].rewrite_asserts(tree, text.encode(), file, hook.config)
    return _index_of(tree)


@lru_cache(maxsize=16)
def _index(text: str) -> _Index:
    return _index_of(ast.parse(text))


def _index_of(tree: ast.Module) -> _Index:
    """The functions of a file by the line on which their code begins, and their name."""
    index: _Index = {}
    imported = tuple(_imported(tree))
    for found in _functions(tree, None):
        node = found.node
        found = replace(found, imported=imported)
        if isinstance(node, ast.Lambda):
            key = (node.lineno, _LAMBDA)
        else:
            key = (min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]), node.name)
        index.setdefault(key, []).append(found)
    return index


def _imported(root: ast.AST) -> Iterator[str]:
    """The names that a module imports at its own level."""
    for node in children(root):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names if alias.name != "*")
        elif not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield from _imported(node)


def _functions(root: ast.AST, owner: str | None) -> Iterator[Found]:
    pending: list[tuple[ast.AST, str | None]] = [(root, owner)]
    while pending:
        node, owner = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield Found(node, owner)
        inside = node.name if isinstance(node, ast.ClassDef) else owner
        for child in children(node):
            # What a class statement computes outside of its body is not in the class.
            pending.append((child, inside if not isinstance(node, ast.ClassDef) or child in node.body else owner))


# -- compiling one function ------------------------------------------------------------------------


def compiled(
    node: AnyFunction, owner: str | None, like: CodeType, *cells: str, imported: Sequence[str] = ()
) -> CodeType:
    """The code of a function alone, with the free variables of ``like`` and ``cells``, below some imports."""
    free = [*like.co_freevars, *cells]
    statement = _bare(node)
    if owner is not None:
        free = [name for name in free if name != "__class__"]
        statement = _named(ast.ClassDef(owner, [], [], [statement], [], **no_type_parameters(ast.ClassDef)), node)
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in free], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None,
        defaults=[],
    )  # fmt: skip
    factory = ast.FunctionDef("factory", arguments, [statement], [], **no_type_parameters(ast.FunctionDef))
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and statement.name not in free:
        # A function that calls itself by its name reads a global.
        factory.body.insert(0, ast.Global([statement.name]))
    imports: list[ast.stmt] = [ast.Import([ast.alias(name)]) for name in imported]
    module = ast.Module([placed(part, node) for part in (*imports, factory)], [])
    code: CodeType = compile(module, like.co_filename, "exec", flags=like.co_flags & _FUTURE, dont_inherit=True)
    for _ in range(2 if owner is None else 3):
        code = next(inner for inner in code.co_consts if isinstance(inner, CodeType))
    return _with_sets(code, [*_sets_in(like)])


def _sets_in(code: CodeType) -> Iterator[frozenset[object]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _sets_in(constant)
        elif isinstance(constant, frozenset):
            yield constant


def _with_sets(code: CodeType, known: Sequence[frozenset[object]]) -> CodeType:
    """The code with the very sets of the user's: what a file of bytecode has kept comes in another order."""

    def same(constant: object) -> object:
        if isinstance(constant, CodeType):
            return _with_sets(constant, known)
        return next((one for one in known if _same_constant(one, constant)), constant)

    return code.replace(co_consts=tuple(map(same, code.co_consts))) if known else code


def _named(node: ast.stmt, like: ast.AST) -> ast.stmt:
    return ast.copy_location(node, like)


def _bare(function: AnyFunction) -> ast.stmt:
    """The function without what is computed where it is defined: decorators, defaults, annotations."""
    old = function.args
    bare = [[_plain(argument) for argument in group] for group in (old.posonlyargs, old.args, old.kwonlyargs)]
    arguments = ast.arguments(
        posonlyargs=bare[0], args=bare[1], vararg=_plain(old.vararg) if old.vararg else None, kwonlyargs=bare[2],
        kw_defaults=[None] * len(bare[2]), kwarg=_plain(old.kwarg) if old.kwarg else None, defaults=[],
    )  # fmt: skip
    if isinstance(function, ast.Lambda):
        return _named(ast.Expr(ast.copy_location(ast.Lambda(arguments, function.body), function)), function)
    # Code begins at the first decorator: a literal stands in its place.
    first = min(function.decorator_list, key=lambda node: node.lineno, default=None)
    decorators: list[ast.expr] = [] if first is None else [ast.copy_location(ast.Constant(None), first)]
    kind = type(function)
    return _named(kind(function.name, arguments, function.body, decorators, **no_type_parameters(kind)), function)


def _plain(argument: ast.arg) -> ast.arg:
    return ast.copy_location(ast.arg(argument.arg), argument)


# -- comparing code --------------------------------------------------------------------------------


def _same(left: CodeType, right: CodeType) -> bool:
    """Whether two codes do the same, wherever they stand."""
    return (
        left.co_name == right.co_name
        and left.co_code == right.co_code
        and left.co_argcount == right.co_argcount
        and left.co_posonlyargcount == right.co_posonlyargcount
        and left.co_kwonlyargcount == right.co_kwonlyargcount
        and left.co_names == right.co_names
        and left.co_varnames == right.co_varnames
        and left.co_cellvars == right.co_cellvars
        and left.co_freevars == right.co_freevars
        and left.co_exceptiontable == right.co_exceptiontable
        and _same_constants(_constants(left), _constants(right))
    )


def _constants(code: CodeType) -> list[object]:
    """The constants of a code; that a class knows its qualified name by one is no difference."""
    is_function = code.co_flags & 0x01  # CO_OPTIMIZED
    return [None if constant == code.co_qualname and not is_function else constant for constant in code.co_consts]


def _same_constants(left: Sequence[object], right: Sequence[object]) -> bool:
    return len(left) == len(right) and all(map(_same_constant, left, right))


def _same_constant(left: object, right: object) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, CodeType) and isinstance(right, CodeType):
        return _same(left, right)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return _same_constants(left, right)
    if isinstance(left, frozenset) and isinstance(right, frozenset):
        return _same_constants(sorted(left, key=repr), sorted(right, key=repr))
    # The text of a float tells 0.0 from -0.0, and a nan equals itself.
    return repr(left) == repr(right) if isinstance(left, float | complex) else left == right
