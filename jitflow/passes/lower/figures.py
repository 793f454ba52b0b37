"""The figures of a product: sizes that the program computes of those of its factors.

Products of other sizes that hang together alike have the same figures of these. They stand where the first such product
is; from the second on they are a function of the host program, which it calls for each:

    %along, %depth = call %n, %k, %m {function="figures_of_product_f32"}

A program with many layers would else be little but arithmetic of sizes. Where the turns of a loop decide sizes it is
written out all the same: `hoist` finds bounds of what it sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from types import MappingProxyType

from jitflow.ir.core import Function, Value
from jitflow.ir.dims import Dim, substitute, symbol
from jitflow.ir.equality import Renaming
from jitflow.ir.types import Index
from jitflow.passes.lower.scopes import Scopes
from jitflow.passes.schedule.blocks_text import FigureTexts
from jitflow.passes.schedule.products import Blocks, Factors, Figures, symbols_of
from jitflow.records import dataclass

__all__ = ["Procedures", "ProgramFigures", "blocks_here"]


class ProgramFigures(Figures):
    """Figures that are sizes of a host program, and how they read."""

    def __init__(self, scopes: Scopes, known: FigureTexts | None = None) -> None:
        self.scopes, self.known = scopes, FigureTexts() if known is None else known

    @property
    def unread(self) -> ProgramFigures:
        """For figures that are no choice, so nobody reads them."""
        return ProgramFigures(self.scopes)

    def named(self, name: str, dim: Dim) -> Dim:
        return self.known.add(name, self.scopes.named(name, dim), str(dim))

    def either(self, name: str, flag: Dim, yes: Dim, no: Dim) -> Dim:
        if isinstance(flag, int) or yes == no:
            return self.named(name, yes if flag == 1 else no)
        return self.known.add(name, self.scopes.either(name, flag, yes, no), f"{yes} where {flag}, else {no}")

    def where(self, name: str, flag: Dim, yes: Callable[[Figures], Dim], no: Dim) -> Dim:
        if isinstance(flag, int):
            return self.named(name, yes(self) if flag == 1 else no)
        inside = ProgramFigures(self.scopes.inside())
        found = yes(inside)
        self.known.texts |= inside.known.texts
        self.known.dims |= inside.known.dims
        self.known.inside |= inside.known.dims.keys()
        size = self.scopes.where(name, flag, inside.scopes, found, no)
        return self.known.add(name, size, f"{found} where {flag}, else {no}")


Choice = Callable[[Factors, ProgramFigures], Blocks]
"""Chooses blocks for factors."""


def blocks_here(scopes: Scopes, factors: Factors, choose: Choice) -> tuple[Blocks, ProgramFigures]:
    """The blocks of a product in sizes of the program, and their figures, all of which are written out."""
    figures = ProgramFigures(scopes)
    return choose(factors, figures), figures


@dataclass(frozen=True, slots=True)
class Procedures:
    """The functions for figures that a program has so far, which are among its ``kernels``."""

    kernels: dict[str, Function]
    _known: dict[Hashable, Procedure | None] = field(default_factory=dict)
    """By what the choice hangs on; None while there is one product of the kind."""

    def blocks(
        self, scopes: Scopes, factors: Factors, name: str, choose: Choice, *about: object
    ) -> tuple[Blocks, ProgramFigures]:
        """As `blocks_here`, but from the second product on that is alike the figures are those that a function gives.

        The choice hangs on what it is ``about``, too. The function has the ``name`` of a product.
        """
        sizes = Renaming()
        key, names = (sizes(factors), about), tuple(sizes.names)
        if key not in self._known or not all(one in scopes.open[0].sizes for one in names):
            self._known.setdefault(key, None)
            return blocks_here(scopes, factors, choose)
        procedure = self._known[key]
        if procedure is None:
            own = [str(one) for one in sizes.names.values()]
            procedure = Procedure.of(f"figures_of_{name}", own, factors.for_sizes(sizes.names), choose)
            self._known[key], self.kernels[procedure.function.name] = procedure, procedure.function
        return procedure.called(scopes, names)


@dataclass(frozen=True, slots=True)
class Procedure:
    """A function that gives the figures of blocks, and what has been chosen in terms of them."""

    function: Function
    figures: tuple[str, ...]
    blocks: Blocks
    known: FigureTexts

    @staticmethod
    def of(name: str, sizes: Sequence[str], factors: Factors, choose: Choice) -> Procedure:
        """That for factors whose ``sizes`` are its parameters."""
        scopes, parameters = Scopes(), [Value(Index(symbol(size)), size) for size in sizes]
        for parameter in parameters:
            scopes.bind(parameter.name, parameter)
        figures = ProgramFigures(scopes)
        blocks = choose(factors, figures)
        wanted = tuple(one for one in dict.fromkeys(symbols_of(blocks)) if one not in sizes)
        region = scopes.builder.region(parameters, [scopes.dim(symbol(one)) for one in wanted])
        function = Function(name, region, (), "host", MappingProxyType({"called": True}))
        return Procedure(function, wanted, blocks, figures.known)

    def called(self, scopes: Scopes, names: Sequence[str]) -> tuple[Blocks, ProgramFigures]:
        """The blocks, and their figures, for sizes of these ``names`` that all of the program knows."""
        scope = scopes.open[0]
        operands = [scope.sizes[name] for name in names]
        types = [Index()] * len(self.figures)
        values = scope.builder.add("call", *operands, types=types, function=self.function.name)
        own: dict[str, Dim] = {
            one.name: symbol(name) for one, name in zip(self.function.parameters, names, strict=True)
        }
        readable = {name: str(dim) for name, dim in own.items()}
        for figure, value in zip(self.figures, values, strict=True):
            own[figure] = scopes.bound(figure.partition("$")[0], scope, value)
        dims = {name: substitute(dim, own) for name, dim in self.known.dims.items()}
        texts = {name: _SIZE.sub(lambda one: readable[one[0]], text) for name, text in self.known.texts.items()}
        return self.blocks.for_sizes(own), ProgramFigures(scopes, FigureTexts(dims, texts, self.known.inside))


_SIZE = re.compile(r"\bsize\d+\b")
"""A parameter, as `Renaming` calls it."""
