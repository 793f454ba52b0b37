"""Notes: the program tells a profile when what it launches begins and ends, what it moves and what it computes.

Each op of the fused function for which kernels, library functions or routines run, and each copy, stands between a
`clock` and a `note`, with the bytes that it has to move at least (every array that it reads or writes, once, and of
those of which it reads parts, these) and the operations on numbers that it asks for. Loops that became kernels are
noted without; and so is the whole program, whose note comes last.

    launch %x, %y, %n {kernel="kernel_0"}     ->    %t = clock
                                                    launch %x, %y, %n {kernel="kernel_0"}
                                                    note %t, %bytes, %operations {kind="kernel", ...}

Only programs that are profiled have notes (`Target.notes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk, walk_inside, walk_ops
from jitflow.ir.dims import Dim, minimum, product, symbols
from jitflow.ir.location import NOWHERE, Loc
from jitflow.ir.ops.linear import shown_dims
from jitflow.ir.routines import Routine
from jitflow.ir.types import Place, Tensor, Variable, dims_of
from jitflow.passes.lower.scopes import Scopes
from jitflow.passes.schedule.target import Target

__all__ = ["note_program", "noted", "noted_op", "operations_of", "traffic_of"]

_WORK = ("launch", "library", "invoke", "send", "recv", "meet")
_KINDS = {
    "matmul": "library",
    "library": "library",
    "host_call": "routine",
    "invoke": "routine",
    "send": "transfer",
    "recv": "wait",
    "meet": "wait",
}
_NAMES = ("kernel", "routine", "symbol")
"""The attributes that say what is launched."""

_COPYING = ("launch", "library", "transfer")
"""A message without any of these hands over an array as it is, or a number."""

_ROUTES = ("channel", "to")
"""Those that say where a message goes."""

_FREE = frozenset("copy select cast bitcast complex real imag conjugate".split())
"""Elementwise ops that compute nothing."""


class _Noting(Protocol):
    """What a host program under construction offers."""

    target: Target
    scopes: Scopes
    is_noting: bool

    @property
    def builder(self) -> Builder: ...

    def dim(self, dim: Dim) -> Value: ...


@contextmanager
def noted(
    host: _Noting,
    kind: str,
    work: str,
    traffic: Dim,
    operations: Dim = 0,
    loc: Loc | None = None,
    lines: Iterable[str] = (),
    route: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[None]:
    """What is lowered inside stands between a clock and a note, if it launches anything and nothing around does so."""
    if not host.target.notes or host.is_noting:
        yield
        return
    builder = host.builder
    builder.add("clock")
    clock = builder.ops[-1]
    host.is_noting = True
    yield
    host.is_noting = False
    place = builder.ops.index(clock)
    works = {inner.name for inner in walk_ops(builder.ops[place:])}
    if works.isdisjoint(_WORK):
        del builder.ops[place]
        return
    if kind == "transfer" and works.isdisjoint(_COPYING):
        traffic = 0
    sizes = [host.dim(size if all(map(host.scopes.knows, symbols(size))) else 0) for size in (traffic, operations)]
    builder.add("note", clock.result, *sizes, kind=kind, work=work, lines=tuple(lines), **route)
    if loc is not None:
        builder.relocate_last(loc)


def noted_op(host: _Noting, op: Op) -> AbstractContextManager[None]:
    """`noted`, of an op of the fused function."""
    if not host.target.notes or op.name in ("for", "while", "if"):
        return nullcontext()
    kind = "callback" if isinstance(op.attributes.get("routine"), Routine) else _KINDS.get(op.name, "kernel")
    work = next((op.attributes[key] for key in _NAMES if key in op.attributes), op.name)
    places = [inner.loc for inner in (op, *walk_inside(op)) if inner.loc.line]
    lines = sorted(set(map(str, places)))
    loc = places[0] if places else None
    return noted(host, kind, str(work), traffic_of(op), operations_of(op), loc, lines, _route(op))


def _route(op: Op) -> dict[str, Any]:
    return {key: op.attributes[key] for key in _ROUTES if key in op.attributes}


def note_program(host: Function) -> Function:
    """The host program with notes of what has none yet, and of itself."""
    builder = Builder(loc=next((op.loc for op in walk(host.region) if op.loc is not NOWHERE), NOWHERE))
    nothing = builder.make("size", dim=0)
    start = builder.make("clock")
    *ops, closing = _with_notes(host.region, nothing).ops
    builder.ops += ops
    builder.add("note", start, nothing, nothing, kind="call", work=host.name, lines=())
    return replace(host, region=Region(host.region.parameters, (*builder.ops, closing)))


def _with_notes(region: Region, nothing: Value) -> Region:
    builder = Builder()
    started: Value | None = None
    for op in region.ops:
        builder.loc = op.loc
        if op.name == "clock":
            started = op.result
        elif op.name == "note" and op.operands[0] is started:
            started = None
        if started is None and op.name in _WORK:
            start = builder.make("clock")
            builder.ops.append(op)
            work = next((op.attributes[key] for key in _NAMES if key in op.attributes), op.name)
            kind = _KINDS.get(op.name, "kernel")
            lines = (str(op.loc),)
            builder.add("note", start, nothing, nothing, kind=kind, work=str(work), lines=lines, **_route(op))
            continue
        if started is None and op.regions:
            op = replace(op, regions=tuple(_with_notes(inner, nothing) for inner in op.regions))
        builder.ops.append(op)
    return Region(region.parameters, tuple(builder.ops))


# -- what an op moves and computes -----------------------------------------------------------------


def traffic_of(op: Op) -> Dim:
    """The bytes that an op has to read and write at least."""
    total: Dim = sum((_bytes(result) for result in op.results), start=0)
    if op.name == "scatter":  # to elements of its place
        return sum((_bytes(operand) for operand in op.operands[1:]), start=_bytes(op.operands[-1]))
    if op.name != "fusion":
        return sum((_bytes(operand) for operand in dict.fromkeys(op.operands)), start=total)
    users: dict[Value, list[Op]] = {}
    for inner in walk_inside(op):
        for operand in dict.fromkeys(inner.operands):
            users.setdefault(operand, []).append(inner)
    return sum((_read(parameter, users) for parameter in op.regions[0].parameters), start=total)


def _read(value: Value, users: dict[Value, list[Op]]) -> Dim:
    """The bytes of an array that are read, where views may show parts of it."""
    parts: Dim = 0
    for user in users.get(value, ()):
        if "view" in user.definition.traits:
            parts += _read(user.result, users)
        elif user.name == "gather" and user.operands[0] is value:
            parts += _bytes(user.result)
        else:
            return _bytes(value)
    return parts if parts == 0 else minimum(parts, _bytes(value))


def _bytes(value: Value) -> Dim:
    if not isinstance(value.type, Tensor | Variable | Place):
        return 0
    return product(value.type.dims) * value.type.dtype.itemsize


def operations_of(op: Op) -> Dim:
    """How often an op computes a number of numbers; a product of matrices multiplies and adds."""
    return sum(map(_one, walk_inside(op) if op.name == "fusion" else (op,)), start=0)


def _one(op: Op) -> Dim:
    traits = op.definition.traits
    if op.name == "matmul":
        return 2 * product(dims_of(op.result.type)) * dims_of(op.operands[0].type)[-1]
    if op.name == "contract":
        pairs = zip(op.attributes["left"], shown_dims(dims_of(op.operands[0].type), op.attributes), strict=True)
        summed = [dim for label, dim in pairs if label not in op.attributes["kept"]]
        return 2 * product(dims_of(op.result.type)) * product(summed)
    if "reduction" in traits or "accumulation" in traits:
        return product(dims_of(op.operands[0].type))
    if "elementwise" in traits and op.name not in _FREE:
        return product(dims_of(op.result.type))
    return 0
