"""Which names a function binds, reads and shares with the functions inside it.

Python decides by the whole text of a function whether a name is local to it. The rewriting must decide in the same way,
because it moves statements into functions of their own, where every name that they assign needs to be declared.

Names are spelled as the compiler spells them: ``__x`` inside of ``class C`` is ``_C__x``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from jitflow.frontend.syntax.build import children
from jitflow.records import dataclass

__all__ = ["COMPREHENSIONS", "FUNCTIONS", "LOOPS", "AnyFunction", "Fresh", "Scope", "Uses", "body_of", "inner_blocks",
           "is_suspendable", "mangled", "parameters_of", "scope_of", "uses_of"]  # fmt: skip

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PATTERNS = (ast.MatchAs, ast.MatchStar)
_NOTHING: frozenset[str] = frozenset()


def mangled(name: str, owner: str | None) -> str:
    """``name`` as it is called in functions of the class ``owner``."""
    if owner is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = owner.lstrip("_")
    return f"_{stripped}{name}" if stripped else name


@dataclass
class Uses:
    """What a piece of syntax does to the names of the function that it stands in."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    """Names that functions defined here use whenever they are called."""
    written_later: set[str] = field(default_factory=set)
    """Those of them that such functions assign."""
    declared_global: set[str] = field(default_factory=set)
    declared_nonlocal: set[str] = field(default_factory=set)

    @property
    def free(self) -> set[str]:
        """Of a whole function without its parameters: what it uses of the functions around it, and globals."""
        local = (self.writes - self.declared_nonlocal) | self.declared_global
        return (self.reads | self.later | self.declared_nonlocal) - local


class _Collector:
    def __init__(self, owner: str | None) -> None:
        self.uses = Uses()
        self.owner = owner

    def visit(self, node: ast.AST, hidden: frozenset[str] = _NOTHING) -> None:
        """Collect from ``node``, in which the names ``hidden`` are variables of a comprehension."""
        uses = self.uses
        if isinstance(node, ast.Name):
            name = mangled(node.id, self.owner)
            if isinstance(node.ctx, ast.Store):
                uses.writes.add(name)
            elif name not in hidden:
                uses.reads.add(name)
                if isinstance(node.ctx, ast.Del):
                    uses.writes.add(name)
        elif isinstance(node, FUNCTIONS):
            self._function(node, hidden)
        elif isinstance(node, ast.ClassDef):
            self._class(node, hidden)
        elif isinstance(node, COMPREHENSIONS):
            self._comprehension(node, hidden)
        elif isinstance(node, ast.AnnAssign):
            self._visit_all(filter(None, [node.value, node.target]), hidden)
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Name):
                uses.reads.add(mangled(node.target.id, self.owner))
            self._visit_all((node.target, node.value), hidden)
        elif type(node).__name__ == "TypeAlias":  # since Python 3.12; its value is computed when it is asked for
            parts = list(children(node))
            self._visit_all(parts[:1], hidden)
            uses.later |= uses_of(parts[1:], self.owner).reads
        elif isinstance(node, ast.Global):
            uses.declared_global.update(mangled(name, self.owner) for name in node.names)
        elif isinstance(node, ast.Nonlocal):
            uses.declared_nonlocal.update(mangled(name, self.owner) for name in node.names)
        else:
            bound = _bound_by(node)
            if bound is not None:
                uses.writes.add(mangled(bound, self.owner))
            self._visit_all(children(node), hidden)

    def _visit_all(self, nodes: Iterable[ast.AST], hidden: frozenset[str]) -> None:
        for node in nodes:
            self.visit(node, hidden)

    def _function(self, node: AnyFunction, hidden: frozenset[str]) -> None:
        if not isinstance(node, ast.Lambda):
            self.uses.writes.add(mangled(node.name, self.owner))
            self._visit_all(node.decorator_list, hidden)
            annotations = [argument.annotation for argument in _arguments(node.args)]
            self.uses.later |= uses_of(filter(None, [*annotations, node.returns]), self.owner).reads
        self._visit_all(filter(None, [*node.args.defaults, *node.args.kw_defaults]), hidden)
        inner = uses_of(body_of(node), self.owner)
        parameters = {mangled(name, self.owner) for name in parameters_of(node)}
        inner.writes |= parameters
        self.uses.later |= inner.free - hidden
        local = inner.writes - inner.declared_nonlocal - inner.declared_global
        written = (inner.writes & inner.declared_nonlocal) | (inner.written_later - local)
        self.uses.written_later |= written - inner.declared_global

    def _class(self, node: ast.ClassDef, hidden: frozenset[str]) -> None:
        self.uses.writes.add(mangled(node.name, self.owner))
        outside = (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords))
        self._visit_all(outside, hidden)
        inner = uses_of(node.body, node.name)
        # The body runs here; its methods run later. Names that it binds may be ours where it reads them first.
        self.uses.later |= (inner.reads | inner.later | inner.declared_nonlocal) - hidden
        self.uses.written_later |= (inner.writes & inner.declared_nonlocal) | inner.written_later

    def _comprehension(self, node: ast.AST, hidden: frozenset[str]) -> None:
        assert isinstance(node, COMPREHENSIONS)
        self.visit(node.generators[0].iter, hidden)
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        targets: set[str] = set()
        for generator in node.generators:
            targets |= uses_of([generator.target], self.owner).writes
        inner = _Collector(self.owner)
        within = hidden | targets
        inner._visit_all(elements, within)
        for index, generator in enumerate(node.generators):
            inner._visit_all([*generator.ifs, *([generator.iter] if index else [])], within)
            if not isinstance(generator.target, ast.Name):
                inner.uses.reads |= uses_of([generator.target], self.owner).reads - within
        if isinstance(node, ast.GeneratorExp):  # it reads when somebody asks it for an item
            self.uses.later |= inner.uses.reads
            self.uses.written_later |= inner.uses.writes
        else:
            self.uses.reads |= inner.uses.reads
        self.uses.writes |= inner.uses.writes
        self.uses.later |= inner.uses.later
        self.uses.written_later |= inner.uses.written_later


def _bound_by(node: ast.AST) -> str | None:
    """The name that a node binds other than through a `Name`."""
    if isinstance(node, ast.alias):
        return node.asname or node.name.partition(".")[0]
    if isinstance(node, (ast.ExceptHandler, *_PATTERNS)):
        return node.name
    if isinstance(node, ast.MatchMapping):
        return node.rest
    return None


def uses_of(nodes: Iterable[ast.AST], owner: str | None) -> Uses:
    """The uses of names in statements or expressions of one function in the class ``owner``."""
    collector = _Collector(owner)
    for node in nodes:
        collector.visit(node)
    return collector.uses


# -- functions -------------------------------------------------------------------------------------


def body_of(function: AnyFunction) -> list[ast.AST]:
    """What runs when the function is called."""
    return [function.body] if isinstance(function, ast.Lambda) else list(function.body)


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    rest = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]


def parameters_of(function: AnyFunction) -> list[str]:
    """The names of all parameters, those that take positional arguments first."""
    return [argument.arg for argument in _arguments(function.args)]


def is_suspendable(function: AnyFunction) -> bool:
    """Whether a function is a generator or asynchronous, which is left as it is."""
    return isinstance(function, ast.AsyncFunctionDef) or any(_suspends(node) for node in body_of(function))


def _suspends(node: ast.AST) -> bool:
    if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)):
        return True
    if isinstance(node, FUNCTIONS):
        outside = [*node.args.defaults, *node.args.kw_defaults, *getattr(node, "decorator_list", [])]
        return any(_suspends(part) for part in outside if part is not None)
    if isinstance(node, (ast.ClassDef, ast.GeneratorExp)):
        return False
    return any(_suspends(child) for child in children(node))


@dataclass
class Scope:
    """The names of one function."""

    owner: str | None
    parameters: tuple[str, ...]
    receiver: str | None
    """The first positional parameter, to which ``super()`` refers."""
    bound: set[str]
    """The names that are local to it, parameters included."""
    declared_global: frozenset[str]
    declared_nonlocal: frozenset[str]
    shared: frozenset[str]
    """Names that some function inside assigns, so that any call may; those of the functions around included."""
    always_live: frozenset[str]
    """Names that others may read at any time."""
    mentioned: frozenset[str]
    """All names that occur in it, other than as variables of comprehensions."""

    @property
    def variables(self) -> set[str]:
        """The names that a block of it can assign as cells."""
        return self.bound | self.declared_nonlocal | self.shared

    def local(self, prefix: str, fresh: Fresh) -> str:
        """A new name that is local to it."""
        name = fresh.name(prefix)
        self.bound.add(name)
        return name

    def sharing(self, names: Iterable[str]) -> list[ast.stmt]:
        """What says in a function inside that ``names`` are those of this one."""
        of_module = {name for name in names if self.spell(name) in self.declared_global}
        local = sorted({*names} - of_module)
        return [*([ast.Global(sorted(of_module))] if of_module else []), *([ast.Nonlocal(local)] if local else [])]

    def spell(self, name: str) -> str:
        """The name as the compiler spells it."""
        return mangled(name, self.owner)


def scope_of(function: AnyFunction, owner: str | None, outer: Scope | None = None) -> Scope:
    """The names of ``function``, which stands in the class ``owner`` and in the rewritten function of ``outer``."""
    uses = uses_of(body_of(function), owner)
    parameters = tuple(mangled(name, owner) for name in parameters_of(function))
    elsewhere = uses.declared_global | uses.declared_nonlocal
    bound = (uses.writes | set(parameters)) - elsewhere
    inherited = (outer.shared if outer is not None else _NOTHING) - bound - uses.declared_global
    shared = (uses.written_later & bound) | inherited
    takes = [*function.args.posonlyargs, *function.args.args]
    return Scope(
        owner,
        parameters,
        takes[0].arg if takes else None,
        bound,
        frozenset(uses.declared_global),
        frozenset(uses.declared_nonlocal),
        frozenset(shared),
        frozenset((uses.later & bound) | uses.declared_nonlocal | shared),
        frozenset(uses.reads | uses.later | bound),
    )


class Fresh:
    """Names for what the rewriting adds to one function: ``then__1``, ``then__2``, ``flag__1``..."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self.blocks: set[str] = set()
        """The names of the functions that the rewriting made."""

    def name(self, prefix: str) -> str:
        """A new name."""
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}__{self._counts[prefix]}"

    def block(self, *prefixes: str) -> list[str]:
        """New names of functions, with one number for all of them."""
        number = max(self._counts.get(prefix, 0) for prefix in prefixes) + 1
        self._counts.update(dict.fromkeys(prefixes, number))
        names = [f"{prefix}__{number}" for prefix in prefixes]
        self.blocks.update(names)
        return names


def inner_blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The lists of statements that a statement is made of, those of functions and classes left out."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        inner = getattr(statement, name, None)
        if isinstance(inner, list):
            yield inner
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body
