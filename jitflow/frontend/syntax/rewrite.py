"""From a function to its rewritten code.

Most functions that are compiled go straight ahead; their bytecode says so, and no source is read for them. The others
are found in their file, rewritten as a syntax tree, compiled, and given back the names by which the user knows them:
a block bears the name of the function that it was part of.
"""

from __future__ import annotations

import ast
import dis
import sys
import weakref
from collections.abc import Sequence
from threading import Lock
from types import CodeType, FunctionType

from jitflow.frontend.syntax.build import CELL, ITEM, LAMBDA, LAZY, cloned
from jitflow.frontend.syntax.comprehensions import with_place
from jitflow.frontend.syntax.jumps import Unusable
from jitflow.frontend.syntax.methods import HIDDEN
from jitflow.frontend.syntax.names import AnyFunction, Fresh, is_suspendable
from jitflow.frontend.syntax.source import Unreadable, compiled, find
from jitflow.frontend.syntax.statements import rewrite_function
from jitflow.records import dataclass

__all__ = ["Rewritten", "is_block", "is_made", "rewritten", "why_not", "why_plain"]

_BLOCK = "<block>"
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_RESERVED = frozenset({CELL, LAZY, ITEM})
_GENERATED = ("and", "body", "brk", "choice", "cont", "done", "each", "else", "fail", LAMBDA, "made", "match", "or",
              "rest", "ret", "test", "then", "told", "tried", "value", "waiting")  # fmt: skip
_LOOKS_AT_NAMES = frozenset({"locals", "eval", "exec"})
"""Functions that would see what the rewriting adds."""


@dataclass(frozen=True, eq=False)
class Rewritten:
    """The rewritten code of a function.

    Its parameters, names and lines are those of the user's. Its free variables are among those of the user's, and
    ``jit__``, which holds the hooks (`jitflow.frontend.control`).
    """

    code: CodeType
    node: AnyFunction

    @property
    def text(self) -> str:
        """The rewritten function as Python source."""
        return ast.unparse(self.node)


_Result = Rewritten | str
_RESULTS: dict[int, tuple[weakref.ref[CodeType], Rewritten]] = {}
"""What was rewritten, by the identity of the user's code: codes that are equal may come from two files."""


def rewritten(function: FunctionType, even_if_straight: bool = False) -> Rewritten | None:
    """The rewritten form of a function; None if there is nothing to rewrite or `why_not`."""
    result = _result(function.__code__, even_if_straight)
    return result if isinstance(result, Rewritten) else None


def why_not(function: FunctionType) -> str:
    """Why a function with control flow is not rewritten; empty if it is, or has none."""
    return _reason(function.__code__)


def why_plain(running: Sequence[CodeType]) -> str:
    """Why the control flow of the innermost of the running code is Python's own; empty if it is not.

    Whatever is defined in a rewritten function was rewritten with it, comprehensions of any function belong to it.
    """
    functions = [code for code in running if code.co_name not in _COMPREHENSIONS]
    for code in functions:
        owner = code.co_qualname.removesuffix(f".{_BLOCK}")
        if CELL in code.co_freevars and f"{functions[0].co_qualname}.".startswith(f"{owner}."):
            return ""
    return _reason(functions[0]) if functions else ""


def _reason(code: CodeType) -> str:
    result = _result(code)
    return "" if isinstance(result, Rewritten) else result


def is_block(code: CodeType) -> bool:
    """Whether code is a part of a rewritten function that became a function of its own."""
    return code.co_qualname.endswith(_BLOCK)


def _result(code: CodeType, even_if_straight: bool = False) -> _Result:
    if not even_if_straight and is_straight(code):
        return ""
    known = _RESULTS.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    result = _rewrite(code)
    if isinstance(result, Rewritten):
        key = id(code)
        _RESULTS[key] = (weakref.ref(code, lambda _: _RESULTS.pop(key, None)), result)
    return result


# -- is there anything to do? ----------------------------------------------------------------------

_FORMATTING = ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "BUILD_STRING")
_HOOKED_NAMES = HIDDEN | {"count", "format", "index", "join"}


def _deciding() -> frozenset[int]:
    """The instructions of statements and expressions that are rewritten: all jumps and a few more."""
    found = {*dis.hasjrel, *dis.hasjabs}
    found |= {dis.opmap[name] for name in ("UNARY_NOT", "CONTAINS_OP", "IS_OP", "RAISE_VARARGS", "PUSH_EXC_INFO")}
    found |= {dis.opmap[name] for name in _FORMATTING if name in dis.opmap}
    return frozenset(number for number in found if number < 256)


_DECIDING = _deciding()
_BUILDING = ("BUILD_LIST", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "BUILD_SET")
_MAKING = frozenset(dis.opmap[name] for name in _BUILDING if name in dis.opmap)
_MAKERS = frozenset({"Counter", "OrderedDict", "defaultdict", "deque", "dict", "list", "set"})
"""What makes a container, which an object is to hold where attributes are stored: ``self.items = []``."""


def makes_containers(code: CodeType) -> bool:
    """Whether there is a display of a list, dict or set in a function, or in one inside."""
    inside = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return not _MAKING.isdisjoint(code.co_code[::2]) or any(map(makes_containers, inside))


def _may_keep_containers(code: CodeType) -> bool:
    """Whether a function may make containers that objects hold."""
    makes = makes_containers(code) or not _MAKERS.isdisjoint(code.co_names)
    return dis.opmap["STORE_ATTR"] in code.co_code[::2] and makes


def is_straight(code: CodeType) -> bool:
    """Whether a function, those inside it included, has neither control flow nor text with values in it."""
    instructions = code.co_code[::2]
    if (
        not _DECIDING.isdisjoint(instructions)
        or _may_keep_containers(code)
        or not _HOOKED_NAMES.isdisjoint(code.co_names)
    ):
        return False
    if any(isinstance(constant, str) and "%" in constant for constant in code.co_consts):
        return False
    if ... in code.co_consts and any(type(names) is tuple and "out" in names for names in code.co_consts):
        return False  # f(x, out=...)
    return all(is_straight(inner) for inner in code.co_consts if isinstance(inner, CodeType))


# -- rewriting -------------------------------------------------------------------------------------


_DEEP = 10_000
"""The limit of recursion for a function whose statements lie too deep in each other for the usual one."""
_DEEPER = Lock()


def _rewrite(code: CodeType) -> _Result:
    try:
        return _rewrite_within_limit(code)
    except RecursionError:
        with _DEEPER:
            usual = sys.getrecursionlimit()
            sys.setrecursionlimit(max(usual, _DEEP))
            try:
                return _rewrite_within_limit(code)
            except RecursionError:
                return "its blocks are nested too deep"
            finally:
                sys.setrecursionlimit(usual)


def _rewrite_within_limit(code: CodeType) -> _Result:
    seen = _LOOKS_AT_NAMES.intersection(code.co_names)
    try:
        found = find(code)
        node: AnyFunction = cloned(found.node)
        seen &= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}  # pytest's assertions call it, too
        if seen:
            return f"it calls {min(seen)}()"
        if is_suspendable(node):
            return "it is a generator or asynchronous"
        _refuse_clashes(node)
        fresh = Fresh()
        if isinstance(node, ast.Lambda):
            node = with_place(node, fresh, is_defined_here=False) or node
        if not rewrite_function(node, found.owner, fresh, "__class__" in code.co_freevars):
            return ""
        new = compiled(node, found.owner, code, CELL)
    except (Unreadable, Unusable) as reason:
        return str(reason)
    return Rewritten(_restored(new, code, fresh.blocks), node)


def _refuse_clashes(node: AnyFunction) -> None:
    """Raise `Unusable` if the user has a name that the rewriting makes."""
    for part in ast.walk(node):
        name = getattr(part, "id", None) or getattr(part, "arg", None) or getattr(part, "name", None)
        if isinstance(name, str) and is_made(name):
            raise Unusable(f"its name {name!r} is taken")


def is_made(name: str) -> bool:
    """Whether the rewriting may have made a name."""
    prefix, _, number = name.rpartition("__")
    return name in _RESERVED or (prefix in _GENERATED and number.isdigit())


def _restored(new: CodeType, old: CodeType, blocks: set[str]) -> CodeType:
    """The code with the user's names."""
    nested = 0x10  # CO_NESTED
    flags = new.co_flags & ~nested | old.co_flags & nested
    return _renamed(new, old.co_name, old.co_qualname, blocks).replace(co_flags=flags)


def _renamed(code: CodeType, name: str, qualified: str, blocks: set[str], inside: str | None = None) -> CodeType:
    """``code`` as ``name``; functions in it are called after ``inside``, the user's function or class around them."""
    inside = f"{qualified}.<locals>" if inside is None else inside
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constant = _inner(constant, name, inside, blocks)
        constants.append(constant)
    return code.replace(co_name=name, co_qualname=qualified, co_consts=tuple(constants))


def _inner(code: CodeType, name: str, inside: str, blocks: set[str]) -> CodeType:
    if code.co_name.rpartition("__")[0] == LAMBDA:
        return _renamed(code, "<lambda>", f"{inside}.<lambda>", blocks)
    is_lazy = code.co_flags & 0x04 and code.co_varnames[code.co_argcount + code.co_kwonlyargcount] == LAZY
    if code.co_name in blocks or is_lazy:
        owner = inside.removesuffix(".<locals>")
        return _renamed(code, name, f"{owner}.{_BLOCK}", blocks, inside)
    if code.co_qualname == code.co_name:  # of a function that was declared global
        return _renamed(code, code.co_name, code.co_name, blocks)
    qualified = f"{inside}.{code.co_name}"
    if code.co_flags & 0x01:  # CO_OPTIMIZED: a function
        return _renamed(code, code.co_name, qualified, blocks)
    # The body of a class knows its qualified name as a constant.
    constants = tuple(qualified if constant == code.co_qualname else constant for constant in code.co_consts)
    return _renamed(code.replace(co_consts=constants), code.co_name, qualified, blocks, qualified)
