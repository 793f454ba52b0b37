"""Scopes of a host program under construction: one for each open region, the outermost first.

What a region computes is known in it and in the regions inside it, nowhere else. A size is computed in the outermost
scope that knows what it is made of: an outer region's ops are still being collected while an inner one is open, so the
arithmetic stands before the loop whose turns would all repeat it. So does each part of it: a product of sizes is that
of those known further out, times the last one, and what another size has in common with it is there already.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from functools import reduce
from typing import Any, TypeVar, cast

from jitflow.ir.core import Builder, Value
from jitflow.ir.dims import Call, Dim, Expression, Symbol, lower_bound, symbol, symbols
from jitflow.ir.location import NOWHERE, Loc
from jitflow.ir.monomials import sizes_in
from jitflow.ir.types import Index
from jitflow.records import dataclass

__all__ = ["Scope", "Scopes"]

_Made = TypeVar("_Made")


@dataclass(eq=False, slots=True)
class Scope:
    """The ops of a region so far, the sizes that it binds, and what it has computed."""

    builder: Builder
    sizes: dict[str, Value] = field(default_factory=dict)
    dims: dict[Dim, Value] = field(default_factory=dict)
    long_sum: Dim = 0
    """The sum of many sizes that was computed last: the next one is often that with one more."""
    numbers: dict[Value, Value] = field(default_factory=dict)
    """The host's value of each number of the tensor function."""
    made: dict[Hashable, Any] = field(default_factory=dict)
    """What `Scopes.once` has made here."""


class Scopes:
    """The open regions, innermost last."""

    def __init__(self, known: Scope | None = None) -> None:
        """With ``known``, what that scope has computed is known here."""
        first = Scope(Builder())
        if known is not None:
            first.sizes, first.dims = dict(known.sizes), dict(known.dims)
        self.open = [first]
        self.everywhere: dict[Hashable, Any] = {}
        """What `once` has made that names no size."""
        self.count_of_named = 0

    @property
    def builder(self) -> Builder:
        """Where ops of the innermost region go."""
        return self.open[-1].builder

    def enter(self, loc: Loc = NOWHERE) -> Scope:
        """Open a region inside the innermost one."""
        scope = Scope(Builder(loc=loc))
        self.open.append(scope)
        return scope

    def leave(self) -> Scope:
        """Close the innermost region."""
        return self.open.pop()

    def once(self, key: Hashable, make: Callable[[], _Made], *, everywhere: bool = False) -> _Made:
        """What was made for a key in an open scope, else what is made now: it may name sizes that scopes have bound.

        If it does not, it may serve ``everywhere``.
        """
        for found in (self.everywhere, *(scope.made for scope in reversed(self.open))):
            if key in found:
                return cast(_Made, found[key])
        made = (self.everywhere if everywhere else self.open[-1].made)[key] = make()
        return made

    # Numbers

    def number(self, value: Value) -> Value | None:
        """What stands for a number, if an open scope has computed it."""
        for scope in reversed(self.open):
            if value in scope.numbers:
                return scope.numbers[value]
        return None

    def set_number(self, value: Value, computed: Value) -> None:
        self.open[-1].numbers[value] = computed

    # Sizes

    def knows(self, name: str) -> bool:
        """Whether a size is bound in an open scope."""
        return any(name in scope.sizes for scope in self.open)

    def bind(self, name: str, value: Value) -> None:
        """Give a size its value, in the innermost scope."""
        self.open[-1].sizes[name] = value

    def named(self, name: str, dim: Dim) -> Dim:
        """A size of its own, called so, that is what ``dim`` is: expressions over it stay short."""
        return dim if isinstance(dim, int) else self.bound(name, self._home(dim), self.dim(dim))

    def either(self, name: str, flag: Dim, yes: Dim, no: Dim) -> Dim:
        """A size of its own: ``yes`` where the flag, 0 or 1, is 1, else ``no``."""
        if isinstance(flag, int) or yes == no:
            return self.named(name, yes if flag == 1 else no)
        scope = self._home(flag, yes, no)
        is_set = scope.builder.make("greater", self.dim(flag), self.dim(0))
        return self.bound(name, scope, scope.builder.make("select", is_set, self.dim(yes), self.dim(no)))

    def inside(self) -> Scopes:
        """Those of a region of its own, which knows all sizes, and computes nothing outside."""
        scopes = Scopes()
        scopes.count_of_named = self.count_of_named
        for scope in self.open:
            scopes.open[0].sizes |= scope.sizes
        return scopes

    def where(self, name: str, flag: Dim, inside: Scopes, yes: Dim, no: Dim) -> Dim:
        """A size of its own: ``yes``, which is computed ``inside``, where the flag is 1, else ``no``."""
        (scope,), value = inside.open, inside.dim(yes)
        used = {name for dim in scope.dims for name in symbols(dim) if self.knows(name)}
        home = self._home(flag, no, *map(symbol, used))
        regions = [scope.builder.region((), (value,)), Builder().region((), (self.dim(no),))]
        is_set = home.builder.make("greater", self.dim(flag), self.dim(0))
        (found,) = home.builder.add("if", is_set, types=(Index(),), regions=tuple(regions))
        return self.bound(name, home, found)

    def bound(self, name: str, scope: Scope, value: Value) -> Dim:
        """A size of its own, called so, that a scope has computed."""
        self.count_of_named += 1
        name = f"{name}${self.count_of_named}"
        scope.sizes[name] = value
        return symbol(name)

    def dim(self, dim: Dim) -> Value:
        """A dim as an index value."""
        for scope in reversed(self.open):
            if dim in scope.dims:
                return scope.dims[dim]
        scope = self._home(dim)
        scope.dims[dim] = computed = self._compute(dim, scope)
        return computed

    def _home(self, *dims: Dim) -> Scope:
        """The outermost scope that knows the sizes in dims."""
        return self.open[max((self._depth(name) for dim in dims for name in symbols(dim)), default=0)]

    def _depth(self, name: str) -> int:
        depth = len(self.open) - 1
        while name not in self.open[depth].sizes:
            depth -= 1
        return depth

    def _size(self, name: str) -> Value:
        return self.open[self._depth(name)].sizes[name]

    def _compute(self, dim: Dim, scope: Scope) -> Value:
        builder = scope.builder
        if isinstance(dim, int):
            return builder.make("size", dim=dim)
        if len(dim.terms) > _LONG_SUM:
            known, scope.long_sum = scope.long_sum, dim
            rest = dim - known
            if known in scope.dims and _is_shorter_sum(rest, dim):
                return builder.make("add", scope.dims[known], self.dim(rest))
        if len(dim.terms) > 1:
            terms = [self.dim(Expression((term,)) if term[0] else term[1]) for term in dim.terms]
            return reduce(lambda total, term: builder.make("add", total, term), terms)
        ((monomial, coefficient),) = dim.terms
        *further, last = sorted(monomial, key=self._depth_of)
        if not further and coefficient == 1:
            return self._size(last.name) if isinstance(last, Symbol) else self._call(last, builder)
        others = self.dim(Expression(((tuple(further), coefficient),)) if further else coefficient)
        return builder.make("multiply", others, self.dim(Expression((((last,), 1),))))

    def _depth_of(self, atom: Symbol | Call) -> int:
        """The number of the scope that it is computed in: what is known further out is multiplied there."""
        return max(map(self._depth, sizes_in(atom)), default=0)

    def _call(self, call: Call, builder: Builder) -> Value:
        names = {"//": "floor_divide", "%": "remainder", "min": "minimum", "max": "maximum"}
        if call.operator in ("//", "%") and _divides_plainly(*call.operands):
            names = {"//": "divide_truncated", "%": "remainder_truncated"}
        first, *rest = [self.dim(operand) for operand in call.operands]
        for other in rest:
            first = builder.make(names[call.operator], first, other)
        return first


_LONG_SUM = 2
"""How many terms a sum has at the most that is computed term by term, whatever is known."""


def _is_shorter_sum(rest: Dim, dim: Expression) -> bool:
    """Whether nothing is subtracted in ``rest``, so that it saturates as the whole does, and it is less work."""
    return isinstance(rest, int) or (
        len(rest.terms) < len(dim.terms) and all(coefficient > 0 for _, coefficient in rest.terms)
    )


def _divides_plainly(left: Dim, right: Dim) -> bool:
    """Whether rounding down is rounding towards zero, and the divisor is no trap."""
    bound = lower_bound(left)
    least = lower_bound(right)
    return least is not None and least > 0 and bound is not None and bound >= 0
