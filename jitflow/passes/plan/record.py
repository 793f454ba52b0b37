"""What the plan of buffers is: frozen records that lowering reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import DType
from jitflow.ir.layout import Layout
from jitflow.passes.fusion.nest import Nest
from jitflow.passes.plan.lifetimes import Lifetimes
from jitflow.records import dataclass

__all__ = ["Block", "Carried", "Place", "Plan", "Product", "Result", "Source", "Version"]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A block of memory on a device.

    It is an argument's (``parameter`` is its position), or what somebody else hands in or keeps, or it is ``owned``:
    given back where the plan says so, if nothing else has taken it over by then. What is ``kept`` lives until the
    program ends.
    """

    name: str
    dtype: DType
    dims: tuple[Dim, ...]
    device: str
    parameter: int = -1
    owned: bool = False
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a kernel writes a result that gets no memory of its own, and how it lies there.

    ``op`` is the ``store``, the ``push`` or the ``concatenate`` for which it does, ``views`` what makes the place of a
    store, in order.
    """

    op: Op
    layout: Layout
    views: tuple[Op, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Product:
    """A product and what works on it, where it is made or behind the library."""

    product: Op
    rest: Op
    behind_library: bool


@dataclass(frozen=True, slots=True)
class Carried:
    """What flows into and out of a region at one position.

    ``variable``: what a place there always shows, all of it, so that nothing flows. ``strided``: strides flow as well.
    """

    variable: Value | None
    strided: bool


@dataclass(frozen=True, slots=True)
class Source:
    """What a result may turn out to show: the ``root``, which is an argument or a result place (by ``index``).

    ``whole``: it then is that very array, rather than a view of it.
    """

    root: Value
    is_argument: bool
    index: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Result:
    """How a result comes out of the function.

    ``kind``: ``new`` array, ``argument`` (a view of parameter ``source``), ``result`` (a view of place ``source``),
    ``one of`` several ``sources``, or ``scalar``. ``whole``: it shows all of its one source. ``copied``: it is copied
    first, and the roots ``freed`` are given back.
    """

    kind: Literal["new", "argument", "result", "one of", "scalar"]
    source: int = -1
    whole: bool = False
    sources: tuple[Source, ...] = ()
    copied: bool = False
    freed: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """The function for sizes that were short at the first call, which is lowered beside that for all sizes."""

    sizes: Mapping[str, int]
    function: Function
    plan: Plan


@dataclass(frozen=True, slots=True)
class Plan:
    """What lies where, from when to when.

    ``blocks`` and ``layouts``: of each value that lies in memory, in which block and how; other values are numbers.
    ``freed``: which roots are given back behind an op, at the end of a region (by its ``yield``), or at its beginning.
    ``taken``: the operands whose memory an op takes over; others that it must own are copied.
    ``places``: of results of kernels and concatenations that are written where memory is, that place.
    ``replaced``: of results of kernels that are written over an operand, element by element, that operand.
    ``written``: the stores and pushes that kernels do.
    ``copied``: the stores whose value is copied first, since it may lie where they write.
    ``computed``: the fusions that are arithmetic with numbers, which the host program does.
    ``numbers``: the operands (by position) that a kernel takes as numbers.
    ``backwards``: the fusions whose loops run in reversed order, and so their results lie.
    ``products``: of each fusion that holds a product.
    ``carried``: what flows into and out of the regions of an op.
    ``inside``: parts of concatenations that kernels write where they belong.
    ``started``: results that a variable starts as, which the program works on next.
    ``results``: how they come out; ``bases``: the roots whose memory none of them shows all of.
    ``lifetimes``: which memory each value may show, and where it is used.
    ``nests``: of kernels that were looked at closely, so that lowering need not do it again.
    ``short``: another version. ``called``: the plans of the functions that it calls.
    """

    blocks: Mapping[Value, Block]
    layouts: Mapping[Value, Layout]
    freed: Mapping[Op | Region, tuple[Value, ...]]
    taken: Mapping[Op, tuple[Value, ...]]
    places: Mapping[Value, Place]
    replaced: Mapping[Value, Value]
    written: frozenset[Op]
    copied: frozenset[Op]
    computed: frozenset[Op]
    numbers: Mapping[Op, tuple[int, ...]]
    backwards: frozenset[Op]
    products: Mapping[Op, Product]
    carried: Mapping[Op, tuple[Carried, ...]]
    inside: frozenset[Value]
    started: frozenset[Value]
    results: tuple[Result, ...]
    bases: tuple[Value, ...]
    lifetimes: Lifetimes
    nests: Mapping[Op, Nest]
    short: Version | None = None
    called: Mapping[str, Plan] = field(default_factory=dict)

    @property
    def numbers_roots(self) -> bool:
        """Whether a place that may show one of several variables carries the number of which one it does."""
        return any(len(result.sources) > 1 for result in self.results)

    def roots(self, value: Value) -> frozenset[Value]:
        """The values whose memory ``value`` may show."""
        return self.lifetimes.roots(value)
